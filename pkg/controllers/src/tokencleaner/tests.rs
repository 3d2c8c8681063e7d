//! Tables, mirroring upstream's `pkg/controller/bootstrap/tokencleaner_test.go`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use controller::Controller as _;
use controller::fixture::{Fixture, NOW, ago, decode, enqueued, with};
use serde_json::{Value, json};

use super::*;

const DELETE: &str = "in order: delete secrets kube-system/bootstrap-token-abc123\n";

/// As upstream's `newTokenSecret` and `addSecretExpiration`.
fn token(expiration: &str) -> Value {
    let encode = |text: &str| BASE64_STANDARD.encode(text);
    let data = json!({"token-id": encode("abc123"), "token-secret": encode("tokenSecret"),
        "expiration": encode(expiration)});
    json!({"metadata": {"name": "bootstrap-token-abc123", "namespace": "kube-system",
        "uid": "uid-token", "resourceVersion": "1"}, "data": data})
}

fn observe(fixture: &Fixture) -> Option<Snapshot> {
    let key = Key::new("kube-system", "bootstrap-token-abc123");
    Controller.observe(&key, &fixture.view(), &())
}

fn plan(token: Value) -> String {
    let fixture = Fixture::default().holding::<BootstrapToken>(&[token]);
    Controller.decide(&observe(&fixture).unwrap(), &Facts::default()).0.to_string()
}

/// TestCleanerNoExpiration, TestCleanerExpired, TestCleanerNotExpired, TestCleanerExpiredAt.
#[test]
fn tokens_are_cleaned_as_upstream() {
    let unparsable = format!("why: its expiration is no time, which counts as expired\n{DELETE}");
    let expired = |at: &str| format!("why: expired at {at}\n{DELETE}");
    let (hour_ago, in_two_seconds) = (ago(3600), ago(-2));
    let waits = format!("why: expires at {in_two_seconds}\nagain in 2s\n");
    for (name, expiration, expected) in [
        ("TestCleanerNoExpiration", "", "why: the token never expires\n".to_owned()),
        ("TestCleanerExpired", &*hour_ago, expired(&hour_ago)),
        ("TestCleanerExpiredAt", &*in_two_seconds, waits),
        // More than upstream's rows.
        ("right now", NOW, expired(NOW)),
        ("garbage", "garbage", unparsable.clone()),
        ("a blank for the T", "2030-01-01 00:00:00Z", unparsable),
    ] {
        assert_eq!(plan(token(expiration)), expected, "{name}");
    }
    // Go reads it, and so it must not count as expired.
    let far = plan(token("9999-12-31T23:59:59Z"));
    assert!(far.starts_with("why: expires at") && !far.contains("delete"), "{far}");
    let ending = with(token(&hour_ago), json!({"metadata": {"deletionTimestamp": NOW}}));
    assert_eq!(plan(ending), "why: the token is being deleted\n");
    assert!(observe(&Fixture::default().holding::<BootstrapToken>(&[])).is_none());
}

#[test]
fn a_token_that_cannot_be_read_is_left_alone() {
    let fixture = Fixture::default();
    let fixture = fixture.holding_unreadable::<BootstrapToken>(&token(&ago(3600)), "data: no");
    let (plan, ()) = Controller.decide(&observe(&fixture).unwrap(), &Facts::default());
    assert_eq!(plan.to_string(), "why: the token cannot be read\n");
}

#[test]
fn tokens_that_expire_are_enqueued() {
    let queued = |change| enqueued(&Controller, &change, &Fixture::default());
    let read = |expiration: &str| decode::<BootstrapToken>(&token(expiration));
    let key = "kube-system/bootstrap-token-abc123";
    assert_eq!(queued(Change::Added(read(NOW))), format!("now {key}\n"));
    assert_eq!(queued(Change::Added(read("garbage"))), format!("now {key}\n"));
    assert_eq!(queued(Change::Added(read(""))), "");
    let update = Change::Updated { old: read(""), new: read(NOW) };
    assert_eq!(queued(update), format!("now {key}\n"));
    assert_eq!(queued(Change::Deleted(read(NOW))), format!("forget {key}\n"));
    assert_eq!(queued(Change::Deleted(read(""))), "");
}

#[test]
fn a_summary_says_when_a_token_expires() {
    let summary = |expiration: &str| {
        let fixture = Fixture::default().holding::<BootstrapToken>(&[token(expiration)]);
        let facts = Controller.summary(&observe(&fixture).unwrap());
        facts.into_iter().map(|(_, value)| value).collect::<Vec<_>>()
    };
    assert_eq!(summary(NOW), [NOW, "false"]);
    assert_eq!(summary(""), ["never", "false"]);
    assert_eq!(summary("x"), ["at no time that can be read", "false"]);
}
