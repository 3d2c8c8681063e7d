//! Tables, mirroring upstream's `pkg/controller/serviceaccount/serviceaccounts_controller_test.go`.

use api::{DecodeError, Key, Namespace, Object as _, ServiceAccount};
use controller::fixture::{self, Fixture, decode, enqueued};
use controller::{Action, Change, Controller as _, Facts, Step};
use serde_json::{Value, json};

use super::*;

const MISSING: &str = "why: the service account is missing\n\
                       in order: create serviceaccounts in shop\n";
const THERE: &str = "why: the service account is there\n";
const NOT_ACTIVE: &str = "why: the namespace is not active\n";

fn namespace(phase: &str) -> Value {
    json!({"metadata": {"name": "shop", "resourceVersion": "1"}, "status": {"phase": phase}})
}

fn account(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "resourceVersion": "1"}})
}

fn caches(namespaces: &[Value], accounts: &[Value]) -> Fixture {
    Fixture::default().holding::<Namespace>(namespaces).holding::<ServiceAccount>(accounts)
}

/// Syncs what the change enqueues: the plan, or that nothing was enqueued, or that there is no
/// namespace.
fn after<T: api::Kind>(change: &Change<T>, fixture: &Fixture) -> String {
    let calls = enqueued(&Controller, change, fixture);
    if calls.is_empty() {
        return "nothing".to_owned();
    }
    assert_eq!(calls, "now shop\n");
    planned(fixture).map_or_else(|| "gone".to_owned(), |plan| plan.to_string())
}

fn planned(fixture: &Fixture) -> Option<Plan> {
    let snapshot = Controller.observe(&Key::new("", "shop"), &fixture.view(), &())?;
    Some(Controller.decide(&snapshot, &Facts::default()).0)
}

/// TestServiceAccountCreation, all rows about namespaces. Upstream's test asks for a second
/// account, `managed`; the program does not, here as there, so that its rows are about `default`
/// alone.
#[test]
fn accounts_are_made_for_namespaces_as_upstream() {
    let (default, other) = (account("default"), account("other"));
    let both = [default, other.clone()];
    for (name, phase, accounts, expected) in [
        ("active namespace missing serviceaccounts", "Active", &[][..], MISSING),
        ("active namespace missing serviceaccount", "Active", &[other][..], MISSING),
        ("active namespace with serviceaccounts", "Active", &both[..], THERE),
        ("terminating namespace", "Terminating", &[][..], NOT_ACTIVE),
        ("card: no phase", "", &[][..], NOT_ACTIVE),
        ("card: no phase, and an account", "", &both[..], NOT_ACTIVE),
    ] {
        let namespaces = [namespace(phase)];
        let fixture = caches(&namespaces, accounts);
        let it = decode::<Namespace>(&namespaces[0]);
        let added = Change::Added(it.clone());
        assert_eq!(after(&added, &fixture), expected, "new {name}");
        let updated = Change::Updated { old: it.clone(), new: it };
        assert_eq!(after(&updated, &fixture), expected, "updated {name}");
    }
}

/// TestServiceAccountCreation, all rows about deleted accounts. Accounts with other names enqueue
/// nothing here, which comes to the same.
#[test]
fn deleted_accounts_are_made_again_as_upstream() {
    let (active, terminating) = ([namespace("Active")], [namespace("Terminating")]);
    let (default, other) = (account("default"), account("other-unmanaged"));
    let left = [account("managed")];
    for (name, namespaces, accounts, deleted, expected) in [
        ("deleted serviceaccount without namespace", &[][..], &[][..], &default, "gone"),
        ("deleted serviceaccount with active namespace", &active[..], &left[..], &default, MISSING),
        (
            "deleted serviceaccount with terminating namespace",
            &terminating[..],
            &[][..],
            &default,
            NOT_ACTIVE,
        ),
        (
            "deleted unmanaged serviceaccount with active namespace",
            &active[..],
            std::slice::from_ref(&default),
            &other,
            "nothing",
        ),
        (
            "deleted unmanaged serviceaccount with terminating namespace",
            &terminating[..],
            &[][..],
            &other,
            "nothing",
        ),
    ] {
        let change = Change::Deleted(decode::<ServiceAccount>(deleted));
        assert_eq!(after(&change, &caches(namespaces, accounts)), expected, "{name}");
    }
}

/// Card: name and namespace, and nothing else.
#[test]
fn the_account_is_made_as_upstream() {
    let plan = planned(&caches(&[namespace("Active")], &[])).unwrap();
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("one step: {plan}") };
    let [Action::Write(create)] = actions.as_slice() else { panic!("one create: {plan}") };
    let expected = json!({"apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "shop"}});
    assert!(create.created().is_some());
    assert_eq!(fixture::body(create), expected);
    assert!(create.announce.is_empty());
}

/// Card, Events: an account that comes or changes enqueues nothing; an account in another namespace
/// does not stand for this one's; what awaits a namespace that is deleted is forgotten.
#[test]
fn other_changes_enqueue_nothing() {
    let mut elsewhere = account("default");
    elsewhere["metadata"]["namespace"] = json!("attic");
    let fixture = caches(&[namespace("Active")], &[elsewhere]);
    let it = decode::<ServiceAccount>(&account("default"));
    assert_eq!(after(&Change::Added(it.clone()), &fixture), "nothing");
    assert_eq!(after(&Change::Updated { old: it.clone(), new: it }, &fixture), "nothing");
    assert_eq!(planned(&fixture).unwrap().to_string(), MISSING);
    let gone = Change::Deleted(decode::<Namespace>(&namespace("Terminating")));
    assert_eq!(enqueued(&Controller, &gone, &fixture), "forget shop\n");
}

/// A namespace that cannot be read is left alone: it may be going away.
#[test]
fn a_namespace_that_cannot_be_read_gets_nothing_made() {
    let error = DecodeError("no".to_owned());
    let meta = decode::<Namespace>(&namespace("Active")).meta.clone();
    let namespace = std::sync::Arc::new(Namespace::unreadable(meta, &error));
    let plan = Controller.decide(&Snapshot { namespace, exists: false }, &Facts::default()).0;
    assert_eq!(plan.to_string(), NOT_ACTIVE);
}

#[test]
fn a_summary_says_what_it_depends_on() {
    let fixture = caches(&[namespace("Active")], &[]);
    let snapshot = Controller.observe(&Key::new("", "shop"), &fixture.view(), &()).unwrap();
    let expected = [("phase", "Active".to_owned()), ("exists", "false".to_owned())];
    assert_eq!(Controller.summary(&snapshot), expected);
}
