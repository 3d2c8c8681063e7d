//! Expectations, as a pure structure.

use std::time::Duration;

use api::{Key, Kind, Pod, ReplicaSet, Resource, Text};
use cache::Selection;
use controller::Deletion::{Marked, Removed};
use runtime::{Clock, Instant};

use crate::expectations::{LIMIT, NEVER};
use crate::{Expectations, Settled};

const OWN: Resource = ReplicaSet::RESOURCE;
const PODS: Selection = Selection::of::<Pod>();
const SETS: Selection = Selection::of::<ReplicaSet>();

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

fn uid(uid: &str) -> Text {
    uid.into()
}

fn now() -> Instant {
    Clock::system().instant()
}

/// TestControllerExpectations: a key without expectations is satisfied.
#[test]
fn a_key_that_wrote_nothing_is_settled() {
    assert_eq!(Expectations::default().settled(&key("a"), Some(&OWN), now()), Settled::Yes);
}

/// TestControllerExpectations: satisfied once all creations were observed; here by version.
#[test]
fn creates_settle_with_the_version_of_the_last_one() {
    let (mut awaited, at) = (Expectations::default(), now());
    for version in [7, 9, 8] {
        awaited.expect_version(&key("a"), &PODS, version, at);
    }
    assert_eq!(awaited.settled(&key("a"), Some(&OWN), at), Settled::NotOthers);
    assert_eq!(awaited.reached(&PODS, 8), []);
    assert_eq!(awaited.settled(&key("a"), Some(&OWN), at), Settled::NotOthers);
    assert_eq!(awaited.reached(&PODS, 9), [key("a")]);
    assert_eq!(awaited.settled(&key("a"), Some(&OWN), at), Settled::Yes);
    assert!(awaited.is_empty());
}

/// A version of one kind says nothing about another.
#[test]
fn kinds_are_awaited_apart() {
    let (mut awaited, at) = (Expectations::default(), now());
    awaited.expect_version(&key("a"), &PODS, 5, at);
    awaited.expect_version(&key("a"), &SETS, 6, at);
    assert_eq!(awaited.settled(&key("a"), Some(&OWN), at), Settled::NotSelf);
    assert_eq!(awaited.reached(&SETS, 100), []);
    assert_eq!(awaited.settled(&key("a"), Some(&OWN), at), Settled::NotOthers);
    assert_eq!(awaited.reached(&PODS, 100), [key("a")]);
}

/// TestUIDExpectations: a deletion is observed by the object's identity, once; the deletion of
/// another object does not count.
#[test]
fn deletes_settle_by_uid() {
    let (mut awaited, at) = (Expectations::default(), now());
    awaited.expect_deleted(&key("a"), &PODS, (Marked, &uid("1")), at);
    awaited.expect_deleted(&key("a"), &PODS, (Marked, &uid("2")), at);
    assert_eq!(awaited.deleted(&PODS, (Marked, &uid("other"))), []);
    assert_eq!(awaited.deleted(&PODS, (Marked, &uid("1"))), []);
    assert_eq!(awaited.deleted(&PODS, (Marked, &uid("1"))), []);
    assert_eq!(awaited.settled(&key("a"), Some(&OWN), at), Settled::NotOthers);
    assert_eq!(awaited.deleted(&PODS, (Marked, &uid("2"))), [key("a")]);
    assert_eq!(awaited.settled(&key("a"), Some(&OWN), at), Settled::Yes);
}

/// A key that awaits a removal is not settled by the mark.
#[test]
fn a_mark_settles_no_removal() {
    let (mut awaited, at) = (Expectations::default(), now());
    for deletion in [Marked, Removed] {
        awaited.expect_deleted(&key("a"), &PODS, (deletion, &uid("1")), at);
    }
    assert_eq!(awaited.deleted(&PODS, (Marked, &uid("1"))), []);
    assert_eq!(awaited.settled(&key("a"), Some(&OWN), at), Settled::NotOthers);
    assert_eq!(awaited.deleted(&PODS, (Removed, &uid("1"))), [key("a")]);
    assert!(awaited.is_empty());
}

/// Two keys that await the same deletion both settle.
#[test]
fn a_deletion_settles_all_keys_that_await_it() {
    let (mut awaited, at) = (Expectations::default(), now());
    for name in ["b", "a", "c"] {
        awaited.expect_deleted(&key(name), &PODS, (Marked, &uid("1")), at);
    }
    awaited.forget(&key("b"));
    assert_eq!(awaited.deleted(&PODS, (Marked, &uid("1"))), [key("a"), key("c")]);
    assert!(awaited.is_empty());
}

/// Versions do not settle deletes: the version of the deletion is unknown to the writer.
#[test]
fn a_delete_is_not_settled_by_a_version() {
    let (mut awaited, at) = (Expectations::default(), now());
    awaited.expect_deleted(&key("a"), &PODS, (Marked, &uid("1")), at);
    assert_eq!(awaited.reached(&PODS, u64::MAX), []);
    assert_eq!(awaited.settled(&key("a"), Some(&OWN), at), Settled::NotOthers);
}

/// TestExpectationsOnRecreate: a new set of the same name starts clean.
#[test]
fn a_forgotten_key_is_settled_and_leaves_nothing_behind() {
    let (mut awaited, at) = (Expectations::default(), now());
    awaited.expect_version(&key("a"), &PODS, 5, at);
    awaited.expect_deleted(&key("a"), &PODS, (Marked, &uid("1")), at);
    awaited.expect_version(&key("b"), &PODS, 5, at);
    awaited.forget(&key("a"));
    assert_eq!(awaited.settled(&key("a"), Some(&OWN), at), Settled::Yes);
    assert_eq!(awaited.deleted(&PODS, (Marked, &uid("1"))), []);
    assert_eq!(awaited.reached(&PODS, 5), [key("b")]);
}

/// common card, Expectations: timeout 5 min since they were last set.
#[test]
fn after_five_minutes_no_deletion_is_awaited() {
    for never in [false, true] {
        let (mut awaited, at) = (Expectations::default(), now());
        let mut expect = |uid_of: &str, at| {
            if never {
                awaited.expect_version(&key("a"), &PODS, NEVER, at);
            }
            awaited.expect_deleted(&key("a"), &PODS, (Marked, &uid(uid_of)), at);
        };
        expect("1", at);
        let later = at + LIMIT;
        expect("2", later);
        let long_after = later + Duration::from_secs(1);
        assert_eq!(awaited.settled(&key("a"), Some(&OWN), long_after), Settled::NotOthers);
        assert_eq!(awaited.settled(&key("a"), Some(&OWN), later + LIMIT * 2), Settled::Yes);
        assert!(awaited.is_empty());
    }
}

/// TestConsistencyStore_EnsureReady: a read that is older than the write is never fresh enough. (A
/// watch of pods that broke for minutes made a controller create a DaemonSet's pods twice.)
#[test]
fn a_version_is_awaited_for_ever() {
    let (mut awaited, at) = (Expectations::default(), now());
    awaited.expect_version(&key("a"), &PODS, 5, at);
    awaited.expect_deleted(&key("a"), &PODS, (Marked, &uid("1")), at);
    let late = at + LIMIT * 100;
    assert_eq!(awaited.settled(&key("a"), Some(&OWN), late), Settled::NotOthers);
    let awaits = awaited.awaits(&key("a")).unwrap();
    assert_eq!((awaits.versions, awaits.deletions, awaits.since), (vec![(PODS, 5)], vec![], at));
    assert_eq!(awaited.reached(&PODS, 5), [key("a")]);
}

/// Two keys that await one version settle together, in the order of their names.
#[test]
fn keys_settle_in_order() {
    let (mut awaited, at) = (Expectations::default(), now());
    for name in ["b", "a", "c"] {
        awaited.expect_version(&key(name), &PODS, if name == "c" { 4 } else { 5 }, at);
    }
    assert_eq!(awaited.reached(&PODS, 5), [key("c"), key("a"), key("b")]);
}
