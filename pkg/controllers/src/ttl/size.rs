//! How large the cluster is, in steps that overlap: nodes that come and go at a boundary do not
//! change the time of all others each time.

/// Upstream's `ttlBoundaries`: nodes at least, nodes at most, seconds.
const STEPS: [(usize, usize, u32); 5] =
    [(0, 100, 0), (90, 500, 15), (450, 1000, 30), (900, 2000, 60), (1800, i32::MAX as usize, 300)];

/// The number of nodes, and the step that it has led to. An event moves it by one step at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    pub(super) nodes: usize,
    /// An index of [`STEPS`].
    pub(super) step: usize,
}

impl Size {
    /// A node has come.
    pub(super) fn grow(&mut self) {
        self.nodes += 1;
        let (_, nodes_max, _) = STEPS[self.step];
        if self.nodes > nodes_max {
            self.step = (self.step + 1).min(STEPS.len() - 1);
        }
    }

    /// A node was deleted.
    pub(super) fn shrink(&mut self) {
        self.nodes = self.nodes.saturating_sub(1);
        let (nodes_min, _, _) = STEPS[self.step];
        if self.nodes < nodes_min {
            self.step = self.step.saturating_sub(1);
        }
    }

    /// What the annotation should say.
    pub(super) fn ttl_seconds(self) -> u32 {
        STEPS[self.step].2
    }
}
