//! An informer against a fake API server.

use std::sync::Arc;
use std::time::Duration;

use api::{Key, Pod, RootCa};
use controller::View;
use tokio::sync::mpsc;

use super::frames::{envelope, frame, pod_list, wire_pod};
use super::{json, pods, text};
use crate::fixture::{LIMIT, Server, Stream, bookmark, event, run, status};
use crate::{Informer, Listers, SharedInformerFactory, handler};

const STREAM: &str = "/api/v1/pods?allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan\
                      &sendInitialEvents=true&watch=true";
const FORBIDDEN: &str = "sendInitialEvents is forbidden for watch";

fn stream_at(version: u64) -> String {
    format!(
        "/api/v1/pods?allowWatchBookmarks=true&resourceVersion={version}\
         &resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true"
    )
}

fn watch_from(version: u64) -> String {
    format!("/api/v1/pods?allowWatchBookmarks=true&resourceVersion={version}&watch=true")
}

/// An informer of pods, and the notifications of its handlers.
struct Test {
    server: Server,
    informer: Arc<Informer>,
    heard: mpsc::UnboundedReceiver<String>,
}

impl Test {
    fn new() -> Self {
        let server = Server::default();
        let informer =
            Arc::new(Informer::new::<Pod>(server.client.clone(), server.runtime.clone()));
        let (sender, heard) = mpsc::unbounded_channel();
        let changes = sender.clone();
        informer.add_handler(handler::<Pod>(move |change| changes.send(text(change)).unwrap()));
        informer.on_version(Box::new(move |version| {
            sender.send(format!("at {version}")).unwrap();
        }));
        informer.start();
        Self { server, informer, heard }
    }

    /// A test whose cache holds a@5 and b@6, and watches from 10.
    async fn watching() -> (Self, Stream) {
        let mut test = Self::new();
        let mut stream = test.server.json(STREAM).await;
        for (name, version) in [("a", 5), ("b", 6)] {
            stream.send(event("ADDED", &json(name, name, version))).await;
        }
        stream.send(bookmark(10, true)).await;
        test.hears(&["+ default/a@5", "+ default/b@6", "at 10"]).await;
        (test, stream)
    }

    /// The next notifications.
    async fn hears(&mut self, expected: &[&str]) {
        for expected in expected {
            let clock = &self.server.runtime.clock;
            let heard = clock.timeout(LIMIT, self.heard.recv()).await.unwrap().unwrap();
            assert_eq!(heard, *expected);
        }
    }

    fn held(&self) -> Vec<String> {
        let pods = pods(&*self.informer).all();
        pods.iter().map(|p| format!("{}@{}", p.meta.key.name, p.meta.resource_version)).collect()
    }

    fn error(&self) -> Option<String> {
        self.informer.status().failing.map(|failing| failing.error)
    }
}

/// reflector_watchlist_test.go, TestWatchList: the cache shows the list at once, and the response
/// continues as the watch.
#[test]
fn streams_the_list_then_watches() {
    run(async {
        let mut test = Test::new();
        let call = test.server.call().await;
        assert_eq!(call.without_timeout(), STREAM);
        assert!((300..600).contains(&call.timeout().unwrap()), "{}", call.path);
        assert_eq!(call.accept, "application/vnd.kubernetes.protobuf, application/json");
        let mut stream = call.answer(200, "application/json");
        stream.send(event("ADDED", &json("b", "b1", 6))).await;
        stream.send(event("ADDED", &json("a", "a1", 5))).await;
        stream.send(event("ADDED", &json("x", "x1", 4))).await;
        stream.send(event("MODIFIED", &json("a", "a1", 8))).await;
        stream.send(event("DELETED", &json("x", "x1", 9))).await;
        assert!(!test.informer.synced(Duration::from_secs(5)).await);
        assert!(test.held().is_empty(), "nothing shows before all is there");

        stream.send(bookmark(10, true)).await;
        assert!(test.informer.synced(LIMIT).await);
        test.hears(&["+ default/a@8", "+ default/b@6", "at 10"]).await;

        stream.send(event("ADDED", &json("c", "c1", 11))).await;
        stream.send(event("MODIFIED", &json("a", "a1", 12))).await;
        stream.send(event("DELETED", &json("b", "b1", 13))).await;
        stream.send(bookmark(20, false)).await;
        let heard = ["+ default/c@11", "at 11", "~ default/a@8>12", "at 12", "- default/b@13"];
        test.hears(&heard).await;
        test.hears(&["at 13", "at 20"]).await;
        assert_eq!(test.held(), ["a@12", "c@11"]);

        drop(stream);
        let mut stream = test.server.json(&watch_from(20)).await;
        stream.send(event("ADDED", &json("d", "d1", 21))).await;
        test.hears(&["+ default/d@21", "at 21"]).await;
        stream.abort();
        test.server.json(&watch_from(21)).await;
        let status = test.informer.status();
        assert_eq!((status.synced, status.objects, status.version), (true, 3, 21));
        assert_eq!((status.relists, status.failing), (0, None));
        assert!(status.last_event.is_some());
    });
}

/// reflector.go: any failure but refused and 429 falls back to a list, at once, and without an
/// error for the operator; pager.go: pages.
#[test]
fn falls_back_to_pages() {
    run(async {
        let mut test = Test::new();
        test.server.error(STREAM, 400, "Invalid", FORBIDDEN).await;
        let mut page = test.server.json("/api/v1/pods?limit=500").await;
        let list = format!(
            r#"{{"kind":"PodList","items":[{}],"metadata":{{"resourceVersion":"10","continue":"a+/="}}}}"#,
            json("b", "b1", 6)
        );
        page.send(list).await;
        drop(page);
        let mut page = test.server.json("/api/v1/pods?continue=a%2B%2F%3D&limit=500").await;
        assert!(test.held().is_empty(), "nothing shows before all is there");
        let items = [json("a", "a1", 5), json("c", "c1", 7)].join(" , ");
        page.send(format!(r#"{{"metadata":{{"resourceVersion":"10"}}, "items":[ {items}]}}"#))
            .await;
        drop(page);
        test.hears(&["+ default/a@5", "+ default/b@6", "+ default/c@7", "at 10"]).await;
        assert_eq!(test.error(), None);
        test.server.json(&watch_from(10)).await;
    });
}

/// A kind that selects some objects of a resource requests no others, in each type of request.
#[test]
fn asks_only_for_what_the_kind_selects() {
    run(async {
        let mut server = Server::default();
        Arc::new(Informer::new::<RootCa>(server.client.clone(), server.runtime.clone())).start();
        let selected = |query: &str| {
            let fields = "fieldSelector=metadata.name%3Dkube-root-ca.crt";
            format!("/api/v1/configmaps?{query}{fields}")
        };
        let list = |version: &str, more: &str| {
            format!(r#"{{"metadata":{{"resourceVersion":"{version}"{more}}},"items":[]}}"#)
        };
        let stream = STREAM.trim_start_matches("/api/v1/pods?").to_owned() + "&";
        server.error(&selected(&stream), 400, "Invalid", FORBIDDEN).await;
        let first = selected("limit=500&");
        server.json(&first).await.send(list("10", r#","continue":"a""#)).await;
        server.json(&selected("continue=a&limit=500&")).await.send(list("10", "")).await;
        let watch = watch_from(10);
        let watch = watch.trim_start_matches("/api/v1/pods?").to_owned() + "&";
        server.json(&selected(&watch)).await;
    });
}

/// machinery.md, Reflector and Queue: 410 causes a relist at the last version, and deletions come
/// first; an unchanged object stays the same in memory.
#[test]
fn lists_again_after_410() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        let b = pods(&*test.informer).get(&Key::new("default", "b")).unwrap();
        let sent = test.server.runtime.clock.instant();
        stream.send(event("ERROR", &status(410, "Expired", "too old resource version"))).await;
        let call = test.server.call().await;
        let delay = call.at.duration_since(sent).as_millis();
        assert!((800..1600).contains(&delay), "waited {delay} ms");
        assert_eq!(call.without_timeout(), stream_at(10));
        call.answer(410, "application/json").send(status(410, "Expired", "too old")).await;

        let mut stream = test.server.json(STREAM).await;
        for (name, uid, version) in [("0", "0", 21), ("a", "a2", 22), ("b", "b", 6)] {
            stream.send(event("ADDED", &json(name, uid, version))).await;
        }
        stream.send(bookmark(30, true)).await;
        test.hears(&["- default/a@5", "+ default/0@21", "+ default/a@22", "at 30"]).await;
        assert!(Arc::ptr_eq(&b, &pods(&*test.informer).get(&b.meta.key).unwrap()));
        let status = test.informer.status();
        assert_eq!((status.relists, status.failing), (1, None));
    });
}

/// TestBackoffOnTooManyRequests and isWatchErrorRetriable: the delays are 800 ms doubled, plus a
/// random part of up to as much again, and the watch continues from where it was.
#[test]
fn backs_off_while_refused() {
    run(async {
        let (mut test, stream) = Test::watching().await;
        test.server.runtime.clock.sleep(Duration::from_secs(5)).await;
        drop(stream);
        let mut last = None;
        for delay in [0, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000] {
            let call = test.server.call().await;
            assert_eq!(call.without_timeout(), watch_from(10));
            let waited = last.map_or(0, |last| call.at.duration_since(last).as_millis());
            assert!((delay..=2 * delay).contains(&waited), "{delay}: waited {waited} ms");
            last = Some(call.at);
            call.refuse();
        }
        let call = test.server.call().await;
        assert!(test.error().unwrap().contains("connection refused"), "{:?}", test.error());
        let mut stream = call.answer(200, "application/json");
        stream.send(event("ADDED", &json("c", "c", 11))).await;
        test.hears(&["+ default/c@11", "at 11"]).await;
        assert_eq!(test.error(), None);
        assert_eq!(test.informer.status().relists, 0);
    });
}

/// Ours: a list from a stale server is refused, by stream and by list; the cache stays.
#[test]
fn a_stale_list_is_refused() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        stream.send(event("MODIFIED", &json("a", "a", 15))).await;
        test.hears(&["~ default/a@5>15", "at 15"]).await;
        stream.send(event("ERROR", &status(500, "InternalError", "etcd"))).await;
        let mut stream = test.server.json(&stream_at(15)).await;
        assert_eq!(test.error().as_deref(), Some("etcd"));
        stream.send(event("ADDED", &json("a", "a", 5))).await;
        stream.send(bookmark(12, true)).await;

        test.server.error(STREAM, 400, "Invalid", FORBIDDEN).await;
        let older = "the server's list is of version 12, older than 15 seen before";
        assert_eq!(test.error().as_deref(), Some(older));
        let mut list = test.server.json("/api/v1/pods?limit=500").await;
        list.send(r#"{"metadata":{"resourceVersion":"14"},"items":[]}"#).await;
        drop(list);

        // A faulty server: ask for the latest state.
        let mut stream = test.server.json(STREAM).await;
        assert_eq!(test.held(), ["a@15", "b@6"]);
        stream.send(event("ADDED", &json("a", "a", 15))).await;
        stream.send(bookmark(16, true)).await;
        test.hears(&["- default/b@6", "at 16"]).await;
        assert_eq!(test.error(), None);
    });
}

/// An unreadable object still counts, so that no controller creates it again.
#[test]
fn holds_broken_objects() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        let broken = json("c", "c", 11).replace(r#""phase":"Running""#, r#""phase":[7]"#);
        stream.send(event("ADDED", &broken)).await;
        stream.send(event("ADDED", r#"{"metadata":{"name":"x","resourceVersion":"y"}}"#)).await;
        stream.send(event("MODIFIED", &json("a", "a", 12))).await;
        test.hears(&["+ default/c@11", "at 11", "~ default/a@5>12", "at 12"]).await;
        assert_eq!(test.held(), ["a@12", "b@6", "c@11"]);
        assert_eq!(test.informer.status().unreadable, 2);

        // Its last state is unreadable too: handlers get the cached state.
        stream.send(event("DELETED", &broken.replace("11", "13"))).await;
        test.hears(&["- default/c@11", "at 13"]).await;
        assert_eq!(test.informer.status().unreadable, 1);
    });
}

/// An object whose metadata becomes unreadable still exists while a list names it: its cached state
/// stays, by stream and by list, until a deletion is reported.
#[test]
fn an_unreadable_object_is_not_deleted() {
    run(async {
        let broken = |version: u64| {
            let meta = r#""resourceVersion":"none","#;
            json("a", "a", version).replace(r#""name":"a","#, &format!(r#""name":"a",{meta}"#))
        };
        let broken =
            |version| broken(version).replace(&format!(r#","resourceVersion":"{version}""#), "");
        let (mut test, mut stream) = Test::watching().await;
        stream.send(event("MODIFIED", &broken(11))).await;
        stream.send(event("ERROR", &status(500, "InternalError", "etcd"))).await;
        let mut stream = test.server.json(&stream_at(10)).await;
        stream.send(event("ADDED", &broken(11))).await;
        stream.send(event("ADDED", &json("b", "b", 6))).await;
        stream.send(bookmark(20, true)).await;
        test.hears(&["at 20"]).await;
        assert_eq!(test.held(), ["a@5", "b@6"]);
        assert_eq!(test.informer.status().unreadable, 1);

        stream.send(event("ERROR", &status(500, "InternalError", "etcd"))).await;
        test.server.error(&stream_at(20), 400, "Invalid", FORBIDDEN).await;
        let mut list = test.server.json("/api/v1/pods?resourceVersion=20").await;
        let items = [broken(11), broken(11).replace(r#""name":"a""#, r#""name":"new""#)].join(",");
        list.send(format!(r#"{{"metadata":{{"resourceVersion":"30"}},"items":[{items}]}}"#)).await;
        drop(list);
        test.hears(&["- default/b@6", "at 30"]).await;
        assert_eq!(test.held(), ["a@5"], "an object that was never readable is not held");

        let mut stream = test.server.json(&watch_from(30)).await;
        stream.send(event("DELETED", &broken(31))).await;
        stream.send(event("DELETED", &broken(32).replace(r#""name":"a""#, r#""name":"x""#))).await;
        stream.send(bookmark(33, false)).await;
        test.hears(&["- default/a@5", "at 33"]).await;
    });
}

/// Without a name it is unknown which object is unreadable: the list is refused with an error, and
/// the cache stays.
#[test]
fn a_list_with_a_nameless_object_is_refused() {
    run(async {
        let nameless = r#"{"metadata":{"name":["a"],"resourceVersion":"11"}}"#;
        let said = "neither an object nor its name can be read: metadata.name: invalid \
                    type: sequence, expected a string";
        let (mut test, mut stream) = Test::watching().await;
        stream.send(event("MODIFIED", nameless)).await;
        let mut stream = test.server.json(&stream_at(10)).await;
        assert!(test.error().unwrap().starts_with(said), "{:?}", test.error());
        stream.send(event("ADDED", nameless)).await;
        let mut list = test.server.json("/api/v1/pods?resourceVersion=10").await;
        let text = format!(r#"{{"metadata":{{"resourceVersion":"30"}},"items":[{nameless}]}}"#);
        list.send(text).await;
        drop(list);
        let _next = test.server.json(&stream_at(10)).await;
        assert!(test.error().unwrap().starts_with(said), "{:?}", test.error());
        assert_eq!(test.held(), ["a@5", "b@6"]);
    });
}

/// A server may begin a watch at a version that it has not reached; that watch brings nothing.
#[test]
fn lists_after_a_watch_that_brought_nothing() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        stream.send(event("MODIFIED", &json("a", "a", 15))).await;
        test.hears(&["~ default/a@5>15", "at 15"]).await;
        drop(stream);
        let mut quiet = test.server.json(&watch_from(15)).await;
        quiet.send(bookmark(15, false)).await;
        test.server.runtime.clock.sleep(Duration::from_mins(5)).await;
        drop(quiet);
        // A bookmark is enough, but not one of a version that is already passed.
        let mut behind = test.server.json(&watch_from(15)).await;
        behind.send(bookmark(12, false)).await;
        test.server.runtime.clock.sleep(Duration::from_mins(5)).await;
        drop(behind);
        test.server.json(&stream_at(15)).await;
    });
}

/// The same in protobuf, byte by byte.
#[test]
fn reads_protobuf_in_small_pieces() {
    run(async {
        let mut test = Test::new();
        test.server.error(STREAM, 400, "Invalid", FORBIDDEN).await;
        let protobuf = "application/vnd.kubernetes.protobuf";
        let mut page = test.server.call().await.answer(200, protobuf);
        for byte in pod_list(&[wire_pod("a", 5), wire_pod("b", 6)], 10) {
            page.send([byte]).await;
        }
        drop(page);
        test.hears(&["+ default/a@5", "+ default/b@6", "at 10"]).await;

        let call = test.server.call().await;
        let mut stream = call.answer(200, "application/vnd.kubernetes.protobuf;stream=watch");
        let pod = |version| envelope("Pod", &wire_pod("a", version));
        for (kind, object) in [("DELETED", pod(11)), ("ADDED", pod(12)), ("BOOKMARK", pod(20))] {
            for byte in frame(kind, &object) {
                stream.send([byte]).await;
            }
        }
        test.hears(&["- default/a@5", "at 11", "+ default/a@12", "at 12", "at 20"]).await;
        drop(stream);
        test.server.json(&watch_from(20)).await;
    });
}

/// A connection that is silent long after the watch's timeout is broken.
#[test]
fn leaves_a_silent_watch() {
    run(async {
        let (mut test, stream) = Test::watching().await;
        drop(stream);
        // The stream ended within a second without an event: a new round.
        let mut stream = test.server.json(&stream_at(10)).await;
        stream.send(event("ADDED", &json("a", "a", 5))).await;
        stream.send(bookmark(10, true)).await;
        test.hears(&["- default/b@6"]).await;
        let opened = test.server.runtime.clock.instant();
        let call = test.server.call().await;
        let silence = call.at.duration_since(opened).as_secs();
        assert!((330..630).contains(&silence), "silent for {silence} s");
        assert_eq!(call.without_timeout(), stream_at(10));

        // The same before the response begins; that is an error.
        let mut stream = call.answer(200, "application/json");
        stream.send(event("ADDED", &json("a", "a", 5))).await;
        stream.send(bookmark(10, true)).await;
        stream.send(bookmark(10, false)).await;
        test.server.runtime.clock.sleep(Duration::from_secs(2)).await;
        drop(stream);
        let call = test.server.call().await;
        assert_eq!(call.without_timeout(), watch_from(10));
        let (asked, timeout) = (call.at, call.timeout().unwrap());
        let call = test.server.call().await;
        let waited = call.at.duration_since(asked).as_millis();
        let delays = u128::from(timeout + 30) * 1000;
        assert!((delays + 800..delays + 4800).contains(&waited), "waited {waited} ms");
        assert_eq!(call.without_timeout(), stream_at(10));
        // A list takes effect as a whole, or not at all.
        let mut stream = call.answer(200, "application/json");
        let opened = test.server.runtime.clock.instant();
        stream.send(event("ADDED", &json("a", "a", 5))).await;
        let call = test.server.call().await;
        assert!(call.at.duration_since(opened) < Duration::from_mins(2));
        assert_eq!(test.held(), ["a@5"]);
    });
}

/// Issue 8: a new leader must not act on a watch that may be stale.
#[test]
fn a_renewed_cache_is_as_new_as_the_server() {
    run(async {
        let (mut test, _quiet) = Test::watching().await;
        assert!(test.informer.has_synced());
        test.informer.renew();
        assert!(!test.informer.has_synced());
        // Until the new list is complete, the cache shows what it has.
        let mut second = test.server.json(STREAM).await;
        second.send(event("ADDED", &json("a", "a", 5))).await;
        assert_eq!(test.held(), ["a@5", "b@6"]);
        // A list that began before the renewal was requested is not enough.
        test.informer.renew();
        let mut stream = test.server.json(STREAM).await;
        for (name, version) in [("a", 5), ("c", 11)] {
            stream.send(event("ADDED", &json(name, name, version))).await;
        }
        assert!(!test.informer.has_synced());
        stream.send(bookmark(12, true)).await;
        assert!(test.informer.synced(LIMIT).await);
        assert_eq!(test.held(), ["a@5", "c@11"]);
        test.hears(&["- default/b@6", "+ default/c@11", "at 12"]).await;
    });
}

/// A cache in back-off after a failure lists at once as well.
#[test]
fn a_failing_cache_is_renewed_at_once() {
    run(async {
        let mut test = Test::new();
        test.server.call().await.refuse();
        test.informer.renew();
        let mut stream = test.server.json(STREAM).await;
        stream.send(bookmark(3, true)).await;
        assert!(test.informer.synced(LIMIT).await);
    });
}

#[test]
fn shows_why_it_cannot_list() {
    run(async {
        let mut test = Test::new();
        let forbidden = "pods is forbidden: User \\\"x\\\" cannot list resource \\\"pods\\\"";
        for _ in 0..2 {
            test.server.error(STREAM, 403, "Forbidden", forbidden).await;
            let list = "/api/v1/pods?limit=500";
            test.server.error(list, 403, "Forbidden", forbidden).await;
        }
        test.server.call().await.refuse();
        let failing = test.informer.status().failing.unwrap();
        let text = "pods is forbidden: User \"x\" cannot list resource \"pods\"";
        assert_eq!(failing.error, text);
        test.server.call().await;
        let later = test.informer.status().failing.unwrap();
        assert!(later.error.contains("connection refused"), "{}", later.error);
        assert_eq!(later.since, failing.since, "since the first of them");
        assert!(!test.informer.has_synced());
    });
}

/// A response that cannot be parsed fails the round and does not stop the informer.
#[test]
fn survives_nonsense() {
    run(async {
        let mut test = Test::new();
        let list = "/api/v1/pods?limit=500";
        test.server.json(STREAM).await.send("<html>\n").await;
        test.server.json(list).await.send(r#"{"items":[],"metadata":{}}"#).await;
        test.server.json(STREAM).await.send(event("ERROR", "7")).await;
        assert_eq!(test.error().as_deref(), Some("a list of resourceVersion \"\""));
        test.server.json(list).await.send(r#"{"items":[{"#).await;
        test.server.json(STREAM).await.send(event("BOOKMARK", "{}")).await;
        assert_eq!(test.error().as_deref(), Some("the response ended early"));
        test.server.json(list).await.send(r#"{"metadata":{"resourceVersion":"3"}}"#).await;
        assert!(test.informer.synced(LIMIT).await);
        test.hears(&["at 3"]).await;
    });
}

/// Handlers get all of a long list, in pieces, between which other tasks run.
#[test]
fn notifies_a_long_list_in_order() {
    run(async {
        let mut test = Test::new();
        let mut stream = test.server.json(STREAM).await;
        for n in 0..600 {
            stream.send(event("ADDED", &json(&format!("p{n:03}"), &n.to_string(), n + 1))).await;
        }
        stream.send(bookmark(700, true)).await;
        assert!(test.informer.synced(LIMIT).await);
        for n in 0..600 {
            assert_eq!(test.heard.try_recv().unwrap(), format!("+ default/p{n:03}@{}", n + 1));
        }
        assert_eq!(test.heard.try_recv().unwrap(), "at 700");
    });
}

#[test]
fn fences_handlers() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        test.informer.add_handler(Box::new(|_| panic!("a bug in a handler")));
        test.informer.on_version(Box::new(|_| panic!("a bug in a hook")));
        let (sender, mut second) = mpsc::unbounded_channel();
        let informer = Arc::clone(&test.informer);
        test.informer.add_handler(handler::<Pod>(move |change| {
            let held = pods(&*informer).get(&change.object().meta.key).is_some();
            sender.send((text(change), held)).unwrap();
        }));
        stream.send(event("ADDED", &json("c", "c", 11))).await;
        stream.send(event("DELETED", &json("c", "c", 12))).await;
        test.hears(&["+ default/c@11", "at 11", "- default/c@12", "at 12"]).await;
        assert_eq!(second.recv().await.unwrap(), ("+ default/c@11".to_owned(), true));
        assert_eq!(second.recv().await.unwrap(), ("- default/c@12".to_owned(), false));
    });
}

#[test]
fn ends_when_cancelled() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        test.server.runtime.cancel.cancel();
        let ended = async { while stream.try_send("\n").await.is_ok() {} };
        assert!(test.server.runtime.clock.timeout(LIMIT, ended).await.is_ok());
        assert_eq!(test.held(), ["a@5", "b@6"], "the cache can still be read");
        // The task has dropped all it held; the handlers' channel stays with the informer.
        assert_eq!(Arc::strong_count(&test.informer), 1);
        assert!(test.heard.try_recv().is_err());
    });
}

/// shared_informer.go, `AddEventHandler`: cached objects come as added, whenever the handler
/// subscribes.
#[test]
fn a_later_subscriber_gets_the_cached_objects_and_then_changes() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        stream.send(event("DELETED", &json("b", "b", 11))).await;
        test.hears(&["- default/b@11", "at 11"]).await;
        let (sender, mut second) = mpsc::unbounded_channel();
        let versions = sender.clone();
        let handler = handler::<Pod>(move |change| {
            // The other handlers are still notified of it.
            assert_ne!(&*change.object().meta.key.name, "poison");
            sender.send(text(change)).unwrap();
        });
        let hook = Box::new(move |version| versions.send(format!("at {version}")).unwrap());
        test.informer.subscribe(handler, hook).await;
        stream.send(event("ADDED", &json("poison", "c", 12))).await;
        stream.send(event("MODIFIED", &json("a", "a", 13))).await;
        test.hears(&["+ default/poison@12", "at 12", "~ default/a@5>13", "at 13"]).await;
        let mut heard = Vec::new();
        while let Ok(line) = second.try_recv() {
            heard.push(line);
        }
        assert_eq!(heard, ["+ default/a@5", "at 11", "at 12", "~ default/a@5>13", "at 13"]);
    });
}

/// Before the first list there is nothing to notify.
#[test]
fn a_subscriber_before_the_list_gets_it_once() {
    run(async {
        let mut test = Test::new();
        let (sender, mut heard) = mpsc::unbounded_channel();
        let versions = sender.clone();
        let handler = handler::<Pod>(move |change| sender.send(text(change)).unwrap());
        let hook = Box::new(move |version| versions.send(format!("at {version}")).unwrap());
        test.informer.subscribe(handler, hook).await;
        let mut stream = test.server.json(STREAM).await;
        stream.send(event("ADDED", &json("a", "a", 5))).await;
        stream.send(bookmark(10, true)).await;
        test.hears(&["+ default/a@5", "at 10"]).await;
        assert_eq!(heard.recv().await.unwrap(), "+ default/a@5");
        assert_eq!(heard.recv().await.unwrap(), "at 10");
        assert!(heard.try_recv().is_err());
    });
}

/// For a controller that must not take our own partition for failures of others: how old the last
/// data about a kind is. The wall clock plays no part in it.
#[test]
fn the_last_data_is_a_list_an_event_or_a_bookmark() {
    run(async {
        let mut test = Test::new();
        let clock = test.server.runtime.clock.clone();
        let mut listers = Listers::default();
        listers.add::<Pod>(Arc::clone(&test.informer) as _);
        let silence = || {
            clock.set_wall(-3_600_000);
            View::new(clock.now(), clock.uptime(), &listers).silence::<Pod>()
        };
        let second = Duration::from_secs(1);
        let mut stream = test.server.json(STREAM).await;
        stream.send(event("ADDED", &json("a", "a", 5))).await;
        clock.sleep(second).await;
        assert_eq!(silence(), None, "the list has not come whole");
        let words = [
            bookmark(10, true),
            event("MODIFIED", &json("a", "a", 11)),
            // At a version that is known already.
            event("MODIFIED", &json("a", "a", 11)),
            bookmark(11, false),
        ];
        for word in words {
            stream.send(&word).await;
            clock.sleep(second / 2).await;
            assert_eq!(silence(), Some(second / 2), "{word}");
        }
        // Neither the end of a watch nor an unreachable server counts as data.
        drop(stream);
        let call = test.server.call().await;
        call.refuse();
        clock.sleep(60 * second).await;
        assert_eq!(silence(), Some(60 * second + second / 2));
    });
}

/// machinery.md, shared informers: `--min-resync-period`.
#[test]
fn a_resync_notifies_of_every_cached_object() {
    run(async {
        let (mut test, _stream) = Test::watching().await;
        test.informer.notify_all().await;
        test.hears(&["~ default/a@5>5", "~ default/b@6>6"]).await;
        assert_eq!(test.held(), ["a@5", "b@6"]);
    });
}

/// The period is one to two times the shortest, the same for all informers.
#[test]
fn a_factory_resyncs_again_and_again() {
    run(async {
        let mut server = Server::default();
        let clock = server.runtime.clock.clone();
        let minute = Duration::from_mins(1);
        let mut factory = SharedInformerFactory::new(server.client.clone(), server.runtime.clone())
            .with_resync(minute);
        let (sender, mut heard) = mpsc::unbounded_channel();
        factory.informer::<Pod>().add_handler(handler::<Pod>(move |change| {
            sender.send(text(change)).unwrap();
        }));
        factory.start();
        let mut stream = server.json(STREAM).await;
        stream.send(event("ADDED", &json("a", "a", 5))).await;
        stream.send(bookmark(10, true)).await;
        assert_eq!(heard.recv().await.unwrap(), "+ default/a@5");
        let mut last = clock.instant();
        for _ in 0..2 {
            assert_eq!(heard.recv().await.unwrap(), "~ default/a@5>5");
            let took = clock.instant() - last;
            assert!((minute..minute * 2 + LIMIT).contains(&took), "{took:?}");
            last = clock.instant();
        }
    });
}
