//! Many syncs in a row while nodes and templates change: what must hold at each moment, and that it
//! comes to rest.

use std::collections::BTreeMap;
use std::time::Duration;

use controller::fixture::{ready, with};
use serde_json::{Value, json};

use super::super::fit::Fit;
use super::super::rollout::allowed;
use super::super::snapshot::Snapshot;
use super::world::World;
use super::*;

const SEEDS: u64 = 25;
const ROUNDS: u32 = 40;
/// By then every walk must rest; back-off of failed pods included.
const CALM_ROUNDS: u32 = 40;
const ROUND: Duration = Duration::from_secs(10);

/// Numbers that look random (xorshift), the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

struct Walk {
    world: World,
    dice: Dice,
    surges: bool,
    /// How many rounds pods take to become ready.
    slowness: u32,
    images: u32,
    /// The rounds that pods have lived.
    ages: BTreeMap<String, u32>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let surges = dice.one_in(2);
        let amount = match dice.below(3) {
            0 => json!(1),
            1 => json!(3),
            _ => json!("40%"),
        };
        let mut set = if surges { surge(set(), &amount) } else { unavailable(set(), &amount) };
        set["spec"]["minReadySeconds"] = json!([0, 15][usize::from(dice.one_in(2))]);
        set["spec"]["revisionHistoryLimit"] = json!(2);
        let mut world = World::new(set);
        world.graceful = dice.one_in(2);
        let slowness = u32::try_from(dice.below(4)).unwrap();
        let mut walk = Self { world, dice, surges, slowness, images: 0, ages: BTreeMap::new() };
        (0..4).for_each(|_| walk.add_node());
        walk
    }

    fn round(&mut self, stormy: bool) {
        self.world.now = self.world.now + ROUND;
        self.live();
        if stormy {
            self.disturb();
        }
        let done = self.world.sync();
        self.check(&done.before.unwrap(), &done.deleted);
    }

    /// The kubelets' and the scheduler's part.
    fn live(&mut self) {
        let names: Vec<String> = self.world.pods.keys().cloned().collect();
        for name in names {
            let pod = self.world.pods[&name].clone();
            if !pod["metadata"]["deletionTimestamp"].is_null() {
                self.world.pods.remove(&name);
                continue;
            }
            let node = pod["spec"]["nodeName"].as_str().map(str::to_owned);
            let node = node.unwrap_or_else(|| target(&pod));
            let bound = !pod["spec"]["nodeName"].is_null();
            match self.world.nodes.contains_key(&node) {
                // As the pod garbage collector.
                false if bound => drop(self.world.pods.remove(&name)),
                false => {}
                true => {
                    let age = self.ages.entry(name).or_insert(0);
                    *age += 1;
                    let ready_now = *age == self.slowness + 1;
                    let pod = with(pod, json!({"spec": {"nodeName": node}}));
                    self.world.put_pod(if ready_now { self.ready(pod) } else { pod });
                }
            }
        }
    }

    fn ready(&self, pod: Value) -> Value {
        let since = ready(&self.world.now.to_string());
        with(pod, json!({"status": {"phase": "Running", "conditions": [since]}}))
    }

    fn disturb(&mut self) {
        match self.dice.below(9) {
            0 => self.add_node(),
            1 if self.world.nodes.len() > 1 => {
                let name = self.any_node();
                self.world.nodes.remove(&name);
            }
            2 | 3 => {
                let effect = ["NoSchedule", "NoExecute"][usize::from(self.dice.one_in(2))];
                let name = self.any_node();
                let is_tainted = self.world.nodes[&name]["spec"]["taints"].is_array();
                let plain = node(&name);
                self.world.put_node(if is_tainted { plain } else { tainted(plain, "x", effect) });
            }
            4 => self.update(),
            5 => self.any_pod(|pod| phase(pod, "Failed")),
            6 => self.any_pod(|pod| phase(pod, "Succeeded")),
            7 => self.any_pod(|pod| with(pod, json!({"status": {"conditions": null}}))),
            _ => {}
        }
    }

    fn add_node(&mut self) {
        let name = format!("node-{}", self.dice.below(12));
        self.world.put_node(node(&name));
    }

    fn any_node(&mut self) -> String {
        let at = self.dice.below(self.world.nodes.len() as u64);
        self.world.nodes.keys().nth(usize::try_from(at).unwrap()).unwrap().clone()
    }

    fn any_pod(&mut self, change: impl Fn(Value) -> Value) {
        if self.world.pods.is_empty() {
            return;
        }
        let at = self.dice.below(self.world.pods.len() as u64);
        let pod = self.world.pods.values_mut().nth(usize::try_from(at).unwrap()).unwrap();
        *pod = change(pod.take());
    }

    /// A new template, or an old one again. Not in the middle of an update with surge: of two old
    /// pods on a node upstream keeps the older one, available or not.
    fn update(&mut self) {
        let snapshot = self.world.snapshot();
        let hash = self.world.hash();
        let mut pods = snapshot.pods.mine.iter();
        if self.surges && !pods.all(|pod| snapshot.is_updated(pod, hash.as_str().unwrap())) {
            return;
        }
        self.images += 1;
        let number = if self.dice.one_in(3) { self.images / 2 } else { self.images };
        self.world.set = image(self.world.set.clone(), &format!("foo/bar:{number}"));
        let generation = self.world.set["metadata"]["generation"].as_i64().unwrap();
        self.world.set["metadata"]["generation"] = json!(generation + 1);
    }

    /// `before` is what was decided on.
    fn check(&self, before: &Snapshot, deleted: &[String]) {
        let after = self.world.snapshot();
        let at_most = 1 + usize::from(self.surges);
        for (node, pods) in after.by_node() {
            let staying = pods.iter().filter(|pod| !pod.meta.is_terminating()).count();
            assert!(staying <= at_most, "{staying} pods on {node}");
        }
        let allowed = allowed(before).unwrap();
        let mut lost_service = false;
        let mut lacking = 0;
        let by_node = before.by_node();
        for (node, fit) in &before.nodes {
            if *fit != Fit::Run {
                continue;
            }
            let pods = by_node.get(&**node).cloned().unwrap_or_default();
            let gives = |pod: &api::Pod| pod.is_active() && before.is_available(pod);
            let goes = |pod: &api::Pod| deleted.iter().any(|name| **name == *pod.meta.key.name);
            let gave = pods.iter().any(|pod| gives(pod));
            let still = pods.iter().any(|pod| gives(pod) && !goes(pod));
            lost_service |= gave && !still;
            lacking += usize::from(!still);
        }
        if lost_service {
            assert!(!self.surges, "with surge no node loses its available pod: {deleted:?}");
            assert!(lacking <= allowed.unavailable, "{lacking} nodes lack a pod: {deleted:?}");
        }
    }

    fn check_rest(&mut self) {
        let done = self.world.sync();
        assert!(done.plan.is_rest() && !done.reported, "{}", done.plan);
        let (after, hash) = (self.world.snapshot(), self.world.hash());
        let nodes = after.by_node();
        for (node, fit) in &after.nodes {
            let pods = nodes.get(&**node).cloned().unwrap_or_default();
            match fit {
                Fit::Run => {
                    assert_eq!(pods.len(), 1, "{node}");
                    assert!(after.is_updated(pods[0], hash.as_str().unwrap()), "{node}");
                    assert!(after.is_available(pods[0]), "{node}");
                }
                Fit::Stay => assert!(pods.len() <= 1, "{node}"),
                Fit::Leave => assert!(pods.is_empty(), "{node}"),
            }
        }
        let status = &self.world.set["status"];
        assert_eq!(status["observedGeneration"], self.world.set["metadata"]["generation"]);
        assert_eq!(status["updatedNumberScheduled"], status["desiredNumberScheduled"]);
        assert!(self.world.revisions.len() <= 3, "{:?}", self.world.revisions.keys());
    }
}

#[test]
fn whatever_happens_bounds_are_kept_and_it_comes_to_rest() {
    for seed in 1..=SEEDS {
        let mut walk = Walk::new(seed);
        let text = format!("seed {seed}");
        let walked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (0..ROUNDS).for_each(|_| walk.round(true));
            // What became unready during the storm recovers.
            walk.ages.clear();
            (0..CALM_ROUNDS).for_each(|_| walk.round(false));
            walk.check_rest();
        }));
        assert!(walked.is_ok(), "{text}");
    }
}
