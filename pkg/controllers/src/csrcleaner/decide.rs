//! Which requests are deleted. As `worker` in upstream's
//! `pkg/controller/certificates/cleaner/cleaner.go`.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{CertificateSigningRequest, Kind};
use controller::{ObjectRef, Plan, Step, Write, window};

use super::PERIOD;
use super::snapshot::Snapshot;

/// How many requests a pass deletes. At upstream's default of 20 requests a second that takes five
/// seconds, so that no pass acts on what was true long ago.
pub(super) const DELETIONS_MAX: usize = 100;
/// When a pass that had more to delete is followed by the next one.
const SOON: Duration = Duration::from_secs(1);

pub(super) fn decide(s: &Snapshot) -> Plan {
    let over = s.over();
    if over.is_empty() {
        return Plan::rest("no certificate request is over").again_after(Some(PERIOD));
    }
    let mut counts = BTreeMap::new();
    for (_, reason) in &over {
        *counts.entry(reason).or_insert(0) += 1;
    }
    let why: Vec<_> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let deletes = window(&over, DELETIONS_MAX, s.now).map(|(request, _)| {
        let object = ObjectRef::new(&CertificateSigningRequest::RESOURCE, &request.meta);
        Write::delete(object).into()
    });
    let step = Step::Together(deletes.collect());
    let again = if over.len() > DELETIONS_MAX { SOON } else { PERIOD };
    Plan::one(why.join(", "), step).again_after(Some(again))
}
