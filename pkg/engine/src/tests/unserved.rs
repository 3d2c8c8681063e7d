//! A kind that a controller reads and the API server does not serve.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Key, Pod, ReplicaSet};
use cache::fixture::{run, status};
use controller::{Change, Controller, Enqueue, Facts, Handler, Plan, View, Watches};
use runtime::Task;

use super::fences::Lines;
use super::world::{Cold, DRAIN_LIMIT, Feed, Log, Probe, pod, set};
use crate::{Inspect, Phase};

const SETS: &str = "/apis/apps/v1/replicasets";
const WAITING: &str = "the API server does not serve a kind that the controller reads";

/// As after an upgrade of the managers before the API servers, or with a feature gate that is on
/// only in the manager.
#[test]
fn a_controller_waits_for_its_kind_without_a_noise_and_starts_once_it_is_served() {
    run(async {
        let (lines, _guard) = Lines::record();
        let probe = Probe::new(&Log::default(), |_, _| {}, |_, _| Plan::rest("well"));
        let mut cold = Cold::new(probe, 1, DRAIN_LIMIT);
        let _task = cold.run();
        let _pods = Feed::begin(&mut cold.server, "/api/v1/pods", &[], 10).await;
        let clock = cold.server.runtime.clock.clone();
        let (began, mut asked) = (clock.instant(), 0);
        while clock.instant() - began < Duration::from_mins(30) {
            let call = cold.server.find("GET", SETS).await;
            call.reply(404, status(404, "NotFound", "could not find the requested resource")).await;
            asked += 1;
        }
        assert!((30..=70).contains(&asked), "{asked} requests in half an hour");
        clock.sleep(Duration::from_millis(1)).await;
        let now = cold.engine.status();
        assert_eq!(now.phase, Phase::WaitingForCaches);
        let [waiting] = &*now.waiting_for else { panic!("one kind: {:?}", now.waiting_for) };
        assert_eq!(waiting.resource, "replicasets.apps");
        let error = waiting.error.as_deref().unwrap();
        assert!(error.starts_with("the API server does not serve this kind"), "{error}");
        let logged = lines.with(WAITING);
        assert_eq!(logged.len(), 1, "{logged:?}");
        assert!(logged[0].contains("replicasets.apps"), "{logged:?}");
        assert_eq!(lines.with("still waiting").len(), 0);
        let failed = lines.with("cannot list or watch");
        assert_eq!(failed.iter().filter(|line| line.contains("replicasets")).count(), 1);

        let _sets = Feed::begin(&mut cold.server, SETS, &[set(1, 0, 0)], 10).await;
        clock.sleep(Duration::from_millis(1)).await;
        let now = cold.engine.status();
        assert_eq!((now.phase, now.waiting_for, now.syncs), (Phase::Running, vec![], 1));
    });
}

/// Reads pods, and ReplicaSets where these are served; notes whether they are.
#[derive(Clone, Default)]
struct Lenient(Arc<Mutex<Vec<bool>>>);

impl Controller for Lenient {
    type Snapshot = ();
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Pod>(|_, change, _, queue| queue.add(&change.object().meta.key));
        let enqueues =
            |_: &Self, change: &Change<ReplicaSet>, _: &View<'_>, queue: &mut Enqueue| {
                queue.add(&change.object().meta.key);
            };
        table.optional::<ReplicaSet>(Handler::Enqueues(enqueues));
    }

    fn observe(&self, _: &Key, view: &View<'_>, (): &()) -> Option<()> {
        self.0.lock().unwrap().push(view.is_listed::<ReplicaSet>());
        None
    }

    fn decide(&self, (): &(), _: &Facts) -> (Plan, ()) {
        (Plan::rest("well"), ())
    }

    fn summary(&self, (): &()) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// Such a controller that starts, with a pod.
async fn starting() -> (Lenient, Cold, (Task, Feed)) {
    let controller = Lenient::default();
    let mut cold = Cold::new(controller.clone(), 1, DRAIN_LIMIT);
    let task = cold.run();
    let pods = Feed::begin(&mut cold.server, "/api/v1/pods", &[pod("a", 3)], 10).await;
    (controller, cold, (task, pods))
}

/// As upstream's quota controller without resource.k8s.io.
#[test]
fn a_controller_starts_without_a_kind_that_need_not_be_served() {
    run(async {
        let (controller, mut cold, _running) = starting().await;
        let clock = cold.server.runtime.clock.clone();
        let call = cold.server.find("GET", SETS).await;
        clock.sleep(Duration::from_secs(3)).await;
        assert_eq!(cold.engine.status().phase, Phase::WaitingForCaches, "it may be served");
        call.reply(404, status(404, "NotFound", "could not find the requested resource")).await;
        clock.sleep(Duration::from_secs(2)).await;
        let now = cold.engine.status();
        assert_eq!((now.phase, now.waiting_for, now.syncs), (Phase::Running, vec![], 1));
        assert!(now.reads.contains(&"replicasets.apps".to_owned()), "{:?}", now.reads);
        let _sets = Feed::begin(&mut cold.server, SETS, &[set(4, 0, 0)], 10).await;
        clock.sleep(Duration::from_millis(1)).await;
        assert_eq!(*controller.0.lock().unwrap(), [false, true], "and notices when it is");
    });
}

/// One that hangs delays the start no longer than other kinds that are found at run time.
#[test]
fn a_controller_does_not_wait_for_ever_for_such_a_kind() {
    run(async {
        let (controller, mut cold, _running) = starting().await;
        let clock = cold.server.runtime.clock.clone();
        let _hangs = cold.server.find("GET", SETS).await;
        clock.sleep(Duration::from_secs(29)).await;
        assert_eq!(cold.engine.status().phase, Phase::WaitingForCaches);
        clock.sleep(Duration::from_secs(3)).await;
        assert_eq!(cold.engine.status().phase, Phase::Running);
        assert_eq!(*controller.0.lock().unwrap(), [false]);
    });
}
