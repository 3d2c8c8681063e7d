//! The referee against made-up audit lines: it must see what is wrong, and nothing else.

use super::*;
use crate::audit::parse;
use serde_json::{Value, json};

/// The `ms`-th millisecond of the contest.
fn at(ms: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap() + SignedDuration::from_millis(ms)
}

fn line(user: &str, ms: i64, about: &Value, code: u16, lease: &Value) -> Write {
    let event = json!({
        "auditID": format!("{user}@{ms}"),
        "verb": "update",
        "user": {"username": user},
        "objectRef": about,
        "responseStatus": {"code": code},
        "responseObject": lease,
        "requestReceivedTimestamp": at(ms).to_string(),
    });
    parse(event.to_string().as_bytes()).unwrap()
}

/// A claim of 3 s; the version of the Lease is the time.
fn claim(user: &str, ms: i64, holder: &str) -> Write {
    let about = json!({"resource": "leases", "namespace": "kube-system", "name": "contest"});
    let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 3,
        "renewTime": at(ms).to_string()});
    let lease = json!({"metadata": {"resourceVersion": ms.to_string()}, "spec": spec});
    line(user, ms, &about, 200, &lease)
}

fn renewal(user: &str, ms: i64) -> Write {
    claim(user, ms, user)
}

fn release(user: &str, ms: i64) -> Write {
    claim(user, ms, "")
}

fn work(user: &str, ms: i64) -> Write {
    line(user, ms, &json!({"resource": "pods", "namespace": "default"}), 201, &Value::Null)
}

fn event(user: &str, ms: i64) -> Write {
    line(user, ms, &json!({"resource": "events", "namespace": "default"}), 201, &Value::Null)
}

fn contest(writes: impl IntoIterator<Item = Write>) -> Contest {
    let mut contest = Contest::default();
    contest.add(writes);
    contest
}

/// The audit ids of writes outside of the time, and the users of early claims.
fn found(writes: impl IntoIterator<Item = Write>) -> (Vec<String>, Vec<String>) {
    let Verdict { outside, early, .. } = contest(writes).judge();
    let outside = outside.into_iter().map(|write| write.audit_id).collect();
    (outside, early.into_iter().map(|claimed| claimed.user).collect())
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn writes_while_the_lease_is_held_are_fine() {
    let writes = [
        renewal("a", 1000),
        work("a", 1000),
        renewal("a", 3000),
        work("a", 5999),
        renewal("b", 6000),
        work("b", 6001),
    ];
    assert_eq!(found(writes), (none(), none()));
}

#[test]
fn a_write_after_the_lease_has_run_out_is_found_without_a_new_holder() {
    let writes = [renewal("a", 1000), work("a", 3999), work("a", 4000)];
    assert_eq!(found(writes).0, ["a@4000"]);
}

#[test]
fn a_write_of_a_replaced_holder_is_found() {
    let writes = [renewal("a", 1000), renewal("b", 4000), work("a", 4500), work("b", 4500)];
    assert_eq!(found(writes), (vec!["a@4500".to_owned()], none()));
}

#[test]
fn a_write_of_a_user_that_never_held_it_is_found() {
    let writes = [renewal("a", 1000), work("b", 1500), work("a", 999)];
    assert_eq!(found(writes).0, ["b@1500", "a@999"]);
}

#[test]
fn a_write_in_the_gap_before_a_delayed_renewal_is_found() {
    let writes = [renewal("a", 1000), work("a", 4100), renewal("a", 4200), work("a", 4300)];
    assert_eq!(found(writes).0, ["a@4100"]);
}

#[test]
fn a_write_after_the_release_is_found() {
    let writes = [renewal("a", 1000), work("a", 1400), release("a", 1500), work("a", 1600)];
    assert_eq!(found(writes), (vec!["a@1600".to_owned()], none()));
}

#[test]
fn a_released_lease_is_taken_at_once() {
    let writes = [renewal("a", 1000), release("a", 1500), renewal("b", 1501), work("b", 1502)];
    assert_eq!(found(writes), (none(), none()));
}

#[test]
fn a_lease_that_is_taken_early_is_found_and_ends_the_time_of_the_other() {
    let writes = [renewal("a", 1000), renewal("b", 3999), work("a", 3999), work("b", 4000)];
    assert_eq!(found(writes), (vec!["a@3999".to_owned()], vec!["b".to_owned()]));
}

#[test]
fn refused_writes_count_and_refused_claims_do_not() {
    let about = json!({"resource": "leases", "namespace": "kube-system", "name": "contest"});
    let refused = line("b", 1200, &about, 409, &Value::Null);
    let mut forbidden = work("b", 1300);
    forbidden.code = 404;
    let writes = [renewal("a", 1000), refused, forbidden];
    assert_eq!(found(writes), (vec!["b@1300".to_owned()], none()));
}

#[test]
fn the_order_of_the_log_does_not_matter() {
    let writes = [work("a", 3500), renewal("b", 5000), renewal("a", 2000), renewal("a", 1000)];
    assert_eq!(found(writes), (none(), none()));
}

#[test]
fn events_are_counted_apart() {
    let writes = [renewal("a", 1000), work("a", 1100), event("a", 1200), event("a", 4000)];
    let verdict = contest(writes).judge();
    let counts = Counts { elected: 1, work: 1, events: 2, events_outside: 1 };
    assert_eq!(verdict.counts, BTreeMap::from([("a".to_owned(), counts)]));
    assert_eq!(verdict.outside, []);
}

#[test]
fn claims_and_events_are_no_work() {
    let mut contest = contest([renewal("a", 1000), event("a", 1100)]);
    assert!(!contest.has_worked("a"));
    contest.add([work("a", 1200)]);
    assert!(contest.has_worked("a"));
    assert!(!contest.has_worked("b"));
}

#[test]
fn each_election_counts_once() {
    let writes = [
        renewal("a", 1000),
        renewal("a", 2000),
        release("a", 2500),
        renewal("b", 2600),
        renewal("a", 5600),
        renewal("a", 9000),
    ];
    let verdict = contest(writes).judge();
    let elected = |user| verdict.counts[user].elected;
    assert_eq!((elected("a"), elected("b")), (3, 1));
}

#[test]
fn the_holder_holds_until_the_end_or_the_release() {
    let held = contest([renewal("a", 1000)]);
    assert_eq!(held.holder(at(3999)), Some("a"));
    assert_eq!(held.holder(at(4000)), None);
    let released = contest([renewal("a", 1000), release("a", 1500)]);
    assert_eq!(released.holder(at(1600)), None);
}

fn done(victim: &str, ms: i64, fault: Fault) -> Done {
    Done { at: at(ms), fault, victim: victim.to_owned() }
}

#[test]
fn a_takeover_is_due_to_the_last_fault_of_the_former_holder() {
    let writes = [
        renewal("a", 1000),
        renewal("a", 2000),
        renewal("b", 5000),
        release("b", 6100),
        renewal("c", 6110),
        renewal("d", 9110),
    ];
    let faults = [
        done("a", 1500, Fault::Stop),
        done("a", 2500, Fault::Kill),
        done("c", 3000, Fault::Stop),
        done("b", 6000, Fault::Term),
    ];
    let takeovers = contest(writes).takeovers(&faults);
    let told: Vec<_> = takeovers
        .iter()
        .map(|Takeover { fault, from, to, since_fault, since_renewal }| {
            let since_fault = since_fault.map(|since| since.as_millis());
            (*fault, format!("{from} {to}"), since_fault, since_renewal.as_millis())
        })
        .collect();
    let expected = [
        (Some(Fault::Kill), "a b".to_owned(), Some(2500), 3000),
        (Some(Fault::Term), "b c".to_owned(), Some(110), 1110),
        // It was stopped before it led: that is not why it lost the lease.
        (None, "c d".to_owned(), None, 3000),
    ];
    assert_eq!(told, expected);
}
