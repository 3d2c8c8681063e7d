//! Many watches, and what no client should send.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Context;

use futures::task::{ArcWake, waker};
use proptest::prelude::*;

use super::*;
use crate::shell::Body;

const PATH: &str =
    "(/api/v1|/apis/apps/v1)?(/watch)?(/namespaces/[a%/]{1,3})?/(pods|nodes|x)?[a-z%/]{0,8}";
const QUERY: &str = "((watch|limit|continue|labelSelector|fieldSelector|resourceVersion|\
                     timeoutSeconds|pretty)=?[a1%,=()!-]{0,9}&?){0,4}";
const ACCEPT: &str = "(application/json|\\*/\\*|[a-z/;=, ]{0,20})(;as=[A-Z]?[a-z]{0,5})?\
                      (;q=[0-9a.]{0,3})?";

/// Ten thousand watches take little, and a write to another table does not notify them.
#[tokio::test(start_paused = true)]
async fn many_watches() {
    const WATCHES: usize = 10_000;
    let world = World::new();
    world.put("n", "a", &json!({}));
    let path = |index| format!("/api/v1/pods?watch=1&fieldSelector=metadata.name%3Dp{index}");
    let mut watches: Vec<_> = (0..WATCHES).map(|index| world.watch(&path(index))).collect();
    assert_eq!(world.server.counts().watches, WATCHES);
    let bytes = size_of::<Watch>();
    assert!(bytes <= 200, "a watch takes {bytes} bytes");
    world.put("n", "p7", &json!({}));
    let told: Vec<_> = watches.iter_mut().filter_map(Watch::try_next).collect();
    assert_eq!(told.len(), 1);
    drop(watches);
    assert_eq!(world.server.counts().watches, 0);
}

/// A watch that waits holds its future and what that waits for.
#[test]
fn a_waiting_watch_is_small() {
    let world = World::new();
    let mut watch = world.watch("/api/v1/pods?watch=1");
    let bytes = size_of_val(&watch.next());
    assert!(bytes <= 500, "a watch that waits takes {bytes} bytes");
    assert!(size_of::<Body>() <= 64);
}

/// Counts how often a task is polled.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl ArcWake for Wakes {
    fn wake_by_ref(this: &Arc<Self>) {
        this.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A write notifies the watches of its table, and no others.
#[tokio::test(start_paused = true)]
async fn writes_notify_the_watches_of_their_table() {
    let world = World::new();
    let mut watch = world.watch("/api/v1/pods?watch=1");
    let mut next = Box::pin(watch.next());
    let wakes = Arc::new(Wakes::default());
    let waker = waker(wakes.clone());
    let mut context = Context::from_waker(&waker);
    assert!(next.as_mut().poll(&mut context).is_pending());
    world.touch();
    assert_eq!(wakes.0.load(Ordering::SeqCst), 0);
    world.put("n", "a", &json!({}));
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
    assert!(next.as_mut().poll(&mut context).is_ready());
}

#[test]
fn too_many_watches() {
    let world = World::with(Options { watches_max: 2, ..Options::default() });
    let watches = [world.watch("/api/v1/pods?watch=1"), world.watch("/api/v1/nodes?watch=1")];
    let response = world.respond("/api/v1/pods?watch=1", "*/*");
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &"1".parse().unwrap())
    );
    drop(watches);
    world.watch("/api/v1/pods?watch=1");
}

#[test]
fn large_bodies() {
    let world = World::with(Options { body_bytes_max: 100, ..Options::default() });
    let request = Request::new(Method::POST, "/api/v1/namespaces/a/pods", "");
    let Reply::Whole(answer) = world.server.answer(request.with_json(vec![b' '; 101])) else {
        panic!("a watch")
    };
    let status: Value = serde_json::from_slice(answer.body()).unwrap();
    assert_eq!(status["code"], 413);
    assert_eq!(status["message"], "Request entity too large: limit is 100");
    assert_eq!(status["reason"], "RequestEntityTooLarge");
}

/// Objects that no client may write, but a test may put.
#[test]
fn odd_objects() {
    let world = World::new();
    let odd = [
        json!(null),
        json!([]),
        json!({}),
        json!({"metadata": null}),
        json!({"metadata": {"labels": 5}}),
    ];
    for (index, object) in odd.into_iter().enumerate() {
        let key = Key::new("n", &format!("odd-{index}"));
        world.server.state().store.put(&"pods".into(), &key, object);
    }
    let forms = ["*/*", "application/json;as=Table;v=v1;g=meta.k8s.io"];
    let metadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    for form in forms.into_iter().chain([metadata]) {
        for query in ["", "labelSelector=a", "fieldSelector=metadata.name%3Dx"] {
            assert_eq!(world.get_as(&format!("/api/v1/pods?{query}"), form).0, 200);
        }
        let mut watch = world.watch_as("/api/v1/pods?watch=1&resourceVersion=1", form);
        assert_eq!(events(&watch.try_next().unwrap()).len(), 5);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is asked, there is a response with JSON in it.
    #[test]
    fn everything_is_answered(
        path in PATH,
        query in QUERY,
        accept in ACCEPT,
        method in "(GET|POST|PUT|PATCH|DELETE|HEAD)",
        body in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let world = World::new();
        world.put("a", "a", &json!({}));
        let mut request = Request::new(method.parse().unwrap(), &path, &query).with_json(body);
        request.headers.insert("accept", accept.parse().unwrap());
        match world.server.answer(request) {
            Reply::Whole(answer) => {
                prop_assert_ne!(answer.status(), 500);
                prop_assert!(serde_json::from_slice::<Value>(answer.body()).is_ok());
            }
            Reply::Watch(mut watch) => drop(watch.try_next()),
        }
    }
}
