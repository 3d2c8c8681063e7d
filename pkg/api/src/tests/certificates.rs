//! Wishes for certificates. `testdata/certificate-requests.txt` has requests that Go's crypto/x509
//! made, and what its parser reads after one octet of them was changed: `position:value`s, then
//! common name, organizations and kinds of names. Changes that it refuses are not listed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::*;

const CORPUS: &str = include_str!("../../testdata/certificate-requests.txt");
const TYPE: &str = "PEM block type must be CERTIFICATE REQUEST";
const CLIENT: [&str; 3] = ["client auth", "digital signature", "key encipherment"];
const SERVING: [&str; 3] = ["server auth", "digital signature", "key encipherment"];

/// A request of [`CORPUS`].
struct Sample {
    der: Vec<u8>,
    reads: String,
    changed: BTreeMap<(usize, u8), String>,
}

fn corpus() -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    for line in CORPUS.lines() {
        let (word, rest) = line.split_once(' ').unwrap();
        if word == "request" {
            let der = STANDARD.decode(rest).unwrap();
            samples.push(Sample { der, reads: String::new(), changed: BTreeMap::new() });
            continue;
        }
        let sample = samples.last_mut().unwrap();
        if word == "reads" {
            rest.clone_into(&mut sample.reads);
            continue;
        }
        let (changes, reads) = rest.split_once(' ').unwrap();
        for change in changes.split(',') {
            let (at, value) = change.split_once(':').unwrap();
            let change = (at.parse().unwrap(), value.parse().unwrap());
            sample.changed.insert(change, reads.to_owned());
        }
    }
    samples
}

/// As the corpus prints it.
fn shown(request: &CertificateRequest) -> String {
    let names: Vec<_> = request.subject.organizations.iter().map(go::quote).collect();
    let Alternatives { dns, emails, addresses, uris } = &request.alternatives;
    let kinds = [
        ("Dns", dns.is_empty()),
        ("Email", emails.is_empty()),
        ("Address", addresses.is_empty()),
        ("Uri", uris.is_empty()),
    ];
    let kinds = kinds.into_iter().filter(|(_, is_empty)| !is_empty).map(|(kind, _)| kind);
    let kinds: Vec<_> = kinds.collect();
    let common = go::quote(&request.subject.common_name);
    format!("{common} [{}] [{}]", names.join(" "), kinds.join(" "))
}

fn pem(der: &[u8]) -> String {
    let mut text = "-----BEGIN CERTIFICATE REQUEST-----\n".to_owned();
    for line in STANDARD.encode(der).as_bytes().chunks(64) {
        writeln!(text, "{}", std::str::from_utf8(line).unwrap()).unwrap();
    }
    text + "-----END CERTIFICATE REQUEST-----\n"
}

fn usages(usages: &[&str]) -> Vec<Text> {
    usages.iter().map(|usage| intern(usage)).collect()
}

/// Of two readers that disagree one would approve what the other does not sign. What Go refuses
/// never reaches us; what it passes over we may refuse, but that must stay rare.
#[test]
fn what_is_read_go_reads_too() {
    let (mut both, mut refused) = (0, 0);
    for Sample { der, reads, changed } in corpus() {
        assert_eq!(CertificateRequest::from_der(&der).as_ref().map(shown), Ok(reads));
        for ((at, value), expected) in changed {
            let mut der = der.clone();
            der[at] = value;
            match CertificateRequest::from_der(&der) {
                Ok(found) => {
                    assert_eq!(shown(&found), expected, "octet {at} is {value}");
                    both += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(both > 1000 && refused * 10 < both, "{both} read, {refused} refused");
}

proptest! {
    /// No bytes make the reader panic.
    #[test]
    fn any_request_is_survived(
        sample in 0..3_usize,
        cuts in (0..600_usize, 0..600_usize),
        bytes in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let der = corpus().swap_remove(sample).der;
        let (from, to) = (cuts.0.min(der.len()), cuts.1.min(der.len()));
        let (from, to) = (from.min(to), from.max(to));
        let spliced = [&der[..from], &bytes, &der[to..]].concat();
        let _ = CertificateRequest::from_der(&spliced);
        let _ = CertificateRequest::from_der(&bytes);
        let _ = CertificateRequest::from_pem(&String::from_utf8_lossy(&spliced));
    }
}

#[test]
fn a_pem_text_holds_one_request() {
    let Sample { der, reads, .. } = corpus().swap_remove(0);
    let good = pem(&der);
    for text in [
        good.clone(),
        good.trim_end().to_owned(),
        good.replace('\n', "\r\n"),
        good.replace('\n', "  \n"),
        format!("Certificate Request:\n    Data:\n{good}"),
        good.replacen('\n', "\nProc-Type: 4\n\n", 1),
        good.repeat(2),
        format!("{good}-----BEGIN"),
    ] {
        let read = CertificateRequest::from_pem(&text);
        assert_eq!(read.as_ref().map(shown).as_ref(), Ok(&reads), "{text}");
    }
    let base64 = good.lines().nth(1).unwrap();
    for (text, error) in [
        (String::new(), "there must be a PEM block"),
        (good.replace("-----END ", ""), "there must be a PEM block"),
        (good.replace("-----END ", "").repeat(2) + &good, "a PEM block begins in another one"),
        (pem(&der).replace("CERTIFICATE REQUEST", "X") + &good, TYPE),
        (good.replace("CERTIFICATE REQUEST", "CERTIFICATE"), TYPE),
        (good.replace("END CERTIFICATE REQUEST", "END CERTIFICATE"), "the PEM block does not end"),
        (format!("x{good}"), TYPE),
        (good.replace(base64, "@"), "PEM: Invalid symbol 64, offset 0."),
        (good.replace(base64, ""), "the request is not DER"),
        (pem(&[]), "the request is not DER"),
        (pem(&[der.clone(), vec![0]].concat()), "trailing data after the request"),
    ] {
        let read = CertificateRequest::from_pem(&text).unwrap_err();
        if error != "the request is not DER" {
            assert_eq!(read.0, error, "{text}");
        }
    }
}

/// `ValidateKubeletClientCSR` and `ValidateKubeletServingCSR`.
#[test]
fn a_kubelet_asks_for_certificates_in_its_own_way() {
    let nodes = || vec!["system:nodes".to_owned()];
    let of = |name: &str, organizations: Vec<String>| CertificateSubject {
        common_name: name.to_owned(),
        organizations,
        ..CertificateSubject::default()
    };
    let (text, none) = (|| vec!["a".to_owned()], Alternatives::default);
    let good = of("system:node:a", nodes());
    let organization = "subject organization is not system:nodes";
    let name = "subject common name does not begin with system:node:";
    let missing = "DNS or IP subjectAltName is required";
    let (dns, email) =
        ("DNS subjectAltNames are not allowed", "Email subjectAltNames are not allowed");
    let (ip, uri) = ("IP subjectAltNames are not allowed", "URI subjectAltNames are not allowed");
    let one = Alternatives { dns: text(), ..none() };
    let address = Alternatives { addresses: vec![Box::new([127, 0, 0, 1])], ..none() };
    let emails = Alternatives { emails: text(), ..one.clone() };
    let uris = Alternatives { uris: text(), ..one.clone() };
    for (subject, alternatives, client, serving) in [
        (good.clone(), none(), None, Some(missing)),
        (of("system:node:", nodes()), none(), None, Some(missing)),
        (of("mike", nodes()), none(), Some(name), Some(missing)),
        (of("mike", nodes()), one.clone(), Some(dns), Some(name)),
        (of("", nodes()), none(), Some(name), Some(missing)),
        (of("system:node:a", vec![]), one.clone(), Some(organization), Some(organization)),
        (
            of("system:node:a", vec!["system:master".to_owned()]),
            one.clone(),
            Some(organization),
            Some(organization),
        ),
        (
            of("system:node:a", [nodes(), nodes()].concat()),
            one.clone(),
            Some(organization),
            Some(organization),
        ),
        (good.clone(), one, Some(dns), None),
        (good.clone(), address, Some(ip), None),
        (good.clone(), Alternatives { emails: text(), ..none() }, Some(email), Some(missing)),
        (good.clone(), Alternatives { uris: text(), ..none() }, Some(uri), Some(missing)),
        (good.clone(), emails, Some(dns), Some(email)),
        (good.clone(), uris, Some(dns), Some(uri)),
    ] {
        let request = CertificateRequest { subject, alternatives, ..CertificateRequest::default() };
        for count in [2, 3] {
            let found = request.no_kubelet_client(&usages(&CLIENT[..count]));
            assert_eq!(found, client, "{request:?}");
            let found = request.no_kubelet_serving(&usages(&SERVING[..count]));
            assert_eq!(found, serving, "{request:?}");
        }
    }
    let alternatives = Alternatives { dns: text(), ..none() };
    let server =
        CertificateRequest { subject: good, alternatives, ..CertificateRequest::default() };
    let client = CertificateRequest { alternatives: none(), ..server.clone() };
    for bad in [
        vec![],
        vec!["client auth"],
        vec!["client auth", "key encipherment"],
        vec!["client auth", "digital signature", "key encipherment", "server auth"],
    ] {
        let found = client.no_kubelet_client(&usages(&bad));
        let wrong = "usages did not match [client auth digital signature key encipherment]";
        assert_eq!(found, Some(wrong), "{bad:?}");
        let found = server.no_kubelet_serving(&usages(&bad));
        let wrong = "usages did not match [digital signature key encipherment server auth]";
        assert_eq!(found, Some(wrong), "{bad:?}");
    }
}

#[test]
fn a_signing_request_is_read_and_kept() {
    let Sample { der, reads, .. } = corpus().swap_remove(0);
    let json = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": "csr-1", "uid": "u1", "resourceVersion": "4"},
        "spec": {
            "request": STANDARD.encode(pem(&der)),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"], "expirationSeconds": 700,
            "username": "system:bootstrap:abcdef", "uid": "7", "groups": ["a", "b"],
            "extra": {"k": ["v", "w"]}, "fieldOfTomorrow": 1,
        },
        "status": {"conditions": [{"type": "Approved", "status": "True"}], "certificate": "QQ=="},
    });
    let read = |json: &Value| {
        CertificateSigningRequest::decode(Codec::Json, json.to_string().as_bytes()).unwrap()
    };
    let found = read(&json);
    assert_eq!(found.meta.key, Key::new("", "csr-1"));
    assert_eq!(&*found.signer_name, "kubernetes.io/kube-apiserver-client-kubelet");
    assert_eq!(*found.usages, *usages(&["digital signature", "client auth"]));
    assert_eq!(found.expiration_seconds, Some(700));
    let requestor = Requestor {
        username: "system:bootstrap:abcdef".to_owned(),
        uid: "7".to_owned(),
        groups: vec!["a".to_owned(), "b".to_owned()],
        extra: BTreeMap::from([("k".to_owned(), vec!["v".to_owned(), "w".to_owned()])]),
    };
    assert_eq!(found.requestor, requestor);
    assert!(found.is_approved() && !found.is_denied() && found.issued && !found.failed);
    assert_eq!(found.request().as_ref().map(shown), Ok(reads));
    let body = found.raw.edited(&CertificateSigningRequest::RESOURCE, &[]).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), json);

    // An empty list from a token webhook.
    let webhook = json!({"metadata": {}, "spec": {"extra": {"k": null, "l": ["v"]}}});
    let extra = [("k".to_owned(), vec![]), ("l".to_owned(), vec!["v".to_owned()])];
    assert_eq!(read(&webhook).requestor.extra, BTreeMap::from(extra));

    let bare = read(&json!({"metadata": {"name": "x"}, "spec": {"groups": null, "extra": null},
        "status": {"conditions": [{"type": "Denied"}], "certificate": null}}));
    assert!(bare.is_denied() && !bare.is_approved() && !bare.issued);
    assert_eq!(bare.requestor, Requestor::default());
    assert_eq!(bare.request().unwrap_err().0, "there must be a PEM block");
    // `HasTrueCondition`.
    for (failed, expected) in [
        (json!({"type": "Failed"}), true),
        (json!({"type": "Failed", "status": "True"}), true),
        (json!({"type": "Failed", "status": "False"}), false),
        (json!({"type": "Other", "status": "True"}), false),
    ] {
        let found = read(&json!({"metadata": {}, "status": {"conditions": [failed]}}));
        assert_eq!(found.failed, expected, "{failed}");
    }
    for (request, error) in [
        (json!("@"), "base64: Invalid symbol 64, offset 0."),
        (json!("/w=="), "the PEM text is not UTF-8"),
        (json!(7), "invalid type: integer `7`, expected a string at line 1 column 12"),
    ] {
        let bare = read(&json!({"metadata": {}, "spec": {"request": request}}));
        assert_eq!(bare.request().unwrap_err().0, error);
    }
    let error = DecodeError("no".to_owned());
    let unreadable = CertificateSigningRequest::unreadable(found.meta, &error);
    assert_eq!(unreadable.unreadable, Some(error));
}

#[test]
fn a_trust_bundle_is_read_and_kept() {
    let json = json!({
        "apiVersion": "certificates.k8s.io/v1beta1", "kind": "ClusterTrustBundle",
        "metadata": {"name": "b", "uid": "u1", "resourceVersion": "4"},
        "spec": {"signerName": ServingTrustBundle::SIGNER, "trustBundle": "PEM", "later": 1},
    });
    let found = ServingTrustBundle::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
    assert_eq!((&*found.meta.key.name, &*found.trust_bundle), ("b", "PEM"));
    let body = found.raw.edited(&ServingTrustBundle::RESOURCE, &[]).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), json);
    let error = DecodeError("no".to_owned());
    let unreadable = ServingTrustBundle::unreadable(found.meta, &error);
    assert_eq!(unreadable.unreadable, Some(error));
}
