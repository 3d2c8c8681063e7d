//! The pages as text, whole.

use super::*;

async fn text(manager: &Manager, path: &str) -> String {
    let (code, page) = manager.get(path, "*/*").await;
    assert_eq!(code, 200, "{page}");
    page
}

#[tokio::test(start_paused = true)]
async fn overview() {
    let page = text(&Manager::new(Fake::new(busy())), "/debug/controllers").await;
    assert_eq!(page, include_str!("overview.txt"), "\n{page}");
}

/// The table stays readable; the page of the controller has the whole text.
#[tokio::test(start_paused = true)]
async fn long_errors_are_cut_in_the_overview() {
    let mut status = busy();
    status.failing.clear();
    let error = format!("{}é{}", "x".repeat(99), "y".repeat(500));
    status.last_error.as_mut().unwrap().error.clone_from(&error);
    let manager = Manager::new(Fake::new(status));
    let page = text(&manager, "/debug/controllers").await;
    assert!(page.contains("xé…") && !page.contains("xéy"), "{page}");
    assert!(text(&manager, "/debug/controllers/replicaset").await.contains(&error));
}

#[tokio::test(start_paused = true)]
async fn a_quiet_overview_says_that_all_is_well() {
    let mut manager = Manager::new(Fake::new(healthy()));
    manager.informers.truncate(1);
    let page = text(&manager, "/debug/controllers").await;
    assert!(page.contains("NEEDS ATTENTION\nNothing: no failure, no stall.\n"), "{page}");
}

#[tokio::test(start_paused = true)]
async fn what_needs_attention() {
    let mut status = healthy();
    status.panics = 2;
    status.cannot_start = Some("no service account".to_owned());
    let error = Some("pods is forbidden".to_owned());
    status.waiting_for = vec![WaitingFor { resource: "pods".to_owned(), error, since: None }];
    status.failing = vec![failure("shop/web"), Failure { at: ago(5), ..failure("shop/db") }];
    status.given_up = vec![failure("shop/old")];
    let mut running = status.clone();
    running.phase = Phase::Running;
    status.phase = Phase::WaitingForCaches;
    let mut manager = Manager::new(Fake::new(status));
    manager.engines[0].1.stalled = Some("keys are ready".to_owned());
    manager.informers[0].synced = false;
    let (_, all) = manager.json("/debug/controllers").await;
    let attention = all["attention"].as_array().unwrap().iter();
    let lines = attention.map(|row| format!("{}: {}", row["subject"], row["trouble"]));
    let lines: Vec<_> = lines.map(|line| line.replace(['"', '\\'], "")).collect();
    let set = "replicaset-controller: ";
    let expected = [
        format!("{set}its loop stalls: keys are ready"),
        format!("{set}cannot start: no service account"),
        format!("{set}waits for the cache of pods: pods is forbidden"),
        format!("{set}2 keys fail, last shop/db: pods web- is forbidden: exceeded quota"),
        format!("{set}1 key was given up, last shop/old: pods web- is forbidden: exceeded quota"),
        format!("{set}2 syncs ended in a panic"),
        "pods: its first list is not complete".to_owned(),
        "replicasets.apps: the watch fails: connection refused".to_owned(),
        "replicasets.apps: 2 objects cannot be read".to_owned(),
    ];
    assert_eq!(lines, expected);
    // The collector knows no objects of a kind that cannot be listed, and continues with the
    // others.
    let (_, all) = Manager::new(Fake::new(running)).json("/debug/controllers").await;
    assert_eq!(
        all["attention"][1]["trouble"],
        "works without the cache of pods: pods is forbidden"
    );
}

#[tokio::test(start_paused = true)]
async fn one_controller_by_name_or_alias() {
    let manager = Manager::new(Fake::new(busy()));
    let page = text(&manager, "/debug/controllers/replicaset-controller").await;
    assert_eq!(page, include_str!("controller.txt"), "\n{page}");
    assert_eq!(text(&manager, "/debug/controllers/replicaset").await, page);
}

#[tokio::test(start_paused = true)]
async fn an_explanation() {
    let manager = Manager::new(Fake::new(busy()));
    let page = text(&manager, "/debug/controllers/replicaset/explain?key=shop/web").await;
    assert_eq!(page, include_str!("explanation.txt"), "\n{page}");
}

/// A standby explains too, and reports that it would not act.
#[tokio::test(start_paused = true)]
async fn an_explanation_of_a_standby() {
    let mut manager = Manager::new(Fake::new(busy()));
    manager.leadership.role = Role::Standby;
    let path = "/debug/controllers/replicaset/explain?key=shop/web";
    let page = text(&manager, path).await;
    let note = "This process does not lead, so it acts on nothing. Its caches are warm: this is \
                what it would decide if it led. What controllers keep besides, such as the garbage \
                collector's graph, begins then.";
    assert_eq!(page.lines().nth(2), Some(note));
    assert_eq!(manager.json(path).await.1["leadership"]["role"], "standby");
}

#[tokio::test(start_paused = true)]
async fn an_explanation_without_a_plan() {
    let mut manager = Manager::new(Fake::new(busy()));
    manager.engines[0].1.explanation = Explanation {
        found: false,
        incomplete: vec!["pods".to_owned()],
        summary: vec![],
        live_reads: vec![],
        plan: None,
        error: Some("panic: boom".to_owned()),
        unsettled: None,
        ambiguous_writes: vec![],
        place: Place::default(),
        retries: 0,
        last_error: None,
        ..explanation()
    };
    let page = text(&manager, "/debug/controllers/replicaset/explain?key=shop/web").await;
    let expected = "\
shop/web

These caches are not complete, what follows may be wrong: pods

The cache holds no such object.

There is no plan: panic: boom

WHAT BLOCKS IT
Nothing.

WHERE THE KEY IS
looked at:         1970-01-01T06:00:00Z
queued since:      -
in work since:     -
delayed until:     -
failures in a row: 0

EXPLAIN ANOTHER KEY
/debug/controllers/replicaset-controller/explain?key=<namespace>/<name>
";
    assert_eq!(page, expected, "\n{page}");
}

/// garbage-collector card, debug endpoint: uids may be repeated; the content types of upstream's.
#[tokio::test(start_paused = true)]
async fn a_graph_is_shown_as_dot() {
    let mut fake = Fake::new(healthy());
    fake.graph = Some(Arc::new(|uids: &[&str]| format!("graph of {uids:?}\n")));
    let manager = Manager::new(fake);
    for (query, expected) in
        [("", "graph of []\n"), ("?uid=a&uid=b%2Fc&other=d", "graph of [\"a\", \"b/c\"]\n")]
    {
        let path = format!("/debug/controllers/replicaset-controller/graph{query}");
        let response = manager.response(&path, "text/html").await;
        let headers = response.headers();
        assert_eq!(headers["content-type"], "text/vnd.graphviz");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        assert_eq!(body, expected);
    }
}

/// Its graph is built when it leads; before, it would show an empty cluster.
#[tokio::test(start_paused = true)]
async fn a_standby_has_no_graph() {
    let mut fake = Fake::new(busy());
    fake.graph = Some(Arc::new(|_: &[&str]| "graph\n".to_owned()));
    let mut manager = Manager::new(fake);
    let path = "/debug/controllers/replicaset-controller/graph";
    for (role, code) in [(Role::Standby, 503), (Role::Leader, 200), (Role::NoElection, 200)] {
        manager.leadership.role = role;
        let (found, body) = manager.get(path, "").await;
        assert_eq!(found, code, "{role:?}");
        assert_eq!(body.contains("ask the leader"), code == 503, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_controller_without_a_graph_says_so() {
    let manager = Manager::new(Fake::new(healthy()));
    for (name, why) in [
        ("replicaset", "replicaset-controller has no graph"),
        ("ttl", "ttl-controller does not run here: it has no key"),
        ("nobody", "no controller \"nobody\""),
    ] {
        let (code, body) = manager.json(&format!("/debug/controllers/{name}/graph")).await;
        assert_eq!((code, body["error"].as_str()), (404, Some(why)), "{name}");
    }
}
