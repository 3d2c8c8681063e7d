//! The task that keeps the LeaseCandidate, against a fake API server.

use std::time::Duration;

use api::Key;
use cache::fixture::{self, Call, Server, Stream, event, status};
use runtime::{Clock, Latest};
use serde_json::{Value, json};

use crate::candidate::{self, Candidate};
use crate::{Settings, Timing};

const ALL: &str = "/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates";

/// A candidate, and the server that it talks to.
struct World {
    server: Server,
    clock: Clock,
    watch: Stream,
    is_there: Latest<bool>,
}

impl World {
    async fn new() -> Self {
        let mut server = Server::default();
        let settings = Settings {
            identity: "me".to_owned(),
            lease: Key::new("kube-system", "kcm"),
            timing: Timing::default(),
            begin: None,
            candidate: None,
        };
        let candidate = Candidate {
            binary_version: "1.36.3".to_owned(),
            emulation_version: "1.36.0".to_owned(),
        };
        let runtime = server.runtime.clone();
        let is_there = candidate::start(server.client.clone(), &candidate, &settings, &runtime);
        assert!(!is_there.get());
        // A watch and a creation, in either order.
        let (one, other) = (server.call().await, server.call().await);
        let is_watch = one.path.contains("watch=true");
        let (watch, create) = if is_watch { (one, other) } else { (other, one) };
        let query = "?fieldSelector=metadata.name%3Dme&timeoutSeconds=300&watch=true";
        assert_eq!(watch.path, format!("{ALL}{query}"));
        let mut object = body(&create);
        assert_eq!((create.method.as_str(), &*create.path), ("POST", ALL));
        let renewed = object["spec"]["renewTime"].take();
        assert!(renewed.as_str().unwrap().starts_with("1970-01-01T00:00:00."), "{renewed}");
        assert_eq!(
            object,
            json!({
                "apiVersion": "coordination.k8s.io/v1beta1", "kind": "LeaseCandidate",
                "metadata": {"name": "me", "namespace": "kube-system"},
                "spec": {"leaseName": "kcm", "binaryVersion": "1.36.3",
                    "emulationVersion": "1.36.0", "strategy": "OldestEmulationVersion",
                    "renewTime": null},
            })
        );
        object["spec"]["renewTime"] = renewed;
        let clock = runtime.clock;
        let watch = watch.answer(200, "application/json");
        create.reply(201, versioned(object, 1).to_string()).await;
        Self { server, clock, watch, is_there }
    }

    async fn seen(&mut self, kind: &str, object: &Value) {
        self.watch.try_send(event(kind, &object.to_string())).await.unwrap();
    }

    /// The next request, which must be an update.
    async fn update(&mut self) -> (Call, Value) {
        let call = self.server.call().await;
        assert_eq!((call.method.as_str(), &*call.path), ("PUT", &*format!("{ALL}/me")));
        let object = body(&call);
        (call, object)
    }
}

fn body(call: &Call) -> Value {
    serde_json::from_slice(&call.body).unwrap()
}

fn versioned(mut object: Value, version: u64) -> Value {
    object["metadata"]["resourceVersion"] = version.to_string().into();
    object
}

/// TestLeaseCandidateCreation, TestLeaseCandidateAck: it answers at once when it is asked, and only
/// then; unasked it says every five minutes that it is there.
#[test]
fn a_candidate_answers_when_it_is_asked() {
    fixture::run(async {
        let mut world = World::new().await;
        let began = world.clock.instant();
        let (call, object) = world.update().await;
        assert_eq!(world.clock.instant() - began, Duration::from_mins(5));
        assert_eq!(object["metadata"]["resourceVersion"], "1");
        assert_eq!(object["spec"]["leaseName"], "kcm");
        let mut object = versioned(object, 2);
        call.reply(200, object.to_string()).await;
        // Its own write comes back, and then a question.
        world.seen("MODIFIED", &object).await;
        object = versioned(object, 3);
        object["spec"]["pingTime"] = "1970-01-01T00:06:00.000000Z".into();
        world.clock.sleep(Duration::from_mins(1)).await;
        world.seen("MODIFIED", &object).await;
        let asked = world.clock.instant();
        let (call, answer) = world.update().await;
        assert!(world.clock.instant() - asked < Duration::from_secs(1));
        assert_eq!(answer["metadata"]["resourceVersion"], "3");
        assert_eq!(answer["spec"]["pingTime"], object["spec"]["pingTime"]);
        let renewed = answer["spec"]["renewTime"].as_str().unwrap();
        assert!(renewed >= "1970-01-01T00:06:00", "{renewed}");
        call.reply(200, versioned(answer, 4).to_string()).await;
        let began = world.clock.instant();
        world.update().await;
        assert_eq!(world.clock.instant() - began, Duration::from_mins(5));
    });
}

/// The clock of the candidate is behind: an answer older than the question would be none to the API
/// server. And at the end it is told that there is no candidate any more.
#[test]
fn an_answer_is_no_older_than_the_question() {
    fixture::run(async {
        let mut world = World::new().await;
        let (call, object) = world.update().await;
        let mut object = versioned(object, 2);
        call.reply(200, object.to_string()).await;
        object["spec"]["pingTime"] = "1970-01-01T01:00:00.500000Z".into();
        world.seen("MODIFIED", &versioned(object, 3)).await;
        let (call, answer) = world.update().await;
        assert_eq!(answer["spec"]["renewTime"], "1970-01-01T01:00:00.500000Z");
        call.reply(200, versioned(answer, 4).to_string()).await;
        world.is_there.wait_for(|is_there| is_there.then_some(())).await;
        world.server.runtime.cancel.cancel();
        let (_, withdrawn) = world.update().await;
        assert_eq!(withdrawn["metadata"]["resourceVersion"], "4");
        assert_eq!(withdrawn["spec"]["renewTime"], "1970-01-01T00:00:00.000000Z");
        assert_eq!(withdrawn["spec"]["pingTime"], Value::Null);
    });
}

/// The API server asked while the candidate wrote: the answer is based on what is there. A deleted
/// object is made anew.
#[test]
fn what_is_there_is_read_after_a_conflict() {
    fixture::run(async {
        let mut world = World::new().await;
        let (call, object) = world.update().await;
        call.reply(409, status(409, "Conflict", "has been modified")).await;
        let read = world.server.call().await;
        assert_eq!((read.method.as_str(), &*read.path), ("GET", &*format!("{ALL}/me")));
        read.reply(200, versioned(object.clone(), 7).to_string()).await;
        let (call, again) = world.update().await;
        assert_eq!(again["metadata"]["resourceVersion"], "7");
        call.reply(200, versioned(again, 8).to_string()).await;
        world.seen("DELETED", &versioned(object, 9)).await;
        let create = world.server.call().await;
        assert_eq!((create.method.as_str(), &*create.path), ("POST", ALL));
    });
}

/// An API server that does not know candidates is asked again, and nothing else happens.
#[test]
fn a_refusal_is_tried_again_after_the_retry_period() {
    fixture::run(async {
        let mut world = World::new().await;
        let (call, _) = world.update().await;
        call.reply(500, status(500, "InternalError", "no")).await;
        let began = world.clock.instant();
        world.update().await;
        assert_eq!(world.clock.instant() - began, Duration::from_secs(2));
    });
}
