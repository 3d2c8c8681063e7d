//! Rollouts from start to end: plans are applied to objects in memory, and pods become available
//! after some rounds.

use std::collections::BTreeMap;

use controller::Verb;
use controller::fixture::time;

use super::*;

/// How many rounds a rollout may take.
const ROUNDS_MAX: usize = 200;

/// How the cluster behaves.
#[derive(Clone, Copy, Debug)]
struct Behaviour {
    /// How many rounds a pod takes to become available; none: it never does.
    warm_up: Option<u32>,
    /// How many rounds the ReplicaSet controller takes to see a set: its counts are stale.
    lag: usize,
    /// How many rounds a pod takes to be deleted.
    grace: u32,
}

/// An API server with one Deployment, its sets and their pods.
struct World {
    behaviour: Behaviour,
    version: u64,
    round: usize,
    deployment: Value,
    sets: BTreeMap<String, Value>,
    /// The ages of the pods of each set, in rounds, oldest first.
    pods: BTreeMap<String, Vec<u32>>,
    /// How long pods that are being deleted have left, by set.
    leaving: BTreeMap<String, Vec<u32>>,
    writes: usize,
}

impl World {
    /// A complete Deployment of `v1` with so many old sets before it.
    fn new(deployment: Value, old: i32, behaviour: Behaviour) -> Self {
        let mut world = Self {
            behaviour,
            version: 100,
            round: 0,
            deployment,
            sets: BTreeMap::new(),
            pods: BTreeMap::new(),
            leaving: BTreeMap::new(),
            writes: 0,
        };
        for at in 0..old {
            let name = format!("old-{at}");
            let set = set(&format!("v{}", at + 2), 0);
            let set = with(set, json!({"metadata": {"name": name}}));
            world.sets.insert(name, set);
        }
        world
    }

    /// A round is a second.
    fn now(&self) -> api::Time {
        time(i64::try_from(self.round).unwrap() * 1_000_000_000)
    }

    fn next_version(&mut self) -> Value {
        self.version += 1;
        json!(self.version.to_string())
    }

    fn change(&mut self, patch: Value) {
        let version = self.next_version();
        let generation = self.deployment["metadata"]["generation"].as_i64().unwrap() + 1;
        let meta = json!({"metadata": {"resourceVersion": version, "generation": generation}});
        self.deployment = with(with(self.deployment.take(), patch), meta);
    }

    fn roll_to(&mut self, image: &str) {
        self.change(json!({"spec": {"template": template(image)}}));
    }

    /// One sync; whether it wrote anything.
    fn sync(&mut self) -> bool {
        let pods = self.pods.keys().flat_map(|name| {
            let left = self.leaving.get(name).map_or(0, Vec::len);
            let own = json!({"metadata": owned_by("ReplicaSet", &self.sets[name])});
            let of_set = move |at| with(pod(&format!("{name}-{at}")), own.clone());
            (0..self.pods[name].len() + left).map(of_set)
        });
        let pods: Vec<Value> = pods.collect();
        let sets: Vec<Value> = self.sets.values().cloned().collect();
        let mut fixture = caches(std::slice::from_ref(&self.deployment), &sets, &pods);
        fixture.now = self.now();
        let s = CONTROLLER.observe(&Key::new("shop", "foo"), &fixture.view(), &()).unwrap();
        let mut facts = Facts::default();
        let (mut plan, mut verdict) = CONTROLLER.decide(&s, &facts);
        if let Some(Step::Fetch(queries)) = plan.steps.first() {
            facts.answers.extend(queries.iter().map(|query| (query.clone(), Answer::NotFound)));
            (plan, verdict) = CONTROLLER.decide(&s, &facts);
        }
        assert_eq!(plan.error, None, "{plan}");
        for action in actions(&plan) {
            self.act(action);
        }
        let status = CONTROLLER.report(&s, Some(&verdict), &Outcome::default());
        if let Some(update) = &status {
            let version = self.deployment["metadata"]["resourceVersion"].as_str().unwrap();
            assert_eq!(update.object.resource_version.to_string(), version, "a conflict");
            let written = body(update);
            let version = self.next_version();
            self.deployment["metadata"]["annotations"] = written["metadata"]["annotations"].clone();
            self.deployment["metadata"]["resourceVersion"] = version;
            self.deployment["status"] = written["status"].clone();
            self.writes += 1;
        }
        !plan.is_rest() || status.is_some()
    }

    fn act(&mut self, action: &Action) {
        let Action::Write(write) = action else { return };
        let (object, body) = (&write.object, fixture::body(write));
        match &write.verb {
            Verb::Create(_) => {
                let name = body["metadata"]["name"].as_str().unwrap().to_owned();
                let made = json!({"metadata": {"uid": format!("uid-{name}"), "generation": 1,
                    "resourceVersion": self.next_version(),
                    "creationTimestamp": self.now().to_string()}});
                assert!(self.sets.insert(name, with(body, made)).is_none(), "made twice");
            }
            Verb::Delete(_) => {
                let name = object.key.name.to_string();
                assert!(self.pods.get(&name).is_none_or(Vec::is_empty), "{name} has pods");
                self.sets.remove(&name).expect("it is there");
                self.pods.remove(&name);
            }
            Verb::Update(_) => {
                let written = body;
                let version = self.next_version();
                let known = self.sets.get_mut(&*object.key.name).expect("it is there");
                let seen = json!(object.resource_version.to_string());
                assert_eq!(known["metadata"]["resourceVersion"], seen, "a conflict");
                let generation = known["metadata"]["generation"].as_i64().unwrap();
                let is_changed = i64::from(known["spec"] != written["spec"]);
                let meta =
                    json!({"resourceVersion": version, "generation": generation + is_changed});
                *known = with(written, json!({ "metadata": meta }));
            }
            Verb::Patch(_) | Verb::DeleteAll => {
                panic!("nothing is to be claimed here, or emptied")
            }
        }
        self.writes += 1;
    }

    /// The ReplicaSet controller, and time.
    fn go_on(&mut self) {
        self.round += 1;
        for ages in self.pods.values_mut() {
            for age in ages {
                *age += 1;
            }
        }
        for left in self.leaving.values_mut() {
            for left in left.iter_mut() {
                *left -= 1;
            }
            left.retain(|left| *left > 0);
        }
        let names: Vec<String> = self.sets.keys().cloned().collect();
        for (at, name) in names.iter().enumerate() {
            if (self.round + at).is_multiple_of(self.behaviour.lag) {
                self.run_set(name);
            }
        }
    }

    fn run_set(&mut self, name: &str) {
        let set = &self.sets[name];
        let want = usize::try_from(set["spec"]["replicas"].as_i64().unwrap()).unwrap();
        let pods = self.pods.entry(name.to_owned()).or_default();
        // The youngest are deleted first: those that are not available yet.
        let gone = pods.len().saturating_sub(want);
        pods.resize(want, 0);
        let left = self.leaving.entry(name.to_owned()).or_default();
        left.extend(std::iter::repeat_n(self.behaviour.grace, gone).filter(|left| *left > 0));
        let available = available_of(pods, self.behaviour);
        let status = json!({"replicas": want, "readyReplicas": available,
            "availableReplicas": available, "terminatingReplicas": left.len(),
            "observedGeneration": set["metadata"]["generation"]});
        if set["status"] != status {
            let version = self.next_version();
            let set = self.sets.get_mut(name).expect("it is there");
            set["status"] = status;
            set["metadata"]["resourceVersion"] = version;
        }
    }

    /// How many pods are wanted of all sets.
    fn size(&self) -> i64 {
        self.sets.values().map(|set| set["spec"]["replicas"].as_i64().unwrap()).sum()
    }

    fn available(&self) -> usize {
        self.pods.values().map(|pods| available_of(pods, self.behaviour)).sum()
    }

    fn reason(&self) -> String {
        let conditions = self.deployment["status"]["conditions"].as_array().unwrap();
        let progress = conditions.iter().find(|it| it["type"] == "Progressing");
        progress.unwrap()["reason"].as_str().unwrap().to_owned()
    }

    /// Syncs until nothing changes any more; `check` sees every round.
    fn rest(&mut self, check: impl Fn(&Self)) {
        for _ in 0..ROUNDS_MAX {
            let version = self.version;
            let wrote = self.sync();
            check(self);
            self.go_on();
            check(self);
            let is_quiet = self.leaving.values().all(Vec::is_empty);
            let is_warm = self
                .behaviour
                .warm_up
                .is_none_or(|rounds| self.pods.values().flatten().all(|age| *age > rounds));
            if !wrote && version == self.version && is_quiet && is_warm {
                let seen = (0..self.behaviour.lag).all(|_| {
                    self.go_on();
                    !self.sync()
                });
                if seen {
                    return;
                }
            }
        }
        panic!("no rest after {ROUNDS_MAX} rounds: {:?} {}", self.sets, self.deployment);
    }

    /// All pods are of one set, available, and in the status.
    fn assert_complete(&self, replicas: i64) {
        let status = &self.deployment["status"];
        for field in ["replicas", "updatedReplicas", "availableReplicas", "readyReplicas"] {
            assert_eq!(status[field].as_i64().unwrap_or(0), replicas, "{field}: {status}");
        }
        assert_eq!(self.reason(), "NewReplicaSetAvailable");
        assert_eq!(self.size(), replicas);
        let revisions = self.sets.values().filter_map(|set| {
            let revision: i64 = set["metadata"]["annotations"][REVISION].as_str()?.parse().ok()?;
            Some((revision, set["spec"]["replicas"].as_i64().unwrap()))
        });
        let (highest, size) = revisions.max().unwrap();
        assert_eq!(size, replicas, "the highest revision has the pods");
        let revision = &self.deployment["metadata"]["annotations"][REVISION];
        assert_eq!(*revision, json!(highest.to_string()));
    }
}

fn available_of(pods: &[u32], behaviour: Behaviour) -> usize {
    let warm = |age: &&u32| behaviour.warm_up.is_some_and(|rounds| **age >= rounds);
    pods.iter().filter(warm).count()
}

fn rolls(replicas: i32, surge: &Value, unavailable: &Value, limit: i32) -> Value {
    let strategy = json!({"strategy": rolling(surge, unavailable), "progressDeadlineSeconds": 600,
        "revisionHistoryLimit": limit});
    spec(deployment("v1", replicas), strategy)
}

/// Small rollouts of all kinds: never too many pods, never too few available ones, and an end.
#[test]
fn rollouts_stay_within_their_limits() {
    let amounts = [json!(0), json!(1), json!("25%"), json!("100%")];
    let behaviours = [(Some(0), 1, 0), (Some(2), 1, 3), (Some(1), 2, 1), (Some(0), 3, 0)]
        .map(|(warm_up, lag, grace)| Behaviour { warm_up, lag, grace });
    let mut turns = behaviours.iter().zip(0_i32..).cycle();
    for replicas in [0, 1, 3, 8] {
        for (surge, unavailable) in pairs(&amounts) {
            let (behaviour, old) = turns.next().unwrap();
            let world = World::new(rolls(replicas, surge, unavailable, 2), old, *behaviour);
            roll_within_limits(world);
        }
        // So that each amount meets each behaviour.
        turns.next();
    }
}

fn pairs(amounts: &[Value]) -> impl Iterator<Item = (&Value, &Value)> {
    amounts.iter().flat_map(|first| amounts.iter().map(move |second| (first, second)))
}

fn roll_within_limits(mut world: World) {
    let view = decode::<Deployment>(&world.deployment);
    let replicas = i64::from(view.replicas);
    let most = i64::from(limits::max_replicas(&view));
    let least = usize::try_from(view.replicas - limits::max_unavailable(&view)).unwrap();
    let case = format!("{} {:?}", world.deployment["spec"]["strategy"], world.behaviour);
    world.rest(|world| assert!(world.size() <= most, "{case}"));
    world.assert_complete(replicas);
    for image in ["v10", "v1"] {
        world.roll_to(image);
        world.rest(|world| {
            assert!(world.size() <= most, "{case}: {} of {most} to {image}", world.size());
            let available = world.available();
            assert!(available >= least, "{case}: {available} of {least} to {image}");
        });
        world.assert_complete(replicas);
    }
    assert!(world.sets.len() <= 3, "the new one and two old ones");
}

#[test]
fn recreate_never_runs_two_versions() {
    for (warm_up, lag, grace) in [(Some(0), 1, 0), (Some(1), 1, 4), (Some(2), 2, 3)] {
        let it = recreate(rolls(4, &json!(1), &json!(1), 0));
        let mut world = World::new(it, 0, Behaviour { warm_up, lag, grace });
        world.rest(|_| {});
        world.assert_complete(4);
        world.roll_to("v2");
        world.rest(|world| {
            let has = |pods: &&Vec<u32>| !pods.is_empty();
            let running = world.pods.values().filter(has).count();
            let ending = world.leaving.values().filter(has).count();
            assert!(running + ending <= 1, "{running} and {ending}");
        });
        world.assert_complete(4);
        assert_eq!(world.sets.len(), 1, "no old one is kept");
    }
}

/// TestRollingUpdateAndProportionalScalingForDeploymentPodReplacement and
/// TestScaledRolloutDeployment (integration): resized half-way, changed again, paused, resumed.
#[test]
fn what_is_changed_half_way_comes_to_an_end() {
    let behaviour = Behaviour { warm_up: Some(3), lag: 1, grace: 2 };
    for rounds in 0..12 {
        let mut world = World::new(rolls(6, &json!(2), &json!(1), 10), 0, behaviour);
        world.rest(|_| {});
        world.roll_to("v2");
        for _ in 0..rounds {
            world.sync();
            world.go_on();
        }
        world.change(json!({"spec": {"replicas": 12}}));
        world.sync();
        world.go_on();
        world.roll_to("v3");
        world.sync();
        world.change(json!({"spec": {"replicas": 3, "paused": true}}));
        world.rest(|_| {});
        assert_eq!(world.reason(), "DeploymentPaused");
        world.change(json!({"spec": {"paused": false}}));
        world.rest(|_| {});
        world.assert_complete(3);
        world.change(json!({"spec": {"replicas": 0}}));
        world.rest(|_| {});
        world.assert_complete(0);
    }
}

/// A rollout whose pods never come up keeps the old ones, times out, and can be rolled back.
#[test]
fn a_rollout_that_fails_keeps_the_old_pods() {
    let good = Behaviour { warm_up: Some(0), lag: 1, grace: 0 };
    let mut world = World::new(rolls(8, &json!("25%"), &json!("25%"), 10), 0, good);
    world.rest(|_| {});
    // From now on no pod becomes available that is not yet: 6 of 8 must stay.
    world.roll_to("v2");
    world.behaviour.warm_up = Some(1000);
    for ages in world.pods.values_mut() {
        for age in ages {
            *age += 10_000;
        }
    }
    for _ in 0..20 {
        world.sync();
        world.go_on();
        assert!(world.available() >= 6 && world.size() <= 10);
    }
    world.round += 700;
    world.sync();
    assert_eq!(world.reason(), "ProgressDeadlineExceeded");
    world.behaviour.warm_up = Some(0);
    world.roll_to("v1");
    world.rest(|world| assert!(world.available() >= 6 && world.size() <= 10));
    world.assert_complete(8);
    assert_eq!(world.deployment["metadata"]["annotations"][REVISION], "3");
}

/// Upstream needs for the first rollout: the set, and the status after it and after each change.
#[test]
fn a_small_rollout_takes_few_writes() {
    let quick = Behaviour { warm_up: Some(0), lag: 1, grace: 0 };
    let mut world = World::new(rolls(1, &json!(1), &json!(0), 10), 0, quick);
    world.rest(|_| {});
    assert_eq!(world.writes, 3, "create, status, complete");
    world.roll_to("v2");
    world.rest(|_| {});
    assert_eq!(world.writes, 3 + 5, "create, status, status with the scaled set, complete");
}
