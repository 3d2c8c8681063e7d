//! The pages over a made-up manager, with the time stopped.

mod formats;
mod pages;
mod refusals;
mod shadow;
mod sight;

use std::sync::{Arc, Mutex};

use api::{Key, Kind, Pod, ReplicaSet, Time};
use auth::User;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use cache::Selection;
use controller::{Plan, Subject};
use engine::{
    Acted, EngineStatus, Explanation, Fact, Failure, InWork, Inspect, Phase, Place, Planned,
    Unsettled, Viewer, WaitingFor,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use runtime::{Clock, Instant};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{Absence, Audience, Graph, Leadership, Permits, Role, Row, Source, router};

/// A name that no API server admits, and what it would do to a page.
const ODD: &str = "<script>alert('x' & \"y\")</script>";

/// Six hours into 1970.
const NOW: i64 = 6 * 3600;

#[derive(Clone)]
struct Manager {
    engines: Vec<(&'static str, Fake)>,
    informers: Vec<cache::InformerStatus>,
    leadership: Leadership,
    clock: Clock,
    permits: Arc<Script>,
}

/// The users' permissions, and the reviews that were requested.
#[derive(Default)]
struct Script {
    /// As `alice pods shop/`.
    allowed: Vec<&'static str>,
    /// Nobody can say.
    broken: bool,
    /// No response ever comes.
    slow: bool,
    asked: Mutex<Vec<String>>,
}

/// An engine with scripted answers.
#[derive(Clone)]
struct Fake {
    status: EngineStatus,
    explanation: Explanation,
    stalled: Option<String>,
    /// Its plan; none: that of the explanation.
    plan: Option<Plan>,
    /// An explanation waits for a permit.
    gate: Option<Arc<tokio::sync::Semaphore>>,
    graph: Option<Graph>,
    shadow: Option<engine::ShadowStatus>,
}

fn ago(seconds: i64) -> Time {
    Time::from_unix(NOW - seconds, 0)
}

fn failure(key: &str) -> Failure {
    Failure {
        key: key.to_owned(),
        failures: 3,
        error: "pods \"web-\" is forbidden: exceeded quota".to_owned(),
        since: ago(125),
        at: ago(12),
    }
}

fn healthy() -> EngineStatus {
    EngineStatus {
        phase: Phase::Running,
        cannot_start: None,
        waiting_for: vec![],
        reads: vec!["pods".to_owned(), "replicasets.apps".to_owned()],
        workers: 5,
        workers_alive: 5,
        queued: 0,
        delayed: 1,
        unsettled: 1,
        in_work: vec![],
        failing: vec![],
        given_up: vec![],
        last_error: None,
        plans: vec![],
        syncs: 41,
        failures: 0,
        panics: 0,
    }
}

fn busy() -> EngineStatus {
    EngineStatus {
        queued: 7,
        in_work: vec![
            InWork { key: "shop/web".to_owned(), since: ago(3) },
            InWork { key: "shop/db".to_owned(), since: ago(1) },
        ],
        failing: vec![failure("shop/web")],
        last_error: Some(failure("shop/web")),
        plans: vec![
            Acted {
                key: "shop/web".to_owned(),
                why: "2 pods missing of 3, creating 2".to_owned(),
                actions: 2,
                at: ago(12),
                error: Some("exceeded quota".to_owned()),
            },
            Acted {
                key: "shop/db".to_owned(),
                why: "1 pods more than 2, deleting 1".to_owned(),
                actions: 1,
                at: ago(7300),
                error: None,
            },
        ],
        failures: 3,
        ..healthy()
    }
}

fn explanation() -> Explanation {
    Explanation {
        key: "shop/web".to_owned(),
        at: ago(0),
        found: true,
        incomplete: vec![],
        summary: vec![
            Fact { name: "wanted", value: "3".to_owned() },
            Fact { name: "have", value: "1".to_owned() },
        ],
        live_reads: vec!["replicasets.apps shop/web: found, version 15".to_owned()],
        plan: Some(Planned {
            text: "why: 2 pods missing\nslow start: create pods in shop\n".to_owned(),
            json: json!({"why": "2 pods missing", "steps": []}),
        }),
        error: None,
        unsettled: Some(Unsettled {
            meanwhile: "only its status is written",
            awaits: vec!["pods: the cache must show the deletion of uid u1".to_owned()],
            since: ago(20),
            until: Some(ago(-280)),
        }),
        ambiguous_writes: vec!["pods in \"shop\": a create or delete got no response".to_owned()],
        place: Place {
            queued_since: None,
            in_work_since: Some(ago(3)),
            delayed_until: Some(ago(-60)),
        },
        retries: 3,
        last_error: Some(failure("shop/web")),
    }
}

fn informers() -> Vec<cache::InformerStatus> {
    let pods = cache::InformerStatus {
        selection: Selection::of::<Pod>(),
        synced: true,
        objects: 1200,
        unreadable: 0,
        version: 98_765,
        relists: 1,
        last_event: Some(ago(2)),
        failing: None,
        unserved: false,
        panics: 0,
        dying: None,
    };
    let failing = cache::Failing { since: ago(90), error: "connection refused".to_owned() };
    let sets = cache::InformerStatus {
        selection: Selection::of::<ReplicaSet>(),
        synced: false,
        objects: 0,
        unreadable: 2,
        version: 0,
        relists: 0,
        last_event: None,
        failing: Some(failing),
        unserved: false,
        panics: 1,
        dying: None,
    };
    vec![pods, sets]
}

fn alice() -> User {
    User { name: "alice".to_owned(), ..User::default() }
}

impl Permits for Script {
    fn may_get<'a>(
        &'a self,
        user: &'a User,
        subject: &'a Subject,
    ) -> BoxFuture<'a, Result<bool, String>> {
        async move {
            let Subject { resource, key } = subject;
            let asked = format!("{} {resource} {}/{}", user.name, key.namespace, key.name);
            let is_allowed = self.allowed.iter().any(|allowed| *allowed == asked);
            self.asked.lock().unwrap().push(asked);
            match (self.slow, self.broken) {
                (true, _) => std::future::pending().await,
                (false, true) => Err("connection refused".to_owned()),
                (false, false) => Ok(is_allowed),
            }
        }
        .boxed()
    }
}

impl Fake {
    fn new(status: EngineStatus) -> Self {
        Self {
            status,
            explanation: explanation(),
            stalled: None,
            plan: None,
            gate: None,
            graph: None,
            shadow: None,
        }
    }
}

impl Inspect for Fake {
    fn status(&self) -> EngineStatus {
        self.status.clone()
    }

    fn shadow(&self) -> Option<engine::ShadowStatus> {
        self.shadow.clone()
    }

    fn in_work(&self) -> Vec<InWork> {
        self.status.in_work.clone()
    }

    fn explain<'a>(&'a self, key: &'a Key, viewer: &'a dyn Viewer) -> BoxFuture<'a, Explanation> {
        async move {
            if let Some(gate) = &self.gate {
                let _permit = gate.acquire().await;
            }
            let mut explanation = self.explanation.clone();
            if let Some(plan) = &self.plan {
                let seen = plan.clone().as_seen(&viewer.sight(plan.subjects()).await);
                explanation.plan = Some(Planned { text: seen.to_string(), json: seen.to_json() });
            }
            Explanation { key: key.to_string(), ..explanation }
        }
        .boxed()
    }

    fn cannot_start(&self, _: &str) {}

    fn stalled(&self, _: Instant) -> Option<String> {
        self.stalled.clone()
    }
}

impl Manager {
    fn new(fake: Fake) -> Self {
        let leadership = Leadership {
            role: Role::Leader,
            identity: Some("node-1_8f2d".to_owned()),
            since: Some(ago(5 * 3600)),
            renewed: Some(ago(1)),
        };
        let clock = Clock::simulated(Time::from_unix(NOW, 0));
        let engines = vec![("replicaset-controller", fake)];
        Self { engines, informers: informers(), leadership, clock, permits: Arc::default() }
    }

    /// What a GET with this header `Accept` gives.
    async fn get(&self, path: &str, accept: &str) -> (u16, String) {
        let response = self.response(path, accept).await;
        let code = response.status().as_u16();
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn response(&self, path: &str, accept: &str) -> Response<Body> {
        let request = Request::builder().uri(path).header("accept", accept).extension(alice());
        self.router().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    fn router(&self) -> Router {
        let permits = Arc::clone(&self.permits) as Arc<dyn Permits>;
        router(Arc::new(self.clone()), Audience::Users(permits))
    }

    async fn json(&self, path: &str) -> (u16, Value) {
        let (code, body) = self.get(path, "application/json").await;
        (code, serde_json::from_str(&body).unwrap())
    }
}

impl Source for Manager {
    fn controllers(&self) -> Vec<Row> {
        let gates: &[&str] = &["StorageVersionAPI", "APIServerIdentity"];
        let absent =
            |name, aliases, absence| Row { name, aliases, engine: Err(absence), graph: None };
        let mut rows = vec![
            absent("bootstrap-signer-controller", &["bootstrapsigner"], Absence::Off),
            absent("service-lb-controller", &["service"], Absence::NeedsCloud),
            absent("storageversion-garbage-collector-controller", &[], Absence::GateOff(gates)),
            absent("ttl-controller", &["ttl"], Absence::Lacks("it has no key")),
        ];
        rows.extend(self.engines.iter().map(|(name, fake)| Row {
            name,
            aliases: &["replicaset"],
            engine: Ok(Arc::new(fake.clone())),
            graph: fake.graph.clone(),
        }));
        rows
    }

    fn informers(&self) -> Vec<cache::InformerStatus> {
        self.informers.clone()
    }

    fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}
