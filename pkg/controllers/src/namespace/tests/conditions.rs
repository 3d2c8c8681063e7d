//! The five conditions. Upstream's `status_condition_utils_test.go`, and what it leaves out.

use std::collections::BTreeMap;

use api::{Condition, Resource, Status};
use controller::fixture::{ago, time};
use serde_json::{Value, json};

use super::super::conditions::{Trouble, totals, updated};
use super::super::content::{Left, Place};
use super::world::{World, always, held, kind, running};
use super::*;

const PARSING: &str = "NamespaceDeletionGroupVersionParsingFailure";
const DISCOVERY: &str = "NamespaceDeletionDiscoveryFailure";

/// `newSuccessfulCondition` of all types, in the order of `conditionTypes`.
pub(super) const WELL: [&str; 5] = [
    "NamespaceDeletionDiscoveryFailure False ResourcesDiscovered All resources successfully \
     discovered",
    "NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions All legacy kube types \
     successfully parsed",
    "NamespaceDeletionContentFailure False ContentDeleted All content successfully deleted, may \
     be waiting on finalization",
    "NamespaceContentRemaining False ContentRemoved All content successfully removed",
    "NamespaceFinalizersRemaining False ContentHasNoFinalizers All content-preserving finalizers \
     finished",
];

fn condition(r#type: &str, status: Status, reason: &str, message: &str) -> Condition {
    Condition {
        r#type: r#type.to_owned(),
        status,
        last_update_time: None,
        last_transition_time: Some(time(-60_000_000_000)),
        reason: reason.to_owned(),
        message: message.to_owned(),
    }
}

fn texts(conditions: &[Condition]) -> Vec<String> {
    let text = |it: &Condition| {
        let since = if it.last_transition_time == Some(time(0)) { "" } else { "old " };
        format!("{since}{} {:?} {} {}", it.r#type, it.status, it.reason, it.message)
    };
    conditions.iter().map(text).collect()
}

/// TestUpdateConditions, all rows. Where upstream does not look at times, they are shown here: a
/// condition of which the status stays keeps its own.
#[test]
fn conditions_are_updated_as_upstream() {
    let [discovery, parsing, content, remaining, finalizers] = WELL;
    let bad = || {
        let (reason, message) = ("foo", "bar".to_owned());
        vec![Trouble { r#type: PARSING, reason, message }]
    };
    let failing = "NamespaceDeletionGroupVersionParsingFailure True foo bar";
    let known = |r#type, status| condition(r#type, status, "", "");
    let old = |text: &str| format!("old {text}");
    for (name, troubles, start, expected) in [
        (
            "leave unknown",
            vec![],
            vec![known("unknown", Status::True)],
            vec![&*old("unknown True  "), discovery, parsing, content, remaining, finalizers],
        ),
        ("replace with success", vec![], vec![known(DISCOVERY, Status::True)], WELL.to_vec()),
        (
            "leave different order",
            vec![],
            vec![known(PARSING, Status::True), known(DISCOVERY, Status::True)],
            vec![parsing, discovery, content, remaining, finalizers],
        ),
        (
            "overwrite with failure",
            bad(),
            vec![known(PARSING, Status::False), known(DISCOVERY, Status::True)],
            vec![failing, discovery, content, remaining, finalizers],
        ),
        (
            "write new failure",
            bad(),
            vec![known(DISCOVERY, Status::True)],
            vec![discovery, failing, content, remaining, finalizers],
        ),
        (
            "another text is no transition",
            bad(),
            vec![known(PARSING, Status::True), known(DISCOVERY, Status::False)],
            vec![&*old(failing), &*old(discovery), content, remaining, finalizers],
        ),
    ] {
        assert_eq!(texts(&updated(&start, &troubles, time(0))), expected, "{name}");
    }
}

/// TestProcessContentTotals, all rows but "just finalizers", of which upstream says that it should
/// not happen: here finalizers are those of what remains. That the finalizers of two kinds are
/// added up is ours.
#[test]
fn totals_are_reported_as_upstream() {
    let resource = |plural: &'static str| Resource::namespaced("apps.k8s.io", "v1", plural, "X");
    let (daemonsets, deployments) = (resource("daemonsets"), resource("deployments"));
    let left = |resource, count, finalizers: &[(&str, usize)]| {
        let key = Key::new("", "shop");
        let place = Place { key: &key, deleted: None, now: time(0) };
        let finalizers = finalizers.iter().map(|(name, count)| ((*name).into(), *count));
        let finalizers: BTreeMap<_, _> = finalizers.collect();
        Left { count, finalizers, ..Left::of(resource, &[], &place) }
    };
    let remain = "NamespaceContentRemaining SomeResourcesRemain Some resources are remaining: \
                  daemonsets.apps.k8s.io has 5 resource instances, deployments.apps.k8s.io has 5 \
                  resource instances";
    let finalizers = "NamespaceFinalizersRemaining SomeFinalizersRemain Some content in the \
                      namespace has finalizers remaining: kubedb in 5 resource instances, \
                      service-catalog in 6 resource instances";
    for (name, left, expected) in [
        ("nothing", vec![left(&daemonsets, 0, &[])], vec![]),
        (
            "just remaining",
            vec![left(&deployments, 5, &[]), left(&daemonsets, 5, &[])],
            vec![remain],
        ),
        (
            "both",
            vec![
                left(&deployments, 5, &[("service-catalog", 6)]),
                left(&daemonsets, 5, &[("kubedb", 5)]),
            ],
            vec![remain, finalizers],
        ),
        (
            "of two kinds",
            vec![
                left(&deployments, 5, &[("kubedb", 2), ("service-catalog", 6)]),
                left(&daemonsets, 5, &[("kubedb", 3)]),
            ],
            vec![remain, finalizers],
        ),
    ] {
        let troubles = totals(&left).into_iter();
        let texts = troubles.map(|it| format!("{} {} {}", it.r#type, it.reason, it.message));
        assert_eq!(texts.collect::<Vec<_>>(), expected, "{name}");
    }
}

/// TestNamespaceCondition of test/integration/namespace: pods are deleted first, then objects with
/// a finalizer remain, and all five conditions say so. Then the finalizer is removed, and the
/// namespace is deleted.
#[test]
fn conditions_tell_of_a_deployment_with_a_finalizer_as_upstream() {
    let mut world = World::new()
        .holding("pods.", &[object("p")])
        .holding("deployments.apps", &[held("web", &["custom.io/finalizer"])]);
    let synced = world.sync();
    assert_eq!(
        synced.plan.to_string().lines().next(),
        Some(
            "why: waits for deployments.apps (1 left), finalizer custom.io/finalizer on 1 \
             deployments.apps"
        )
    );
    assert_eq!(synced.plan.again, Some(Duration::from_secs(8)));
    let remaining = [
        "NamespaceContentRemaining True SomeResourcesRemain Some resources are remaining: \
         deployments.apps has 1 resource instances",
        "NamespaceFinalizersRemaining True SomeFinalizersRemain Some content in the namespace has \
         finalizers remaining: custom.io/finalizer in 1 resource instances",
    ];
    assert_eq!(world.conditions(), [&WELL[..3], &remaining].concat());
    // Nothing has changed: no write.
    world.sync();
    assert!(world.asked_for("PUT").is_empty(), "{:?}", world.requests);

    world.objects.clear();
    world.now = time(60_000_000_000);
    world.touch(json!({"metadata": {"finalizers": ["stay"]}}));
    world.sync();
    assert_eq!(world.conditions(), WELL);
    let namespace = world.namespace.unwrap();
    let times = |at: usize| namespace["status"]["conditions"][at]["lastTransitionTime"].clone();
    let times: Vec<Value> = (0..5).map(times).collect();
    let (before, after) = (ago(0), ago(-60));
    assert_eq!(times, [&before, &before, &before, &after, &after].map(|time| json!(time)));
    assert_eq!(namespace["spec"]["finalizers"], json!(null));
}

/// The card's messages for what is not well.
#[test]
fn every_trouble_has_upstreams_message() {
    let mut world = World::new()
        .serving(&["a.", "b.", "c.x.io", "d.x.io", "e.x.io"].map(kind))
        .holding("a.", &[held("1", &["y"]), held("2", &["x", "y"])])
        .holding("b.", &[held("1", &["x"])])
        .holding("c.x.io", &[world::immortal("1"), world::immortal("2")])
        .holding("d.x.io", &[object("1")])
        .refusing("DELETE d.x.io", always(500, "no"))
        .refusing("LIST e.x.io", always(403, "forbidden"));
    world.failed.insert("z.io/v1".to_owned(), "stale GroupVersion discovery: z.io/v1".to_owned());
    world.failed.insert("y.io/v1".to_owned(), "no response".to_owned());
    let synced = world.sync();
    let discovery = "unable to retrieve the complete list of server APIs: y.io/v1: no response, \
                     z.io/v1: stale GroupVersion discovery: z.io/v1";
    let unexpected =
        "unexpected items still remain in namespace: shop for gvr: x.io/v1, Resource=c";
    assert_eq!(
        synced.plan.error,
        Some(format!("[{discovery}, {unexpected}, no, forbidden]")),
        "{}",
        synced.plan
    );
    assert_eq!(
        world.conditions(),
        [
            format!(
                "NamespaceDeletionDiscoveryFailure True DiscoveryFailed Discovery failed for some \
                 groups, 2 failing: {discovery}"
            ),
            WELL[1].to_owned(),
            format!(
                "NamespaceDeletionContentFailure True ContentDeletionFailed Failed to delete all \
                 resource types, 3 remaining: forbidden, no, {unexpected}"
            ),
            "NamespaceContentRemaining True SomeResourcesRemain Some resources are remaining: a. \
             has 2 resource instances, b. has 1 resource instances, c.x.io has 2 resource \
             instances"
                .to_owned(),
            "NamespaceFinalizersRemaining True SomeFinalizersRemain Some content in the namespace \
             has finalizers remaining: x in 2 resource instances, y in 2 resource instances"
                .to_owned(),
        ]
    );
    assert_eq!(
        synced.plan.why,
        "waits for discovery of y.io/v1, z.io/v1, a. (2 left), b. (1 left), c.x.io (2 left), \
         d.x.io (failed), e.x.io (failed), finalizer x on 1 a., finalizer y on 2 a., finalizer x \
         on 1 b."
    );
    assert_eq!(synced.plan.again, None);
}

/// The early end of `deleteAllContent`: while pods remain, totals are not reported.
#[test]
fn pods_that_remain_are_in_no_total() {
    let mut world = World::new().holding("pods.", &[running("p", 30), held("q", &["x"])]);
    let synced = world.sync();
    assert_eq!(world.conditions(), WELL);
    assert_eq!(synced.plan.why, "waits for pods. (2 left), finalizer x on 1 pods.");
}

/// A plan names no more than ten things; conditions name all.
#[test]
fn a_reason_has_an_end() {
    let finalizers: Vec<String> = (0..12).map(|number| format!("f-{number:02}")).collect();
    let finalizers: Vec<&str> = finalizers.iter().map(String::as_str).collect();
    let mut world = World::new().holding("services.", &[held("a", &finalizers)]);
    let why = world.sync().plan.why;
    assert!(why.starts_with("waits for services. (1 left), finalizer f-00 on 1 services., "));
    assert!(why.ends_with("finalizer f-08 on 1 services. and 3 more"), "{why}");
    let condition = world.condition("NamespaceFinalizersRemaining");
    assert!(condition.ends_with("f-10 in 1 resource instances, f-11 in 1 resource instances"));
}

/// Conditions of others stay as they came, with what we do not know of them.
#[test]
fn conditions_of_others_stay() {
    let other = json!({"type": "Other", "status": "Odd", "news": 1});
    let mut world = World::of(json!({"status": {"conditions": [other]}}))
        .holding("services.", &[held("a", &["x"])]);
    world.sync();
    let namespace = world.namespace.unwrap();
    let conditions = &namespace["status"]["conditions"];
    assert_eq!(conditions[0], other);
    assert_eq!(conditions.as_array().map(Vec::len), Some(6));
}
