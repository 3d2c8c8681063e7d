//! When discovery runs, and what its result changes.

use super::*;
use crate::everything::{DEFINED_DELAY, DEFINED_PERIOD_MIN, PERIOD};
use crate::fixture::run;
use crate::{Metrics, SharedInformerFactory};

fn definitions() -> Resource {
    Resource::cluster_scoped(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
    )
}

/// garbagecollector.go, GetDeletableResources; graph_builder.go, DefaultIgnoredResources.
#[test]
fn watches_what_can_be_deleted_listed_and_watched_but_no_events() {
    run(async {
        let kind = |resource, verbs: &[Verb], preferred| ServedKind {
            resource,
            verbs: verbs.into(),
            preferred,
            subresources: Box::default(),
        };
        let core = |plural| Resource::namespaced("", "v1", plural, "Any");
        let old = Resource::namespaced("example.com", "v1alpha1", "widgets", "Widget");
        let events = Resource::namespaced("events.k8s.io", "v1", "events", "Event");
        let kinds = vec![
            kind(core("secrets"), VERBS, true),
            kind(core("events"), VERBS, true),
            kind(events, VERBS, true),
            kind(core("bindings"), &[], true),
            kind(core("unlistable"), &[Verb::Delete, Verb::Watch], true),
            kind(core("unwatchable"), &[Verb::Delete, Verb::List], true),
            kind(core("undeletable"), &[Verb::DeleteCollection, Verb::List, Verb::Watch], true),
            kind(old, VERBS, false),
            kind(widgets(), VERBS, true),
        ];
        let mut test = Test::new(Arc::new(Served::new(kinds, [].into())));
        test.hears(&["served 9"]).await;
        let calls = test.server.under_way().await;
        let accept = |call: &crate::fixture::Call| call.accept.contains("PartialObjectMetadata");
        assert!(calls.iter().all(accept), "only the metadata");
        let path = |call: &crate::fixture::Call| call.path.split('?').next().map(str::to_owned);
        let mut paths: Vec<_> = calls.iter().filter_map(path).collect();
        paths.sort();
        assert_eq!(paths, ["/api/v1/secrets", "/apis/example.com/v1/widgets"]);
        let status = test.everything.status();
        let status: Vec<_> = status.iter().map(|it| &*it.selection.resource.plural).collect();
        assert_eq!(status, ["secrets", "widgets"]);
    });
}

/// garbagecollector.go, Sync: every 30 seconds; an equal result changes nothing.
#[test]
fn asks_every_half_minute_and_leaves_alone_what_did_not_change() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        let mut last = test.asks_and_gets(served([widgets()])).await;
        for _ in 0..3 {
            let at = test.asks().await;
            assert_eq!(at - last, PERIOD);
            last = at;
        }
        test.hears_nothing().await;
        test.asks_and_gets(served([gadgets(), widgets()])).await;
        test.hears(&["served 2"]).await;
        assert_eq!(test.asked_paths().await, ["/apis/other.example.com/v1/gadgets"]);
        stream.send(event("MODIFIED", &json("a", "a", 11))).await;
        test.hears(&["widgets ~ default/a@5>11", "widgets at 11"]).await;
    });
}

/// TestGarbageCollectorSync: errors and empty answers.
#[test]
fn an_error_and_an_empty_answer_change_nothing_and_count() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        assert_eq!(test.sync_errors(), "0");
        test.asks_and_gets(NO_ANSWER).await;
        test.hears_nothing().await;
        assert_eq!(test.sync_errors(), "1");
        test.asks_and_gets(served([])).await;
        test.hears_nothing().await;
        assert_eq!(test.sync_errors(), "2");
        stream.send(event("DELETED", &json("a", "a", 11))).await;
        test.hears(&["widgets - default/a@11", "widgets at 11"]).await;
        test.asks_and_gets(served([widgets()])).await;
        test.hears_nothing().await;
        assert_eq!(test.sync_errors(), "2");
    });
}

/// TestGarbageCollectorSync: partial failures keep the kinds of the failed groups.
#[test]
fn a_group_that_cannot_be_discovered_keeps_its_kinds() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        test.asks_and_gets(without(&["example.com/v1"], [gadgets()])).await;
        test.hears(&["served 2"]).await;
        let missing = [("example.com/v1".to_owned(), "no answer".to_owned())];
        assert_eq!(test.everything.missing(), missing.into());
        let _gadgets = test.list(&gadgets(), &[], 7).await;
        test.hears(&["gadgets at 7"]).await;
        // Another group is missing, which was never discovered.
        test.asks_and_gets(without(&["example.com/v1", "metrics.k8s.io/v1"], [gadgets()])).await;
        test.hears(&["served 2"]).await;
        stream.send(event("MODIFIED", &json("a", "a", 11))).await;
        test.hears(&["widgets ~ default/a@5>11", "widgets at 11"]).await;
        assert_eq!(test.sync_errors(), "0", "as upstream");
        // The group is back, without the kind.
        test.asks_and_gets(served([gadgets()])).await;
        test.hears(&["served 1", "widgets dropped"]).await;
        assert!(test.everything.missing().is_empty());
        assert!(is_closed(&mut stream, &test.server).await);
    });
}

/// The error texts of a missing group vary; that is not a change.
#[test]
fn an_equal_result_is_reported_once() {
    run(async {
        let mut test = Test::new(without(&["a.example.com/v1"], [widgets()]));
        test.hears(&["served 1"]).await;
        let missing = [("a.example.com/v1".to_owned(), "other words".to_owned())];
        let kinds = served([widgets()]).kinds.clone();
        test.asks_and_gets(Arc::new(Served::new(kinds, missing.clone().into()))).await;
        test.hears_nothing().await;
        assert_eq!(test.everything.missing(), missing.into());
        test.asks_and_gets(served([widgets()])).await;
        test.hears(&["served 1"]).await;
    });
}

/// Ours: upstream waits for its next discovery, up to 30 seconds.
#[test]
fn a_new_definition_is_looked_at_soon_and_many_are_not_looked_at_often() {
    run(async {
        let mut test = Test::new(served([definitions()]));
        let mut stream = test.list(&definitions(), &[], 10).await;
        test.hears(&["served 1", "customresourcedefinitions at 10"]).await;
        test.server.runtime.clock.sleep(10 * SECOND).await;
        let changed = test.server.runtime.clock.instant();
        while test.asked.try_recv().is_ok() {}
        test.answer(served([definitions(), widgets()]));
        stream.send(event("ADDED", &json("widgets", "w", 11))).await;
        let mut last = test.asks().await;
        assert_eq!(last - changed, DEFINED_DELAY);
        test.hears(&[
            "customresourcedefinitions + default/widgets@11",
            "customresourcedefinitions at 11",
            "served 2",
        ])
        .await;
        for version in 12..40 {
            stream.send(event("MODIFIED", &json("widgets", "w", version))).await;
            test.server.runtime.clock.sleep(SECOND).await;
        }
        let end = test.server.runtime.clock.instant();
        let mut asked = Vec::new();
        while let Ok(at) = test.asked.try_recv() {
            asked.push(at);
        }
        for at in asked {
            assert_eq!(at - last, DEFINED_PERIOD_MIN);
            last = at;
        }
        assert!(end - last <= DEFINED_PERIOD_MIN);
        // Changes during the wait cause one more discovery; after that the period is as usual.
        for period in [DEFINED_PERIOD_MIN, DEFINED_PERIOD_MIN, PERIOD, PERIOD] {
            let at = test.asks().await;
            assert_eq!(at - last, period);
            last = at;
        }
    });
}

/// A standby discovers new kinds as soon as a leader does, although no handler is notified of
/// objects.
#[test]
fn a_new_definition_is_discovered_before_listen() {
    run(async {
        let mut test = Test::idle(&Server::default, |_| Vec::new(), served([definitions()]));
        let mut stream = test.list(&definitions(), &[], 10).await;
        test.hears(&["served 1"]).await;
        test.server.runtime.clock.sleep(10 * SECOND).await;
        let changed = test.server.runtime.clock.instant();
        while test.asked.try_recv().is_ok() {}
        test.answer(served([definitions(), widgets()]));
        stream.send(event("ADDED", &json("widgets", "w", 11))).await;
        assert_eq!(test.asks().await - changed, DEFINED_DELAY);
        test.hears(&["served 2"]).await;
    });
}

#[test]
fn is_ready_once_handlers_are_notified_of_all_objects() {
    run(async {
        let mut test = Test::new(NO_ANSWER);
        let everything = Arc::clone(&test.everything);
        assert!(!everything.ready(20 * SECOND).await, "nothing is known");
        test.asks_and_gets(served([gadgets(), widgets()])).await;
        assert!(!everything.ready(20 * SECOND).await);
        let _gadgets = test.list(&gadgets(), &[], 7).await;
        assert!(!everything.ready(20 * SECOND).await, "one is missing");
        let last = widgets();
        let list = test.list(&last, &[("a", "a", 5)], 10);
        let (ready, _widgets) = tokio::join!(everything.ready(20 * SECOND), list);
        assert!(ready);
        test.hears(&["served 2", "gadgets at 7", "widgets + default/a@5"]).await;
        // A kind that is no longer served is not waited for.
        test.asks_and_gets(served([definitions(), widgets()])).await;
        let answer = served([widgets()]);
        let (ready, _) = tokio::join!(everything.ready(LIMIT), test.asks_and_gets(answer));
        assert!(ready);
    });
}

#[test]
fn ends_when_cancelled() {
    run(async {
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let before = tasks();
        let (mut test, mut stream) = Test::watching().await;
        test.server.runtime.cancel.cancel();
        assert!(is_closed(&mut stream, &test.server).await);
        drop(stream);
        test.hears_nothing().await;
        // One task is the server's.
        assert_eq!((tasks() - before, Arc::strong_count(&test.everything)), (1, 1));
    });
}

/// metrics.md: the family is there where the garbage collector is.
#[test]
fn a_factory_makes_it_once_and_asks_the_server() {
    run(async {
        let (mut server, registry) = (Server::default(), Registry::default());
        // Acts as the same server, and receives what the other client sends.
        let mut metadata = Server::default();
        let mut factory = SharedInformerFactory::new(server.client.clone(), server.runtime.clone())
            .with_metadata_client(metadata.client.clone())
            .with_metrics(Metrics::new(&registry).unwrap());
        let counts = |registry: &Registry| registry.page("").body.contains(SYNC_ERRORS);
        assert!(!counts(&registry));
        let everything = factory.everything();
        assert!(counts(&registry));
        assert_eq!(metrics::fixture::unlike_upstream(&registry), Vec::<String>::new());
        assert!(Arc::ptr_eq(&everything, &factory.everything()));
        factory.informer::<api::Pod>();
        everything.listen();
        factory.start();
        factory.start();
        let kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let groups = r#"{"items":[{"metadata":{"name":"example.com"},"versions":[{"version":"v1",
            "resources":[{"resource":"widgets","responseKind":{"kind":"Widget"},
            "scope":"Namespaced","verbs":["delete","list","watch"]}]}]}]}"#;
        let core = groups.replace("widgets", "pods").replace("Widget", "Pod");
        let core = core.replace("example.com", "");
        for (path, body) in [("/apis", groups), ("/api", core.as_str())] {
            metadata.find("GET", path).await.answer(200, kind).send(body).await;
        }
        let call = metadata.find("GET", "/apis/example.com/v1/widgets").await;
        call.answer(200, "application/json").send(bookmark(3, true)).await;
        let pods = server.find("GET", "/api/v1/pods").await;
        assert!(!pods.accept.contains("PartialObjectMetadata"), "the informer that is there");
        let others = (metadata.under_way().await.len(), server.under_way().await.len());
        assert_eq!(others, (0, 0), "one watch for each kind");
        pods.answer(200, "application/json").send(bookmark(4, true)).await;
        assert!(everything.ready(LIMIT).await);
        assert_eq!(everything.version_of(&widgets()), Some(3));
        let status = factory.status();
        let status: Vec<_> =
            status.iter().map(|it| (&*it.selection.resource.plural, it.version)).collect();
        assert_eq!(status, [("pods", 4), ("widgets", 3)]);
    });
}
