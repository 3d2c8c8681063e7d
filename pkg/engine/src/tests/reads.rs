//! Live reads: what is requested, and the answer to each response.

use std::time::Duration;

use api::{Pod, ReplicaSet, Resource};
use cache::fixture::{run, status};
use controller::{Answer, Excerpt, Facts, Plan, Query, Selector};
use serde_json::json;

use super::world::{PODS, SETS, World, accept, pod, refuse, set, with};

const REVIEWS: Resource = Resource::cluster_scoped(
    "authorization.k8s.io",
    "v1",
    "subjectaccessreviews",
    "SubjectAccessReview",
);
const REVIEWS_PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const METRICS: &str = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=app%3Dweb";

/// Reads once, and ends in an error that shows the answer.
async fn asking(query: Query, says: fn(&Answer) -> String) -> (World, super::world::Log) {
    World::probe(move |_, facts: &Facts| match facts.get(&query) {
        None => Plan::fetch("asks", vec![query.clone()]),
        Some(answer) => Plan::failed("was answered", says(answer)),
    })
    .await
}

/// What the controller reported of the answer.
async fn said(world: &World, log: &super::world::Log) -> String {
    world.settle().await;
    let lines = log.take();
    let report = lines.iter().find_map(|line| line.split_once(" report "));
    report.unwrap_or_else(|| panic!("no report: {lines:?}")).1.trim_end_matches(" web").to_owned()
}

fn names(answer: &Answer) -> String {
    match answer.views::<Pod>() {
        Ok(Some(pods)) => {
            let names: Vec<_> = pods.iter().map(|pod| &*pod.meta.key.name).collect();
            names.join(",")
        }
        Ok(None) => "none".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn value(answer: &Answer) -> String {
    match answer.json() {
        Ok(value) => value["status"].to_string(),
        Err(error) => format!("{:?} {error}", error.code),
    }
}

/// metrics.k8s.io, a `scale`, OpenAPI: the path is sent unchanged. If it does not exist, the error
/// has the API server's text, which an autoscaler shows.
#[test]
fn any_path_is_read_as_json() {
    for (code, body, expected) in [
        (200, json!({"status": [1]}).to_string(), "[1]"),
        (200, "{".to_owned(), "None EOF while parsing an object at line 1 column 1"),
        (404, status(404, "NotFound", "no metrics"), "Some(404) no metrics"),
        (503, status(503, "ServiceUnavailable", "away"), "Some(503) away"),
    ] {
        run(async {
            let (mut world, log) = asking(Query::path(METRICS), value).await;
            let call = world.server.find("GET", METRICS.split_once('?').unwrap().0).await;
            assert_eq!((&*call.path, &*call.accept), (METRICS, "application/json"));
            call.reply(code, body).await;
            assert_eq!(said(&world, &log).await, expected);
        });
    }
}

/// Of a document, byte by byte as the server has sent it, an excerpt is kept.
#[test]
fn an_excerpt_of_a_document_is_kept() {
    let kept = |answer: &Answer| format!("{:?}", answer.document());
    let make = |document: &[u8], words: &[String]| format!("{}{}", document.len(), words.concat());
    let query = Query::Document(Excerpt::new(METRICS, ["a".to_owned(), "b".to_owned()], make));
    for (body, expected) in [("{ \"a\": 1 }", "Ok(\"10ab\")"), ("{", "Ok(\"1ab\")")] {
        run(async {
            let (mut world, log) = asking(query.clone(), kept).await;
            let call = world.server.find("GET", METRICS.split_once('?').unwrap().0).await;
            assert_eq!((&*call.path, &*call.accept), (METRICS, "application/json"));
            call.reply(200, body.to_owned()).await;
            assert_eq!(said(&world, &log).await, expected);
        });
    }
}

/// Limits: JSON takes several times as much memory as its text.
#[test]
fn json_that_is_too_long_is_no_answer() {
    run(async {
        let (mut world, log) = asking(Query::path(METRICS), value).await;
        let call = world.server.find("GET", METRICS.split_once('?').unwrap().0).await;
        let long = 17 * 1024 * 1024;
        call.reply(200, format!("\"{}\"", "a".repeat(long))).await;
        let expected = format!("None an answer of {} bytes is too long", long + 2);
        assert_eq!(said(&world, &log).await, expected);
    });
}

/// The request and the decoding are those of the kind's informer, page by page, with the same
/// selectors each time.
#[test]
fn views_are_listed_with_selectors_page_by_page() {
    run(async {
        let selector = Selector { labels: "app=web".into(), fields: "spec.nodeName=a".into() };
        let query = Query::views::<Pod>("shop".into(), selector);
        let (mut world, log) = asking(query, names).await;
        let which = "limit=500&labelSelector=app%3Dweb&fieldSelector=spec.nodeName%3Da";
        let broken = with(pod("b", 1), json!({"spec": 7}));
        for (page, items, next) in [
            (format!("?{which}"), vec![pod("a", 1), broken], "x/y"),
            (format!("?{which}&continue=x%2Fy"), vec![pod("c", 1)], ""),
        ] {
            let call = world.server.find("GET", PODS).await;
            assert_eq!(call.path, format!("{PODS}{page}"));
            assert_eq!(call.accept, "application/vnd.kubernetes.protobuf, application/json");
            let meta = json!({"resourceVersion": "12", "continue": next});
            let list = json!({"kind": "PodList", "metadata": meta, "items": items});
            call.reply(200, list.to_string()).await;
        }
        assert_eq!(said(&world, &log).await, "a,b,c");
    });
}

/// An answer is complete or an error: pages before the failure do not count.
#[test]
fn a_list_whose_second_page_fails_is_no_answer() {
    run(async {
        let query = Query::views::<Pod>("shop".into(), Selector::default());
        let (mut world, log) = asking(query, names).await;
        let meta = json!({"resourceVersion": "12", "continue": "x"});
        let list = json!({"metadata": meta, "items": [pod("a", 1)]});
        world.server.find("GET", PODS).await.reply(200, list.to_string()).await;
        let call = world.server.find("GET", PODS).await;
        refuse(call, 410, "Expired", "the continue parameter is too old").await;
        assert_eq!(said(&world, &log).await, "the continue parameter is too old");
    });
}

/// Limits: a server that always has one more page does not block a worker for ever.
#[test]
fn a_read_that_takes_too_long_is_no_answer() {
    run(async {
        let query = Query::views::<Pod>("shop".into(), Selector::default());
        let (mut world, log) = asking(query, names).await;
        let meta = json!({"resourceVersion": "12", "continue": "x"});
        let list = json!({"metadata": meta, "items": []}).to_string();
        for _ in 0..9 {
            let call = world.server.find("GET", PODS).await;
            world.wait(Duration::from_secs(61)).await;
            call.reply(200, list.clone()).await;
        }
        let _last = world.server.find("GET", PODS).await;
        assert_eq!(log.take().len(), 2, "it still reads");
        world.wait(Duration::from_secs(55)).await;
        let said = log.take().into_iter().find(|line| line.contains(" report "));
        let said = said.unwrap_or_default();
        assert!(said.ends_with("report all pods in shop: not read within 600s web"), "{said}");
    });
}

/// One object as the view that the caches hold, in the encoding that the view needs.
#[test]
fn one_object_is_read_as_a_view() {
    let says = |answer: &Answer| match answer.view::<ReplicaSet>() {
        Ok(Some(set)) => format!("version {}", set.meta.resource_version),
        Ok(None) => "none".to_owned(),
        Err(error) => error.to_string(),
    };
    for (code, expected) in [(200, "version 12"), (404, "none"), (500, "odd")] {
        run(async {
            let query = Query::view::<ReplicaSet>(api::Key::new("shop", "web"));
            let (mut world, log) = asking(query, says).await;
            let call = world.get().await;
            assert_eq!((&*call.path, &*call.accept), (&*format!("{SETS}/web"), "application/json"));
            if code == 200 {
                accept(call, &set(12, 0, 0)).await;
            } else {
                call.reply(code, status(code, "Odd", "odd")).await;
            }
            assert_eq!(said(&world, &log).await, expected);
        });
    }
}

/// csr.md, approving: the whole response to a POST matters. It changes nothing, so it is not a
/// write: the fence does not refuse it, and it is not counted.
#[test]
fn a_review_is_posted_and_answered_whole() {
    run(async {
        let body = json!({"spec": {"user": "kubelet"}});
        let query = Query::review(REVIEWS, "selfnodeclient", &body);
        let (mut world, log) = asking(query, value).await;
        let call = world.server.find("POST", REVIEWS_PATH).await;
        assert_eq!(super::world::body(&call), body);
        assert_eq!(call.accept, "application/json");
        accept(call, &json!({"status": {"allowed": true}})).await;
        assert_eq!(said(&world, &log).await, r#"{"allowed":true}"#);
        // The key is retried, since the plan ends in an error.
        world.close_fence(true);
        world.wait(Duration::from_secs(6)).await;
        let call = world.server.find("POST", REVIEWS_PATH).await;
        refuse(call, 403, "Forbidden", "not you").await;
        assert_eq!(said(&world, &log).await, "Some(403) not you");
        assert!(!world.registry.page("").body.contains("kcm_writes_total{"));
    });
}
