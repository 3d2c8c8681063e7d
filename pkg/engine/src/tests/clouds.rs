//! Plans that ask a cloud, and that order something of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Key, Text};
use cache::fixture::run;
use cloud::{
    Ask, Cloud, Failure, Instance, Instances, LoadBalancers, Order, Pending, Reply, Route, Routes,
};
use controller::{Action, Answer, Facts, Plan, Query, Step};
use runtime::{Clock, Runtime};

use super::world::{Cold, DRAIN_LIMIT, Log, Probe, World, set};
use crate::Insider;

/// A cloud with routes alone.
struct Fake {
    clock: Clock,
    takes: Duration,
    fails: bool,
    calls: Calls,
}

#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Fake {
    fn call<T: Send + 'static>(&self, call: String, result: T) -> Pending<'_, T> {
        Box::pin(async move {
            self.calls.0.lock().unwrap().push(call);
            self.clock.sleep(self.takes).await;
            if self.fails { Err(Failure::from("no quota")) } else { Ok(result) }
        })
    }
}

impl Cloud for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        None
    }

    fn routes(&self) -> Option<&dyn Routes> {
        Some(self)
    }

    fn instances(&self) -> Option<&dyn Instances> {
        None
    }
}

impl Routes for Fake {
    fn list<'a>(&'a self, cluster: &'a str) -> Pending<'a, Vec<Route>> {
        self.call(format!("list {cluster}"), Vec::new())
    }

    fn create<'a>(&'a self, _: &'a str, hint: &'a str, route: &'a Route) -> Pending<'a, ()> {
        self.call(format!("create {hint} {}", route.cidr), ())
    }

    fn delete<'a>(&'a self, _: &'a str, route: &'a Route) -> Pending<'a, ()> {
        self.call(format!("delete {}", route.cidr), ())
    }
}

fn ask() -> Query {
    Query::Cloud(Ask::Routes { cluster: "k8s".into() })
}

fn order() -> Order {
    let route = Route { cidr: "10.0.1.0/24".into(), ..Route::default() };
    Order::CreateRoute { cluster: "k8s".into(), hint: "u1".into(), route }
}

/// Asks, then orders, and rests with what came of both.
fn plan(facts: &Facts) -> Plan {
    let Some(answer) = facts.get(&ask()) else { return Plan::fetch("asks", vec![ask()]) };
    let Some(done) = facts.done.get(&order()) else {
        let steps = vec![Step::InOrder(vec![order().into()]), Step::Fetch(Vec::new())];
        return Plan { steps, ..Plan::rest("orders") };
    };
    let answer = match answer.cloud() {
        Ok(Reply::Routes(routes)) => format!("{} routes", routes.len()),
        Ok(other) => panic!("{other:?}"),
        Err(error) => error.to_string(),
    };
    let result = match &done.result {
        Ok(addresses) => format!("{addresses:?}"),
        Err(failure) => failure.to_string(),
    };
    Plan::failed("rests", format!("{answer}; {result} after {:?}", done.took))
}

/// A world on a cloud of which each call takes so long; and what is reported, and what was called.
async fn world(takes: Duration, fails: bool) -> (World, Log, Calls) {
    let (log, calls) = (Log::default(), Calls::default());
    let probe = Probe::new(&log, |_, _| {}, |_, facts| plan(facts));
    let seen = calls.clone();
    let cloud = move |runtime: &Runtime| {
        let clock = runtime.clock.clone();
        Some(Arc::new(Fake { clock, takes, fails, calls: seen }) as Arc<dyn Cloud>)
    };
    let cold = Cold::on(cloud, probe, 1, DRAIN_LIMIT);
    let (world, _) = cold.start(&[set(1, 0, 0)], &[]).await;
    (world, log, calls)
}

fn reported(log: &Log) -> String {
    let lines = log.take();
    let report = lines.iter().find_map(|line| line.split_once(" report ")).map(|(_, it)| it);
    report.unwrap_or_default().to_owned()
}

/// Decision 0018: the result of an order is a fact of the next round.
#[test]
fn a_plan_asks_a_cloud_and_then_has_it_act() {
    run(async {
        let (world, log, calls) = world(Duration::from_secs(2), false).await;
        world.wait(Duration::from_millis(4500)).await;
        assert_eq!(calls.take()[..2], ["list k8s", "create u1 10.0.1.0/24"]);
        assert_eq!(reported(&log), "0 routes; None after 2s web");
    });
}

/// The same: a failure ends no plan.
#[test]
fn a_cloud_that_fails_is_a_fact() {
    run(async {
        let (world, log, _) = world(Duration::ZERO, true).await;
        world.settle().await;
        assert_eq!(reported(&log), "no quota; no quota after 0ns web");
    });
}

/// The same: without a cloud each call fails, and so does one that the cloud does not support.
#[test]
fn without_a_cloud_each_call_fails() {
    run(async {
        let (world, log) = World::probe(|_, facts| plan(facts)).await;
        world.settle().await;
        let text = "no cloud provider provided";
        assert_eq!(reported(&log), format!("{text}; {text} after 0ns web"));
        let instance =
            Instance { name: "a".into(), provider_id: Text::default(), addresses: Box::default() };
        let exists = Query::Cloud(Ask::Exists(Arc::new(instance)));
        let (asked, log) = (exists.clone(), Log::default());
        let probe = Probe::new(
            &log,
            |_, _| {},
            move |_, facts| match facts.get(&asked).map(Answer::cloud) {
                None => Plan::fetch("asks", vec![asked.clone()]),
                Some(answer) => Plan::failed("rests", answer.unwrap_err().to_string()),
            },
        );
        let cloud = |runtime: &Runtime| {
            let (clock, calls) = (runtime.clock.clone(), Calls::default());
            Some(Arc::new(Fake { clock, takes: Duration::ZERO, fails: false, calls }) as Arc<_>)
        };
        let cold = Cold::on(cloud, probe, 1, DRAIN_LIMIT);
        let (world, _) = cold.start(&[set(1, 0, 0)], &[]).await;
        world.settle().await;
        assert_eq!(reported(&log), "cloud provider does not support instances web");
    });
}

/// The same: no call takes more than ten minutes.
#[test]
fn a_cloud_that_does_not_respond_is_a_failure() {
    run(async {
        let (world, log, calls) = world(Duration::from_hours(1), false).await;
        world.wait(Duration::from_mins(21)).await;
        assert_eq!(calls.take()[..2], ["list k8s", "create u1 10.0.1.0/24"]);
        let text = "the cloud did not respond within 600s";
        assert_eq!(reported(&log), format!("{text}; {text} after 600s web"));
    });
}

/// The same: a process that does not lead orders nothing.
#[test]
fn the_fence_holds_orders_back() {
    run(async {
        let (world, log, calls) = world(Duration::from_secs(1), false).await;
        world.settle().await;
        world.close_fence(true);
        world.wait(Duration::from_secs(2)).await;
        assert!(calls.take().iter().all(|call| call == "list k8s"));
        assert_eq!(reported(&log), "the lease ran out web");
        world.close_fence(false);
        world.wait(Duration::from_secs(3)).await;
        assert!(calls.take().contains(&"create u1 10.0.1.0/24".to_owned()));
    });
}

/// The same: an explanation asks, and shows an order without giving it.
#[test]
fn an_explanation_orders_nothing() {
    run(async {
        let calls = Calls::default();
        let seen = calls.clone();
        let cloud = move |runtime: &Runtime| {
            let (clock, takes) = (runtime.clock.clone(), Duration::from_secs(1));
            Some(Arc::new(Fake { clock, takes, fails: false, calls: seen }) as Arc<dyn Cloud>)
        };
        let probe = Probe::new(&Log::default(), |_, _| {}, |_, facts| plan(facts));
        let mut cold = Cold::on(cloud, probe, 1, DRAIN_LIMIT);
        let _feeds = cold.warm(&[set(1, 0, 0)], &[]).await;
        cold.server.runtime.clock.sleep(Duration::from_millis(1)).await;
        let key = Key::new("shop", "web");
        let explanation = crate::Inspect::explain(&*cold.engine, &key, &Insider).await;
        assert_eq!(calls.take(), ["list k8s"]);
        assert_eq!(explanation.live_reads, ["cloud: routes of k8s: 0 found"]);
        assert_eq!(
            explanation.plan.unwrap().text,
            format!("why: orders\nin order: {}\ndecide again\n", Action::from(order()))
        );
    });
}
