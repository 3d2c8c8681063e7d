//! A kind that a controller reads and the API server does not serve.

use std::time::Duration;

use cache::fixture::{run, status};
use controller::Plan;

use super::fences::Lines;
use super::world::{Cold, DRAIN_LIMIT, Feed, Log, Probe, set};
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
