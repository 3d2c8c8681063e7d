//! What is remembered: which load balancers were asked for, and the nodes that they lead to. As the
//! `serviceCache` and `lastSyncedNodes` of upstream's controller.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{BalancerSpec, Key, Machine, Text};
use controller::{Change, Enqueue};

use super::snapshot::{self, Snapshot};

/// The load balancers that this process asked for.
#[derive(Debug, Default)]
pub struct Balancers {
    pub(super) known: BTreeMap<Key, Known>,
    /// Counts the changes of nodes that concern all load balancers.
    pub(super) generation: u64,
}

/// A load balancer that was asked for.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// From what it was made.
    pub(super) spec: Arc<BalancerSpec>,
    /// Whether it was made, and the Service says where it is.
    pub(super) is_ensured: bool,
    /// The provider IDs of the nodes that it leads to, by name.
    pub(super) nodes: BTreeMap<Text, Text>,
    /// Up to which change of nodes.
    pub(super) generation: u64,
}

/// What a plan was about, for the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing that is remembered.
    Nothing,
    /// A load balancer was asked for; false: the cloud did not make it.
    Ensured(bool),
    /// It leads to the nodes of the snapshot.
    Follows,
    /// It did not follow the nodes: it is to be ensured once more.
    Lags,
    /// It is deleted.
    Removed,
}

/// Whether all load balancers must look whether they lead to the right nodes. As the handlers of
/// nodes in `New`, and `shouldSyncUpdatedNode`.
pub(super) fn concerns_all(change: &Change<Machine>) -> bool {
    match change {
        Change::Added(_) | Change::Deleted(_) => true,
        Change::Updated { old, new } => {
            snapshot::is_included(old) != snapshot::is_included(new)
                || old.provider_id != new.provider_id
        }
    }
}

// === impl Balancers ===

impl Balancers {
    pub(super) fn nodes_changed(&mut self, queue: &mut Enqueue) {
        self.generation += 1;
        self.known.keys().for_each(|key| queue.add(key));
    }

    pub(super) fn acted(&mut self, s: &Snapshot, verdict: Verdict, is_done: bool) {
        let generation = s.generation;
        match verdict {
            Verdict::Ensured(is_made) => {
                let Some(service) = &s.service else { return };
                let (spec, nodes) = (Arc::clone(&service.spec), s.nodes_by_name());
                let is_ensured = is_made && is_done;
                let known = Known { spec, is_ensured, nodes, generation };
                self.known.insert(s.key.clone(), known);
            }
            Verdict::Follows | Verdict::Lags => {
                if let Some(known) = self.known.get_mut(&s.key) {
                    known.is_ensured = verdict == Verdict::Follows;
                    (known.nodes, known.generation) = (s.nodes_by_name(), generation);
                }
            }
            Verdict::Removed if is_done => self.forget(&s.key),
            Verdict::Removed | Verdict::Nothing => {}
        }
    }

    /// Whether nodes have changed since this was taken: a load balancer that was being made then
    /// was not known yet, so the change did not enqueue it.
    pub(super) fn lags(&self, s: &Snapshot) -> bool {
        let known = self.known.get(&s.key);
        known.is_some_and(|known| known.is_ensured) && s.generation != self.generation
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.known.remove(key);
    }
}
