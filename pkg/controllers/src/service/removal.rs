//! A load balancer that is to go: its Service wants none any more, or was deleted.

use std::sync::Arc;
use std::time::Duration;

use api::{BalancedService, Kind};
use cloud::{Done, Order, Reply, Trouble};
use controller::{Action, Event, EventType, Facts, ObjectRef, Plan, Step};
use serde_json::json;

use super::balancers::Verdict;
use super::decide::{balancer, failed, failing, normal, ordered, patch, status};
use super::snapshot::Snapshot;

const DELETING: (&str, &str) = ("DeletingLoadBalancer", "Deleting load balancer");
const DELETED: (&str, &str) = ("DeletedLoadBalancer", "Deleted load balancer");

/// Of a Service that wants none, or is being deleted. As the first half of
/// `syncLoadBalancerIfNeeded`.
pub(super) fn of_service(
    s: &Snapshot,
    service: &BalancedService,
    facts: &Facts,
) -> (Plan, Verdict) {
    let query = balancer(s, service);
    let exists = match facts.get(&query).map(|answer| answer.cloud()) {
        None => {
            let plan = Plan::fetch("it is to have no load balancer; is there one?", vec![query]);
            return (plan, Verdict::Nothing);
        }
        Some(Ok(Reply::Balancer(found))) => found.is_some(),
        Some(Ok(Reply::Routes(_) | Reply::Is(_))) => true,
        Some(Err(error)) => {
            let error = format!("failed to check if load balancer exists before cleanup: {error}");
            return (failed(service, &error), Verdict::Nothing);
        }
    };
    if !exists {
        return (release(service), Verdict::Removed);
    }
    let order = Order::Delete { cluster: s.cluster.clone(), service: Arc::clone(&service.spec) };
    match facts.done.get(&order) {
        None => {
            let actions = vec![normal(service, DELETING.0, DELETING.1), order.into()];
            (ordered("its load balancer is to go", actions), Verdict::Nothing)
        }
        Some(Done { result: Err(failure), .. }) if failure.trouble != Trouble::Elsewhere => {
            let error = format!("failed to delete load balancer: {failure}");
            (failed(service, &error), Verdict::Nothing)
        }
        Some(_) => (release(service), Verdict::Removed),
    }
}

/// The load balancer is deleted, and holds the Service no more.
fn release(service: &BalancedService) -> Plan {
    let mut actions = Vec::new();
    if service.meta.has_finalizer(BalancedService::CLEANUP) {
        let body = json!({"metadata": {
            "uid": &*service.meta.uid,
            "$deleteFromPrimitiveList/finalizers": [BalancedService::CLEANUP],
        }});
        let start = "failed to remove load balancer cleanup finalizer: ";
        actions.push(patch(service, &body).announced(failing(service, start)).into());
    }
    actions.push(normal(service, DELETED.0, DELETED.1));
    actions.extend(status(service, &[]).map(Action::from));
    Plan::one("it has no load balancer", Step::InOrder(actions))
}

/// Of a Service that was deleted although it had a load balancer, perhaps with another one of its
/// name in its place. As `processLoadBalancerDelete`.
pub(super) fn of_deleted(s: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
    let why = "the Service was deleted";
    let Some(known) = &s.known else { return (Plan::rest(why), Verdict::Nothing) };
    let about = Arc::new(ObjectRef {
        resource: BalancedService::RESOURCE,
        key: s.key.clone(),
        uid: known.spec.uid.clone(),
        resource_version: 0,
    });
    let event = |r#type, reason: &'static str, message: String| {
        let about = Arc::clone(&about);
        Action::Event(Event { about, r#type, reason: reason.into(), message })
    };
    let order = Order::Delete { cluster: s.cluster.clone(), service: Arc::clone(&known.spec) };
    match facts.done.get(&order).map(|done| &done.result) {
        None => {
            let deleting = event(EventType::Normal, DELETING.0, DELETING.1.to_owned());
            let why = "the Service was deleted, and its load balancer is to go";
            (ordered(why, vec![deleting, order.into()]), Verdict::Nothing)
        }
        Some(Ok(_)) => {
            let deleted = event(EventType::Normal, DELETED.0, DELETED.1.to_owned());
            let plan = Plan::one("its load balancer is deleted", Step::InOrder(vec![deleted]));
            // There may be another Service by now.
            (plan.again_after(Some(Duration::ZERO)), Verdict::Removed)
        }
        Some(Err(failure)) => {
            let message = format!("Error deleting load balancer: {failure}");
            let failed = event(EventType::Warning, "DeleteLoadBalancerFailed", message);
            let plan = Plan::one("the cloud fails", Step::InOrder(vec![failed]));
            let plan = match failure.trouble {
                Trouble::NotYet(delay) => plan.again_after(Some(delay)),
                Trouble::Failed | Trouble::Elsewhere => {
                    Plan { error: Some(failure.text.clone()), ..plan }
                }
            };
            (plan, Verdict::Nothing)
        }
    }
}
