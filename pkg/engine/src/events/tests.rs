//! Tests of the correlator by tables, and of the recorder against a fake API server.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Key, Resource, Time};
use bytes::Bytes;
use client::{Client, Metrics, Settings};
use controller::{Event, EventType, ObjectRef};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use runtime::{Instant, Random, Runtime};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Recorder;
use super::correlator::{
    COMBINED, Correlator, DISTINCT_MAX, EventObject, KEYS_MAX, Recorded, SPAM_BURST, SPAM_REFILL,
};
use super::recorder::{
    DRAIN_LIMIT, DROP_LOG_INTERVAL, Dropped, QUEUED_MAX, RETRY_DELAY, TRIES_MAX,
};

const REPLICA_SETS: Resource = Resource::namespaced("apps", "v1", "replicasets", "ReplicaSet");
const NODES: Resource = Resource {
    group: Cow::Borrowed(""),
    version: Cow::Borrowed("v1"),
    plural: Cow::Borrowed("nodes"),
    kind: Cow::Borrowed("Node"),
    namespaced: false,
};

/// Longer than any step takes, in simulated time.
const WAIT_LIMIT: Duration = Duration::from_hours(1);

/// 2026-11-21T12:33:55Z and the nanoseconds of the first sample.
const START: Time = Time::from_unix(1_795_264_435, 148_102_803);

fn object(resource: Resource, key: &str, uid: &str, resource_version: u64) -> Arc<ObjectRef> {
    Arc::new(ObjectRef { resource, key: Key::parse(key), uid: uid.into(), resource_version })
}

fn set(uid: &str) -> Arc<ObjectRef> {
    object(REPLICA_SETS, "my-ns/my-rs", uid, 7)
}

fn event(about: &Arc<ObjectRef>, reason: &'static str, message: &str) -> Event {
    let (about, message) = (Arc::clone(about), message.to_owned());
    Event { about, r#type: EventType::Normal, reason: reason.into(), message }
}

/// A correlator and the time of its next event.
struct Bench {
    correlator: Correlator,
    now: Time,
}

impl Bench {
    fn new() -> Self {
        Self { correlator: Correlator::new("replicaset-controller", Random::seeded(1)), now: START }
    }

    fn say(&mut self, event: Event) -> Option<EventObject> {
        self.correlator.correlate(Recorded { event, at: self.now }, self.now)
    }
}

// === Correlator ===

/// The live sample of a Created pod, field by field: upstream/live/events.yaml; the fields that the
/// API server adds (creationTimestamp, resourceVersion, uid) left out.
#[test]
fn event_has_upstreams_fields() {
    let about =
        object(REPLICA_SETS, "t1/d-7f64b8dbf5", "b680f0df-c1e1-4b80-b588-6c01baa3905a", 358);
    let said =
        Bench::new().say(event(&about, "SuccessfulCreate", "Created pod: d-7f64b8dbf5-42jlp"));
    let said = said.expect("the first event passes");
    let body: Value = serde_json::from_slice(&said.body()).unwrap();
    assert_eq!(
        body,
        json!({
            "apiVersion": "v1",
            "count": 1,
            "eventTime": null,
            "firstTimestamp": "2026-11-21T12:33:55Z",
            "involvedObject": {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "d-7f64b8dbf5",
                "namespace": "t1",
                "resourceVersion": "358",
                "uid": "b680f0df-c1e1-4b80-b588-6c01baa3905a",
            },
            "kind": "Event",
            "lastTimestamp": "2026-11-21T12:33:55Z",
            "message": "Created pod: d-7f64b8dbf5-42jlp",
            "metadata": {"name": "d-7f64b8dbf5.18ea0f7df6e51c93", "namespace": "t1"},
            "reason": "SuccessfulCreate",
            "reportingComponent": "replicaset-controller",
            "reportingInstance": "",
            "source": {"component": "replicaset-controller"},
            "type": "Normal",
        })
    );
    assert_eq!(said.collection_path(), "/api/v1/namespaces/t1/events");
}

/// `TestEventfNoNamespace`, and the live sample of a Node, which has no version either.
#[test]
fn event_of_a_cluster_scoped_object_goes_to_default() {
    let about = object(NODES, "n1", "8a955859", 0);
    let mut warning = event(&about, "RegisteredNode", "Node n1 event");
    warning.r#type = EventType::Warning;
    let said = Bench::new().say(warning).expect("the first event passes");
    let body: Value = serde_json::from_slice(&said.body()).unwrap();
    assert_eq!(
        body["involvedObject"],
        json!({"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "8a955859"})
    );
    assert_eq!(body["type"], "Warning");
    assert_eq!(body["metadata"]["namespace"], "default");
    let path = "/api/v1/namespaces/default/events/n1.18ea0f7df6e51c93";
    assert_eq!(said.path().as_deref(), Ok(path));
}

/// `TestGenerateEventName`.
#[test]
fn names_are_dns_subdomains() {
    let at = Time::EPOCH + Duration::from_nanos(105_999_103_295_324_396);
    let long = "x".repeat(300);
    let fits = "x".repeat(253 - ".178959f726d80ec".len());
    for (name, kept) in [
        ("test-pod", true),
        ("test.pod", true),
        (&*fits, true),
        (&*long, false),
        ("test.POD", false),
        ("test.pod/invalid!chars?", false),
        ("--test.pod/invalid!chars?", false),
        ("test..pod", false),
        ("test-", false),
        ("system:node", false),
    ] {
        let about = object(NODES, "n", "u", 0);
        let about = Arc::new(ObjectRef { key: Key::new("", name), ..(*about).clone() });
        let mut bench = Bench { now: at, ..Bench::new() };
        let said = bench.say(event(&about, "R", "m")).expect("the first event passes");
        let got = &*said.key.name;
        if kept {
            assert_eq!(got, format!("{name}.178959f726d80ec"), "{name}");
            continue;
        }
        let parts: Vec<&str> = got.split('-').collect();
        let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{name}: {got} is a uuid");
        assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']), "{got}");
        assert!(got.chars().all(|c| "0123456789abcdef-".contains(c)), "{got}");
    }
}

/// The simulated clock does not move while events happen.
#[test]
fn names_differ_within_a_nanosecond() {
    let mut bench = Bench::new();
    let names: BTreeSet<_> = (0..20)
        .filter_map(|i| bench.say(event(&set("u"), "R", &format!("message {i}"))))
        .map(|said| said.key.name)
        .collect();
    // Nine of their own, and one for all the combined ones.
    assert_eq!(names.len(), DISTINCT_MAX);
    assert!(names.contains("my-rs.18ea0f7df6e51c93") && names.contains("my-rs.18ea0f7df6e51c94"));
}

/// The events, the seconds between them, and the result of the last one. Rows with dashes are those
/// of `TestEventCorrelator`, one is `TestEventSpamFilter`, the others are ours. For the syntax see
/// [`said`].
const CORRELATION: &[(&str, &str, u64, &str)] = &[
    ("create-a-single-event", "same", 5, "1 duplicate: me again"),
    ("the-same-event-should-just-count", "same*2", 5, "2 duplicate: me again"),
    (
        "the-same-event-should-just-count-even-if-more-than-aggregate",
        "same*11",
        30,
        "11 duplicate: me again",
    ),
    ("the-same-event-is-spam-if-happens-too-frequently", "same*27", 1, "skip"),
    ("create-many-unique-events", "unique*30 reason", 5, "1 other: me again"),
    (
        "similar-events-should-aggregate-event",
        "similar*10",
        5,
        "1 similar: (combined from similar events): message 9",
    ),
    (
        "similar-events-many-times-should-count-the-aggregate",
        "similar*11",
        5,
        "2 similar: (combined from similar events): message 10",
    ),
    (
        "similar-events-whose-interval-is-greater-than-aggregate-interval-do-not-aggregate",
        "similar*10",
        601,
        "1 similar: message 9",
    ),
    (
        "similar events at the very end of the interval",
        "similar*10",
        600,
        "1 similar: (combined from similar events): message 9",
    ),
    ("fewer similar events stay apart", "similar*9", 5, "1 similar: message 8"),
    ("a remembered message counts by itself", "similar*10 message-5", 5, "2 similar: message 5"),
    ("another reason stays apart", "similar*10 reason", 5, "1 other: me again"),
    ("another version of the object is the same", "same newer", 5, "2 duplicate: me again"),
    ("another object of that name is not", "same uid", 5, "1 duplicate: me again"),
    ("another type is not", "same warning", 5, "1 duplicate: me again"),
    ("a burst passes", "same*25", 1, "25 duplicate: me again"),
    ("no more than a burst", "same*26", 1, "skip"),
    ("TestEventSpamFilter: the same object, another reason", "same*25 reason", 1, "skip"),
    ("spam is per object", "same*26 uid", 1, "1 duplicate: me again"),
    ("spam is per type", "same*26 warning", 1, "1 duplicate: me again"),
];

/// The events of a row of [`CORRELATION`].
fn said(words: &str) -> Vec<Event> {
    let about = set("u");
    let one = |word: &str, i: usize| match word {
        "similar" => event(&about, "similar", &format!("message {i}")),
        "message-5" => event(&about, "similar", "message 5"),
        "unique" => {
            let about = object(REPLICA_SETS, &format!("ns-{i}/rs-{i}"), "u", 1);
            event(&about, "duplicate", "me again")
        }
        "reason" => event(&about, "other", "me again"),
        "newer" => {
            let about = Arc::new(ObjectRef { resource_version: 8, ..(*about).clone() });
            event(&about, "duplicate", "me again")
        }
        "uid" => event(&set("v"), "duplicate", "me again"),
        "warning" => Event { r#type: EventType::Warning, ..event(&about, "duplicate", "me again") },
        "same" => event(&about, "duplicate", "me again"),
        _ => panic!("no such word: {word}"),
    };
    let mut events = Vec::new();
    for word in words.split(' ') {
        let (word, times) = word.split_once('*').unwrap_or((word, "1"));
        events.extend((0..times.parse().unwrap()).map(|i| one(word, i)));
    }
    events
}

#[test]
fn correlation() {
    for (row, words, step_s, expected) in CORRELATION {
        let mut bench = Bench::new();
        let mut last = None;
        for event in said(words) {
            bench.now = bench.now + Duration::from_secs(*step_s);
            last = bench.say(event);
        }
        let got = last.map(|event| format!("{} {}: {}", event.count, event.reason, event.message));
        assert_eq!(got.as_deref().unwrap_or("skip"), *expected, "{row}");
    }
}

/// events_cache.go, `EventAggregate` and `eventObserve`: the content of a combined event, and what
/// the next one keeps of it.
#[test]
fn combined_events_are_one_event() {
    let mut bench = Bench::new();
    let mut said = |i: usize| {
        bench.now = bench.now + Duration::from_secs(1);
        // The event was in the queue for a second.
        let recorded = Recorded {
            event: event(&set("u"), "R", &format!("m{i}")),
            at: bench.now - Duration::from_secs(1),
        };
        bench.correlator.correlate(recorded, bench.now).expect("no spam yet")
    };
    let apart: Vec<_> = (1..DISTINCT_MAX).map(&mut said).collect();
    assert!(apart.iter().all(|e| e.count == 1 && e.reporting == "replicaset-controller"));
    assert_eq!(apart[0].last, START, "an event happens when it is recorded");

    let (tenth, eleventh) = (said(10), said(11));
    assert_eq!(tenth.message, format!("{COMBINED}m10"));
    assert_eq!((tenth.source, tenth.reporting), ("replicaset-controller", ""));
    assert_eq!(tenth.last, START + Duration::from_secs(10), "a combined one when it is combined");
    assert!(!tenth.is_known() && eleventh.is_known());
    assert_eq!((&eleventh.key, eleventh.first), (&tenth.key, tenth.first));
    let patch: Value = serde_json::from_slice(&eleventh.patch()).unwrap();
    assert_eq!(
        patch,
        json!({
            "count": 2,
            "lastTimestamp": "2026-11-21T12:34:06Z",
            "message": "(combined from similar events): m11",
        })
    );
}

/// `EventSourceObjectSpamFilter`: a token comes back every 300 s, and the count includes all that
/// was skipped.
#[test]
fn spam_is_counted_and_passes_slowly() {
    let about = set("u");
    let again = || event(&about, "duplicate", "me again");
    let mut bench = Bench::new();
    for _ in 0..30 {
        bench.say(again());
    }
    bench.now = bench.now + SPAM_REFILL - Duration::from_nanos(1);
    assert_eq!(bench.say(again()), None);
    bench.now = bench.now + Duration::from_nanos(1);
    assert_eq!(bench.say(again()).map(|e| e.count), Some(32));
    assert_eq!(bench.say(again()), None);

    // A day refills no more than the burst.
    bench.now = bench.now + SPAM_REFILL * 288;
    let passed = (0..30).filter(|_| bench.say(again()).is_some()).count();
    assert_eq!(passed, SPAM_BURST as usize);

    // A clock that is set back a year holds events up for one refill, not for a year.
    bench.now = START - SPAM_REFILL * 100_000;
    assert_eq!(bench.say(again()), None);
    bench.now = bench.now + SPAM_REFILL;
    assert!(bench.say(again()).is_some());
}

/// `maxLruCacheEntries`: the least recently used key is forgotten, and starts anew.
#[test]
fn memory_is_bounded() {
    let mut bench = Bench::new();
    let mut say = |uid: usize| bench.say(event(&set(&uid.to_string()), "R", "m")).map(|e| e.count);
    for uid in 0..KEYS_MAX {
        assert_eq!(say(uid), Some(1));
    }
    assert_eq!(say(0), Some(2), "all of them are remembered");
    assert_eq!(say(KEYS_MAX), Some(1), "one too many");
    assert_eq!(say(0), Some(3), "was used since");
    assert_eq!(say(1), Some(1), "was forgotten");
    assert_eq!(say(3), Some(2), "is remembered");
}

/// Dropped events are logged from time to time, with their number.
#[test]
fn dropped_events_are_logged_rarely() {
    let start = Runtime::simulated(START, 1).clock.instant();
    let mut dropped = Dropped::default();
    let at = |delay: Duration| start + delay;
    assert_eq!(dropped.add(at(Duration::ZERO)), Some(1));
    assert_eq!(dropped.add(at(Duration::from_secs(1))), None);
    assert_eq!(dropped.add(at(DROP_LOG_INTERVAL.saturating_sub(Duration::from_nanos(1)))), None);
    assert_eq!(dropped.add(at(DROP_LOG_INTERVAL)), Some(3));
    assert_eq!(dropped.add(at(DROP_LOG_INTERVAL)), None);
}

// === Recorder ===

/// How the API server handles a request.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Ok,
    /// A code, a reason and a cause.
    Refuse(u16, &'static str, &'static str),
    /// The connection breaks.
    Break,
    /// No response comes.
    Hang,
}

/// A request that the API server received.
#[derive(Debug)]
struct Seen {
    at: Instant,
    call: String,
    content_type: String,
    body: Value,
}

/// A recorder with an API server that gives the scripted responses, and then success.
struct Fixture {
    recorder: Recorder,
    runtime: Runtime,
    requests: mpsc::UnboundedReceiver<Seen>,
}

impl Fixture {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let runtime = Runtime::simulated(START, 1);
        let answers = Arc::new(Mutex::new(answers.into_iter().collect::<VecDeque<_>>()));
        let (sender, requests) = mpsc::unbounded_channel();
        let clock = runtime.clock.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let answer = answers.lock().unwrap().pop_front().unwrap_or(Answer::Ok);
            let (sender, at) = (sender.clone(), clock.instant());
            async move {
                let call = format!("{} {}", request.method(), request.uri());
                let content_type = request.headers()["content-type"].to_str().unwrap().to_owned();
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let body = serde_json::from_slice(&body).unwrap();
                sender.send(Seen { at, call, content_type, body }).unwrap();
                respond(answer).await
            }
        });
        let settings =
            Settings { qps: 0.0, burst: 0, user_agent: "test".to_owned(), host: "test".to_owned() };
        let metrics = Metrics::new(&metrics::Registry::default()).unwrap();
        let client =
            Client::new(kube::Client::new(service, "default"), settings, &metrics, &runtime);
        let recorder = Recorder::start(client, "replicaset-controller", &runtime);
        Self { recorder, runtime, requests }
    }

    /// The next request. Time passes until it comes.
    async fn next(&mut self) -> Seen {
        let next = self.runtime.clock.timeout(WAIT_LIMIT, self.requests.recv()).await;
        next.expect("a request comes in time").expect("the recorder runs")
    }

    /// Ends the recorder; returns the requests that the test has not read.
    async fn finish(mut self) -> Vec<Seen> {
        let finished = self.runtime.clock.timeout(WAIT_LIMIT, self.recorder.finish()).await;
        finished.expect("the recorder stops in time");
        let mut rest = Vec::new();
        while let Ok(seen) = self.requests.try_recv() {
            rest.push(seen);
        }
        rest
    }
}

async fn respond(answer: Answer) -> Result<Response<Full<Bytes>>, std::io::Error> {
    let (code, body) = match answer {
        Answer::Ok => (200, json!({})),
        Answer::Refuse(code, reason, cause) => {
            let details = json!({"causes": [{"reason": cause}]});
            (code, json!({"kind": "Status", "code": code, "reason": reason, "details": details}))
        }
        Answer::Break => return Err(std::io::Error::other("connection reset")),
        Answer::Hang => std::future::pending().await,
    };
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    Ok(response)
}

/// `TestEventf`, `TestMultiSinkCache`: Events of several objects and reasons are created once and
/// then counted, each separately.
#[tokio::test(start_paused = true)]
async fn events_are_created_then_patched() {
    let mut fixture = Fixture::new([]);
    let (one, other) = (set("bar"), set("differentUid"));
    let mut names = Vec::new();
    for (about, reason, made_as, count) in [
        (&one, "Started", None, 1),
        (&one, "Killed", None, 1),
        (&one, "Started", Some(0), 2),
        (&other, "Started", None, 1),
        (&one, "Started", Some(0), 3),
        (&other, "Stopped", None, 1),
        (&other, "Stopped", Some(5), 2),
    ] {
        fixture.runtime.clock.sleep(Duration::from_secs(1)).await;
        fixture.recorder.record(event(about, reason, "some verbose message: 1"));
        let Seen { call, content_type, body, .. } = fixture.next().await;
        let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if let Some(made_as) = made_as {
            let made_as: &String = &names[made_as];
            assert_eq!(call, format!("PATCH /api/v1/namespaces/my-ns/events/{made_as}"));
            assert_eq!(content_type, "application/strategic-merge-patch+json");
            let fields: Vec<&String> = body.as_object().unwrap().keys().collect();
            assert_eq!(fields, ["count", "lastTimestamp", "message"]);
        } else {
            assert_eq!(call, "POST /api/v1/namespaces/my-ns/events");
            assert_eq!(content_type, "application/json");
            assert_eq!(body["involvedObject"]["uid"], &*about.uid);
            assert_eq!(body["reason"], reason);
        }
        assert_eq!(body["count"], count);
        assert_eq!(body["message"], "some verbose message: 1");
        names.push(name);
    }
    assert_eq!(fixture.finish().await.len(), 0);
}

/// `TestUpdateExpiredEvent`.
#[tokio::test(start_paused = true)]
async fn expired_event_is_created_again() {
    let mut fixture = Fixture::new([Answer::Ok, Answer::Refuse(404, "NotFound", "")]);
    fixture.recorder.record(event(&set("u"), "R", "m"));
    let first = fixture.next().await;
    fixture.runtime.clock.sleep(Duration::from_secs(2)).await;
    fixture.recorder.record(event(&set("u"), "R", "m"));
    assert!(fixture.next().await.call.starts_with("PATCH "));
    let again = fixture.next().await;
    assert_eq!(again.call, "POST /api/v1/namespaces/my-ns/events");
    let mut expected = first.body;
    expected["count"] = json!(2);
    expected["lastTimestamp"] = json!("2026-11-21T12:33:57Z");
    assert_eq!(again.body, expected, "the same name and first time, no resource version");
}

/// `TestWriteEventError`: how often an event is sent, by the responses. Another event follows, so
/// that nothing of the first one can come later.
#[tokio::test(start_paused = true)]
async fn only_broken_connections_are_retried() {
    for (row, answer, times, tries) in [
        ("giveUp2", Answer::Refuse(500, "InternalError", ""), 1, 1),
        ("made before", Answer::Refuse(409, "AlreadyExists", ""), 1, 1),
        ("no more namespace", Answer::Refuse(403, "Forbidden", "NamespaceTerminating"), 1, 1),
        ("no namespace", Answer::Refuse(404, "NotFound", ""), 1, 1),
        ("retry2", Answer::Break, TRIES_MAX, TRIES_MAX),
        ("no answer", Answer::Hang, 1, 2),
        ("succeedEventually", Answer::Break, 2, 3),
    ] {
        let mut fixture = Fixture::new((0..times).map(|_| answer));
        fixture.recorder.record(event(&set("u"), "First", "m"));
        fixture.recorder.record(event(&set("u"), "Second", "m"));
        for _ in 0..tries {
            assert_eq!(fixture.next().await.body["reason"], "First", "{row}");
        }
        assert_eq!(fixture.next().await.body["reason"], "Second", "{row}");
        assert_eq!(fixture.finish().await.len(), 0, "{row}");
    }
}

/// `recordToSink`: 10 s between tries, before the second one a random part of it.
#[tokio::test(start_paused = true)]
async fn retries_are_ten_seconds_apart() {
    let mut fixture = Fixture::new([Answer::Break; 3]);
    fixture.recorder.record(event(&set("u"), "R", "m"));
    let mut at = Vec::new();
    for _ in 0..4 {
        at.push(fixture.next().await.at);
    }
    let first = at[1] - at[0];
    assert!(!first.is_zero() && first < RETRY_DELAY, "{first:?}");
    // Timers are good to a millisecond.
    for wait in [at[2] - at[1], at[3] - at[2]] {
        assert!(wait >= RETRY_DELAY && wait < RETRY_DELAY + Duration::from_millis(2), "{wait:?}");
    }
}

/// `TestLotsOfEvents`, and beyond: as many events as fit into the queue are sent, further ones are
/// dropped.
#[tokio::test(start_paused = true)]
async fn full_queue_drops() {
    let mut fixture = Fixture::new([]);
    for i in 0..QUEUED_MAX + 3 {
        fixture.recorder.record(event(&set(&i.to_string()), "R", &i.to_string()));
    }
    for i in 0..QUEUED_MAX {
        assert_eq!(fixture.next().await.body["message"], i.to_string());
    }
    fixture.recorder.record(event(&set("after"), "R", "there is room again"));
    assert_eq!(fixture.next().await.body["message"], "there is room again");
    assert_eq!(fixture.finish().await.len(), 0);
}

/// `TestCancelEvent`: at the end each event is tried once.
#[tokio::test(start_paused = true)]
async fn shutdown_tries_what_is_queued_once() {
    let fixture = Fixture::new([Answer::Break, Answer::Ok]);
    let (recorder, runtime) = (fixture.recorder.clone(), fixture.runtime.clone());
    let start = runtime.clock.instant();
    recorder.record(event(&set("u"), "First", "m"));
    recorder.record(event(&set("u"), "Second", "m"));
    let reasons: Vec<_> =
        fixture.finish().await.into_iter().map(|mut seen| seen.body["reason"].take()).collect();
    assert_eq!(reasons, ["First", "Second"]);
    assert_eq!(runtime.clock.instant(), start);
    // Recording after the end has no effect.
    recorder.record(event(&set("u"), "Late", "m"));
}

/// A hanging API server does not hold up the shutdown.
#[tokio::test(start_paused = true)]
async fn shutdown_waits_a_second_at_most() {
    let mut fixture = Fixture::new([Answer::Hang]);
    fixture.recorder.record(event(&set("u"), "First", "m"));
    fixture.recorder.record(event(&set("u"), "Second", "m"));
    fixture.next().await;
    let clock = fixture.runtime.clock.clone();
    let start = clock.instant();
    assert_eq!(fixture.finish().await.len(), 0);
    let took = clock.instant() - start;
    assert!(took >= DRAIN_LIMIT && took < DRAIN_LIMIT + Duration::from_millis(2), "{took:?}");
}
