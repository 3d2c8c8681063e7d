//! Tables, mirroring upstream's `pkg/controller/certificates/cleaner/cleaner_test.go`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use controller::Controller as _;
use controller::fixture::{Fixture, NOW, ago};
use serde_json::{Value, json};

use super::decide::DELETIONS_MAX;
use super::*;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;

/// One element of DER.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    [&[tag, length], content].concat()
}

/// A certificate that ends then (`YYMMDDhhmmss`), as the status has it. Nothing else of it is read.
fn certificate(not_after: &str) -> Value {
    let time = |text: &str| der(0x17, format!("{text}Z").as_bytes());
    let validity = der(0x30, &[time("240101000000"), time(not_after)].concat());
    let names = [der(2, &[1]), der(0x30, &[]), der(0x30, &[])].concat();
    let content = der(0x30, &[der(0xa0, &der(2, &[2])), names, validity].concat());
    let base64 = BASE64_STANDARD.encode(der(0x30, &content));
    let pem = format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n");
    json!(BASE64_STANDARD.encode(pem))
}

/// A request of this age in seconds; its conditions have types and ages.
fn request(age: i64, certificate: &Value, conditions: &[(&str, i64)]) -> Value {
    let condition = |kind: &str, age: i64| {
        let at = ago(age);
        json!({"type": kind, "status": "True", "lastUpdateTime": at})
    };
    let conditions = conditions.iter().map(|(kind, age)| condition(kind, *age));
    let conditions: Vec<_> = conditions.collect();
    json!({
        "metadata": {"name": "fake-csr", "uid": "uid", "creationTimestamp": ago(age)},
        "status": {"certificate": certificate, "conditions": conditions},
    })
}

fn plan(requests: &[Value]) -> Plan {
    let fixture = Fixture::default().holding::<CertificateSigningRequest>(requests);
    let snapshot = Controller.observe(&Key::new("", "x"), &fixture.view(), &()).unwrap();
    Controller.decide(&snapshot, &Facts::default()).0
}

fn deleted(why: &str) -> String {
    format!(
        "why: 1 {why}\n\
        together: delete certificatesigningrequests.certificates.k8s.io fake-csr\n\
        again in 3600s\n"
    )
}

/// What becomes of a request of this age, with this certificate and these conditions.
fn assert_cleaned(name: &str, request: Value, reason: Option<&str>) {
    let kept = || "why: no certificate request is over\nagain in 3600s\n".to_owned();
    assert_eq!(plan(&[request]).to_string(), reason.map_or_else(kept, deleted), "{name}");
}

/// TestCleanerWithApprovedExpiredCSR.
#[test]
fn requests_are_cleaned_as_upstream() {
    let none = &Value::Null;
    let (good, over) = (&certificate("250101000000"), &certificate("240501115959"));
    let garbage = &json!("Z2FyYmFnZQ==");
    let approved = |age: i64| [("Approved", age)];
    let denied = |age: i64| [("Denied", age)];
    let failed = |age: i64| [("Approved", 2 * HOUR), ("Failed", age)];
    let (soon, late, old) = (50 * MINUTE, 2 * HOUR, 25 * HOUR);
    let new = |certificate, conditions: &[_]| request(MINUTE, certificate, conditions);
    for (name, request, reason) in [
        ("no delete approved not passed deadline", new(good, &approved(soon)), None),
        ("no delete approved passed deadline not issued", new(none, &approved(soon)), None),
        ("delete approved passed deadline", new(good, &approved(late)), Some("issued")),
        ("no delete denied not passed deadline", new(none, &denied(soon)), None),
        ("delete denied passed deadline", new(none, &denied(late)), Some("denied")),
        ("no delete failed not passed deadline", new(none, &failed(soon)), None),
        ("delete failed passed deadline", new(none, &failed(late)), Some("failed")),
        ("no delete pending not passed deadline", request(5 * HOUR, none, &[]), None),
        ("delete pending passed deadline", request(old, none, &[]), Some("pending")),
        (
            "delete approved unissued past deadline",
            new(none, &approved(old)),
            Some("approved and not issued"),
        ),
        ("no delete approved unissued not past deadline", new(none, &approved(5 * HOUR)), None),
        ("no delete approved not passed deadline unexpired", new(good, &approved(soon)), None),
        (
            "delete approved not passed deadline expired",
            new(over, &approved(soon)),
            Some("expired"),
        ),
        (
            "delete approved passed deadline unparseable",
            new(garbage, &approved(late)),
            Some("issued"),
        ),
    ] {
        assert_cleaned(name, request, reason);
    }
}

/// More than upstream's rows.
#[test]
fn requests_stay_up_to_the_deadline() {
    let none = &Value::Null;
    let (now, over) = (&certificate("240501120000"), &certificate("240501115959"));
    let garbage = &json!("Z2FyYmFnZQ==");
    let old = 25 * HOUR;
    for (name, request) in [
        ("unparseable", request(MINUTE, garbage, &[("Approved", 50 * MINUTE)])),
        ("at the deadline", request(MINUTE, none, &[("Denied", HOUR)])),
        ("in the future", request(-old, none, &[])),
        ("ends now", request(MINUTE, now, &[("Approved", MINUTE)])),
        ("expired, and not approved", request(old, over, &[("Mine", old)])),
    ] {
        assert_cleaned(name, request, None);
    }
}

/// `isOlderThan`: no time is not old.
#[test]
fn what_says_no_time_stays() {
    let mut silent = request(25 * HOUR, &Value::Null, &[("Denied", 2 * HOUR)]);
    silent["status"]["conditions"][0]["lastUpdateTime"] = Value::Null;
    assert!(plan(&[silent]).is_rest());
    let mut unborn = request(25 * HOUR, &Value::Null, &[]);
    unborn["metadata"]["creationTimestamp"] = Value::Null;
    assert!(plan(&[unborn]).is_rest());
    let mut ending = request(25 * HOUR, &Value::Null, &[]);
    ending["metadata"]["deletionTimestamp"] = json!(NOW);
    assert!(plan(&[ending]).is_rest());
}

#[test]
fn a_request_that_cannot_be_read_is_left_alone() {
    let old = request(25 * HOUR, &Value::Null, &[]);
    let fixture = Fixture::default();
    let fixture = fixture.holding_unreadable::<CertificateSigningRequest>(&old, "status: no");
    let snapshot = Controller.observe(&Key::new("", "x"), &fixture.view(), &()).unwrap();
    assert!(Controller.decide(&snapshot, &Facts::default()).0.is_rest());
}

/// A pass is bounded, and the next one follows soon.
#[test]
fn many_requests_take_several_passes() {
    let requests: Vec<_> = (0..=DELETIONS_MAX)
        .map(|number| {
            let mut request = request(25 * HOUR, &Value::Null, &[]);
            request["metadata"]["name"] = json!(format!("csr-{number}"));
            request
        })
        .collect();
    let plan = plan(&requests);
    assert_eq!((plan.actions(), plan.again), (DELETIONS_MAX, Some(Duration::from_secs(1))));
    let fixture = Fixture::default().holding::<CertificateSigningRequest>(&requests);
    let snapshot = Controller.observe(&Key::new("", "x"), &fixture.view(), &()).unwrap();
    let expected = [("requests", "101".to_owned()), ("over", "101".to_owned())];
    assert_eq!(Controller.summary(&snapshot), expected);
}
