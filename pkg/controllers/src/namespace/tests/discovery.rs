//! Which kinds are deleted, and what cannot be discovered.

use std::collections::BTreeSet;

use api::{Resource, ServedKind, Verb};
use serde_json::json;

use super::world::{World, always, held, kind, kind_with, object, once};
use super::*;

/// `ServerPreferredNamespacedResources`, and those that can be deleted.
#[test]
fn preferred_namespaced_kinds_that_can_be_deleted_are_deleted() {
    let of = |kind: ServedKind, resource: Resource| ServedKind { resource, ..kind };
    let clustered = kind("nodes.");
    let resource = Resource { namespaced: false, ..clustered.resource.clone() };
    let clustered = of(clustered, resource);
    let older = ServedKind { preferred: false, ..kind("olds.x.io") };
    let read_only = kind_with("metrics.x.io", &[Verb::List, Verb::Watch]);
    let failed = kind("flakes.y.io");
    let mut world = World::new().serving(&[
        kind("pods."),
        clustered,
        older,
        read_only,
        failed,
        kind("services."),
    ]);
    world.failed.insert("y.io/v1".to_owned(), "no".to_owned());
    for kind in ["nodes.", "olds.x.io", "metrics.x.io", "flakes.y.io", "services."] {
        world = world.holding(kind, &[object("a")]);
    }
    world.sync();
    assert_eq!(world.asked_for("DELETE"), BTreeSet::from(["services."]));
    assert_eq!(world.asked_for("LIST"), BTreeSet::from(["pods.", "services."]));
}

/// A group that cannot be discovered, such as that of an aggregated API that is down: all else is
/// deleted, and the namespace stays until it is back.
#[test]
fn a_namespace_waits_for_a_group_that_cannot_be_discovered() {
    let mut world = World::new().holding("services.", &[object("a")]);
    world.failed.insert("metrics.k8s.io/v1beta1".to_owned(), "the server is down".to_owned());
    let synced = world.sync();
    let error = "unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: the \
                 server is down";
    assert_eq!(synced.plan.error.as_deref(), Some(error));
    assert_eq!(synced.plan.why, "waits for discovery of metrics.k8s.io/v1beta1");
    assert!(world.objects["services."].is_empty());
    let condition = world.condition("NamespaceDeletionDiscoveryFailure");
    let message = "Discovery failed for some groups, 1 failing: ";
    assert_eq!(condition, format!("True DiscoveryFailed {message}{error}"));
    // Nothing new: it is tried again, and not written.
    assert_eq!(world.sync().plan.error.as_deref(), Some(error));
    assert!(world.asked_for("PUT").is_empty());

    world.failed.clear();
    world.sync();
    assert_eq!(world.namespace, None);
}

/// Nothing can be discovered. As upstream, the other conditions then say that all is well.
#[test]
fn without_discovery_nothing_is_deleted() {
    let mut world = World::new()
        .holding("pods.", &[object("p")])
        .refusing("DISCOVER", once(503, "the server is currently unable to handle the request"));
    let synced = world.sync();
    let error = "the server is currently unable to handle the request";
    assert_eq!(synced.plan.error.as_deref(), Some(error));
    assert_eq!(synced.plan.why, "waits for discovery");
    assert_eq!(world.requests, [&START[..], &["PUT shop/status"]].concat());
    let condition = world.condition("NamespaceDeletionDiscoveryFailure");
    assert_eq!(condition, format!("True DiscoveryFailed {error}"));
    let condition = world.condition("NamespaceContentRemaining");
    assert_eq!(condition, "False ContentRemoved All content successfully removed");

    world.sync();
    assert_eq!(world.namespace, None);
}

/// Nothing is served: there is nothing to wait for. Upstream ends its process if that is so at its
/// start.
#[test]
fn a_namespace_goes_if_no_kind_is_served() {
    let mut world = World::new().serving(&[]);
    world.sync();
    assert_eq!(world.namespace, None);
}

/// Pods are the preferred ones of the core group, and no others.
#[test]
fn pods_of_another_group_are_as_all_else() {
    let mut world = World::new()
        .serving(&["pods.x.io", "services."].map(kind))
        .holding("pods.", &[object("not served")])
        .holding("pods.x.io", &[held("p", &["x"])])
        .holding("services.", &[object("a")]);
    world.sync();
    assert_eq!(world.asked_for("DELETE"), BTreeSet::from(["pods.x.io", "services."]));
    let condition = world.condition("NamespaceContentRemaining");
    let message = "Some resources are remaining: pods.x.io has 1 resource instances";
    assert_eq!(condition, format!("True SomeResourcesRemain {message}"));
}

/// An error is reported once where several kinds have the same one; the condition counts them all.
#[test]
fn equal_errors_are_one_error() {
    let mut world = World::new()
        .holding("services.", &[object("a")])
        .holding("deployments.apps", &[object("a")])
        .refusing("DELETE services.", always(500, "no"))
        .refusing("DELETE deployments.apps", always(500, "no"));
    assert_eq!(world.sync().plan.error.as_deref(), Some("no"));
    let message = "True ContentDeletionFailed Failed to delete all resource types, 2 remaining: \
                   no, no";
    assert_eq!(world.condition("NamespaceDeletionContentFailure"), message);
    let kept = json!(["kubernetes"]);
    assert_eq!(world.namespace.unwrap()["spec"]["finalizers"], kept);
}
