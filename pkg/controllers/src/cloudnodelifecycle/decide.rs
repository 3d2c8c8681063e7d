//! Whether the machine of a node exists, and what follows. As `MonitorNodes` in upstream's
//! `k8s.io/cloud-provider/controllers/nodelifecycle/node_lifecycle_controller.go`.

use std::sync::Arc;
use std::time::Duration;

use api::{Kind, Machine, Taint};
use cloud::{Ask, Instance, Reply};
use controller::{
    Action, Announce, Event, EventType, Facts, ObjectRef, PatchKind, Plan, Query, Step, Write,
};
use serde_json::json;

use super::snapshot::{is_ready, is_shutdown, taint};

pub(super) fn decide(machine: &Machine, facts: &Facts, period: Duration) -> Plan {
    let name = &machine.meta.key.name;
    if is_ready(machine) {
        let taints: Vec<_> = machine.taints.iter().filter(|it| !is_shutdown(it)).collect();
        if taints.len() == machine.taints.len() {
            return Plan::rest("it is ready");
        }
        let patch = patch(machine, &taints);
        return Plan::one("it is ready, so its machine is on", Step::InOrder(vec![patch.into()]));
    }
    let instance = Arc::new(Instance::of(machine));
    let exists = match answer(facts, Ask::Exists(Arc::clone(&instance))) {
        Said::Nothing(plan) => return plan,
        Said::Is(exists) => exists,
        Said::Failed(error) => {
            let error = format!("error checking if node {name} exists: {error}");
            return Plan::failed("it is not ready, and it is not known if it exists", error);
        }
    };
    if !exists {
        // A finalizer may hold it.
        return delete(machine).again_after(Some(period));
    }
    match answer(facts, Ask::IsShutDown(instance)) {
        Said::Nothing(plan) => plan,
        Said::Failed(error) => {
            let error = format!("error checking if node {name} is shutdown: {error}");
            Plan::failed("it is not ready, and it is not known if it is shut down", error)
        }
        Said::Is(true) => shut_down(machine).again_after(Some(period)),
        Said::Is(false) => {
            Plan::rest("it is not ready, but its machine is on").again_after(Some(period))
        }
    }
}

/// What a cloud says of a machine.
enum Said {
    /// It was not asked; this plan asks it.
    Nothing(Plan),
    Is(bool),
    Failed(String),
}

fn answer(facts: &Facts, ask: Ask) -> Said {
    let query = Query::Cloud(ask);
    let Some(answer) = facts.get(&query) else {
        return Said::Nothing(Plan::fetch(
            "it is not ready; what does the cloud say?",
            vec![query],
        ));
    };
    match answer.cloud() {
        Ok(Reply::Is(yes)) => Said::Is(*yes),
        Ok(Reply::Balancer(_) | Reply::Routes(_)) => Said::Failed("an unfit answer".to_owned()),
        Err(error) => Said::Failed(error.text.clone()),
    }
}

fn delete(machine: &Machine) -> Plan {
    let name = &machine.meta.key.name;
    let object = ObjectRef::new(&Machine::RESOURCE, &machine.meta);
    // As upstream names it in its Events.
    let about = Arc::new(ObjectRef { resource_version: 0, ..object.clone() });
    let message = format!("Deleting node {name} because it does not exist in the cloud provider");
    let event = Event {
        about: Arc::clone(&about),
        r#type: EventType::Normal,
        reason: "DeletingNode".into(),
        message,
    };
    let delete = Write::delete(object).announced(Announce {
        about,
        done: None,
        failed: ("DeletingNodeFailed", format!("Failed deleting node {name}: ").into()),
        silent: &[],
    });
    let actions = vec![Action::Event(event), delete.into()];
    Plan::one("it is not ready, and its machine does not exist", Step::InOrder(actions))
}

/// As `AddOrUpdateTaintOnNode`.
fn shut_down(machine: &Machine) -> Plan {
    let wanted = taint();
    let why = "it is not ready, and its machine is shut down";
    if machine.taints.contains(&wanted) {
        return Plan::rest(why);
    }
    let mut taints: Vec<&Taint> = machine.taints.iter().collect();
    match taints.iter_mut().find(|it| is_shutdown(it)) {
        Some(other) => *other = &wanted,
        None => taints.push(&wanted),
    }
    Plan::one(why, Step::InOrder(vec![patch(machine, &taints).into()]))
}

/// The list is one value, so it is of this version.
fn patch(machine: &Machine, taints: &[&Taint]) -> Write {
    let version = machine.meta.resource_version.to_string();
    let taints: Vec<_> = taints.iter().map(|it| it.to_json()).collect();
    let body = json!({
        "metadata": {"uid": &*machine.meta.uid, "resourceVersion": version},
        "spec": {"taints": taints},
    });
    let object = ObjectRef::new(&Machine::RESOURCE, &machine.meta);
    Write::patch(object, PatchKind::Strategic, body.to_string())
}
