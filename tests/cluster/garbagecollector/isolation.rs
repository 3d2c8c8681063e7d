//! Kinds that cannot be listed: owners of them are unknown, and no other object is held up.

use super::{World, background, foreground, owned_by, start};
use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, CustomKind, Manager, NoServer, Objects, Options};
use serde_json::{Value, json};

const NAMESPACE: &str = "isolation";

/// TestCascadingDeleteOnCRDConversionFailure; kubernetes issues 60037 and 101078. One kind is
/// broken when the manager starts, one breaks while it runs, and one API has no server.
pub(super) async fn broken_kinds_hold_up_no_other_object() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let objects = Objects::in_new(&cluster, NAMESPACE).await?;
    let (broken, breaks) = (CustomKind::new("wrecks"), CustomKind::new("fragiles"));
    for kind in [&broken, &breaks] {
        kind.define(&cluster).await?;
        let owner = kind.object(&json!({"name": "owner"}));
        let owner = objects.create(&kind.resource(), &owner).await?;
        dependent(&objects, &kind.kind(), &owner).await?;
        // A read of this owner by name needs no conversion: the dependent may be deleted at once.
        let nobody = kind.object(&json!({"name": "nobody", "uid": "no-such-uid"}));
        dependent(&objects, &format!("{}-nobody", kind.kind()), &nobody).await?;
    }
    broken.break_conversion(&objects, "owner").await?;
    let absent = NoServer::promise(&cluster, "absent.example.com").await?;
    let metadata = json!({"name": "owner", "uid": "unknown-uid"});
    let owner = json!({"apiVersion": "absent.example.com/v1", "kind": "Absent",
        "metadata": metadata});
    dependent(&objects, "Absent", &owner).await?;

    let manager = start(&cluster).await?;
    let world = World { cluster: &cluster, manager: &manager, objects };
    let run = async {
        cascades_go_on(&world, "while-broken").await?;
        if Binary::under_test()? == Binary::Ours {
            is_said(&manager, &broken).await?;
        }
        world.seen(&world.objects.get("configmaps", &config_map("Fragile")).await?).await?;
        breaks.break_conversion(&world.objects, "owner").await?;
        cascades_go_on(&world, "while-both-broken").await?;
        stay(&world, &["Wreck", "Fragile", "Absent"]).await?;

        broken.repair_conversion(&world.objects, "owner").await?;
        breaks.repair_conversion(&world.objects, "owner").await?;
        absent.take_back(&cluster).await?;
        for kind in [&broken, &breaks] {
            world
                .objects
                .gone("configmaps", &config_map(&format!("{}-nobody", kind.kind())))
                .await?;
        }
        stay(&world, &["Wreck", "Fragile", "Absent"]).await?;
        for kind in [&broken, &breaks] {
            world.objects.delete_with(&kind.resource(), "owner", &background()).await?;
            world.objects.gone("configmaps", &config_map(&kind.kind())).await?;
        }
        // An unknown owner may still exist.
        ensure!(world.names("configmaps").await? == [config_map("Absent")]);
        anyhow::Ok(())
    };
    run.await.with_context(|| manager.log())
}

/// The debug page names what the collector knows nothing of, and why. Upstream's has none.
async fn is_said(manager: &Manager, broken: &CustomKind) -> anyhow::Result<()> {
    let page = manager.get("/debug/controllers").await?;
    let plural = broken.resource();
    let plural = plural.split('.').next().unwrap_or_default();
    for what in [plural, "all kinds of absent.example.com/v1"] {
        let said = format!("works without the cache of {what}");
        ensure!(page.contains(&said), "{said}: {page}");
    }
    Ok(())
}

/// A ConfigMap that is owned by this object.
async fn dependent(objects: &Objects, name: &str, owner: &Value) -> anyhow::Result<Value> {
    let owners = [owned_by(owner, json!({"blockOwnerDeletion": true}))];
    let metadata = json!({"name": config_map(name), "ownerReferences": owners});
    objects.create("configmaps", &json!({"metadata": metadata})).await
}

fn config_map(name: &str) -> String {
    format!("of-{}", name.to_lowercase())
}

/// In each mode, with kinds that are well.
async fn cascades_go_on(world: &World<'_>, prefix: &str) -> anyhow::Result<()> {
    let orphan = json!({"propagationPolicy": "Orphan"});
    for (mode, options) in [("b", background()), ("f", foreground()), ("o", orphan)] {
        let name = format!("{prefix}-{mode}");
        let owner = world.owner(&name).await?;
        let block = json!({"blockOwnerDeletion": true});
        let pod = world.pod(&name, &[owned_by(&owner, block)]).await?;
        world.seen(&pod).await?;
        world.delete_owner(&name, options).await?;
        world.objects.gone("replicationcontrollers", &name).await?;
        if mode == "o" {
            let pod = world.objects.get("pods", &name).await?;
            ensure!(pod["metadata"]["ownerReferences"].is_null(), "{pod}");
        } else {
            world.objects.gone("pods", &name).await?;
        }
    }
    Ok(())
}

/// Dependents of these are as they were.
async fn stay(world: &World<'_>, names: &[&str]) -> anyhow::Result<()> {
    for name in names {
        let found = world.objects.find("configmaps", &config_map(name)).await?;
        let found = found.with_context(|| format!("the dependent of {name} is deleted"))?;
        ensure!(found["metadata"]["deletionTimestamp"].is_null(), "{found}");
        ensure!(found["metadata"]["ownerReferences"].as_array().is_some_and(|o| o.len() == 1));
    }
    Ok(())
}
