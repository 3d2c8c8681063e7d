//! How plans look.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{Edit, Key, Raw, Resource};
use serde_json::{Value, json};

use super::*;
use crate::{
    Announce, Content, Delete, Event, EventType, Family, Message, ObjectRef, PatchKind, Retry,
    Tolerated, Update, Verb, Write,
};

const RATIO: Family = Family::histogram("h", "[ALPHA] A ratio.", &[1.0]);
const PODS: Resource = Resource::namespaced("", "v1", "pods", "Pod");

fn web() -> ObjectRef {
    let key = Key::new("shop", "web");
    ObjectRef { resource: PODS, key, uid: "u1".into(), resource_version: 7 }
}

fn create(body: &Arc<str>, announce: Option<Announce>) -> Action {
    let create = Write::create(PODS, "shop".into(), Arc::clone(body));
    Write { announce: announce.into_iter().collect(), ..create }.into()
}

fn everything() -> Plan {
    let (one, other): (Arc<str>, Arc<str>) = (r#"{"a":1}"#.into(), r#"{"a":1}"#.into());
    let about = Arc::new(web());
    let announce = Announce {
        about: Arc::clone(&about),
        done: Some(("Made", Message::Naming("m: "))),
        failed: ("Failed", "f: ".into()),
        silent: &[],
    };
    let (done, r#type) = (Some(announce), EventType::Warning);
    let event = Event { about, r#type, reason: Cow::Borrowed("Odd"), message: "look".into() };
    let patch = Write::strategic(web(), "{".into());
    Plan {
        why: "all there is".into(),
        steps: vec![
            Step::Fetch(vec![Query::object(PODS, Key::new("shop", "web"))]),
            Step::SlowStart(vec![create(&one, None), create(&one, None), create(&other, done)]),
            Step::Together(vec![Write::delete(web()).into()]),
            Step::InOrder(vec![patch.into(), Action::Event(event)]),
        ],
        again: Some(Duration::from_millis(1500)),
        error: Some("no".into()),
        quiet: false,
        counts: vec![Count::of(&RATIO, 0.5)],
    }
}

#[test]
fn a_plan_as_json_says_all_that_it_holds() {
    let web = json!({"resource": "pods", "key": "shop/web", "uid": "u1", "resourceVersion": "7"});
    let expected = json!({
        "why": "all there is",
        "steps": [
            {"how": "fetch", "queries": [{"resource": "pods", "key": "shop/web"}]},
            {"how": "slowStart", "actions": [
                {"verb": "create", "resource": "pods", "namespace": "shop", "body": {"a": 1},
                    "times": 2},
                {"verb": "create", "resource": "pods", "namespace": "shop", "body": {"a": 1},
                    "event": {"about": web, "reason": "Made"}, "times": 1},
            ]},
            {"how": "together", "actions": [{"verb": "delete", "object": web}]},
            {"how": "inOrder", "actions": [
                {"verb": "patch", "object": web, "body": "{",
                    "tolerates": ["missing"]},
                {"verb": "event", "about": web, "type": "Warning", "reason": "Odd",
                    "message": "look"},
            ]},
        ],
        "againSeconds": 1.5,
        "error": "no",
        "counts": [{"family": "h", "labels": {}, "value": 0.5, "when": "always"}],
    });
    assert_eq!(everything().to_json(), expected);
}

#[test]
fn a_plan_that_rests_says_why_and_nothing_else() {
    let expected =
        json!({"why": "well", "steps": [], "againSeconds": null, "error": null, "counts": []});
    assert_eq!(Plan::rest("well").to_json(), expected);
}

/// Two lists side by side: a pod is marked and deleted by force, another object is written.
fn chains() -> Plan {
    let mark = Write::strategic(web(), r#"{"status":{"phase":"Failed"}}"#.into())
        .at("status")
        .tolerating(&[Tolerated::Invalid]);
    let how = Delete { grace_period_seconds: Some(0), ..Delete::default() };
    let delete = Write::delete_so(web(), how).counted(vec![Count::one(&RATIO)]);
    let edits = vec![
        Edit::new(["spec", "replicas"], json!(3)),
        Edit::new(["metadata", "annotations", "example.com/note"], json!("x")),
        Edit::new(["spec", "paused"], Value::Null),
    ];
    let status = vec![Edit::new(["status", "replicas"], json!(2))];
    let lists = vec![
        vec![mark.into(), delete.into()],
        vec![
            Write::update(web(), Raw::default(), edits).into(),
            Write::status(web(), Raw::default(), status, Retry::Never).into(),
        ],
    ];
    Plan::one("side by side", Step::Chains(lists))
}

#[test]
fn a_plan_prints_an_action_a_line() {
    let expected = [
        "why: all there is",
        "fetch pods shop/web",
        "slow start: create pods in shop",
        "slow start: create pods in shop",
        "slow start: create pods in shop",
        "together: delete pods shop/web",
        "in order: patch pods shop/web {",
        "in order: event Warning Odd: look",
        "again in 1.5s",
        "error: no\n",
    ];
    assert_eq!(everything().to_string(), expected.join("\n"));
    let expected = [
        "why: side by side",
        r#"chain 0: patch pods shop/web status {"status":{"phase":"Failed"}}"#,
        "chain 0: delete pods shop/web within 0s",
        concat!(
            "chain 1: update pods shop/web spec.replicas=3 ",
            r#"metadata.annotations.example.com/note="x" spec.paused=null"#
        ),
        "chain 1: update pods shop/web status status.replicas=2\n",
    ];
    assert_eq!(chains().to_string(), expected.join("\n"));
}

#[test]
fn chains_and_updates_as_json_say_all_that_they_hold() {
    let web = json!({"resource": "pods", "key": "shop/web", "uid": "u1", "resourceVersion": "7"});
    let expected = json!({
        "why": "side by side",
        "steps": [{"how": "chains", "chains": [
            [
                {"verb": "patch", "object": web, "subresource": "status",
                    "body": {"status": {"phase": "Failed"}}, "tolerates": ["invalid"]},
                {"verb": "delete", "object": web, "gracePeriodSeconds": 0},
            ],
            [
                {"verb": "update", "object": web, "changes": [
                    {"field": "spec.replicas", "value": 3},
                    {"field": "metadata.annotations.example.com/note", "value": "x"},
                    {"field": "spec.paused", "value": null},
                ]},
                {"verb": "update", "object": web, "subresource": "status", "changes": [
                    {"field": "status.replicas", "value": 2},
                ]},
            ],
        ]}],
        "againSeconds": null,
        "error": null,
        "counts": [],
    });
    assert_eq!(chains().to_json(), expected);
}

#[test]
fn an_apply_differs_from_a_patch() {
    let kind = PatchKind::Apply { field_manager: "m", force: true };
    let apply = Write::patch(web(), kind, r#"{"a":1}"#.into());
    let plan = Plan::one("differs", Step::InOrder(vec![apply.into()]));
    assert_eq!(plan.to_string(), "why: differs\nin order: apply pods shop/web {\"a\":1}\n");
    assert_eq!(plan.to_json()["steps"][0]["actions"][0]["verb"], "apply");
}

#[test]
fn a_plan_counts_its_writes() {
    for (plan, writes, rests) in [
        (everything(), 6, false),
        (chains(), 4, false),
        (Plan::rest("well"), 0, true),
        (Plan::fetch("where?", vec![]), 0, false),
    ] {
        assert_eq!((plan.actions(), plan.is_rest()), (writes, rests), "{plan}");
    }
}

/// What a Secret holds is not for the debug pages, nor for the log.
#[test]
fn what_a_secret_holds_is_not_shown() {
    let object = |plural: &'static str| ObjectRef {
        resource: Resource::namespaced("", "v1", plural, "Any"),
        ..web()
    };
    for (plural, path, is_hidden) in [
        ("secrets", vec!["data", "token"], true),
        ("secrets", vec!["stringData"], true),
        ("secrets", vec![], true),
        ("secrets", vec!["metadata", "labels", "a"], false),
        ("configmaps", vec!["data", "token"], false),
    ] {
        let edits = vec![Edit::new(path.clone(), json!("hunter2"))];
        let update = Write::update(object(plural), Raw::default(), edits);
        let plan = Plan::one("differs", Step::InOrder(vec![update.into()]));
        for text in [plan.to_string(), plan.to_json().to_string()] {
            assert_eq!(text.contains("hunter2"), !is_hidden, "{plural} {path:?}: {text}");
        }
    }
}

/// Access to the debug pages does not imply access to the objects that plans write.
#[test]
fn a_body_is_shown_only_to_users_that_may_get_its_object() {
    let secret_body = r#"{"a":"hunter2"}"#;
    let named: Arc<str> = r#"{"metadata":{"name":"db"},"spec":{"env":"hunter2"}}"#.into();
    let unnamed: Arc<str> = r#"{"metadata":{"generateName":"web-"},"env":"hunter2"}"#.into();
    let patch = Write::strategic(web(), secret_body.into()).or_merge(secret_body.to_owned());
    let edits = vec![Edit::new(["spec", "env"], json!({"a": ["hunter2"]}))];
    let update = Write::update(web(), Raw::default(), edits);
    let content = Content::Other(secret_body.into());
    let verb = Verb::Update(Update { content, retry: Retry::Never });
    let scale = Write { verb, ..update.clone() }.at("scale");
    let rows = [
        (create(&named, None), "shop/db", "create pods in shop", "body"),
        (create(&unnamed, None), "shop/", "create pods in shop", "body"),
        (patch.into(), "shop/web", "patch pods shop/web … (no)", "body"),
        (update.into(), "shop/web", "update pods shop/web spec.env=\"… (no)\"", "changes"),
        (scale.into(), "shop/web", "update pods shop/web scale … (no)", "body"),
    ];
    for (action, key, line, field) in rows {
        for step in [Step::InOrder(vec![action.clone()]), Step::Chains(vec![vec![action]])] {
            let plan = Plan::one("differs", step);
            let subject = Subject { resource: PODS, key: Key::parse(key) };
            assert_eq!(plan.subjects(), [subject.clone()].into(), "{line}");
            let other = Subject { key: Key::new("shop", "other"), ..subject.clone() };
            for (answers, is_seen) in [
                (vec![(subject.clone(), Ok(()))], true),
                (vec![(subject, Err("no".to_owned()))], false),
                (vec![(other, Ok(()))], false),
            ] {
                let seen = plan.clone().as_seen(&Sight::Of(answers.into_iter().collect()));
                let json = seen.to_json().to_string();
                assert_eq!(json.contains("hunter2"), is_seen, "{json}");
                let mut writes = seen.all_actions().filter_map(Action::write);
                let Some(patch) = writes.next().and_then(Write::patched) else { continue };
                assert_eq!(patch.otherwise.is_some(), is_seen);
            }
            let no =
                Sight::Of(plan.subjects().into_iter().map(|it| (it, Err("no".into()))).collect());
            let seen = plan.as_seen(&no);
            let text = seen.to_string();
            assert!(text.ends_with(&format!(": {line}\n")), "{text}");
            let json = seen.to_json()["steps"][0].to_string();
            assert!(json.contains(field) && json.contains("… (no)"), "{json}");
        }
    }
    // An action that is repeated is still one line.
    let step = Step::SlowStart(vec![create(&unnamed, None), create(&unnamed, None)]);
    let seen = Plan::one("twice", step).as_seen(&Sight::Of(BTreeMap::new())).to_json();
    assert_eq!(seen["steps"][0]["actions"][0]["times"], 2);
}

#[test]
fn bodies_of_secrets_are_hidden_from_everybody() {
    let secrets = Resource::namespaced("", "v1", "secrets", "Secret");
    let object = ObjectRef { resource: secrets.clone(), ..web() };
    let body: Arc<str> = r#"{"metadata":{"name":"web"},"data":{"a":"hunter2"}}"#.into();
    let made = Write::create(secrets, "shop".into(), body);
    let patch = Write::strategic(object.clone(), r#"{"data":{"a":"hunter2"}}"#.into());
    let edits = vec![Edit::new(["metadata", "annotations", "a"], json!("hunter2"))];
    let update = Write::update(object, Raw::default(), edits);
    let actions = vec![made.into(), patch.into(), update.into()];
    let plan = Plan::one("differs", Step::Together(actions));
    assert_eq!(plan.subjects(), BTreeSet::new());
    let seen = plan.as_seen(&Sight::All);
    for text in [seen.to_string(), seen.to_json().to_string()] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    let json = seen.to_json();
    let body = &json["steps"][0]["actions"][0]["body"];
    assert_eq!(body, "… (bodies of Secrets are never shown)");
}

/// For tests, scripts and code inside the process.
#[test]
fn an_unlimited_sight_shows_all_but_secrets() {
    let (plan, seen) = (everything(), everything().as_seen(&Sight::All));
    assert_eq!((seen.to_string(), seen.to_json()), (plan.to_string(), plan.to_json()));
}
