//! Upstream's walk, kind by kind and with DELETE for each of them, on the same worlds: what users
//! see must be the same after each pass.

use std::collections::BTreeMap;

use api::{ServedKind, Verb};
use controller::Refused;
use controller::fixture::time;
use serde_json::{Value, json};

use super::world::{World, always, held, immortal, kind, kind_with, object, running};
use super::*;

const KINDS: [&str; 5] = ["pods.", "services.", "flakes.x.io", "flakes.y.io", "deployments.apps"];
const SEEDS: u64 = 300;

/// Numbers that look random: `xorshift64*`.
struct Dice(u64);

/// What a pass of upstream comes to.
#[derive(Default)]
struct Pass {
    estimate: i64,
    errors: Vec<String>,
    content_errors: Vec<String>,
    counts: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
}

/// `gvrDeletionMetadata`, and the error beside it.
#[derive(Default)]
struct Deleted {
    estimate: i64,
    remaining: usize,
    finalizers: Vec<String>,
    error: Option<String>,
}

#[test]
fn every_pass_comes_to_what_it_comes_to_upstream() {
    let (mut gone, mut waiting, mut failing) = (0, 0, 0);
    for seed in 1..=SEEDS {
        let mut ours = world(&mut Dice(seed));
        let mut theirs = world(&mut Dice(seed));
        for pass in 0..4 {
            let synced = ours.sync();
            assert_eq!(synced.failed, None, "seed {seed}, pass {pass}");
            let (again, error) = pass_of_upstream(&mut theirs);
            let context = format!("seed {seed}, pass {pass}: {:?}", ours.requests);
            assert_eq!((synced.plan.again, &synced.plan.error), (again, &error), "{context}");
            assert_eq!(ours.objects, theirs.objects, "{context}");
            assert_eq!(ours.namespace.is_none(), theirs.namespace.is_none(), "{context}");
            if ours.namespace.is_none() {
                gone += 1;
                break;
            }
            waiting += usize::from(again.is_some());
            failing += usize::from(error.is_some());
            assert_eq!(ours.conditions(), theirs.conditions(), "{context}");
            for world in [&mut ours, &mut theirs] {
                happen(world, &mut Dice(seed + pass + 1));
            }
        }
    }
    // The worlds are of all sorts.
    for count in [gone, waiting, failing] {
        assert!(count > 25, "{gone} {waiting} {failing}");
    }
}

// === Worlds ===

fn world(dice: &mut Dice) -> World {
    let kinds = KINDS.map(|name| match dice.roll(6) {
        0 => kind_with(name, &[Verb::Delete, Verb::List]),
        1 if name != "pods." => kind_with(name, &[Verb::Delete, Verb::DeleteCollection]),
        _ => kind(name),
    });
    let mut world = World::new().serving(&kinds);
    for name in KINDS {
        let objects = (0..dice.roll(4)).map(|number| {
            let object_name = format!("o{number}");
            match dice.roll(8) {
                0 => held(&object_name, &["x"]),
                1 => held(&object_name, &["x", "y"]),
                2 => running(&object_name, 30),
                3 => immortal(&object_name),
                _ => object(&object_name),
            }
        });
        let objects: Vec<_> = objects.collect();
        // Where we differ: a DELETE of nothing is not sent here, so it cannot fail; and pods that
        // cannot be deleted or listed hold up all else.
        let verbs: &[_] = if name == "pods." { &["DELETE"] } else { &["DELETE", "LIST"] };
        let may_fail = !objects.is_empty() && name != "pods.";
        world = world.holding(name, &objects);
        for verb in verbs {
            let code = match dice.roll(12) {
                0 => 404,
                1 => 405,
                2 if may_fail => 500,
                _ => continue,
            };
            let text = format!("{verb} {name} fails");
            world = world.refusing(&format!("{verb} {name}"), always(code, &text));
        }
    }
    if dice.roll(10) == 0 {
        world.failed.insert("z.io/v1".to_owned(), "down".to_owned());
    }
    world
}

/// Time passes, and the owner of a finalizer or a node does its work.
fn happen(world: &mut World, dice: &mut Dice) {
    world.now = world.now + Duration::from_secs(dice.roll(20));
    let finished = KINDS[usize::try_from(dice.roll(5)).unwrap()];
    let objects = world.objects.get_mut(finished).unwrap();
    objects.retain(|object| object["metadata"]["deletionTimestamp"].is_null());
    // As in `world`.
    if objects.is_empty() {
        world.refused.remove(&format!("DELETE {finished}"));
    }
}

// === Upstream ===

/// `Delete`: when it looks again, and its error.
fn pass_of_upstream(world: &mut World) -> (Option<Duration>, Option<String>) {
    let mut pass = Pass::default();
    let discovery = world.failed.iter().map(|(group, error)| format!("{group}: {error}")).next();
    let discovery =
        discovery.map(|it| format!("unable to retrieve the complete list of server APIs: {it}"));
    pass.errors.extend(discovery.clone());
    let kinds = world.kinds.clone();
    let (pods, others) = kinds.split_first().unwrap();
    let deleted = delete_all(world, pods);
    let mut totals = true;
    let prefix = "failed to delete pods for namespace: shop, err: ";
    pass.add(pods, &deleted, prefix);
    if deleted.remaining > 0 {
        totals = false;
    } else {
        for kind in others {
            let deleted = delete_all(world, kind);
            pass.add(kind, &deleted, "");
        }
    }
    write_conditions(world, &pass, discovery.as_deref(), totals);
    pass.errors.dedup();
    match (&pass.errors[..], pass.estimate) {
        ([], 0) => {
            world.namespace = None;
            (None, None)
        }
        ([], estimate) => (Some(Duration::from_secs(estimate.unsigned_abs() / 2 + 1)), None),
        ([error], _) => (None, Some(error.clone())),
        (errors, _) => (None, Some(format!("[{}]", errors.join(", ")))),
    }
}

/// `deleteAllContentForGroupVersionResource`.
fn delete_all(world: &mut World, kind: &ServedKind) -> Deleted {
    let name = super::super::content::name(&kind.resource);
    let failed = |error: String| Deleted { error: Some(error), ..Deleted::default() };
    let estimate = if name == "pods." { estimate(world) } else { 0 };
    let mut supported = kind.verbs.contains(&Verb::DeleteCollection);
    if supported {
        match world.asked(format!("DELETE {name}")) {
            Ok(()) => world.delete(&name, None),
            Err(refused) if is_unsupported(&refused) => supported = false,
            Err(refused) => return failed(refused.text),
        }
    }
    if !supported {
        match list(world, kind, &name) {
            Err(error) => return failed(error),
            Ok(None) => {}
            Ok(Some(_)) => world.delete(&name, None),
        }
    }
    let items = match list(world, kind, &name) {
        Err(error) => return failed(error),
        Ok(None) => return Deleted { estimate, ..Deleted::default() },
        Ok(Some(items)) if items.is_empty() => return Deleted::default(),
        Ok(Some(items)) => items,
    };
    let finalizers = items.iter().filter_map(|item| item["metadata"]["finalizers"].as_array());
    let finalizers = finalizers.flatten().map(|name| name.as_str().unwrap().to_owned());
    let finalizers: Vec<_> = finalizers.collect();
    let (group, plural) = (&kind.resource.group, &kind.resource.plural);
    let unexpected = format!(
        "unexpected items still remain in namespace: shop for gvr: {group}/v1, Resource={plural}"
    );
    let (estimate, error) = match (estimate, finalizers.is_empty()) {
        (0, true) => (0, Some(unexpected)),
        (0, false) => (15, None),
        (estimate, _) => (estimate, None),
    };
    Deleted { estimate, remaining: items.len(), finalizers, error }
}

/// `estimateGracefulTermination`.
fn estimate(world: &World) -> i64 {
    let graces = world.objects["pods."].iter().filter_map(|pod| pod["grace"].as_i64());
    let grace = graces.max().unwrap_or(0);
    let deleted = time(-6_000_000_000);
    let passed = i64::try_from(world.now.since(deleted).as_secs()).unwrap();
    if passed >= grace { 0 } else { grace }
}

/// `listCollection`.
fn list(world: &mut World, kind: &ServedKind, name: &str) -> Result<Option<Vec<Value>>, String> {
    if !kind.verbs.contains(&Verb::List) {
        return Ok(None);
    }
    match world.asked(format!("LIST {name}")) {
        Ok(()) => Ok(Some(world.objects[name].clone())),
        Err(refused) if is_unsupported(&refused) => Ok(None),
        Err(refused) => Err(refused.text),
    }
}

fn is_unsupported(refused: &Refused) -> bool {
    refused.code == Some(404) || refused.code == Some(405)
}

/// `ProcessContentTotals` and `Update`.
fn write_conditions(world: &mut World, pass: &Pass, discovery: Option<&str>, totals: bool) {
    let list = |counts: &BTreeMap<String, usize>, word: &str| {
        let texts = counts.iter().map(|(name, count)| format!("{name} {word} {count}"));
        let texts: Vec<_> = texts.map(|text| format!("{text} resource instances")).collect();
        (totals && !texts.is_empty()).then(|| texts.join(", "))
    };
    let mut errors = pass.content_errors.clone();
    errors.sort();
    let (count, errors) = (errors.len(), errors.join(", "));
    let discovery = discovery.map(|error| {
        ("DiscoveryFailed", format!("Discovery failed for some groups, 1 failing: {error}"))
    });
    let content = (count > 0).then(|| {
        let start = format!("Failed to delete all resource types, {count} remaining");
        ("ContentDeletionFailed", format!("{start}: {errors}"))
    });
    let remaining = list(&pass.counts, "has")
        .map(|list| ("SomeResourcesRemain", format!("Some resources are remaining: {list}")));
    let start = "Some content in the namespace has finalizers remaining";
    let finalizers = list(&pass.finalizers, "in")
        .map(|list| ("SomeFinalizersRemain", format!("{start}: {list}")));
    let troubles = [discovery, None, content, remaining, finalizers];
    let conditions = troubles.into_iter().zip(super::conditions::WELL).map(|(trouble, well)| {
        let mut words = well.splitn(4, ' ');
        let mut word = || words.next().unwrap();
        let (r#type, _, reason, message) = (word(), word(), word(), word());
        match trouble {
            Some((reason, message)) => {
                json!({"type": r#type, "status": "True", "reason": reason, "message": message})
            }
            None => {
                json!({"type": r#type, "status": "False", "reason": reason, "message": message})
            }
        }
    });
    let conditions: Vec<_> = conditions.collect();
    world.touch(json!({"status": {"conditions": conditions}}));
}

// === impl Pass ===

impl Pass {
    fn add(&mut self, kind: &ServedKind, deleted: &Deleted, prefix: &str) {
        if let Some(error) = &deleted.error {
            self.errors.push(format!("{prefix}{error}"));
            self.content_errors.push(error.clone());
        }
        self.estimate = self.estimate.max(deleted.estimate);
        if deleted.remaining > 0 {
            self.counts.insert(super::super::content::name(&kind.resource), deleted.remaining);
            for finalizer in &deleted.finalizers {
                *self.finalizers.entry(finalizer.clone()).or_default() += 1;
            }
        }
    }
}

// === impl Dice ===

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % sides
    }
}
