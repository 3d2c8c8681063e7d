//! The connection of a manager to the network, which a fault cuts: what is sent meanwhile is lost,
//! and neither side notices before it is back.

use std::future::Future;
use std::time::Duration;

use runtime::{Clock, Latest};
use tower::BoxError;

use crate::life::broken;

/// The connection of a machine. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Wire(Latest<State>);

/// What passes a [`Wire`] one after the other, such as the events of a watch: once that was cut it
/// is over.
#[derive(Clone)]
pub(crate) struct Line {
    wire: Wire,
    /// How many cuts there were before.
    cuts: u64,
}

#[derive(Default)]
struct State {
    /// How many cuts there ever were.
    cuts: u64,
    /// How many of them continue.
    open: u64,
}

// === impl Wire ===

impl Wire {
    pub(crate) fn new() -> Self {
        Self(Latest::new(State::default()))
    }

    /// It is cut from now on, for so long.
    pub(crate) fn cut(&self, clock: &Clock, time: Duration) {
        self.0.update(|state| {
            state.cuts += 1;
            state.open += 1;
            true
        });
        let (state, clock) = (self.0.clone(), clock.clone());
        let mend = async move {
            clock.sleep(time).await;
            state.update(|state| {
                state.open -= 1;
                true
            });
        };
        runtime::outside(|| runtime::spawn("mend", mend));
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.0.with(|state| state.open > 0)
    }

    /// What begins now; what begins while it is cut does not get far.
    pub(crate) fn line(&self) -> Line {
        let cuts = self.0.with(|state| state.cuts - state.open.min(1));
        Line { wire: self.clone(), cuts }
    }
}

// === impl Line ===

impl Line {
    /// What comes over it; if it was cut since it began, an error when the network is back.
    pub(crate) async fn carry<T>(&self, coming: impl Future<Output = T>) -> Result<T, BoxError> {
        let it = tokio::select! {
            biased;
            () = self.breaks() => return Err(broken("the network was away")),
            it = coming => it,
        };
        if self.wire.is_cut() {
            self.breaks().await;
            return Err(broken("the network was away"));
        }
        Ok(it)
    }

    /// Waits until it was cut and the network is back.
    pub(crate) async fn breaks(&self) {
        let is_over = |it: &State| (it.open == 0 && it.cuts > self.cuts).then_some(());
        self.wire.0.wait_for(is_over).await;
    }
}
