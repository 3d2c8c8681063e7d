//! Tables, mirroring upstream's `sarapprove_test.go` and `certificate_controller_test.go` in
//! `pkg/controller/certificates`, and `test/integration/certificates/controller_approval_test.go`.

use api::CertificateSigningRequest as Csr;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use controller::fixture::{Fixture, decode, enqueued, with};
use controller::{Action, Answer, Change, Controller as _, Query, Step};
use serde_json::{Value, json};
use std::sync::Arc;

use super::*;

const SELF: &str = "review subjectaccessreviews.authorization.k8s.io: may its author create \
                    certificatesigningrequests/selfnodeclient?";
const NODE: &str = "review subjectaccessreviews.authorization.k8s.io: may its author create \
                    certificatesigningrequests/nodeclient?";

/// A request. As upstream's `csrBuilder`.
#[derive(Clone)]
struct Wish {
    common_name: &'static str,
    organizations: Vec<&'static str>,
    requestor: &'static str,
    usages: Vec<&'static str>,
    signer: &'static str,
    /// Tag and content of the names in `subjectAltName`.
    alternatives: Vec<(u8, &'static str)>,
}

/// The base of upstream's rows.
fn wish() -> Wish {
    Wish {
        common_name: "system:node:foo",
        organizations: vec!["system:nodes"],
        requestor: "system:node:foo",
        usages: vec!["key encipherment", "digital signature", "client auth"],
        signer: "kubernetes.io/kube-apiserver-client-kubelet",
        alternatives: vec![],
    }
}

/// One element of DER.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    let length = if length < 0x80 { vec![length] } else { vec![0x81, length] };
    [&[tag], &*length, content].concat()
}

/// A request that says this. Its key and its signature are not read.
fn request(wish: &Wish) -> Vec<u8> {
    let name = |kind: u8, text: &str| {
        let value = [der(6, &[0x55, 4, kind]), der(0x0c, text.as_bytes())].concat();
        der(0x31, &der(0x30, &value))
    };
    let organizations = wish.organizations.iter().map(|text| name(10, text));
    let subject = organizations.chain([name(3, wish.common_name)]).collect::<Vec<_>>().concat();
    let names = wish.alternatives.iter().map(|(tag, text)| der(*tag, text.as_bytes()));
    let names = der(0x30, &names.collect::<Vec<_>>().concat());
    let extension = [der(6, &[0x55, 0x1d, 17]), der(4, &names)].concat();
    let kind = der(6, &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14]);
    let extensions = der(0x31, &der(0x30, &der(0x30, &extension)));
    let attribute = der(0x30, &[kind, extensions].concat());
    let attributes = if wish.alternatives.is_empty() { vec![] } else { attribute };
    let (nothing, version) = (der(0x30, &[]), der(2, &[0]));
    let info = [version, der(0x30, &subject), nothing.clone(), der(0xa0, &attributes)].concat();
    let request = der(0x30, &[der(0x30, &info), nothing, der(3, &[0])].concat());
    let base64 = STANDARD.encode(request);
    let label = "CERTIFICATE REQUEST-----";
    format!("-----BEGIN {label}\n{base64}\n-----END {label}\n").into_bytes()
}

fn csr(wish: &Wish) -> Value {
    json!({
        "metadata": {"name": "csr-1", "uid": "u1", "resourceVersion": "5"},
        "spec": {
            "request": STANDARD.encode(request(wish)), "signerName": wish.signer,
            "usages": wish.usages, "username": wish.requestor, "uid": "7",
            "groups": ["system:nodes", "b"], "extra": {"k": ["v"]},
        },
        "status": {},
    })
}

/// The plan for a CSR, and what it asks.
fn plan(csr: &Value, facts: &Facts) -> Plan {
    let fixture = Fixture::default().holding::<Csr>(std::slice::from_ref(csr));
    let snapshot = Controller.observe(&Key::new("", "csr-1"), &fixture.view(), &()).unwrap();
    Controller.decide(&snapshot, facts).0
}

/// The plan once every review that it asks for got this response, and the reviews.
fn reviewed(csr: &Value, mut answer: impl FnMut(&Query) -> Answer) -> (Vec<String>, Plan) {
    let (mut asked, mut facts) = (Vec::new(), Facts::default());
    loop {
        let next = plan(csr, &facts);
        let [Step::Fetch(queries)] = next.steps.as_slice() else { return (asked, next) };
        let [query] = queries.as_slice() else { panic!("one at a time: {next}") };
        asked.push(query.to_string());
        facts.answers.insert(query.clone(), answer(query));
    }
}

fn says(allowed: bool) -> Answer {
    Answer::Json(Arc::new(json!({"status": {"allowed": allowed}})))
}

fn approval(subresource: &str, which: &str) -> String {
    let message =
        format!("Auto approving {which}kubelet client certificate after SubjectAccessReview.");
    format!(
        "why: its author may create {subresource}\nin order: update \
         certificatesigningrequests.certificates.k8s.io csr-1 approval \
         status.conditions=[{{\"message\":\"{message}\",\"reason\":\"AutoApproved\",\
         \"status\":\"True\",\"type\":\"Approved\"}}]\n"
    )
}

/// TestHandle: what is recognized is reviewed, and approved if it is allowed.
#[test]
fn requests_are_handled_as_upstream() {
    let other = csr(&Wish { signer: "example.com/other", ..wish() });
    let (asked, rest) = reviewed(&other, |_| panic!("recognized:false: no review"));
    assert!(asked.is_empty() && rest.is_rest() && rest.error.is_none());

    let (asked, denied) = reviewed(&csr(&wish()), |_| says(false));
    assert_eq!(asked, [SELF, NODE]);
    let expected = "why: its author may not have it\nerror: recognized csr \"csr-1\" as \
                    [selfnodeclient nodeclient] but subject access review was not approved\n";
    assert_eq!(denied.to_string(), expected, "recognized:true,allowed:false");
    assert!(denied.quiet, "an ignorable error");

    let (asked, approved) = reviewed(&csr(&wish()), |_| says(true));
    assert_eq!(asked, [SELF], "recognized:true,allowed:true");
    assert_eq!(approved.to_string(), approval("selfnodeclient", "self "));
}

/// The second way is tried once the first one is refused.
#[test]
fn a_kubelet_that_may_not_renew_may_still_join() {
    let (asked, plan) = reviewed(&csr(&wish()), |query| says(query.to_string() == NODE));
    assert_eq!(asked, [SELF, NODE]);
    assert_eq!(plan.to_string(), approval("nodeclient", ""));
}

/// TestRecognizers, all rows, with and without key encipherment; and those of
/// `ValidateKubeletClientCSR` that it lacks.
#[test]
fn kubelets_are_recognized_as_upstream() {
    let both: &[&str] = &[SELF, NODE];
    let other: &[&str] = &[NODE];
    let rows = [
        ("good", wish(), both),
        ("cn is mike", Wish { common_name: "mike", ..wish() }, &[]),
        ("no organization", Wish { organizations: vec![], ..wish() }, &[]),
        ("system:master", Wish { organizations: vec!["system:master"], ..wish() }, &[]),
        ("a wrong signer", Wish { signer: "example.com/not-correct", ..wish() }, &[]),
        ("kubelet-serving", Wish { signer: "kubernetes.io/kubelet-serving", ..wish() }, &[]),
        ("requestor is joe", Wish { requestor: "joe", ..wish() }, other),
        ("cn is another node", Wish { common_name: "system:node:bar", ..wish() }, other),
        (
            "a second organization",
            Wish { organizations: vec!["system:nodes", "system:masters"], ..wish() },
            &[],
        ),
        ("a DNS name", Wish { alternatives: vec![(0x82, "a.b")], ..wish() }, &[]),
        ("an email", Wish { alternatives: vec![(0x81, "a@b")], ..wish() }, &[]),
        ("an address", Wish { alternatives: vec![(0x87, "abcd")], ..wish() }, &[]),
        ("a URI", Wish { alternatives: vec![(0x86, "a://b")], ..wish() }, &[]),
        ("another kind of name", Wish { alternatives: vec![(0x88, "abcd")], ..wish() }, both),
    ];
    for (name, wish, expected) in rows {
        for usages in [3, 2] {
            let skipped = 3 - usages;
            let short = Wish {
                usages: wish.usages.iter().skip(skipped).copied().collect(),
                ..wish.clone()
            };
            let (asked, plan) = reviewed(&csr(&short), |_| says(false));
            assert_eq!(asked, expected, "{name}, {usages} usages: {plan}");
            let server = Wish { usages: [&*short.usages, &["server auth"]].concat(), ..short };
            let (asked, plan) = reviewed(&csr(&server), |_| panic!("{name}: server auth"));
            assert!(asked.is_empty() && plan.is_rest() && plan.error.is_none(), "{name}: {plan}");
        }
    }
}

/// Go passes over attributes of a subject that are no texts, so the API server admits them. The
/// author of such a request knows what it says.
#[test]
fn what_is_for_another_signer_need_not_be_read() {
    // A number as common name.
    let odd = "MIGVMEkCAQAwFjEUMAgGA1UEAwIBBTAIBgNVBAoMAW8wKjAFBgMrZXADIQBd958ggETkVjeJnzfR\
               d8V05lIGLBd5SMnGX5jqZZdb0KAAMAUGAytlcANBAN2uWrpiW7x0yDpzmj3KTWmkroQKZ7nJpe+c\
               bp2IYGIR/6oFy2RguDrUIr3bFXXKRvW/eCLCNkgOZp50OV4fOQ8=";
    let odd =
        format!("-----BEGIN CERTIFICATE REQUEST-----\n{odd}\n-----END CERTIFICATE REQUEST-----\n");
    let asked = |signer| {
        let csr = csr(&Wish { signer, ..wish() });
        with(csr, json!({"spec": {"request": STANDARD.encode(&odd)}}))
    };
    let other = plan(&asked("example.com/smart-cards"), &Facts::default());
    let expected = "why: it is for another signer: other approvers decide\n";
    assert_eq!(other.to_string(), expected);
    assert!(plan(&asked(wish().signer), &Facts::default()).error.is_some());
}

/// TestController_AutoApproval of the integration tests: what the review says of the author.
#[test]
fn the_review_is_about_the_author() {
    let first = plan(&csr(&wish()), &Facts::default());
    assert_eq!(
        first.to_string(),
        format!("why: {}\nfetch {SELF}\n", SELF.split_once(": ").unwrap().1)
    );
    let [Step::Fetch(queries)] = first.steps.as_slice() else { panic!("a review: {first}") };
    let [Query::Review { body, .. }] = queries.as_slice() else { panic!("a review: {first}") };
    let expected = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": "system:node:foo", "uid": "7", "groups": ["system:nodes", "b"],
            "extra": {"k": ["v"]},
            "resourceAttributes": {
                "verb": "create", "group": "certificates.k8s.io", "version": "*",
                "resource": "certificatesigningrequests", "subresource": "selfnodeclient",
            },
        },
    });
    assert_eq!(serde_json::from_str::<Value>(&body.0).unwrap(), expected);
    assert!(!format!("{first}{first:?}").contains("system:node:foo"), "users stay unnamed");
}

/// As "approve, deny, issue: nothing is left to do" in `handle` and `syncFunc`.
#[test]
fn what_is_decided_is_left_alone() {
    let condition = |kind: &str| json!({"conditions": [{"type": kind, "status": "True"}]});
    for (name, status, expected) in [
        ("issued", json!({"certificate": "QQ=="}), "the certificate is there"),
        ("approved", condition("Approved"), "it is approved"),
        ("denied", condition("Denied"), "it is denied"),
        (
            "approved, whatever it says",
            json!({"conditions": [{"type": "Approved",
            "status": "False"}]}),
            "it is approved",
        ),
    ] {
        let settled = with(csr(&wish()), json!({ "status": status }));
        // Not even what it asks for is read.
        let settled = with(settled, json!({"spec": {"request": "AAAA"}}));
        let plan = plan(&settled, &Facts::default());
        assert_eq!(plan.to_string(), format!("why: {expected}\n"), "{name}");
    }
    // One that failed is still undecided, as upstream.
    let failed = with(csr(&wish()), json!({"status": condition("Failed")}));
    let (_, plan) = reviewed(&failed, |_| says(true));
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("approved: {plan}") };
    let [Action::Write(update)] = actions.as_slice() else { panic!("approved: {plan}") };
    let (_, edits) = update.edited().unwrap();
    let kinds: Vec<_> = edits[0].value.as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert_eq!(kinds, ["Failed", "Approved"]);
}

/// No response, and none that allows, is a permission.
#[test]
fn a_review_that_does_not_say_yes_approves_nothing() {
    let json = |value: Value| Answer::Json(Arc::new(value));
    let failed = "why: the review failed\nerror: timeout\n";
    for (name, answer, expected) in [
        ("no response", Answer::Failed("timeout".into()), Some(failed)),
        ("not served", Answer::NotFound, None),
        ("an empty object", json(json!({})), None),
        ("no object", json(json!([true])), None),
        ("a word", json(json!({"status": {"allowed": "true"}})), None),
        ("an error beside it", json(json!({"status": {"evaluationError": "e"}})), None),
    ] {
        let (_, plan) = reviewed(&csr(&wish()), |_| answer.clone());
        assert!(plan.is_rest() && plan.error.is_some(), "{name}: {plan}");
        if let Some(expected) = expected {
            assert_eq!(plan.to_string(), expected, "{name}");
        }
    }
}

#[test]
fn an_unreadable_request_is_reported() {
    let broken = with(csr(&wish()), json!({"spec": {"request": STANDARD.encode("nothing")}}));
    assert_eq!(
        plan(&broken, &Facts::default()).to_string(),
        "why: the request cannot be read\nerror: unable to parse csr \"csr-1\": there must be a \
         PEM block\n"
    );
    let fixture = Fixture::default().holding_unreadable::<Csr>(&csr(&wish()), "spec: no");
    let snapshot = Controller.observe(&Key::new("", "csr-1"), &fixture.view(), &()).unwrap();
    let (plan, ()) = Controller.decide(&snapshot, &Facts::default());
    assert_eq!(plan.to_string(), "why: the object cannot be read: spec: no\n");
}

/// TestCertificateController: each change enqueues its own key; a deleted request is looked at once
/// more.
#[test]
fn changes_enqueue_their_own_key() {
    let object = decode::<Csr>(&csr(&wish()));
    let changes = [
        (Change::Added(Arc::clone(&object)), "now csr-1\n"),
        (Change::Updated { old: Arc::clone(&object), new: Arc::clone(&object) }, "now csr-1\n"),
        (Change::Deleted(Arc::clone(&object)), "forget csr-1\n"),
    ];
    for (change, expected) in changes {
        assert_eq!(enqueued(&Controller, &change, &Fixture::default()), expected);
    }
    let fixture = Fixture::default().holding::<Csr>(&[]);
    assert!(Controller.observe(&Key::new("", "csr-1"), &fixture.view(), &()).is_none());
}

/// What `explain` shows of a kubelet that waits; no names, since its reader may not be allowed to
/// get the request itself.
#[test]
fn a_summary_shows_the_request_and_names_no_user() {
    let fixture = Fixture::default().holding::<Csr>(&[csr(&wish())]);
    let snapshot = Controller.observe(&Key::new("", "csr-1"), &fixture.view(), &()).unwrap();
    let summary = Controller.summary(&snapshot).into_iter();
    let lines: Vec<_> = summary.map(|(name, value)| format!("{name}: {value}")).collect();
    let expected = [
        "signer: kubernetes.io/kube-apiserver-client-kubelet",
        "usages: client auth, digital signature, key encipherment",
        "conditions: none",
        "requested by: the node that it is for",
    ];
    assert_eq!(lines, expected);
}
