//! Kinds with a shared informer.

use super::*;
use crate::fixture::run;
use crate::informer::{Follower, Informer};
use crate::tests::json as pod;
use api::{Codec, Key, Kind as _, Object as _, Pod, RootCa};
use runtime::Cancel;

/// Pods with a shared informer.
async fn with_pods(answer: Arc<Served>) -> (Test, Arc<Informer>, Stream) {
    let mut pods = None;
    let others = |server: &Server| {
        let informer = Informer::new::<Pod>(server.client.clone(), server.runtime.clone());
        let informer = pods.insert(Arc::new(informer));
        vec![Arc::clone(informer)]
    };
    let mut test = Test::beside(&Server::default, others, answer);
    let stream = test.list(&Pod::RESOURCE, &[("a", "a", 5)], 10).await;
    (test, pods.unwrap(), stream)
}

#[test]
fn a_shared_informer_notifies_of_its_objects_too() {
    run(async {
        let (mut test, pods, mut stream) = with_pods(served([Pod::RESOURCE, widgets()])).await;
        test.hears(&["served 2", "pods + default/a@5", "pods at 10"]).await;
        assert_eq!(test.asked_paths().await, ["/apis/example.com/v1/widgets"], "no second watch");
        stream.send(event("MODIFIED", &pod("a", "a", 11))).await;
        test.hears(&["pods ~ default/a@5>11", "pods at 11"]).await;
        pods.notify_all().await;
        test.hears_nothing().await;
        assert_eq!(test.everything.version_of(&Pod::RESOURCE), Some(11));
        let held = test.everything.holds(&Pod::RESOURCE, &Key::new("default", "a"), "a");
        assert_eq!(held, Some(false));
        let status = test.everything.status();
        let status: Vec<_> = status.iter().map(|it| &*it.selection.resource.plural).collect();
        assert_eq!(status, ["widgets"], "the other one is shown by its factory");
    });
}

/// Discovery may add the kind late, remove it and add it again; the shared informer continues.
#[test]
fn a_later_subscriber_gets_the_cached_objects() {
    run(async {
        let (mut test, pods, mut stream) = with_pods(served([widgets()])).await;
        assert!(pods.synced(LIMIT).await);
        test.hears(&["served 1"]).await;
        for version in [12, 14, 16] {
            stream.send(event("MODIFIED", &pod("a", "a", version - 1))).await;
            test.hears_nothing().await;
            test.asks_and_gets(served([Pod::RESOURCE, widgets()])).await;
            let added = format!("pods + default/a@{}", version - 1);
            let at = format!("pods at {}", version - 1);
            test.hears(&["served 2", &added, &at]).await;
            stream.send(event("MODIFIED", &pod("a", "a", version))).await;
            let updated = format!("pods ~ default/a@{}>{version}", version - 1);
            test.hears(&[&updated, &format!("pods at {version}")]).await;
            test.asks_and_gets(served([widgets()])).await;
            test.hears(&["served 1", "pods dropped"]).await;
        }
        assert!(pods.followers_held() <= 1, "those that are gone are forgotten");
        stream.send(event("MODIFIED", &pod("a", "a", 20))).await;
        test.hears_nothing().await;
        assert_eq!(pods.version(), 20);
    });
}

/// An informer that selects by fields does not hold all objects.
#[test]
fn an_informer_of_some_objects_is_not_shared() {
    run(async {
        let others = |server: &Server| {
            let informer = Informer::new::<RootCa>(server.client.clone(), server.runtime.clone());
            vec![Arc::new(informer)]
        };
        let mut test = Test::beside(&Server::default, others, served([RootCa::RESOURCE]));
        let calls = test.server.under_way().await;
        let selects: Vec<_> =
            calls.iter().map(|call| call.path.contains("fieldSelector")).collect();
        assert_eq!(selects, [true, false]);
        assert_eq!(test.everything.status().len(), 1);
    });
}

/// Whenever it subscribes, before, during or after the notifications of a list, it gets each object
/// once.
#[test]
fn a_follower_that_subscribes_during_notifications_misses_nothing() {
    for turns in 0..12 {
        run(async {
            let server = Server::default();
            let informer = Informer::new::<Pod>(server.client.clone(), server.runtime.clone());
            let pods = (0..700).map(|n| {
                let name = format!("p{n:03}");
                let pod = Pod::decode(Codec::Json, pod(&name, &name, 1).as_bytes()).unwrap();
                (pod.meta().key.clone(), Arc::new(pod) as _)
            });
            let pods = pods.collect();
            let seen = Arc::<Mutex<Vec<String>>>::default();
            let (log, versions) = (Arc::clone(&seen), Arc::clone(&seen));
            let cancel = Cancel::new();
            let follower = Follower {
                cancel: cancel.clone(),
                changed: Box::new(move |change| {
                    log.lock().unwrap().push(text(&Pod::RESOURCE, change));
                }),
                reached: Box::new(move |version| {
                    versions.lock().unwrap().push(format!("at {version}"));
                }),
            };
            let after = async |turns: usize| {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
            };
            let follow = async {
                after(turns).await;
                informer.follow(follower).await;
            };
            let list = async {
                after(1).await;
                informer.update(|store| store.replace(pods, 10)).await;
                informer.update(|store| store.replace([].into(), 20)).await;
            };
            tokio::join!(follow, list);
            cancel.cancel();
            informer.update(|store| store.replace([].into(), 30)).await;
            let seen = seen.lock().unwrap();
            let count = |start: &str| seen.iter().filter(|it| it.starts_with(start)).count();
            let (added, deleted) = (count("pods +"), count("pods -"));
            assert!(added == deleted && [0, 700].contains(&added), "+{added} -{deleted}");
            assert_eq!(seen.last().map(|it| &**it), Some("at 20"), "after {turns} turns");
        });
    }
}
