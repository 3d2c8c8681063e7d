//! Owners that are deleted without their dependents.

use controller::fixture::{Fixture, woken_by_any};
use controller::{Controller as _, Facts, MetadataChange, Step};

use super::world::*;
use crate::garbagecollector::identity::Identity;
use crate::garbagecollector::snapshot::{ORPHANS_MAX, Orphans};

fn owner() -> Identity {
    id("apps/v1", "Deployment", "ns1", "web", "web-uid")
}

fn pod(name: &str) -> Identity {
    id("v1", "Pod", "ns1", name, &format!("{name}-uid"))
}

fn leaving() -> serde_json::Value {
    ending(finalizers(object(&owner(), &[]), &["orphan", "x"]))
}

fn observed(w: &World) -> Option<Orphans> {
    w.orphaner.observe(&owner().key(), &Fixture::default().view(), &w.graph.read())
}

fn planned(w: &World) -> controller::Plan {
    w.orphaner.decide(&observed(w).unwrap(), &Facts::default()).0
}

/// `attemptToOrphanWorker`. TestOrphanDependentsFailure: a step that fails ends the plan, so the
/// finalizer stays; one that is deleted (404) is no failure.
#[test]
fn dependents_are_let_go_before_the_finalizer() {
    let mut w = World::new();
    w.add(&owner(), &[]);
    w.add(&pod("a"), &[&owner()]);
    w.see(&pod("b"), &blocking(&pod("b"), &[&owner()]));
    w.see(&owner(), &leaving());
    let disown =
        "{\"metadata\":{\"ownerReferences\":[{\"$patch\":\"delete\",\"uid\":\"web-uid\"}],";
    let plan = planned(&w);
    assert_eq!(
        plan.to_string(),
        format!(
            "why: it is being deleted without its dependents: 2 are orphaned\n\
             together: patch pods ns1/a {disown}\"uid\":\"a-uid\"}}}}\n\
             together: patch pods ns1/b {disown}\"uid\":\"b-uid\"}}}}\n\
             in order: merge deployments.apps ns1/web {{\"metadata\":{{\"finalizers\":[\"x\"],\
             \"resourceVersion\":\"4\",\"uid\":\"web-uid\"}}}}\n"
        )
    );
    let patches = plan.steps.iter().flat_map(|step| match step {
        Step::Together(actions) | Step::InOrder(actions) => actions.iter(),
        Step::SlowStart(_) | Step::Chains(_) | Step::Fetch(_) => panic!("{plan}"),
    });
    for patch in patches {
        let Some(patch) = patch.write() else { panic!("{patch}") };
        assert_eq!(patch.tolerates, [controller::Tolerated::Missing]);
    }
    // The collector deletes none of them meanwhile.
    assert_eq!(w.queue(), "");
    let (_, plan) = w.sync(&pod("a").key());
    assert!(plan.unwrap().to_string().starts_with("why: it stays"));
}

#[test]
fn nothing_is_orphaned_once_the_finalizer_is_removed() {
    let mut w = World::new();
    w.add(&owner(), &[]);
    w.add(&pod("a"), &[&owner()]);
    let rest = "why: its dependents are not, or no longer, to be orphaned\n";
    assert_eq!(planned(&w).to_string(), rest);
    w.see(&owner(), &finalizers(object(&owner(), &[]), &["orphan"]));
    assert_eq!(planned(&w).to_string(), rest, "not being deleted");
    w.see(&owner(), &waiting(object(&owner(), &[])));
    assert_eq!(planned(&w).to_string(), rest, "in the foreground");
    w.delete(&owner());
    assert!(observed(&w).is_none());
}

/// So many patches fit in a plan; the finalizer is removed with the last of them.
#[test]
fn many_dependents_are_let_go_in_several_syncs() {
    let mut w = World::new();
    w.see(&owner(), &leaving());
    for at in 0..=ORPHANS_MAX {
        w.add(&pod(&format!("p{at:05}")), &[&owner()]);
    }
    let plan = planned(&w);
    assert_eq!(plan.why, "it is being deleted without its dependents: 1000 of 1001 are orphaned");
    assert_eq!((plan.actions(), plan.again), (1000, Some(std::time::Duration::from_secs(1))));
    w.add(&pod("p00000"), &[]);
    let plan = planned(&w);
    assert_eq!(plan.why, "it is being deleted without its dependents: 1000 are orphaned");
    assert_eq!((plan.actions(), plan.again), (1001, None));
}

/// `startsWaitingForDependentsOrphaned`, as cases of `deletionStartsWithFinalizer`.
#[test]
fn an_owner_is_enqueued_when_its_dependents_are_to_be_orphaned() {
    let w = World::new();
    let plain = metadata(&object(&owner(), &[])).meta;
    let marked = metadata(&finalizers(object(&owner(), &[]), &["orphan"])).meta;
    let going = metadata(&ending(object(&owner(), &[]))).meta;
    let leaving = metadata(&leaving()).meta;
    let both =
        metadata(&ending(finalizers(object(&owner(), &[]), &["foregroundDeletion", "orphan"])))
            .meta;
    let enqueued = "now ns1/Deployment.apps:web:web-uid\n";
    for (name, change, expected) in [
        ("added", MetadataChange::Added(&leaving), enqueued),
        ("added, with both finalizers", MetadataChange::Added(&both), enqueued),
        ("added, not going", MetadataChange::Added(&marked), ""),
        ("deletion", MetadataChange::Updated { old: &marked, new: &leaving }, enqueued),
        ("finalizer", MetadataChange::Updated { old: &going, new: &leaving }, enqueued),
        ("both", MetadataChange::Updated { old: &plain, new: &leaving }, enqueued),
        ("as before", MetadataChange::Updated { old: &leaving, new: &leaving }, ""),
        ("finalizer gone", MetadataChange::Updated { old: &leaving, new: &going }, ""),
        ("gone", MetadataChange::Deleted(&leaving), ""),
        ("no longer watched", MetadataChange::Dropped, ""),
    ] {
        let told = (&DEPLOYMENTS, &change);
        let queue = woken_by_any(&w.orphaner, &w.graph, told, &Fixture::default());
        assert_eq!(controller::fixture::lines(&queue), expected, "{name}");
    }
}

#[test]
fn the_summary_of_an_owner_counts_its_dependents() {
    let mut w = World::new();
    w.see(&owner(), &leaving());
    w.add(&pod("a"), &[&owner()]);
    let snapshot = observed(&w).unwrap();
    let facts = w.orphaner.summary(&snapshot);
    let expected = [
        ("object", "[apps/v1/Deployment, namespace: ns1, name: web, uid: web-uid]"),
        ("its dependents are to stay", "true"),
        ("dependents", "1"),
    ];
    assert_eq!(facts, expected.map(|(name, value)| (name, value.to_owned())));
}
