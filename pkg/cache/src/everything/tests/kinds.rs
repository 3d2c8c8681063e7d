//! Kinds that are added, removed, added again, and that cannot be listed.

use super::*;
use crate::everything::kind::Kind;
use crate::everything::{Hooks, LISTS_MAX};
use crate::fixture::{run, status};
use crate::informer::Informer;
use crate::selection::Selection;
use api::{Key, Metadata, Shape};
use runtime::Cancel;

/// A kind by its number.
fn numbered(number: usize) -> Resource {
    Resource {
        group: "example.com".into(),
        version: "v1".into(),
        plural: format!("k{number:04}").into(),
        kind: format!("K{number:04}").into(),
        namespaced: true,
    }
}

#[test]
fn notifies_of_objects_while_their_kind_is_served() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        let everything = Arc::clone(&test.everything);
        stream.send(event("ADDED", &json("b", "b", 11))).await;
        stream.send(event("MODIFIED", &json("a", "a", 12))).await;
        stream.send(event("DELETED", &json("b", "b", 13))).await;
        stream.send(bookmark(20, false)).await;
        test.hears(&["widgets + default/b@11", "widgets at 11"]).await;
        test.hears(&["widgets ~ default/a@5>12", "widgets at 12"]).await;
        test.hears(&["widgets - default/b@13", "widgets at 13", "widgets at 20"]).await;
        let holds = |name, uid| everything.holds(&widgets(), &Key::new("default", name), uid);
        let held = [holds("a", "a"), holds("a", "other"), holds("b", "b")];
        assert_eq!(held, [Some(false), None, None]);
        assert_eq!(everything.version_of(&widgets()), Some(20));
        assert_eq!(everything.version_of(&gadgets()), None);

        test.asks_and_gets(served([gadgets()])).await;
        test.hears(&["served 1", "widgets dropped"]).await;
        assert!(is_closed(&mut stream, &test.server).await);
        test.hears_nothing().await;
        assert_eq!(holds("a", "a"), None);
        assert_eq!(everything.version_of(&widgets()), None);

        // It is added again, with all objects that exist then.
        test.asks_and_gets(served([gadgets(), widgets()])).await;
        let mut stream = test.list(&widgets(), &[("a", "a", 12)], 30).await;
        test.hears(&["served 2", "widgets + default/a@12", "widgets at 30"]).await;
        stream.send(event("MODIFIED", &json("a", "a", 31))).await;
        test.hears(&["widgets ~ default/a@12>31", "widgets at 31"]).await;
    });
}

/// A standby: its caches are kept, and no handler is notified of objects before the process leads.
#[test]
fn handlers_are_not_notified_of_objects_before_listen() {
    run(async {
        let no_others = |_: &Server| Vec::new();
        let mut test = Test::idle(&Server::default, no_others, served([widgets(), gadgets()]));
        let everything = Arc::clone(&test.everything);
        let mut stream = test.list(&widgets(), &[("a", "a", 5), ("b", "b", 6)], 10).await;
        test.hears(&["served 2"]).await;
        stream.send(event("ADDED", &json("c", "c", 11))).await;
        stream.send(event("DELETED", &json("b", "b", 12))).await;
        test.hears_nothing().await;
        assert_eq!(everything.version_of(&widgets()), Some(12));
        assert!(!everything.ready(SECOND).await);
        // Widgets are listed: only gadgets are missing.
        test.server.runtime.clock.sleep(40 * SECOND).await;
        assert_eq!(test.sync_errors(), "1");
        let _gadgets = test.list(&gadgets(), &[], 13).await;
        test.asks_and_gets(served([gadgets(), widgets(), numbered(1)])).await;
        test.hears(&["served 3"]).await;
        let _numbered = test.list(&numbered(1), &[], 14).await;
        test.server.runtime.clock.sleep(40 * SECOND).await;
        assert_eq!(test.sync_errors(), "1", "all are listed");

        everything.listen();
        test.hears(&["widgets + default/a@5", "widgets + default/c@11"]).await;
        test.hears(&["gadgets at 13", "k0001 at 14", "widgets at 12"]).await;
        assert!(everything.ready(SECOND).await);
        stream.send(event("MODIFIED", &json("a", "a", 13))).await;
        test.hears(&["widgets ~ default/a@5>13", "widgets at 13"]).await;
        everything.listen();
        test.hears_nothing().await;
    });
}

/// Each time the kind is added, after all objects that exist then.
#[test]
fn reports_complete_after_all_objects_of_a_kind() {
    run(async {
        let mut test = Test::new(served([widgets()]));
        let log = Arc::new(Mutex::new(Vec::new()));
        let (to, taken) = (Arc::clone(&log), || std::mem::take(&mut *log.lock().unwrap()));
        test.everything.add_handler(Box::new(move |resource, change| {
            to.lock().unwrap().push(text(resource, change));
        }));
        let mut stream = test.list(&widgets(), &[("a", "a", 5), ("b", "b", 6)], 10).await;
        test.hears(&["served 1", "widgets + default/a@5", "widgets + default/b@6"]).await;
        test.hears(&["widgets at 10"]).await;
        test.hears_nothing().await;
        let (a, b) = ("widgets + default/a@5", "widgets + default/b@6");
        assert_eq!(taken(), [a, b, "widgets complete"]);
        stream.send(event("MODIFIED", &json("a", "a", 12))).await;
        test.hears(&["widgets ~ default/a@5>12", "widgets at 12"]).await;
        test.hears_nothing().await;
        assert_eq!(taken(), ["widgets ~ default/a@5>12"]);

        test.loses(served([gadgets()])).await;
        test.asks_and_gets(served([gadgets(), widgets()])).await;
        let _stream = test.list(&widgets(), &[], 20).await;
        test.hears(&["served 1", "widgets dropped", "served 2", "widgets at 20"]).await;
        test.hears_nothing().await;
        assert_eq!(taken(), ["widgets dropped", "widgets complete"]);
    });
}

/// A kind that changes its scope counts as another version.
#[test]
fn a_kind_that_moved_out_of_namespaces_is_another_version_of_it() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        let moved = Resource { namespaced: false, ..widgets() };
        test.asks_and_gets(served([moved.clone()])).await;
        let _moved = test.list(&moved, &[("a", "b", 21)], 30).await;
        test.hears(&["served 1", "widgets + default/a@21", "widgets at 30"]).await;
        test.hears(&["widgets dropped"]).await;
        assert!(is_closed(&mut stream, &test.server).await);
    });
}

/// Changes that are pending when a kind is removed are not notified.
#[test]
fn nothing_comes_after_dropped() {
    run(async {
        let server = Server::default();
        let (client, runtime) = (server.client.clone(), server.runtime.clone());
        let informer = Arc::new(Informer::of(
            Selection::whole(widgets()),
            Shape::of::<Metadata>(),
            client,
            runtime,
        ));
        let (hooks, seen) = (Arc::new(Hooks::default()), Arc::<Mutex<Vec<String>>>::default());
        let (changes, versions) = (Arc::clone(&seen), Arc::clone(&seen));
        hooks.changed.write().unwrap().push(Box::new(move |resource, change| {
            changes.lock().unwrap().push(text(resource, change));
        }));
        hooks.reached.write().unwrap().push(Box::new(move |_, version| {
            versions.lock().unwrap().push(format!("at {version}"));
        }));
        let kind = Kind::new(informer, false, Cancel::new());
        let follower = kind.follower(&hooks);
        (follower.reached)(1);
        kind.stop(&widgets(), &hooks);
        let meta = api::Meta::decode(api::Codec::Json, json("a", "a", 5).as_bytes()).unwrap();
        (follower.changed)(&MetadataChange::Added(&meta));
        (follower.reached)(2);
        assert_eq!(*seen.lock().unwrap(), ["at 1", "widgets dropped"]);
        assert!(follower.cancel.is_cancelled());
    });
}

/// Integration test TestCascadingDeleteOnCRDConversionFailure: the conversion webhook of one kind
/// is broken.
#[test]
fn a_kind_that_cannot_be_listed_delays_no_other() {
    run(async {
        let mut test = Test::new(served([widgets(), gadgets()]));
        let _gadgets = test.list(&gadgets(), &[("g", "g", 5)], 10).await;
        test.hears(&["served 2", "gadgets + default/g@5", "gadgets at 10"]).await;
        let began = test.server.runtime.clock.instant();
        let everything = Arc::clone(&test.everything);
        let error = "conversion webhook for example.com/v1 failed";
        while test.server.runtime.clock.instant() - began < 40 * SECOND {
            let call = test.server.find("GET", "/apis/example.com/v1/widgets").await;
            call.reply(500, status(500, "InternalError", error)).await;
        }
        assert!(!everything.ready(Duration::ZERO).await);
        assert_eq!(test.sync_errors(), "1", "once, after half a minute");
        test.server.runtime.clock.sleep(90 * SECOND).await;
        assert_eq!(test.sync_errors(), "1", "and not again before the kinds change");
        let shown = everything.status();
        let shown: Vec<_> = shown
            .iter()
            .map(|it| (it.synced, it.failing.as_ref().map(|failing| failing.error.clone())))
            .collect();
        assert_eq!(shown, [(false, Some(error.to_owned())), (true, None)]);

        // A kind may be removed before it was ever listed; and it may recover.
        test.loses(served([gadgets()])).await;
        test.hears(&["served 1", "widgets dropped"]).await;
        assert!(everything.ready(Duration::ZERO).await);
        test.server.under_way().await;
        test.asks_and_gets(served([widgets(), gadgets()])).await;
        test.hears(&["served 2"]).await;
        let mut calls = test.server.under_way().await;
        let call = calls.pop().unwrap();
        call.answer(200, "application/json").send(bookmark(12, true)).await;
        assert!(everything.ready(LIMIT).await);
        test.server.runtime.clock.sleep(90 * SECOND).await;
        assert_eq!(test.sync_errors(), "1");
    });
}

/// A start with many kinds makes no burst of lists; a list that hangs delays others for a while,
/// not for ever.
#[test]
fn lists_some_kinds_at_once_and_the_others_when_it_is_their_turn() {
    run(async {
        let count = 3 * LISTS_MAX;
        let mut test = Test::new(served((0..count).map(numbered)));
        let mut calls = test.server.under_way().await;
        assert_eq!(calls.len(), LISTS_MAX);
        let mut streams = Vec::new();
        let mut finish = async |calls: &mut Vec<crate::fixture::Call>, server: &mut Server| {
            let mut stream = calls.remove(0).answer(200, "application/json");
            stream.send(bookmark(10, true)).await;
            streams.push(stream);
            let more = server.under_way().await;
            let got = more.len();
            calls.extend(more);
            got
        };
        for _ in 0..3 {
            assert_eq!(finish(&mut calls, &mut test.server).await, 1, "a turn for a turn");
        }
        // A refused list frees its permit while it backs off, and then waits for a permit again.
        let refused = calls.remove(0);
        refused.refuse();
        assert_eq!(test.server.under_way().await.len(), 1);
        // All that are left hang.
        test.server.runtime.clock.sleep(11 * SECOND).await;
        let rest = test.server.under_way().await.len();
        assert!(rest >= count - LISTS_MAX - 4, "{rest} came");
        assert!(!test.everything.ready(Duration::ZERO).await);
    });
}

/// Kubernetes issue 114066: nothing is left of kinds that are no longer served.
#[test]
fn a_thousand_kinds_leave_nothing_behind() {
    run(async {
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let (mut test, _stream) = Test::watching().await;
        let before = (tasks(), Arc::strong_count(&test.everything.hooks));
        for round in 0..2 {
            let kinds = (0..1000).map(|number| numbered(round * 1000 + number));
            test.asks_and_gets(served(kinds.chain([widgets()]))).await;
            let mut streams = Vec::new();
            for at in 0..1000 {
                let mut stream = test.server.call().await.answer(200, "application/json");
                // Every second kind is never listed.
                if at % 2 == 0 {
                    stream.send(event("ADDED", &json("a", "a", 5))).await;
                    stream.send(bookmark(10, true)).await;
                }
                streams.push(stream);
            }
            let informers: Vec<_> = test.everything.kinds().values().map(weak).collect();
            assert_eq!(informers.len(), 1001);
            test.loses(served([widgets()])).await;
            for stream in &mut streams {
                assert!(is_closed(stream, &test.server).await);
            }
            drop(streams);
            test.server.runtime.clock.sleep(SECOND).await;
            let left = informers.iter().filter(|weak| weak.strong_count() > 0).count();
            assert_eq!((left, test.everything.kinds().len()), (1, 1));
            assert_eq!((tasks(), Arc::strong_count(&test.everything.hooks)), before);
            assert_eq!(test.everything.lists.available_permits(), LISTS_MAX);
        }
        let mut dropped = 0;
        while let Ok(heard) = test.heard.try_recv() {
            dropped += usize::from(heard.ends_with("dropped"));
        }
        assert_eq!(dropped, 2000);
    });
}

fn weak(kind: &Kind) -> std::sync::Weak<Informer> {
    Arc::downgrade(&kind.informer)
}

/// The handlers of a kind run in its own task. On real threads, and so in real time.
#[test]
fn a_slow_handler_delays_one_kind() {
    const SLOW: Duration = Duration::from_secs(30);
    let threads =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let test = async {
        let mut test = Test::new(served([gadgets(), widgets()]));
        test.hears(&["served 2"]).await;
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let (entered, mut stuck) = mpsc::unbounded_channel();
        let wait = Mutex::new(wait);
        test.everything.add_handler(Box::new(move |resource, change| {
            if *resource == widgets() && matches!(change, MetadataChange::Added(_)) {
                entered.send(()).unwrap();
                wait.lock().unwrap().recv_timeout(SLOW).unwrap();
            }
        }));
        let _widgets = test.list(&widgets(), &[("a", "a", 5)], 10).await;
        test.hears(&["widgets + default/a@5"]).await;
        stuck.recv().await.unwrap();
        let _gadgets = test.list(&gadgets(), &[("g", "g", 6)], 11).await;
        test.hears(&["gadgets + default/g@6", "gadgets at 11"]).await;
        assert!(!test.everything.ready(Duration::ZERO).await);
        go_on.send(()).unwrap();
        test.hears(&["widgets at 10"]).await;
        assert!(test.everything.ready(SLOW).await);
    };
    let clock = runtime::Clock::system();
    threads.unwrap().block_on(async { clock.timeout(2 * SLOW, test).await }).unwrap();
}

#[test]
fn fences_handlers() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        let (sender, mut second) = mpsc::unbounded_channel();
        test.everything.add_handler(Box::new(|_, _| panic!("a bug in a handler")));
        test.everything.on_version(Box::new(|_, _| panic!("a bug in a hook")));
        test.everything.on_served(Box::new(|_| panic!("a bug in a hook")));
        test.everything.add_handler(Box::new(move |resource, change| {
            sender.send(text(resource, change)).unwrap();
        }));
        stream.send(event("ADDED", &json("b", "b", 11))).await;
        test.hears(&["widgets + default/b@11", "widgets at 11"]).await;
        test.asks_and_gets(served([gadgets()])).await;
        test.hears(&["served 1", "widgets dropped"]).await;
        assert_eq!(second.recv().await.unwrap(), "widgets + default/b@11");
        assert_eq!(second.recv().await.unwrap(), "widgets dropped");
    });
}

/// The cost of an object besides its own texts; two kilobytes would mean that it is held whole.
#[test]
fn metadata_is_small() {
    let bytes = size_of::<Metadata>();
    assert!(bytes <= 160, "{bytes} bytes");
}

/// TestKubeControllerManagerInformerMetrics (test/integration/serving): the garbage collector alone
/// has informers that are counted; those of custom kinds are not, as upstream's have no name.
#[test]
fn kinds_that_client_go_has_types_for_are_counted() {
    run(async {
        let policies =
            Resource::namespaced("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy");
        let mut test = Test::new(served([policies.clone(), widgets()]));
        let _policies = test.list(&policies, &[("a", "a", 5), ("b", "b", 6)], 10).await;
        let _widgets = test.list(&widgets(), &[("a", "a", 5)], 10).await;
        let objects = [
            "networkpolicies + default/a@5",
            "networkpolicies + default/b@6",
            "networkpolicies at 10",
            "widgets + default/a@5",
            "widgets at 10",
        ];
        test.hears(&[&["served 2"], &objects[..]].concat()).await;
        let page = test.registry.page("").body;
        let shown = |start: &str| {
            let shown = page.lines().filter(|line| line.starts_with(start));
            shown.map(str::to_owned).collect::<Vec<_>>()
        };
        let labels = "{group=\"networking.k8s.io\",name=\"kube-controller-manager\",\
                      resource=\"networkpolicys\",version=\"v1\"}";
        assert_eq!(shown("informer_queued_items{"), [format!("informer_queued_items{labels} 0")]);
        assert_eq!(
            shown("informer_processing_latency_seconds_count"),
            [format!("informer_processing_latency_seconds_count{labels} 2")]
        );
    });
}
