//! Questions that cannot be answered say what is expected.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::*;

const EXPLAIN: &str = "/debug/controllers/replicaset-controller/explain";

#[tokio::test(start_paused = true)]
async fn an_unknown_controller_gets_the_names() {
    let manager = Manager::new(Fake::new(busy()));
    for path in ["/debug/controllers/nope", "/debug/controllers/nope/explain?key=a/b"] {
        let (code, page) = manager.get(path, "*/*").await;
        let expected = "\
Not found

There is no controller \"nope\".

CONTROLLERS
CONTROLLER
bootstrap-signer-controller
service-lb-controller
storageversion-garbage-collector-controller
ttl-controller
replicaset-controller
";
        assert_eq!((code, page.as_str()), (404, expected));
        let (code, shown) = manager.json(path).await;
        assert_eq!((code, &shown["controllers"][3]), (404, &json!("ttl-controller")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_must_be_one() {
    let manager = Manager::new(Fake::new(busy()));
    let long = format!("?key=shop/{}", "x".repeat(1025));
    for (query, given) in [
        ("", "no key was given"),
        ("?other=a", "no key was given"),
        ("?key=", "\"\" is no key of an object"),
        ("?key=a/b/c", "\"a/b/c\" is no key of an object"),
        ("?key=/b", "\"/b\" is no key of an object"),
        ("?key=a/", "\"a/\" is no key of an object"),
        ("?key=a/..", "\"a/..\" is no key of an object"),
        ("?key=a/b%0Ac", "\"a/b\\nc\" is no key of an object"),
        ("?key=a/b%2525", "\"a/b%25\" is no key of an object"),
        (&long, "is no key of an object"),
    ] {
        let (code, shown) = manager.json(&format!("{EXPLAIN}{query}")).await;
        let error = shown["error"].as_str().unwrap();
        assert!(code == 400 && error.contains(given), "{query}: {error}");
        let expected = "; expected ?key=<namespace>/<name>, or ?key=<name> for kinds without";
        assert!(error.contains(expected), "{error}");
    }
    for good in ["shop/web", "node-1", "system:node", "shop%2Fweb"] {
        let (code, shown) = manager.json(&format!("{EXPLAIN}?key={good}")).await;
        let key = good.replace("%2F", "/");
        assert_eq!((code, &shown["explanation"]["key"]), (200, &json!(key)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_does_not_run_explains_nothing() {
    let manager = Manager::new(Fake::new(busy()));
    for (name, why) in [
        (
            "bootstrapsigner",
            "bootstrap-signer-controller does not run here: --controllers does not",
        ),
        ("service", "it needs a built-in cloud provider; there are none"),
        ("ttl", "it has no key"),
        (
            "storageversion-garbage-collector-controller",
            "not all of the feature gates StorageVersionAPI, APIServerIdentity are on",
        ),
    ] {
        let (code, page) =
            manager.get(&format!("/debug/controllers/{name}/explain?key=a/b"), "*/*").await;
        assert!(code == 404 && page.contains(why), "{page}");
        let (code, page) = manager.get(&format!("/debug/controllers/{name}"), "*/*").await;
        assert!(code == 200 && page.contains("why:"), "{page}");
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_questions_at_once_are_refused() {
    let gate = Arc::new(Semaphore::new(0));
    let fake = Fake { gate: Some(Arc::clone(&gate)), ..Fake::new(busy()) };
    let pages = Manager::new(fake).router();
    let ask = || {
        let request = Request::builder().uri(format!("{EXPLAIN}?key=shop/web"));
        pages.clone().oneshot(request.body(Body::empty()).unwrap())
    };
    let mut asked: Vec<_> = (0..4).map(|_| Box::pin(ask())).collect();
    for question in &mut asked {
        assert!(question.now_or_never().is_none(), "it waits");
    }
    assert_eq!(ask().await.unwrap().status(), 503);
    gate.add_permits(4);
    for question in asked {
        assert_eq!(question.await.unwrap().status(), 200);
    }
    assert_eq!(ask().await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn nothing_but_reading_is_answered() {
    let pages = Manager::new(Fake::new(busy())).router();
    let request = Request::builder().method("POST").uri(format!("{EXPLAIN}?key=shop/web"));
    let response = pages.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 405);
}
