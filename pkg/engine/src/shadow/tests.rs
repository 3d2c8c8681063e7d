//! The judge, and what is compared.

use std::time::Duration;

use api::{Edit, Key, Raw, Resource, Text, Time};
use controller::{Action, Collection, ObjectRef, Retry, Step, Write};
use serde_json::json;

use super::judge::{
    Counts, DIFFERENCES_MAX, ENDED_MAX, Evidence, How, Judge, KEYS_MAX, Moment, Ruling,
};
use super::wish::{Target, WISHES_MAX, Wish, Wishes};
use crate::Fact;

const GRACE: Duration = Duration::from_secs(30);
const PODS: Resource = Resource::namespaced("", "v1", "pods", "Pod");

fn at(seconds: u64) -> Moment {
    let time = Time::from_unix(1000 + i64::try_from(seconds).unwrap(), 0);
    Moment { uptime: Duration::from_secs(seconds), time }
}

fn pod(name: &str) -> ObjectRef {
    ObjectRef {
        resource: PODS,
        key: Key::new("shop", name),
        uid: Text::from(format!("uid-{name}")),
        resource_version: 7,
    }
}

fn creates(times: usize) -> Step {
    let body = json!({"metadata": {"generateName": "web-"}}).to_string();
    let create = || Action::from(Write::create(PODS, "shop".into(), body.clone()));
    Step::SlowStart((0..times).map(|_| create()).collect())
}

fn delete(name: &str) -> Step {
    Step::Together(vec![Write::delete(pod(name)).into()])
}

fn status(replicas: u64) -> Wishes {
    let raw = Raw::parse(br#"{"metadata": {"name": "web"}}"#).unwrap();
    let edit = |name: &str, value| Edit { path: vec!["status".into(), name.into()], value };
    let edits = vec![edit("replicas", replicas.into()), edit("at", "2026-01-02T03:04:05Z".into())];
    let mut wishes = Wishes::default();
    wishes.add(&Write::status(pod("web"), raw, edits, Retry::Never));
    wishes
}

fn evidence() -> Evidence {
    let facts = vec![Fact { name: "pods", value: "2".to_owned() }];
    Evidence { why: "too few pods".to_owned(), plan: "create".to_owned(), facts }
}

/// A judge of one key, with the present moment, and whether the caches show that all is done.
struct Court {
    judge: Judge<&'static str>,
    is_shown: bool,
}

impl Court {
    fn new() -> Self {
        Self { judge: Judge::new(GRACE), is_shown: true }
    }

    fn decided(&mut self, seconds: u64, wishes: Wishes) -> Ruling<&'static str> {
        self.decided_for("shop/web", seconds, wishes)
    }

    fn decided_for(&mut self, key: &str, seconds: u64, wishes: Wishes) -> Ruling<&'static str> {
        let is_shown = self.is_shown;
        let shows = move |_: &Target, _: &Wish| is_shown;
        let case = (&Key::parse(key), wishes, Some("plan"));
        self.judge.decided(case, at(seconds), &shows, evidence)
    }

    fn wants(&mut self, seconds: u64, steps: &[Step]) -> Ruling<&'static str> {
        self.decided(seconds, Wishes::of(steps))
    }

    fn steps(&self) -> Vec<String> {
        self.judge.differences().map(|it| format!("{} × {}", it.times, it.step)).collect()
    }
}

fn again(seconds: u64) -> Ruling<&'static str> {
    Ruling { came_true: None, again: Some(Duration::from_secs(seconds)) }
}

#[test]
fn what_comes_true_in_time_is_agreed_on() {
    let mut court = Court::new();
    assert_eq!(court.wants(0, &[creates(2), delete("old")]), again(30));
    assert_eq!(court.wants(10, &[creates(2), delete("old")]), again(20));
    let ruling = court.wants(29, &[]);
    assert_eq!(ruling, Ruling { came_true: Some("plan"), again: None });
    assert_eq!(court.judge.counts, Counts { agreed: 3, ..Counts::default() });
    assert_eq!((court.judge.waiting(), court.judge.open()), (0, 0));
}

#[test]
fn what_stays_is_a_difference_until_it_comes_true() {
    let mut court = Court::new();
    court.wants(0, &[creates(2)]);
    court.wants(29, &[creates(2)]);
    assert_eq!(court.judge.open(), 0);
    assert_eq!(court.wants(30, &[creates(2)]), again(30));
    assert_eq!(court.steps(), ["2 × create pods shop/web-…"]);
    let found = court.judge.differences().next().unwrap().clone();
    assert_eq!((found.since, found.found, found.ended), (at(0).time, at(30).time, None));
    assert_eq!((&*found.key, &*found.why), ("shop/web", "too few pods"));
    assert_eq!(found.facts, evidence().facts);
    // It is found once.
    court.wants(60, &[creates(2)]);
    assert_eq!((court.judge.open(), court.steps().len()), (1, 1));
    court.wants(70, &[]);
    assert_eq!(court.judge.open(), 0);
    assert_eq!(court.judge.counts, Counts { late: 2, ..Counts::default() });
    let ended = court.judge.ended().next().unwrap().ended.unwrap();
    assert_eq!((ended.at, ended.how), (at(70).time, How::CameTrue));
}

#[test]
fn what_is_no_longer_wanted_and_was_not_done_is_moot() {
    let mut court = Court::new();
    court.is_shown = false;
    court.wants(0, &[delete("a")]);
    let ruling = court.wants(1, &[delete("b")]);
    assert_eq!(ruling.came_true, None);
    assert_eq!(court.judge.counts, Counts { moot: 1, ..Counts::default() });
    court.wants(31, &[delete("b")]);
    assert_eq!(court.steps(), ["1 × delete pods shop/b"]);
    court.wants(32, &[]);
    assert_eq!(court.judge.counts, Counts { moot: 2, ..Counts::default() });
    assert_eq!(court.judge.ended().next().unwrap().ended.unwrap().how, How::Moot);
}

/// Slow start, or a rate limit: the manager in charge is at it.
#[test]
fn progress_gives_the_rest_more_time() {
    let mut court = Court::new();
    court.wants(0, &[creates(3)]);
    let ruling = court.wants(20, &[creates(1)]);
    assert_eq!((ruling.came_true, ruling.again), (Some("plan"), Some(GRACE)));
    assert_eq!(court.judge.counts.agreed, 2);
    court.wants(40, &[creates(1)]);
    assert_eq!(court.judge.open(), 0);
    court.wants(50, &[creates(1)]);
    assert_eq!(court.steps(), ["1 × create pods shop/web-…"]);
}

#[test]
fn a_plan_that_wants_something_else_has_time_only_if_something_was_done() {
    for (is_shown, open) in [(true, 0), (false, 1)] {
        let mut court = Court::new();
        court.is_shown = is_shown;
        court.decided(0, status(1));
        court.decided(20, status(2));
        court.decided(35, status(2));
        assert_eq!(court.judge.open(), open, "{is_shown}");
    }
}

/// Each status has the time of its writing.
#[test]
fn times_and_versions_are_no_content() {
    let content = |wishes: Wishes| wishes.by_target.into_values().next().unwrap().content;
    let of = |body: &str| {
        let kind = controller::PatchKind::Merge;
        let mut wishes = Wishes::default();
        wishes.add(&Write::patch(pod("a"), kind, body.to_owned()));
        content(wishes)
    };
    let one = r#"{"a": {"at": "2026-01-02T03:04:05Z", "resourceVersion": "1", "n": 1}}"#;
    let two = r#"{"a": {"at": "2027-01-02T03:04:05Z", "resourceVersion": "2", "n": 1}}"#;
    let other = r#"{"a": {"at": "2026-01-02T03:04:05Z", "resourceVersion": "1", "n": 2}}"#;
    assert_eq!(of(one), of(two));
    assert_ne!(of(one), of(other));
    assert_ne!(content(status(1)), content(status(2)));
}

/// Their values are not for every user.
#[test]
fn only_the_names_of_fields_are_shown() {
    let fields = |wishes: Wishes| wishes.by_target.into_values().next().unwrap().fields;
    assert_eq!(fields(status(1)), "status.at, status.replicas");
    let body = r#"{"metadata": {"uid": "1", "labels": {"secret": "value"}}, "spec": null}"#;
    let mut wishes = Wishes::default();
    wishes.add(&Write::patch(pod("a"), controller::PatchKind::Merge, body.to_owned()));
    assert_eq!(fields(wishes), "metadata.labels, spec");
}

/// With writes in sight, it is not known which status will be right after them.
#[test]
fn a_status_waits_for_the_writes_before_it() {
    let mut court = Court::new();
    court.is_shown = false;
    court.decided(0, status(1));
    let pending = |steps: &[Step]| Wishes { lacks_status: true, ..Wishes::of(steps) };
    court.decided(20, pending(&[creates(1)]));
    court.decided(40, pending(&[creates(1)]));
    assert_eq!(court.judge.open(), 0);
    assert_eq!(court.judge.counts, Counts::default());
    court.is_shown = true;
    court.decided(45, pending(&[creates(1)]));
    assert_eq!(court.judge.counts, Counts { agreed: 1, ..Counts::default() });
}

#[test]
fn an_object_that_is_gone_wants_nothing() {
    let mut court = Court::new();
    court.wants(0, &[delete("web")]);
    court.wants(30, &[delete("web")]);
    court.judge.gone(&Key::parse("shop/web"), at(31), &|_, _| true);
    assert_eq!((court.judge.open(), court.judge.waiting()), (0, 0));
    assert_eq!(court.judge.counts, Counts { late: 1, ..Counts::default() });
}

#[test]
fn events_are_not_judged() {
    let event = controller::Event {
        about: std::sync::Arc::new(pod("a")),
        r#type: controller::EventType::Normal,
        reason: "Made".into(),
        message: String::new(),
    };
    assert!(Wishes::of(&[Step::InOrder(vec![Action::Event(event)])]).is_empty());
    let all = Collection { resource: PODS, namespace: "shop".into() };
    let wishes = Wishes::of(&[Step::InOrder(vec![Write::delete_all(all).into()])]);
    assert_eq!(wishes.by_target.len(), 1);
}

#[test]
fn nothing_grows_without_a_limit() {
    let mut court = Court::new();
    let many: Vec<_> = (0..WISHES_MAX + 5).map(|number| delete(&number.to_string())).collect();
    court.wants(0, &many);
    court.wants(1, &many);
    assert_eq!(court.judge.counts.dropped, 5);
    court.wants(30, &many);
    court.decided_for("shop/other", 0, Wishes::of(&[creates(1)]));
    court.decided_for("shop/other", 30, Wishes::of(&[creates(1)]));
    assert_eq!((court.judge.open(), court.steps().len()), (WISHES_MAX + 1, DIFFERENCES_MAX));
    assert_eq!(court.judge.counts.dropped, 6);
    court.wants(31, &[]);
    assert_eq!((court.judge.open(), court.judge.ended().count()), (1, ENDED_MAX));

    let mut court = Court::new();
    for number in 0..KEYS_MAX + 3 {
        court.decided_for(&format!("shop/{number}"), 0, Wishes::of(&[creates(1)]));
    }
    assert_eq!((court.judge.waiting(), court.judge.counts.dropped), (KEYS_MAX, 3));
}
