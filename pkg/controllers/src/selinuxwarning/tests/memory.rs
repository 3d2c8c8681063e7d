//! `cache/volumecache_test.go`.

use std::collections::{BTreeMap, BTreeSet};

use api::{Meta, Text};
use controller::fixture::decode;

use super::super::uses::{Conflict, Property};
use super::*;

/// Namespace and name of a pod, and its volume.
type Place<'a> = (&'a str, &'a str, &'a str);

const MOUNT: &str = "MountOption";
const RECURSIVE: &str = "Recursive";

fn meta(namespace: &str, name: &str) -> Meta {
    let pod = json!({"metadata": {"namespace": namespace, "name": name, "uid": name}});
    decode::<Pod>(&pod).meta.clone()
}

fn usage(label: &str, policy: &str) -> Usage {
    Usage { label: label.into(), policy: policy.into() }
}

/// As `AddVolume`: what is told, in both directions.
fn add(memory: &mut Memory, place: Place<'_>, label: &str, policy: &str) -> BTreeSet<Conflict> {
    let (namespace, name, volume) = place;
    let (pod, usage) = (meta(namespace, name), usage(label, policy));
    let mut told = BTreeSet::new();
    if memory.of(&pod, volume) != Some(&usage) {
        for (other, its) in memory.others(volume, &pod.key, &usage) {
            for property in Property::between(&usage, &its) {
                told.insert(Conflict::new(property, (&pod.key, &usage), (&other, &its)));
                told.insert(Conflict::new(property, (&other, &its), (&pod.key, &usage)));
            }
        }
    }
    let volume = Text::from(volume);
    memory.learn(&pod, [(&volume, &usage)].into_iter());
    told
}

/// Pod A and pod B, with a letter each: `property pod value other value`.
fn words(conflicts: &BTreeSet<Conflict>) -> Vec<String> {
    let word = |it: &Conflict| {
        let name = it.property.name();
        format!("{name} {} {} {} {}", it.pod.name, it.value, it.other.name, it.other_value)
    };
    conflicts.iter().map(word).collect()
}

/// TestVolumeCache_DeleteAll.
#[test]
fn a_memory_without_pods_is_empty() {
    let mut memory = Memory::default();
    let (namespaces, pods, volumes) =
        (["ns1", "ns2", "ns3", "ns4"], ["pod1", "pod2", "pod3", "pod4"], ["v1", "v2", "v3", "v4"]);
    for namespace in namespaces {
        for pod in pods {
            for volume in volumes {
                let told = add(&mut memory, (namespace, pod, volume), "label1", MOUNT);
                assert!(told.is_empty(), "{told:?}");
            }
        }
    }
    assert!(!memory.is_empty());
    for namespace in namespaces {
        for pod in pods {
            memory.forget(&Key::new(namespace, pod));
        }
    }
    assert!(memory.is_empty(), "{memory:?}");
}

/// The pods of TestVolumeCache_AddVolumeGetConflicts.
fn existing() -> Memory {
    let mut memory = Memory::default();
    for (place, label, policy) in [
        (("ns1", "pod1-mountOption", "vol1"), "system_u:system_r:label1", MOUNT),
        (("ns2", "pod2-recursive", "vol2"), "", RECURSIVE),
        (("ns3", "pod3-1", "vol3"), "", RECURSIVE),
        (("ns3", "pod3-2", "vol3"), "", RECURSIVE),
        (("ns4", "pod4-1", "vol4"), "system_u:system_r:label4", MOUNT),
        (("ns4", "pod4-2", "vol4"), "system_u:system_r:label4", MOUNT),
        (("ns5", "pod5", "vol5"), "::label5", MOUNT),
        (("ns6", "pod6", "vol6"), ":system_r:label6", MOUNT),
        (("ns7", "pod7", "vol7"), "::label7:c0,c1", MOUNT),
        (("ns8", "pod8", "vol8"), "", MOUNT),
    ] {
        let told = add(&mut memory, place, label, policy);
        assert!(told.is_empty(), "{place:?}: {told:?}");
    }
    memory
}

/// TestVolumeCache_AddVolumeGetConflicts.
#[test]
fn conflicts_are_told_as_upstream() {
    let of = |volume| ("testns", "testpod", volume);
    let new = "system_u:system_r:label-new";
    for (name, place, (label, policy), expected) in [
        ("new volume", of("vol-new"), (new, MOUNT), None),
        ("existing policy and label", of("vol1"), ("system_u:system_r:label1", MOUNT), None),
        ("new conflicting label", of("vol1"), (new, MOUNT), {
            Some(
                "SELinuxLabel testpod system_u:system_r:label-new pod1-mountOption \
                  system_u:system_r:label1",
            )
        }),
        ("new conflicting policy", of("vol1"), ("", RECURSIVE), {
            Some("SELinuxChangePolicy testpod Recursive pod1-mountOption MountOption")
        }),
        (
            "existing pod is replaced with different non-conflicting policy and label",
            ("ns2", "pod2-recursive", "vol2"),
            (new, MOUNT),
            None,
        ),
        (
            "existing pod is replaced with conflicting policy",
            ("ns3", "pod3-1", "vol3"),
            (new, MOUNT),
            Some("SELinuxChangePolicy pod3-1 MountOption pod3-2 Recursive"),
        ),
        ("missing user and role", of("vol5"), ("system_u:system_r:label5", MOUNT), None),
        ("incomparable parts", of("vol5"), ("::label6", MOUNT), {
            Some("SELinuxLabel testpod ::label6 pod5 ::label5")
        }),
        ("missing user", of("vol6"), ("system_u::label6", MOUNT), None),
        ("missing categories", of("vol7"), ("system_u:system_r:label7", MOUNT), {
            Some("SELinuxLabel testpod system_u:system_r:label7 pod7 ::label7:c0,c1")
        }),
        ("missing everything", of("vol8"), ("system_u:system_r:label8", MOUNT), None),
        (
            "missing everything but categories",
            of("vol8"),
            ("system_u:system_r:label8:c0,c1", MOUNT),
            Some("SELinuxLabel testpod system_u:system_r:label8:c0,c1 pod8 "),
        ),
    ] {
        let mut memory = existing();
        let told = add(&mut memory, place, label, policy);
        let words = words(&told);
        assert_eq!(words.len(), 2 * expected.iter().count(), "{name}: {words:?}");
        assert!(expected.is_none_or(|it| words.iter().any(|word| word == it)), "{name}: {words:?}");
        assert_eq!(memory.conflicts(), told, "{name}: GetConflicts");
        let (namespace, pod, volume) = place;
        let known = memory.of(&meta(namespace, pod), volume);
        assert_eq!(known, Some(&usage(label, policy)), "{name}");
        assert!(add(&mut memory, place, label, policy).is_empty(), "{name}: once more");
    }
}

/// Pods `ns/<name>` with a volume and the label `system_u:system_r:<name>` each.
fn labelled(memory: &mut Memory, pods: &[(&str, &str)]) -> usize {
    let mut told = 0;
    for (name, volume) in pods {
        told +=
            add(memory, ("ns", name, volume), &format!("system_u:system_r:{name}"), MOUNT).len();
    }
    told
}

/// TestVolumeCache_MultiVolumeConflicts.
#[test]
fn conflicts_of_several_volumes_stand_beside_each_other() {
    let mut memory = Memory::default();
    assert_eq!(labelled(&mut memory, &[("podB", "vol1"), ("podC", "vol2")]), 0);
    assert_eq!(labelled(&mut memory, &[("podA", "vol1"), ("podA", "vol2")]), 4);
    assert_eq!(memory.conflicts().len(), 4);
    memory.forget(&Key::new("ns", "podA"));
    assert!(memory.conflicts().is_empty());
    assert_eq!(labelled(&mut memory, &[("podD", "vol3"), ("podD", "vol4")]), 0);
    assert_eq!(labelled(&mut memory, &[("podE", "vol3"), ("podE", "vol4")]), 4);
    assert_eq!(memory.conflicts().len(), 2, "the same of two volumes is one");
}

/// TestVolumeCache_DeletePodConflicts.
#[test]
fn the_conflicts_of_a_pod_go_with_it() {
    for (name, pods, gone, left) in [
        ("one of two", vec![("podA", "vol1"), ("podB", "vol1")], "podA", vec![]),
        ("another one", vec![("podA", "vol1"), ("podB", "vol1"), ("podC", "vol2")], "podC", {
            vec![("podA", "podB")]
        }),
        ("one of three", vec![("podA", "vol1"), ("podB", "vol1"), ("podC", "vol1")], "podA", {
            vec![("podB", "podC")]
        }),
        (
            "of several volumes",
            vec![("podB", "vol1"), ("podC", "vol2"), ("podA", "vol1"), ("podA", "vol2")],
            "podA",
            vec![],
        ),
        (
            "unrelated volumes stay",
            vec![("podA", "vol1"), ("podB", "vol1"), ("podC", "vol2"), ("podD", "vol2")],
            "podA",
            vec![("podC", "podD")],
        ),
    ] {
        let mut memory = Memory::default();
        labelled(&mut memory, &pods);
        // The second time it is not there any more.
        for _ in 0..2 {
            memory.forget(&Key::new("ns", gone));
            let conflicts = memory.conflicts();
            let pairs = conflicts.iter().map(|it| (&*it.pod.name, &*it.other.name));
            let pairs: BTreeSet<_> = pairs.collect();
            let expected: BTreeSet<_> =
                left.iter().flat_map(|(one, two)| [(*one, *two), (*two, *one)]).collect();
            assert_eq!(pairs, expected, "{name}");
        }
    }
}

/// `EventMessage`: pods of another namespace are not named.
#[test]
fn messages_do_not_name_other_namespaces() {
    let mut memory = Memory::default();
    add(&mut memory, ("a", "one", "v"), ":::s0:c1", MOUNT);
    let told = add(&mut memory, ("b", "two", "v"), ":::s0:c2", MOUNT);
    let by_pod: BTreeMap<_, _> = told.iter().map(|it| (&*it.pod.name, it.message())).collect();
    let expected = |value: &str| {
        format!(
            "SELinuxLabel\"{value}\" conflicts with another pod that uses the same volume as this \
             pod with a different SELinuxLabel. If both pods land on the same node, only one of \
             them may access the volume."
        )
    };
    let expected = [("one", expected(":::s0:c1")), ("two", expected(":::s0:c2"))];
    assert_eq!(by_pod, BTreeMap::from(expected));
}

/// `CollectWithStability`.
#[test]
fn the_metric_shows_the_conflicts_that_there_are() {
    let of = |name, level| with_claim(pod(name, level, None), "pvc1");
    let pods = [of("pod1", "s0:c1"), of("pod2", "s0:c2")];
    let mut world = World::new(caches(&pods));
    assert!(world.metric().is_empty());
    world.sync("pod1");
    world.sync("pod2");
    assert_eq!(
        world.metric(),
        [
            "SELinuxLabel ns1 pod1 :::s0:c1 ns1 pod2 :::s0:c2",
            "SELinuxLabel ns1 pod2 :::s0:c2 ns1 pod1 :::s0:c1",
        ]
    );
    world.caches = caches(&pods[..1]);
    world.sync("pod2");
    assert!(world.metric().is_empty());
}
