//! When the counts of a controller show on the metrics page.

use api::{Edit, Key, Kind, Raw, ReplicaSet};
use cache::fixture::run;
use controller::{
    Controller, Count, Ended, Facts, Family, ObjectRef, Outcome, Plan, Retry, Step, View, Watches,
    When, Write, fixture,
};
use serde_json::json;

use super::steps::create;
use super::world::{Cold, DRAIN_LIMIT, Log, Probe, Seen, World, accept, make, refuse, set};

const PLAN: Family = Family::counter("t_plan_total", "[ALPHA] Plans.").labels(&["when"]);
const STATUS: Family = Family::counter("t_status_total", "[ALPHA] Statuses.").labels(&["when"]);
const HEARD: Family = Family::counter("t_heard_total", "[ALPHA] Events.");
const ENDS: Family = Family::counter("t_ends_total", "[ALPHA] Syncs.").labels(&["how", "seen"]);
const SETS: Family = Family::gauge("t_sets", "[ALPHA] Sets.").labels(&["namespace"]);

/// A [`Probe`] that counts everything possible.
struct Counting(Probe);

/// One for each case.
fn cases(family: &'static Family) -> Vec<Count> {
    let cases = [
        ("always", When::Always),
        ("done", When::Done),
        ("notdone", When::NotDone),
        ("failed", When::Failed),
    ];
    cases.map(|(name, when)| Count::one(family).labels([name]).when(when)).into()
}

impl Controller for Counting {
    type Snapshot = Seen;
    type Memory = ();
    type Verdict = ();

    const METRICS: &'static [Family] = &[PLAN, STATUS, HEARD, ENDS, SETS];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<ReplicaSet>(|_, change, _, queue| {
            queue.count(Count::one(&HEARD));
            queue.own(change);
        });
        table.reads::<api::Pod>();
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Seen> {
        self.0.observe(key, view, &())
    }

    fn decide(&self, seen: &Seen, facts: &Facts) -> (Plan, ()) {
        let (plan, ()) = self.0.decide(seen, facts);
        (Plan { counts: cases(&PLAN), ..plan }, ())
    }

    fn summary(&self, _: &Seen) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn report(&self, _: &Seen, _: Option<&()>, outcome: &Outcome) -> Option<Write> {
        let view = fixture::decode::<ReplicaSet>(&set(1, 0, 0));
        let object = ObjectRef::new(&ReplicaSet::RESOURCE, &view.meta);
        let edits = vec![Edit::new(["status", "replicas"], json!(1))];
        let status = Write::status(object, Raw::default(), edits, Retry::Never);
        outcome.error.is_none().then(|| status.counted(cases(&STATUS)))
    }

    fn counts(&self, seen: Option<&Seen>, _: Option<&()>, ended: &Ended) -> Vec<Count> {
        let how = match ended {
            Ended { unsettled: true, .. } => "unsettled".to_owned(),
            ended => ended.http().to_string(),
        };
        let seen = if seen.is_some() { "yes" } else { "no" };
        vec![Count::one(&ENDS).labels([&*how, seen])]
    }

    fn gauges(&self, view: &View<'_>, (): &()) -> Vec<Count> {
        let sets = view.of::<ReplicaSet>().all();
        sets.iter().map(|set| Count::one(&SETS).labels([&*set.meta.key.namespace])).collect()
    }
}

fn counting(plan: fn() -> Plan) -> (Counting, Log) {
    let log = Log::default();
    (Counting(Probe::new(&log, |_, _| {}, move |_, _| plan())), log)
}

fn one_create() -> Plan {
    Plan::one("one", Step::InOrder(vec![create("a")]))
}

/// The series of this family: its label values, and its value.
fn shown(world: &World, family: Family) -> String {
    let page = world.registry.page("").body;
    let lines = page.lines().filter_map(|line| line.strip_prefix(family.name));
    let series = lines.map(|line| {
        let (labels, value) = line.rsplit_once(' ').unwrap();
        let labels: Vec<_> = labels.split('"').skip(1).step_by(2).collect();
        format!("{} {value}", labels.join(" ")).trim().to_owned()
    });
    series.collect::<Vec<_>>().join(", ")
}

/// Card of the Job controller: a count of a status write is added once the API server has accepted
/// it. A count of a plan is added at once.
#[test]
fn counts_follow_the_writes() {
    run(async {
        let (counting, _log) = counting(one_create);
        let (mut world, _engine) = World::start(counting, 1, &[set(1, 0, 0)], &[]).await;
        let post = world.post().await;
        assert_eq!((&*shown(&world, PLAN), &*shown(&world, HEARD)), ("always 1", "1"));
        make(post, "a", 11).await;
        let put = world.put().await;
        assert_eq!(shown(&world, PLAN), "always 1, done 1");
        assert_eq!((&*shown(&world, STATUS), &*shown(&world, ENDS)), ("", ""));
        accept(put, &set(12, 0, 0)).await;
        world.settle().await;
        assert_eq!(shown(&world, STATUS), "always 1, done 1");
        assert_eq!(shown(&world, ENDS), "200 yes 1");
        // The cache does not show the pod: only the status is written. Then the set is deleted.
        world.sets.modified(&set(13, 0, 0)).await;
        refuse(world.put().await, 409, "Conflict", "changed").await;
        world.sets.deleted(&set(14, 0, 0)).await;
        world.settle().await;
        assert_eq!(shown(&world, PLAN), "always 1, done 1");
        assert_eq!(shown(&world, STATUS), "always 2, done 1, failed 1, notdone 1");
        assert_eq!(shown(&world, ENDS), "200 no 1, 200 yes 1, 409 yes 1");
        assert_eq!(shown(&world, HEARD), "3");
    });
}

#[test]
fn a_plan_that_fails_is_not_done() {
    run(async {
        let (counting, _log) = counting(one_create);
        let (mut world, _engine) = World::start(counting, 1, &[set(1, 0, 0)], &[]).await;
        refuse(world.post().await, 403, "Forbidden", "quota").await;
        world.settle().await;
        assert_eq!(shown(&world, PLAN), "always 1, failed 1, notdone 1");
        assert_eq!((&*shown(&world, STATUS), &*shown(&world, ENDS)), ("", "403 yes 1"));
    });
}

/// metrics.md: gauges are computed at scrape. A standby shows none, although its caches are full.
#[test]
fn gauges_show_what_the_caches_hold_now() {
    run(async {
        let (counting, _log) = counting(|| Plan::failed("rests", "no status"));
        let mut cold = Cold::new(counting, 1, DRAIN_LIMIT);
        let (mut sets, _pods) = cold.warm(&[set(1, 0, 0)], &[]).await;
        cold.server.runtime.clock.sleep(std::time::Duration::from_secs(1)).await;
        let gauges = |cold: &Cold| {
            let page = cold.registry.page("").body;
            let lines = page.lines().filter(|line| line.starts_with(SETS.name));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(gauges(&cold), Vec::<String>::new());
        let _task = cold.run();
        cold.server.runtime.clock.sleep(std::time::Duration::from_secs(1)).await;
        assert_eq!(gauges(&cold), [r#"t_sets{namespace="shop"} 1"#]);
        sets.deleted(&set(14, 0, 0)).await;
        cold.server.runtime.clock.sleep(std::time::Duration::from_secs(1)).await;
        assert_eq!(gauges(&cold), Vec::<String>::new());
    });
}
