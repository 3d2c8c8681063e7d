//! What a range needs. As `sync` in upstream's
//! `pkg/controller/servicecidrs/servicecidrs_controller.go`.

use std::sync::Arc;
use std::time::Duration;

use api::{Kind, ServiceCidr, Status};
use controller::{Action, Event, EventType, ObjectRef, PatchKind, Plan, Step, Tolerated, Write};
use serde_json::{Value, json};

use super::snapshot::Snapshot;

/// How long a range that is being deleted stays. Upstream's `deletionGracePeriod`.
const GRACE: Duration = Duration::from_secs(10);
const READY: &str = "Kubernetes Service CIDR is ready";
const REFERENCED: &str = "There are still IPAddresses referencing the ServiceCIDR, please remove \
                          them or create a new ServiceCIDR";
const FIELD_MANAGER: &str = "service-cidr-controller";

/// The condition `Ready`: status, reason and message.
type Condition = (Status, &'static str, &'static str);

pub(super) fn decide(s: &Snapshot) -> Plan {
    let ServiceCidr { meta, unreadable, .. } = &*s.cidr;
    if let Some(error) = unreadable {
        return Plan::rest(format!("the range cannot be read: {error}"));
    }
    if meta.is_terminating() { end(s) } else { begin(s) }
}

fn begin(s: &Snapshot) -> Plan {
    let has_finalizer = s.cidr.meta.has_finalizer(ServiceCidr::FINALIZER);
    let condition = (Status::True, "", READY);
    let lacks_condition = !has(s, condition);
    let mut actions = Vec::new();
    if !has_finalizer {
        actions.push(finalizer(s, "finalizers"));
    }
    if lacks_condition {
        actions.extend((has_finalizer && s.failures > 0).then(|| not_ready(s)));
        actions.push(apply(s, condition));
    }
    let why = match (has_finalizer, lacks_condition) {
        (false, _) => "it lacks the finalizer",
        (true, true) => "it is not said to be ready",
        (true, false) => return Plan::rest("it is ready"),
    };
    Plan::one(why, Step::InOrder(actions))
}

fn end(s: &Snapshot) -> Plan {
    let meta = &s.cidr.meta;
    if !meta.has_finalizer(ServiceCidr::FINALIZER) {
        return Plan::rest("it is being deleted, and waits for others");
    }
    if !s.is_covered()
        && let Some(ip) = s.orphan()
    {
        let why = format!("a Service has {ip}, which no other range offers");
        let condition = (Status::False, "Terminating", REFERENCED);
        if has(s, condition) {
            return Plan::rest(why);
        }
        return Plan::one(why, Step::InOrder(vec![apply(s, condition)]));
    }
    let since = meta.deletion_timestamp.map(|since| s.now.since(since)).unwrap_or_default();
    if let Some(left) = GRACE.checked_sub(since).filter(|left| !left.is_zero()) {
        let why = "the API server may still allocate addresses of it";
        return Plan::rest(why).again_after(Some(left));
    }
    let name = "$deleteFromPrimitiveList/finalizers";
    Plan::one("no Service needs it", Step::InOrder(vec![finalizer(s, name)]))
}

/// As `updateConditionIfNeeded` looks at it.
fn has(s: &Snapshot, (status, reason, message): Condition) -> bool {
    s.cidr.ready.as_ref().is_some_and(|known| {
        (known.status, &*known.reason, &*known.message) == (status, reason, message)
    })
}

/// Adds or removes the finalizer, by a list of this name.
fn finalizer(s: &Snapshot, list: &str) -> Action {
    let mut metadata = json!({ "uid": &*s.cidr.meta.uid });
    metadata[list] = json!([ServiceCidr::FINALIZER]);
    let body = json!({ "metadata": metadata });
    let write = Write::strategic(object(s), body.to_string());
    write.tolerating(&[Tolerated::Missing]).into()
}

/// The condition alone, with its time.
fn apply(s: &Snapshot, (status, reason, message): Condition) -> Action {
    let condition: Value = json!({
        "type": "Ready", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": s.now,
    });
    let body = json!({
        "apiVersion": ServiceCidr::RESOURCE.api_version(),
        "kind": ServiceCidr::RESOURCE.kind,
        "metadata": {"name": &*s.cidr.meta.key.name, "uid": &*s.cidr.meta.uid},
        "status": {"conditions": [condition]},
    });
    let kind = PatchKind::Apply { field_manager: FIELD_MANAGER, force: true };
    Write::patch(object(s), kind, body.to_string()).at("status").into()
}

/// Tells of the failure before.
fn not_ready(s: &Snapshot) -> Action {
    Action::Event(Event {
        about: Arc::new(object(s)),
        r#type: EventType::Warning,
        reason: "KubernetesServiceCIDRError".into(),
        message: "The ServiceCIDR Status can not be set to Ready=True".to_owned(),
    })
}

fn object(s: &Snapshot) -> ObjectRef {
    ObjectRef::new(&ServiceCidr::RESOURCE, &s.cidr.meta)
}
