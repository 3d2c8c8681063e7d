//! Authorization. Rows name pkg/authorization/path or plugin/pkg/authorizer/webhook.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::{Ask, World, failure, get, owner_of, run, settings};
use crate::{Error, Guard, Object, Settings, User};

const REVIEWS: &str = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews";

fn status(status: &Value) -> super::Reply {
    (201, json!({"status": status}))
}

/// manager.md, HTTP endpoints: HTTP verbs map to lower-case RBAC verbs on nonResourceURLs.
#[test]
fn the_api_server_is_asked_with_all_that_is_known() {
    run(async {
        let world = World::new();
        world.api(|api| {
            api.tokens.insert("t".to_owned(), owner_of("alice"));
            api.access = Some(status(&json!({"allowed": true})));
        });
        let guard = world.guard(&settings()).await.unwrap();
        let rows = [
            (Method::GET, "get"),
            (Method::PUT, "put"),
            (Method::DELETE, "delete"),
            (Method::HEAD, "head"),
            (Method::from_bytes(b"pAtCh").unwrap(), "patch"),
        ];
        for (method, verb) in rows {
            let ask = Ask { method, ..get("/debug/a%20b?c=d").bearer("t") };
            assert_eq!(ask.code(&guard).await, 200);
            let (_, body, _) = world.api(|api| api.seen.pop()).unwrap();
            let review = json!({
                "kind": "SubjectAccessReview",
                "apiVersion": "authorization.k8s.io/v1",
                "spec": {
                    "nonResourceAttributes": {"path": "/debug/a b", "verb": verb},
                    "user": "alice",
                    "uid": "u1",
                    "groups": ["g1", "system:authenticated"],
                    "extra": {"k": ["v"]},
                },
            });
            assert_eq!(body, review);
        }
        assert_eq!(world.metric("authorization_attempts_total", "allowed"), 5);
        assert_eq!(world.metric("authorization_duration_seconds", "allowed"), 5);
        assert_eq!(world.metric("apiserver_delegated_authz_request_total", "201"), 5);
        let seconds = "apiserver_delegated_authz_request_duration_seconds";
        assert_eq!(world.metric(seconds, "201"), 5);
    });
}

/// authorization.k8s.io/v1, resourceAttributes.
#[test]
fn access_to_an_object_is_reviewed_too() {
    run(async {
        let object =
            Object { group: "apps", version: "v1", resource: "sets", namespace: "shop", name: "a" };
        let alice =
            User { name: "alice".to_owned(), groups: vec!["g".to_owned()], ..User::default() };
        let rows = [
            (json!({"allowed": true}), Ok(true)),
            (json!({"allowed": false}), Ok(false)),
            (json!({"denied": true}), Ok(false)),
        ];
        for (answer, expected) in rows {
            let world = World::new();
            world.api(|api| api.access = Some(status(&answer)));
            let guard = world.guard(&settings()).await.unwrap();
            for _ in 0..3 {
                assert_eq!(guard.may_get(&alice, &object).await, expected);
            }
            assert_eq!(world.count(REVIEWS), 1, "it is remembered");
            let (_, body, _) = world.api(|api| api.seen.pop()).unwrap();
            let spec = json!({
                "resourceAttributes": {"verb": "get", "group": "apps", "version": "v1",
                    "resource": "sets", "namespace": "shop", "name": "a"},
                "user": "alice", "uid": "", "groups": ["g"], "extra": {},
            });
            assert_eq!(body["spec"], spec);
            let other = Object { name: "b", ..object };
            assert_eq!(guard.may_get(&alice, &other).await, expected);
            assert_eq!(world.count(REVIEWS), 1, "another object is another question");
            let attempts = world.metric("authorization_attempts_total", "");
            assert_eq!(attempts, 0, "these are no requests");
        }
        let world = World::new();
        world.api(|api| api.access = Some(failure(403, "Forbidden", "no")));
        let guard = world.guard(&settings()).await.unwrap();
        assert!(guard.may_get(&alice, &object).await.unwrap_err().contains("no"));
        let master = User { groups: vec!["system:masters".to_owned()], ..alice };
        assert_eq!(guard.may_get(&master, &object).await, Ok(true));
    });
}

/// webhook.go: from a status to a decision, and how it is counted.
#[test]
fn a_status_becomes_a_decision() {
    let rows = [
        (json!({"allowed": true, "reason": "RBAC"}), 200, "allowed"),
        (json!({"allowed": true, "evaluationError": "a role is missing"}), 200, "allowed"),
        (json!({}), 403, "no-opinion"),
        (json!({"allowed": false, "reason": "no rule"}), 403, "no-opinion"),
        (json!({"denied": true}), 403, "denied"),
        (json!({"denied": true, "allowed": true}), 500, "error"),
    ];
    for (given, code, result) in rows {
        run(async {
            let world = World::new();
            world.api(|api| api.access = Some(status(&given)));
            let guard = world.guard(&settings()).await.unwrap();
            assert_eq!(get("/metrics").code(&guard).await, code, "{given}");
            assert_eq!(world.metric("authorization_attempts_total", result), 1, "{given}");
        });
    }
}

/// path_test.go.
#[test]
fn open_paths_are_exact_or_end_in_a_star() {
    let rows = [
        ("/healthz", "/healthz", true),
        ("healthz", "/healthz", true),
        ("/healthz", "/healthz?verbose", true),
        ("/healthz", "/healthz/", false),
        ("/healthz", "/healthz/etcd", false),
        ("/healthz", "/health%7A", true),
        ("/healthz", "/Healthz", false),
        ("/healthz/*", "/healthz/etcd", true),
        ("/healthz/*", "/healthz", false),
        ("/healthz*", "/healthzz", true),
        ("/", "/", true),
        ("/", "/metrics", false),
        ("*", "/metrics", true),
        ("", "/", true),
    ];
    for (open, target, allowed) in rows {
        run(async {
            let world = World::new();
            let always_allow_paths = vec![open.to_owned()];
            let settings = Settings { always_allow_paths, ..settings() };
            let guard = world.guard(&settings).await.unwrap();
            let code = get(target).code(&guard).await;
            assert_eq!(code == 200, allowed, "{open:?} and {target:?}");
            assert_eq!(world.count(REVIEWS), usize::from(!allowed), "{open:?} and {target:?}");
        });
    }
}

#[test]
fn a_star_within_a_path_is_refused_at_start() {
    for path in ["/a*b", "a**", "/*/"] {
        run(async {
            let always_allow_paths = vec!["/ok*".to_owned(), path.to_owned()];
            let settings = Settings { always_allow_paths, ..settings() };
            let error = World::new().guard(&settings).await.unwrap_err();
            assert!(matches!(error, Error::AlwaysAllowPath(_)), "{path}: {error}");
            let text = "--authorization-always-allow-paths: only trailing * allowed in ";
            assert!(error.to_string().starts_with(text), "{error}");
        });
    }
}

/// flags.md, Authorization: allowed and refused are kept for times of their own.
#[test]
fn decisions_are_kept_for_their_time() {
    let rows = [("allowed", true, 3, [1, 1, 2]), ("refused", false, 5, [1, 1, 2])];
    for (name, allowed, ttl, counts) in rows {
        run(async {
            let world = World::new();
            world.api(|api| api.access = Some(status(&json!({"allowed": allowed}))));
            let settings = Settings {
                authorized_ttl: Duration::from_secs(3),
                unauthorized_ttl: Duration::from_secs(5),
                ..settings()
            };
            let guard = world.guard(&settings).await.unwrap();
            for (pause, count) in [0, ttl * 1000 - 1, 1].into_iter().zip(counts) {
                world.runtime.clock.sleep(Duration::from_millis(pause)).await;
                get("/metrics").code(&guard).await;
                assert_eq!(world.count(REVIEWS), count, "{name} after {pause} ms more");
            }
            get("/configz").code(&guard).await;
            assert_eq!(world.count(REVIEWS), 3, "{name}: another path is another question");
        });
    }
}

/// webhook.go, shouldCache: requests whose length the client controls are not cached; errors
/// neither.
#[test]
fn long_questions_and_errors_are_not_kept() {
    run(async {
        let world = World::new();
        let guard = world.guard(&settings()).await.unwrap();
        let paths = [9_996, 9_997].map(|len| &*format!("/{}", "x".repeat(len - 1)).leak());
        for (path, reviews) in paths.into_iter().zip([1, 3]) {
            assert_eq!(get(path).code(&guard).await, 403);
            assert_eq!(get(path).code(&guard).await, 403);
            assert_eq!(world.count(REVIEWS), reviews);
        }
        world.api(|api| api.access = Some(failure(403, "Forbidden", "you may not ask")));
        assert_eq!(get("/metrics").code(&guard).await, 500);
        assert_eq!(get("/metrics").code(&guard).await, 500);
        assert_eq!(world.count(REVIEWS), 5);
        assert_eq!(world.metric("authorization_attempts_total", "error"), 2);
    });
}

/// authorization.go, ClientTimeout: 10 s a try; a try that took this long is the last.
#[test]
fn a_silent_api_server_ends_in_500_after_ten_seconds() {
    run(async {
        let world = World::new();
        let guard = world.guard(&settings()).await.unwrap();
        world.api(|api| api.delay = Duration::from_hours(1));
        let started = world.runtime.clock.instant();
        assert_eq!(get("/metrics").code(&guard).await, 500);
        let took = world.runtime.clock.instant() - started;
        assert_eq!(took.as_millis() / 10, 1000);
        assert_eq!(world.metric("apiserver_delegated_authz_request_total", "<error>"), 1);
    });
}

/// authorization.go: without a client, only groups and paths count.
#[test]
fn without_a_client_only_masters_and_open_paths_are_allowed() {
    run(async {
        let world = World::new();
        world.api(|api| {
            let user = json!({"username": "root", "groups": ["system:masters"]});
            let reply = (201, json!({"status": {"authenticated": true, "user": user}}));
            api.tokens.insert("root".to_owned(), reply);
            api.tokens.insert("t".to_owned(), owner_of("alice"));
        });
        let (client, metrics) = (Some(&world.client), &world.metrics);
        let settings = settings();
        let guard = Guard::start(&settings, client, None, metrics, &world.runtime);
        let guard = guard.await.unwrap();
        let ask = [get("/metrics").bearer("root"), get("/metrics").bearer("t"), get("/livez")];
        for (ask, code) in ask.into_iter().zip([200, 403, 200]) {
            assert_eq!(ask.code(&guard).await, code);
        }
        assert_eq!(world.metric("authorization_attempts_total", "no-opinion"), 1);
    });
}
