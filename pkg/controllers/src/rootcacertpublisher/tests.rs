//! Tables, mirroring upstream's
//! `pkg/controller/certificates/rootcacertpublisher/publisher_test.go`.

use std::sync::Arc;
use std::time::Duration;

use api::{DecodeError, Key, Kind as _, Namespace, Object as _, RootCa};
use controller::fixture::{self, Fixture, NOW, decode, enqueued, with};
use controller::{Action, Amount, Change, Controller as _, Facts, Step};
use serde_json::{Value, json};

use super::*;

const MISSING: &str = "why: the authority is missing\nin order: create configmaps in shop\n";
const RIGHT: &str = "why: the authority is right\n";
const WRONG: &str = "why: the authority is wrong\n";
const DELETED: &str = "why: the namespace is being deleted\n";
/// Upstream's text, byte by byte.
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when \
                           using internal endpoints such as the internal service IP or \
                           kubernetes.default.svc. No other usage is guaranteed across \
                           distributions of Kubernetes clusters.";

fn publisher() -> Controller {
    Controller { root_ca: "fake-root-ca".to_owned() }
}

fn namespace(phase: &str) -> Value {
    json!({"metadata": {"name": "shop", "resourceVersion": "1"}, "status": {"phase": phase}})
}

/// As upstream's `defaultCrtConfigMapPtr`, with a description unless that is null.
fn published(data: &Value, description: &Value) -> Value {
    let meta = json!({"name": "kube-root-ca.crt", "namespace": "shop", "uid": "uid-ca",
        "resourceVersion": "7"});
    let annotations = json!({ "kubernetes.io/description": description });
    let object = json!({ "metadata": meta, "data": data });
    if description.is_null() {
        return object;
    }
    with(object, json!({ "metadata": { "annotations": annotations } }))
}

fn right() -> Value {
    published(&json!({"ca.crt": "fake-root-ca"}), &json!(DESCRIPTION))
}

fn caches(namespaces: &[Value], published: &[Value]) -> Fixture {
    Fixture::default().holding::<Namespace>(namespaces).holding::<RootCa>(published)
}

fn planned(fixture: &Fixture) -> Option<Plan> {
    let snapshot = publisher().observe(&Key::new("", "shop"), &fixture.view(), &())?;
    Some(publisher().decide(&snapshot, &Facts::default()).0)
}

/// Syncs what the change enqueues: the plan, or that nothing was enqueued, or that there is no
/// namespace.
fn after<T: api::Kind>(change: &Change<T>, fixture: &Fixture) -> String {
    let calls = enqueued(&publisher(), change, fixture);
    if calls.is_empty() {
        return "nothing".to_owned();
    }
    assert_eq!(calls, "now shop\n");
    planned(fixture).map_or_else(|| "gone".to_owned(), |plan| plan.to_string())
}

/// The text of a plan that writes the ConfigMap anew.
fn updates() -> String {
    let data = r#"data={"ca.crt":"fake-root-ca"}"#;
    let annotation = format!("metadata.annotations.kubernetes.io/description=\"{DESCRIPTION}\"");
    let object = "configmaps shop/kube-root-ca.crt";
    format!("{WRONG}in order: update {object} {data} {annotation}\n")
}

/// TestConfigMapCreation, all rows but those about a ConfigMap with another name, "delete other
/// configmap" and "update with other configmap": the API server is not asked for such.
#[test]
fn authorities_are_published_as_upstream() {
    let active = [namespace("Active")];
    let it = decode::<Namespace>(&active[0]);
    let added = Change::Added(it.clone());
    assert_eq!(after(&added, &caches(&active, &[])), MISSING, "create new namespace");

    let terminating = decode::<Namespace>(&namespace("Terminating"));
    let change = Change::Updated { old: it, new: terminating };
    let name = "update namespace with terminating state";
    assert_eq!(after(&change, &caches(&[namespace("Terminating")], &[])), "nothing", "{name}");

    let old = decode::<RootCa>(&right());
    let change = Change::Deleted(old.clone());
    assert_eq!(after(&change, &caches(&active, &[])), MISSING, "delete ca configmap");
    assert_eq!(RootCa::FIELD_SELECTOR, "metadata.name=kube-root-ca.crt", "other configmaps");

    let adding = json!({"ca.crt": "fake-root-ca", "test": "test"});
    for (name, data, expected) in [
        ("update ca configmap with adding field", adding, updates()),
        ("update ca configmap with modifying field", json!({"ca.crt": "abc"}), updates()),
        // More than upstream's rows.
        ("update ca configmap with nothing", json!({"ca.crt": "fake-root-ca"}), RIGHT.to_owned()),
        ("update ca configmap with another key", json!({"ca.pem": "fake-root-ca"}), updates()),
        ("update ca configmap without data", Value::Null, updates()),
        ("update ca configmap with empty data", json!({}), updates()),
    ] {
        let new = published(&data, &json!(DESCRIPTION));
        let fixture = caches(&active, std::slice::from_ref(&new));
        let change = Change::Updated { old: old.clone(), new: decode(&new) };
        assert_eq!(after(&change, &fixture), expected, "{name}");
    }
}

/// TestConfigMapUpdateNoHotLoop, all rows; and card: an empty description.
#[test]
fn descriptions_are_written_as_upstream() {
    for (name, description, expected) in [
        ("update-configmap-annotation", Value::Null, updates()),
        ("an empty one", json!(""), updates()),
        ("no-update-configmap-if-annotation-present-and-equal", json!(DESCRIPTION), RIGHT.into()),
        ("no-update-configmap-if-annotation-present-and-different", json!("x"), RIGHT.into()),
    ] {
        let published = published(&json!({"ca.crt": "fake-root-ca"}), &description);
        let plan = planned(&caches(&[namespace("Active")], &[published])).unwrap();
        assert_eq!(plan.to_string(), expected, "{name}");
    }
    // If the data is wrong, the description is replaced too.
    let published = published(&json!({"ca.crt": "abc"}), &json!("x"));
    let plan = planned(&caches(&[namespace("Active")], &[published])).unwrap();
    assert_eq!(plan.to_string(), updates());
}

/// `syncNamespace`: the body of a create.
#[test]
fn the_configmap_is_made_as_upstream() {
    let plan = planned(&caches(&[namespace("Active")], &[])).unwrap();
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("one step: {plan}") };
    let [Action::Write(create)] = actions.as_slice() else { panic!("one create: {plan}") };
    let expected = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "kube-root-ca.crt", "namespace": "shop",
            "annotations": {"kubernetes.io/description": DESCRIPTION}},
        "data": {"ca.crt": "fake-root-ca"}});
    assert!(create.created().is_some());
    assert_eq!(fixture::body(create), expected);
}

/// `syncNamespace`: the data is replaced as a whole, and all else stays; the version that was
/// decided on is the precondition.
#[test]
fn an_update_keeps_the_other_fields() {
    let extra = json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"},
        "finalizers": ["example.com/f"]}, "binaryData": {"e": "AQI="}, "later": 1.50});
    let found = with(published(&json!({"ca.crt": "old", "other": "x"}), &Value::Null), extra);
    let plan = planned(&caches(&[namespace("Active")], std::slice::from_ref(&found))).unwrap();
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("one step: {plan}") };
    let [Action::Write(update)] = actions.as_slice() else { panic!("one update: {plan}") };
    assert_eq!((&*update.object.uid, update.subresource), ("uid-ca", None));
    assert!(update.edited().is_some());
    let right = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"annotations": {"kubernetes.io/description": DESCRIPTION}},
        "data": {"ca.crt": "fake-root-ca", "other": null}});
    assert_eq!(fixture::body(update), with(found, right));
}

/// What the API server would refuse is not asked for; upstream's `HasStatusCause` and
/// `IsNotFound`. What is there is still put right.
#[test]
fn nothing_is_made_where_nothing_can_be() {
    let deletion = json!({"metadata": {"deletionTimestamp": NOW}});
    let wrong = [published(&json!({}), &Value::Null)];
    for namespace in [namespace("Terminating"), with(namespace("Active"), deletion)] {
        let namespaces = [namespace];
        let change = Change::Added(decode::<Namespace>(&namespaces[0]));
        assert_eq!(after(&change, &caches(&namespaces, &[])), DELETED);
        assert_eq!(after(&change, &caches(&namespaces, &wrong)), updates());
    }
    let change = Change::Deleted(decode::<RootCa>(&right()));
    assert_eq!(after(&change, &caches(&[], &[])), "gone");
    // A phase that is not known is none that forbids it: as upstream, which does not look.
    let change = Change::Added(decode::<Namespace>(&namespace("")));
    assert_eq!(after(&change, &caches(&[namespace("")], &[])), MISSING);
}

/// Card, Events: namespaces that come, whatever their phase, and changes of active ones; ConfigMaps
/// that change or are deleted. What awaits a namespace that is deleted is forgotten.
#[test]
fn changes_enqueue_as_upstream() {
    let fixture = caches(&[], &[]);
    let woken_by = |change: &Change<Namespace>| enqueued(&publisher(), change, &fixture);
    let old = decode::<Namespace>(&namespace("Active"));
    for (phase, added, updated) in [
        ("Active", "now shop\n", "now shop\n"),
        ("Terminating", "now shop\n", ""),
        ("", "now shop\n", ""),
    ] {
        let new = decode::<Namespace>(&namespace(phase));
        assert_eq!(woken_by(&Change::Added(new.clone())), added, "{phase:?}");
        let change = Change::Updated { old: old.clone(), new: new.clone() };
        assert_eq!(woken_by(&change), updated, "{phase:?}");
        assert_eq!(woken_by(&Change::Deleted(new)), "forget shop\n", "{phase:?}");
    }
    let added = Change::Added(decode::<RootCa>(&right()));
    assert_eq!(enqueued(&publisher(), &added, &fixture), "");
}

/// An object of which only the metadata could be read is not overwritten with what is left of it.
#[test]
fn a_configmap_that_cannot_be_read_is_left_alone() {
    let meta = decode::<RootCa>(&right()).meta.clone();
    let published = RootCa::unreadable(meta, &DecodeError("data: no".to_owned()));
    let namespace = decode::<Namespace>(&namespace("Active"));
    let snapshot = Snapshot { namespace, published: Some(Arc::new(published)) };
    let plan = publisher().decide(&snapshot, &Facts::default()).0.to_string();
    let error = "cannot read configmap shop/kube-root-ca.crt: data: no";
    assert_eq!(plan, format!("why: the authority cannot be read\nerror: {error}\n"));
}

/// Card: the authority may be empty, and is then published as it is.
#[test]
fn an_empty_authority_is_published() {
    let controller = Controller { root_ca: String::new() };
    let fixture =
        |data: &Value| caches(&[namespace("Active")], &[published(data, &json!(DESCRIPTION))]);
    for (data, why) in
        [(json!({"ca.crt": ""}), "the authority is right"), (json!({}), "the authority is wrong")]
    {
        let snapshot =
            controller.observe(&Key::new("", "shop"), &fixture(&data).view(), &()).unwrap();
        assert_eq!(controller.decide(&snapshot, &Facts::default()).0.why, why, "{data}");
    }
}

#[test]
fn a_summary_says_what_it_depends_on() {
    for (found, expected) in [
        (vec![], "terminating false, published missing, bytes of the authority 12"),
        (vec![right()], "terminating false, published right, bytes of the authority 12"),
        (
            vec![published(&json!({}), &json!("x"))],
            "terminating false, published wrong, bytes of the authority 12",
        ),
    ] {
        let fixture = caches(&[namespace("Active")], &found);
        let snapshot = publisher().observe(&Key::new("", "shop"), &fixture.view(), &()).unwrap();
        let facts = publisher().summary(&snapshot).into_iter();
        let facts = facts.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>();
        assert_eq!(facts.join(", "), expected);
    }
}

/// metrics.go, `recordMetrics`: both families by the code that a sync comes to.
#[test]
fn a_sync_counts_by_its_code() {
    let controller = Controller { root_ca: String::new() };
    for (error, code, expected) in [
        (None, None, "200"),
        (Some("forbidden"), Some(403), "403"),
        (Some("no response"), None, "500"),
    ] {
        let (took, error) = (Duration::from_millis(1500), error.map(str::to_owned));
        let ended = Ended { took, unsettled: false, error, code };
        let [duration, total] = &controller.counts(None, None, &ended)[..] else {
            panic!("two counts")
        };
        assert_eq!((duration.family.name, duration.value), (SYNC_DURATION.name, Amount::Of(1.5)));
        assert_eq!((total.family.name, total.value), (SYNC_TOTAL.name, Amount::Of(1.0)));
        assert!([duration, total].iter().all(|count| count.labels == [expected]));
    }
}
