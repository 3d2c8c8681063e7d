//! Tables, mirroring upstream's
//! `pkg/controller/certificates/clustertrustbundlepublisher/publisher_test.go`.

use api::Kind as _;
use controller::fixture::{self, Fixture, decode, enqueued};
use controller::{Action, Change, Controller as _, Step};
use serde_json::{Value, json};

use super::*;

/// The bundle of the text `authority`: the first 12 bytes of its SHA-256.
const NAME: &str = "kubernetes.io:kube-apiserver-serving:0102030405060708090a0b0c";
const CREATE: &str = "create clustertrustbundles.certificates.k8s.io in ";
const RIGHT: &str = "why: the authority is right\n";

fn publisher() -> Controller {
    Controller::new("authority", &std::array::from_fn(|at| u8::try_from(at + 1).unwrap()))
}

fn bundle(name: &str, content: &str) -> Value {
    json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "3"},
        "spec": {"signerName": ServingTrustBundle::SIGNER, "trustBundle": content},
    })
}

fn planned(fixture: &Fixture) -> Plan {
    let snapshot = publisher().observe(&Key::new("", KEY), &fixture.view(), &()).unwrap();
    publisher().decide(&snapshot, &Facts::default()).0
}

/// TestCTBPublisherSync, all rows; those about bundles of other signers show in the field selector:
/// the API server is not asked for them.
#[test]
fn bundles_are_published_as_upstream() {
    assert_eq!(publisher().name, NAME);
    let (update, delete) = (
        format!(
            "update clustertrustbundles.certificates.k8s.io {NAME} spec.trustBundle=\"authority\""
        ),
        "delete clustertrustbundles.certificates.k8s.io name2",
    );
    let (missing, wrong) = ("why: the authority is missing\n", "why: the authority is wrong\n");
    for (name, bundles, expected) in [
        ("no CTBs exist", vec![], format!("{missing}in order: {CREATE}\n")),
        (
            "CTB for the signer exists with different content",
            vec![bundle(NAME, "olddata")],
            format!("{wrong}in order: {update}\n"),
        ),
        (
            "multiple CTBs for the signer",
            vec![bundle(NAME, "authority"), bundle("name2", "authority")],
            format!("why: the signer has other bundles\ntogether: {delete}\n"),
        ),
        (
            "multiple CTBs for the signer - the one with the proper name needs changing",
            vec![bundle(NAME, "olddata"), bundle("name2", "authority")],
            format!("{wrong}in order: {update}\ntogether: {delete}\n"),
        ),
        (
            "another CTB with a different name exists for the signer",
            vec![bundle("name2", "authority")],
            format!("{missing}in order: {CREATE}\ntogether: {delete}\n"),
        ),
        ("CTB at the correct state - noop", vec![bundle(NAME, "authority")], RIGHT.to_owned()),
    ] {
        let fixture = Fixture::default().holding::<ServingTrustBundle>(&bundles);
        assert_eq!(planned(&fixture).to_string(), expected, "{name}");
    }
    let selector = format!("spec.signerName={}", ServingTrustBundle::SIGNER);
    assert_eq!(ServingTrustBundle::FIELD_SELECTOR, selector);
}

/// `createClusterTrustBundle`.
#[test]
fn the_bundle_is_made_as_upstream() {
    let plan = planned(&Fixture::default().holding::<ServingTrustBundle>(&[]));
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("one step: {plan}") };
    let [Action::Write(create)] = actions.as_slice() else { panic!("one create: {plan}") };
    let expected = json!({
        "apiVersion": "certificates.k8s.io/v1beta1", "kind": "ClusterTrustBundle",
        "metadata": {"name": NAME},
        "spec": {"signerName": "kubernetes.io/kube-apiserver-serving", "trustBundle": "authority"},
    });
    assert_eq!(fixture::body(create), expected);
}

/// A bundle that cannot be read stays; what else the signer has is deleted all the same.
#[test]
fn an_unreadable_bundle_is_left_alone() {
    let unreadable = bundle(NAME, "");
    let fixture = Fixture::default().holding_unreadable::<ServingTrustBundle>(&unreadable, "no");
    assert_eq!(planned(&fixture).to_string(), RIGHT);
}

#[test]
fn every_change_enqueues_the_one_key() {
    let object = decode::<ServingTrustBundle>(&bundle("name2", "x"));
    for change in [
        Change::Added(object.clone()),
        Change::Updated { old: object.clone(), new: object.clone() },
        Change::Deleted(object),
    ] {
        let found = enqueued(&publisher(), &change, &Fixture::default());
        assert_eq!(found, "now clustertrustbundles\n");
    }
    assert_eq!(Controller::SEEDS, [KEY]);
}

#[test]
fn a_summary_says_what_is_published() {
    for (bundles, published) in [
        (vec![], "missing"),
        (vec![bundle(NAME, "authority"), bundle("name2", "")], "right"),
        (vec![bundle(NAME, "other")], "wrong"),
    ] {
        let others = bundles.len().saturating_sub(1).to_string();
        let fixture = Fixture::default().holding::<ServingTrustBundle>(&bundles);
        let snapshot = publisher().observe(&Key::new("", KEY), &fixture.view(), &()).unwrap();
        let summary = publisher().summary(&snapshot);
        let expected = [
            ("bundle", NAME.to_owned()),
            ("published", published.to_owned()),
            ("other bundles of the signer", others),
        ];
        assert_eq!(summary, expected);
    }
}
