//! Kinds that are served and no longer served: the part of TestGarbageCollectorSync about the
//! graph.

use api::Resource;

use super::world::*;
use crate::garbagecollector::identity::Identity;

fn deployment() -> Identity {
    id("apps/v1", "Deployment", "ns1", "web", "web-uid")
}

fn role() -> Identity {
    id("rbac.authorization.k8s.io/v1", "Role", "ns1", "role", "role-uid")
}

fn pod(name: &str) -> Identity {
    id("v1", "Pod", "ns1", name, &format!("{name}-uid"))
}

/// Issue 114066 of kubernetes/kubernetes.
#[test]
fn objects_of_a_kind_that_is_dropped_leave_the_graph_and_delete_nothing() {
    let mut w = World::new();
    let other = id("apps/v1", "Deployment", "ns1", "other", "other-uid");
    w.live(&deployment(), &object(&deployment(), &[]));
    w.add(&deployment(), &[]);
    w.add(&other, &[&deployment()]);
    w.add(&pod("a"), &[&deployment()]);
    w.drop_kind(&DEPLOYMENTS);
    w.is("v1/Pod ns1/a -> web-uid; apps/v1/Deployment? ns1/web", "ns1/Deployment.apps:web");
    assert_eq!(w.absent(), "");
    // The kind is still served: read live.
    assert_eq!(w.look(), "get deployments.apps ns1/web\nagain in 60s\n");
    w.pending.clear();
    // It is not: an error, and tried again.
    w.serve(&served(&[PODS]));
    for key in [pod("a").key(), deployment().key()] {
        let (reads, plan) = w.sync(&key);
        let text = plan.unwrap().to_string();
        assert!(reads.is_empty() && text.contains("error: unable to get REST mapping"), "{text}");
    }
    // It is again, and its objects come back.
    w.serve(&all_served());
    assert_eq!(w.queue(), "ns1/Deployment.apps:web", "looked at at once");
    w.pending.clear();
    w.add(&deployment(), &[]);
    w.is("v1/Pod ns1/a -> web-uid; apps/v1/Deployment ns1/web", "");
    // A kind of which there is nothing.
    w.drop_kind(&SECRETS);
    w.delete(&pod("a"));
    w.drop_kind(&DEPLOYMENTS);
    w.is("", "");
}

/// A kind is dropped, too, when its API server was restored to an older state.
#[test]
fn what_did_not_exist_is_looked_for_again_after_a_drop() {
    let mut w = World::new();
    w.add(&deployment(), &[]);
    w.add(&pod("a"), &[&deployment()]);
    w.delete(&deployment());
    assert_ne!(w.absent(), "");
    w.drop_kind(&ROLES);
    assert_eq!(w.absent(), "");
    w.live(&deployment(), &object(&deployment(), &[]));
    assert!(!w.look().contains("delete"), "it is there again");
}

/// A kind could not be listed, its object was found by a live read, and is deleted by the time that
/// the list is there: no other event would show it.
#[test]
fn an_owner_that_went_before_its_kind_was_listed_is_looked_for() {
    let mut w = World::new();
    w.live(&deployment(), &object(&deployment(), &[]));
    w.add(&pod("a"), &[&deployment()]);
    assert_eq!(w.look(), "get deployments.apps ns1/web\nagain in 60s\n");
    w.pending.clear();
    for (kind, expected) in [(&PODS, ""), (&ROLES, ""), (&DEPLOYMENTS, "ns1/Deployment.apps:web")] {
        w.complete(kind);
        assert_eq!(w.queue(), expected, "{kind}");
    }
}

/// At a start hundreds of kinds are added, and a cluster may have many objects.
#[test]
fn a_kind_that_is_listed_is_no_reason_to_walk_over_all_nodes() {
    let mut w = World::new();
    w.add(&pod("a"), &[&deployment(), &role()]);
    w.pending.clear();
    let (nodes, mut queue) = (w.graph.read(), controller::Enqueue::default());
    let before = nodes.walks();
    nodes.complete(&DEPLOYMENTS, &mut queue);
    nodes.complete(&PODS, &mut queue);
    assert_eq!(controller::fixture::lines(&queue), "now ns1/Deployment.apps:web:web-uid\n");
    assert_eq!(nodes.walks(), before);
    drop(nodes);
    w.serve(&served(&[PODS]));
    w.serve(&all_served());
    assert_eq!(w.queue(), "ns1/Deployment.apps:web; ns1/Role.rbac.authorization.k8s.io:role");
    assert_eq!(w.graph.read().walks(), before);
}

/// Nothing is known of a dependent that is not watched: its owner must not wait for ever.
#[test]
fn an_owner_waits_for_no_dependent_of_a_dropped_kind() {
    let mut w = World::new();
    w.see(&role(), &blocking(&role(), &[&pod("a")]));
    w.see(&pod("a"), &waiting(object(&pod("a"), &[])));
    w.pending.clear();
    let (_, plan) = w.sync(&pod("a").key());
    assert!(plan.unwrap().to_string().contains("waits for 1 of its 1 dependents"));
    w.drop_kind(&ROLES);
    w.is("v1/Pod ns1/a", "ns1/Pod:a");
    assert!(w.look().starts_with("merge pods ns1/a"));
}

/// The preferred version of a kind changes: its objects come in the new one before the old one is
/// dropped, or after.
#[test]
fn objects_outlive_a_change_of_the_preferred_version() {
    let old = Identity { api_version: "rbac.authorization.k8s.io/v1beta1".into(), ..role() };
    let mut w = World::new();
    w.add(&pod("a"), &[]);
    w.add(&old, &[&pod("a")]);
    w.add(&pod("b"), &[&old]);
    w.add(&role(), &[&pod("a")]);
    assert_eq!(w.queue(), "ns1/Pod:b", "its reference names the other version");
    let all = "v1/Pod ns1/a; v1/Pod ns1/b -> role-uid; \
               rbac.authorization.k8s.io/v1/Role ns1/role -> a-uid";
    let old_roles: Resource = OLD_ROLES;
    w.drop_kind(&old_roles);
    w.is(all, "ns1/Pod:b");
    let (reads, plan) = w.sync(&pod("b").key());
    assert_eq!(reads, "");
    assert!(plan.unwrap().to_string().starts_with("why: it stays"));
    w.pending.clear();
    w.drop_kind(&ROLES);
    w.add(&role(), &[&pod("a")]);
    w.is(all, "ns1/Role.rbac.authorization.k8s.io:role");
}

/// Some API servers serve the same objects in two groups. As upstream, the first one names it.
#[test]
fn an_object_that_is_served_twice_is_one_node() {
    let mut w = World::new();
    let twin = Identity { uid: "web-uid".into(), ..pod("web") };
    w.add(&deployment(), &[&pod("a")]);
    w.add(&twin, &[&pod("a")]);
    w.pending.clear();
    w.is("v1/Pod? ns1/a; apps/v1/Deployment ns1/web -> a-uid", "");
    let (_, plan) = w.sync(&deployment().key());
    let plan = plan.unwrap().to_string();
    assert!(plan.contains("delete deployments.apps ns1/web with these owners"), "{plan}");
}
