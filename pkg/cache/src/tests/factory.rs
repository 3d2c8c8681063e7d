//! The factory, and caches without informers.

use std::any::TypeId;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Codec, Key, Kind, Pod, ReplicaSet, Time};
use controller::{Caches, Change, View};

use super::{json, text};
use crate::fixture::{LIMIT, Server, bookmark, event, run};
use crate::{Listers, SharedInformerFactory};

#[test]
fn shares_one_informer_for_each_kind() {
    run(async {
        let mut server = Server::default();
        let mut factory = SharedInformerFactory::new(server.client.clone(), server.runtime.clone());
        let pods = factory.informer::<Pod>();
        assert!(Arc::ptr_eq(&pods, &factory.informer::<Pod>()));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (changes, versions) = (Arc::clone(&heard), Arc::clone(&heard));
        let kind = TypeId::of::<Pod>();
        assert!(factory.subscribe(
            kind,
            Box::new(move |change| {
                changes.lock().unwrap().push(text(change.downcast_ref::<Change<Pod>>().unwrap()));
            })
        ));
        let hook = move |version| versions.lock().unwrap().push(format!("at {version}"));
        assert!(factory.on_version(kind, Box::new(hook)));
        let other = TypeId::of::<ReplicaSet>();
        assert!(!factory.subscribe(other, Box::new(|_| {})));
        assert!(!factory.on_version(other, Box::new(|_| {})));
        assert_eq!((factory.version(kind), factory.version(other)), (Some(0), None));

        factory.informer::<ReplicaSet>();
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

        let late = factory.wait_synced(Duration::from_secs(20)).await.unwrap_err();
        assert_eq!(late.to_string(), "the caches of replicasets.apps did not sync in time");
        call.answer(200, "application/json").send(bookmark(7, true)).await;
        factory.wait_synced(LIMIT).await.unwrap();
        assert_eq!(*heard.lock().unwrap(), ["+ default/a@5", "+ default/b@6", "at 10"]);

        assert_eq!(factory.version_of(&Pod::RESOURCE), Some(10));
        assert_eq!(factory.version_of(&ReplicaSet::RESOURCE), Some(7));
        let holds = |name, uid| factory.holds(&Pod::RESOURCE, &Key::new("default", name), uid);
        assert!(holds("a", "a1"));
        assert!(!holds("a", "a2"), "another uid");
        assert!(!holds("b", "b1"), "being deleted");
        assert!(!holds("c", "c1"), "not there");
        assert!(!factory.holds(&ReplicaSet::RESOURCE, &Key::new("default", "a"), "a1"));

        let status = factory.status();
        let status: Vec<_> = status.iter().map(|s| (&*s.resource.plural, s.objects)).collect();
        assert_eq!(status, [("pods", 2), ("replicasets", 0)]);
        let view = View::new(Time::EPOCH, &factory);
        assert_eq!(view.of::<Pod>().all().len(), 2);
    });
}

#[test]
fn fixed_caches_show_what_they_were_given() {
    let pod = |name| Pod::decode(Codec::Json, json(name, name, 0).as_bytes()).unwrap();
    let caches = Listers::default().with([pod("b"), pod("a")]).with::<ReplicaSet>([]);
    let view = View::new(Time::EPOCH, &caches);
    let pods = view.of::<Pod>().all();
    assert_eq!(pods.iter().map(|pod| &*pod.meta.key.name).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(view.of::<Pod>().by(Pod::ORPHANS_BY_NAMESPACE, "default").len(), 2);
    assert!(view.of::<ReplicaSet>().all().is_empty());
    assert!(Listers::default().lister(TypeId::of::<Pod>()).is_none());
}
