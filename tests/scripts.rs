//! The scripts in `tests/scripts`, on the sandbox in this process and in virtual time.
//!
//! `UPDATE=1` writes what they print now into them; `SCRIPT=deployment/` plays those alone whose
//! path has that in it.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs};

use anyhow::{Context as _, bail, ensure};
use runtime::Runtime;
use script::{Played, Player, Script, World, WorldOptions};
use serde_json::Value;

/// When virtual time begins: with the year 2026.
const START: api::Time = api::Time::from_unix(1_767_225_600, 0);
/// The author of a script sees the same run each time.
const SEED: u64 = 1;
/// Those that are played again, to see whether they end as before.
const REPLAYED: [&str; 2] = ["deployment/rolling-update.txt", "demo/story.txt"];

/// Issue: golden output below each command; each controller has a folder.
#[test]
fn scripts_print_what_they_say() -> anyhow::Result<()> {
    let scripts = cluster_tests::scripts::all()?;
    ensure!(!scripts.is_empty(), "there are no scripts");
    let (mut wrong, update) = (Vec::new(), env::var_os("UPDATE").is_some());
    for path in scripts {
        let text = fs::read_to_string(&path)?;
        let script = Script::parse(&text).with_context(|| path.display().to_string())?;
        let played = match play(&script) {
            Ok(played) => played,
            Err(error) => {
                wrong.push(format!("{}: {error:#}", path.display()));
                continue;
            }
        };
        if update {
            fs::write(&path, played.script.to_string())?;
        }
        wrong.extend(cluster_tests::scripts::complaints(&path, &played.differences));
    }
    if update {
        println!("{}", wrong.join("\n"));
        return Ok(());
    }
    ensure!(wrong.is_empty(), "\n{}\nUPDATE=1 writes this", wrong.join("\n"));
    Ok(())
}

/// Rule: the same seed gives the same run, every object and every version of it.
#[test]
fn a_script_ends_in_the_same_state_each_time() -> anyhow::Result<()> {
    for script in REPLAYED {
        let (one, other) = (end(script, SEED)?, end(script, SEED)?);
        if let Some(difference) = first_difference(&one, &other)? {
            bail!("{script} ended in two ways\n{difference}");
        }
        ensure!(one == other, "{script} ended in two ways, but with the same objects");
    }
    Ok(())
}

/// Rule: what may happen in more than one way depends on the seed.
#[test]
fn another_seed_gives_another_run() -> anyhow::Result<()> {
    let [script, ..] = REPLAYED;
    let (one, other) = (end(script, SEED)?, end(script, SEED + 1)?);
    ensure!(first_difference(&one, &other)?.is_some(), "{script} does not depend on the seed");
    Ok(())
}

/// Rule: a controller whose role lacks a verb fails a script, which names it, the verb and the
/// resource; whatever it prints.
#[test]
fn a_verb_that_is_not_granted_fails_by_name() -> anyhow::Result<()> {
    let account = "system:serviceaccount:kube-system:replicaset-controller";
    let cannot = |what: &str| format!("User \"{account}\" cannot {what} in API group");
    let rows = [
        ("/rules/3/verbs/0", cannot("create resource \"pods\"")),
        ("/rules/1", cannot("update resource \"replicasets/status\"")),
        ("/rules/4", cannot("create resource \"events\"")),
    ];
    for (part, want) in rows {
        let role = "clusterrole/system:controller:replicaset-controller";
        let set = "{\"apiVersion\": \"apps/v1\", \"kind\": \"ReplicaSet\", \"metadata\": \
                   {\"name\": \"web\"}, \"spec\": {\"replicas\": 1, \"selector\": \
                   {\"matchLabels\": {\"app\": \"web\"}}, \"template\": {\"metadata\": \
                   {\"labels\": {\"app\": \"web\"}}, \"spec\": {\"containers\": \
                   [{\"name\": \"main\", \"image\": \"img:1\"}]}}}}";
        let script = format!(
            "> patch json {role} '[{{\"op\": \"remove\", \"path\": \"{part}\"}}]'\n> create\n| \
             {set}\n> tick 10s\n"
        );
        let told = play(&Script::parse(&script)?).map(|_| ());
        let told = told.expect_err(part).to_string();
        ensure!(told.contains(&want), "{part}: {told}");
    }
    Ok(())
}

fn play(script: &Script) -> anyhow::Result<Played> {
    run(script, SEED).map(|(played, _)| played)
}

/// The state in which a script ends.
fn end(path: &'static str, seed: u64) -> anyhow::Result<Vec<u8>> {
    let script = fs::read_to_string(cluster_tests::scripts::folder().join(path)).context(path)?;
    run(&Script::parse(&script)?, seed).map(|(_, state)| state)
}

/// The object at which two states parted: of those that differ, the one that was written first.
fn first_difference(one: &[u8], other: &[u8]) -> anyhow::Result<Option<String>> {
    let (one, other) = (objects(one)?, objects(other)?);
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let differ = names.into_iter().filter(|name| one.get(*name) != other.get(*name));
    let first = differ.min_by_key(|name| {
        let versions = [one.get(*name), other.get(*name)].into_iter().flatten();
        versions.map(|(version, _)| *version).min()
    });
    let shown = |object: Option<&(u64, Value)>| {
        object.map_or_else(|| "not there".to_owned(), |(_, object)| object.to_string())
    };
    Ok(first.map(|name| format!("{name}:\n{}\n{}", shown(one.get(name)), shown(other.get(name)))))
}

/// The objects of a state by resource and key, each with its version.
fn objects(state: &[u8]) -> anyhow::Result<BTreeMap<String, (u64, Value)>> {
    let state: Value = serde_json::from_slice(state)?;
    let tables = state.get("objects").and_then(Value::as_object).context("no objects")?;
    let mut objects = BTreeMap::new();
    for (table, list) in tables {
        for object in list.as_array().context("no list")? {
            let text = |path| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
            let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
            let version = text("/metadata/resourceVersion").parse().context("no version")?;
            objects.insert(format!("{table} {namespace}/{name}"), (version, object.clone()));
        }
    }
    Ok(objects)
}

/// Plays a script, and returns the state that it ended in, too.
fn run(script: &Script, seed: u64) -> anyhow::Result<(Played, Vec<u8>)> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let tokio = builder.enable_all().start_paused(true).build()?;
    tokio.block_on(async {
        let runtime = Runtime::simulated(START, seed);
        let world = World::start(&WorldOptions::of(script, seed), &runtime)?;
        let played = Player::new(&world, "default").await?.play(script).await;
        let (state, refused) = (world.cluster.server().save(), world.refused());
        runtime.cancel.cancel();
        refused?;
        Ok((played?, state))
    })
}
