//! Which format is chosen, and that texts from the cluster are escaped in each.

use std::time::Duration;

use engine::{Fact, Failure, Planned, WaitingFor};
use serde_json::json;

use super::*;
use crate::debug::accept::{Format, choose};
use crate::debug::document::length;

#[test]
fn the_header_accept_chooses() {
    let firefox = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (accept, expected) in [
        ("*/*", Format::Text),
        ("", Format::Text),
        (firefox, Format::Html),
        ("application/json", Format::Json),
        ("application/json, text/plain, */*", Format::Json),
        ("text/html;q=0.5, application/json;q=0.7", Format::Json),
        ("text/html; q=0.7, application/json; q=0.70", Format::Html),
        ("TEXT/HTML", Format::Html),
        ("text/html;q=0", Format::Text),
        ("text/html;q=2, application/json;q=0.1", Format::Json),
        ("text/html;q=, application/json;q=0.1", Format::Json),
        ("text/html;q=0.12345", Format::Text),
        ("image/png", Format::Text),
    ] {
        assert_eq!(choose(accept), expected, "{accept}");
    }
}

#[test]
fn lengths_are_short() {
    for (seconds, expected) in [
        (0, "0s"),
        (119, "119s"),
        (120, "2m0s"),
        (7199, "119m59s"),
        (7200, "2h0m"),
        (172_799, "47h59m"),
        (172_800, "2d0h"),
        (31_536_000, "365d0h"),
    ] {
        assert_eq!(length(Duration::from_secs(seconds)), expected);
    }
}

/// A manager with markup in each of its texts.
fn odd() -> Manager {
    let odd = || ODD.to_owned();
    let failure = Failure { key: odd(), error: odd(), ..failure("") };
    let mut status = busy();
    status.in_work[0].key = odd();
    status.failing = vec![failure.clone()];
    status.last_error = Some(failure.clone());
    status.plans[0].key = odd();
    status.plans[0].why = odd();
    status.plans[0].error = Some(odd());
    status.reads = vec![odd()];
    status.waiting_for = vec![WaitingFor { resource: odd(), error: Some(odd()), since: None }];
    let mut fake = Fake::new(status);
    fake.stalled = Some(odd());
    fake.explanation.incomplete = vec![odd()];
    fake.explanation.summary = vec![Fact { name: "have", value: odd() }];
    fake.explanation.live_reads = vec![odd()];
    fake.explanation.plan = Some(Planned { text: odd(), json: json!({ "why": ODD }) });
    fake.explanation.error = Some(odd());
    fake.explanation.unsettled.as_mut().unwrap().awaits = vec![odd()];
    fake.explanation.ambiguous_writes = vec![odd()];
    fake.explanation.last_error = Some(failure);
    let mut manager = Manager::new(fake);
    manager.leadership.identity = Some(odd());
    manager.informers[1].failing.as_mut().unwrap().error = odd();
    manager
}

/// The tags of a page without their attributes.
fn tags(html: &str) -> Vec<&str> {
    html.split('<').skip(1).map(|tag| tag.split(['>', ' ', '\n']).next().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn html_escapes_whatever_the_cluster_says() {
    let manager = odd();
    for path in [
        "/debug/controllers",
        "/debug/controllers/replicaset",
        "/debug/controllers/replicaset/explain?key=%3Cscript%3E'%22",
        "/debug/controllers/replicaset/explain?key=%3Cscript%3E/a/b",
        "/debug/controllers/%3Cscript%3E",
    ] {
        let (_, page) = manager.get(path, "text/html").await;
        assert!(page.contains("&lt;script&gt;"), "{path}: the text is there");
        assert!(!page.contains("<script"), "{path}");
        assert!(!page.contains("'x'") && !page.contains("\"y\""), "{path}: quotes too");
        let (body, _) = page.split_once("</main>").unwrap();
        let (_, body) = body.split_once("</style>").unwrap();
        assert!(!body.contains("& "), "{path}: ampersands too");
        let mut open = Vec::new();
        for tag in
            tags(&page).into_iter().filter(|tag| !["!DOCTYPE", "meta", "input"].contains(tag))
        {
            match tag.strip_prefix('/') {
                Some(tag) => assert_eq!(open.pop(), Some(tag), "{path}: {tag} closes another tag"),
                None => open.push(tag),
            }
        }
        assert!(open.is_empty(), "{path}: {open:?} stay open");
    }
}

#[tokio::test(start_paused = true)]
async fn links_lead_to_the_key_that_they_name() {
    let (_, page) = odd().get("/debug/controllers/replicaset", "text/html").await;
    let link = "explain?key=%3Cscript%3Ealert%28%27x%27%20%26%20%22y%22%29%3C/script%3E\"";
    assert!(page.contains(link), "{page}");
}

/// Nothing is loaded, nothing runs, and nothing is cached.
#[tokio::test(start_paused = true)]
async fn answers_are_locked_down() {
    let manager = Manager::new(Fake::new(busy()));
    for (accept, kind) in [
        ("text/html", "text/html; charset=utf-8"),
        ("application/json", "application/json"),
        ("*/*", "text/plain; charset=utf-8"),
    ] {
        for path in ["/debug/controllers", "/debug/controllers/none"] {
            let response = manager.response(path, accept).await;
            let header = |name| response.headers()[name].to_str().unwrap();
            assert_eq!(header("content-type"), kind);
            assert_eq!(header("x-content-type-options"), "nosniff");
            assert_eq!(header("cache-control"), "no-store");
            assert_eq!(header("vary"), "Accept");
            assert!(header("content-security-policy").starts_with("default-src 'none'; style-src"));
        }
    }
    let (_, page) = manager.get("/debug/controllers/replicaset", "text/html").await;
    for word in ["://", "@import", "url(", "<script", "<link", "<img", " style=", " onclick="] {
        assert!(!page.contains(word), "{word} in {page}");
    }
}

/// Text from the cluster cannot look like our own lines, nor control a terminal.
#[tokio::test(start_paused = true)]
async fn text_stays_on_its_line() {
    let mut status = busy();
    status.failing[0].error = "no\nNOT RUNNING\n\u{1b}[31mred".to_owned();
    let manager = Manager::new(Fake::new(status));
    let (_, page) = manager.get("/debug/controllers", "*/*").await;
    assert!(page.contains("no NOT RUNNING  [31mred"), "{page}");
    assert_eq!(page.lines().filter(|line| *line == "NOT RUNNING").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn json_has_the_same_content() {
    let manager = Manager::new(Fake::new(busy()));
    let (code, all) = manager.json("/debug/controllers").await;
    assert_eq!(code, 200);
    assert_eq!(all["now"], "1970-01-01T06:00:00Z");
    let expected = json!({"role": "leader", "identity": "node-1_8f2d",
        "since": "1970-01-01T01:00:00Z", "renewed": "1970-01-01T05:59:59Z"});
    assert_eq!(all["leadership"], expected);
    let states: Vec<_> =
        all["controllers"].as_array().unwrap().iter().map(|c| &c["state"]).collect();
    assert_eq!(states, ["off", "needsCloud", "gateOff", "off", "running"]);
    let (_, one) = manager.json("/debug/controllers/replicaset").await;
    assert_eq!(all["controllers"][4], one);
    assert_eq!(one["status"]["inWork"][0]["key"], "shop/web");
    assert_eq!(one["status"]["plans"][1]["error"], Value::Null);
    let expected = json!({"resource": "replicasets.apps", "synced": false, "objects": 0,
        "unreadable": 2, "resourceVersion": "0", "relists": 0, "lastEvent": null,
        "failingSince": "1970-01-01T05:58:30Z", "error": "connection refused",
        "panics": 1, "dying": null});
    assert_eq!(all["informers"][1], expected);

    let path = "/debug/controllers/replicaset/explain?key=shop%2Fweb";
    let (code, shown) = manager.json(path).await;
    assert_eq!((code, &shown["controller"]), (200, &json!("replicaset-controller")));
    let explanation = &shown["explanation"];
    assert_eq!(explanation["plan"]["json"]["why"], "2 pods missing");
    assert_eq!(explanation["unsettled"]["until"], "1970-01-01T06:04:40Z");
    assert_eq!(explanation["place"]["delayedUntil"], "1970-01-01T06:01:00Z");
}
