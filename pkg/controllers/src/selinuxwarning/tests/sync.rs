//! `selinux_warning_controller_test.go`.

use super::*;

const END: &str = "If both pods land on the same node, only one of them may access the volume.";

/// What is remembered of `pod1`: volume, label, policy.
fn known(world: &World) -> Vec<(String, String, String)> {
    let meta = world.observe("pod1").unwrap().pod.meta.clone();
    let volumes = ["pv1", "inlinevol1"].map(|name| format!("kubernetes.io/csi/{DRIVER}^{name}"));
    let memory = world.memory.read();
    let of = |volume: String| {
        let usage = memory.of(&meta, &volume)?;
        let name = volume.rsplit('^').next().unwrap_or_default().to_owned();
        Some((name, usage.label.to_string(), usage.policy.to_string()))
    };
    volumes.into_iter().filter_map(of).collect()
}

/// TestSELinuxWarningController_Sync: what becomes known.
#[test]
fn uses_of_volumes_are_remembered_as_upstream() {
    let of = |policy| with_claim(pod("pod1", "s0:c1,c2", policy), "pvc1");
    let plain = || of(None);
    let [labelled, bare] = ["MountOption", "Recursive"].map(|policy| {
        let label = if policy == "MountOption" { ":::s0:c1,c2" } else { "" };
        ("pv1", label, policy)
    });
    let inline = ("inlinevol1", ":::s0:c1,c2", "MountOption");
    let with_no_level = with_claim(pod("pod1", "", Some("MountOption")), "pvc1");
    let unbound = with_claim(pod("pod1", "s0:c1,c2", None), "non-existing-pvc");
    let no_volumes = pod("pod1", "s0:c1,c2", None);
    let only_inline = with_inline(no_volumes.clone());
    for (name, pod, supports, expected) in [
        ("existing pod with no volumes", no_volumes, true, vec![]),
        ("existing pod with unbound PVC", unbound, true, vec![]),
        ("existing pod with fully bound PVC", plain(), true, vec![labelled]),
        (
            "existing pod with fully bound PVC, Recursive change policy",
            of(Some("Recursive")),
            true,
            { vec![bare] },
        ),
        ("existing pod with inline volume", only_inline, true, vec![inline]),
        ("existing pod with inline volume and PVC", with_inline(plain()), true, {
            vec![labelled, inline]
        }),
        ("empty label implies Recursive policy", with_no_level, true, vec![bare]),
        ("pending pod is processed", ended(plain(), "Pending"), true, vec![labelled]),
        ("unknown pod is processed", ended(plain(), "Unknown"), true, vec![labelled]),
        ("CSIDriver.SELinuxMount disabled", plain(), false, vec![bare]),
    ] {
        let caches = caches(&[pod]).holding::<CsiDriver>(&[driver(supports)]);
        let world = World::new(caches);
        let events = world.events("pod1");
        assert!(events.is_empty(), "{name}: {events:?}");
        let known = known(&world);
        let known: Vec<_> = known.iter().map(|(v, l, p)| (&**v, &**l, &**p)).collect();
        assert_eq!(known, expected, "{name}");
    }
}

/// TestSELinuxWarningController_Sync, "… is removed from the cache" and "deleted pod".
#[test]
fn pods_that_are_over_use_nothing() {
    let of = |phase| ended(with_claim(pod("pod1", "s0:c1,c2", None), "pvc1"), phase);
    for (name, after) in
        [("succeeded", vec![of("Succeeded")]), ("failed", vec![of("Failed")]), ("deleted", vec![])]
    {
        let mut world = World::new(caches(&[of("Running")]));
        world.sync("pod1");
        assert!(!world.memory.read().is_empty(), "{name}");
        world.caches = caches(&after);
        let plan = world.sync("pod1");
        assert!(plan.is_none_or(|plan| plan.is_rest()), "{name}");
        assert!(world.memory.read().is_empty(), "{name}");
    }
}

/// TestSELinuxWarningController_Sync, "… generates conflict …": both hear of it, and once.
#[test]
fn both_pods_hear_of_a_conflict() {
    let of = |name, level, policy| with_claim(pod(name, level, policy), "pvc1");
    let label = |pod: &str, own: &str, other: &str, its: &str| {
        format!(
            "{pod}: Normal SELinuxLabelConflict SELinuxLabel \"{own}\" conflicts with pod {other} \
             that uses the same volume as this pod with SELinuxLabel \"{its}\". {END}"
        )
    };
    let policy = |pod: &str, own: &str, other: &str, its: &str| {
        format!(
            "{pod}: Normal SELinuxChangePolicyConflict SELinuxChangePolicy \"{own}\" conflicts \
             with pod {other} that uses the same volume as this pod with SELinuxChangePolicy \
             \"{its}\". {END}"
        )
    };
    let (c1, c98) = (":::s0:c1,c2", ":::s0:c98,c99");
    let recursive = Some("Recursive");
    for (name, first, second, expected) in [
        (
            "labels",
            of("pod1", "s0:c1,c2", None),
            of("pod2", "s0:c98,c99", None),
            vec![label("pod2", c98, "pod1", c1), label("pod1", c1, "pod2", c98)],
        ),
        ("the same", of("pod1", "s0:c1,c2", None), of("pod2", "s0:c1,c2", None), vec![]),
        (
            "existing pod with Recursive policy does not generate conflicts",
            of("pod1", "s0:c1,c2", recursive),
            of("pod2", "s0:c98,c99", recursive),
            vec![],
        ),
        // Upstream's row has the policy alone, from a fake cache; its real one has the level, too.
        (
            "existing pod with Recursive policy and one with MountOption policy",
            of("pod1", "s0:c1,c2", recursive),
            of("pod2", "s0:c98,c99", Some("MountOption")),
            vec![
                policy("pod2", "MountOption", "pod1", "Recursive"),
                policy("pod1", "Recursive", "pod2", "MountOption"),
                label("pod2", c98, "pod1", ""),
                label("pod1", "", "pod2", c98),
            ],
        ),
    ] {
        let world = World::new(caches(&[first, second]));
        assert!(world.events("pod1").is_empty(), "{name}: nobody else is known");
        assert_eq!(world.events("pod2"), expected, "{name}");
        for pod in ["pod1", "pod2"] {
            assert!(world.events(pod).is_empty(), "{name}: {pod} once more");
        }
        let restarted = World::new(world.caches);
        assert!(restarted.events("pod2").is_empty(), "{name}");
        assert_eq!(restarted.events("pod1").len(), expected.len(), "{name}: by the next manager");
    }
}

/// TestSELinuxWarningController_Sync, "… the other pod doesn't exist"; and `reportConflictEvents`,
/// which would tell nobody else any more.
#[test]
fn a_pod_that_is_gone_hears_nothing() {
    let of = |name, level| with_claim(pod(name, level, None), "pvc1");
    let (one, two, three) =
        (of("pod1", "s0:c1,c2"), of("pod2", "s0:c98,c99"), of("pod3", "s0:c3,c4"));
    let mut world = World::new(caches(&[two, three.clone()]));
    assert_eq!((world.events("pod2").len(), world.events("pod3").len()), (0, 2));
    world.caches = caches(&[one, three]);
    let events = world.events("pod1");
    let about: Vec<_> = events.iter().map(|event| event.split_once(": ").unwrap().0).collect();
    assert_eq!(about, ["pod1", "pod1", "pod3"]);
}

/// Upstream's cache knows names only, and has reported this conflict.
#[test]
fn a_pod_in_the_place_of_another_one_is_told() {
    let of = |name, level| with_claim(pod(name, level, None), "pvc1");
    let (one, two) = (of("pod1", "s0:c1,c2"), of("pod2", "s0:c98,c99"));
    let mut world = World::new(caches(&[one.clone(), two.clone()]));
    assert_eq!((world.events("pod1").len(), world.events("pod2").len()), (0, 2));
    let two = with(two, json!({"metadata": {"uid": "uid-new"}}));
    world.caches = caches(&[one, two]);
    assert_eq!(world.events("pod2").len(), 2);
    assert_eq!(world.metric().len(), 2);
}

/// `GetMountSELinuxLabel`: containers with several labels, whatever is mounted.
#[test]
fn several_labels_in_one_pod_are_told_to_it() {
    let mut pod = with_claim(pod("pod1", "s0:c1,c2", None), "pvc1");
    pod = with_volume(pod, json!({"name": "tmp", "emptyDir": {}}));
    let second = json!({"name": "second", "securityContext": {"seLinuxOptions": {"level": "s0"}},
        "volumeMounts": [{"name": "vol1"}, {"name": "tmp"}]});
    let third = json!({"name": "third", "volumeMounts": [{"name": "tmp"}, {"name": "emptyDir1"}]});
    pod["spec"]["containers"].as_array_mut().unwrap().extend([second, third]);
    let said = |name: &str| {
        format!(
            "pod1: Warning MultipleSELinuxLabels Volume \"{name}\" is mounted twice with different \
             SELinux labels inside this pod"
        )
    };
    let world = World::new(caches(&[pod]));
    assert_eq!(world.events("pod1"), [said("vol1"), said("tmp")]);
    let plan = world.sync("pod1").unwrap();
    assert!(plan.quiet && plan.error.is_some_and(|it| it.contains("volume tmp: multiple")));
    assert!(world.memory.read().is_empty());
}

/// `CreateVolumeSpec`: what is not bound is waited for, and what cannot be read is left alone.
#[test]
fn a_pod_waits_for_its_claims() {
    let ephemeral = with_volume(
        pod("pod1", "s0", None),
        json!({"name": "vol1", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}),
    );
    let named = || with_claim(pod("pod1", "s0", None), "pvc1");
    let mine = json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod",
        "name": "pod1", "uid": "uid-pod1", "controller": true}]}});
    let own = with(claim("pod1-vol1", "pv1"), mine);
    let of_own = with(volume("pv1", "pod1-vol1"), json!({}));
    let lost = with(claim("pvc1", "pv1"), json!({"status": {"phase": "Lost"}}));
    let unclaimed = with(volume("pv1", "pvc1"), json!({"spec": {"claimRef": null}}));
    let bound = || claim("pvc1", "pv1");
    for (pod, claims, volumes, expected) in [
        (named(), vec![], vec![], "volume vol1 waits: claim pvc1 is not there"),
        (named(), vec![lost], vec![], "volume vol1 waits: claim pvc1 is not bound"),
        (named(), vec![bound()], vec![], "volume vol1 waits: volume pv1 is not there"),
        (named(), vec![bound()], vec![volume("pv1", "other")], {
            "volume vol1 waits: volume pv1 is not bound to claim pvc1"
        }),
        (named(), vec![bound()], vec![unclaimed], {
            "volume vol1 waits: volume pv1 is not bound to claim pvc1"
        }),
        (ephemeral.clone(), vec![claim("pod1-vol1", "pv1")], vec![of_own.clone()], {
            "volume vol1 waits: claim pod1-vol1 is not of this pod"
        }),
        (ephemeral, vec![own], vec![of_own], "no other pod conflicts"),
    ] {
        let caches = caches(&[pod]);
        let caches = caches.holding::<PersistentVolumeClaim>(&claims);
        let world = World::new(caches.holding::<PersistentVolume>(&volumes));
        assert_eq!(world.sync("pod1").unwrap().to_string(), format!("why: {expected}\n"));
    }
    let unread = caches(&[]).holding_unreadable::<Pod>(&named(), "spec: no");
    let plan = World::new(unread).sync("pod1").unwrap();
    assert_eq!(plan.to_string(), "why: the pod cannot be read\n");
}

/// fc and iSCSI are mounted with labels, hostPath and NFS without (`SupportsSELinuxContextMount`).
#[test]
fn plugins_support_labels_as_upstream() {
    let iscsi = json!({"targetPortal": "p", "iqn": "i", "lun": 1});
    for (source, conflicts) in [
        (json!({"fc": {"targetWWNs": ["w"], "lun": 1}}), true),
        (json!({"iscsi": iscsi}), true),
        (json!({"hostPath": {"path": "/data"}}), false),
        (json!({"nfs": {"server": "s", "path": "/data"}}), false),
        (json!({"csi": {"driver": DRIVER, "volumeHandle": "h^1"}}), true),
        (json!({"csi": {"driver": "other.example", "volumeHandle": "h"}}), false),
    ] {
        let volume = with(volume("pv1", "pvc1"), json!({"spec": {"awsElasticBlockStore": null}}));
        let volume = with(volume, json!({"spec": source}));
        let pods = [("pod1", "s0:c1"), ("pod2", "s0:c2")]
            .map(|(name, level)| with_claim(pod(name, level, None), "pvc1"));
        let world = World::new(caches(&pods).holding::<PersistentVolume>(&[volume]));
        world.sync("pod1");
        assert_eq!(!world.events("pod2").is_empty(), conflicts, "{source}");
    }
}

/// What somebody reads who asks why a pod is warned.
#[test]
fn a_summary_says_how_volumes_are_used() {
    let pods = [("pod1", "s0:c1"), ("pod2", "s0:c2")]
        .map(|(name, level)| with_inline(with_claim(pod(name, level, None), "pvc1")));
    let world = World::new(caches(&pods));
    let lines = |pod| {
        let facts = Controller.summary(&world.observe(pod).unwrap()).into_iter();
        facts.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>()
    };
    let of = |name: &str, volume: &str, rest: &str| {
        let driver = format!("kubernetes.io/csi/{DRIVER}");
        format!("mounts {name}: {driver}^{volume} with label \":::{rest}")
    };
    world.sync("pod1");
    assert_eq!(
        lines("pod1"),
        [
            of("vol1", "pv1", "s0:c1\" and policy MountOption, compared already"),
            of("inlineVolume", "inlinevol1", "s0:c1\" and policy MountOption, compared already"),
        ]
    );
    assert_eq!(
        lines("pod2"),
        [
            of("vol1", "pv1", "s0:c2\" and policy MountOption, 1 pods use it otherwise"),
            of(
                "inlineVolume",
                "inlinevol1",
                "s0:c2\" and policy MountOption, 1 pods use it otherwise"
            ),
        ]
    );
}
