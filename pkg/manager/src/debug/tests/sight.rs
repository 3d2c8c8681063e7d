//! Who may see the pages may not therefore see all objects.

use std::time::Duration;

use controller::{Action, ObjectRef, Step, Write};

use super::*;

const PATH: &str = "/debug/controllers/replicaset/explain?key=shop/web";
const EXPLAINED: [&str; 3] = ["text/html", "application/json", "*/*"];

fn object(plural: &'static str, name: &str) -> ObjectRef {
    ObjectRef {
        resource: api::Resource::namespaced("", "v1", plural, "Any"),
        key: Key::new("shop", name),
        uid: "u1".into(),
        resource_version: 7,
    }
}

fn patch(plural: &'static str, name: &str) -> Action {
    Write::strategic(object(plural, name), r#"{"env":"hunter2"}"#.into()).into()
}

fn create() -> Action {
    let body = r#"{"metadata":{"generateName":"web-"},"env":"hunter2"}"#;
    Write::create(Pod::RESOURCE, "shop".into(), body).into()
}

fn planning(actions: Vec<Action>, permits: Script) -> Manager {
    let plan = Some(Plan::one("differs", Step::InOrder(actions)));
    let fake = Fake { plan, ..Fake::new(busy()) };
    Manager { permits: Arc::new(permits), ..Manager::new(fake) }
}

fn allowing(allowed: &[&'static str]) -> Script {
    Script { allowed: allowed.to_vec(), ..Script::default() }
}

#[tokio::test(start_paused = true)]
async fn bodies_are_shown_to_users_that_may_get_their_objects() {
    let rows: [(&[&'static str], bool, &[&str]); 5] = [
        (&["alice pods shop/"], true, &["alice pods shop/"]),
        (&["alice pods shop/web"], true, &["alice pods shop/", "alice pods shop/web"]),
        (&["alice pods shop/other"], false, &["alice pods shop/", "alice pods shop/web"]),
        (&["bob pods shop/"], false, &["alice pods shop/", "alice pods shop/web"]),
        (&[], false, &["alice pods shop/", "alice pods shop/web"]),
    ];
    for (allowed, is_seen, asked) in rows {
        for accept in EXPLAINED {
            let manager = planning(vec![patch("pods", "web")], allowing(allowed));
            let (code, page) = manager.get(PATH, accept).await;
            assert_eq!((code, page.contains("hunter2")), (200, is_seen), "{allowed:?}: {page}");
            assert_eq!(page.contains("you may not get pods shop/web"), !is_seen, "{page}");
            assert_eq!(*manager.permits.asked.lock().unwrap(), asked);
        }
    }
}

/// An object that is created has no name yet: only users that may get all of its kind see it.
#[tokio::test(start_paused = true)]
async fn bodies_of_new_objects_are_shown_to_users_that_may_get_all() {
    for (allowed, is_seen) in [("alice pods shop/", true), ("alice pods shop/web", false)] {
        let manager = planning(vec![create(), create()], allowing(&[allowed]));
        let (_, page) = manager.get(PATH, "application/json").await;
        assert_eq!(page.contains("hunter2"), is_seen, "{page}");
        assert_eq!(page.contains("… (you may not get all pods in shop)"), !is_seen, "{page}");
        assert_eq!(*manager.permits.asked.lock().unwrap(), ["alice pods shop/"]);
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_of_secrets_are_hidden_without_a_review() {
    let delete = Write::delete(object("pods", "web")).into();
    let permits = allowing(&["alice secrets shop/", "alice secrets shop/web"]);
    let manager = planning(vec![patch("secrets", "web"), delete], permits);
    for accept in EXPLAINED {
        let (_, page) = manager.get(PATH, accept).await;
        assert!(!page.contains("hunter2"), "{page}");
        assert!(page.contains("bodies of Secrets are never shown"), "{page}");
    }
    assert_eq!(*manager.permits.asked.lock().unwrap(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn bodies_stay_hidden_when_the_review_fails() {
    let broken = Script { broken: true, ..Script::default() };
    let (_, page) = planning(vec![patch("pods", "web")], broken).get(PATH, "*/*").await;
    assert!(!page.contains("hunter2"), "{page}");
    let why = "… (it is not known whether you may get pods shop/web: connection refused)";
    assert!(page.contains(why), "{page}");

    let manager = planning(vec![patch("pods", "web")], Script { slow: true, ..Script::default() });
    let started = manager.clock.instant();
    let (_, page) = manager.get(PATH, "*/*").await;
    assert!(!page.contains("hunter2") && page.contains("the API server is slow"), "{page}");
    assert_eq!(manager.clock.instant() - started, Duration::from_secs(3));

    // Without a user, which does not happen behind the guard.
    let manager = planning(vec![patch("pods", "web")], allowing(&["alice pods shop/"]));
    let request = Request::builder().uri(PATH).body(Body::empty()).unwrap();
    let response = manager.router().oneshot(request).await.unwrap();
    let page = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    let page = String::from_utf8(page.to_vec()).unwrap();
    assert!(!page.contains("hunter2") && page.contains("this request has no user"), "{page}");
}

/// A plan may write to thousands.
#[tokio::test(start_paused = true)]
async fn only_so_many_objects_are_asked_about() {
    let actions = || (0..30).map(|at| patch("pods", &format!("web-{at:02}"))).collect();
    let manager =
        planning(actions(), allowing(&["alice pods shop/web-19", "alice pods shop/web-20"]));
    let (_, page) = manager.get(PATH, "*/*").await;
    assert_eq!(manager.permits.asked.lock().unwrap().len(), 1 + 20);
    let line = |name: &str| page.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("web-19").contains("hunter2"), "{page}");
    assert!(line("web-20").contains("… (only 20 objects are asked about)"), "{page}");
    let manager = planning(actions(), allowing(&["alice pods shop/"]));
    let (_, page) = manager.get(PATH, "*/*").await;
    assert_eq!(page.matches("hunter2").count(), 30);
    assert_eq!(manager.permits.asked.lock().unwrap().len(), 1);
}
