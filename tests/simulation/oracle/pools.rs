//! Questions about pools of devices: each is answered once, and goes an hour later.

use std::collections::BTreeSet;
use std::time::Duration;

use api::Time;
use serde_json::Value;

use super::fields::{at, list, text};
use super::{Judged, Oracle};
use crate::site::START;

/// The controller that answers.
pub(super) const ACCOUNT: &str = "resourcepoolstatusrequest-controller";
/// Upstream's `completedRequestTTL` and `pendingRequestTTL`.
const ANSWERED: Duration = Duration::from_hours(1);
const PENDING: Duration = Duration::from_hours(24);

impl Oracle {
    /// Why the controller of questions is not to do that.
    pub(super) fn answers_wrong(&self, request: &Value, it: &Judged<'_>) -> Option<&'static str> {
        match (it.target.plural.as_str(), it.method, it.target.sub.as_str()) {
            ("resourcepoolstatusrequests", "PUT", "status") => self.answer_is_wrong(request, it),
            ("resourcepoolstatusrequests", "DELETE", "") => {
                let now = START + it.at + self.clocks.ahead(it.life, self.decider.begun);
                let told = list(request, "/status/conditions").first();
                let (since, stays) = match told {
                    Some(told) => (text(told, "/lastTransitionTime"), ANSWERED),
                    None => (text(request, "/metadata/creationTimestamp"), PENDING),
                };
                let is_young = Time::parse(since).is_ok_and(|since| now < since + stays);
                is_young.then_some("it is to stay for longer")
            }
            _ => Some("it is for questions alone"),
        }
    }

    /// The version that was decided on is this one.
    fn answer_is_wrong(&self, request: &Value, it: &Judged<'_>) -> Option<&'static str> {
        if is_answered(request) {
            return Some("it has its answer");
        }
        let changed = self.changed.get("ResourceSlice").copied().unwrap_or(0);
        let pools = self.objects.of_kind("ResourceSlice").filter(|slice| {
            let pool = text(request, "/spec/poolName");
            text(slice, "/spec/driver") == text(request, "/spec/driver")
                && ["", text(slice, "/spec/pool/name")].contains(&pool)
        });
        let pools: BTreeSet<_> = pools.map(|slice| text(slice, "/spec/pool/name")).collect();
        let is_wrong = at(it.got, "/status/poolCount").as_u64() != u64::try_from(pools.len()).ok();
        (is_wrong && self.knows("ResourceSlice", changed)).then_some("it counts other pools")
    }
}

/// What a question must have at the end.
pub(super) fn question_lacks(request: &Value) -> Option<String> {
    (!is_answered(request)).then(|| "has no answer".to_owned())
}

fn is_answered(request: &Value) -> bool {
    !list(request, "/status/conditions").is_empty()
}
