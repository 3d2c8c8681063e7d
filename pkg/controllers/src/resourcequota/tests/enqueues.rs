//! Which changes enqueue which quotas.

use controller::{Change, Enqueue, MetadataChange};

use super::*;

const MISSING: Controller = Controller { queue: Queue::Missing, ..CONTROLLER };

fn changed<T: Kind>(old: &Value, new: &Value) -> Change<T> {
    Change::Updated { old: fixture::decode(old), new: fixture::decode(new) }
}

/// A quota whose status has all figures.
fn counted(names: &[&str]) -> Value {
    let mut quota = of(names);
    let used: BTreeMap<_, _> = names.iter().map(|name| (*name, "1")).collect();
    quota["status"] = json!({"hard": quota["spec"]["hard"], "used": used});
    quota
}

fn lines(queue: &Enqueue) -> String {
    fixture::lines(queue)
}

/// What the change of an object enqueues in the first queue.
fn woken<T: Kind>(world: &World, old: &Value, new: &Value) -> String {
    let (kinds, change) = (&world.kinds, changed::<T>(old, new));
    let none = fixture::remembered(&MISSING, kinds, &change, &world.fixture());
    assert_eq!(lines(&none), "");
    lines(&fixture::remembered(&CONTROLLER, kinds, &change, &world.fixture()))
}

/// TestAddQuota.
#[test]
fn quotas_that_lack_figures_need_not_wait() {
    let one = |status: Value| with(of(&["cpu"]), json!({ "status": status }));
    let dongle = "requests.example/foobars.example.com";
    let rows = [
        ("no status", of(&["cpu"]), true),
        ("status, no usage", one(json!({"hard": {"cpu": "100"}})), true),
        (
            "status, no usage, of an extended resource",
            with(of(&[dongle]), json!({"status": {"hard": {dongle: "100"}}})),
            true,
        ),
        ("status, mismatch", one(json!({"hard": {"cpu": "6"}, "used": {"cpu": "0"}})), true),
        ("status, missing usage, but don't care", counted(&[]), false),
        (
            "a name that counts nothing",
            with(of(&["foobars"]), json!({"status": {"hard": {"foobars": "100"}}})),
            false,
        ),
        ("ready", counted(&["cpu"]), false),
    ];
    for (name, quota, lacks) in rows {
        let world = World::of(quota.clone());
        let change = Change::<ResourceQuota>::Added(fixture::decode(&quota));
        let [first, second] = [CONTROLLER, MISSING].map(|controller| {
            lines(&fixture::remembered(&controller, &world.kinds, &change, &world.fixture()))
        });
        let now = "now shop/quota\n";
        let expected = if lacks { ("after 300s shop/quota\n", now) } else { (now, "") };
        assert_eq!((&*first, &*second), expected, "{name}");
    }
}

/// `UpdateFunc` and `DeleteFunc` of `NewController`.
#[test]
fn only_other_limits_of_a_quota_matter() {
    let quota = counted(&["cpu"]);
    let world = World::of(quota.clone());
    let of = |controller: &Controller, change: &Change<ResourceQuota>| {
        lines(&fixture::remembered(controller, &world.kinds, change, &world.fixture()))
    };
    let used = with(quota.clone(), json!({"status": {"used": {"cpu": "2"}}}));
    let same = with(quota.clone(), json!({"spec": {"hard": {"cpu": "100000m"}}}));
    let more = with(quota.clone(), json!({"spec": {"hard": {"cpu": "101"}}}));
    assert_eq!(of(&CONTROLLER, &changed(&quota, &used)), "");
    assert_eq!(of(&CONTROLLER, &changed(&quota, &same)), "");
    assert_eq!(of(&MISSING, &changed(&quota, &more)), "now shop/quota\n");
    let deleted = Change::Deleted(fixture::decode(&quota));
    assert_eq!(of(&CONTROLLER, &deleted), "forget shop/quota\n");
    let never = Controller { resync: Duration::ZERO, ..CONTROLLER };
    assert_eq!(of(&never, &changed(&quota, &more)), "");
}

/// `DefaultUpdateFilter`, and TestHasResourcesChanged.
#[test]
fn a_pod_that_uses_something_else_enqueues_its_quotas() {
    let world = World::of(counted(&["cpu"]));
    let base = pod("a", json!({"requests": {"cpu": "1"}}));
    let after = |patch: Value| woken::<Pod>(&world, &base, &with(base.clone(), patch));
    let statuses = |cpu: &str| {
        json!({"status": {"containerStatuses": [{"name": "ctr",
        "resources": {"requests": {"cpu": cpu}}}]}})
    };
    let leaving = |seconds: i64| {
        json!({"metadata": {"deletionGracePeriodSeconds": 30,
        "deletionTimestamp": ago(seconds)}})
    };
    let now = "now shop/quota\n";
    for (name, patch, expected) in [
        ("an annotation", json!({"metadata": {"annotations": {"a": "b"}}}), ""),
        ("a node", json!({"spec": {"nodeName": "a"}}), ""),
        ("the end", json!({"status": {"phase": "Succeeded"}}), now),
        ("a deadline", json!({"spec": {"activeDeadlineSeconds": 5}}), now),
        ("a first status that says the same", statuses("1"), ""),
        ("a resize", statuses("2"), now),
        ("a deletion", leaving(0), ""),
        ("its grace is over", leaving(31), now),
    ] {
        assert_eq!(after(patch), expected, "{name}");
    }
    let elsewhere = with(base.clone(), json!({"metadata": {"namespace": "other"}}));
    let over = with(elsewhere.clone(), json!({"status": {"phase": "Failed"}}));
    assert_eq!(woken::<Pod>(&world, &elsewhere, &over), "");
    let other = World::of(counted(&["services"]));
    let over = with(base.clone(), json!({"status": {"phase": "Failed"}}));
    assert_eq!(woken::<Pod>(&other, &base, &over), "");
}

/// `GetQuotaServiceType` and `RequiresQuotaReplenish`.
#[test]
fn so_do_services_and_claims() {
    let world = World::of(counted(&["services", "persistentvolumeclaims"]));
    let now = "now shop/quota\n";
    let service = |spec: Value| with(named("a"), json!({ "spec": spec }));
    let node_port = service(json!({"type": "NodePort", "ports": [{}, {}]}));
    for (spec, expected) in [
        (json!({"type": "NodePort", "ports": [{"port": 80}, {}]}), ""),
        (json!({"type": "ClusterIP", "ports": [{}, {}]}), now),
        (json!({"type": "LoadBalancer", "ports": [{}, {}]}), now),
        (json!({"type": "NodePort", "ports": [{}]}), now),
    ] {
        assert_eq!(
            woken::<Service>(&world, &node_port, &service(spec.clone())),
            expected,
            "{spec}"
        );
    }
    let claim = with(named("a"), json!({"spec": {"resources": {"requests": {"storage": "1Gi"}}}}));
    for (patch, expected) in [
        (json!({"status": {"phase": "Bound"}}), ""),
        (json!({"status": {"allocatedResources": {"storage": "2Gi"}}}), now),
        (json!({"status": {"currentVolumeAttributesClassName": "gold"}}), now),
        (json!({"spec": {"storageClassName": "gold"}}), now),
    ] {
        let new = with(claim.clone(), patch.clone());
        assert_eq!(woken::<PersistentVolumeClaim>(&world, &claim, &new), expected, "{patch}");
    }
}

/// `replenishQuota`: deletions of any kind, by the limits in the status.
#[test]
fn a_deletion_enqueues_the_quotas_that_count_the_kind() {
    let world = World::of(counted(&["count/widgets.example.com", "requests.nvidia.com/gpu"]));
    world.serve(&[WIDGETS]);
    let object = fixture::decode::<Pod>(&named("a"));
    let woken = |resource: &Resource, change: MetadataChange<'_>| {
        let fixture = world.fixture();
        let woken = |it: &Controller| {
            fixture::woken_by_any(it, &world.kinds, (resource, &change), &fixture)
        };
        assert_eq!(lines(&woken(&MISSING)), "");
        lines(&woken(&CONTROLLER))
    };
    let meta = &object.meta;
    let now = "now shop/quota\n";
    assert_eq!(woken(&WIDGETS, MetadataChange::Deleted(meta)), now);
    assert_eq!(woken(&Pod::RESOURCE, MetadataChange::Deleted(meta)), now);
    assert_eq!(woken(&Service::RESOURCE, MetadataChange::Deleted(meta)), "");
    assert_eq!(woken(&WIDGETS, MetadataChange::Added(meta)), "", "the API server charges it");
    assert_eq!(woken(&WIDGETS, MetadataChange::Updated { old: meta, new: meta }), "");
    assert_eq!(woken(&WIDGETS, MetadataChange::Complete), now);
    assert_eq!(woken(&WIDGETS, MetadataChange::Dropped), now);
    assert_eq!(woken(&CONFIG_MAPS, MetadataChange::Complete), "");
    let aliased = World::of(counted(&["secrets"]));
    let secrets = Resource::namespaced("", "v1", "secrets", "Secret");
    let change = MetadataChange::Complete;
    let queue =
        fixture::woken_by_any(&CONTROLLER, &aliased.kinds, (&secrets, &change), &aliased.fixture());
    assert_eq!(lines(&queue), now);
}

/// Upstream waits for the resync.
#[test]
fn a_device_class_enqueues_the_quotas_of_its_extended_resources() {
    let class = |name: &str, extended: Value| {
        with(
            named(name),
            json!({"metadata": {"namespace": null},
            "spec": {"extendedResourceName": extended}}),
        )
    };
    let world = World::of(counted(&["requests.example.com/gpu"]));
    let gpu = class("gpu", json!("example.com/gpu"));
    let other = class("gpu", json!("example.com/tpu"));
    let now = "now shop/quota\n";
    assert_eq!(woken::<DeviceClass>(&world, &gpu, &other), now);
    assert_eq!(woken::<DeviceClass>(&world, &other, &gpu), now);
    assert_eq!(woken::<DeviceClass>(&world, &gpu, &gpu), "");
    let added = Change::<DeviceClass>::Added(fixture::decode(&other));
    assert_eq!(fixture::enqueued(&CONTROLLER, &added, &world.fixture()), "");
    let world = World::of(counted(&["requests.deviceclass.resource.kubernetes.io/gpu"]));
    assert_eq!(fixture::enqueued(&CONTROLLER, &added, &world.fixture()), now);
    let off = Controller { extended: false, ..CONTROLLER };
    assert_eq!(fixture::enqueued(&off, &added, &world.fixture()), "");
}

/// A claim whose requests change, which the API server does not admit today.
#[test]
fn a_resource_claim_that_uses_something_else_enqueues_its_quotas() {
    let claim = |count: i64| {
        let request = json!({"exactly": {"deviceClassName": "gpu", "count": count,
            "allocationMode": "ExactCount"}});
        with(named("a"), json!({"spec": {"devices": {"requests": [request]}}}))
    };
    let world = World::of(counted(&["gpu.deviceclass.resource.k8s.io/devices"]));
    assert_eq!(woken::<ResourceClaim>(&world, &claim(2), &claim(1)), "now shop/quota\n");
    assert_eq!(woken::<ResourceClaim>(&world, &claim(2), &claim(2)), "");
}
