//! The cleaner of old tokens: deletes Secrets with tokens that were made for a service account
//! automatically, as Kubernetes did before 1.24, and that were not used for long.
//!
//! Reads: Secret (those of type `kubernetes.io/service-account-token` only), ServiceAccount, Pod,
//! and one ConfigMap, live. Writes: Secret (patch, delete). No Events. Upstream:
//! `pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go` (v1.36).
//!
//! It is not about one object: its only key is `secrets`, and a sync is a pass over all of them, a
//! day after the last one. No event enqueues it. The API server notes in a label of the Secret on
//! which day its token was used last, and in a ConfigMap since when it does that. A Secret that was
//! made and last used before the clean-up period, that its account lists and that no pod names, is
//! labelled with the day from which on its token counts as invalid: the API server refuses it from
//! then on. If it has the label for the clean-up period, it is deleted.
//!
//! **Invariant:** a token that the API server has not watched for the whole period is left alone.
//! **Invariant:** a patch names the uid, a deletion the version that was decided on: a token that
//! was used meanwhile, which changes its label, is not deleted.
//!
//! What a pass costs: a look-up of the account of each such Secret, one live read, and, of the
//! namespaces in which there are Secrets to be judged, a walk over the pods. Requests are bounded,
//! see `WRITES_MAX`. An event costs nothing.
//!
//! Otherwise than upstream,
//! - a pod of which only the metadata can be read may name any Secret, so in its namespace nothing
//!   is done. Upstream cannot read any pod then;
//! - a pass writes no more than so many Secrets, and the next one follows soon. Upstream works on
//!   what it saw at the start to its end, however old that has become;
//! - that the Secret is deleted before it could be labelled (404) is no error;
//! - a pass of which a read or a write failed is tried again soon. Upstream waits for the next day,
//!   and has tried all Secrets by then; here the others of a pass that had too many would wait.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{Key, Pod, ServiceAccount, TokenSecret};
use controller::{Facts, Plan, View, Watches};

pub use snapshot::{Candidate, Snapshot};

/// From one pass to the next; upstream's `DefaultCleanerSyncInterval`.
pub const PERIOD: Duration = Duration::from_hours(24);

/// After a pass that failed the queue must try again after this long, then after twice as long, and
/// so on up to [`RETRY_MAX`].
pub const RETRY_MIN: Duration = Duration::from_secs(10);
/// At this pace Secrets that can never be written cost no more than 500 requests an hour.
pub const RETRY_MAX: Duration = Duration::from_hours(1);

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// `--legacy-service-account-token-clean-up-period`; above zero.
    pub clean_up_period: Duration,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    const SEEDS: &'static [&'static str] = &["secrets"];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.reads::<TokenSecret>();
        table.reads::<ServiceAccount>();
        table.reads::<Pod>();
    }

    fn observe(&self, _: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        Some(snapshot::observe(view))
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, facts, self.clean_up_period), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}
