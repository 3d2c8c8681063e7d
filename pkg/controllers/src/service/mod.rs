//! Gives Services of type `LoadBalancer` a load balancer in a cloud, and tells where it is.
//!
//! Reads: Service, Node, and the load balancer of a Service that is to have none. Writes: load
//! balancers, Service/status (its addresses, and the finalizer
//! `service.kubernetes.io/load-balancer-cleanup`, which upstream writes there, too), Event.
//! Upstream: `k8s.io/cloud-provider/controllers/service` (v0.36.3). A Service with a
//! `loadBalancerClass` is left to others.
//!
//! **Invariant:** a load balancer is made only for a Service that has the finalizer, as the cache
//! shows; and the finalizer goes only once the cloud says that there is none.
//! **Invariant:** a load balancer is asked for once, not at each sync: again only if the Service
//! changes in what it is made from, if that failed, or after a restart.
//! **Invariant:** a Service that cannot be read is left alone.
//!
//! What an event costs: a Service, a comparison; a Node that comes, goes or is excluded, a sync of
//! each Service with a load balancer.
//!
//! Otherwise than upstream: the finalizer is one sync, and the load balancer the next one, once the
//! cache shows the finalizer (upstream's Event `EnsuringLoadBalancer` comes with the second); a
//! Service whose load balancer was ensured for the same fields is not ensured again.
//!
//! # Parts
//! - `balancers`: which load balancers were asked for, and the nodes that they lead to.
//! - `removal`: a load balancer that is to go.

mod balancers;
mod decide;
mod removal;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{BalancedService, Key, Machine, Text};
use controller::{Change, Enqueue, Facts, News, Plan, View, Watches};

pub use balancers::{Balancers, Verdict};
pub use snapshot::Snapshot;

/// The controller, with its options.
#[derive(Clone, Debug)]
pub struct Controller {
    /// `--cluster-name`.
    pub cluster: Text,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Balancers;
    type Verdict = Verdict;

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<BalancedService>(|_, change, _, queue| service_changed(change, queue));
        table.remembers::<Machine>(|_, balancers, change, _, queue| {
            if balancers::concerns_all(change) {
                balancers.nodes_changed(queue);
            }
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, balancers: &Balancers) -> Option<Snapshot> {
        snapshot::observe(&self.cluster, key, view, balancers)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot, facts)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }

    fn remember(&self, balancers: &mut Balancers, news: News<'_, Self>, queue: &mut Enqueue) {
        match news {
            News::Acted { snapshot, verdict, outcome } => {
                balancers.acted(snapshot, *verdict, outcome.error.is_none());
                if balancers.lags(snapshot) {
                    queue.add(&snapshot.key);
                }
            }
            News::Gone(key) => balancers.forget(key),
            News::Answered { .. } => {}
        }
    }
}

/// As the handlers of `New`. A load balancer whose Service was deleted is deleted, too.
fn service_changed(change: &Change<BalancedService>, queue: &mut Enqueue) {
    match change {
        Change::Added(service) if service.wants_balancer() || service.needs_cleanup() => {
            queue.add(&service.meta.key);
        }
        Change::Updated { old, new } if needs_update(old, new) || new.needs_cleanup() => {
            queue.add(&new.meta.key);
        }
        Change::Deleted(service) => queue.forget(&service.meta.key),
        Change::Added(_) | Change::Updated { .. } => {}
    }
}

/// As `needsUpdate`.
fn needs_update(old: &BalancedService, new: &BalancedService) -> bool {
    match (old.wants_balancer(), new.wants_balancer()) {
        (false, false) => false,
        (true, true) => old.spec != new.spec,
        (true, false) | (false, true) => true,
    }
}
