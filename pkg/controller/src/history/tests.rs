//! Tables. `testdata/revisions.json` was made by upstream's code (see the top of `history.rs`),
//! version 1.36.3: templates as the API server writes them, and the data of their revisions.

use api::{Codec, ControllerRevision, Meta, Object as _, Raw, Resource};
use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::fixture::{Fixture, ago, decode, decode_all};
use crate::{Step, fixture};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pair {
    name: String,
    template: String,
    daemon_set: String,
    stateful_set: String,
    hash: String,
    hash_with_collision_count_7: String,
}

fn pairs() -> Vec<Pair> {
    serde_json::from_str(include_str!("../../testdata/revisions.json")).unwrap()
}

fn spec(template: &str) -> Box<RawValue> {
    RawValue::from_string(format!("{{\"replicas\":1,\"template\":{template}}}")).unwrap()
}

fn owner() -> Meta {
    let set = json!({"metadata": {"name": "foo", "namespace": "shop", "uid": "u1"}});
    Meta::decode(Codec::Json, set.to_string().as_bytes()).unwrap()
}

fn owner_kind() -> Resource {
    Resource::namespaced("apps", "v1", "daemonsets", "DaemonSet")
}

fn revision(name: &str, number: i64) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
            "resourceVersion": "1", "creationTimestamp": ago(60)},
        "data": {"a": 1}, "revision": number,
    })
}

fn names(revisions: &[Arc<ControllerRevision>]) -> Vec<&str> {
    revisions.iter().map(|revision| &*revision.meta.key.name).collect()
}

#[test]
fn the_data_of_revisions_is_upstreams_byte_by_byte() {
    assert!(pairs().len() >= 10);
    for Pair { name, template, daemon_set, stateful_set, .. } in pairs() {
        let spec = spec(&template);
        assert_eq!(data(Some(&spec), Numbers::Whole), Ok(daemon_set), "{name}");
        assert_eq!(data(Some(&spec), Numbers::Float), Ok(stateful_set), "{name}");
    }
}

/// What the API server stored is compared as it is: no second revision is created.
#[test]
fn the_data_of_a_stored_revision_is_found_again() {
    for Pair { name, template, daemon_set, .. } in pairs() {
        let labels = BTreeMap::from([("app", "agent")]);
        let new = NewRevision {
            resource: &owner_kind(),
            owner: &owner(),
            name: "foo-x",
            labels: &labels,
            annotations: &BTreeMap::new(),
            data: &daemon_set,
            revision: 3,
        };
        let action = create(&new).unwrap();
        let body = action.write().and_then(Write::created).unwrap();
        assert!(body.contains(&format!("\"data\":{daemon_set},\"revision\":3")), "{name}");
        let stored = ControllerRevision::decode(Codec::Json, body.as_bytes()).unwrap();
        let wanted = data(Some(&spec(&template)), Numbers::Whole).unwrap();
        assert!(holds(&stored, &wanted), "{name}");
        assert!(!holds(&stored, &wanted.replace("replace", "merge")), "{name}");
    }
}

/// HashControllerRevision.
#[test]
fn hashes_are_upstreams() {
    for pair in pairs() {
        assert_eq!(hash(&pair.stateful_set, None), pair.hash, "{}", pair.name);
        let probed = hash(&pair.stateful_set, Some(7));
        assert_eq!(probed, pair.hash_with_collision_count_7, "{}", pair.name);
    }
}

#[test]
fn keys_are_sorted_whatever_their_order_was() {
    let spec = spec(r#"{"spec":{"b":{"z":1,"a":[{"y":2,"x":3}]},"B":"s","é":null,"a":true}}"#);
    let want = concat!(
        r#"{"spec":{"template":{"$patch":"replace","spec":{"B":"s","a":true,"#,
        r#""b":{"a":[{"x":3,"y":2}],"z":1},"é":null}}}}"#
    );
    assert_eq!(data(Some(&spec), Numbers::Whole).unwrap(), want);
}

/// The bounds of Go's `floatEncoder`. Templates have no such numbers; they cost no more than this.
#[test]
fn numbers_are_written_as_go_writes_them() {
    for (number, whole, float) in [
        ("0", "0", "0"),
        ("-0", "-0", "-0"),
        ("1.50", "1.5", "1.5"),
        ("1e3", "1000", "1000"),
        ("0.000001", "0.000001", "0.000001"),
        ("0.00000123", "0.00000123", "0.00000123"),
        ("0.000000123", "1.23e-7", "1.23e-7"),
        ("100000000000000000000", "100000000000000000000", "100000000000000000000"),
        ("1000000000000000000000", "1e+21", "1e+21"),
        ("-1.5e300", "-1.5e+300", "-1.5e+300"),
        ("9223372036854775807", "9223372036854775807", "9223372036854776000"),
        ("9223372036854775808", "9223372036854776000", "9223372036854776000"),
        ("9007199254740993", "9007199254740993", "9007199254740992"),
    ] {
        let spec = spec(&format!("{{\"n\":{number}}}"));
        for (numbers, want) in [(Numbers::Whole, whole), (Numbers::Float, float)] {
            let want =
                format!("{{\"spec\":{{\"template\":{{\"$patch\":\"replace\",\"n\":{want}}}}}}}");
            assert_eq!(data(Some(&spec), numbers), Ok(want), "{number} {numbers:?}");
        }
    }
}

#[test]
fn a_spec_without_a_template_is_an_error() {
    let bare = RawValue::from_string("{}".to_owned()).unwrap();
    assert!(data(None, Numbers::Whole).is_err());
    assert!(data(Some(&bare), Numbers::Whole).is_err());
    assert_eq!(
        data(Some(&spec("[]")), Numbers::Whole),
        Err("spec.template is not an object".to_owned())
    );
}

/// ControllerRevisionName.
#[test]
fn names_are_the_owners_and_the_hash_and_not_too_long() {
    assert_eq!(name("foo", "abc"), "foo-abc");
    assert_eq!(name(&"f".repeat(223), "abc"), format!("{}-abc", "f".repeat(223)));
    assert_eq!(name(&"f".repeat(253), "abc"), format!("{}-abc", "f".repeat(223)));
}

/// TestSortControllerRevisions.
#[test]
fn revisions_are_sorted_by_number_then_age_then_name() {
    let at = |name: &str, number, seconds| {
        fixture::with(
            revision(name, number),
            json!({"metadata": {"creationTimestamp": ago(seconds)}}),
        )
    };
    for (given, want) in [
        (vec![at("r1", 1, 60), at("r2", 2, 60), at("r3", 3, 60)], ["r1", "r2", "r3"]),
        (vec![at("r3", 3, 60), at("r2", 2, 60), at("r1", 1, 60)], ["r1", "r2", "r3"]),
        (vec![at("r3", 3, 60), at("r1", 1, 60), at("r2", 2, 60)], ["r1", "r2", "r3"]),
        (vec![at("b", 1, 60), at("c", 1, 90), at("a", 1, 60)], ["c", "a", "b"]),
    ] {
        let mut revisions = decode_all::<ControllerRevision>(&given);
        sort(&mut revisions);
        assert_eq!(names(&revisions), want);
    }
    assert_eq!(highest(&decode_all(&[revision("a", 4), revision("b", 2)])), 4);
    assert_eq!(highest(&[]), 0);
}

/// TestRealHistory_ListControllerRevisions.
#[test]
fn the_revisions_of_an_owner_and_orphans_are_found() {
    let owned = |name: &str, uid: &str| {
        let owner = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "foo", "uid": uid,
            "controller": true});
        fixture::with(revision(name, 1), json!({"metadata": {"ownerReferences": [owner]}}))
    };
    let elsewhere = |it: Value| fixture::with(it, json!({"metadata": {"namespace": "other"}}));
    let fixture = Fixture::default().holding::<ControllerRevision>(&[
        owned("own", "u1"),
        owned("foreign", "u2"),
        revision("orphan", 1),
        elsewhere(owned("own-elsewhere", "u1")),
        elsewhere(revision("orphan-elsewhere", 1)),
    ]);
    let view = fixture.view();
    assert_eq!(names(&revisions_of(view.of(), &owner())), ["own", "orphan"]);
}

/// TestRealHistory_UpdateControllerRevision, TestRealHistory_DeleteControllerRevision.
#[test]
fn writes_name_the_revision() {
    let it = decode::<ControllerRevision>(&revision("r1", 1));
    let text = |action: Action| crate::Plan::one("", Step::InOrder(vec![action])).to_string();
    let line = |what: &str| format!("why: \nin order: {what}\n");
    assert_eq!(
        text(update(&it, vec![renumbered(5)])),
        line("update controllerrevisions.apps shop/r1 revision=5")
    );
    assert_eq!(
        text(update(&it, vec![relabelled("a", "b")])),
        line("update controllerrevisions.apps shop/r1 metadata.labels.a=\"b\"")
    );
    assert_eq!(text(delete(&it)), line("delete controllerrevisions.apps shop/r1"));
}

#[test]
fn a_name_is_free_taken_by_the_same_or_by_other_data() {
    let found = |object: Value| {
        let raw = Raw::parse(object.to_string().as_bytes()).unwrap();
        Answer::Found(Box::new((owner(), raw)))
    };
    let says = |answer: &Answer| match taken(answer, "{\"a\":1}") {
        Taken::Free => "free".to_owned(),
        Taken::Same(meta) => format!("same {}", meta.key),
        Taken::Other => "other".to_owned(),
        Taken::Unknown(error) => format!("unknown {error}"),
    };
    assert_eq!(says(&Answer::NotFound), "free");
    assert_eq!(says(&found(json!({"data": {"a": 1}}))), "same shop/foo");
    assert_eq!(says(&found(json!({"data": {"a": 2}}))), "other");
    assert_eq!(says(&found(json!({}))), "other");
    assert_eq!(says(&Answer::Failed("boom".into())), "unknown boom");
}
