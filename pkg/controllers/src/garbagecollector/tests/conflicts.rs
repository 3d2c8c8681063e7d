//! TestConflictingData: references that disagree with each other or with what is there. One test
//! for each of its cases, with its objects and its order of events. Where a look reads less than
//! upstream's does, it is for the contract in `mod.rs`: no object is read that was observed. A
//! response changes the graph at once, so upstream's pending graph changes do not exist here.

use super::world::*;
use crate::garbagecollector::identity::Identity;

const AGAIN: &str = "again in 60s\n";

fn pod1() -> Identity {
    id("v1", "Pod", "ns1", "podname1", "poduid1")
}

fn pod2() -> Identity {
    id("v1", "Pod", "ns1", "podname2", "poduid2")
}

fn pod2_ns2() -> Identity {
    id("v1", "Pod", "ns2", "podname2", "poduid2")
}

fn node1() -> Identity {
    id("v1", "Node", "", "nodename", "nodeuid1")
}

fn old_role() -> Identity {
    id("rbac.authorization.k8s.io/v1beta1", "Role", "ns1", "role1", "roleuid1")
}

fn role() -> Identity {
    id("rbac.authorization.k8s.io/v1", "Role", "ns1", "role1", "roleuid1")
}

fn deployment() -> Identity {
    id("apps/v1", "Deployment", "ns1", "deployment1", "deploymentuid1")
}

/// Not served, but referred to.
fn old_deployment() -> Identity {
    id("extensions/v1beta1", "Deployment", "ns1", "deployment1", "deploymentuid1")
}

/// A secret that does not exist, with the uid of the deployment.
fn bad_secret() -> Identity {
    id("v1", "Secret", "ns1", "secretname", "deploymentuid1")
}

fn bad_pod() -> Identity {
    id("v1", "Pod", "ns1", "badpod", "badpoduid")
}

fn good_pod() -> Identity {
    id("v1", "Pod", "ns1", "goodpod", "goodpoduid")
}

fn no_mapping() -> String {
    let kind = "extensions/v1beta1/Deployment";
    format!(
        "error: unable to get REST mapping for {kind}. If {kind} is an invalid resource, then you \
         should manually remove ownerReferences that refer {kind} objects.\n"
    )
}

/// The Event on the pod or node that names an owner in another namespace.
fn event(namespace: &str, name: &str, uid: &str) -> String {
    format!(
        "event Warning OwnerRefInvalidNamespace: ownerRef [v1/Pod, namespace: {namespace}, name: \
         {name}, uid: {uid}] does not exist in namespace \"{namespace}\"\n"
    )
}

fn deletes(pod: &str) -> String {
    format!("delete pods ns1/{pod} with these owners, Background\n")
}

#[test]
fn good_child_in_ns1_of_a_cluster_scoped_owner() {
    let mut w = World::new();
    w.live(&node1(), &object(&node1(), &[]));
    // Observe namespaced child with not-yet-observed cluster-scoped parent.
    w.add(&pod1(), &[&node1()]);
    w.is("v1/Node? ns1/nodename; v1/Pod ns1/podname1 -> nodeuid1", "ns1/Node:nodename");
    assert_eq!(w.look(), format!("get nodes nodename\n{AGAIN}"));
    w.is("v1/Node? ns1/nodename; v1/Pod ns1/podname1 -> nodeuid1", "ns1/Node:nodename");
    // Observe cluster-scoped parent: its namespace is put right.
    w.add(&node1(), &[]);
    w.is("v1/Node nodename; v1/Pod ns1/podname1 -> nodeuid1", "ns1/Node:nodename");
    assert_eq!(w.look(), "not there");
    w.is("v1/Node nodename; v1/Pod ns1/podname1 -> nodeuid1", "");
}

#[test]
fn bad_child_in_ns1_of_an_owner_in_ns2_child_first() {
    let mut w = World::new();
    w.live(&pod2_ns2(), &object(&pod2_ns2(), &[]));
    w.add(&pod1(), &[&pod2_ns2()]);
    w.is("v1/Pod ns1/podname1 -> poduid2; v1/Pod? ns1/podname2", "ns1/Pod:podname2");
    w.add(&pod2_ns2(), &[]);
    w.is(
        "v1/Pod ns1/podname1 -> poduid2; v1/Pod ns2/podname2",
        "ns1/Pod:podname2; ns1/Pod:podname1",
    );
    assert_eq!(w.look(), "not there", "the virtual parent");
    // As upstream reads the owner where the reference says it is. The Event comes with the look.
    let expected = format!(
        "get pods ns1/podname2\n{}{}",
        event("ns1", "podname2", "poduid2"),
        deletes("podname1")
    );
    assert_eq!(w.look(), expected);
    w.is("v1/Pod ns1/podname1 -> poduid2; v1/Pod ns2/podname2", "");
    w.delete(&pod1());
    w.is("v1/Pod ns2/podname2", "");
}

#[test]
fn bad_child_in_ns1_of_an_owner_in_ns2_owner_first() {
    let mut w = World::new();
    w.live(&pod2_ns2(), &object(&pod2_ns2(), &[]));
    w.add(&pod2_ns2(), &[]);
    w.is("v1/Pod ns2/podname2", "");
    w.add(&pod1(), &[&pod2()]);
    w.is("v1/Pod ns1/podname1 -> poduid2; v1/Pod ns2/podname2", "ns1/Pod:podname1");
    let expected = format!(
        "get pods ns1/podname2\n{}{}",
        event("ns1", "podname2", "poduid2"),
        deletes("podname1")
    );
    assert_eq!(w.look(), expected);
    w.delete(&pod1());
    w.is("v1/Pod ns2/podname2", "");
}

#[test]
fn bad_cluster_scoped_child_of_an_owner_in_ns1_child_first() {
    let mut w = World::new();
    w.live(&pod1(), &object(&pod1(), &[]));
    w.add(&node1(), &[&pod1()]);
    w.is("v1/Node nodename -> poduid1; v1/Pod? podname1", "Pod:podname1");
    // A namespaced object without a namespace cannot be read, and is not tried again.
    assert_eq!(w.look(), "");
    w.is("v1/Node nodename -> poduid1; v1/Pod? podname1", "");
    w.add(&pod1(), &[]);
    w.is("v1/Node nodename -> poduid1; v1/Pod ns1/podname1", "Node:nodename");
    assert_eq!(w.look(), event("", "podname1", "poduid1"));
    w.is("v1/Node nodename -> poduid1; v1/Pod ns1/podname1", "");
}

#[test]
fn bad_cluster_scoped_child_of_an_owner_in_ns1_owner_first() {
    let mut w = World::new();
    w.live(&pod1(), &object(&pod1(), &[]));
    w.add(&pod1(), &[]);
    w.add(&node1(), &[&pod1()]);
    w.is("v1/Node nodename -> poduid1; v1/Pod ns1/podname1", "Node:nodename");
    assert_eq!(w.look(), event("", "podname1", "poduid1"));
    w.is("v1/Node nodename -> poduid1; v1/Pod ns1/podname1", "");
}

#[test]
fn good_child_of_an_owner_with_a_non_preferred_accessible_version() {
    let mut w = World::new();
    let (new, old) = ("rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io/v1beta1");
    w.live(&role(), &object(&role(), &[]));
    w.live(&old_role(), &object(&old_role(), &[]));
    w.add(&pod1(), &[&old_role()]);
    let child = "v1/Pod ns1/podname1 -> roleuid1";
    let role_key = "ns1/Role.rbac.authorization.k8s.io:role1";
    w.is(&format!("{child}; {old}/Role? ns1/role1"), role_key);
    let read = "get roles.rbac.authorization.k8s.io ns1/role1\n";
    assert_eq!(w.look(), format!("{read}{AGAIN}"));
    w.is(&format!("{child}; {old}/Role? ns1/role1"), role_key);
    w.add(&role(), &[]);
    w.is(&format!("{child}; {new}/Role ns1/role1"), &format!("{role_key}; ns1/Pod:podname1"));
    // A key knows no version, so the observed role is looked at: it has no owners.
    assert_eq!(w.look(), "");
    // The version is served, so the reference means what was observed. Upstream reads it.
    assert_eq!(w.look(), "");
    w.is(&format!("{child}; {new}/Role ns1/role1"), "");
    w.gone(&role());
    w.gone(&old_role());
    w.delete(&role());
    w.is(child, "ns1/Pod:podname1");
    assert_eq!(w.absent(), format!("{new}/Role ns1/role1"));
    // Absent by another version than the reference has: read, as upstream.
    assert_eq!(w.look(), format!("{read}{}", deletes("podname1")));
    w.delete(&pod1());
    w.is("", "");
}

#[test]
fn child_of_an_existing_owner_with_an_inaccessible_version_child_first() {
    let mut w = World::new();
    w.live(&deployment(), &object(&deployment(), &[]));
    w.add(&pod1(), &[&old_deployment()]);
    let child = "v1/Pod ns1/podname1 -> deploymentuid1";
    let (old, owner) =
        ("extensions/v1beta1/Deployment? ns1/deployment1", "apps/v1/Deployment ns1/deployment1");
    w.is(&format!("{old}; {child}"), "ns1/Deployment.extensions:deployment1");
    assert_eq!(w.look(), no_mapping());
    w.is(&format!("{old}; {child}"), "ns1/Deployment.extensions:deployment1");
    w.add(&deployment(), &[]);
    w.is(&format!("{owner}; {child}"), "ns1/Deployment.extensions:deployment1; ns1/Pod:podname1");
    assert_eq!(w.look(), "not there", "the virtual parent is dropped");
    assert_eq!(w.look(), no_mapping());
    w.is(&format!("{owner}; {child}"), "ns1/Pod:podname1");
    w.gone(&deployment());
    w.delete(&deployment());
    w.is(child, "ns1/Pod:podname1");
    assert_eq!(w.absent(), "apps/v1/Deployment ns1/deployment1");
    assert_eq!(w.look(), no_mapping());
    w.is(child, "ns1/Pod:podname1");
}

#[test]
fn child_of_an_existing_owner_with_an_inaccessible_version_owner_first() {
    let mut w = World::new();
    let child = "v1/Pod ns1/podname1 -> deploymentuid1";
    w.add(&deployment(), &[]);
    w.add(&pod1(), &[&old_deployment()]);
    w.is(&format!("apps/v1/Deployment ns1/deployment1; {child}"), "ns1/Pod:podname1");
    assert_eq!(w.look(), no_mapping());
    w.is(&format!("apps/v1/Deployment ns1/deployment1; {child}"), "ns1/Pod:podname1");
    w.delete(&deployment());
    w.is(child, "ns1/Pod:podname1");
    assert_eq!(w.look(), no_mapping());
    w.is(child, "ns1/Pod:podname1");
}

#[test]
fn child_of_no_owner_with_an_inaccessible_version_that_version_first() {
    let mut w = World::new();
    let virtual_owner = "extensions/v1beta1/Deployment? ns1/deployment1";
    let child = "v1/Pod ns1/podname1 -> deploymentuid1";
    let other = "v1/Pod ns1/podname2 -> deploymentuid1";
    w.add(&pod1(), &[&old_deployment()]);
    w.is(&format!("{virtual_owner}; {child}"), "ns1/Deployment.extensions:deployment1");
    w.add(&pod2(), &[&deployment()]);
    let all = format!("{virtual_owner}; {child}; {other}");
    w.is(&all, "ns1/Deployment.extensions:deployment1; ns1/Pod:podname2");
    assert_eq!(w.look(), no_mapping());
    let read = "get deployments.apps ns1/deployment1\n";
    assert_eq!(w.look(), format!("{read}{}", deletes("podname2")));
    w.is(&all, "ns1/Deployment.extensions:deployment1");
    w.delete(&pod2());
    w.is(&format!("{virtual_owner}; {child}"), "ns1/Deployment.extensions:deployment1");
    assert_eq!(w.look(), no_mapping());
    w.is(&format!("{virtual_owner}; {child}"), "ns1/Deployment.extensions:deployment1");
}

#[test]
fn child_of_no_owner_with_an_inaccessible_version_the_other_version_first() {
    let mut w = World::new();
    let (first, second) =
        ("apps/v1/Deployment? ns1/deployment1", "extensions/v1beta1/Deployment? ns1/deployment1");
    let child = "v1/Pod ns1/podname1 -> deploymentuid1";
    let other = "v1/Pod ns1/podname2 -> deploymentuid1";
    w.add(&pod2(), &[&deployment()]);
    w.is(&format!("{first}; {other}"), "ns1/Deployment.apps:deployment1");
    w.add(&pod1(), &[&old_deployment()]);
    w.is(
        &format!("{first}; {child}; {other}"),
        "ns1/Deployment.apps:deployment1; ns1/Pod:podname1",
    );
    // The owner is not there: its dependents are enqueued, and it gets its other name.
    assert_eq!(w.look(), "get deployments.apps ns1/deployment1\n");
    w.is(
        &format!("{second}; {child}; {other}"),
        "ns1/Pod:podname1; ns1/Pod:podname2; ns1/Deployment.extensions:deployment1",
    );
    assert_eq!(w.absent(), "apps/v1/Deployment ns1/deployment1");
    assert_eq!(w.look(), no_mapping());
    assert_eq!(w.look(), deletes("podname2"));
    assert_eq!(w.look(), no_mapping());
    w.is(
        &format!("{second}; {child}; {other}"),
        "ns1/Pod:podname1; ns1/Deployment.extensions:deployment1",
    );
    w.delete(&pod2());
    w.is(&format!("{second}; {child}"), "ns1/Pod:podname1; ns1/Deployment.extensions:deployment1");
}

/// The upstream cases "(bad child, good child, bad parent delete, good parent)" and "(…, good
/// parent, bad parent delete)" differ in when the live read reaches the graph; here that is the
/// first look.
#[test]
fn bad_child_of_an_owner_with_an_incorrect_version_bad_child_first() {
    let mut w = World::new();
    w.live(&deployment(), &object(&deployment(), &[]));
    w.add(&bad_pod(), &[&bad_secret()]);
    let bad = "v1/Pod ns1/badpod -> deploymentuid1";
    let good = "v1/Pod ns1/goodpod -> deploymentuid1";
    w.is(&format!("{bad}; v1/Secret? ns1/secretname"), "ns1/Secret:secretname");
    w.add(&good_pod(), &[&deployment()]);
    w.is(
        &format!("{bad}; v1/Secret? ns1/secretname; {good}"),
        "ns1/Secret:secretname; ns1/Pod:goodpod",
    );
    assert_eq!(w.look(), "get secrets ns1/secretname\n");
    let all = format!("{bad}; apps/v1/Deployment? ns1/deployment1; {good}");
    w.is(&all, "ns1/Pod:goodpod; ns1/Pod:badpod; ns1/Deployment.apps:deployment1");
    assert_eq!(w.absent(), "v1/Secret ns1/secretname");
    let read = "get deployments.apps ns1/deployment1\n";
    assert_eq!(w.look(), read, "the good child stays");
    assert_eq!(w.look(), deletes("badpod"));
    assert_eq!(w.look(), format!("{read}{AGAIN}"));
    w.is(&all, "ns1/Deployment.apps:deployment1");
    w.add(&deployment(), &[]);
    w.is(&all.replace('?', ""), "ns1/Deployment.apps:deployment1");
    w.delete(&bad_pod());
    assert_eq!(w.look(), "");
    w.is(&format!("apps/v1/Deployment ns1/deployment1; {good}"), "");
}

/// The same, but that the owner is observed while it is looked for under the wrong name: it is not
/// taken out of the graph. As upstream's case with the good parent before the bad delete.
#[test]
fn an_answer_about_a_wrong_name_takes_no_observed_owner_out() {
    let mut w = World::new();
    w.add(&bad_pod(), &[&bad_secret()]);
    w.add(&good_pod(), &[&deployment()]);
    w.add(&deployment(), &[]);
    let all = "v1/Pod ns1/badpod -> deploymentuid1; apps/v1/Deployment ns1/deployment1; \
               v1/Pod ns1/goodpod -> deploymentuid1";
    w.is(all, "ns1/Secret:secretname; ns1/Pod:goodpod; ns1/Pod:badpod");
    w.pending.clear();
    let mut queue = controller::Enqueue::default();
    w.graph.write().vanish(&bad_secret(), &mut queue);
    assert_eq!(controller::fixture::lines(&queue), "now ns1/Pod:badpod:badpoduid\n");
    w.is(all, "");
    assert_eq!(w.absent(), "v1/Secret ns1/secretname");
}

#[test]
fn bad_child_of_an_owner_with_an_incorrect_version_good_child_first() {
    let mut w = World::new();
    w.live(&deployment(), &object(&deployment(), &[]));
    w.add(&good_pod(), &[&deployment()]);
    w.add(&bad_pod(), &[&bad_secret()]);
    let all = "v1/Pod ns1/badpod -> deploymentuid1; apps/v1/Deployment? ns1/deployment1; \
               v1/Pod ns1/goodpod -> deploymentuid1";
    w.is(all, "ns1/Deployment.apps:deployment1; ns1/Pod:badpod");
    assert_eq!(w.look(), format!("get deployments.apps ns1/deployment1\n{AGAIN}"));
    w.is(all, "ns1/Pod:badpod; ns1/Deployment.apps:deployment1");
    assert_eq!(w.look(), format!("get secrets ns1/secretname\n{}", deletes("badpod")));
    w.is(all, "ns1/Deployment.apps:deployment1");
    // Upstream enqueues the bad child once more only if the name of the node changes: it does not.
    w.add(&deployment(), &[]);
    w.is(&all.replace('?', ""), "ns1/Deployment.apps:deployment1");
    w.delete(&bad_pod());
    assert_eq!(w.look(), "", "upstream reads it");
    w.is("apps/v1/Deployment ns1/deployment1; v1/Pod ns1/goodpod -> deploymentuid1", "");
}

/// Issue 98040 of kubernetes/kubernetes.
#[test]
fn cluster_scoped_bad_child_namespaced_good_child_missing_parent() {
    let mut w = World::new();
    let no_namespace = id("v1", "Pod", "", "podname1", "poduid1");
    w.add(&node1(), &[&no_namespace]);
    w.is("v1/Node nodename -> poduid1; v1/Pod? podname1", "Pod:podname1");
    w.add(&pod2(), &[&pod1()]);
    let all = "v1/Node nodename -> poduid1; v1/Pod? podname1; v1/Pod ns1/podname2 -> poduid1";
    w.is(all, "Pod:podname1; ns1/Pod:podname2");
    assert_eq!(w.look(), "", "a pod without a namespace");
    assert_eq!(w.look(), format!("get pods ns1/podname1\n{}", deletes("podname2")));
    w.is(all, "");
    w.delete(&pod2());
    w.is("v1/Node nodename -> poduid1; v1/Pod? podname1", "");
}

/// Issue 98040 of kubernetes/kubernetes.
#[test]
fn cluster_scoped_bad_child_namespaced_good_child_late_observed_parent() {
    let mut w = World::new();
    w.live(&pod1(), &object(&pod1(), &[]));
    let no_namespace = id("v1", "Pod", "", "podname1", "poduid1");
    w.add(&node1(), &[&no_namespace]);
    w.add(&pod2(), &[&pod1()]);
    assert_eq!(w.look(), "", "a pod without a namespace");
    assert_eq!(w.look(), "get pods ns1/podname1\n", "the parent is there");
    let all = "v1/Node nodename -> poduid1; v1/Pod? podname1; v1/Pod ns1/podname2 -> poduid1";
    w.is(all, "");
    w.add(&pod1(), &[]);
    w.is(&all.replace("? podname1", " ns1/podname1"), "Node:nodename");
    assert_eq!(w.look(), event("", "podname1", "poduid1"));
    w.is(&all.replace("? podname1", " ns1/podname1"), "");
}

/// Issue 98040 of kubernetes/kubernetes.
#[test]
fn namespaced_good_child_cluster_scoped_bad_child_missing_parent() {
    let mut w = World::new();
    let no_namespace = id("v1", "Pod", "", "podname1", "poduid1");
    w.add(&pod2(), &[&pod1()]);
    w.is("v1/Pod? ns1/podname1; v1/Pod ns1/podname2 -> poduid1", "ns1/Pod:podname1");
    w.add(&node1(), &[&no_namespace]);
    let all = "v1/Node nodename -> poduid1; v1/Pod? ns1/podname1; v1/Pod ns1/podname2 -> poduid1";
    w.is(all, "ns1/Pod:podname1; Node:nodename");
    assert_eq!(w.look(), "get pods ns1/podname1\n");
    let other = all.replace("? ns1/podname1", "? podname1");
    w.is(&other, "Node:nodename; ns1/Pod:podname2; Pod:podname1");
    assert_eq!(w.absent(), "v1/Pod ns1/podname1");
    assert_eq!(w.look(), "", "a node cannot be owned by a pod");
    assert_eq!(w.look(), deletes("podname2"));
    w.delete(&pod2());
    w.is("v1/Node nodename -> poduid1; v1/Pod? podname1", "Pod:podname1");
    assert_eq!(w.look(), "", "a pod without a namespace");
    w.is("v1/Node nodename -> poduid1; v1/Pod? podname1", "");
}

/// "resourceVersion conflict between Get/Delete while processing object deletion": the first part.
/// The conflicts are the engine's, see its tests of `Guard::SameOwners`; the plan asks for it, with
/// the owners that were looked at.
#[test]
fn a_deletion_asks_for_the_owners_and_the_version_that_were_looked_at() {
    let mut w = World::new();
    w.add(&pod1(), &[]);
    w.add(&pod2(), &[&pod1()]);
    w.delete(&pod1());
    w.is("v1/Pod ns1/podname2 -> poduid1", "ns1/Pod:podname2");
    let (reads, plan) = w.sync(&pod2().key());
    assert_eq!(reads, "");
    let plan = plan.unwrap();
    let [controller::Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    let [controller::Action::Write(write)] = actions.as_slice() else { panic!("{plan}") };
    let delete = write.deleted().unwrap();
    let owners = vec![owner_ref(&pod1())];
    assert_eq!(delete.guard, controller::Guard::SameOwners(owners.into()));
    assert_eq!((&*write.object.uid, write.object.resource_version), ("poduid2", 2));
}
