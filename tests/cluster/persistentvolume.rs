//! Claims and volumes on the real API server, with upstream's roles. As upstream's
//! `test/integration/volume/persistent_volumes_test.go`, whose names the scenes have. What its
//! plugin for tests does there, this test does by hand: it makes volumes as an external provisioner
//! would, and ends the pod that empties one.
//!
//! `CLAIMS=1000` is the long form of claims in four shapes. Each scene has a class of its own, so
//! that no claim gets another scene's volume.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, quiet, silent, since,
    wait_until, writes,
};
use serde_json::{Value, json};

const ARGS: &[&str] =
    &["--controllers=persistentvolume-binder-controller", "--pvclaimbinder-sync-period=5s"];
const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";
const CLASSES: &str = "storageclasses.v1.storage.k8s.io";
/// How many objects a scene has, as upstream's `getObjectCount`, which has 100.
const MANY: usize = 30;
const LIMIT: Duration = Duration::from_mins(3);
/// How long nothing may happen until the manager counts as done; less than its period.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn claims_are_bound_to_volumes() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        one_claim_wins_the_race(&cluster).await?;
        a_selector_chooses(&cluster).await?;
        a_class_of_attributes_chooses(&cluster).await?;
        the_smallest_of_many_is_taken(&cluster).await?;
        access_modes_choose(&cluster).await?;
        many_are_bound_while_they_change(&cluster).await?;
        a_provisioner_makes_many(&cluster).await?;
        a_default_class_is_assigned_later(&cluster).await?;
        a_volume_is_emptied(&cluster).await?;
        claims_and_volumes_are_lost(&cluster).await?;
        let ours = [CLAIMS, VOLUMES];
        silent(&cluster, &manager, [CALM; 2], |it| ours.contains(&&*it.resource)).await?;
        none_forbidden(&since(&requests, &cluster.request_counts().await?))
    };
    run.await.with_context(|| manager.log())
}

#[tokio::test]
async fn a_start_changes_nothing_that_is_bound() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    what_is_bound_stays(&cluster).await?;
    claims_of_four_shapes(&cluster).await
}

/// `TestPersistentVolumeBindRace`: a volume that is kept for one of many claims becomes its.
async fn one_claim_wins_the_race(cluster: &Cluster) -> anyhow::Result<()> {
    let (all, objects) = (Objects::of(cluster, "")?, Objects::in_new(cluster, "race").await?);
    let claims = (0..100).map(|n| claim(&format!("race-{n}"), "race", "5G"));
    objects.create_all(CLAIMS, claims).await?;
    let mut kept = volume("race", "race", "10G");
    kept["spec"]["claimRef"] = json!({"namespace": "race", "name": "race-42"});
    all.create(VOLUMES, &kept).await?;
    let volume = all.wait(VOLUMES, "race", "to be bound", is("Bound")).await?;
    ensure!(volume["spec"]["claimRef"]["name"] == "race-42", "{volume}");
    let bound = objects.wait(CLAIMS, "race-42", "to be bound", is("Bound")).await?;
    ensure!(bound["spec"]["volumeName"] == "race", "{bound}");
    ensure!(bound["status"]["capacity"]["storage"] == "10G", "{bound}");
    let claims = objects.list(CLAIMS).await?;
    let named = claims.iter().filter(|claim| claim["spec"].get("volumeName").is_some());
    ensure!(named.count() == 1, "one claim has it");
    release(&objects, "race-").await
}

/// `TestPersistentVolumeClaimLabelSelector` and `…MatchExpressions`.
async fn a_selector_chooses(cluster: &Cluster) -> anyhow::Result<()> {
    let (all, objects) = (Objects::of(cluster, "")?, Objects::in_new(cluster, "labels").await?);
    let labels =
        [("yes", json!({"foo": "valA", "bar": ""})), ("no", json!({"foo": "valB", "baz": ""}))];
    let expressions = json!([
        {"key": "foo", "operator": "In", "values": ["valA"]},
        {"key": "foo", "operator": "NotIn", "values": ["valB"]},
        {"key": "bar", "operator": "Exists", "values": []},
        {"key": "baz", "operator": "DoesNotExist", "values": []},
    ]);
    for (class, selector) in [
        ("match-labels", json!({"matchLabels": {"foo": "valA"}})),
        ("match-expressions", json!({ "matchExpressions": expressions })),
    ] {
        for (name, labels) in &labels {
            let mut volume = volume(&format!("{class}-{name}"), class, "1G");
            volume["metadata"]["labels"] = labels.clone();
            all.create(VOLUMES, &volume).await?;
        }
        let mut asks = claim(class, class, "1G");
        asks["spec"]["selector"] = selector;
        objects.create(CLAIMS, &asks).await?;
        let bound = objects.wait(CLAIMS, class, "to be bound", is("Bound")).await?;
        ensure!(bound["spec"]["volumeName"] == format!("{class}-yes"), "{bound}");
        let other = all.get(VOLUMES, &format!("{class}-no")).await?;
        ensure!(other["spec"].get("claimRef").is_none(), "{other}");
    }
    Ok(())
}

/// `TestPersistentVolumeClaimVolumeAttirbutesClassName`.
async fn a_class_of_attributes_chooses(cluster: &Cluster) -> anyhow::Result<()> {
    let (all, objects) = (Objects::of(cluster, "")?, Objects::in_new(cluster, "attributes").await?);
    for (name, attributes, named, expected) in [
        ("none", None, None, "none-plain"),
        ("same", Some("gold"), None, "same-gold"),
        ("named", Some("gold"), Some("named-gold2"), "named-gold2"),
    ] {
        for kind in ["plain", "gold", "gold2", "silver"] {
            let mut volume = volume(&format!("{name}-{kind}"), name, "1G");
            if let Some(spec) = volume["spec"].as_object_mut() {
                spec.remove("nfs");
            }
            let handle = format!("{name}-{kind}");
            volume["spec"]["csi"] = json!({"driver": "csi.example.com", "volumeHandle": handle});
            if kind != "plain" {
                volume["spec"]["volumeAttributesClassName"] = kind.trim_end_matches('2').into();
            }
            if kind != "gold2" || named.is_some() {
                all.create(VOLUMES, &volume).await?;
            }
        }
        let mut asks = claim(name, name, "1G");
        if let Some(attributes) = attributes {
            asks["spec"]["volumeAttributesClassName"] = attributes.into();
        }
        if let Some(named) = named {
            asks["spec"]["volumeName"] = named.into();
        }
        objects.create(CLAIMS, &asks).await?;
        let bound = objects.wait(CLAIMS, name, "to be bound", is("Bound")).await?;
        ensure!(bound["spec"]["volumeName"] == expected, "{bound}");
        let current = bound["status"].get("currentVolumeAttributesClassName");
        ensure!(current.and_then(Value::as_str) == attributes, "{bound}");
    }
    Ok(())
}

/// `TestPersistentVolumeMultiPVs`.
async fn the_smallest_of_many_is_taken(cluster: &Cluster) -> anyhow::Result<()> {
    let (all, objects) = (Objects::of(cluster, "")?, Objects::in_new(cluster, "many").await?);
    let volumes = (1..=MANY).map(|n| volume(&format!("many-{n}"), "many", &format!("{n}G")));
    all.create_all(VOLUMES, volumes).await?;
    counted(&all, VOLUMES, "many-", "Available", MANY).await?;
    objects.create(CLAIMS, &claim("many", "many", &format!("{}G", MANY / 2))).await?;
    let bound = objects.wait(CLAIMS, "many", "to be bound", is("Bound")).await?;
    ensure!(bound["spec"]["volumeName"] == format!("many-{}", MANY / 2), "{bound}");
    counted(&all, VOLUMES, "many-", "Available", MANY - 1).await?;
    release(&objects, "many").await?;
    counted(&all, VOLUMES, "many-", "Released", 1).await
}

/// `TestPersistentVolumeMultiPVsDiffAccessModes`.
async fn access_modes_choose(cluster: &Cluster) -> anyhow::Result<()> {
    let (all, objects) = (Objects::of(cluster, "")?, Objects::in_new(cluster, "modes").await?);
    for (name, mode) in [("rwo", "ReadWriteOnce"), ("rwm", "ReadWriteMany")] {
        let mut volume = volume(name, "modes", "10G");
        volume["spec"]["accessModes"] = json!([mode]);
        all.create(VOLUMES, &volume).await?;
    }
    let mut asks = claim("modes", "modes", "5G");
    asks["spec"]["accessModes"] = json!(["ReadWriteMany"]);
    objects.create(CLAIMS, &asks).await?;
    let bound = objects.wait(CLAIMS, "modes", "to be bound", is("Bound")).await?;
    ensure!(bound["spec"]["volumeName"] == "rwm", "{bound}");
    ensure!(bound["status"]["accessModes"] == json!(["ReadWriteMany"]), "{bound}");
    let other = all.get(VOLUMES, "rwo").await?;
    ensure!(other["spec"].get("claimRef").is_none(), "{other}");
    release(&objects, "modes").await?;
    all.wait(VOLUMES, "rwm", "to be released", is("Released")).await.map(drop)
}

/// `TestPersistentVolumeMultiPVsPVCs`: somebody changes annotations meanwhile.
async fn many_are_bound_while_they_change(cluster: &Cluster) -> anyhow::Result<()> {
    let (all, objects) = (Objects::of(cluster, "")?, Objects::in_new(cluster, "changed").await?);
    let names: Vec<_> = (0..MANY).map(|n| format!("changed-{n}")).collect();
    all.create_all(VOLUMES, names.iter().map(|name| volume(name, "changed", "1G"))).await?;
    let claims = names.iter().map(|name| claim(name, "changed", "1G"));
    let made = objects.create_all(CLAIMS, claims);
    let changed = async {
        for round in 0..3 {
            let note = json!({"metadata": {"annotations": {"round": round.to_string()}}});
            for name in &names {
                all.merge(VOLUMES, name, &note).await?;
            }
        }
        anyhow::Ok(())
    };
    futures::future::try_join(made, changed).await?;
    counted(&objects, CLAIMS, "changed-", "Bound", MANY).await?;
    counted(&all, VOLUMES, "changed-", "Bound", MANY).await?;
    paired(&all, &objects, "changed-").await
}

/// `TestPersistentVolumeProvisionMultiPVCs`: what the manager does of it.
async fn a_provisioner_makes_many(cluster: &Cluster) -> anyhow::Result<()> {
    let (all, objects) = (Objects::of(cluster, "")?, Objects::in_new(cluster, "made").await?);
    all.create(CLASSES, &class("made", &json!({}))).await?;
    let names = (0..MANY).map(|n| format!("made-{n}"));
    objects.create_all(CLAIMS, names.map(|name| claim(&name, "made", "1G"))).await?;
    let asked = wait_until("all claims to ask the provisioner", LIMIT, async || {
        let claims = objects.list(CLAIMS).await?;
        let key = "volume.kubernetes.io/storage-provisioner";
        let asks = |claim: &&Value| claim["metadata"]["annotations"][key] == "driver.example.com";
        ensure!(claims.iter().filter(asks).count() == MANY, "not all ask yet");
        Ok(Some(claims))
    });
    let volumes = asked.await?.into_iter().map(|claim| made_for(&claim));
    all.create_all(VOLUMES, volumes).await?;
    counted(&objects, CLAIMS, "made-", "Bound", MANY).await?;
    counted(&all, VOLUMES, "pvc-", "Bound", MANY).await?;
    paired(&all, &objects, "pvc-").await?;
    release(&objects, "made-").await?;
    counted(&all, VOLUMES, "pvc-", "Released", MANY).await
}

/// `TestRetroactiveStorageClassAssignment`.
async fn a_default_class_is_assigned_later(cluster: &Cluster) -> anyhow::Result<()> {
    let (all, objects) = (Objects::of(cluster, "")?, Objects::of(cluster, "default")?);
    let mut first = volume("classless", "", "5G");
    first["spec"]["accessModes"] = json!(["ReadWriteMany"]);
    all.create(VOLUMES, &first).await?;
    let classless = |name: &str| {
        let mut claim = claim(name, "", "5G");
        claim["spec"]["accessModes"] = json!(["ReadWriteMany"]);
        if let Some(spec) = claim["spec"].as_object_mut() {
            spec.remove("storageClassName");
        }
        claim
    };
    objects.create(CLAIMS, &classless("first")).await?;
    let bound = objects.wait(CLAIMS, "first", "to be bound", is("Bound")).await?;
    ensure!(bound["spec"].get("storageClassName").is_none(), "{bound}");
    objects.create(CLAIMS, &classless("second")).await?;
    for (name, is_default) in [("plain", "false"), ("standard", "true")] {
        let annotations = json!({"storageclass.kubernetes.io/is-default-class": is_default});
        let more = json!({"metadata": {"annotations": annotations}});
        all.create(CLASSES, &class(name, &more)).await?;
    }
    let has_class = |claim: &Value| claim["spec"]["storageClassName"] == "standard";
    objects.wait(CLAIMS, "second", "to get the default class", has_class).await?;
    release(&objects, "").await?;
    all.delete(CLASSES, "standard").await
}

/// `TestPersistentVolumeRecycler`.
async fn a_volume_is_emptied(cluster: &Cluster) -> anyhow::Result<()> {
    let (all, objects) = (Objects::of(cluster, "")?, Objects::in_new(cluster, "recycled").await?);
    let pods = Objects::of(cluster, "default")?;
    let mut scratch = volume("scratch", "recycled", "10Gi");
    scratch["spec"]["persistentVolumeReclaimPolicy"] = "Recycle".into();
    all.create(VOLUMES, &scratch).await?;
    objects.create(CLAIMS, &claim("data", "recycled", "5Gi")).await?;
    objects.wait(CLAIMS, "data", "to be bound", is("Bound")).await?;
    release(&objects, "").await?;
    all.wait(VOLUMES, "scratch", "to be released", is("Released")).await?;
    let name = "recycler-for-scratch";
    let made = wait_until("the recycler's pod", LIMIT, async || pods.find("pods", name).await);
    let pod = made.await?;
    ensure!(pod["spec"]["activeDeadlineSeconds"] == 300, "{pod}");
    let nfs = json!({"server": "nfs", "path": "/scratch"});
    ensure!(pod["spec"]["volumes"][0]["nfs"] == nfs, "{pod}");
    pods.wait("pods", name, "to run", is("Running")).await?;
    pods.merge("pods", &format!("{name}/status"), &json!({"status": {"phase": "Succeeded"}}))
        .await?;
    let free = all.wait(VOLUMES, "scratch", "to be free", is("Available")).await?;
    ensure!(free["spec"].get("claimRef").is_none(), "{free}");
    pods.gone("pods", name).await
}

/// A claim whose volume is deleted, one that is bound incorrectly, and a volume that is rolled back
/// (`TestMultiSync`, 10-2).
async fn claims_and_volumes_are_lost(cluster: &Cluster) -> anyhow::Result<()> {
    let (all, objects) = (Objects::of(cluster, "")?, Objects::in_new(cluster, "lost").await?);
    all.create(VOLUMES, &volume("lost", "lost", "1G")).await?;
    objects.create(CLAIMS, &claim("right", "lost", "1G")).await?;
    let right = objects.wait(CLAIMS, "right", "to be bound", is("Bound")).await?;
    let mut wrong = claim("wrong", "lost", "1G");
    wrong["spec"]["volumeName"] = "lost".into();
    wrong["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
    objects.create(CLAIMS, &wrong).await?;
    objects.wait(CLAIMS, "wrong", "to be lost", is("Lost")).await?;
    let mut also = volume("also", "lost", "1G");
    also["metadata"]["annotations"] = json!({"pv.kubernetes.io/bound-by-controller": "yes"});
    also["spec"]["claimRef"] =
        json!({"namespace": "lost", "name": "right", "uid": right["metadata"]["uid"]});
    all.create(VOLUMES, &also).await?;
    let free = all.wait(VOLUMES, "also", "to be rolled back", is("Available")).await?;
    ensure!(free["spec"].get("claimRef").is_none(), "{free}");
    unprotect(&all, VOLUMES, "lost").await?;
    all.delete(VOLUMES, "lost").await?;
    let lost = objects.wait(CLAIMS, "right", "to be lost", is("Lost")).await?;
    ensure!(lost["spec"]["volumeName"] == "lost", "{lost}");
    ensure!(lost["status"].get("capacity").is_none(), "{lost}");
    // Events are sent when the status is written, not with it.
    let told = async || {
        let events = objects.list("events").await?;
        let has = |reason| events.iter().any(|event| event["reason"] == reason);
        Ok((has("ClaimLost") && has("ClaimMisbound")).then_some(events))
    };
    let events = wait_until("Events of both claims", LIMIT, told).await?;
    let component = &events[0]["source"]["component"];
    ensure!(component == "persistentvolume-controller", "{component}");
    Ok(())
}

/// `TestPersistentVolumeControllerStartup`: nothing that is bound changes when a manager starts.
async fn what_is_bound_stays(cluster: &Cluster) -> anyhow::Result<()> {
    let (all, objects) = (Objects::of(cluster, "")?, Objects::in_new(cluster, "startup").await?);
    for n in 0..MANY {
        let name = format!("startup-{n}");
        let mut made = claim(&name, "startup", "1G");
        made["spec"]["volumeName"] = (*name).into();
        made["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
        let made = objects.create(CLAIMS, &made).await?;
        let status = json!({"status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1G"}}});
        objects.merge(CLAIMS, &format!("{name}/status"), &status).await?;
        let mut volume = volume(&name, "startup", "1G");
        volume["spec"]["claimRef"] = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "namespace": "startup", "name": name, "uid": made["metadata"]["uid"]});
        all.create(VOLUMES, &volume).await?;
        let status = json!({"status": {"phase": "Bound"}});
        all.merge(VOLUMES, &format!("{name}/status"), &status).await?;
    }
    let before = cluster.request_counts().await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    quiet(cluster, &manager, CALM).await.with_context(|| manager.log())?;
    let made = since(&before, &cluster.request_counts().await?);
    let ours = ["persistentvolumeclaims", "persistentvolumes"];
    let count = writes(&made, |it| ours.iter().any(|ours| it.resource.starts_with(ours)));
    ensure!(count == 0, "nothing is written: {made:?}");
    manager.sigterm()?;
    manager.ended(LIMIT).await.map(drop)
}

/// Claims in four shapes at once: any volume, one that is kept for the claim, one that the claim
/// names, one that a provisioner makes; the manager is killed in the middle.
async fn claims_of_four_shapes(cluster: &Cluster) -> anyhow::Result<()> {
    let count = std::env::var("CLAIMS").ok().and_then(|count| count.parse().ok()).unwrap_or(100);
    let (all, objects) = (Objects::of(cluster, "")?, Objects::in_new(cluster, "shapes").await?);
    all.create(CLASSES, &class("shapes-made", &json!({}))).await?;
    let before = cluster.request_counts().await?;
    let started = now();
    let args = [ARGS, &["--kube-api-qps=200", "--kube-api-burst=200"]].concat();
    let start = || Manager::start(cluster, Binary::under_test()?, User::ControllerManager, &args);
    let mut manager = start()?;
    manager.healthy().await?;
    let (mut claims, mut volumes) = (Vec::new(), Vec::new());
    for n in 0..count / 4 {
        claims.push(claim(&format!("any-{n}"), "shapes-any", "1G"));
        volumes.push(volume(&format!("shapes-any-{n}"), "shapes-any", "1G"));
        claims.push(claim(&format!("kept-{n}"), "shapes-kept", "1G"));
        let mut kept = volume(&format!("shapes-kept-{n}"), "shapes-kept", "1G");
        kept["spec"]["claimRef"] = json!({"namespace": "shapes", "name": format!("kept-{n}")});
        volumes.push(kept);
        let mut names = claim(&format!("names-{n}"), "shapes-names", "1G");
        names["spec"]["volumeName"] = format!("shapes-names-{n}").into();
        claims.push(names);
        volumes.push(volume(&format!("shapes-names-{n}"), "shapes-names", "1G"));
        claims.push(claim(&format!("made-{n}"), "shapes-made", "1G"));
    }
    objects.create_all(CLAIMS, claims).await?;
    all.create_all(VOLUMES, volumes).await?;
    manager.sigkill();
    let mut manager = start()?;
    manager.healthy().await?;
    let mut made = BTreeSet::new();
    let done = wait_until("all claims to be bound", LIMIT, async || {
        let claims = objects.list(CLAIMS).await?;
        let asks = claims.iter().filter(|claim| {
            let key = "volume.kubernetes.io/storage-provisioner";
            claim["metadata"]["annotations"][key] == "driver.example.com"
        });
        for claim in asks {
            if made.insert(claim["metadata"]["uid"].to_string()) {
                all.create(VOLUMES, &made_for(claim)).await?;
            }
        }
        let bound = claims.iter().filter(|claim| is("Bound")(claim)).count();
        ensure!(bound == count, "{bound} of {count} are bound");
        Ok(Some(()))
    });
    done.await.with_context(|| manager.log())?;
    quiet(cluster, &manager, CALM).await?;
    for prefix in ["shapes-", "pvc-"] {
        paired(&all, &objects, prefix).await?;
    }
    let requests = since(&before, &cluster.request_counts().await?);
    let puts = |it: &cluster_tests::Request| it.verb == "PUT" && it.resource.contains("persistent");
    let puts = writes(&requests, puts);
    println!("{count} claims, {puts} PUTs, {:?}", started.elapsed());
    none_forbidden(&requests)?;
    // Four for each binding and one for a request to the provisioner; the phase of a new volume.
    let expected = u64::try_from(count)? * 5;
    ensure!(puts <= expected * 3 / 2, "{puts} PUTs, and {expected} are enough");
    Ok(())
}

// === Objects ===

fn volume(name: &str, class: &str, size: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"storageClassName": class,
        "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "nfs": {"server": "nfs", "path": format!("/{name}")}}})
}

fn claim(name: &str, class: &str, size: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"storageClassName": class,
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}})
}

fn class(name: &str, more: &Value) -> Value {
    let mut class = json!({"metadata": {"name": name}, "provisioner": "driver.example.com"});
    if let Some(annotations) = more.pointer("/metadata/annotations") {
        class["metadata"]["annotations"] = annotations.clone();
    }
    class
}

/// The volume that an external provisioner makes for a claim.
fn made_for(claim: &Value) -> Value {
    let (meta, spec) = (&claim["metadata"], &claim["spec"]);
    let name = format!("pvc-{}", meta["uid"].as_str().unwrap_or_default());
    json!({
        "metadata": {
            "name": name,
            "annotations": {"pv.kubernetes.io/provisioned-by": "driver.example.com"},
        },
        "spec": {
            "storageClassName": spec["storageClassName"],
            "capacity": spec["resources"]["requests"],
            "accessModes": spec["accessModes"],
            "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": "driver.example.com", "volumeHandle": name},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]},
        },
    })
}

#[expect(clippy::disallowed_methods, reason = "real time passes in a real cluster")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

fn is(phase: &'static str) -> impl Fn(&Value) -> bool {
    move |object| object["status"]["phase"] == phase
}

/// Waits until so many objects whose names begin so are in a phase.
async fn counted(
    objects: &Objects,
    resource: &str,
    prefix: &str,
    phase: &'static str,
    count: usize,
) -> anyhow::Result<()> {
    wait_until(&format!("{count} {resource} to be {phase}"), LIMIT, async || {
        let all = objects.list(resource).await?;
        let named = all.iter().filter(|object| is_named(object, prefix));
        let there = named.filter(|object| is(phase)(object)).count();
        ensure!(there == count, "{there} are");
        Ok(Some(()))
    })
    .await
}

/// Each volume whose name begins so has one claim, which names it.
async fn paired(all: &Objects, objects: &Objects, prefix: &str) -> anyhow::Result<()> {
    let claims = objects.list(CLAIMS).await?;
    let mut seen = BTreeSet::new();
    for volume in all.list(VOLUMES).await?.iter().filter(|it| is_named(it, prefix)) {
        let reference = &volume["spec"]["claimRef"];
        if reference["namespace"] != objects.namespace() {
            continue;
        }
        let its = claims.iter().find(|claim| claim["metadata"]["uid"] == reference["uid"]);
        let its = its.with_context(|| format!("a claim of {volume}"))?;
        ensure!(its["spec"]["volumeName"] == volume["metadata"]["name"], "{its} and {volume}");
        ensure!(is("Bound")(its) && is("Bound")(volume), "{its} and {volume}");
        ensure!(seen.insert(reference["uid"].to_string()), "two volumes of {its}");
    }
    Ok(())
}

/// Deletes the claims whose names begin so. No controller that protects them runs.
async fn release(objects: &Objects, prefix: &str) -> anyhow::Result<()> {
    for claim in objects.list(CLAIMS).await?.iter().filter(|it| is_named(it, prefix)) {
        let name = claim["metadata"]["name"].as_str().unwrap_or_default();
        unprotect(objects, CLAIMS, name).await?;
        objects.delete(CLAIMS, name).await?;
    }
    Ok(())
}

async fn unprotect(objects: &Objects, resource: &str, name: &str) -> anyhow::Result<()> {
    objects.merge(resource, name, &json!({"metadata": {"finalizers": null}})).await
}

fn is_named(object: &Value, prefix: &str) -> bool {
    object["metadata"]["name"].as_str().is_some_and(|name| name.starts_with(prefix))
}
