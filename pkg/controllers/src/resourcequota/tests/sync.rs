//! The status, as TestSyncResourceQuota has it.

use super::*;

fn three_pods() -> Vec<Value> {
    let asks = json!({"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {}});
    vec![pod("running", asks.clone()), pod("running-2", asks.clone()), ended(pod("failed", asks))]
}

/// As upstream's `newTestPodsWithPriorityClasses`.
fn classed_pods() -> Vec<Value> {
    let asks = |cpu, memory| json!({"requests": {"cpu": cpu, "memory": memory}});
    let classed = |pod, class| with(pod, json!({"spec": {"priorityClassName": class}}));
    vec![
        classed(pod("running", asks("500m", "50Gi")), "high"),
        classed(pod("running-2", asks("100m", "1Gi")), "low"),
        ended(pod("failed", asks("100m", "1Gi"))),
    ]
}

/// A quota with upstream's limits and this scope.
fn scoped(scope: &Value) -> Value {
    let hard = json!({"hard": {"cpu": "3", "memory": "100Gi", "pods": "5"}});
    quota(&with(hard, scope.clone()))
}

fn by_class(operator: &str, values: &[&str]) -> Value {
    let expression = json!({"scopeName": "PriorityClass", "operator": operator, "values": values});
    json!({"scopeSelector": {"matchExpressions": [expression]}})
}

/// The cases of TestSyncResourceQuota over pods, by upstream's names.
#[test]
fn pods_are_counted_in_their_scopes() {
    let best_effort = || {
        let none = json!({"requests": {"cpu": "0"}});
        vec![pod("running", none.clone()), pod("running-2", none), ended(three_pods().remove(2))]
    };
    let scopes = |scope: &str| json!({ "scopes": [scope] });
    for (name, scope, pods, cpu, memory, count) in [
        ("non-matching-best-effort", scopes("BestEffort"), three_pods(), "0", "0", "0"),
        ("matching-best-effort", scopes("BestEffort"), best_effort(), "0", "0", "2"),
        ("non-matching-OpExists", by_class("Exists", &[]), three_pods(), "0", "0", "0"),
        ("matching-OpExists", by_class("Exists", &[]), classed_pods(), "600m", "51Gi", "2"),
        ("OpIn", by_class("In", &["high", "low"]), classed_pods(), "600m", "51Gi", "2"),
        ("OpIn-high", by_class("In", &["high"]), classed_pods(), "500m", "50Gi", "1"),
        ("OpIn-low", by_class("In", &["low"]), classed_pods(), "100m", "1Gi", "1"),
        ("OpNotIn-low", by_class("NotIn", &["high"]), classed_pods(), "100m", "1Gi", "1"),
        ("non-matching-OpIn", by_class("In", &["random"]), classed_pods(), "0", "0", "0"),
        ("OpNotIn", by_class("NotIn", &["random"]), three_pods(), "200m", "2Gi", "2"),
        ("OpDoesNotExist", by_class("DoesNotExist", &[]), three_pods(), "200m", "2Gi", "2"),
        ("an operator that there is not", by_class("Like", &["x"]), classed_pods(), "0", "0", "0"),
        ("no value", by_class("In", &[]), classed_pods(), "0", "0", "0"),
        ("pods", json!({}), three_pods(), "200m", "2Gi", "2"),
    ] {
        let mut world = World { pods, ..World::of(scoped(&scope)) };
        let status = world.sync().status.unwrap();
        let used = json!({"cpu": cpu, "memory": memory, "pods": count});
        let hard = json!({"cpu": "3", "memory": "100Gi", "pods": "5"});
        assert_eq!(status, json!({ "hard": hard, "used": used }), "{name}");
        assert_eq!(world.sync().status, None, "{name}: it is right now");
    }
}

/// "quota-spec-hard-updated", "quota-unchanged"; limits that print otherwise are the same.
#[test]
fn a_status_is_written_if_it_is_wrong() {
    let with_status = |hard: &str, status: Value| {
        with(quota(&json!({"hard": {"cpu": hard}})), json!({ "status": status }))
    };
    let right = json!({"hard": {"cpu": "3"}, "used": {"cpu": "0"}});
    let synced = World::of(with_status("4", right)).sync();
    assert_eq!(synced.status, Some(json!({"hard": {"cpu": "4"}, "used": {"cpu": "0"}})));
    assert_eq!(
        synced.plan.to_string(),
        "why: the limits in the status change\nagain in 10s\n",
        "what was written is looked at again"
    );
    let right = json!({"hard": {"cpu": "4"}, "used": {"cpu": "0"}});
    let synced = World::of(with_status("4000m", right)).sync();
    assert_eq!(synced.status, None);
    assert_eq!(synced.plan.to_string(), "why: what is used is right\nagain in 300s\n");
    let wrong = json!({"hard": {"cpu": "4"}, "used": {"cpu": "1", "memory": "1Gi"}});
    let synced = World::of(with_status("4", wrong)).sync();
    assert_eq!(synced.status, Some(json!({"hard": {"cpu": "4"}, "used": {"cpu": "0"}})));
    // Limits as they came, however they are written.
    let synced = World::of(with_status("4000m", json!({"hard": {"cpu": "3"}}))).sync();
    assert_eq!(synced.status.unwrap()["hard"], json!({"cpu": "4000m"}));
}

/// Upstream writes the empty status of such quotas again at each sync, which changes nothing.
#[test]
fn a_quota_without_limits_gets_no_status() {
    let synced = World::of(quota(&json!({}))).sync();
    assert_eq!(synced.status, None);
    let unknown = quota(&json!({"hard": {"count/nothing.example.com": "1"}}));
    let mut world = World::of(unknown);
    let status = world.sync().status.unwrap();
    assert_eq!(status, json!({"hard": {"count/nothing.example.com": "1"}}));
    assert_eq!(world.sync().status, None);
    let was = json!({"hard": {"cpu": "3"}, "used": {"cpu": "0"}});
    let emptied = with(quota(&json!({})), json!({ "status": was }));
    assert_eq!(World::of(emptied).sync().status, Some(json!({})));
}

/// "quota-missing-status-with-calculation-error" and "…-partial-calculation-error".
#[test]
fn what_cannot_be_counted_keeps_its_figure() {
    let names = ["count/widgets.example.com", "configmaps", "pods"];
    let mut world = World::of(of(&names));
    world.serve(&[WIDGETS]);
    let synced = world.sync();
    let error = "cannot count configmaps, count/widgets.example.com: these objects are not listed \
                 yet";
    assert_eq!(synced.plan.error.as_deref(), Some(error));
    assert_eq!(synced.status.unwrap()["used"], json!({"pods": "0"}));
    let used = json!({"count/widgets.example.com": "4", "configmaps": "2000m", "pods": "1"});
    world.quota = with(world.quota.clone(), json!({"status": {"used": used}}));
    let used = json!({"count/widgets.example.com": "4", "configmaps": "2000m", "pods": "0"});
    assert_eq!(world.used(), used, "as it came");
    world.counted.insert(CONFIG_MAPS, vec![named("a")]);
    let used = json!({"count/widgets.example.com": "4", "configmaps": "1", "pods": "0"});
    assert_eq!(world.used(), used);
}

/// An object of which only the metadata can be read.
#[test]
fn a_broken_quota_is_left_alone() {
    let fixture =
        World::of(of(&[])).fixture().holding_unreadable::<ResourceQuota>(&of(&["pods"]), "no");
    let view = fixture.view();
    let key = Key::new("shop", "quota");
    let snapshot = CONTROLLER.observe(&key, &view, &Kinds::default()).unwrap();
    let (plan, verdict) = CONTROLLER.decide(&snapshot, &Facts::default());
    assert_eq!(plan.to_string(), "why: the quota cannot be read: no\n");
    assert!(CONTROLLER.report(&snapshot, Some(&verdict), &Outcome::default()).is_none());
    assert!(CONTROLLER.observe(&Key::new("shop", "other"), &view, &Kinds::default()).is_none());
}

/// What an operator asks for whose pods are refused.
#[test]
fn a_reason_names_what_is_used_up() {
    let hard = json!({"hard": {"cpu": "200m", "memory": "1Gi", "pods": "5"}});
    let mut world = World { pods: three_pods(), ..World::of(quota(&hard)) };
    world.sync();
    assert_eq!(
        world.sync().plan.to_string(),
        "why: used up: cpu 200m of 200m, memory 2Gi of 1Gi\nagain in 300s\n"
    );
    world.pods.clear();
    assert_eq!(
        world.sync().plan.to_string(),
        "why: changes: cpu from 200m to 0, memory from 2Gi to 0, pods from 2 to 0\nagain in 10s\n"
    );
    let fixture = world.fixture();
    let key = Key::new("shop", "quota");
    let snapshot = CONTROLLER.observe(&key, &fixture.view(), &Kinds::default()).unwrap();
    let summary = CONTROLLER.summary(&snapshot);
    assert_eq!(summary[0], ("hard", "cpu=200m, memory=1Gi, pods=5".to_owned()));
}

/// The periods: the second queue has none, and zero is none.
#[test]
fn a_quota_is_looked_at_again() {
    let right = json!({"hard": {"pods": "100"}, "used": {"pods": "0"}});
    let mut world = World::of(with(of(&["pods"]), json!({ "status": right })));
    let again = |controller: &Controller, world: &mut World| world.sync_by(controller).plan.again;
    let missing = Controller { queue: Queue::Missing, ..CONTROLLER };
    let never = Controller { resync: Duration::ZERO, ..CONTROLLER };
    assert_eq!(again(&CONTROLLER, &mut world), Some(Duration::from_mins(5)));
    assert_eq!(again(&missing, &mut world), None);
    assert_eq!(again(&never, &mut world), None);
}
