//! Whether a request gets its answer, or is over. As `syncRequest` in upstream's
//! `pkg/controller/resourcepoolstatusrequest/controller.go`.

use api::{Edit, Kind, ResourcePoolStatusRequest};
use controller::{Count, Family, ObjectRef, Plan, Retry, Step, When, Write};
use serde_json::{Value, json};

use super::snapshot::{Snapshot, ends};

/// Upstream's pkg/controller/resourcepoolstatusrequest/metrics.
pub(super) const PROCESSED_TOTAL: Family = Family::counter(
    "resourcepoolstatusrequest_controller_requests_processed_total",
    "[ALPHA] Total number of ResourcePoolStatusRequests processed",
)
.labels(&["driver_name"]);
/// As [`PROCESSED_TOTAL`].
pub(super) const ERRORS_TOTAL: Family = Family::counter(
    "resourcepoolstatusrequest_controller_request_processing_errors_total",
    "[ALPHA] Total number of errors encountered while processing ResourcePoolStatusRequests",
)
.labels(&["driver_name"]);
/// As [`PROCESSED_TOTAL`].
pub(super) const DURATION: Family = Family::histogram(
    "resourcepoolstatusrequest_controller_request_processing_duration_seconds",
    "[ALPHA] Time taken to process a ResourcePoolStatusRequest",
    &[
        0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096,
        8.192, 16.384,
    ],
)
.labels(&["driver_name"]);
/// How many pools an answer has if the request does not say. Upstream's
/// `ResourcePoolStatusRequestLimitDefault`.
const LIMIT: i32 = 100;

/// What the metrics must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request is answered.
    Answers,
    /// It is not.
    Other,
}

pub(super) fn decide(s: &Snapshot) -> (Plan, Verdict) {
    let request = &*s.request;
    if let Some(error) = &request.unreadable {
        return (Plan::rest(format!("the request cannot be read: {error}")), Verdict::Other);
    }
    if request.meta.is_terminating() {
        return (Plan::rest("it is being deleted"), Verdict::Other);
    }
    let ends = ends(request);
    if ends.is_some_and(|at| at <= s.now) {
        let delete = Write::delete(object(request)).into();
        let plan = Plan::one("it was there for long enough", Step::InOrder(vec![delete]));
        return (plan, Verdict::Other);
    }
    if request.answered.is_some() {
        let again = ends.map(|at| at.since(s.now));
        let plan = Plan::rest("it has its answer").again_after(again);
        return (plan, Verdict::Other);
    }
    let limit = usize::try_from(request.limit.unwrap_or(LIMIT)).unwrap_or(0);
    let pools = s.pools.get(..limit).unwrap_or(&s.pools);
    if let Some(pool) = pools.iter().find(|pool| pool.is_incomplete()) {
        let why = format!("waits for the slices of pool {pool}");
        let error = "incomplete pools detected, requeueing";
        return (Plan::failed(why, error), Verdict::Other);
    }
    let condition = json!({
        "type": "Complete",
        "status": "True",
        "lastTransitionTime": s.now,
        "reason": "CalculationComplete",
        "message": format!("Calculated status for {} pools", pools.len()),
    });
    let mut status = json!({"poolCount": s.pools.len(), "conditions": [condition]});
    if !pools.is_empty() {
        status["pools"] = pools.iter().map(super::pools::Pool::status).collect::<Value>();
    }
    let edits = vec![Edit::new(["status"], status)];
    let count = |family| Count::one(family).labels([&*request.driver]);
    let counts = vec![count(&PROCESSED_TOTAL), count(&ERRORS_TOTAL).when(When::Failed)];
    let write = Write::status(object(request), request.raw.clone(), edits, Retry::Never);
    let write = write.counted(counts).into();
    (Plan::one("it has no answer yet", Step::InOrder(vec![write])), Verdict::Answers)
}

fn object(request: &ResourcePoolStatusRequest) -> ObjectRef {
    ObjectRef::new(&ResourcePoolStatusRequest::RESOURCE, &request.meta)
}
