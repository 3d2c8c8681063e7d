//! Bearer tokens. Rows name pkg/authentication/request/bearertoken, token/cache or
//! plugin/pkg/authenticator/token/webhook.

use std::time::Duration;

use serde_json::json;

use super::{World, failure, get, logged, owner_of, run, settings};

const REVIEWS: &str = "POST /apis/authentication.k8s.io/v1/tokenreviews";
const REQUESTS: &str = "apiserver_delegated_authn_request_total";

#[test]
fn the_api_server_says_whose_a_token_is() {
    run(async {
        let world = World::new();
        world.api(|api| api.tokens.insert("good".to_owned(), owner_of("alice")));
        let guard = world.guard(&settings()).await.unwrap();
        let user = get("/healthz").bearer("good").of(&guard).await.unwrap();
        assert_eq!((&*user.name, &*user.uid), ("alice", "u1"));
        assert_eq!(user.groups, ["g1", "system:authenticated"]);
        assert_eq!(user.extra["k"], ["v"]);
        let (_, body, _) = world.api(|api| api.seen.pop()).unwrap();
        let review = json!({
            "kind": "TokenReview",
            "apiVersion": "authentication.k8s.io/v1",
            "spec": {"token": "good"},
        });
        assert_eq!(body, review);
        assert_eq!(world.metric("authenticated_user_requests", "other"), 1);
        assert_eq!(world.metric("authentication_attempts", "success"), 1);
        assert_eq!(world.metric("authentication_duration_seconds", "success"), 1);
        assert_eq!(world.metric(REQUESTS, "201"), 1);
    });
}

/// bearertoken.go: what counts as a token.
#[test]
fn only_a_bearer_token_is_reviewed() {
    let rows = [
        ("Bearer good", 200),
        ("  bearer good  ", 200),
        ("BEARER good and more", 200),
        ("Bearer bad", 401),
        // No credentials: no review, and /healthz is open.
        ("Bearer", 200),
        ("Bearer  good", 200),
        ("Token bad", 200),
        ("Basic Z29vZA==", 200),
    ];
    for (header, code) in rows {
        run(async {
            let world = World::new();
            world.api(|api| api.tokens.insert("good".to_owned(), owner_of("alice")));
            let guard = world.guard(&settings()).await.unwrap();
            let ask = get("/healthz").header("authorization", header);
            assert_eq!(ask.code(&guard).await, code, "{header}");
            let reviewed = header.contains(" bad") || header.to_lowercase().contains("bearer good");
            let reviewed = reviewed && !header.starts_with("Token");
            assert_eq!(world.count(REVIEWS), usize::from(reviewed), "{header}");
        });
    }
}

/// cached_token_authenticator.go: results are cached for the TTL, errors are not.
#[test]
fn a_verdict_is_kept_for_its_time_and_an_error_is_not() {
    let nobody = (201, json!({"status": {"authenticated": false, "user": null}}));
    let wrong = (201, json!({"status": {"error": "not for this audience"}}));
    let rows = [
        ("a user", owner_of("alice"), 200, [1, 1, 2]),
        ("nobody", nobody, 401, [1, 1, 2]),
        ("an error of the review", wrong, 401, [1, 2, 3]),
        ("an error of the request", failure(400, "BadRequest", "no"), 401, [1, 2, 3]),
    ];
    for (name, reply, code, counts) in rows {
        run(async {
            let world = World::new();
            world.api(|api| api.tokens.insert("t".to_owned(), reply));
            let guard = world.guard(&settings()).await.unwrap();
            let ask = get("/healthz").bearer("t");
            for (pause, count) in [0, 9_999, 1].into_iter().zip(counts) {
                world.runtime.clock.sleep(Duration::from_millis(pause)).await;
                assert_eq!(ask.code(&guard).await, code, "{name}");
                assert_eq!(world.count(REVIEWS), count, "{name} after {pause} ms more");
            }
            let metric = |name: &str, label| world.metric(name, label);
            let hits = metric("authentication_token_cache_request_total", "hit");
            assert_eq!(hits, u64::from(counts[1] == 1), "{name}");
            let misses = metric("authentication_token_cache_request_duration_seconds", "miss");
            assert_eq!(misses, 3 - hits, "{name}");
            let word = if counts[1] == 1 { "ok" } else { "error" };
            let fetches = metric("authentication_token_cache_fetch_total", word);
            assert_eq!(fetches, misses, "{name}");
        });
    }
}

/// cached_token_authenticator.go: requests with one token share a review.
#[test]
fn requests_that_come_together_share_one_review() {
    run(async {
        let world = World::new();
        let guard = world.guard(&settings()).await.unwrap();
        world.api(|api| {
            api.tokens.insert("good".to_owned(), owner_of("alice"));
            api.delay = Duration::from_secs(1);
        });
        let [first, second, other] = ["good", "good", "bad"].map(|t| get("/healthz").bearer(t));
        let active = "authentication_token_cache_active_fetch_count";
        let look = async {
            world.runtime.clock.sleep(Duration::from_millis(500)).await;
            let active = [world.metric(active, "blocked"), world.metric(active, "in_flight")];
            assert_eq!(active, [3, 2]);
        };
        let codes =
            async { tokio::join!(first.code(&guard), second.code(&guard), other.code(&guard)) };
        let (codes, ()) = tokio::join!(codes, look);
        assert_eq!(codes, (200, 200, 401));
        assert_eq!(world.count(REVIEWS), 2);
        assert_eq!(world.metric(active, ""), 0);
    });
}

#[test]
fn a_waiting_caller_gets_a_result_when_the_first_one_is_dropped() {
    run(async {
        let world = World::new();
        let guard = world.guard(&settings()).await.unwrap();
        world.api(|api| {
            api.tokens.insert("good".to_owned(), owner_of("alice"));
            api.delay = Duration::from_secs(2);
        });
        let ask = get("/healthz").bearer("good");
        let clock = &world.runtime.clock;
        let first = clock.timeout(Duration::from_secs(1), ask.code(&guard));
        let (first, second) = tokio::join!(first, ask.code(&guard));
        assert!(first.is_err());
        assert_eq!(second, 200);
        assert_eq!(world.metric("authentication_token_cache_active_fetch_count", ""), 0);
    });
}

/// util/webhook, WithExponentialBackoff: 5 tries, 500 ms x 1.5 with up to a fifth more.
#[test]
fn what_may_pass_is_asked_again_and_what_may_not_is_not() {
    let rows = [
        ("internal error", failure(500, "InternalError", "etcd"), 5),
        ("no Status", (500, json!("boom")), 5),
        ("timeout", failure(504, "Timeout", "late"), 5),
        ("too many requests", failure(429, "TooManyRequests", "later"), 5),
        ("forbidden", failure(403, "Forbidden", "no"), 1),
        ("unauthorized", failure(401, "Unauthorized", "who?"), 1),
        ("unavailable", failure(503, "ServiceUnavailable", "no"), 1),
        ("no review", (201, json!([])), 1),
    ];
    for (name, reply, tries) in rows {
        run(async {
            let world = World::new();
            let guard = world.guard(&settings()).await.unwrap();
            let code = if reply.0 == 201 { "201".to_owned() } else { reply.0.to_string() };
            world.api(|api| api.first = vec![reply; 9]);
            assert_eq!(get("/healthz").bearer("t").code(&guard).await, 401, "{name}");
            let times = world.api(|api| {
                let seen = api.seen.iter().filter(|(what, ..)| what.starts_with(REVIEWS));
                seen.map(|(_, _, at)| at.as_millis()).collect::<Vec<_>>()
            });
            assert_eq!(times.len() as u64, tries, "{name}");
            let pauses = times.windows(2).map(|pair| pair[1] - pair[0]);
            for (pause, least) in pauses.zip([500, 750, 1125, 1687]) {
                assert!((least..=least * 6 / 5 + 3).contains(&pause), "{name}: {pause}");
            }
            assert_eq!(world.metric(REQUESTS, &code), tries);
            assert_eq!(world.metric("authentication_attempts", "error"), 1);
        });
    }
    run(async {
        let world = World::new();
        let guard = world.guard(&settings()).await.unwrap();
        world.api(|api| {
            api.first = vec![failure(500, "InternalError", "etcd")];
            api.tokens.insert("t".to_owned(), owner_of("alice"));
        });
        assert_eq!(get("/healthz").bearer("t").code(&guard).await, 200);
    });
}

/// authentication.go, TokenRequestTimeout: 10 s for all tries together.
#[test]
fn a_silent_api_server_costs_ten_seconds() {
    run(async {
        let world = World::new();
        let guard = world.guard(&settings()).await.unwrap();
        world.api(|api| api.delay = Duration::from_hours(1));
        let clock = &world.runtime.clock;
        let started = clock.instant();
        assert_eq!(get("/healthz").bearer("t").code(&guard).await, 401);
        let took = clock.instant() - started;
        assert_eq!(took.as_millis() / 10, 1000);
        assert_eq!(world.metric(REQUESTS, "<error>"), 1);
    });
}

/// A flood of tokens waits here, and does not fill the client's rate limit.
#[test]
fn concurrent_reviews_are_limited() {
    run(async {
        let world = World::new();
        let guard = world.guard(&settings()).await.unwrap();
        world.api(|api| api.delay = Duration::from_hours(1));
        let mut waiting = tokio::task::JoinSet::new();
        for number in 0..150 {
            let (ask, guard) = (get("/healthz").bearer(&format!("t{number}")), guard.clone());
            waiting.spawn(async move { ask.code(&guard).await });
        }
        world.runtime.clock.sleep(Duration::from_secs(5)).await;
        assert_eq!(world.count(REVIEWS), 100);
        assert!(waiting.join_all().await.into_iter().all(|code| code == 401));
    });
}

#[test]
fn a_token_is_nowhere_to_be_read() {
    const SECRET: &str = "s3cr3t-t0k3n";
    let echo = format!("bad token {SECRET}");
    let replies = [
        owner_of("alice"),
        (201, json!({"status": {"error": echo.clone()}})),
        (201, json!({"status": {"authenticated": echo.clone()}})),
        failure(400, "BadRequest", &echo),
        failure(500, "InternalError", &echo),
        (500, json!(echo)),
    ];
    for reply in replies {
        run(async {
            let world = World::new();
            let guard = world.guard(&settings()).await.unwrap();
            world.api(|api| api.tokens.insert(SECRET.to_owned(), reply.clone()));
            world.api(|api| api.access = Some(failure(500, "InternalError", "down")));
            let answer = get("/metrics").bearer(SECRET).of(&guard).await.unwrap_err();
            let text = format!("{guard:?} {answer:?}");
            assert!(!text.contains(SECRET), "{text}");
            let lines = logged();
            assert!(!lines.is_empty(), "the failure is logged");
            assert!(!lines.contains(SECRET), "{reply:?}: {lines}");
        });
    }
}

/// filters/metrics.go, compressUsername.
#[test]
fn names_are_counted_in_a_few_groups() {
    let rows = [
        ("admin", "admin"),
        ("kubelet", "kubelet"),
        ("system:serviceaccount:kube-system:default", "system:serviceaccount:kube-system:default"),
        ("system:serviceaccount:default:default", "other"),
        ("alice@example.com", "email_id"),
    ];
    run(async {
        let world = World::new();
        let guard = world.guard(&settings()).await.unwrap();
        for (name, label) in rows {
            world.api(|api| api.tokens.insert(name.to_owned(), owner_of(name)));
            get("/healthz").bearer(name).of(&guard).await.unwrap();
            assert_eq!(world.metric("authenticated_user_requests", label), 1, "{name}");
        }
        get("/healthz").of(&guard).await.unwrap();
        assert_eq!(world.metric("authenticated_user_requests", "other"), 2, "nobody is other");
    });
}
