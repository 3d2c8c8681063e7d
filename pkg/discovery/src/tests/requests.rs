//! The requests for documents: plain ones if a server has no others, none for unchanged ones, and
//! shared ones if several callers wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::Served;
use serde_json::{Value, json};

use super::{Page, SECOND, Server, aggregated, plain_groups, plain_resources, rows, run};

const PODS: &[&str] = &["*v1 pods Pod"];

fn pods() -> Value {
    aggregated(&[("", &["v1: pods/Pod"])])
}

fn apps(version: &str) -> Value {
    aggregated(&[("apps", &[&format!("{version}: deployments/Deployment")])])
}

fn core_versions() -> Page {
    Page::plain(&json!({"versions": ["v1"]}))
}

/// Issue: repeated calls are cheap. A changed document is combined with the unchanged other one.
#[test]
fn what_has_not_changed_is_not_sent_again() {
    run(async {
        let server = Server::new([
            ("/api", Page::aggregated(&pods()).etag("\"a\"")),
            ("/apis", Page::aggregated(&apps("v1")).etag("\"b\"")),
        ]);
        let first = server.served().await;
        assert_eq!(rows(&first), ["*v1 pods Pod", "*apps/v1 deployments Deployment"]);
        assert_eq!(server.seen(), ["/apis", "/api"]);
        assert!(Arc::ptr_eq(&first, &server.served().await));
        assert_eq!(server.seen(), ["/apis \"b\"", "/api \"a\""]);

        server.set("/apis", Page::aggregated(&apps("v2")).etag("\"c\""));
        let second = server.served().await;
        assert_eq!(rows(&second), ["*v1 pods Pod", "*apps/v2 deployments Deployment"]);
        assert_eq!(server.seen(), ["/apis \"b\"", "/api"]);

        server.set("/api", Page::aggregated(&aggregated(&[])).etag("\"d\""));
        let third = server.served().await;
        assert_eq!(rows(&third), ["*apps/v2 deployments Deployment"]);
        assert_eq!(server.seen(), ["/apis \"c\"", "/api \"a\"", "/apis"]);

        // Another API server, which has another etag for the same state.
        server.set("/apis", Page::aggregated(&apps("v2")).etag("\"e\""));
        assert!(Arc::ptr_eq(&third, &server.served().await));
        assert!(Arc::ptr_eq(&third, &server.served().await));
        let seen = server.seen();
        assert_eq!(seen, ["/apis \"c\"", "/api", "/apis \"e\"", "/api \"d\""]);
    });
}

/// An error neither replaces the last result nor is kept.
#[test]
fn an_error_does_not_last() {
    run(async {
        let apis = Page::aggregated(&apps("v1")).etag("\"b\"");
        let server = Server::new([
            ("/api", Page::aggregated(&pods()).etag("\"a\"")),
            ("/apis", apis.clone()),
        ]);
        let first = server.served().await;
        server.set("/apis", Page::status(503, "later"));
        let error = server.discovery.served().await.unwrap_err();
        assert_eq!(error.to_string(), "later");
        server.set("/apis", apis);
        assert!(Arc::ptr_eq(&first, &server.served().await));
        assert_eq!(server.seen().last().unwrap(), "/api \"a\"");
        server.set("/apis", Page { body: "{".to_owned(), ..Page::aggregated(&json!({})) });
        let error = server.discovery.served().await.unwrap_err();
        assert!(error.to_string().starts_with("/apis: EOF"), "{error}");
    });
}

/// Callers that wait together share a result that is requested after all of them began; none gets a
/// result that was requested before.
#[test]
fn calls_that_wait_share_one_answer_that_is_not_older_than_they_are() {
    run(async {
        let server = Server::new([
            ("/api", Page::aggregated(&pods())),
            ("/apis", Page::aggregated(&apps("v1"))),
        ]);
        let Server { discovery, runtime, .. } = &server;
        let later = async {
            runtime.clock.sleep(SECOND / 2).await;
            server.set("/apis", Page::aggregated(&apps("v2")));
            tokio::join!(discovery.served(), discovery.served())
        };
        let (first, (second, third)) = tokio::join!(discovery.served(), later);
        let (first, second, third) = (first.unwrap(), second.unwrap(), third.unwrap());
        assert_eq!(rows(&first), ["*v1 pods Pod", "*apps/v1 deployments Deployment"]);
        assert_eq!(rows(&second), ["*v1 pods Pod", "*apps/v2 deployments Deployment"]);
        assert!(Arc::ptr_eq(&second, &third));
        assert_eq!(server.seen(), ["/apis", "/api", "/apis", "/api"]);
        server.served().await;
        assert_eq!(server.seen(), ["/apis", "/api"], "a later call requests again");

        server.set("/apis", Page::status(403, "no"));
        let waiting = async {
            runtime.clock.sleep(SECOND / 2).await;
            tokio::join!(discovery.served(), discovery.served())
        };
        let (first, (second, third)) = tokio::join!(discovery.served(), waiting);
        assert!(first.is_err() && second.is_err() && third.is_err());
        assert_eq!(server.seen(), ["/apis", "/apis"], "errors are shared too");
    });
}

/// A cancelled call does not stop the others.
#[test]
fn a_cancelled_call_stops_no_other_one() {
    run(async {
        let server = Server::new([
            ("/api", Page::aggregated(&pods())),
            ("/apis", Page::aggregated(&apps("v1"))),
        ]);
        let Server { discovery, runtime, .. } = &server;
        let given_up = runtime.clock.timeout(SECOND / 2, discovery.served());
        let (given_up, served) = tokio::join!(given_up, discovery.served());
        assert!(given_up.is_err());
        assert_eq!(rows(&served.unwrap()).len(), 2);
        assert_eq!(server.seen(), ["/apis", "/apis", "/api"]);
    });
}

/// TestAggregatedServerGroupsAndResourcesWithErrors, TestDiscoveryToleratesMissingCoreGroup,
/// TestDiscoveryFailsWhenNonCoreGroupsMissing and TestGetServerGroupsWithBrokenServer.
#[test]
fn only_the_core_group_may_be_missing() {
    run(async {
        let (none, ok) = (Page::status(404, "none"), Page::aggregated(&aggregated(&[])));
        let forbidden = Page::status(403, "forbidden");
        let apps = Page::aggregated(&apps("v1"));
        let extensions = Page::plain(&plain_groups("extensions", &["v1beta1"], ""));
        let deployments = &["*apps/v1 deployments Deployment"][..];
        for (core, groups, expected) in [
            (&none, &apps, Ok(deployments)),
            (&none, &extensions, Ok(&["*extensions/v1beta1 jobs Job"][..])),
            (&core_versions(), &extensions, Ok(&["*v1 pods Pod", "*extensions/v1beta1 jobs Job"])),
            (&forbidden, &ok, Err("forbidden")),
            (&ok, &none, Err("none")),
            (&core_versions(), &none, Err("none")),
            (&ok, &forbidden, Err("forbidden")),
            (&none, &none, Err("none")),
            (&forbidden, &forbidden, Err("forbidden")),
        ] {
            let server = Server::new([
                ("/api", core.clone()),
                ("/apis", groups.clone()),
                ("/api/v1", Page::plain(&plain_resources("pods/Pod"))),
                ("/apis/extensions/v1beta1", Page::plain(&plain_resources("jobs/Job"))),
            ]);
            let served = server.discovery.served().await.map_err(|error| error.to_string());
            let got = served.as_ref().map(|served| rows(served)).map_err(String::as_str);
            assert_eq!(got, expected.map(|rows| rows.iter().map(ToString::to_string).collect()));
        }
    });
}

/// TestServerPreferredNamespacedResources: the preferred kinds that are namespaced.
#[test]
fn plain_documents_mean_what_they_mean_upstream() {
    run(async {
        let both = "jobs/Job cronjobs/CronJob";
        let versions = &["v1", "v2alpha1", "v3alpha1"][..];
        for (core, versions, preferred, expected) in [
            (true, &versions[..1], "v1", &["v1 pods", "v1 services", "batch/v1 jobs"][..]),
            (false, versions, "v1", &["batch/v1 jobs", "batch/v2alpha1 cronjobs"]),
            (false, versions, "v2alpha1", &["batch/v2alpha1 jobs", "batch/v2alpha1 cronjobs"]),
        ] {
            let stable = "pods/Pod services/Service namespaces/Namespace/cluster";
            let server = Server::new([
                ("/apis", Page::plain(&plain_groups("batch", versions, preferred))),
                ("/api/v1", Page::plain(&plain_resources(stable))),
                ("/apis/batch/v1", Page::plain(&plain_resources("jobs/Job"))),
                ("/apis/batch/v2alpha1", Page::plain(&plain_resources(both))),
                ("/apis/batch/v3alpha1", Page::plain(&plain_resources(both))),
            ]);
            if core {
                server.set("/api", core_versions());
            }
            let served = server.served().await;
            let got = served.preferred(&[]).filter(|it| it.namespaced);
            let got: Vec<_> = got.map(|it| format!("{} {}", it.api_version(), it.plural)).collect();
            assert_eq!(
                (got.iter().map(String::as_str).collect(), served.failure()),
                (expected.to_vec(), None)
            );
        }
    });
}

/// TestServerPreferredResources and TestServerPreferredResourcesRetries: if a version fails, all
/// are requested once more; versions that fail again are named, and the others are there.
#[test]
fn a_version_that_fails_is_asked_for_once_more() {
    run(async {
        let down = |group: &str| format!("{group}: the server answered with HTTP 500");
        for (core_errors, errors, kinds, failed) in [
            (0, 0, &["*v1 pods Pod", "*extensions/v1beta1 deployments Deployment"][..], vec![]),
            (0, 1, &["*v1 pods Pod", "*extensions/v1beta1 deployments Deployment"], vec![]),
            (0, 2, PODS, vec![down("extensions/v1beta1")]),
            (1, 2, PODS, vec![down("extensions/v1beta1")]),
            (2, 2, &[], vec![down("extensions/v1beta1"), down("v1")]),
        ] {
            let (stable, beta) =
                (plain_resources("pods/Pod"), plain_resources("deployments/Deployment"));
            let server = Server::new([
                ("/api", core_versions()),
                ("/apis", Page::plain(&plain_groups("extensions", &["v1beta1"], "v1beta1"))),
                ("/api/v1", Page { errors: core_errors, ..Page::plain(&stable) }),
                ("/apis/extensions/v1beta1", Page { errors, ..Page::plain(&beta) }),
            ]);
            let served = server.served().await;
            assert_eq!(rows(&served), kinds);
            let got: Vec<_> =
                served.failed.iter().map(|(group, why)| format!("{group}: {why}")).collect();
            assert_eq!(got, failed, "{core_errors} {errors}");
            let tries = if errors + core_errors == 0 { 1 } else { 2 };
            assert_eq!(server.seen().len(), tries * 4);
        }
    });
}

/// client-go's ServerResourcesForGroupVersion, and the effect on other groups of one that is
/// removed between two requests or sends garbage.
#[test]
fn a_version_without_a_document_has_failed_unless_it_is_the_core_group() {
    run(async {
        let groups = json!({"groups": [
            {"name": "gone", "versions": [{"version": "v1"}]},
            {"name": "bad", "versions": [{"version": "v1"}]},
            {"name": "", "versions": [{"groupVersion": "extensions/v1beta1"}]},
        ]});
        let server = Server::new([
            ("/api", core_versions()),
            ("/apis", Page::plain(&groups)),
            ("/apis/bad/v1", Page { body: "<html>".to_owned(), ..Page::plain(&groups) }),
        ]);
        let served = server.served().await;
        assert_eq!(rows(&served), Vec::<String>::new());
        let expected = "unable to retrieve the complete list of server APIs: \
                    : groupVersion shouldn't be empty, \
                    bad/v1: /apis/bad/v1: expected value at line 1 column 1, \
                    gone/v1: the server could not find the requested resource";
        assert_eq!(served.failure().as_deref(), Some(expected));
    });
}

/// GroupsAndMaybeResources: the kinds of an aggregated document count only if both are aggregated.
#[test]
fn one_plain_document_makes_both_plain() {
    run(async {
        let server = Server::new([
            ("/api", core_versions()),
            (
                "/apis",
                Page::aggregated(&aggregated(&[("apps", &["!v2: x/X", "v1: x/X"])])).etag("\"b\""),
            ),
            ("/api/v1", Page::plain(&plain_resources("pods/Pod"))),
            ("/apis/apps/v1", Page::plain(&plain_resources("deployments/Deployment"))),
        ]);
        let served = server.served().await;
        assert_eq!(rows(&served), ["*v1 pods Pod", "*apps/v1 deployments Deployment"]);
        assert_eq!(served.failed, BTreeMap::new());
        assert!(Arc::ptr_eq(&served, &server.served().await));
        let once = ["/apis", "/api", "/api/v1", "/apis/apps/v1"];
        assert_eq!(server.seen(), [once, once].concat(), "what has many documents has no name");
    });
}

/// Kubernetes' api/discovery: both forms of the recording have the same content.
#[test]
fn both_forms_of_the_recording_mean_the_same() {
    run(async {
        let plain: BTreeMap<String, Value> =
            serde_json::from_str(include_str!("../../testdata/plain.json")).unwrap();
        let recorded: Value =
            serde_json::from_str(include_str!("../../testdata/aggregated.json")).unwrap();
        let server = Server::new([("/apis", Page::aggregated(&recorded))]);
        let from_aggregated = server.served().await;
        let server = Server::new([]);
        for (path, document) in plain.iter().filter(|(path, _)| *path != "/api") {
            server.set(path, Page::plain(document));
        }
        let from_plain = server.served().await;
        assert_eq!(rows(&from_plain), rows(&from_aggregated));
        assert_eq!(from_plain, from_aggregated);
        server.set("/api", Page::plain(&plain["/api"]));
        let all = server.served().await;
        assert_eq!(all.failed, BTreeMap::new());
        assert_eq!((all.kinds.len(), all.preferred(&[]).count()), (95, 76));
        let pod = all.find("v1", "Pod").unwrap();
        assert_eq!((&*pod.plural, pod.collection_path("")), ("pods", "/api/v1/pods".to_owned()));
    });
}

/// Version documents are requested concurrently, but not all at once: 40 of them take three rounds
/// of at most 16, after the list of groups and that of the core.
#[test]
fn documents_are_asked_for_some_at_a_time() {
    run(async {
        let versions: Vec<String> = (0..40).map(|n| format!("v{n}")).collect();
        let versions: Vec<&str> = versions.iter().map(String::as_str).collect();
        let server = Server::new([("/apis", Page::plain(&plain_groups("g", &versions, "v39")))]);
        for version in &versions {
            server.set(&format!("/apis/g/{version}"), Page::plain(&plain_resources("a/A")));
        }
        let started = server.runtime.clock.instant();
        let served = server.served().await;
        let took = server.runtime.clock.instant() - started;
        assert_eq!(took, 5 * SECOND);
        assert_eq!(served.kinds.len(), 40);
        let preferred: Vec<_> = served.preferred(&[]).map(|it| &*it.version).collect();
        assert_eq!(preferred, ["v39"]);
        let in_order = served.kinds.iter().map(|kind| &*kind.resource.version).eq(versions);
        assert!(in_order, "in the order of discovery, whatever answers first");
    });
}

/// A `Discovery` is shared by tasks.
#[test]
fn a_discovery_can_be_shared_by_tasks() {
    run(async {
        fn shared<T: Send>(value: T) -> T {
            value
        }
        let server = Server::new([("/apis", Page::aggregated(&aggregated(&[])))]);
        let discovery = Arc::new(server.discovery);
        let asked = shared(async move { shared(discovery).served().await });
        assert_eq!(*asked.await.unwrap(), Served::default());
    });
}
