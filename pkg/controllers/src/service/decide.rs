//! Whether a Service gets a load balancer, keeps it or loses it. As `syncLoadBalancerIfNeeded`,
//! `nodeSyncService` and what they call in upstream's
//! `k8s.io/cloud-provider/controllers/service/controller.go`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use api::{BalancedService, Ingress, Kind, Text};
use cloud::{Addresses, Ask, Done, Failure, Order, Reply, Trouble};
use controller::{
    Action, Announce, Event, EventType, Facts, ObjectRef, PatchKind, Plan, Query, Step, Tolerated,
    Write,
};
use serde_json::{Value, json};

use super::balancers::{Known, Verdict};
use super::removal;
use super::snapshot::Snapshot;

/// The reason of the Event about a sync that failed.
const FAILED: &str = "SyncLoadBalancerFailed";
/// Upstream's `maxNodeNamesToLog`.
const NAMES_MAX: usize = 20;

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
    let Some(service) = &s.service else { return removal::of_deleted(s, facts) };
    if let Some(error) = &service.unreadable {
        return (Plan::rest(format!("the Service cannot be read: {error}")), Verdict::Nothing);
    }
    if s.known.as_ref().is_some_and(|known| known.spec.uid != service.meta.uid) {
        return removal::of_deleted(s, facts);
    }
    if !service.wants_balancer() || service.needs_cleanup() {
        if !service.needs_cleanup() && s.known.is_none() {
            return (Plan::rest("it is to have no load balancer"), Verdict::Nothing);
        }
        return removal::of_service(s, service, facts);
    }
    if !service.meta.has_finalizer(BalancedService::CLEANUP) {
        return (hold(service), Verdict::Nothing);
    }
    let current = s.known.as_ref().filter(|known| known.is_ensured && known.spec == service.spec);
    match current {
        None => ensure(s, service, facts),
        Some(known) if known.generation == s.generation => {
            (Plan::rest("it has its load balancer"), Verdict::Nothing)
        }
        Some(known) => follow(s, service, known, facts),
    }
}

/// As `addFinalizer`: first, so that the Service cannot be deleted without its load balancer.
fn hold(service: &BalancedService) -> Plan {
    let body = json!({"metadata": {
        "uid": &*service.meta.uid, "finalizers": [BalancedService::CLEANUP],
    }});
    let start = "failed to add load balancer cleanup finalizer: ";
    let patch = patch(service, &body).announced(failing(service, start));
    let why = "it is to have a load balancer, and lacks the finalizer";
    // The finalizer is no change that a handler looks at, and it may be shown before the response.
    Plan::one(why, Step::InOrder(vec![patch.into()])).again_after(Some(Duration::ZERO))
}

fn ensure(s: &Snapshot, service: &BalancedService, facts: &Facts) -> (Plan, Verdict) {
    let order = Order::Ensure {
        cluster: s.cluster.clone(),
        service: Arc::clone(&service.spec),
        nodes: s.instances(),
    };
    let Some(Done { result, .. }) = facts.done.get(&order) else {
        let mut actions = vec![normal(service, "EnsuringLoadBalancer", "Ensuring load balancer")];
        actions.extend(s.nodes.is_empty().then(|| unavailable(service)));
        actions.push(order.into());
        return (ordered("it is to have a load balancer", actions), Verdict::Ensured(false));
    };
    match result {
        Ok(Some(addresses)) => (ensured(service, addresses), Verdict::Ensured(true)),
        Ok(None) => {
            let error = "service status returned by EnsureLoadBalancer is nil";
            (failed(service, error), Verdict::Ensured(false))
        }
        Err(failure) => {
            let error = format!("failed to ensure load balancer: {failure}");
            match failure.trouble {
                Trouble::Elsewhere => {
                    (Plan::rest("another program makes its load balancer"), Verdict::Ensured(true))
                }
                Trouble::NotYet(delay) => {
                    (not_yet(service, &error, delay), Verdict::Ensured(false))
                }
                Trouble::Failed => (failed(service, &error), Verdict::Ensured(false)),
            }
        }
    }
}

fn ensured(service: &BalancedService, addresses: &Addresses) -> Plan {
    let mut actions = vec![normal(service, "EnsuredLoadBalancer", "Ensured load balancer")];
    actions.extend(status(service, addresses).map(Action::from));
    Plan::one("it has its load balancer", Step::InOrder(actions))
}

/// As `nodeSyncService` and `lockedUpdateLoadBalancerHosts`. Upstream ensures a load balancer that
/// could not be updated at once.
fn follow(
    s: &Snapshot,
    service: &BalancedService,
    known: &Known,
    facts: &Facts,
) -> (Plan, Verdict) {
    if known.nodes == s.nodes_by_name() {
        return (Plan::rest("its load balancer leads to the right nodes"), Verdict::Follows);
    }
    let order = Order::Update {
        cluster: s.cluster.clone(),
        service: Arc::clone(&service.spec),
        nodes: s.instances(),
    };
    let why = "its load balancer leads to other nodes";
    let Some(Done { result, .. }) = facts.done.get(&order) else {
        return (ordered(why, vec![order.into()]), Verdict::Nothing);
    };
    let failure = match result {
        Ok(_) => {
            let reason = "UpdatedLoadBalancer";
            let event = match s.nodes.as_slice() {
                [] => unavailable(service),
                _ => normal(service, reason, "Updated load balancer with new hosts"),
            };
            let plan = Plan::one("its load balancer leads to them", Step::InOrder(vec![event]));
            return (plan, Verdict::Follows);
        }
        Err(Failure { trouble: Trouble::Elsewhere, .. }) => {
            return (Plan::rest("another program makes its load balancer"), Verdict::Follows);
        }
        Err(failure) => failure,
    };
    // It is only a failure if there still is one.
    let query = balancer(s, service);
    let Some(answer) = facts.get(&query) else {
        let why = "its load balancer could not be updated; is there one?";
        return (Plan::fetch(why, vec![query]), Verdict::Nothing);
    };
    if let Ok(Reply::Balancer(None)) = answer.cloud() {
        return (Plan::rest("its load balancer does not exist"), Verdict::Follows);
    }
    let message = format!(
        "Error updating load balancer with new hosts {} [node names limited, total number of \
         nodes: {}], error: {failure}",
        names(s),
        s.nodes.len()
    );
    let event = event(service, EventType::Warning, "UpdateLoadBalancerFailed", message);
    let plan = Plan::one("its load balancer could not be updated", Step::InOrder(vec![event]));
    (plan.again_after(Some(Duration::ZERO)), Verdict::Lags)
}

/// As Go prints what `loggableNodeNames` returns.
fn names(s: &Snapshot) -> String {
    let shown = s.nodes.iter().take(NAMES_MAX).map(|machine| &machine.meta.key.name);
    let mut names: Vec<Text> = shown.cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let more = s.nodes.len().saturating_sub(NAMES_MAX);
    names.extend((more > 0).then(|| Text::from(format!("<{more} more>"))));
    format!("[{}]", names.join(" "))
}

// === Parts of plans ===

/// The question whether it has a load balancer.
pub(super) fn balancer(s: &Snapshot, service: &BalancedService) -> Query {
    let (cluster, service) = (s.cluster.clone(), Arc::clone(&service.spec));
    Query::Cloud(Ask::Balancer { cluster, service })
}

/// These actions, and then a decision over their results.
pub(super) fn ordered(why: &'static str, actions: Vec<Action>) -> Plan {
    let steps = vec![Step::InOrder(actions), Step::Fetch(Vec::new())];
    Plan { why: why.into(), steps, ..Plan::default() }
}

/// The sync failed, and the Service says so.
pub(super) fn failed(service: &BalancedService, error: &str) -> Plan {
    Plan { error: Some(error.to_owned()), ..reported(service, error) }
}

fn not_yet(service: &BalancedService, error: &str, delay: Duration) -> Plan {
    reported(service, error).again_after(Some(delay))
}

fn reported(service: &BalancedService, error: &str) -> Plan {
    let message = format!("Error syncing load balancer: {error}");
    let event = event(service, EventType::Warning, FAILED, message);
    Plan::one("the cloud fails", Step::InOrder(vec![event]))
}

/// The Event about a write that failed.
pub(super) fn failing(service: &BalancedService, start: &str) -> Announce {
    Announce {
        about: about(service),
        done: None,
        failed: (FAILED, Cow::Owned(format!("Error syncing load balancer: {start}"))),
        silent: &[],
    }
}

/// As `patchStatus`: that it was deleted meanwhile is no failure. None: it says so already.
pub(super) fn status(service: &BalancedService, addresses: &[Ingress]) -> Option<Write> {
    if *service.ingress == *addresses {
        return None;
    }
    let ingress = if addresses.is_empty() { Value::Null } else { json!(addresses) };
    let body = json!({
        "metadata": {"uid": &*service.meta.uid},
        "status": {"loadBalancer": {"ingress": ingress}},
    });
    let announce = failing(service, "failed to update load balancer status: ");
    Some(patch(service, &body).tolerating(&[Tolerated::Missing]).announced(announce))
}

/// As `PatchService`: finalizers, too, are written by way of the status, as the role allows.
pub(super) fn patch(service: &BalancedService, body: &Value) -> Write {
    let object = ObjectRef::new(&BalancedService::RESOURCE, &service.meta);
    Write::patch(object, PatchKind::Strategic, body.to_string()).at("status")
}

pub(super) fn normal(
    service: &BalancedService,
    reason: &'static str,
    message: &'static str,
) -> Action {
    event(service, EventType::Normal, reason, message.to_owned())
}

fn unavailable(service: &BalancedService) -> Action {
    let message = "There are no available nodes for LoadBalancer".to_owned();
    event(service, EventType::Warning, "UnAvailableLoadBalancer", message)
}

fn event(
    service: &BalancedService,
    r#type: EventType,
    reason: &'static str,
    message: String,
) -> Action {
    Action::Event(Event { about: about(service), r#type, reason: reason.into(), message })
}

fn about(service: &BalancedService) -> Arc<ObjectRef> {
    Arc::new(ObjectRef::new(&BalancedService::RESOURCE, &service.meta))
}
