//! /healthz beyond what was recorded from upstream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use http::Request;
use tracing::Level;

use super::{CheckResult, Health, Lines, ask, call, get, pages, router_of};

const GOOD: fn() -> Result<(), String> = || Ok(());
const BAD: fn() -> Result<(), String> = || Err("secret reason".to_owned());

/// The rows of TestMultipleChecks (apiserver healthz_test.go) and TestMutableHealthzHandler
/// (controller-manager handler_test.go) that ask /healthz itself.
#[tokio::test]
async fn upstreams_tables() {
    type Checks = &'static [(&'static str, fn() -> Result<(), String>)];
    const PING: Checks = &[("ping", GOOD)];
    const PING_AND_BAD: Checks = &[("ping", GOOD), ("bad", BAD)];
    let rows: [(&str, Checks, u16, &str); 13] = [
        ("?verbose", PING, 200, "[+]ping ok\nhealthz check passed\n"),
        ("?exclude=dontexist", PING, 200, "ok"),
        ("?exclude=bad", PING_AND_BAD, 200, "ok"),
        (
            "?verbose=true&exclude=bad",
            PING_AND_BAD,
            200,
            "[+]ping ok\n[+]bad excluded: ok\nhealthz check passed\n",
        ),
        (
            "?verbose=true&exclude=dontexist",
            PING,
            200,
            "[+]ping ok\nwarn: some health checks cannot be excluded: no matches for \
             \"dontexist\"\nhealthz check passed\n",
        ),
        ("", PING, 200, "ok"),
        (
            "?verbose",
            PING_AND_BAD,
            500,
            "[+]ping ok\n[-]bad failed: reason withheld\nhealthz check failed\n",
        ),
        (
            "",
            PING_AND_BAD,
            500,
            "[+]ping ok\n[-]bad failed: reason withheld\nhealthz check failed\n",
        ),
        ("", &[], 200, "ok"),
        ("?verbose", &[], 200, "[+]ping ok\nhealthz check passed\n"),
        ("", &[("good", GOOD)], 200, "ok"),
        ("?verbose=true", &[("good", GOOD)], 200, "[+]good ok\nhealthz check passed\n"),
        (
            "",
            &[("z", GOOD), ("a", BAD)],
            500,
            "[+]z ok\n[-]a failed: reason withheld\nhealthz check failed\n",
        ),
    ];
    for (query, checks, status, body) in rows {
        let pages = pages();
        for (name, check) in checks {
            pages.health.add(name, check);
        }
        let answer = get(&router_of(pages), &format!("/healthz{query}")).await;
        assert_eq!((answer.status, &*answer.body), (status, body), "{query}");
    }
}

/// TestMutableHealthzHandler "two checks and append bad"; a standby adds its controllers later.
#[tokio::test]
async fn checks_are_added_while_the_server_runs() {
    let pages = pages();
    let health = pages.health.clone();
    let router = router_of(pages);
    health.add("leaderElection", GOOD);
    let answer = get(&router, "/healthz?verbose").await;
    assert_eq!(answer.body, "[+]leaderElection ok\nhealthz check passed\n");
    health.add("replicaset-controller", GOOD);
    health.add("leaderElection", BAD);
    let answer = get(&router, "/healthz").await;
    assert_eq!(
        answer.body,
        "[-]leaderElection failed: reason withheld\n[+]replicaset-controller ok\nhealthz check \
         failed\n",
        "a check of the same name takes the other's place"
    );
}

#[tokio::test]
async fn each_run_of_a_check_is_observed_and_excluded_ones_do_not_run() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let observe = move |name: &str, result: CheckResult| {
        log.lock().unwrap().push(format!("{name} {result:?}"));
    };
    let mut pages = pages();
    pages.health = Health::new(observe);
    pages.health.add("good", GOOD);
    pages.health.add("bad", BAD);
    let router = router_of(pages);
    call(&router, "HEAD", "/healthz").await;
    get(&router, "/healthz?exclude=bad").await;
    assert_eq!(*seen.lock().unwrap(), ["good Success", "bad Error", "good Success"]);
}

/// Unlike upstream, which logs at each probe. A reason with a growing number counts as the same.
#[tokio::test]
async fn a_reason_is_logged_when_it_changes_and_never_shown() {
    let (lines, _guard) = Lines::record(Level::INFO);
    let reason = Arc::new(Mutex::new(Ok(())));
    let pages = pages();
    let current = Arc::clone(&reason);
    pages.health.add("disk", move || current.lock().unwrap().clone());
    pages.health.add("other", GOOD);
    let router = router_of(pages);
    let fails = "WARN server::health: a health check fails check=\"disk\" reason=";
    let heals = "INFO server::health: a health check passes again check=\"disk\"";
    let rows = [
        (Ok(()), None),
        (Err("full"), Some(format!("{fails}\"full\""))),
        (Err("full"), None),
        (Err("gone"), Some(format!("{fails}\"gone\""))),
        (Err("gone for 9 s"), Some(format!("{fails}\"gone for 9 s\""))),
        (Err("gone for 10 s"), None),
        (Ok(()), Some(heals.to_owned())),
        (Ok(()), None),
        (Err("full"), Some(format!("{fails}\"full\""))),
    ];
    for (result, line) in rows {
        *reason.lock().unwrap() = result.map_err(str::to_owned);
        let answer = get(&router, "/healthz?verbose").await;
        assert!(!answer.body.contains("full") && !answer.body.contains("gone"), "{answer:?}");
        assert_eq!(lines.take(), Vec::from_iter(line), "{result:?}");
    }
}

#[tokio::test]
async fn a_check_that_panics_fails_alone() {
    let (lines, _guard) = Lines::record(Level::INFO);
    let pages = pages();
    pages.health.add("good", GOOD);
    pages.health.add("broken", || panic!("boom"));
    pages.health.add("last", GOOD);
    let answer = get(&router_of(pages), "/healthz").await;
    assert_eq!(answer.status, 500);
    assert_eq!(
        answer.body,
        "[+]good ok\n[-]broken failed: reason withheld\n[+]last ok\nhealthz check failed\n"
    );
    let fails = "WARN server::health: a health check fails check=\"broken\"";
    assert_eq!(lines.take(), [format!("{fails} reason=\"the check panicked: boom\"")]);
}

/// As TestConcurrentChecks: nothing is locked during a check, so a probe can run inside one.
#[tokio::test]
async fn probes_do_not_wait_for_each_other() {
    let pages = pages();
    let (health, inside) = (pages.health.clone(), AtomicBool::new(false));
    pages.health.add("outer", move || {
        if !inside.swap(true, Ordering::SeqCst) {
            health.answer(&"/healthz".parse().unwrap());
            health.add("added", GOOD);
        }
        Ok(())
    });
    let router = router_of(pages);
    assert_eq!(get(&router, "/healthz").await.body, "ok");
    let answer = get(&router, "/healthz?verbose").await;
    assert_eq!(answer.body, "[+]outer ok\n[+]added ok\nhealthz check passed\n");
}

#[tokio::test]
async fn anybody_may_ask_but_only_for_the_whole() {
    let pages = pages();
    pages.health.add("leaderElection", GOOD);
    let router = router_of(pages);
    let rows = [("/healthz", 200), ("/healthz/leaderElection", 403), ("/healthz/", 403)];
    for (path, status) in rows {
        let answer = ask(&router, Request::builder().uri(path), "").await;
        assert_eq!(answer.status, status, "{path}");
    }
    assert_eq!(get(&router, "/healthz/leaderElection").await.status, 404);
}
