//! Tables, mirroring upstream's `pkg/controller/storageversiongc/gc_controller_test.go` and
//! test/integration/storageversion/gc_test.go.

use controller::fixture::{self, Fixture, NOW, ago, decode, enqueued, with};
use controller::{Answer, Controller as _, Query, Refused, Views};
use serde_json::{Value, json};

use super::snapshot::lease_key;
use super::*;

const GONE: &str = "delete storageversions.internal.apiserver.k8s.io k8s.test.resources";

fn lease(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "kube-system", "uid": format!("uid-{name}"),
        "resourceVersion": "5", "labels": {"apiserver.kubernetes.io/identity": "kube-apiserver"}}})
}

/// With an entry for each of these: a server, and the version in which it stores the kind.
fn version(entries: &[(&str, &str)], common: Option<&str>) -> Value {
    let entry = |(server, encoding): &(&str, &str)| {
        json!({"apiServerID": server, "encodingVersion": encoding, "decodableVersions": [encoding],
            "servedVersions": ["later"]})
    };
    let entries: Vec<_> = entries.iter().map(entry).collect();
    json!({
        "metadata": {"name": "k8s.test.resources", "uid": "uid-k8s", "resourceVersion": "7"},
        "spec": {},
        "status": {"storageVersions": entries, "commonEncodingVersion": common},
    })
}

fn snapshot(version: &Value, leases: &[Value]) -> Snapshot {
    let fixture = Fixture::default()
        .holding::<StorageVersion>(std::slice::from_ref(version))
        .holding::<SystemLease>(leases);
    Controller.observe(&Key::new("", "k8s.test.resources"), &fixture.view(), &()).unwrap()
}

/// The plan, where of these Leases all are gone.
fn planned(snapshot: &Snapshot, gone: &[&str]) -> Plan {
    let query = |name: &&str| Query::view::<SystemLease>(lease_key(name));
    let facts = gone.iter().map(|name| (query(name), Answer::NotFound)).collect();
    Controller.decide(snapshot, &facts).0
}

fn status(plan: &Plan) -> Value {
    let [controller::Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    Value::Object(fixture::status(actions[0].write().unwrap()))
}

fn servers(status: &Value) -> Vec<&str> {
    let entries = status["storageVersions"].as_array().unwrap();
    entries.iter().map(|it| it["apiServerID"].as_str().unwrap()).collect()
}

/// Test_StorageVersionUpdatedWithAllEncodingVersionsEqualOnLeaseDeletion; its second one, where
/// they do not agree, and Test_StorageVersionContainsInvalidLeaseID; integration "deleting an id
/// should delete a storage version entry that it owns".
#[test]
fn entries_of_servers_that_are_gone_are_removed() {
    let (one, two, three, four) = (("s1", "v1"), ("s2", "v2"), ("s3", "v2"), ("s4", "v2"));
    for (name, entries, common, there, left, expected) in [
        ("agree", &[one, two, three][..], Some("v1"), &["s2", "s3"][..], "s2 s3", Some("v2")),
        ("disagree", &[one, three, four], Some("v1"), &["s1", "s3"], "s1 s3", None),
        ("unknown", &[one, two, three, four], Some("v1"), &["s1", "s2", "s3"], "s1 s2 s3", None),
        ("twice", &[one, four, four, two], None, &["s2"], "s2", Some("v2")),
    ] {
        let leases: Vec<_> = there.iter().map(|name| lease(name)).collect();
        let gone: Vec<_> =
            entries.iter().map(|(it, _)| *it).filter(|it| !there.contains(it)).collect();
        let snapshot = snapshot(&version(entries, common), &leases);
        let status = status(&planned(&snapshot, &gone));
        assert_eq!(servers(&status).join(" "), left, "{name}");
        assert_eq!(status["storageVersions"][0]["servedVersions"], json!(["later"]), "{name}");
        if common != expected {
            assert_eq!(status["commonEncodingVersion"], json!(expected), "{name}");
        }
        let (word, reason, message) = match expected {
            Some(_) => ("True", "CommonEncodingVersionSet", "Common encoding version set"),
            None => ("False", "CommonEncodingVersionUnset", "Common encoding version unset"),
        };
        let condition = json!({"type": "AllEncodingVersionsEqual", "status": word,
            "reason": reason, "message": message, "lastTransitionTime": NOW});
        assert_eq!(status["conditions"], json!([condition]), "{name}");
    }
}

/// Test_StorageVersionDeletedOnLeaseDeletion; integration "storage version with non-existing id
/// should be GC'ed" and "deleting an id should delete a storage version object that it owns
/// entirely".
#[test]
fn an_object_without_entries_is_deleted() {
    let snapshot = snapshot(&version(&[("s1", "v1")], Some("v1")), &[]);
    let plan = planned(&snapshot, &["s1"]);
    let expected = format!("why: these API servers are gone: s1\nin order: {GONE}");
    assert!(plan.to_string().starts_with(&expected), "{plan}");
    let [controller::Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    let controller::Verb::Delete(how) = &actions[0].write().unwrap().verb else { panic!("{plan}") };
    assert_eq!(how.guard, controller::Guard::Version);
    // It may be refused, and no change of it follow.
    assert_eq!(plan.again, Some(std::time::Duration::from_secs(1)));
}

/// Integration "storage version with valid id should not be GC'ed".
#[test]
fn entries_of_servers_that_are_there_stay() {
    let there = snapshot(&version(&[("s1", "v1")], Some("v1")), &[lease("s1")]);
    let rest = "why: all API servers that it names are there\n";
    assert_eq!(planned(&there, &[]).to_string(), rest);
    // Not in the cache yet, but live.
    let behind = snapshot(&version(&[("s1", "v1")], Some("v1")), &[]);
    let plan = planned(&behind, &[]).to_string();
    let asks = "why: is the API server s1 really gone?\nfetch leases.coordination.k8s.io \
                kube-system/s1\n";
    assert_eq!(plan, asks);
    let query = Query::view::<SystemLease>(lease_key("s1"));
    let found = |lease: &Value| Answer::Views(Views::new(vec![decode::<SystemLease>(lease)]));
    let decided = |answer| Controller.decide(&behind, &[(query.clone(), answer)].into()).0;
    assert_eq!(decided(found(&lease("s1"))).to_string(), rest);
    // Of another component.
    let other = with(lease("s1"), json!({"metadata": {"labels": null}}));
    assert!(decided(found(&other)).to_string().contains(GONE));
    let failed = decided(Answer::Failed(Refused::from("timeout")));
    assert_eq!(failed.error.as_deref(), Some("cannot read the Lease s1: timeout"));
    assert!(failed.is_rest(), "{failed}");
}

/// `SetCommonEncodingVersion`, `setStatusCondition`.
#[test]
fn the_condition_changes_as_upstreams() {
    let before = ago(60);
    for (name, common, status, agrees, is_new) in [
        ("stays", Some("v2"), "True", true, false),
        ("another version", Some("v1"), "True", true, true),
        ("from none", None, "False", true, true),
        ("still none", None, "False", false, false),
        ("no longer", Some("v2"), "True", false, true),
    ] {
        let second = if agrees { "v2" } else { "v3" };
        let condition = json!({"type": "AllEncodingVersionsEqual", "status": status,
            "reason": "r", "message": "m", "lastTransitionTime": before, "observedGeneration": 1});
        let conditions = json!([{"type": "Other", "status": "True", "reason": "x"}, condition]);
        let patch = json!({"metadata": {"generation": 3}, "status": {"conditions": conditions}});
        let version = version(&[("s1", "v1"), ("s2", "v2"), ("s3", second)], common);
        let snapshot = snapshot(&with(version, patch), &[lease("s2"), lease("s3")]);
        let status = self::status(&planned(&snapshot, &["s1"]));
        assert_eq!(status["conditions"][0]["type"], "Other", "{name}");
        let condition = &status["conditions"][1];
        let since = if is_new { NOW } else { &*before };
        assert_eq!(condition["lastTransitionTime"], since, "{name}");
        assert_eq!(condition["observedGeneration"], 3, "{name}");
        assert_eq!(condition["status"], if agrees { "True" } else { "False" }, "{name}");
    }
}

/// `enqueueStorageVersion`, `onDeleteLease`.
#[test]
fn changes_enqueue_what_may_be_wrong() {
    let versions = [version(&[("s1", "v1"), ("s2", "v1")], None)];
    let fixture = Fixture::default()
        .holding::<StorageVersion>(&versions)
        .holding::<SystemLease>(&[lease("s1")]);
    let own = "now k8s.test.resources\n";
    let changed = |entries| {
        let object = decode::<StorageVersion>(&version(entries, None));
        let (old, new) = (object.clone(), object.clone());
        let added = enqueued(&Controller, &Change::Added(object), &fixture);
        assert_eq!(enqueued(&Controller, &Change::Updated { old, new }, &fixture), added);
        added
    };
    assert_eq!(changed(&[("s1", "v1"), ("s2", "v1")]), own);
    assert_eq!(changed(&[("s1", "v1")]), "");
    let lease_changes = |lease: Value| {
        let lease = decode::<SystemLease>(&lease);
        let (old, new) = (lease.clone(), lease.clone());
        assert_eq!(enqueued(&Controller, &Change::Updated { old, new }, &fixture), "");
        enqueued(&Controller, &Change::Deleted(lease), &fixture)
    };
    assert_eq!(lease_changes(lease("s1")), own);
    assert_eq!(lease_changes(lease("s3")), "");
    assert_eq!(lease_changes(with(lease("s1"), json!({"metadata": {"labels": null}}))), "");
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    let object = version(&[("s1", "v1")], None);
    let fixture = Fixture::default().holding_unreadable::<StorageVersion>(&object, "odd");
    let fixture = fixture.holding::<SystemLease>(&[]);
    let key = Key::new("", "k8s.test.resources");
    let snapshot = Controller.observe(&key, &fixture.view(), &()).unwrap();
    assert_eq!(planned(&snapshot, &[]).to_string(), "why: the object cannot be read: odd\n");
}

#[test]
fn a_summary_names_what_is_missing() {
    let object = version(&[("s1", "v1"), ("s2", "v2")], Some("v1"));
    let expected = [
        ("API servers", "s1 (v1), s2 (v2)".to_owned()),
        ("common version", "v1".to_owned()),
        ("without a Lease in the cache", "s2".to_owned()),
    ];
    assert_eq!(Controller.summary(&snapshot(&object, &[lease("s1")])), expected);
}
