//! Tables, mirroring upstream's
//! `pkg/controller/clusterroleaggregation/clusterroleaggregation_controller_test.go`.

use std::sync::Arc;

use api::{ClusterRole, DecodeError, Key, Object as _};
use controller::fixture::{Fixture, decode, enqueued};
use controller::{Action, Change, Controller as _, Facts, PatchKind, Step};
use serde_json::{Value, json};

use super::*;

const RIGHT: &str = "why: the rules are right\n";

fn hammer() -> Vec<Value> {
    vec![
        json!({"verbs": ["hammer"], "resources": ["nails"]}),
        json!({"verbs": ["hammer"], "resources": ["wedges"]}),
    ]
}

fn chisel() -> Vec<Value> {
    vec![json!({"verbs": ["chisel"], "resources": ["mortises"]})]
}

fn saw() -> Vec<Value> {
    vec![json!({"verbs": ["saw"], "resources": ["boards"]})]
}

fn role(name: &str, foo: &str, rules: &[Value]) -> Value {
    json!({"metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1",
        "labels": {"foo": foo}}, "rules": rules})
}

/// A role that aggregates what these selectors find.
fn aggregating(name: &str, selectors: &Value, rules: &[Value]) -> Value {
    let mut role = role(name, name, rules);
    role["aggregationRule"] = json!({ "clusterRoleSelectors": selectors });
    role
}

/// As upstream's `combinedRole`: each selector asks for a value of the label `foo`.
fn combined(foo: &[&str], rules: &[Value]) -> Value {
    let selector = |value: &&str| json!({"matchLabels": {"foo": value}});
    aggregating("combined", &foo.iter().map(selector).collect(), rules)
}

fn caches(roles: &[Value]) -> Fixture {
    Fixture::default().holding::<ClusterRole>(roles)
}

/// The plan for the role `combined`.
fn planned(roles: &[Value]) -> Plan {
    let snapshot = Controller.observe(&Key::new("", "combined"), &caches(roles).view(), &());
    Controller.decide(&snapshot.unwrap(), &Facts::default()).0
}

/// The text of a plan that gives `combined` these rules, instead of so many.
fn applies(rules: &[Value], before: usize) -> String {
    let mut body = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "combined", "uid": "uid-combined"}});
    if !rules.is_empty() {
        body["rules"] = json!(rules);
    }
    let object = "clusterroles.rbac.authorization.k8s.io combined";
    let why = format!("{} rules are aggregated, {before} are there", rules.len());
    format!("why: {why}\nin order: apply {object} {body}\n")
}

/// TestSyncClusterRole, all rows.
#[test]
fn rules_are_aggregated_as_upstream() {
    let (bar, both) = (&["bar"][..], &["bar", "not-bar"][..]);
    let three = [chisel(), hammer(), saw()].concat();
    for (name, roles, expected) in [
        (
            "remove dead rules",
            vec![role("hammer", "bar", &hammer()), combined(bar, &saw())],
            applies(&hammer(), 1),
        ),
        (
            "strip rules",
            vec![role("hammer", "not-bar", &hammer()), combined(bar, &hammer())],
            applies(&[], 2),
        ),
        (
            "select properly and put in order",
            vec![
                role("hammer", "bar", &hammer()),
                role("chisel", "bar", &chisel()),
                role("saw", "not-bar", &saw()),
                combined(bar, &[]),
            ],
            applies(&three[..3], 0),
        ),
        (
            "select properly with multiple selectors",
            vec![
                role("hammer", "bar", &hammer()),
                role("chisel", "bar", &chisel()),
                role("saw", "not-bar", &saw()),
                combined(both, &[]),
            ],
            applies(&three, 0),
        ),
        (
            "select properly remove duplicates",
            vec![
                role("hammer", "bar", &hammer()),
                role("chisel", "bar", &chisel()),
                role("saw", "bar", &saw()),
                role("other-saw", "not-bar", &saw()),
                combined(both, &[]),
            ],
            applies(&three, 0),
        ),
        (
            "no diff skip",
            vec![role("hammer", "bar", &hammer()), combined(bar, &hammer())],
            RIGHT.to_owned(),
        ),
    ] {
        assert_eq!(planned(&roles).to_string(), expected, "{name}");
    }
}

/// The card's rules that no row of upstream's stands for.
#[test]
fn rules_are_aggregated_as_the_card_says() {
    let swapped = hammer().into_iter().rev().collect::<Vec<_>>();
    let all = |rules: &[Value]| aggregating("combined", &json!([{}]), rules);
    let empty_lists = json!({"verbs": ["saw"], "resources": ["boards"], "apiGroups": [],
        "resourceNames": null});
    let every_field = json!({"verbs": ["get"], "apiGroups": ["", "apps"], "resources": ["pods"],
        "resourceNames": ["a"], "nonResourceURLs": ["/x"]});
    let twice = [saw(), saw()].concat();
    for (name, roles, expected) in [
        (
            "the order counts",
            vec![role("hammer", "bar", &hammer()), combined(&["bar"], &swapped)],
            applies(&hammer(), 2),
        ),
        (
            "a selector without requirements finds all but the role itself",
            vec![role("a", "bar", &chisel()), role("z", "x", &saw()), all(&hammer())],
            applies(&[chisel(), saw()].concat(), 2),
        ),
        (
            "the selectors' order comes before that of the names",
            vec![
                role("a", "bar", &chisel()),
                role("b", "not-bar", &saw()),
                combined(&["not-bar", "bar"], &[]),
            ],
            applies(&[saw(), chisel()].concat(), 0),
        ),
        (
            "zero selectors give no rules",
            vec![role("a", "bar", &saw()), combined(&[], &saw())],
            applies(&[], 1),
        ),
        ("no rules are no rules, null or empty", vec![combined(&["bar"], &[])], RIGHT.to_owned()),
        (
            "empty lists are equal to absent ones",
            vec![role("a", "bar", &[empty_lists]), combined(&["bar"], &saw())],
            RIGHT.to_owned(),
        ),
        (
            "each rule once, also within one role",
            vec![role("a", "bar", &twice), combined(&["bar"], &twice)],
            applies(&saw(), 2),
        ),
        (
            "all fields are copied",
            vec![role("a", "bar", std::slice::from_ref(&every_field)), combined(&["bar"], &[])],
            applies(std::slice::from_ref(&every_field), 0),
        ),
        (
            "a role without a rule of aggregation keeps its own",
            vec![role("combined", "x", &saw()), role("a", "bar", &hammer())],
            "why: the role aggregates none\n".to_owned(),
        ),
    ] {
        assert_eq!(planned(&roles).to_string(), expected, "{name}");
    }
}

/// Upstream's `applyClusterRoles`: forced, as this manager.
#[test]
fn rules_are_applied_as_upstreams_field_manager() {
    let plan = planned(&[role("a", "bar", &saw()), combined(&["bar"], &[])]);
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("one step: {plan}") };
    let [Action::Write(write)] = actions.as_slice() else { panic!("one patch: {plan}") };
    let field_manager = "clusterrole-aggregation-controller";
    let kind = PatchKind::Apply { field_manager, force: true };
    assert_eq!(write.patched().map(|patch| patch.kind), Some(kind));
    assert_eq!(write.tolerates, []);
}

/// Card: an invalid selector is an error, and the sync is tried again. Nothing is written, though
/// another selector is valid; nor if a role that is found cannot be read.
#[test]
fn what_cannot_be_known_is_not_written() {
    let near = json!({"matchExpressions": [{"key": "foo", "operator": "Near"}]});
    let selectors = json!([{"matchLabels": {"foo": "bar"}}, near]);
    let roles = [role("a", "bar", &saw()), aggregating("combined", &selectors, &[])];
    let unknown = "why: the rules cannot be known\nerror: ";
    let field = "aggregationRule.clusterRoleSelectors[1]";
    let error = "\"Near\" is not a valid label selector operator\n";
    assert_eq!(planned(&roles).to_string(), format!("{unknown}{field}: {error}"));

    let broken = |foo: &str| {
        let meta = decode::<ClusterRole>(&role("b", foo, &[])).meta.clone();
        Arc::new(ClusterRole::unreadable(meta, &DecodeError("rules: no".to_owned())))
    };
    let mut snapshot = Snapshot {
        role: decode(&combined(&["bar"], &[])),
        others: vec![decode(&role("a", "bar", &saw())), broken("bar")],
    };
    let plan = Controller.decide(&snapshot, &Facts::default()).0.to_string();
    assert_eq!(plan, format!("{unknown}cannot read clusterrole b: rules: no\n"));
    snapshot.others[1] = broken("not-bar");
    let plan = Controller.decide(&snapshot, &Facts::default()).0.to_string();
    assert_eq!(plan, applies(&saw(), 0), "one that nobody asks for does not matter");
}

/// Upstream's `enqueue`: all that aggregate, whatever changed, and no others.
#[test]
fn any_change_enqueues_all_that_aggregate() {
    let roles = [
        role("a", "bar", &saw()),
        combined(&["bar"], &[]),
        aggregating("empty", &Value::Null, &[]),
    ];
    let fixture = caches(&roles);
    let (a, gone) = (decode::<ClusterRole>(&roles[0]), decode(&role("gone", "x", &[])));
    let all = "now combined\nnow empty\n";
    for (change, expected) in [
        (Change::Added(a.clone()), all.to_owned()),
        (Change::Updated { old: a.clone(), new: a }, all.to_owned()),
        (Change::Deleted(gone), format!("forget gone\n{all}")),
    ] {
        assert_eq!(enqueued(&Controller, &change, &fixture), expected, "{change:?}");
    }
    assert_eq!(Controller.observe(&Key::new("", "gone"), &fixture.view(), &()).map(|_| ()), None);
}

#[test]
fn a_summary_counts() {
    let roles = [role("a", "bar", &saw()), combined(&["bar", "x"], &hammer())];
    let facts = |name: &str| {
        let snapshot = Controller.observe(&Key::new("", name), &caches(&roles).view(), &());
        let facts = Controller.summary(&snapshot.unwrap()).into_iter();
        facts.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>()
    };
    assert_eq!(facts("combined"), ["selectors 2", "rules 2", "other roles 1"]);
    assert_eq!(facts("a"), ["selectors none", "rules 1", "other roles 0"]);
}
