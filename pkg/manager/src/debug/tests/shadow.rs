//! /debug/shadow.

use std::time::Duration;

use engine::{Counts, Difference, End, Fact, How, ShadowStatus};

use super::{Fake, Manager, ODD, Role, ago, healthy};

fn status() -> ShadowStatus {
    let difference = Difference {
        key: "shop/web".to_owned(),
        step: "create pods shop/web-…".to_owned(),
        times: 2,
        fields: String::new(),
        since: ago(125),
        found: ago(95),
        why: "too few pods".to_owned(),
        plan: "why: too few pods\nslow start: create pods in shop\n".to_owned(),
        facts: vec![Fact { name: "pods", value: ODD.to_owned() }],
        ended: None,
    };
    let ended = Some(End { at: ago(3), how: How::Moot });
    ShadowStatus {
        grace: Duration::from_secs(30),
        counts: Counts { agreed: 7, late: 1, moot: 2, dropped: 0 },
        waiting: 1,
        open: 1,
        differences: vec![difference.clone()],
        ended: vec![Difference { key: "shop/old".to_owned(), ended, ..difference }],
    }
}

fn shadow() -> Manager {
    let mut manager = Manager::new(Fake { shadow: Some(status()), ..Fake::new(healthy()) });
    manager.leadership.role = Role::Shadow;
    manager
}

#[tokio::test(start_paused = true)]
async fn a_shadow_names_what_is_missing() {
    let (code, text) = shadow().get("/debug/shadow", "text/plain").await;
    assert_eq!(code, 200);
    for part in ["differences: 1", "2 × create pods shop/web-…", "too few pods", "no longer wanted"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("ttl-controller"), "those that do not run, and why: {text}");
    let (_, json) = shadow().json("/debug/shadow").await;
    let found = &json["controllers"][0];
    assert_eq!((&json["open"], &found["counts"]["agreed"]), (&1.into(), &7.into()));
    assert_eq!(found["graceSeconds"], 30.0);
    assert_eq!(found["differences"][0]["key"], "shop/web");
    let (_, html) = shadow().get("/debug/shadow", "text/html").await;
    assert!(!html.contains("<script") && html.contains("explain?key=shop/web"), "{html}");
}

#[tokio::test(start_paused = true)]
async fn another_process_is_no_shadow() {
    let (code, json) = Manager::new(Fake::new(healthy())).json("/debug/shadow").await;
    assert_eq!((code, json["error"].as_str()), (404, Some("this process is no shadow")));
}
