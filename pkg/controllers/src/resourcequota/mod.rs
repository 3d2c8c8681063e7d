//! Says of ResourceQuotas how much of them is used.
//!
//! Reads: ResourceQuota, Pod, Service, PersistentVolumeClaim, ResourceClaim, DeviceClass, and the
//! metadata of everything. Writes: ResourceQuota/status. Upstream: `pkg/controller/resourcequota`,
//! `pkg/quota/v1` (v1.36).
//!
//! The API server charges what is created or becomes larger; this controller finds out what is used
//! when something is deleted or becomes smaller, when the limits change, and now and then. One
//! controller with two queues: quotas whose status lacks a figure need not wait for others.
//!
//! **Invariant:** `status.used` has only names of `spec.hard`. A name that counts objects that are
//! not listed, or that nothing is known of, keeps the figure that it has.
//! **Invariant:** a status is written only on the version that was counted with, so that no charge
//! of the API server is lost.
//!
//! What an event costs: of the deletion of any object, and of a pod, Service or claim that uses
//! something else than before, a look at the quotas of its namespace. A sync looks at all objects
//! of the namespace that the quota counts.
//!
//! Otherwise than upstream,
//! - a pod that is being deleted is no longer charged once its grace period is over, not at the
//!   next resync;
//! - a figure that was written is looked at again after ten seconds: what the API server has
//!   charged may not have been in the caches. Upstream leaves that to the resync;
//! - each quota is looked at again after the period of the resync, not all at once;
//! - a kind, or a DeviceClass, that comes enqueues the quotas that name it;
//! - an object enqueues its quotas if it uses something else than before. Upstream lacks ports of
//!   Services, and enqueues for each event of a volume claim and each first status of a pod;
//! - a quota without limits gets no status: upstream writes an empty one, and that again and again;
//! - a kind that cannot be listed delays no other kind.
//!
//! # Parts
//!
//! - `measures`: what the names in a quota count.
//! - `usage`: how much of that there is.
//! - `scopes`: which objects count.
//! - `kinds`: the kinds that are only counted.

mod decide;
mod kinds;
mod measures;
mod report;
mod scopes;
mod snapshot;
mod usage;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{
    DeviceClass, Key, Kind, Meta, PersistentVolumeClaim, Pod, Resource, ResourceClaim,
    ResourceQuota, Service,
};
use controller::{
    Change, Enqueue, Everything, Facts, Handler, MetadataChange, Outcome, Plan, View, Watches,
    Write,
};

pub use decide::{PodLevel, Verdict};
pub use kinds::Kinds;
use measures::Measures;
pub use snapshot::Snapshot;

/// The controller, with one of its two queues.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// Which quotas it is for.
    pub queue: Queue,
    /// How often each quota is looked at anyway; zero: never.
    pub resync: Duration,
    /// Whether what a pod asks for as a whole counts.
    pub pod_level: PodLevel,
    /// Whether devices may be extended resources: upstream's gate `DRAExtendedResource`.
    pub extended: bool,
}

/// The queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// For all quotas.
    Primary,
    /// For those whose status lacks a figure.
    Missing,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Kinds;
    type Verdict = Verdict;

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.remembers::<ResourceQuota>(Self::quota_changed);
        if self.queue == Queue::Missing {
            table.reads::<Pod>();
            table.reads::<Service>();
            table.reads::<PersistentVolumeClaim>();
            table.optional::<ResourceClaim>(Handler::Enqueues(|_, _, _, _| {}));
            table.optional::<DeviceClass>(Handler::Enqueues(|_, _, _, _| {}));
            table
                .everything(Everything { served: |_, _, _, _| {}, changed: |_, _, _, _, _, _| {} });
            return;
        }
        table.remembers::<Pod>(|it, kinds, change, view, queue| {
            let is_charged = |pod: &Pod| pod.is_charged(view.now);
            if differs(change, |old, new| {
                is_charged(old) != is_charged(new) || it.uses(old) != it.uses(new)
            }) {
                it.enqueue(&Pod::RESOURCE, &change.object().meta, (kinds, view), queue);
            }
        });
        table.remembers::<Service>(|it, kinds, change, view, queue| {
            let uses = |service: &Service| (service.node_ports, service.is_load_balancer);
            if differs(change, |old, new| uses(old) != uses(new)) {
                it.enqueue(&Service::RESOURCE, &change.object().meta, (kinds, view), queue);
            }
        });
        table.remembers::<PersistentVolumeClaim>(|it, kinds, change, view, queue| {
            if differs(change, |old, new| {
                old.class != new.class
                    || old.storage != new.storage
                    || old.attributes_classes != new.attributes_classes
            }) {
                let resource = &PersistentVolumeClaim::RESOURCE;
                it.enqueue(resource, &change.object().meta, (kinds, view), queue);
            }
        });
        table.optional::<ResourceClaim>(Handler::Remembers(|it, kinds, change, view, queue| {
            if differs(change, |old, new| {
                old.devices != new.devices || old.extended_for != new.extended_for
            }) {
                it.enqueue(&ResourceClaim::RESOURCE, &change.object().meta, (kinds, view), queue);
            }
        }));
        table.optional::<DeviceClass>(Handler::Enqueues(|it, change, view, queue| {
            if it.extended {
                class_changed(change, view, queue);
            }
        }));
        table.everything(Everything {
            served: |_, kinds, served, _| kinds.serve(served),
            changed: |it, kinds, resource, change, view, queue| {
                it.object_changed(resource, change, (kinds, view), queue);
            },
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, kinds: &Kinds) -> Option<Snapshot> {
        snapshot::observe(key, &self.measures(kinds, view))
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, Verdict) {
        let is_due = self.queue == Queue::Primary && !self.resync.is_zero();
        decide::decide(snapshot, self.pod_level, is_due.then_some(self.resync))
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        report::summary(snapshot)
    }

    fn report(&self, snapshot: &Snapshot, verdict: Option<&Verdict>, _: &Outcome) -> Option<Write> {
        report::report(snapshot, verdict?)
    }
}

// === Watch table ===

impl Controller {
    fn measures<'a>(&self, kinds: &'a Kinds, view: &'a View<'a>) -> Measures<'a> {
        Measures { kinds, extended: self.extended, view }
    }

    /// What counts of a pod as long as it is charged. All else that scopes ask for never changes.
    fn uses<'a>(&self, pod: &'a Pod) -> (bool, &'a api::PodResources) {
        (pod.quota.has_deadline, usage::resources(pod, self.pod_level))
    }

    /// Only the limits matter: the status is what this controller and the API server write.
    fn quota_changed(
        &self,
        kinds: &mut Kinds,
        change: &Change<ResourceQuota>,
        view: &View<'_>,
        queue: &mut Enqueue,
    ) {
        let quota = change.object();
        let key = &quota.meta.key;
        match change {
            Change::Deleted(_) => queue.forget(key),
            Change::Updated { old, new } if old.hard == new.hard => {}
            Change::Added(_) | Change::Updated { .. } => {
                let lacks = self.lacks_figures(quota, kinds, view);
                match self.queue {
                    Queue::Missing if lacks => queue.add(key),
                    Queue::Missing => {}
                    Queue::Primary if !lacks => queue.add(key),
                    Queue::Primary if self.resync.is_zero() => {}
                    Queue::Primary => queue.add_after(key, self.resync),
                }
            }
        }
    }

    /// As `addQuota`: the limits are not in the status yet, or one of them has no figure although
    /// it counts something.
    fn lacks_figures(&self, quota: &ResourceQuota, kinds: &Kinds, view: &View<'_>) -> bool {
        let measures = self.measures(kinds, view);
        let mut without = quota.hard.keys().filter(|name| !quota.used.contains_key(*name));
        quota.hard != quota.status_hard || without.any(|name| !measures.of(name).is_empty())
    }

    fn object_changed(
        &self,
        resource: &Resource,
        change: &MetadataChange<'_>,
        (kinds, view): (&Kinds, &View<'_>),
        queue: &mut Enqueue,
    ) {
        match change {
            // The API server charges what is created.
            MetadataChange::Added(_) | MetadataChange::Updated { .. } => {}
            MetadataChange::Deleted(meta) => self.enqueue(resource, meta, (kinds, view), queue),
            MetadataChange::Complete | MetadataChange::Dropped => {
                kinds::names(resource).for_each(|name| enqueue_named(&name, view, queue));
            }
        }
    }

    /// Enqueues the quotas of a namespace that count objects of a kind. As `replenishQuota`, which
    /// looks at the limits in the status: the others have never been looked at, and will be.
    fn enqueue(
        &self,
        resource: &Resource,
        meta: &Meta,
        (kinds, view): (&Kinds, &View<'_>),
        queue: &mut Enqueue,
    ) {
        let measures = self.measures(kinds, view);
        let quotas = view.of::<ResourceQuota>();
        for quota in quotas.by(ResourceQuota::BY_NAMESPACE, &meta.key.namespace) {
            if quota.status_hard.keys().any(|name| measures.counts(name, resource)) {
                queue.add(&quota.meta.key);
            }
        }
    }
}

/// Whether an object uses something else than before. That objects come and go is in their
/// metadata.
fn differs<T>(change: &Change<T>, differ: impl Fn(&T, &T) -> bool) -> bool {
    match change {
        Change::Updated { old, new } => differ(old, new),
        Change::Added(_) | Change::Deleted(_) => false,
    }
}

/// What the devices of a class are besides: the quotas that count that.
fn class_changed(change: &Change<DeviceClass>, view: &View<'_>, queue: &mut Enqueue) {
    if let Change::Updated { old, new } = change {
        if old.extended_resource == new.extended_resource {
            return;
        }
        measures::names_of(old).for_each(|name| enqueue_named(&name, view, queue));
    }
    measures::names_of(change.object()).for_each(|name| enqueue_named(&name, view, queue));
}

/// Enqueues the quotas that have this name.
fn enqueue_named(name: &str, view: &View<'_>, queue: &mut Enqueue) {
    for quota in view.of::<ResourceQuota>().by(ResourceQuota::BY_HARD, name) {
        queue.add(&quota.meta.key);
    }
}
