//! A controller whose keys are not objects: its seeds are enqueued without an event, it counts what
//! it does, and its keys may be given up.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Key, Kind, Pod};
use cache::fixture::run;
use controller::{
    Controller, Count, Delete, Ended, Facts, Family, ObjectRef, Outcome, Plan, Step, View, Watches,
    When, Write,
};

use super::steps::create;
use super::world::{
    Cold, DRAIN_LIMIT, Log, Probe, Seen, World, accept, make, pod, refuse, set, terminating,
};

const SWEPT: Family = Family::counter("pod_gc_collector_force_delete_pods_total", "[ALPHA] Swept.")
    .labels(&["namespace", "reason"]);
const FAILED: Family =
    Family::counter("pod_gc_collector_force_delete_pod_errors_total", "[ALPHA] Failed.")
        .labels(&["namespace", "reason"]);
const SYNCS: Family =
    Family::counter("root_ca_cert_publisher_sync_total", "[ALPHA] Syncs.").labels(&["code"]);
const SYNC_SECONDS: Family = Family::histogram(
    "root_ca_cert_publisher_sync_duration_seconds",
    "[ALPHA] Their duration.",
    &[1.0, 2.0],
)
.labels(&["code"]);
/// Not in the table.
const STRANGE: Family = Family::counter("strange", "[ALPHA] Strange.");

/// A [`Probe`] that has something to observe for every key.
struct Pass {
    probe: Probe,
    outcomes: Arc<Mutex<Vec<Outcome>>>,
}

impl Controller for Pass {
    type Snapshot = Seen;
    type Memory = ();
    type Verdict = ();

    const METRICS: &'static [Family] = &[SWEPT, FAILED, SYNCS, SYNC_SECONDS];

    const SEEDS: &'static [&'static str] = &["pods", "shop/nodes"];

    const RETRIES_MAX: Option<u32> = Some(3);

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.reads::<Pod>();
        table.on::<api::ReplicaSet>(|_, _, _, queue| queue.add(&Key::parse("pods")));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Seen> {
        self.probe.observe(key, view, &());
        Some(Seen { key: key.clone(), now: view.now, failures: view.failures })
    }

    fn decide(&self, seen: &Seen, facts: &Facts) -> (Plan, ()) {
        if &*seen.key.name == "nodes" {
            return (Plan::rest("no"), ());
        }
        self.probe.decide(seen, facts)
    }

    fn summary(&self, _: &Seen) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn counts(&self, _: Option<&Seen>, _: Option<&()>, ended: &Ended) -> Vec<Count> {
        let code = ended.http().to_string();
        let took = Count::of(&SYNC_SECONDS, ended.took.as_secs_f64());
        [took, Count::one(&SYNCS)].map(|count| count.labels([&*code])).into()
    }

    fn report(&self, seen: &Seen, _: Option<&()>, outcome: &Outcome) -> Option<Write> {
        if &*seen.key.name == "pods" {
            self.outcomes.lock().unwrap().push(outcome.clone());
        }
        None
    }
}

fn pass(plan: impl Fn(&Seen, &Facts) -> Plan + Send + Sync + 'static) -> (Pass, Log) {
    let log = Log::default();
    let outcomes = Arc::default();
    (Pass { probe: Probe::new(&log, |_, _| {}, plan), outcomes }, log)
}

/// A counted delete of a pod.
fn sweep(name: &str, namespace: &str, reason: &str) -> Write {
    let (key, uid) = (Key::new("shop", name), format!("uid-{name}").into());
    let object = ObjectRef { resource: Pod::RESOURCE, key, uid, resource_version: 1 };
    let counts = [Count::one(&SWEPT), Count::one(&FAILED).when(When::NotDone)]
        .map(|count| count.labels([namespace, reason]));
    let how = Delete { grace_period_seconds: Some(0), ..Delete::default() };
    Write::delete_so(object, how).counted(counts.into())
}

fn failed() -> Plan {
    Plan { error: Some("no".to_owned()), ..Plan::rest("fails") }
}

/// The milliseconds at which `pods` was decided since the last call.
fn decided(log: &Log) -> Vec<u64> {
    let mut lines = log.take();
    lines.retain(|line| line.ends_with("decide pods"));
    lines.iter().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect()
}

/// The samples of the two counters on the page.
fn counted(world: &World) -> Vec<String> {
    let page = world.registry.page("").body;
    let lines = page.lines().filter(|line| line.starts_with("pod_gc_collector_"));
    lines.map(str::to_owned).collect()
}

// === Seeds ===

/// Seeds are enqueued once the caches are complete and not before; also if the caches are empty, so
/// that no event comes.
#[test]
fn seeds_are_looked_at_once_the_caches_are_complete() {
    run(async {
        let (pass, log) = pass(|_, _| Plan::rest("well"));
        let mut cold = Cold::new(pass, 1, DRAIN_LIMIT);
        let _task = cold.run();
        cold.server.runtime.clock.sleep(Duration::from_millis(50)).await;
        assert_eq!(log.take(), Vec::<String>::new());
        let (_sets, _pods) = cold.warm(&[], &[]).await;
        cold.server.runtime.clock.sleep(Duration::from_mins(2)).await;
        let lines = log.take();
        let looks: Vec<_> = lines.iter().map(|line| line.split_once(' ').unwrap().1).collect();
        assert_eq!(looks, ["observe pods", "decide pods", "observe nodes"], "each once");
    });
}

/// An object that exists at the start enqueues a seed that is enqueued anyway: one sync.
#[test]
fn a_seed_is_looked_at_once() {
    run(async {
        let (pass, log) = pass(|_, _| Plan::rest("well"));
        let (world, _engine) = World::start(pass, 1, &[set(1, 0, 0)], &[]).await;
        world.settle().await;
        assert_eq!(log.observed().len(), 2, "two seeds");
    });
}

/// Each pass is requested by the plan of the one before.
#[test]
fn passes_follow_each_other() {
    run(async {
        let again = |_: &_, _: &_| Plan::rest("well").again_after(Some(Duration::from_secs(20)));
        let (pass, log) = pass(again);
        let (world, _engine) = World::start(pass, 1, &[], &[]).await;
        world.wait(Duration::from_secs(50)).await;
        assert_eq!(decided(&log), [0, 20_000, 40_000]);
    });
}

// === Giving up ===

/// As upstream's `maxRetries`: a key that failed once and in this many retries is given up; the
/// next event enqueues it with a fresh count.
#[test]
fn a_key_is_dropped_after_so_many_retries() {
    run(async {
        let (pass, log) = pass(|_, _| failed());
        let (mut world, engine) = World::start(pass, 1, &[], &[]).await;
        world.wait(Duration::from_mins(2)).await;
        assert_eq!(decided(&log), [0, 5, 15, 35]);
        assert_eq!(engine.queue.num_requeues(&Key::parse("pods")), 0);
        assert_eq!(world.retries(), 3);

        world.sets.added(&set(11, 0, 0)).await;
        world.wait(Duration::from_mins(2)).await;
        let again = decided(&log);
        let delays: Vec<_> = again.iter().map(|at| at - again[0]).collect();
        assert_eq!(delays, [0, 5, 15, 35]);
    });
}

/// A success in between resets the count.
#[test]
fn a_success_starts_the_count_anew() {
    run(async {
        let looks = Mutex::new(0);
        // Fails three times, succeeds, and fails again.
        let plan = move |_: &_, _: &Facts| {
            let mut looks = looks.lock().unwrap();
            *looks += 1;
            if *looks == 4 {
                Plan::rest("well").again_after(Some(Duration::from_secs(1)))
            } else {
                failed()
            }
        };
        let (pass, log) = pass(plan);
        let (world, _engine) = World::start(pass, 1, &[], &[]).await;
        world.wait(Duration::from_mins(2)).await;
        assert_eq!(decided(&log).len(), 4 + 4);
    });
}

// === Counting ===

/// metrics.md: as upstream's, a counter shows nothing until it has labels; then all attempts, and
/// among them the failures. A pod that was deleted already is a failure there, but not of the sync.
#[test]
fn attempts_and_failures_are_counted() {
    run(async {
        let plan = |_: &_, _: &_| {
            let sweeps = [("a", "orphaned"), ("b", "orphaned"), ("c", "terminated")];
            let sweeps = sweeps.map(|(name, reason)| sweep(name, "shop", reason).into());
            Plan::one("sweeps", Step::Together(sweeps.to_vec()))
        };
        let (pass, _log) = pass(plan);
        let outcomes = Arc::clone(&pass.outcomes);
        let pods = ["a", "b", "c"].map(|name| pod(name, 1));
        let (mut world, _engine) = World::start(pass, 1, &[], &pods).await;
        let families = metrics::fixture::families(&world.registry);
        for Family { name, .. } in [SWEPT, FAILED] {
            assert!(families.contains(&format!("{name} counter namespace,reason")), "{families:?}");
        }
        assert_eq!(metrics::fixture::unlike_upstream(&world.registry), Vec::<String>::new());
        let (a, b, c) = (world.delete("a").await, world.delete("b").await, world.delete("c").await);
        assert_eq!(counted(&world), Vec::<String>::new());
        accept(a, &terminating(pod("a", 1), 11)).await;
        refuse(b, 404, "NotFound", "not there").await;
        world.settle().await;
        let [swept, failed] = [SWEPT.name, FAILED.name];
        let not_there = format!(r#"{failed}{{namespace="shop",reason="orphaned"}} 1"#);
        let terminated = format!(r#"{swept}{{namespace="shop",reason="terminated"}} 1"#);
        let swept = format!(r#"{swept}{{namespace="shop",reason="orphaned"}} 2"#);
        assert_eq!(counted(&world), [not_there.clone(), swept.clone()]);
        accept(c, &terminating(pod("c", 1), 12)).await;
        world.settle().await;
        assert_eq!(counted(&world), [not_there, swept, terminated]);
        assert_eq!(outcomes.lock().unwrap().first(), Some(&Outcome::default()));
    });
}

/// What is never counted: no counts, a family that is not in the table, and labels that do not
/// match.
#[test]
fn only_known_counters_count() {
    run(async {
        let counts = vec![Count::one(&STRANGE), Count::one(&SWEPT).labels(["shop"])];
        let odd = sweep("b", "shop", "orphaned").counted(counts);
        let plan = move |_: &_, _: &_| {
            let actions = vec![super::steps::delete("a"), odd.clone().into()];
            Plan::one("deletes", Step::Together(actions))
        };
        let (pass, _log) = pass(plan);
        let (mut world, _engine) = World::start(pass, 1, &[], &[]).await;
        accept(world.delete("a").await, &pod("a", 1)).await;
        refuse(world.delete("b").await, 404, "NotFound", "not there").await;
        world.settle().await;
        assert_eq!(counted(&world), Vec::<String>::new());
    });
}

// === Outcomes ===

/// The outcome has the API server's reason of the failure, if there is one; the plan's own error
/// has none.
#[test]
fn an_outcome_says_why() {
    let rows = [(409, "AlreadyExists", "there"), (403, "Forbidden", "quota")];
    for (code, reason, message) in rows {
        run(async {
            let plan = |_: &_, _: &_| Plan {
                error: Some("not reported".to_owned()),
                ..Plan::one("one", Step::InOrder(vec![create("a")]))
            };
            let (pass, _log) = pass(plan);
            let outcomes = Arc::clone(&pass.outcomes);
            let (mut world, _engine) = World::start(pass, 1, &[], &[]).await;
            refuse(world.post().await, code, reason, message).await;
            world.settle().await;
            let found = outcomes.lock().unwrap()[0].clone();
            let error = Some(message.to_owned());
            let (reason, code) = (reason.to_owned(), Some(code));
            let (step, made) = (Some(0), Vec::new());
            assert_eq!(found, Outcome { unsettled: false, error, step, reason, code, made });
        });
    }
    run(async {
        let plan = |_: &_, _: &_| Plan {
            error: Some("odd".to_owned()),
            ..Plan::one("one", Step::InOrder(vec![create("a")]))
        };
        let (pass, _log) = pass(plan);
        let outcomes = Arc::clone(&pass.outcomes);
        let (mut world, _engine) = World::start(pass, 1, &[], &[]).await;
        let post = world.post().await;
        make(post, "a", 11).await;
        world.settle().await;
        let found = outcomes.lock().unwrap()[0].clone();
        let [made] = found.made.as_slice() else { panic!("{found:?}") };
        assert_eq!((&*made.key.name, made.resource_version), ("a", 11));
        let (error, made) = (Some("odd".to_owned()), found.made.clone());
        assert_eq!(found, Outcome { error, made, ..Outcome::default() });
    });
    run(async {
        let (pass, _log) = pass(|_, _| Plan::one("one", Step::InOrder(vec![create("a")])));
        let outcomes = Arc::clone(&pass.outcomes);
        let (mut world, _engine) = World::start(pass, 1, &[], &[]).await;
        world.post().await.reset();
        world.settle().await;
        let found = outcomes.lock().unwrap()[0].clone();
        assert!(found.error.is_some() && found.reason.is_empty(), "{found:?}");
    });
}

/// Metrics card, root_ca_cert_publisher_sync_total: the code of the answer, 500 for other failures.
#[test]
fn syncs_are_counted_by_code_and_timed() {
    run(async {
        let (pass, _log) = pass(|_, _| Plan::one("one", Step::InOrder(vec![create("a")])));
        let (mut world, _engine) = World::start(pass, 1, &[], &[]).await;
        let counted = |world: &World| {
            let page = world.registry.page("").body;
            let lines =
                page.lines().filter_map(|line| line.strip_prefix("root_ca_cert_publisher_"));
            let lines = lines.filter(|line| line.contains("_total") || line.contains("_sum"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let post = world.post().await;
        world.wait(Duration::from_secs(2)).await;
        refuse(post, 403, "Forbidden", "quota").await;
        world.post().await.reset();
        world.settle().await;
        let expected = [
            "sync_duration_seconds_sum{code=\"403\"} 2",
            "sync_duration_seconds_sum{code=\"500\"} 0",
            "sync_total{code=\"200\"} 1",
            "sync_total{code=\"403\"} 1",
            "sync_total{code=\"500\"} 1",
        ];
        let found = counted(&world);
        assert!(expected.iter().all(|line| found.iter().any(|it| it == line)), "{found:?}");
    });
}
