//! Tables, mirroring upstream's `node_lifecycle_controller_test.go`.

use cloud::{Ask, Reply};
use controller::fixture::{Fixture, decode, enqueued, with};
use controller::{Answer, Controller as _, Query, Refused};
use serde_json::{Value, json};

use super::*;

const PERIOD: Duration = Duration::from_secs(5);
const IT: Controller = Controller { period: PERIOD };

/// `node0`, with this status of its condition `Ready`; empty: it has none.
fn node(ready: &str) -> Value {
    let conditions = match ready {
        "" => json!([]),
        status => json!([{"type": "Ready", "status": status}]),
    };
    json!({
        "metadata": {"name": "node0", "uid": "u0", "resourceVersion": "7"},
        "spec": {"providerID": "foo://12345"},
        "status": {"conditions": conditions},
    })
}

fn tainted(node: Value, taints: &Value) -> Value {
    with(node, json!({"spec": {"taints": taints}}))
}

fn shutdown() -> Value {
    json!({"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"})
}

/// What a cloud says of the machine: whether it exists, and whether it is shut down.
struct Cloud {
    exists: Result<bool, &'static str>,
    is_shut_down: Result<bool, &'static str>,
}

fn cloud(exists: bool, is_shut_down: bool) -> Cloud {
    Cloud { exists: Ok(exists), is_shut_down: Ok(is_shut_down) }
}

impl Cloud {
    fn answer(&self, query: &Query) -> Answer {
        let Query::Cloud(ask) = query else { panic!("another query: {query}") };
        let said = match ask {
            Ask::Exists(it) if &*it.provider_id == "foo://12345" => self.exists,
            Ask::IsShutDown(_) => self.is_shut_down,
            Ask::Exists(_) | Ask::Balancer { .. } | Ask::Routes { .. } => panic!("{query}"),
        };
        match said {
            Ok(yes) => Answer::Cloud(Reply::Is(yes)),
            Err(text) => Answer::Failed(Refused::from(text)),
        }
    }
}

/// The last plan for a node, with all that is asked before.
fn plan(node: &Value, cloud: &Cloud) -> Plan {
    let fixture = Fixture::default().holding::<Machine>(std::slice::from_ref(node));
    let snapshot = IT.observe(&Key::new("", "node0"), &fixture.view(), &()).unwrap();
    let mut facts = Facts::default();
    loop {
        let (plan, ()) = IT.decide(&snapshot, &facts);
        let (_, Some(queries)) = plan.round() else { return plan };
        let answers = queries.iter().map(|query| (query.clone(), cloud.answer(query)));
        facts.answers.extend(answers.collect::<Vec<_>>());
    }
}

fn deletes() -> String {
    "why: it is not ready, and its machine does not exist\n\
     in order: event Normal DeletingNode: Deleting node node0 because it does not exist in the \
     cloud provider\n\
     in order: delete nodes node0\nagain in 5s\n"
        .to_owned()
}

fn rests(why: &str) -> String {
    format!("why: {why}\nagain in 5s\n")
}

fn taints(why: &str, taints: &Value) -> String {
    let body = json!({
        "metadata": {"uid": "u0", "resourceVersion": "7"}, "spec": {"taints": taints},
    });
    format!("why: {why}\nin order: patch nodes node0 {body}\n")
}

/// All rows of Test_NodesDeleted; `InstancesV2` is the only interface here.
#[test]
fn a_node_goes_with_its_machine() {
    let on = "it is not ready, but its machine is on";
    let failed = Cloud { exists: Err("err!"), is_shut_down: Ok(false) };
    for (name, ready, cloud, expected) in [
        ("node is not ready and does not exist", "False", cloud(false, false), deletes()),
        (
            "node is not ready and provider returns err",
            "False",
            failed,
            "why: it is not ready, and it is not known if it exists\n\
             error: error checking if node node0 exists: err!\n"
                .to_owned(),
        ),
        ("node is not ready but still exists", "False", cloud(true, false), rests(on)),
        (
            "node ready condition is unknown, node doesn't exist",
            "Unknown",
            cloud(false, false),
            deletes(),
        ),
        ("node ready condition is unknown, node exists", "Unknown", cloud(true, false), rests(on)),
        (
            "node is ready, but provider said it is deleted (maybe a bug in provider)",
            "True",
            cloud(false, false),
            "why: it is ready\n".to_owned(),
        ),
        ("rule: it has no condition", "", cloud(false, false), deletes()),
    ] {
        assert_eq!(plan(&node(ready), &cloud).to_string(), expected, "{name}");
    }
}

/// The rows of Test_NodesShutdown that `InstancesV2` has, too, and those of its taints' helpers.
#[test]
fn a_node_whose_machine_is_shut_down_has_a_taint() {
    let why = "it is not ready, and its machine is shut down";
    let failed = Cloud { exists: Ok(true), is_shut_down: Err("err!") };
    let other = json!({"key": "a", "value": "b", "effect": "NoSchedule"});
    let valued = with(shutdown(), json!({"value": "x"}));
    let ready = "it is ready, so its machine is on";
    for (name, node, cloud, expected) in [
        (
            "node is not ready and was shutdown, but exists",
            node("False"),
            cloud(true, true),
            format!("{}again in 5s\n", taints(why, &json!([shutdown()]))),
        ),
        (
            "node is not ready, but there is error checking if node is shutdown",
            node("False"),
            failed,
            "why: it is not ready, and it is not known if it is shut down\n\
             error: error checking if node node0 is shutdown: err!\n"
                .to_owned(),
        ),
        (
            "node is not ready and is not shutdown",
            node("False"),
            cloud(true, false),
            rests("it is not ready, but its machine is on"),
        ),
        (
            "node is ready but provider says it's shutdown (maybe a bug by provider)",
            node("True"),
            cloud(true, true),
            "why: it is ready\n".to_owned(),
        ),
        (
            "node is shutdown but provider says it does not exist",
            node("Unknown"),
            cloud(false, true),
            deletes(),
        ),
        (
            "RemoveTaintOffNode: others stay",
            tainted(node("True"), &json!([other, shutdown()])),
            cloud(true, false),
            taints(ready, &json!([other])),
        ),
        (
            "addOrUpdateTaint: it is there",
            tainted(node("False"), &json!([shutdown(), other])),
            cloud(true, true),
            rests(why),
        ),
        (
            "addOrUpdateTaint: it is there with a value",
            tainted(node("False"), &json!([valued, other])),
            cloud(true, true),
            format!("{}again in 5s\n", taints(why, &json!([shutdown(), other]))),
        ),
        (
            "rule: a machine that is on again keeps its taint until the node is ready",
            tainted(node("False"), &json!([shutdown()])),
            cloud(true, false),
            rests("it is not ready, but its machine is on"),
        ),
    ] {
        assert_eq!(plan(&node, &cloud).to_string(), expected, "{name}");
    }
}

/// The deletion names the node by its uid, and reports its failure as upstream does.
#[test]
fn a_deletion_that_fails_is_an_event() {
    let plan = plan(&node("False"), &cloud(false, false));
    let [controller::Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    let write = actions[1].write().unwrap();
    assert_eq!(
        (&*write.object.uid, &write.deleted().unwrap().guard),
        ("u0", &controller::Guard::Uid)
    );
    let [announce] = write.announce.as_slice() else { panic!("{plan}") };
    let (reason, start) = &announce.failed;
    assert_eq!((*reason, &**start), ("DeletingNodeFailed", "Failed deleting node node0: "));
    assert!(announce.done.is_none());
}

/// Rule: nodes that are ready cost nothing; the others wait for their next look.
#[test]
fn nodes_that_are_not_ready_enqueue() {
    let enqueues = |change: &Change<Machine>| enqueued(&IT, change, &Fixture::default());
    for (name, node, expected) in [
        ("ready", node("True"), ""),
        ("not ready", node("False"), "now node0\n"),
        ("unknown", node("Unknown"), "now node0\n"),
        ("without a condition", node(""), "now node0\n"),
        ("ready, with the taint", tainted(node("True"), &json!([shutdown()])), "now node0\n"),
    ] {
        let new = decode::<Machine>(&node);
        assert_eq!(enqueues(&Change::Added(new.clone())), expected, "{name}");
        let same = Change::Updated { old: new.clone(), new: new.clone() };
        assert_eq!(enqueues(&same), "", "{name}, and nothing changed");
        assert_eq!(enqueues(&Change::Deleted(new)), "forget node0\n", "{name}");
    }
    let (old, new) = (decode::<Machine>(&node("True")), decode::<Machine>(&node("False")));
    assert_eq!(enqueues(&Change::Updated { old: old.clone(), new: new.clone() }), "now node0\n");
    assert_eq!(enqueues(&Change::Updated { old: new, new: old }), "");
}

#[test]
fn a_summary_says_what_is_known_of_the_node() {
    let node = tainted(node("False"), &json!([shutdown()]));
    let snapshot = Snapshot { machine: decode(&node) };
    let said: Vec<_> =
        IT.summary(&snapshot).iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(
        said,
        [
            "ready: False",
            "provider ID: foo://12345",
            "taint: node.cloudprovider.kubernetes.io/shutdown:NoSchedule",
        ]
    );
}
