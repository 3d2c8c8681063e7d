//! What the managers are measured at: the table, in the order in which it is played. What a
//! scenario makes stays, unless the table says otherwise, so the later ones meet a full cluster.

mod lives;

use crate::world::{Acted, World};
use futures::future::LocalBoxFuture;
use futures::FutureExt;

type Step<T> = for<'a> fn(&'a mut World) -> LocalBoxFuture<'a, anyhow::Result<T>>;

/// A row of the table.
pub(crate) struct Scenario {
    /// As `ONLY=` has it.
    pub(crate) name: &'static str,
    /// What happens until its end, in a report.
    pub(crate) text: &'static str,
    /// Brings about what it starts from, unless an earlier one has.
    pub(crate) prepare: Step<()>,
    /// Starts the clock with the first change, and stops it when the end is seen.
    pub(crate) act: Step<Acted>,
    /// Takes away what would disturb the later ones.
    pub(crate) clear: Step<()>,
}

/// All of them.
pub(crate) const ALL: [Scenario; 2] = [
    Scenario {
        name: "idle",
        text: "nothing happens for 60 s on the fresh cluster",
        prepare: nothing,
        act: |world| lives::idle(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "idle-full",
        text: "nothing happens for 60 s with all that is left of the above",
        prepare: nothing,
        act: |world| lives::idle(world).boxed_local(),
        clear: nothing,
    },
];

fn nothing(_: &mut World) -> LocalBoxFuture<'_, anyhow::Result<()>> {
    std::future::ready(Ok(())).boxed_local()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_different() {
        let names: BTreeSet<_> = ALL.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
