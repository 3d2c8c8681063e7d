//! Makes the claims of devices that pods refer to by templates, reserves claims for pods, and gives
//! them back once no pod needs them.
//!
//! Reads: Pod, ResourceClaim, ResourceClaimTemplate; live, the metadata of pods. Writes:
//! ResourceClaim (create, update, delete), ResourceClaim/status, Pod/status (apply). Events: on the
//! Pod. Upstream: `pkg/controller/resourceclaim` (v1.36).
//!
//! Two controllers, each with keys of its own; upstream has both in one queue:
//!
//! - [`Pods`], whose keys are pods, makes a claim of each template that a pod names, writes its
//!   name into the pod's status, and reserves claims for pods that got their node without the
//!   scheduler;
//! - [`Claims`], whose keys are claims, drops reservations for pods that are over, deallocates a
//!   claim once the last reservation is dropped, takes its finalizer, and deletes claims that were
//!   made for a pod that needs them no longer.
//!
//! **Invariant:** a claim is made only for a pod that may run and is not being deleted, with that
//! pod's uid as its controller, and only one for each entry.
//! **Invariant:** a reservation for a pod is dropped only if that pod is known to be over: never
//! because the cache does not show it.
//! **Invariant:** a claim is deallocated only in the write that drops its last reservation, or
//! while it is being deleted without one. A claim that nobody has reserved yet stays allocated.
//!
//! What an event costs: of a pod without claims, nothing; of others a look-up of each of its
//! claims. Of a claim, the same for each pod that refers to it; of a template, too.
//!
//! Otherwise than upstream,
//! - the status of a pod names the claims of all its entries. Upstream applies those alone that it
//!   made or found in this sync, and so drops the others if it had applied them before;
//! - nothing is made or reserved for a pod that is over. Upstream makes a claim again that it has
//!   just deleted, and reserves a shared one again that it has just released, without end
//!   (kubernetes/kubernetes#141274);
//! - a claim that is being deleted is not deleted once more;
//! - if the cache has another pod of the name of one that a claim is reserved or was made for, that
//!   says nothing: it may be the pod before it. Upstream takes it for the one after it, and lets go
//!   what the new pod needs.
//!
//! # Parts
//!
//! - `pods`: the first controller, whose `snapshot` and `decide` stand beside it, and `names`: what
//!   its claims are called.
//! - `claims`: the second one, with its own.
//! - `gauges`: how many claims there are.

mod claims;
mod decide;
mod gauges;
mod names;
mod pods;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Pod, ResourceClaim};
use mutant::Mutant;

pub use claims::{ClaimSnapshot, Claims, Departed};
pub use pods::Pods;
pub use snapshot::{Found, PodSnapshot};

/// Whether none of its containers runs or ever will. As `isPodDone`.
fn is_done(pod: &Pod) -> bool {
    // Of a pod that cannot be read the node is not known.
    let has_no_node = pod.node_name.is_none() || mutant::is(Mutant::DyingReservesNothing);
    let never_ran = pod.meta.is_terminating() && has_no_node && !pod.unreadable;
    pod.is_terminal() || never_ran
}

/// Whether the claim was made for this very pod. As `IsForPod` of
/// k8s.io/dynamic-resource-allocation's resourceclaim.
fn is_for(claim: &ResourceClaim, pod: &Pod) -> bool {
    claim.meta.is_controlled_by(&pod.meta.uid)
}
