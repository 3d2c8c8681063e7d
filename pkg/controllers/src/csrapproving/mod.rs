//! The approver of kubelet client certificates: approves the request of a kubelet if its author is
//! allowed to have one.
//!
//! Reads: CertificateSigningRequest; and, live, SubjectAccessReviews. Writes:
//! CertificateSigningRequest (PUT of `approval`). No Events. Upstream:
//! `pkg/controller/certificates/approver` and `certificate_controller.go` beside it (v1.36).
//!
//! A request that is undecided and says what a kubelet's says, for the signer
//! `kubernetes.io/kube-apiserver-client-kubelet`, is held against RBAC: may its author `create` the
//! subresource `selfnodeclient` (if the requested name is the author's own), or else `nodeclient`,
//! of `certificatesigningrequests`? Then it gets the condition `Approved`. If not, it is repeated
//! with back-off, since roles may change. All other requests are left to others, and wait for them
//! without an end.
//!
//! **Invariant:** nothing is approved but what the review said yes to in the same sync; a review
//! that fails, or says nothing, is no yes.
//! **Invariant:** nothing is denied, and what is approved, denied or issued is never written.
//! **Invariant:** the PUT names the version of the request that was read, whose spec never changes:
//! what is approved is what was looked at.
//!
//! What an event costs: a look-up; for an undecided request its parsing, and at most two reviews.
//!
//! Otherwise than upstream, a request for this signer that Go's parser reads only by passing over
//! something is refused as unreadable, see [`api::CertificateRequest`].

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{CertificateSigningRequest, Key};
use controller::{Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// The controller. It has no options.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<CertificateSigningRequest>(|_, change, _, queue| queue.own(change));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, facts), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}
