//! A controller whose keys are synced at their own times, whatever changes.

use std::time::Duration;

use api::{Edit, Key, Kind, Pod, Raw, ReplicaSet};
use cache::fixture::run;
use controller::{Controller, Facts, ObjectRef, Plan, Retry, Step, View, Watches, Write};
use serde_json::json;

use super::world::{Log, Probe, Seen, World, accept, body, set, with};

/// A [`Probe`] that no change enqueues.
struct Steady(Probe);

impl Controller for Steady {
    type Snapshot = Seen;
    type Memory = ();
    type Verdict = ();

    const SEEDS: &'static [&'static str] = &["shop/web"];

    const FOLLOWS_WRITES: bool = false;

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.reads::<Pod>();
        table.reads::<ReplicaSet>();
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Seen> {
        self.0.observe(key, view, &())
    }

    fn decide(&self, seen: &Seen, facts: &Facts) -> (Plan, ()) {
        self.0.decide(seen, facts)
    }

    fn summary(&self, _: &Seen) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Its write becomes visible, which settles the key; it is synced when its time comes, not before.
#[test]
fn a_settled_key_waits_for_its_time() {
    run(async {
        let log = Log::default();
        let steady = Probe::new(
            &log,
            |_, _| {},
            |_, _| {
                let object = ObjectRef {
                    resource: ReplicaSet::RESOURCE,
                    key: Key::new("shop", "web"),
                    uid: "uid-web".into(),
                    resource_version: 1,
                };
                let raw = Raw::parse(set(1, 0, 0).to_string().as_bytes()).unwrap();
                let edits = vec![Edit::new(["replicas"], json!(3))];
                let write = Write::status(object, raw, edits, Retry::Never);
                let plan = Plan::one("counts", Step::InOrder(vec![write.into()]));
                plan.again_after(Some(Duration::from_secs(15)))
            },
        );
        let (mut world, _engine) = World::start(Steady(steady), 1, &[set(1, 0, 0)], &[]).await;
        let put = world.put().await;
        let written = with(body(&put), json!({"metadata": {"resourceVersion": "12"}}));
        accept(put, &written).await;
        world.settle().await;
        log.take();
        world.sets.modified(&set(12, 3, 0)).await;
        world.wait(Duration::from_secs(14)).await;
        assert_eq!(log.take(), Vec::<String>::new());
        world.wait(Duration::from_secs(2)).await;
        let _next = world.put().await;
    });
}
