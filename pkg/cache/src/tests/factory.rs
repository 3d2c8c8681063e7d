//! The factory, and caches without informers.

use std::any::TypeId;
use std::sync::Arc;
use std::time::Duration;

use api::{Codec, Key, Object, Pod, ReplicaSet, Time};
use controller::{Caches, View};

use super::json;
use crate::fixture::{LIMIT, Server, bookmark, event, run};
use crate::{Listers, SharedInformerFactory};

#[test]
fn shares_one_informer_for_each_kind() {
    run(async {
        let mut server = Server::default();
        let mut factory = SharedInformerFactory::new(server.client.clone(), server.runtime.clone());
        let pods = factory.informer::<Pod>();
        assert!(Arc::ptr_eq(&pods, &factory.informer::<Pod>()));
        let sets = factory.informer::<ReplicaSet>();
        factory.start();
        factory.start();
        let call = server.call().await;
        assert!(call.path.starts_with("/api/v1/pods?"), "{}", call.path);
        let mut stream = call.answer(200, "application/json");
        stream.send(event("ADDED", &json("a", "a1", 5))).await;
        let deleting = r#""uid":"b1","deletionTimestamp":"2026-01-01T00:00:00Z""#;
        stream.send(event("ADDED", &json("b", "b1", 6).replace(r#""uid":"b1""#, deleting))).await;
        stream.send(bookmark(10, true)).await;
        let call = server.call().await;
        assert!(call.path.starts_with("/apis/apps/v1/replicasets?"), "{}", call.path);
        assert_eq!(call.accept, "application/json");

        assert!(pods.synced(LIMIT).await);
        assert!(!sets.synced(Duration::from_secs(20)).await);
        call.answer(200, "application/json").send(bookmark(7, true)).await;
        assert!(sets.synced(LIMIT).await);

        let holds = |name, uid| pods.holds(&Key::new("default", name), uid);
        assert_eq!(holds("a", "a1"), Some(false));
        assert_eq!(holds("a", "a2"), None, "another uid");
        assert_eq!(holds("b", "b1"), Some(true), "being deleted");
        assert_eq!(holds("c", "c1"), None, "not there");

        let status = factory.status();
        let status: Vec<_> =
            status.iter().map(|s| (&*s.selection.resource.plural, s.objects)).collect();
        assert_eq!(status, [("pods", 2), ("replicasets", 0)]);
    });
}

/// With the gate `WatchListClient` off: informers of kinds, and those of kinds that discovery
/// lists.
#[test]
fn informers_list_in_pages_where_they_may_not_stream() {
    run(async {
        let mut server = Server::default();
        let mut factory = SharedInformerFactory::new(server.client.clone(), server.runtime.clone())
            .with_streams(false);
        factory.informer::<Pod>();
        factory.everything();
        factory.start();
        let kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let groups = r#"{"items":[{"metadata":{"name":"example.com"},"versions":[{"version":"v1",
            "resources":[{"resource":"widgets","responseKind":{"kind":"Widget"},
            "scope":"Namespaced","verbs":["delete","list","watch"]}]}]}]}"#;
        server.find("GET", "/apis").await.answer(200, kind).send(groups).await;
        server.find("GET", "/api").await.answer(200, kind).send(r#"{"items":[]}"#).await;
        for path in ["/api/v1/pods", "/apis/example.com/v1/widgets"] {
            let call = server.find("GET", path).await;
            assert_eq!(call.without_timeout(), format!("{path}?limit=500"));
        }
    });
}

/// Issue, simulation: a manager that ends is freed, although its engines hold the informers that
/// hold its handlers.
#[test]
fn handlers_are_dropped_with_the_factory() {
    run(async {
        let server = Server::default();
        let mut factory = SharedInformerFactory::new(server.client.clone(), server.runtime.clone());
        let (pods, everything) = (factory.informer::<Pod>(), factory.everything());
        let engine = Arc::new((Arc::clone(&pods), Arc::clone(&everything)));
        let freed = Arc::downgrade(&engine);
        let held = [(); 5].map(|()| Arc::clone(&engine));
        let [changed, reached, metadata, served, version] = held;
        pods.add_handler(Box::new(move |_| drop(Arc::clone(&changed))));
        pods.on_version(Box::new(move |_| drop(Arc::clone(&reached))));
        everything.add_handler(Box::new(move |_, _| drop(Arc::clone(&metadata))));
        everything.on_served(Box::new(move |_| drop(Arc::clone(&served))));
        everything.on_version(Box::new(move |_, _| drop(Arc::clone(&version))));
        drop((engine, pods, everything));
        assert!(freed.upgrade().is_some());
        drop(factory);
        assert!(freed.upgrade().is_none());
    });
}

#[test]
fn fixed_caches_show_what_they_were_given() {
    let pod = |name| Pod::decode(Codec::Json, json(name, name, 0).as_bytes()).unwrap();
    let caches = Listers::default().with([pod("b"), pod("a")]).with::<ReplicaSet>([]);
    let view = View::new(Time::EPOCH, Duration::ZERO, &caches);
    let pods = view.of::<Pod>().all();
    assert_eq!(pods.iter().map(|pod| &*pod.meta.key.name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(view.of::<Pod>().by(Pod::ORPHANS_BY_NAMESPACE, "default").len(), 2);
    assert!(view.of::<ReplicaSet>().all().is_empty());
    assert!(Listers::default().cache(TypeId::of::<Pod>()).is_none());
}
