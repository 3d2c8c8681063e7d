//! Tables. Upstream's only table, TestTypeChecking of
//! `pkg/controller/validatingadmissionpolicystatus/controller_test.go`, is of a checker of types.

use api::{Key, ValidatingAdmissionPolicy};
use controller::fixture::{Fixture, body, decode, enqueued, with};
use controller::{Action, Change, Controller as _, Facts, PatchKind, Step, Verb};
use serde_json::{Value, json};

use super::*;

/// A policy with one expression over Deployments, of which no generation was looked at.
fn policy() -> Value {
    json!({
        "metadata": {"name": "limits", "uid": "u", "resourceVersion": "7", "generation": 2},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["*"],
                "resources": ["deployments"],
            }]},
            "validations": [{"expression": "object.spec.replicas < 5"}],
        },
    })
}

fn planned(policy: &Value) -> Plan {
    let fixture =
        Fixture::default().holding::<ValidatingAdmissionPolicy>(std::slice::from_ref(policy));
    let snapshot = Controller.observe(&Key::new("", "limits"), &fixture.view(), &());
    Controller.decide(&snapshot.unwrap(), &Facts::default()).0
}

/// The status that a plan applies; none: it writes nothing.
fn applied(plan: &Plan) -> Option<Value> {
    let [Step::InOrder(actions)] = &*plan.steps else { return None };
    let [Action::Write(write)] = &**actions else { panic!("{plan}") };
    let Verb::Patch(patch) = &write.verb else { panic!("{plan}") };
    let kind = PatchKind::Apply { field_manager: "validatingadmissionpolicy-status", force: true };
    assert_eq!((&patch.kind, write.subresource), (&kind, Some("status")));
    let body = body(write);
    assert_eq!(body["metadata"], json!({"name": "limits", "uid": "u"}));
    assert_eq!(body["kind"], "ValidatingAdmissionPolicy");
    Some(body["status"].clone())
}

/// `reconcile`: a generation is looked at once.
#[test]
fn a_generation_is_looked_at_once() {
    for (observed, writes) in [(None, true), (Some(1), true), (Some(2), false), (Some(3), false)] {
        let policy = with(policy(), json!({"status": {"observedGeneration": observed}}));
        assert_eq!(applied(&planned(&policy)).is_some(), writes, "{observed:?}");
    }
}

/// `typesToCheck` and `Check` of apiserver's pkg/admission/plugin/policy/validating: without
/// expressions, or without kinds that are named, nothing is checked and there are no warnings.
#[test]
fn only_what_has_nothing_to_check_counts_as_checked() {
    let rules = |rules: Value| json!({"spec": {"matchConstraints": {"resourceRules": rules}}});
    let rule = |groups: &[&str], versions: &[&str], resources: &[&str]| {
        let (group, version) = (json!(groups), json!(versions));
        json!({"apiGroups": group, "apiVersions": version, "resources": resources})
    };
    for (name, patch, is_checked) in [
        ("an expression over Deployments", json!({}), false),
        ("no validations", json!({"spec": {"validations": []}}), true),
        ("null validations", json!({"spec": {"validations": null}}), true),
        ("no rules", rules(json!([])), true),
        ("no constraints", json!({"spec": {"matchConstraints": null}}), true),
        ("any group", rules(json!([rule(&["*"], &["v1"], &["pods"])])), true),
        ("a group and any", rules(json!([rule(&["", "*"], &["v1"], &["pods"])])), true),
        ("any version", rules(json!([rule(&[""], &["*"], &["pods"])])), true),
        ("no group", rules(json!([rule(&[], &["v1"], &["pods"])])), true),
        ("any resource", rules(json!([rule(&[""], &["v1"], &["*"])])), true),
        ("subresources", rules(json!([rule(&[""], &["v1"], &["pods/exec", "*/scale"])])), true),
        ("one resource", rules(json!([rule(&[""], &["v1"], &["*", "pods"])])), false),
        (
            "one rule of two",
            rules(json!([rule(&["*"], &["*"], &["*"]), rule(&[""], &["v1"], &["pods"])])),
            false,
        ),
    ] {
        let status = applied(&planned(&with(policy(), patch))).unwrap();
        let mut wanted = json!({"observedGeneration": 2});
        if is_checked {
            wanted["typeChecking"] = json!({});
        }
        assert_eq!(status, wanted, "{name}");
    }
}

/// `enqueuePolicy`.
#[test]
fn a_policy_that_comes_or_changes_is_looked_at() {
    let fixture = Fixture::default().holding::<ValidatingAdmissionPolicy>(&[]);
    let policy = || decode::<ValidatingAdmissionPolicy>(&policy());
    for (change, calls) in [
        (Change::Added(policy()), "now limits\n"),
        (Change::Updated { old: policy(), new: policy() }, "now limits\n"),
        (Change::Deleted(policy()), "forget limits\n"),
    ] {
        assert_eq!(enqueued(&Controller, &change, &fixture), calls);
    }
}

#[test]
fn a_policy_that_cannot_be_read_is_left_alone() {
    let fixture =
        Fixture::default().holding_unreadable::<ValidatingAdmissionPolicy>(&policy(), "odd");
    let snapshot = Controller.observe(&Key::new("", "limits"), &fixture.view(), &());
    let plan = Controller.decide(&snapshot.unwrap(), &Facts::default()).0;
    assert_eq!(plan.to_string(), "why: the policy cannot be read\nerror: odd\n");
}

#[test]
fn an_explanation_says_what_is_not_checked() {
    let fixture = Fixture::default().holding::<ValidatingAdmissionPolicy>(&[policy()]);
    let snapshot = Controller.observe(&Key::new("", "limits"), &fixture.view(), &()).unwrap();
    let facts = Controller.summary(&snapshot).into_iter();
    let facts: Vec<_> = facts.map(|(name, value)| format!("{name}: {value}")).collect();
    let wanted = "generation: 2, looked at: 0, expressions: 1, resources that they are about: 1";
    assert_eq!(facts.join(", "), wanted);
    let plan = planned(&policy()).to_string();
    assert!(plan.starts_with("why: generation 2 is new; its expressions are not checked\n"));
}
