//! Garbage collection: deletes objects of which all owners are deleted, ends deletions in the
//! foreground, and orphans the dependents of owners that are deleted without them.
//!
//! Reads: the metadata of everything but events; live, objects that were never observed. Writes:
//! any kind (delete; patch of `metadata.ownerReferences` and `metadata.finalizers`). Events:
//! `OwnerRefInvalidNamespace`. Upstream: `pkg/controller/garbagecollector` (v1.36).
//!
//! One [`Graph`] of owners and dependents, two controllers: the [`Collector`] keeps the graph and
//! syncs objects that may have to be deleted, the [`Orphaner`] owners whose dependents are to stay.
//! A key is `Deployment.apps:web:<uid>` in the object's namespace; a user may leave away the uid,
//! or all else. The Collector is notified of each change before the Orphaner, so it is built first.
//!
//! # What is not read live, and why nothing is deleted that upstream would keep
//!
//! Upstream reads each object, and each of its owners, right before it deletes. Here a deletion
//! rests on what can never change again, on what the API server checks with it, or on a live read
//! of the same sync:
//!
//! - **The object** is not read. Its deletion carries its uid, and the version that was decided on
//!   or a later one with the same owners. If a client gives it another owner, removes one, or
//!   creates another object of that name, the deletion fails, and the next sync sees it. A
//!   finalizer is removed from exactly the version that was decided on.
//! - **An owner that was observed, and does not wait for its dependents,** is not read if the
//!   reference says the same of it (group, kind, name, uid; it is in the object's namespace or in
//!   none). While the cache is stale, it counts as there although it is deleted, or waits: the
//!   object stays until the change is seen, which enqueues it. An owner with the same name and
//!   another uid is another owner.
//! - **An owner that is known not to exist** is not read. It was deleted while it was watched, or
//!   not there in a live read that began when its uid was known already. Uids are never used twice,
//!   so that stays true; only a restored etcd brings them back, see `Nodes::drop_kind`. Caches do
//!   not go back, so an old list makes no owner disappear.
//! - **Everything else is read live**: owners that were never observed, because their cache is not
//!   complete, broken, or there is none; owners of which a reference says something else than what
//!   was observed; owners that wait for their dependents, since a client may have asked by now to
//!   orphan them. A read that fails is an error and is retried; only a 404 of the API server, or an
//!   owner with another uid, makes an owner absent. A kind that is not served keeps its dependents.
//!
//! **Invariant:** an object is deleted only if each of its owners is absent or waits, by the above.
//! **Invariant:** that a kind is no longer watched deletes nothing: its objects are forgotten or
//! become virtual, and are read live.
//!
//! Which dependents there are is taken from the graph alone, as upstream does: a cache that is not
//! complete hides dependents that an owner would wait for, or that were to stay. So the workers
//! must not start before all caches are complete, or 30 seconds are over; and what was observed of
//! a kind stays until its objects were observed in another version, or it is certainly no longer
//! served.
//!
//! What an event costs: a search for the uid, some 20 comparisons, and nothing else if owners and
//! finalizers are as before; then one more for each owner that is new or deleted. The end of an
//! owner enqueues all its dependents, a key of some 100 bytes each. An owner with n dependents
//! loses one in log n. A look at an object does not depend on the number of its dependents, but for
//! a walk over them to find a circle, if an owner is not simply there.
//!
//! Otherwise than upstream,
//! - the reads above; a live read changes the graph at once, without a queue of its own, so
//!   `garbage_collector_graph_changes` never holds anything;
//! - a reference to an object that was observed in another version of its kind is as good as one
//!   to this version, if both are served;
//! - a dependent that comes to an owner that is waiting is looked at when it comes; upstream looks
//!   at all blocking dependents whenever the owner is looked at, which is quadratic;
//! - a virtual node that exists is looked at again after a minute, not after delays that double;
//!   one whose kind is served all of a sudden, or can be listed at last, at once; one that nobody
//!   names any longer is deleted;
//! - a cluster-scoped owner that is not there is absent for dependents in all namespaces at once;
//! - an object that leaves its dependents behind *and* waits for them (both finalizers) leaves them
//!   first, and waits then; upstream forgets to, and collects dependents that are to stay;
//! - to break a circle the references are made non-blocking first, and the object is deleted in the
//!   next sync; only the field is patched, so that a reference that was removed does not come back;
//! - 10 000 absent owners are remembered, not 500;
//! - an owner orphans a thousand dependents in a sync, then the next thousand;
//! - when a kind is no longer watched its objects leave the graph (issue 114066 of
//!   kubernetes/kubernetes), and their owners no longer wait for them;
//! - the Event `OwnerRefInvalidNamespace` comes with a look at the object: once for each look, and
//!   not while it is being deleted.
//!
//! # Parts
//!
//! - `graph`, `node`, `slab`, `absent`, `identity`: the graph, from the top down;
//! - `orphan`: the decision of the Orphaner; `decide` is the Collector's;
//! - `patches`: owners and finalizers in JSON;
//! - `dot`: the page for Graphviz.

mod absent;
mod decide;
mod dot;
mod graph;
mod identity;
mod node;
mod orphan;
mod patches;
mod slab;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, Meta, Resource};
use controller::{Enqueue, Everything, Facts, MetadataChange, News, Plan, View, Watches};

pub use graph::Graph;
use identity::Identity;
use node::Ending;
pub use snapshot::{Orphans, Snapshot};

/// Keeps the graph, and deletes objects without owners. Its queue is upstream's
/// `garbage_collector_attempt_to_delete`.
#[derive(Clone, Copy, Debug)]
pub struct Collector;

/// Orphans the dependents of owners that are deleted without them. Its queue is upstream's
/// `garbage_collector_attempt_to_orphan`.
#[derive(Clone, Copy, Debug)]
pub struct Orphaner;

impl Collector {
    fn changed(
        graph: &mut Graph,
        resource: &Resource,
        change: &MetadataChange<'_>,
        queue: &mut Enqueue,
    ) {
        match change {
            MetadataChange::Added(meta) | MetadataChange::Updated { new: meta, .. } => {
                graph.put(resource, meta, queue);
            }
            MetadataChange::Deleted(meta) => graph.delete(resource, meta, queue),
            MetadataChange::Complete => graph.complete(resource, queue),
            MetadataChange::Dropped => graph.drop_kind(resource, queue),
        }
    }
}

impl controller::Controller for Collector {
    type Snapshot = Snapshot;
    type Memory = Graph;
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.everything(Everything {
            served: |_, graph, served, queue| graph.serve(served, queue),
            changed: |_, graph, resource, change, _, queue| {
                Self::changed(graph, resource, change, queue);
            },
        });
    }

    fn named(&self, key: &Key, graph: &Graph) -> Option<Key> {
        graph.named(key)
    }

    fn observe(&self, key: &Key, _: &View<'_>, graph: &Graph) -> Option<Snapshot> {
        snapshot::observe(graph, key)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, facts), ())
    }

    fn remember(&self, graph: &mut Graph, news: News<'_, Self>, queue: &mut Enqueue) {
        match news {
            News::Answered { snapshot, query, answer } => {
                if let (Ok(found), Some(meant)) = (answer.metadata(), snapshot.asked.get(query)) {
                    let found = found.map(|found| &*found.meta.uid);
                    graph.learn(query, meant, found, queue);
                }
            }
            News::Acted { snapshot, .. } => {
                for owner in snapshot.absent() {
                    graph.absent.used(owner, &snapshot.identity.namespace);
                }
            }
            News::Gone(_) => {}
        }
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}

impl controller::Controller for Orphaner {
    type Snapshot = Orphans;
    type Memory = Graph;
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.everything(Everything {
            served: |_, _, _, _| {},
            // As upstream's `startsWaitingForDependentsOrphaned`.
            changed: |_, _, resource, change, _, queue| {
                let starts = match change {
                    MetadataChange::Added(meta) => Some(meta).filter(|meta| is_orphaning(meta)),
                    MetadataChange::Updated { old, new } => {
                        Some(new).filter(|new| is_orphaning(new) && !is_orphaning(old))
                    }
                    MetadataChange::Deleted(_)
                    | MetadataChange::Complete
                    | MetadataChange::Dropped => None,
                };
                if let Some(meta) = starts {
                    queue.add(&Identity::observed(resource, meta).key());
                }
            },
        });
    }

    fn named(&self, key: &Key, graph: &Graph) -> Option<Key> {
        graph.named(key)
    }

    fn observe(&self, key: &Key, _: &View<'_>, graph: &Graph) -> Option<Orphans> {
        snapshot::observe_orphans(graph, key)
    }

    fn decide(&self, snapshot: &Orphans, _: &Facts) -> (Plan, ()) {
        (orphan::decide(snapshot), ())
    }

    fn summary(&self, snapshot: &Orphans) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}

/// Whether it is being deleted, and its dependents are to stay. Asked for each change of anything.
fn is_orphaning(meta: &Meta) -> bool {
    meta.is_terminating() && Ending::whole(meta).is_orphaning()
}
