//! Contenders against a fake API server that holds one Lease, under paused time. Each contender has
//! its own connection, which can be cut, and its own clock, which can be wrong or suspended.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use api::Key;
use bytes::Bytes;
use cache::fixture::{self, Call, Server, Stream, event, status};
use client::{ApiError, Client};
use metrics::Registry;
use runtime::{Instant, Random, Runtime};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{SECOND, Timing};
use crate::{Ended, Leadership, Metrics, Settings};

const TICK: Duration = Duration::from_millis(20);
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kcm";

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Net {
    Up,
    /// Requests are neither answered nor carried out.
    Silent,
    /// Requests are carried out, but the response is lost.
    AnswersLost,
    Refused,
}

/// The state of the API server.
#[derive(Default)]
struct Store {
    lease: Option<Value>,
    version: u64,
    watches: Vec<(Arc<StdMutex<Net>>, Stream)>,
    verbs: BTreeSet<String>,
    /// When the Lease was last written.
    written: Option<Instant>,
    unanswered: Vec<Call>,
}

struct World {
    store: Arc<Mutex<Store>>,
    runtime: Runtime,
}

struct Contender {
    leadership: Leadership,
    client: Client,
    runtime: Runtime,
    net: Arc<StdMutex<Net>>,
    events: Arc<StdMutex<Vec<String>>>,
    registry: Registry,
}

// === impl Store ===

impl Store {
    async fn set(&mut self, mut lease: Value) -> Value {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = self.version.to_string().into();
        let kind = if self.lease.is_some() { "MODIFIED" } else { "ADDED" };
        self.lease = Some(lease.clone());
        self.notify(&event(kind, &lease.to_string())).await;
        lease
    }

    async fn delete(&mut self) {
        self.version += 1;
        let mut lease = self.lease.take().unwrap();
        lease["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.notify(&event("DELETED", &lease.to_string())).await;
    }

    async fn notify(&mut self, line: &str) {
        for (net, stream) in &mut self.watches {
            if *net.lock().unwrap() == Net::Up {
                // An error means that this client no longer watches.
                let _ = stream.try_send(line).await;
            }
        }
    }

    /// The response to a request that is not a watch, by the rules of the API server.
    async fn carry_out(&mut self, call: &Call, now: Instant) -> (u16, String) {
        let (method, path) = (call.method.as_str(), call.path.as_str());
        self.verbs.insert(method.to_owned());
        let body: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let answer = match (method, path, &self.lease) {
            ("GET", LEASE, Some(lease)) => return (200, lease.to_string()),
            ("GET" | "PUT", LEASE, None) => (404, status(404, "NotFound", "not found")),
            ("POST", LEASES, Some(_)) => (409, status(409, "AlreadyExists", "exists")),
            ("PUT", LEASE, Some(lease))
                if lease["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"] =>
            {
                (409, status(409, "Conflict", "has been modified"))
            }
            ("POST", LEASES, None) | ("PUT", LEASE, Some(_)) => {
                let mut body = body;
                body["metadata"]["uid"] = "u1".into();
                self.written = Some(now);
                return (200, self.set(body).await.to_string());
            }
            _ => (403, status(403, "Forbidden", "forbidden")),
        };
        assert_ne!(answer.0, 403, "{method} {path} is not granted");
        answer
    }

    async fn serve(&mut self, call: Call, net: &Arc<StdMutex<Net>>, now: Instant) {
        let mode = *net.lock().unwrap();
        match mode {
            Net::Refused => call.refuse(),
            Net::Silent => self.unanswered.push(call),
            Net::Up | Net::AnswersLost if call.path.contains("watch=true") => {
                let query = "?fieldSelector=metadata.name%3Dkcm&timeoutSeconds=300&watch=true";
                assert_eq!(call.path, format!("{LEASES}{query}"));
                let mut stream = call.answer(200, "application/json");
                if let Some(lease) = &self.lease {
                    let _ = stream.try_send(event("ADDED", &lease.to_string())).await;
                }
                self.watches.push((Arc::clone(net), stream));
            }
            Net::Up | Net::AnswersLost => {
                let (code, body) = self.carry_out(&call, now).await;
                if mode == Net::Up && !call.is_given_up() {
                    call.reply(code, body).await;
                } else {
                    self.unanswered.push(call);
                }
            }
        }
    }
}

// === impl World ===

impl World {
    fn new() -> Self {
        Self { store: Arc::default(), runtime: Runtime::simulated(api::Time::EPOCH, 3) }
    }

    /// A new contender, whose clocks are ahead by `ahead`.
    fn contender(&self, name: &str, ahead: Duration) -> Contender {
        let mut server = Server::default();
        let (runtime, client) = (server.runtime.clone(), server.client.clone());
        runtime.clock.suspend(ahead);
        let net = Arc::new(StdMutex::new(Net::Up));
        let (store, cable, clock) =
            (Arc::clone(&self.store), Arc::clone(&net), runtime.clock.clone());
        runtime::spawn("api-server", async move {
            loop {
                let call = server.call().await;
                store.lock().await.serve(call, &cable, clock.instant()).await;
            }
        });
        let settings = Settings {
            identity: name.to_owned(),
            lease: Key::new("kube-system", "kcm"),
            timing: Timing::default(),
            begin: None,
            candidate: None,
        };
        let (events, registry) = (Arc::new(StdMutex::new(Vec::new())), Registry::default());
        let metrics = Metrics::new(&registry).unwrap();
        let log = Arc::clone(&events);
        let on_event = move |event: controller::Event| {
            let about = &event.about;
            assert_eq!((&*about.uid, &*event.reason), ("u1", "LeaderElection"));
            assert!(about.resource_version > 0);
            log.lock().unwrap().push(event.message);
        };
        let leadership =
            Leadership::contend(client.clone(), settings, &metrics, on_event, &runtime).unwrap();
        Contender { leadership, client, runtime, net, events, registry }
    }

    async fn sleep(&self, time: Duration) {
        self.runtime.clock.sleep(time).await;
    }

    async fn lease(&self) -> Value {
        self.store.lock().await.lease.clone().unwrap_or_default()
    }

    /// How long ago the Lease was written.
    async fn since_written(&self) -> Duration {
        self.runtime.clock.instant() - self.store.lock().await.written.unwrap()
    }

    /// Changes the object, as a user with kubectl could.
    async fn edit(&self, change: impl FnOnce(&mut Value)) {
        let mut lease = self.lease().await;
        change(&mut lease);
        self.store.lock().await.set(lease).await;
    }

    /// A leader and a standby that has seen it.
    async fn leader_and_standby(&self) -> (Contender, Contender) {
        let one = self.contender("one", Duration::ZERO);
        one.leads().await;
        let other = self.contender("other", 3600 * SECOND);
        self.sleep(5 * SECOND).await;
        assert!(one.leadership.is_leader() && !other.leadership.is_leader());
        (one, other)
    }
}

// === impl Contender ===

impl Contender {
    async fn leads(&self) {
        let elected = self.runtime.clock.timeout(fixture::LIMIT, self.leadership.elected()).await;
        assert_eq!(elected, Ok(Ok(())));
        assert!(self.leadership.is_leader());
    }

    async fn lost(&self) -> Ended {
        let lost = self.runtime.clock.timeout(fixture::LIMIT, self.leadership.lost()).await;
        assert!(self.leadership.fence().check().is_err());
        lost.unwrap()
    }

    fn net(&self, net: Net) {
        *self.net.lock().unwrap() = net;
    }

    fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }

    fn metric(&self, name: &str) -> String {
        let families = self.registry.gather();
        let metric = &families.iter().find(|family| family.name() == name).unwrap().get_metric()[0];
        (metric.get_gauge().get_value() + metric.get_counter().get_value()).to_string()
    }
}

/// metrics.md, Process-wide: leader_election_*.
#[test]
fn families_are_as_upstream() {
    let registry = Registry::default();
    Metrics::new(&registry).unwrap();
    assert_eq!(metrics::fixture::unlike_upstream(&registry), Vec::<String>::new());
}

/// manager.md, Leader election: the Lease, its record, the Events.
#[test]
fn the_first_contender_creates_the_lease() {
    fixture::run(async {
        let world = World::new();
        let one = world.contender("one", Duration::ZERO);
        assert_eq!(one.leadership.since_renewal(), None);
        one.leads().await;
        let lease = world.lease().await;
        assert_eq!(lease["metadata"]["namespace"], "kube-system");
        let spec = &lease["spec"];
        assert_eq!(
            (&spec["holderIdentity"], &spec["leaseTransitions"]),
            (&json!("one"), &json!(0))
        );
        assert_eq!(spec["leaseDurationSeconds"], 15);
        assert!(spec["renewTime"].as_str().unwrap().starts_with("1970-01-01T00:00:00."));
        assert_eq!(one.metric("leader_election_master_status"), "1");
        world.sleep(61 * SECOND).await;
        let renewed = world.lease().await;
        assert_eq!(renewed["spec"]["acquireTime"], spec["acquireTime"]);
        assert_ne!(renewed["spec"]["renewTime"], spec["renewTime"]);
        assert!(one.leadership.since_renewal().unwrap() <= 2 * SECOND);
        assert_eq!(one.events(), ["one became leader"]);
        let granted = ["GET", "POST", "PUT"].map(str::to_owned).into();
        assert!(world.store.lock().await.verbs.is_subset(&granted));
    });
}

/// An alert for a missing leader must be right even if only a standby is scraped.
#[test]
fn a_standby_shows_whether_there_is_a_leader() {
    fixture::run(async {
        let world = World::new();
        let (one, other) = world.leader_and_standby().await;
        let held = || [&one, &other].map(|contender| contender.metric("kcm_lease_held"));
        assert_eq!(other.metric("leader_election_master_status"), "0");
        assert_eq!(held(), ["1", "1"]);
        other.net(Net::Refused);
        world.sleep(60 * SECOND).await;
        assert_eq!(held(), ["1", "0"]);
        other.net(Net::Up);
        world.sleep(10 * SECOND).await;
        assert_eq!(held(), ["1", "1"]);
        world.edit(|lease| lease["spec"]["holderIdentity"] = json!("third")).await;
        one.lost().await;
        world.sleep(5 * SECOND).await;
        assert_eq!(held(), ["0", "1"]);
    });
}

/// Issue: released on a clean exit; standbys take a released lease at once.
#[test]
fn a_released_lease_is_taken_at_once() {
    fixture::run(async {
        let world = World::new();
        let (one, other) = world.leader_and_standby().await;
        let third = world.contender("third", Duration::ZERO);
        // During shutdown the leader keeps leading until it has drained.
        one.runtime.cancel.cancel();
        world.sleep(20 * SECOND).await;
        assert!(one.leadership.is_leader());
        assert_eq!(one.leadership.release().await, Ended::Released);
        assert!(!one.leadership.is_leader());
        world.sleep(50 * Duration::from_millis(1)).await;
        let leaders = [&other, &third].map(|contender| contender.leadership.is_leader());
        assert!(leaders[0] ^ leaders[1], "{leaders:?}");
        assert_eq!(world.lease().await["spec"]["leaseTransitions"], 1);
        assert_eq!(one.events(), ["one became leader", "one stopped leading"]);
        assert_eq!(one.metric("leader_election_master_status"), "0");
    });
}

/// machinery.md: release keeps the transitions, and leaves one second and no holder.
#[test]
fn what_a_release_writes() {
    fixture::run(async {
        let world = World::new();
        let one = world.contender("one", Duration::ZERO);
        one.leads().await;
        // TestReleaseMethodCallsGet: the known version may be stale.
        world.edit(|lease| lease["metadata"]["labels"] = json!({"a": "b"})).await;
        assert_eq!(one.leadership.release().await, Ended::Released);
        let lease = world.lease().await;
        assert_eq!(lease["metadata"]["labels"], json!({"a": "b"}));
        let spec = &lease["spec"];
        let fields = ["holderIdentity", "leaseDurationSeconds", "leaseTransitions"];
        assert_eq!(fields.map(|name| &spec[name]), [&json!(""), &json!(1), &json!(0)]);
        assert_eq!(spec["renewTime"], spec["acquireTime"]);
    });
}

/// "release acquired lock on cancellation of update" cannot succeed without a response; it ends.
#[test]
fn a_release_that_is_not_answered_ends() {
    fixture::run(async {
        let world = World::new();
        let one = world.contender("one", Duration::ZERO);
        one.leads().await;
        one.net(Net::Silent);
        let started = world.runtime.clock.instant();
        assert!(matches!(one.leadership.release().await, Ended::Lost(_)));
        assert!(world.runtime.clock.instant() - started <= 15 * SECOND);
    });
}

/// machinery.md: expiry by local observation only, by the record's duration; issue: without a
/// relist. The standby's clock is an hour ahead.
#[test]
fn an_expired_lease_is_taken_after_its_duration() {
    fixture::run(async {
        let world = World::new();
        let (one, other) = world.leader_and_standby().await;
        one.net(Net::Silent);
        world.sleep(3 * SECOND).await;
        let last = world.runtime.clock.instant() - world.since_written().await;
        other.leads().await;
        let waited = world.runtime.clock.instant() - last;
        assert!(waited >= 15 * SECOND && waited < 15 * SECOND + TICK, "{waited:?}");
        assert!(one.leadership.fence().check().is_err());
    });
}

/// Issue: a lost lease stops all writes before the renew deadline.
#[test]
fn a_leader_without_api_server_is_lost_before_its_lease_ends() {
    for net in [Net::Silent, Net::Refused, Net::AnswersLost] {
        fixture::run(async {
            let world = World::new();
            let one = world.contender("one", Duration::ZERO);
            one.leads().await;
            one.net(net);
            let started = world.runtime.clock.instant();
            let lost = one.lost().await;
            assert_eq!(lost, Ended::Lost("the lease could not be renewed within 10s".to_owned()));
            assert!(world.runtime.clock.instant() - started <= 10 * SECOND);
            assert!(!one.leadership.is_leader());
            assert_eq!(one.events(), ["one became leader", "one stopped leading"]);
        });
    }
}

/// A short silence does not cost the lease.
#[test]
fn a_leader_survives_a_short_silence() {
    fixture::run(async {
        let world = World::new();
        let (one, other) = world.leader_and_standby().await;
        one.net(Net::Silent);
        world.sleep(6 * SECOND).await;
        one.net(Net::Up);
        world.sleep(20 * SECOND).await;
        assert!(one.leadership.is_leader() && !other.leadership.is_leader());
    });
}

/// Issue: a leader that was stopped and resumed writes nothing.
#[test]
fn a_suspended_leader_writes_nothing() {
    fixture::run(async {
        let world = World::new();
        let one = world.contender("one", Duration::ZERO);
        one.leads().await;
        let writer = one.client.guarded(one.leadership.fence().guard());
        writer.get(LEASE).await.unwrap();
        one.runtime.clock.suspend(20 * SECOND);
        let error = writer.update(LEASE, Bytes::new()).await.unwrap_err();
        assert!(matches!(error, ApiError::Fenced(_)), "{error}");
        assert!(!one.leadership.is_leader());
        assert!(matches!(one.lost().await, Ended::Lost(_)));
    });
}

/// Upstream's contenders distinguish renewals by the second, so one of them may take a lease that
/// we renewed twice in a second up to a second early.
#[test]
fn a_leader_stopped_beyond_its_renew_deadline_writes_nothing() {
    fixture::run(async {
        let world = World::new();
        let one = world.contender("one", Duration::ZERO);
        one.leads().await;
        let writer = one.client.guarded(one.leadership.fence().guard());
        one.runtime.clock.suspend(9 * SECOND);
        assert!(one.leadership.is_leader());
        one.runtime.clock.suspend(2 * SECOND);
        let error = writer.update(LEASE, Bytes::new()).await.unwrap_err();
        assert!(matches!(error, ApiError::Fenced(_)), "{error}");
    });
}

/// TestFastPathLeaderElection: after a conflict the Lease is read and written again; other clients'
/// changes stay.
#[test]
fn a_conflict_while_renewing_is_no_loss() {
    fixture::run(async {
        let world = World::new();
        let (one, other) = world.leader_and_standby().await;
        world.edit(|lease| lease["metadata"]["annotations"] = json!({"a": "b"})).await;
        world.sleep(30 * SECOND).await;
        assert!(one.leadership.is_leader() && !other.leadership.is_leader());
        assert_eq!(world.lease().await["metadata"]["annotations"], json!({"a": "b"}));
        assert_eq!(one.metric("leader_election_slowpath_total"), "1");
    });
}

/// A record with another holder ends our leadership at the next renewal, not at the deadline.
#[test]
fn a_record_edited_by_another_client_ends_leadership() {
    fixture::run(async {
        let world = World::new();
        let one = world.contender("one", Duration::ZERO);
        one.leads().await;
        world.edit(|lease| lease["spec"]["holderIdentity"] = "thief".into()).await;
        let started = world.runtime.clock.instant();
        assert_eq!(one.lost().await, Ended::Lost("the lease is held by thief".to_owned()));
        assert!(world.runtime.clock.instant() - started <= 2 * SECOND);
    });
}

/// A deleted Lease is created again by its holder; a standby does not take the chance.
#[test]
fn a_deleted_lease_stays_with_its_holder() {
    fixture::run(async {
        let world = World::new();
        let (one, other) = world.leader_and_standby().await;
        world.store.lock().await.delete().await;
        world.sleep(30 * SECOND).await;
        assert!(one.leadership.is_leader() && !other.leadership.is_leader());
        assert_eq!(world.lease().await["spec"]["holderIdentity"], "one");
        // If the holder does not create it again, it is free once the holder's duration is over.
        one.net(Net::Silent);
        world.store.lock().await.delete().await;
        other.leads().await;
        assert!(one.leadership.fence().check().is_err());
    });
}

/// A Lease without a record is free; one that cannot be read is read again.
#[test]
fn a_broken_lease_is_taken_or_waited_for() {
    fixture::run(async {
        let world = World::new();
        world.edit(|lease| *lease = json!({"metadata": {"uid": "u1"}, "spec": null})).await;
        let one = world.contender("one", Duration::ZERO);
        one.leads().await;
        assert_eq!(world.lease().await["spec"]["leaseTransitions"], 1);

        world.store.lock().await.lease = Some(json!("garbage"));
        let other = world.contender("other", Duration::ZERO);
        assert!(matches!(one.lost().await, Ended::Lost(_)));
        world.sleep(60 * SECOND).await;
        assert!(!other.leadership.is_leader());
        world.store.lock().await.lease = None;
        other.leads().await;
    });
}

/// A claim whose response was lost is ours: no lease duration is waited for.
#[test]
fn a_claim_whose_answer_was_lost_is_found() {
    fixture::run(async {
        let world = World::new();
        let one = world.contender("one", Duration::ZERO);
        one.net(Net::AnswersLost);
        world.sleep(6 * SECOND).await;
        one.net(Net::Silent);
        assert!(!one.leadership.is_leader());
        world.store.lock().await.unanswered.clear();
        one.net(Net::Up);
        one.leads().await;
        assert!(world.runtime.clock.now() < api::Time::EPOCH + 15 * SECOND);
    });
}

/// A standby that shuts down ends at once and leaves the Lease alone.
#[test]
fn a_standby_ends_with_the_process() {
    fixture::run(async {
        let world = World::new();
        let (_one, other) = world.leader_and_standby().await;
        other.runtime.cancel.cancel();
        assert_eq!(other.lost().await, Ended::Stopped);
        assert_eq!(other.leadership.elected().await, Err(Ended::Stopped));
        assert_eq!(other.leadership.release().await, Ended::Stopped);
        assert!(other.events().is_empty());
        assert_eq!(world.lease().await["spec"]["holderIdentity"], "one");
    });
}

/// Issue, a small contest: connections are cut, machines are suspended, processes end; there are
/// never two leaders, and always one again after a while.
#[test]
fn never_two_leaders() {
    for seed in 0..4 {
        fixture::run(async {
            let (world, random) = (World::new(), Random::seeded(seed));
            let below = |limit: u64| random.bits() % limit;
            let mut names = 0;
            let mut contender = || {
                names += 1;
                world.contender(&format!("c{names}"), Duration::from_secs(below(7200)))
            };
            let mut contenders: Vec<Contender> = (0..3).map(|_| contender()).collect();
            for _ in 0..400 {
                let at = usize::try_from(below(3)).unwrap();
                match below(16) {
                    0 => contenders[at].net(Net::Silent),
                    1 => contenders[at].net(Net::AnswersLost),
                    2 => contenders[at].runtime.clock.suspend(Duration::from_secs(below(40))),
                    3 => drop(contenders[at].leadership.release().await),
                    _ => contenders[at].net(Net::Up),
                }
                let until = world.runtime.clock.instant() + Duration::from_millis(below(4000));
                while world.runtime.clock.instant() < until {
                    world.sleep(TICK).await;
                    let open = |c: &&Contender| c.leadership.fence().check().is_ok();
                    let leaders = contenders.iter().filter(open).count();
                    assert!(leaders <= 1, "seed {seed}: {leaders} leaders");
                }
                for one in &mut contenders {
                    let ended = one.leadership.release.is_cancelled()
                        || matches!(one.leadership.phase.get(), crate::elector::Phase::Ended(_));
                    if ended {
                        *one = contender();
                    }
                }
            }
            for one in &contenders {
                one.net(Net::Up);
            }
            world.sleep(40 * SECOND).await;
            let leaders = contenders.iter().filter(|c| c.leadership.is_leader()).count();
            assert_eq!(leaders, 1, "seed {seed}");
        });
    }
}
