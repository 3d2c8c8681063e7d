//! Watches, by virtual time.

use std::time::Duration;

use super::*;

/// Rows of upstream's RunTestWatch and RunWatchSemantics (storage/testing/watcher_tests.go) and of
/// TestGetAllEventsSinceLocked: pods at 2 and 3, one of them changed at 4, removed at 5.
#[test]
fn where_watches_begin() {
    let rows = [
        ("", "ADDED b@3"),
        ("resourceVersion=0", "ADDED b@3"),
        ("allowWatchBookmarks=1", "ADDED b@3, BOOKMARK 5 end"),
        ("resourceVersion=1", "ADDED a@2, ADDED b@3, MODIFIED a@4, DELETED a@5"),
        ("resourceVersion=3", "MODIFIED a@4, DELETED a@5"),
        ("resourceVersion=5", ""),
        ("resourceVersion=9", ""),
        ("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", ""),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=3\
             &allowWatchBookmarks=true",
            "ADDED b@3, BOOKMARK 5 end",
        ),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "ADDED b@3"),
        (
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=9",
            "ERROR 504 Timeout: Too large resource version: 9, current: 5",
        ),
        // Selectors: an object comes and goes with its labels, at the version of the change.
        ("resourceVersion=1&labelSelector=app%3Dx", "ADDED a@2, ADDED b@3, DELETED a@4"),
        ("resourceVersion=1&labelSelector=app%3Dy", "ADDED a@4, DELETED a@5"),
        (
            "resourceVersion=1&fieldSelector=metadata.name%3Da",
            "ADDED a@2, MODIFIED a@4, DELETED a@5",
        ),
        ("fieldSelector=metadata.name%3Db", "ADDED b@3"),
        ("resourceVersion=1&fieldSelector=metadata.namespace%3Dother", ""),
    ];
    for (query, want) in rows {
        let world = World::new();
        world.put("n", "a", &json!({"app": "x"}));
        world.put("n", "b", &json!({"app": "x"}));
        world.put("n", "a", &json!({"app": "y"}));
        world.remove("n", "a");
        let mut watch = world.watch(&format!("/api/v1/pods?watch=1&{query}"));
        assert_eq!(drain(&mut watch), want, "{query}");
        let mut watch = world.watch(&format!("/api/v1/watch/namespaces/n/pods?{query}"));
        assert_eq!(drain(&mut watch), want, "{query} in its namespace");
        let mut watch = world.watch(&format!("/api/v1/namespaces/m/pods?watch=1&{query}"));
        let silent = |text: &String| !text.contains("ADDED") && !text.contains("DELETED");
        assert!(Some(drain(&mut watch)).is_some_and(|text| silent(&text)), "{query} elsewhere");
    }
}

/// A watch that begins before the history gets a 410 in the stream, and ends.
#[tokio::test(start_paused = true)]
async fn too_old() {
    let world = World::new();
    for _ in 0..10 {
        world.put("n", "a", &json!({}));
    }
    world.server.compact(8);
    let mut watch = world.watch("/api/v1/pods?watch=1&resourceVersion=5");
    assert_eq!(drain(&mut watch), "ERROR 410 too old resource version: 5 (8)");
    assert_eq!(watch.next().await, None);
    let mut watch = world.watch("/api/v1/pods?watch=1&resourceVersion=8");
    assert_eq!(drain(&mut watch), "MODIFIED a@9, MODIFIED a@10, MODIFIED a@11");
}

/// A slow reader gets the same when the history has advanced without it, also in the middle of what
/// was there at the start.
#[test]
fn slow_readers() {
    let options = || Options { history_max: 5, ..Options::default() };
    let world = World::with(options());
    let mut watch = world.watch("/api/v1/pods?watch=1");
    assert_eq!(drain(&mut watch), "");
    for _ in 0..6 {
        world.put("n", "a", &json!({}));
    }
    assert_eq!(drain(&mut watch), "ERROR 410 too old resource version: 1 (2)");

    let world = World::with(options());
    let big = json!({"big": "x".repeat(50_000)});
    for name in ["a", "b", "c", "d"] {
        world.put("n", name, &big);
    }
    let mut watch = world.watch("/api/v1/pods?watch=1&allowWatchBookmarks=1");
    let first = watch.try_next().unwrap();
    assert_eq!(events(&first).len(), 2, "a chunk is bounded");
    world.remove("n", "d");
    world.put("n", "c", &json!({}));
    // The rest of the start is as it was then; what changed comes after it.
    assert_eq!(
        drain(&mut watch),
        "ADDED c@4, ADDED d@5, BOOKMARK 5 end, DELETED d@6, MODIFIED c@7"
    );
    let mut watch = world.watch("/api/v1/pods?watch=1");
    for name in ["e", "f"] {
        world.put("n", name, &big);
    }
    watch.try_next().unwrap();
    for _ in 0..6 {
        world.put("n", "a", &json!({}));
    }
    assert_eq!(drain(&mut watch), "ERROR 410 too old resource version: 7 (10)");
}

/// Writes notify the watches of their table, and no others; the end comes by itself.
#[tokio::test(start_paused = true)]
async fn watches_wait() {
    let world = World::new();
    let clock = world.server.shared.runtime.clock.clone();
    let started = clock.instant();
    let mut watch = world.watch("/api/v1/pods?watch=1&resourceVersion=1&timeoutSeconds=100");
    let server = world.server.clone();
    let writer = World { server: world.server.clone() };
    let task = runtime::spawn("writer", async move {
        server.shared.runtime.clock.sleep(Duration::from_secs(10)).await;
        writer.touch();
        server.shared.runtime.clock.sleep(Duration::from_secs(10)).await;
        writer.put("n", "a", &json!({}));
    });
    let chunk = watch.next().await.unwrap();
    assert_eq!(events(&chunk).iter().map(show).collect::<Vec<_>>(), ["ADDED a@3"]);
    assert_eq!(clock.instant() - started, Duration::from_secs(20));
    task.await.unwrap();
    assert_eq!(world.server.counts().watches, 1);
    assert_eq!(watch.next().await, None);
    assert_eq!(clock.instant() - started, Duration::from_secs(100));
    drop(watch);
    assert_eq!(world.server.counts().watches, 0);
}

/// A faster clock ends watches sooner whose clients say when, and no others.
#[tokio::test(start_paused = true)]
async fn watches_of_a_faster_world() {
    let minute = std::num::NonZeroU32::new(60).unwrap();
    let runtime = runtime::Runtime::faster(api::Time::EPOCH, minute);
    let world = World { server: Server::empty(&runtime, Options::default()) };
    let clock = runtime::Clock::system();
    for (query, least, most) in [("&timeoutSeconds=600", 10, 11), ("", 1800, 3601)] {
        let started = clock.instant();
        let mut watch = world.watch(&format!("/api/v1/pods?watch=1{query}"));
        assert_eq!(watch.next().await, None);
        let took = (clock.instant() - started).as_secs();
        assert!((least..most).contains(&took), "{query}: {took}");
    }
}

/// Bookmarks come each minute and 2 seconds before the end (TestCacheWatcher's nextBookmarkTime),
/// and say how far the watch is though nothing that it selects has changed.
#[tokio::test(start_paused = true)]
async fn bookmarks() {
    let world = World::new();
    let clock = world.server.shared.runtime.clock.clone();
    let started = clock.instant();
    let query = "watch=1&resourceVersion=1&timeoutSeconds=150&allowWatchBookmarks=true";
    let mut watch = world.watch(&format!("/api/v1/pods?{query}&labelSelector=a%3Db"));
    let mut told = Vec::new();
    world.put("n", "a", &json!({}));
    while let Some(chunk) = watch.next().await {
        let seconds = (clock.instant() - started).as_secs();
        told.extend(events(&chunk).iter().map(|event| format!("{seconds} {}", show(event))));
        world.touch();
    }
    assert_eq!(told, ["60 BOOKMARK 2", "120 BOOKMARK 3", "148 BOOKMARK 4"]);
    assert_eq!((clock.instant() - started).as_secs(), 150);
}

/// Watches that do not say how long they want to last take half an hour to an hour.
#[tokio::test(start_paused = true)]
async fn timeouts() {
    let world = World::new();
    let clock = world.server.shared.runtime.clock.clone();
    let mut lengths = Vec::new();
    for query in ["timeoutSeconds=0", "timeoutSeconds=-1", "", "timeoutSeconds=9223372036854775807"]
    {
        let started = clock.instant();
        let mut watch = world.watch(&format!("/api/v1/pods?watch=1&{query}"));
        if query.ends_with('7') {
            assert_eq!(watch.try_next(), None);
            continue;
        }
        assert_eq!(watch.next().await, None);
        lengths.push((clock.instant() - started).as_secs());
    }
    assert!(lengths.iter().all(|seconds| (1800..3600).contains(seconds)), "{lengths:?}");
    lengths.dedup();
    assert_eq!(lengths.len(), 3, "they differ");
}

/// The end of the process ends watches.
#[tokio::test(start_paused = true)]
async fn cancelled() {
    let world = World::new();
    let mut watch = world.watch("/api/v1/pods?watch=1");
    world.server.shared.runtime.cancel.cancel();
    assert_eq!(watch.next().await, None);
}

/// Followers of many resources see one sequence.
#[tokio::test(start_paused = true)]
async fn followers() {
    let world = World::new();
    let resource = |plural: &str| {
        let state = world.server.state();
        state.registry.get("", "v1", plural).unwrap().resource.clone()
    };
    let resources = [resource("pods"), resource("nodes")];
    world.put("n", "a", &json!({}));
    world.touch();
    let show = |changes: &[(u64, crate::Change)]| {
        let one = |(_, change): &(u64, crate::Change)| {
            let gone = if change.gone { "-" } else { "" };
            format!("{gone}{}", change.object["metadata"]["name"].as_str().unwrap())
        };
        changes.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    let (changes, seen) = world.server.changes_since(0, &resources).unwrap();
    assert_eq!((&*show(&changes), seen), ("a n", 3));
    world.touch();
    world.remove("n", "a");
    world.touch();
    assert_eq!(world.server.changed(seen).await, 6);
    let (changes, seen) = world.server.changes_since(seen, &resources).unwrap();
    assert_eq!((&*show(&changes), seen), ("n -a n", 6));
    let (changes, _) = world.server.changes_since(seen, &resources).unwrap();
    assert!(changes.is_empty());
    world.server.compact(6);
    assert!(world.server.changes_since(2, &resources).is_err());
    assert!(world.server.changes_since(6, &resources).is_ok());
}

/// Saved, loaded, and watched on: what was before is too old.
#[test]
fn saved_and_loaded() {
    let runtime = Runtime::simulated(Time::EPOCH, 1);
    let world = World { server: Server::new(&runtime, Options::default()) };
    let old = world.put("n", "a", &json!({}));
    world.touch();
    let now = old + 1;
    let loaded = Server::load(&runtime, Options::default(), &world.server.save()).unwrap();
    let loaded = World { server: loaded };
    assert_eq!(loaded.get("/api/v1/pods"), world.get("/api/v1/pods"));
    let watch = |version| loaded.watch(&format!("/api/v1/pods?watch=1&resourceVersion={version}"));
    let too_old = format!("ERROR 410 too old resource version: {old} ({now})");
    assert_eq!(drain(&mut watch(old)), too_old);
    let mut watch = watch(now);
    let newer = loaded.put("n", "a", &json!({}));
    assert_eq!(drain(&mut watch), format!("MODIFIED a@{newer}"));
    assert!(Server::load(&runtime, Options::default(), b"[]").is_err());
}

/// A stale server responds as upstream's watch cache that gets no events from etcd.
#[test]
fn a_server_that_is_behind() {
    let mut world = World::new();
    world.put("n", "a", &json!({}));
    let then = world.put("n", "b", &json!({}));
    world.remove("n", "a");
    world.put("n", "b", &json!({}));
    let fresh = world.server.clone();
    world.server = fresh.as_of(then).unwrap();
    world.touch();
    assert_eq!((fresh.revision(), world.server.revision()), (5, 4), "each has its own future");
    let pods = |query| world.get(&format!("/api/v1/pods?{query}"));
    let (code, list) = pods("resourceVersion=0");
    assert_eq!((code, list["items"].as_array().unwrap().len()), (200, 2));
    assert_eq!(list["metadata"]["resourceVersion"], "4");
    assert_eq!(pods("resourceVersion=5").0, 504);
    let watch = |version| world.watch(&format!("/api/v1/pods?watch=1&resourceVersion={version}"));
    assert_eq!(drain(&mut watch(2)), "ADDED b@3");
    assert_eq!(drain(&mut watch(5)), "");
}
