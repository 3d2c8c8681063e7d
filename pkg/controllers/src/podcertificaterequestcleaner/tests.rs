//! Tables, mirroring upstream's `pkg/controller/certificates/cleaner/pcrcleaner_test.go`.

use controller::Controller as _;
use controller::fixture::{Fixture, NOW, ago, with};
use serde_json::{Value, json};

use super::decide::DELETIONS_MAX;
use super::*;

fn request(age_seconds: i64) -> Value {
    json!({"metadata": {"name": "bar", "namespace": "foo", "uid": "uid",
        "creationTimestamp": ago(age_seconds)}})
}

fn plan(requests: &[Value]) -> Plan {
    let fixture = Fixture::default().holding::<PodCertificateRequest>(requests);
    let snapshot = Controller.observe(&Key::new("", "x"), &fixture.view(), &()).unwrap();
    Controller.decide(&snapshot, &Facts::default()).0
}

/// TestPCRCleaner. What became of a request is not looked at, so upstream's rows of requests that
/// were denied are those of requests that were not.
#[test]
fn requests_are_cleaned_as_upstream() {
    let kept = "why: no certificate request of a pod is old\nagain in 300s\n";
    let deleted = "why: 1 are old\n\
        together: delete podcertificaterequests.certificates.k8s.io foo/bar\nagain in 300s\n";
    let unborn = with(request(0), json!({"metadata": {"creationTimestamp": null}}));
    let ending = with(request(3600), json!({"metadata": {"deletionTimestamp": NOW}}));
    for (name, request, expected) in [
        ("request within the threshold should be left alone", request(899), kept),
        ("request outside the threshold should be deleted", request(901), deleted),
        // More than upstream's rows.
        ("at the threshold", request(900), deleted),
        ("without a time", unborn, deleted),
        ("being deleted", ending, kept),
    ] {
        assert_eq!(plan(&[request]).to_string(), expected, "{name}");
    }
}

/// A pass is bounded, and the next one follows soon.
#[test]
fn many_requests_take_several_passes() {
    let named = |number| with(request(901), json!({"metadata": {"name": format!("r-{number}")}}));
    let requests: Vec<_> = (0..=DELETIONS_MAX).map(named).collect();
    let plan = plan(&requests);
    assert_eq!((plan.actions(), plan.again), (DELETIONS_MAX, Some(Duration::from_secs(1))));
    let fixture = Fixture::default().holding::<PodCertificateRequest>(&requests);
    let snapshot = Controller.observe(&Key::new("", "x"), &fixture.view(), &()).unwrap();
    let expected = [("requests", "101".to_owned()), ("old", "101".to_owned())];
    assert_eq!(Controller.summary(&snapshot), expected);
}
