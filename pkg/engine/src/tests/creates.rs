//! Read your writes, for creates: every order of the watch event and the response, and each of them
//! missing.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use api::{Key, Kind, Pod};
use cache::Selection;
use cache::fixture::{Call, run};
use controller::{Action, Write};
use serde_json::json;

use super::steps::{create, together};
use super::world::{
    Log, PODS, Probe, Stage, World, accept, body, born, make, pod, refuse, set, with,
};
use crate::Engine;

/// The set has one pod and no expectations: the controller acts when the set wants two.
async fn acts(mut world: World) {
    world.quiet().await;
    world.sets.modified(&set(20, 2, 1)).await;
    let _post = world.post().await;
}

/// Issue, a test for each order: the watch event of a create before the response.
#[test]
fn event_before_the_answer() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        let pod = born(&post, "a", 11);
        world.pods.added(&pod).await;
        world.quiet().await;
        accept(post, &pod).await;
        world.counts(1, 11).await;
        acts(world).await;
    });
}

/// Issue, a test for each order: the watch event of a create after the response.
#[test]
fn event_after_the_answer() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        let pod = make(post, "a", 11).await;
        world.sets.modified(&set(11, 1, 0)).await;
        world.quiet().await;
        world.pods.added(&pod).await;
        world.counts(1, 12).await;
        acts(world).await;
    });
}

/// Decision 0002: a cache that has not shown the last write for minutes is still stale.
#[test]
fn no_event_for_more_than_five_minutes() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        make(post, "a", 11).await;
        world.wait(Duration::from_secs(310)).await;
        world.sets.modified(&set(11, 1, 0)).await;
        world.quiet().await;
        world.pods.bookmark(11).await;
        let _again = world.post().await;
        world.quiet().await;
    });
}

/// Decision 0002: the version of the cache settles the key, so a bookmark does.
#[test]
fn bookmark_instead_of_the_event() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        make(post, "a", 11).await;
        world.pods.bookmark(10).await;
        world.quiet().await;
        world.pods.bookmark(12).await;
        let _again = world.post().await;
        world.quiet().await;
    });
}

/// Issue, a test for each order: the pod is created and deleted again before the response.
#[test]
fn deleted_before_the_answer() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        let pod = born(&post, "a", 11);
        world.pods.added(&pod).await;
        world
            .pods
            .deleted(&with(pod.clone(), json!({"metadata": {"resourceVersion": "12"}})))
            .await;
        world.quiet().await;
        accept(post, &pod).await;
        let _again = world.post().await;
        world.quiet().await;
    });
}

/// A watch that lost the event shows the pod in its next list.
#[test]
fn list_instead_of_the_event() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        let pod = make(post, "a", 11).await;
        world.pods.fails(410, "Expired").await;
        world.relists_pods(&[pod], 12).await;
        world.counts(1, 11).await;
        acts(world).await;
    });
}

/// An ambiguous create: its failure is reported, then the API server is asked for the existing
/// objects, with the informers' user. Returns that request.
async fn ambiguous(world: &mut World, words: &str) -> Call {
    let put = world.put().await;
    let status = world.done(put, 11).await;
    let message = status["conditions"][0]["message"].as_str().unwrap();
    assert!(message.contains(words), "{message}");
    lists(world).await
}

/// A create with a generated name.
fn unnamed() -> Action {
    let body = r#"{"metadata":{"generateName":"a-"}}"#;
    Write::create(Pod::RESOURCE, "shop".into(), body).into()
}

async fn lists(world: &mut World) -> Call {
    let list = world.reader.find("GET", PODS).await;
    assert_eq!(list.path, format!("{PODS}?limit=50"));
    assert!(list.accept.contains("as=PartialObjectMetadataList"), "{}", list.accept);
    list
}

/// There are more pods than the response shows.
async fn lists_at(list: Call, version: u64) {
    let meta = json!({"resourceVersion": version.to_string(), "continue": "more"});
    accept(list, &json!({"kind": "PodList", "metadata": meta, "items": [pod("x", 5)]})).await;
}

/// The pod of an ambiguous create shows up: no other pod is created.
async fn turns_up(mut world: World, post: &serde_json::Value) {
    world.counts(0, 12).await;
    world.sets.modified(&set(13, 1, 0)).await;
    world.quiet().await;
    world.pods.added(post).await;
    world.counts(1, 14).await;
    world.quiet().await;
    world.pods.bookmark(12).await;
    world.quiet().await;
}

/// Issue, read-your-writes; upstream creates a second pod here: the connection breaks after the pod
/// was created.
#[test]
fn answer_lost() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        let pod = born(&post, "a", 11);
        post.reset();
        let list = ambiguous(&mut world, "connection reset").await;
        lists_at(list, 12).await;
        turns_up(world, &pod).await;
    });
}

/// The same for a response that does not come in time.
#[test]
fn answer_timed_out() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        world.wait(Duration::from_secs(65)).await;
        let list = ambiguous(&mut world, "no answer within 65s").await;
        assert!(post.is_given_up());
        lists_at(list, 12).await;
        turns_up(world, &born(&post, "a", 11)).await;
    });
}

/// The same for a response that is cut off.
#[test]
fn answer_broken() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        let pod = born(&post, "a", 11);
        post.reply(201, r#"{"metadata":{"name":"a""#).await;
        let list = ambiguous(&mut world, "EOF").await;
        assert!(world.event().await.starts_with("Warning FailedCreate Error creating: "));
        lists_at(list, 12).await;
        turns_up(world, &pod).await;
    });
}

/// The request was lost, not the response: the cache is as new as the list, so a pod is created.
#[test]
fn create_lost() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        world.post().await.reset();
        let list = ambiguous(&mut world, "connection reset").await;
        lists_at(list, 10).await;
        let _again = world.post().await;
        world.quiet().await;
    });
}

/// Nothing is written until the version of the API server is known.
#[test]
fn a_create_stays_ambiguous_until_the_list_is_answered() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        world.post().await.reset();
        let mut list = ambiguous(&mut world, "connection reset").await;
        for _ in 0..3 {
            refuse(list, 500, "InternalError", "no").await;
            list = lists(&mut world).await;
        }
        world.quiet().await;
        lists_at(list, 10).await;
        let _again = world.post().await;
    });
}

/// All 5xx: etcd's timeouts come as 500, and load balancers use others.
#[test]
fn every_5xx_is_ambiguous() {
    for code in [500, 502, 503, 504] {
        run(async {
            let mut world = World::new(&[set(1, 1, 0)], &[]).await;
            let post = world.post().await;
            let pod = born(&post, "a", 11);
            refuse(post, code, "InternalError", "etcdserver: request timed out").await;
            let list = ambiguous(&mut world, "request timed out").await;
            lists_at(list, 12).await;
            turns_up(world, &pod).await;
        });
    }
}

/// A complete list is as good as the versions in it: the cache of a kind without changes reaches
/// the version of the list only with a bookmark, after a minute.
#[test]
fn a_whole_list_needs_no_bookmark() {
    run(async {
        let foreign = json!({"metadata": {"ownerReferences": null, "labels": null}});
        let other = with(pod("other", 10), foreign);
        let version = json!({"resourceVersion": "99"});
        let whole = |pods: &[serde_json::Value]| json!({"metadata": version, "items": pods});
        let mut world = World::new(&[set(1, 1, 0)], std::slice::from_ref(&other)).await;
        world.post().await.reset();
        let list = ambiguous(&mut world, "connection reset").await;
        accept(list, &whole(std::slice::from_ref(&other))).await;
        let post = world.post().await;
        let made = born(&post, "a", 20);
        post.reset();
        accept(lists(&mut world).await, &whole(&[other, made.clone()])).await;
        world.counts(0, 12).await;
        world.quiet().await;
        world.pods.added(&made).await;
        world.counts(1, 21).await;
        world.quiet().await;
    });
}

/// A kind that is no longer served or cannot be listed: the result stays unknown, and the key
/// continues.
#[test]
fn an_unknowable_result_is_given_up() {
    for code in [404, 405, 410] {
        run(async {
            let mut world = World::new(&[set(1, 1, 0)], &[]).await;
            world.post().await.reset();
            let list = ambiguous(&mut world, "connection reset").await;
            refuse(list, code, "", "no such list").await;
            let _again = world.post().await;
            world.quiet().await;
        });
    }
}

/// An API server that starts refuses all requests for a moment, and a pod may exist by now. After
/// five minutes of refusals the key continues without the result.
#[test]
fn a_forbidden_list_is_retried_for_a_while() {
    run(async {
        let (mut world, _log) = World::probe(|_, _| together(&[unnamed()])).await;
        world.post().await.reset();
        let since = world.instant();
        let post = loop {
            tokio::select! {
                biased;
                post = world.server.find("POST", PODS) => break post,
                list = world.reader.find("GET", PODS) => {
                    refuse(list, 403, "Forbidden", "not yours").await;
                }
            }
        };
        let waited = post.at - since;
        assert!(waited > Duration::from_mins(5), "{waited:?}");
        assert!(waited < Duration::from_mins(11), "the back-off doubles: {waited:?}");
    });
}

/// The root CA publisher may create and update ConfigMaps and not list them. There cannot be two
/// objects of one name, so a create with a name stops being ambiguous at once even if listing is
/// forbidden.
#[test]
fn a_create_with_a_name_asks_for_the_name() {
    run(async {
        let (mut world, _log) = World::probe(|_, _| together(&[create("a")])).await;
        world.post().await.reset();
        refuse(world.question(&format!("{PODS}/a")).await, 403, "Forbidden", "not yours").await;
        world.post().await.reset();
        world.finds(&format!("{PODS}/a"), &[]).await;
        world.post().await.reset();
        world.finds(&format!("{PODS}/a"), &[pod("a", 11)]).await;
        world.quiet().await;
        world.pods.added(&pod("a", 11)).await;
        let _again = world.post().await;
    });
}

/// A success in between must not reset the back-off: the write is what fails.
#[test]
fn a_write_that_is_lost_again_and_again_backs_off() {
    run(async {
        let (mut world, _log) = World::probe(|_, _| together(&[unnamed()])).await;
        for tries in 0..6_u32 {
            let version = 20 + u64::from(tries);
            world.post().await.reset();
            let failed = world.instant();
            let list = lists(&mut world).await;
            assert_eq!((list.at - failed).as_millis(), 5 << tries, "try {tries}");
            lists_at(list, version).await;
            world.settle().await;
            world.pods.bookmark(version).await;
        }
    });
}

/// A refused connection cannot have created a pod: the create is retried without asking.
#[test]
fn refused_connections_are_not_ambiguous() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        world.post().await.refuse();
        let put = world.put().await;
        world.done(put, 11).await;
        let _again = world.post().await;
        world.quiet().await;
    });
}

/// Issue, a test for each order: several writes of one plan, answered out of order, some of them
/// after their events.
#[test]
fn answers_out_of_order() {
    run(async {
        let mut world = World::new(&[set(1, 3, 0)], &[]).await;
        let post = world.post().await;
        let a = make(post, "a", 11).await;
        let (second, third) = (world.post().await, world.post().await);
        let b = born(&second, "b", 12);
        let c = make(third, "c", 13).await;
        world.pods.many("ADDED", &[a, b.clone()]).await;
        world.quiet().await;
        accept(second, &b).await;
        world.counts(2, 11).await;
        world.quiet().await;
        world.pods.added(&c).await;
        world.counts(3, 12).await;
        world.quiet().await;
    });
}

/// TestExpectationsOnRecreate: a set that is deleted and created again under the same name does not
/// wait for the pods of the old one.
#[test]
fn recreated_set_starts_clean() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        make(post, "a", 11).await;
        world.sets.modified(&set(11, 1, 0)).await;
        world.quiet().await;
        world.sets.deleted(&set(12, 1, 0)).await;
        let anew = with(set(13, 1, 0), json!({"metadata": {"uid": "uid-anew"}}));
        world.sets.added(&anew).await;
        let post = world.post().await;
        assert_eq!(body(&post)["metadata"]["ownerReferences"][0]["uid"], "uid-anew");
        let b = make(post, "b", 14).await;
        world.quiet().await;
        world.pods.added(&b).await;
        world.counts(1, 15).await;
        acts(world).await;
    });
}

/// The same if the watch shows the new set in place of the old one: upstream's `updateRS` with
/// another uid.
#[test]
fn replaced_set_starts_clean() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        make(post, "a", 11).await;
        world.settle().await;
        world.sets.modified(&with(set(13, 1, 0), json!({"metadata": {"uid": "uid-anew"}}))).await;
        let _post = world.post().await;
        world.quiet().await;
    });
}

/// A create that is answered after its set was deleted: a new set of the same name does not wait.
#[test]
fn set_recreated_before_the_answer() {
    run(async {
        let mut world = World::new(&[set(1, 1, 0)], &[]).await;
        let post = world.post().await;
        world.sets.deleted(&set(11, 1, 0)).await;
        world.settle().await;
        make(post, "a", 11).await;
        world.quiet().await;
        world.sets.added(&with(set(12, 1, 0), json!({"metadata": {"uid": "uid-anew"}}))).await;
        let _post = world.post().await;
        world.quiet().await;
    });
}

/// TestRSSyncExpectations: whether the key is settled is checked before the caches are read. Here
/// the event comes right after the caches were read, which makes that read stale.
#[test]
fn settled_is_asked_before_the_caches() {
    run(async {
        let log = Log::default();
        let engine: Arc<OnceLock<Arc<Engine>>> = Arc::default();
        let later = Arc::clone(&engine);
        let hook = move |stage, _: &_| {
            if let (Stage::Observe, Some(engine)) = (stage, later.get()) {
                engine.reached(&Selection::of::<Pod>(), 11);
            }
        };
        let probe = Probe::new(&log, hook, |_, _| together(&[create("a")]));
        let (mut world, started) = World::start(probe, 1, &[set(1, 0, 0)], &[]).await;
        let post = world.post().await;
        make(post, "a", 11).await;
        world.settle().await;
        log.take();
        assert!(engine.set(started).is_ok());
        world.sets.modified(&set(11, 0, 0)).await;
        let _again = world.post().await;
        let lines = ["1 observe web", "1 report unsettled web", "1 observe web", "1 decide web"];
        assert_eq!(log.take(), lines);
    });
}

/// Card, Sync 8: the status is written even when not satisfied.
#[test]
fn unsettled_key_reports_its_status() {
    run(async {
        let unready = json!({"status": {"conditions": null}});
        let status = json!({"status": {"readyReplicas": 0, "availableReplicas": 0}});
        let unready = with(pod("a", 1), unready);
        let mut world = World::new(&[with(set(1, 2, 1), status)], &[unready]).await;
        let post = world.post().await;
        make(post, "b", 20).await;
        world.settle().await;
        world.pods.modified(&pod("a", 15)).await;
        let put = world.put().await;
        assert_eq!(world.done(put, 11).await["readyReplicas"], 1);
        world.quiet().await;
    });
}

/// A settled key reads the handlers' memory, so the handlers must be notified first. The changes of
/// a list are notified in the order of names, in batches; here a newer object comes long before the
/// awaited one.
#[test]
fn handlers_are_notified_before_a_key_settles() {
    run(async {
        let log = Log::default();
        let notified = log.clone();
        let hook = move |stage, key: &Key| {
            if stage == Stage::Notified {
                notified.push(&format!("notified {}", key.name));
            }
        };
        let probe = Probe::new(&log, hook, |_, _| together(&[create("a")]));
        let (mut world, _engine) = World::start(probe, 1, &[set(1, 0, 0)], &[]).await;
        let made = make(world.post().await, "zz", 11).await;
        world.settle().await;
        log.take();
        let mut pods: Vec<_> = (0..600).map(|n| pod(&format!("p-{n:03}"), 15)).collect();
        pods.push(made);
        world.pods.fails(410, "Expired").await;
        world.relists_pods(&pods, 20).await;
        let _again = world.post().await;
        let lines = log.take();
        let at = |what: &str| lines.iter().position(|line| line.contains(what));
        assert!(at("notified zz") < at("decide"), "{:?} {:?}", at("notified zz"), at("decide"));
        assert!(at("notified zz").is_some());
    });
}

/// The response comes when the cache has the object and the handlers are not notified of it yet.
#[test]
fn the_cache_is_ahead_of_its_handlers() {
    run(async {
        let engine: Arc<OnceLock<Arc<Engine>>> = Arc::default();
        let (later, web) = (Arc::clone(&engine), Key::new("shop", "web"));
        let awaited: Arc<OnceLock<bool>> = Arc::default();
        let seen = Arc::clone(&awaited);
        let hook = move |stage, _: &_| {
            if let (Stage::Notified, Some(engine)) = (stage, later.get()) {
                engine.act.remember_version(&web, &Pod::RESOURCE, &Key::new("shop", "a"), 11);
                seen.get_or_init(|| engine.act.expectations().awaits(&web).is_some());
            }
        };
        let probe = Probe::new(&Log::default(), hook, |_, _| together(&[]));
        let (mut world, started) = World::start(probe, 1, &[set(1, 0, 0)], &[]).await;
        assert!(engine.set(started).is_ok());
        // Its handlers are connected by then, so they are notified of the pod as a change.
        world.settle().await;
        world.pods.added(&pod("a", 11)).await;
        world.settle().await;
        assert_eq!(awaited.get(), Some(&true));
        assert!(engine.get().unwrap().act.expectations().is_empty(), "then they have heard");
    });
}

/// When the object of the key is deleted, its ambiguous writes are dropped: the result would not be
/// used.
#[test]
fn an_ambiguous_write_ends_with_its_object() {
    run(async {
        let (mut world, _log) = World::probe(|_, _| together(&[create("a")])).await;
        refuse(world.post().await, 500, "InternalError", "etcdserver: request timed out").await;
        world.sets.deleted(&set(11, 0, 0)).await;
        world.quiet().await;
    });
}
