//! Claims, mirroring upstream's `pkg/controller/controller_ref_manager_test.go`.

use api::{Pod, Raw, ReplicaSet, Selector};
use serde_json::{Value, json};

use super::*;
use crate::fixture::{NOW, decode, decode_all, owned_by, pod, with};
use crate::pods::matcher;

fn owner() -> Value {
    json!({"metadata": {"name": "web", "namespace": "shop", "uid": "u1"}, "spec": {}})
}

fn labelled(name: &str, value: &str, owner: Option<&Value>) -> Value {
    let labels = json!({"metadata": {"labels": {"type": value}}});
    let owners = owner.map_or(json!({}), |owner| owned_by("ReplicaSet", owner));
    with(with(pod(name), labels), json!({"metadata": owners}))
}

fn deleted(object: Value) -> Value {
    with(object, json!({"metadata": {"deletionTimestamp": NOW}}))
}

fn claim_of(owner: &Value, pods: &[Value]) -> (Meta, Claim<Pod>) {
    let owner: Arc<ReplicaSet> = decode(owner);
    let selector = Selector::of(&[("type", "production")]);
    let claim = claim(&owner.meta, decode_all(pods), matcher(&selector));
    (owner.meta.clone(), claim)
}

fn names(pods: &[Arc<Pod>]) -> String {
    pods.iter().map(|pod| &*pod.meta.key.name).collect::<Vec<_>>().join(" ")
}

/// One row of TestClaimPods: the lists of the claim. Pods that are to be adopted count as claimed.
fn assert_claim(name: &str, set: &Value, pods: &[Value], expected: [&str; 3]) {
    let (_, claim) = claim_of(set, pods);
    let found = [&claim.mine, &claim.adopt, &claim.release].map(|pods| names(pods));
    assert_eq!(found, expected, "{name}");
    assert_eq!(claim.is_done(), expected[1].is_empty() && expected[2].is_empty(), "{name}");
}

/// TestClaimPods.
#[test]
fn pods_are_claimed_as_upstream() {
    let (set, other) = (owner(), with(owner(), json!({"metadata": {"uid": "AAAAA"}})));
    let production = |name, owner| labelled(name, "production", owner);
    let test = |name, owner| labelled(name, "test", owner);
    for (name, set, pods, expected) in [
        (
            "Claim pods with correct label",
            &set,
            vec![production("pod1", None), test("pod2", None)],
            ["pod1", "pod1", ""],
        ),
        (
            "Controller marked for deletion can not claim pods",
            &deleted(set.clone()),
            vec![production("pod1", None), production("pod2", None)],
            ["", "", ""],
        ),
        (
            "Controller marked for deletion can not claim new pods",
            &deleted(set.clone()),
            vec![production("pod1", Some(&set)), production("pod2", None)],
            ["pod1", "", ""],
        ),
        (
            "Controller can not claim pods owned by another controller",
            &set,
            vec![production("pod1", Some(&set)), production("pod2", Some(&other))],
            ["pod1", "", ""],
        ),
        (
            "Controller releases claimed pods when selector doesn't match",
            &set,
            vec![production("pod1", Some(&set)), test("pod2", Some(&set))],
            ["pod1", "", "pod2"],
        ),
        (
            "a controller marked for deletion does not release either (card: Claiming)",
            &deleted(set.clone()),
            vec![production("pod1", Some(&set)), test("pod2", Some(&set))],
            ["pod1", "", ""],
        ),
        (
            "Controller does not claim orphaned pods marked for deletion",
            &set,
            vec![deleted(production("pod1", Some(&set))), deleted(production("pod2", None))],
            ["pod1", "", ""],
        ),
        (
            "Controller claims or release pods according to selector with finalizers",
            &set,
            vec![
                production("pod1", Some(&set)),
                test("pod2", Some(&set)),
                production("pod3", None),
            ],
            ["pod1 pod3", "pod3", "pod2"],
        ),
    ] {
        assert_claim(name, set, &pods, expected);
    }
}

/// The rows of TestClaimPods with two namespaces.
#[test]
fn pods_are_claimed_in_the_owners_namespace() {
    let elsewhere = json!({"metadata": {"namespace": "fakens"}});
    let pods = [
        labelled("pod1", "production", None),
        with(labelled("pod2", "production", None), elsewhere),
    ];
    let cluster = with(owner(), json!({"metadata": {"namespace": ""}}));
    for (name, set, expected) in [
        ("Controller does not claim pods of different namespace", owner(), ["pod1", "pod1", ""]),
        (
            "Cluster scoped controller claims pods of specified namespace",
            cluster,
            ["pod1 pod2", "pod1 pod2", ""],
        ),
    ] {
        assert_claim(name, &set, &pods, expected);
    }
}

/// The live owner decides whether orphans are adopted (upstream's `RecheckDeletionTimestamp`);
/// releases are sent in any case.
#[test]
fn orphans_are_taken_only_for_an_owner_that_stays() {
    let set = owner();
    let pods = [
        labelled("a", "production", None),
        labelled("b", "production", None),
        labelled("c", "test", Some(&set)),
    ];
    let (meta, claim) = claim_of(&set, &pods);
    let resource = ReplicaSet::RESOURCE;
    let fetch = "why: orphans match; is the owner still there?\nfetch replicasets.apps shop/web\n";
    let rest = || Plan::one("the rest", Step::InOrder(vec![note()]));
    let plan = claim.before(&resource, &meta, &Facts::default(), rest);
    assert_eq!(plan.to_string(), fetch);

    let found = |live: &Value| {
        let live: Arc<ReplicaSet> = decode(live);
        Answer::Found(Box::new((live.meta.clone(), Raw::default())))
    };
    let adopt = |pod: &str| {
        format!(
            "together: patch pods shop/{pod} {{\"metadata\":{{\"uid\":\"uid-{pod}\",\
             \"ownerReferences\":[{{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\
             \"name\":\"web\",\"uid\":\"u1\",\"controller\":true,\
             \"blockOwnerDeletion\":true}}]}}}}\n"
        )
    };
    let release = "together: patch pods shop/c {\"metadata\":{\"uid\":\"uid-c\",\
         \"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"u1\"}]}}\n";
    let refused = |reason: &str| format!("error: can't adopt Pod shop/a (uid-a): {reason}\n");
    for (name, answer, adopted, error) in [
        ("it is there", found(&set), true, String::new()),
        (
            "TestDoNotAdoptOrCreateIfBeingDeletedRace",
            found(&deleted(set.clone())),
            false,
            refused("shop/web has just been deleted at 2024-05-01T12:00:00Z"),
        ),
        (
            "another one with the same name",
            found(&with(set.clone(), json!({"metadata": {"uid": "u2"}}))),
            false,
            refused(
                "can't recheck DeletionTimestamp: original ReplicaSet shop/web is gone: \
                 got uid u2, wanted u1",
            ),
        ),
        (
            "deleted",
            Answer::NotFound,
            false,
            refused("can't recheck DeletionTimestamp: replicasets.apps \"web\" not found"),
        ),
        (
            "unreadable",
            Answer::Failed("timeout".into()),
            false,
            refused("can't recheck DeletionTimestamp: timeout"),
        ),
    ] {
        let query = Query::object(resource.clone(), meta.key.clone());
        let facts = Facts::from([(query, answer)]);
        let plan = claim.before(&resource, &meta, &facts, rest);
        let why = "why: 2 to adopt, 1 to release";
        let expected = if adopted {
            let rest = "in order: event Normal Note: the rest\n";
            format!("{why}; the rest\n{}{}{release}{rest}", adopt("a"), adopt("b"))
        } else {
            format!("{why}\n{release}{error}")
        };
        assert_eq!(plan.to_string(), expected, "{name}");
    }
}

#[test]
fn nothing_to_take_or_let_go_leaves_the_plan_alone() {
    let set = owner();
    let (meta, claim) = claim_of(&set, &[labelled("a", "production", Some(&set))]);
    let plan =
        claim.before(&ReplicaSet::RESOURCE, &meta, &Facts::default(), || Plan::rest("the rest"));
    assert_eq!(plan.to_string(), "why: the rest\n");
}

/// An owner with nothing to adopt is not read, and releases are sent at once. The plan after them
/// keeps all its steps.
#[test]
fn releases_need_no_live_owner() {
    let set = owner();
    let (meta, claim) = claim_of(&set, &[labelled("c", "test", Some(&set))]);
    let before = |rest: Plan| {
        claim.before(&ReplicaSet::RESOURCE, &meta, &Facts::default(), || rest).to_string()
    };
    let release = "together: patch pods shop/c {\"metadata\":{\"uid\":\"uid-c\",\
         \"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"u1\"}]}}\n";
    let why = "why: 0 to adopt, 1 to release; ";
    assert_eq!(
        before(Plan::failed("odd", "no template")),
        format!("{why}odd\n{release}error: no template\n")
    );
    let later = Some(std::time::Duration::from_secs(3));
    assert_eq!(
        before(Plan::rest("later").again_after(later)),
        format!("{why}later\n{release}again in 3s\n")
    );
    // The plan is decided again with the answers: then the release is sent, once.
    let query = Query::object(ReplicaSet::RESOURCE, meta.key.clone());
    let fetch = "why: who is it?\nfetch replicasets.apps shop/web\n";
    assert_eq!(before(Plan::fetch("who is it?", vec![query])), fetch);
}

/// What the outcome says about the number of objects.
#[test]
fn a_claim_fails_with_its_step_or_without_its_owner() {
    let set = owner();
    let claim_of = |pods: &[Value]| claim_of(&set, pods).1;
    let nothing = claim_of(&[labelled("a", "production", Some(&set))]);
    let adopts = claim_of(&[labelled("b", "production", None)]);
    let releases = claim_of(&[labelled("c", "test", Some(&set))]);
    let failed = |step| Outcome { step, error: Some("no".into()), ..Outcome::default() };
    for (outcome, expected) in [
        (Outcome::default(), [false, false, false]),
        (Outcome { unsettled: true, ..Outcome::default() }, [false, false, false]),
        (failed(Some(0)), [false, true, true]),
        (failed(Some(1)), [false, false, false]),
        // The plan's own error: perhaps the owner was deleted.
        (failed(None), [false, true, false]),
    ] {
        let found = [&nothing, &adopts, &releases].map(|claim| claim.has_failed(0, &outcome));
        assert_eq!(found, expected, "{outcome:?}");
    }
    let behind = adopts.has_failed(1, &failed(Some(1))) && !adopts.has_failed(1, &failed(Some(2)));
    assert!(behind, "a claim behind another step");
}

fn note() -> Action {
    let (resource, key) = (ReplicaSet::RESOURCE, api::Key::new("shop", "web"));
    let about = ObjectRef { resource, key, uid: "u1".into(), resource_version: 1 };
    let (r#type, reason) = (crate::EventType::Normal, "Note".into());
    let event = crate::Event { about: about.into(), r#type, reason, message: "the rest".into() };
    Action::Event(event)
}

/// `AdoptPod` and `ReleasePod`. A deleted orphan is a failure here: the plan relied on it.
#[test]
fn the_answers_that_do_not_matter_are_upstreams() {
    let (owner, pod): (Arc<ReplicaSet>, Arc<Pod>) = (decode(&owner()), decode(&pod("a")));
    for (action, tolerated) in [
        (adopt(&ReplicaSet::RESOURCE, &owner.meta, &*pod, None), &[][..]),
        (release(&owner.meta, &*pod, None), &[Tolerated::Missing, Tolerated::Invalid]),
    ] {
        let Action::Write(write) = action else { panic!("{action} is no write") };
        assert!(write.patched().is_some(), "{write} is no patch");
        assert_eq!(write.tolerates, tolerated);
        assert_eq!((&*write.object.uid, write.object.resource_version), ("uid-a", 1));
    }
}

/// TestGeneratePatchBytesForDelete, the rows with one owner and one finalizer at most.
#[test]
fn patches_have_upstreams_bytes() {
    let removed = r#","$deleteFromPrimitiveList/finalizers":["f1"]"#;
    for (name, owner, dependent, finalizer, [owner_json, dependent_json, end]) in [
        ("check the structure of patch bytes", "ss1", "ss2", None, ["ss1", "ss2", ""]),
        (
            "check if parent uid is escaped",
            r#"ss1"hello"#,
            "ss2",
            None,
            [r#"ss1\"hello"#, "ss2", ""],
        ),
        (
            "check if revision uid uid is escaped",
            "ss1",
            r#"ss2"hello"#,
            None,
            ["ss1", r#"ss2\"hello"#, ""],
        ),
        (
            "check the structure with finalizers",
            "ss1",
            "ss2",
            Some(["f1"]),
            ["ss1", "ss2", removed],
        ),
    ] {
        let metadata = format!(r#""uid":"{dependent_json}","ownerReferences":"#);
        let removal = format!(r#"[{{"$patch":"delete","uid":"{owner_json}"}}]"#);
        let expected = format!(r#"{{"metadata":{{{metadata}{removal}{end}}}}}"#);
        let patch = owners_patch(OwnersPatchMeta {
            uid: dependent,
            owner_references: [Removal { patch: "delete", uid: owner }],
            finalizers: None,
            removed_finalizers: finalizer,
        });
        assert_eq!(patch, expected, "{name}");
    }
}
