//! Live reads that are under way, and whose absence they can prove.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use controller::Query;

use super::identity::Identity;

/// What a look may read live, and which objects it looks for by that.
pub(super) type Asked = BTreeMap<Query, BTreeSet<Identity>>;

/// The looks that go on. An answer comes without the look that asked. It proves that an object is
/// gone only if its uid was known before the read began: another one with the same name may have
/// been made since. So the answer is taken for the objects that all looks look for that go on and
/// ask the same.
#[derive(Debug, Default)]
pub(super) struct Asks(Vec<Weak<Asked>>);

impl Asks {
    /// A look begins; it goes on for as long as it holds this.
    pub(super) fn begin(&mut self, asked: Asked) -> Arc<Asked> {
        let asked = Arc::new(asked);
        if !asked.is_empty() {
            self.0.retain(|look| look.strong_count() > 0);
            self.0.push(Arc::downgrade(&asked));
        }
        asked
    }

    /// The objects of which the answer to a query tells whether they are there.
    pub(super) fn meant(&self, query: &Query) -> BTreeSet<Identity> {
        let looks: Vec<_> = self.0.iter().filter_map(Weak::upgrade).collect();
        let mut meant = looks.iter().filter_map(|look| look.get(query));
        let first = meant.next().cloned().unwrap_or_default();
        meant.fold(first, |all, more| all.intersection(more).cloned().collect())
    }
}
