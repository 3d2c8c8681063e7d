//! The rules by table, the Lease as bytes, and contenders against a fake API server.

mod candidate;
mod contest;
mod rules;

use std::time::Duration;

use api::Time;
use runtime::{Clock, Random};
use serde_json::{Value, json};

use crate::lease::{Lease, micro_time};
use crate::{Fence, Fenced, InvalidTiming, Timing, identity};

const SECOND: Duration = Duration::from_secs(1);

fn timing(lease: f64, renew: f64, retry: f64) -> Timing {
    let [lease_duration, renew_deadline, retry_period] =
        [lease, renew, retry].map(Duration::from_secs_f64);
    Timing { lease_duration, renew_deadline, retry_period }
}

/// TestLeaderElectionConfigValidation, and machinery.md: leaseDuration > renewDeadline >
/// 1.2 x retryPeriod. The message names the flags.
#[test]
fn durations_that_do_not_go_together_are_named() {
    let rows = [
        (timing(15.0, 10.0, 2.0), vec![]),
        (timing(15.0, 2.0, 1.0), vec![]),
        (timing(10.0, 10.0, 2.0), vec!["lease-duration must be greater than --leader-elect-renew"]),
        (timing(15.0, 2.4, 2.0), vec!["renew-deadline must be greater than 1.2 times"]),
        (timing(15.0, 10.0, 0.0), vec!["retry-period must be greater than zero"]),
        (
            timing(0.5, 0.0, 0.0),
            vec![
                "lease-duration must be at least one second",
                "renew-deadline must be greater than zero",
                "retry-period must be greater than zero",
                "renew-deadline must be greater than 1.2 times",
            ],
        ),
    ];
    for (timing, expected) in rows {
        let broken = timing.validate().err().unwrap_or(InvalidTiming(Vec::new()));
        assert_eq!(broken.0.len(), expected.len(), "{timing:?}: {broken}");
        for (rule, start) in broken.0.iter().zip(expected) {
            assert!(rule.starts_with(&format!("--leader-elect-{start}")), "{timing:?}: {rule}");
        }
    }
}

/// machinery.md: Lease UPDATE sends the cached object with the record replaced; the rest stays.
#[test]
fn an_update_keeps_what_it_does_not_know() {
    let known = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "future": [1, {"a": null}],
        "metadata": {
            "name": "l", "resourceVersion": "7", "labels": {"a": "b"}, "annotations": {"c": "d"},
            "managedFields": [{"manager": "m"}],
        },
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 3, "leaseTransitions": 2,
            "acquireTime": "2026-01-02T03:04:05.000006Z", "renewTime": null, "strategy": "s"},
    });
    let lease = Lease::parse(known.to_string().as_bytes()).unwrap();
    let mut record = lease.record();
    assert_eq!((record.transitions, record.renewed), (2, None));
    record.renewed = record.acquired;
    record.holder = "b".to_owned();
    let written: Value = serde_json::from_slice(&lease.with_record(&record)).unwrap();
    let mut expected = known;
    expected["metadata"].as_object_mut().unwrap().remove("managedFields");
    expected["spec"]["holderIdentity"] = "b".into();
    expected["spec"]["renewTime"] = "2026-01-02T03:04:05.000006Z".into();
    assert_eq!(written, expected);
}

/// TestLeaseSpecToLeaderElectionRecordRoundTrip: missing and broken fields are empty.
#[test]
fn a_broken_spec_is_an_empty_record() {
    let spec = json!({"holderIdentity": 3, "leaseDurationSeconds": -1, "leaseTransitions": "x",
        "acquireTime": "yesterday"});
    for spec in [Value::Null, json!("x"), json!({}), spec] {
        let object = json!({"metadata": {"resourceVersion": "1"}, "spec": spec});
        let lease = Lease::parse(object.to_string().as_bytes()).unwrap();
        assert_eq!(lease.record(), crate::lease::Record::default());
        let record = crate::lease::Record { holder: "a".to_owned(), ..Default::default() };
        let written: Value = serde_json::from_slice(&lease.with_record(&record)).unwrap();
        assert_eq!(written["spec"]["holderIdentity"], "a");
    }
    for broken in ["", "[]", "{}", r#"{"metadata":{}}"#, r#"{"metadata":{"resourceVersion":"x"}}"#]
    {
        assert!(Lease::parse(broken.as_bytes()).is_err(), "{broken}");
    }
}

/// metav1.MicroTime: six digits, UTC, also before 1970.
#[test]
fn times_have_microseconds() {
    let rows = [
        (Time::from_unix(0, 0), "1970-01-01T00:00:00.000000Z"),
        (Time::from_unix(1_767_322_445, 120_006_999), "2026-01-02T02:54:05.120006Z"),
        (Time::from_unix(-1, 500_000_000), "1969-12-31T23:59:59.500000Z"),
    ];
    for (time, text) in rows {
        assert_eq!(micro_time(time), text);
    }
}

/// manager.md: identity `<hostname>_<uuid v4>`.
#[test]
fn an_identity_is_host_and_uuid() {
    let random = Random::seeded(1);
    let (one, other) = (identity(&random), identity(&random));
    assert_ne!(one, other);
    let (_, uuid) = one.rsplit_once('_').unwrap();
    let parts: Vec<&str> = uuid.split('-').collect();
    assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    assert!(parts[2].starts_with('4') && parts[3].starts_with(['8', '9', 'a', 'b']), "{uuid}");
}

/// Issue: writes are refused after the deadline on a clock that counts suspended time.
#[tokio::test(start_paused = true)]
async fn a_fence_ends_also_while_suspended() {
    let clock = Clock::simulated(Time::EPOCH);
    let fence = Fence::closed(clock.clone());
    assert_eq!(fence.check(), Err(Fenced::NotLeading));
    fence.extend(15 * SECOND);
    clock.sleep(10 * SECOND).await;
    assert_eq!(fence.check(), Ok(()));
    clock.suspend(5 * SECOND);
    assert_eq!(fence.check(), Err(Fenced::Expired(Duration::ZERO)));
    assert!((fence.guard())().unwrap_err().contains("ended 0ns ago"));
    fence.extend(20 * SECOND);
    assert_eq!(fence.check(), Ok(()));
    fence.seal();
    fence.extend(90 * SECOND);
    assert_eq!(fence.check(), Err(Fenced::NotLeading));
    assert_eq!(Fence::open().check(), Ok(()));
}
