//! Which requests are deleted. As `worker` and `handle` in upstream's
//! `pkg/controller/certificates/cleaner/pcrcleaner.go`.

use std::time::Duration;

use api::{Kind, PodCertificateRequest};
use controller::{ObjectRef, Plan, Step, Write, window};

use super::PERIOD;
use super::snapshot::Snapshot;

/// How many requests a pass deletes. At upstream's default of 20 requests a second that takes five
/// seconds, so that no pass acts on what was true long ago.
pub(super) const DELETIONS_MAX: usize = 100;
/// When a pass that had more to delete is followed by the next one.
const SOON: Duration = Duration::from_secs(1);

pub(super) fn decide(s: &Snapshot) -> Plan {
    let old = s.old();
    if old.is_empty() {
        return Plan::rest("no certificate request of a pod is old").again_after(Some(PERIOD));
    }
    let deletes = window(&old, DELETIONS_MAX, s.now).map(|request| {
        let object = ObjectRef::new(&PodCertificateRequest::RESOURCE, &request.meta);
        Write::delete(object).into()
    });
    let step = Step::Together(deletes.collect());
    let again = if old.len() > DELETIONS_MAX { SOON } else { PERIOD };
    Plan::one(format!("{} are old", old.len()), step).again_after(Some(again))
}
