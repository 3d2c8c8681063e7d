//! Tables, mirroring upstream's `signer_test.go`, `authority_test.go` and `policies_test.go` in
//! `pkg/controller/certificates`. `testdata/certificates.txt` is what upstream makes of requests:
//! `tests/cluster/kube/certificates` prints it, and says how it reads.

use std::collections::BTreeMap;

use api::{CertificateSigningRequest as Csr, Codec, Object as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use controller::fixture::{Fixture, decode, enqueued, status, with};
use controller::{Action, Change, Controller as _, Step};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const CORPUS: &str = include_str!("../../testdata/certificates.txt");
const YEAR: Duration = Duration::from_hours(8760);
const CLIENT: [&str; 2] = ["digital signature", "client auth"];
/// Requests that Go's parser reads by passing over something.
const REFUSED: [&str; 2] = ["number-as-name", "behind-a-broken-block"];

/// A request of [`CORPUS`].
struct Sample {
    name: &'static str,
    /// `spec.request`.
    text: &'static str,
    /// What upstream makes of it.
    lines: Vec<&'static str>,
}

/// An authority that signs with what it is given.
struct Fake {
    issuer: Result<Arc<Issuer>, String>,
}

struct FakeSigner {
    proof: Result<(), String>,
    serial: [u8; 16],
    signature: Vec<u8>,
}

impl Authority for Fake {
    fn issuer(&self) -> Result<Arc<Issuer>, String> {
        self.issuer.clone()
    }
}

impl Signer for FakeSigner {
    fn verify(&self, _: &CertificateRequest) -> Result<(), String> {
        self.proof.clone()
    }

    fn serial(&self, _: &[u8]) -> [u8; 16] {
        self.serial
    }

    fn sign(&self, _: &[u8]) -> Result<Vec<u8>, String> {
        if self.signature.is_empty() { Err("no".to_owned()) } else { Ok(self.signature.clone()) }
    }
}

fn samples() -> Vec<Sample> {
    let mut samples: Vec<Sample> = Vec::new();
    for line in CORPUS.lines() {
        if let Some(request) = line.strip_prefix("request ") {
            let (name, text) = request.split_once(' ').unwrap();
            samples.push(Sample { name, text, lines: Vec::new() });
        } else if let Some(sample) = samples.last_mut() {
            sample.lines.push(line);
        }
    }
    samples
}

fn sample(name: &str) -> &'static str {
    samples().iter().find(|sample| sample.name == name).unwrap().text
}

fn signer(proof: Result<(), String>) -> FakeSigner {
    FakeSigner { proof, serial: [1; 16], signature: vec![7] }
}

/// The authority of the corpus with this name.
fn issuer(name: &str, signer: FakeSigner) -> Issuer {
    let line = CORPUS.lines().find_map(|line| line.strip_prefix(&format!("issuer {name} ")));
    let parts: Vec<_> = line.unwrap().split(' ').collect();
    let [subject, key_id, end, algorithm] = parts[..] else { panic!("{parts:?}") };
    let bytes = |text: &str| STANDARD.decode(text).unwrap().into();
    Issuer {
        subject: bytes(subject),
        key_id: bytes(&key_id[1..]),
        not_after: Time::from_unix(end.parse().unwrap(), 0),
        algorithm: bytes(algorithm),
        signer: Arc::new(signer),
    }
}

/// A controller all of whose signers have this authority.
fn controller(issuer: Result<Issuer, String>) -> Controller {
    let issuer = issuer.map(Arc::new);
    let authority = |profile| {
        let fake: Arc<dyn Authority> = Arc::new(Fake { issuer: issuer.clone() });
        (profile, fake)
    };
    let authorities = BTreeMap::from(Profile::ALL.map(authority));
    Controller { authorities, duration_max: YEAR }
}

fn usual() -> Controller {
    controller(Ok(issuer("p256", signer(Ok(())))))
}

/// An approved request. As upstream's `makeTestCSR`.
fn csr(profile: Profile, request: &str, usages: &[&str]) -> Value {
    json!({
        "metadata": {"name": "csr-1", "uid": "u1", "resourceVersion": "5"},
        "spec": {"request": request, "signerName": profile.signer_name(), "usages": usages},
        "status": {"conditions": [{"type": "Approved", "status": "True"}]},
    })
}

fn plan(controller: &Controller, csr: &Value, now: Option<Time>) -> Plan {
    let fixture = Fixture::default().holding::<Csr>(std::slice::from_ref(csr));
    let mut snapshot = controller.observe(&Key::new("", "csr-1"), &fixture.view(), &()).unwrap();
    snapshot.now = now.unwrap_or(snapshot.now);
    controller.decide(&snapshot, &Facts::default()).0
}

/// The status that a plan writes.
fn written(plan: &Plan) -> Option<serde_json::Map<String, Value>> {
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { return None };
    let [Action::Write(write)] = actions.as_slice() else { panic!("one write: {plan}") };
    assert_eq!(write.subresource, Some("status"));
    Some(status(write))
}

/// The certificate that a plan writes, DER.
fn issued(plan: &Plan) -> Option<Vec<u8>> {
    written(plan)?.get("certificate").map(der_of)
}

fn der_of(certificate: &Value) -> Vec<u8> {
    let pem = STANDARD.decode(certificate.as_str().unwrap()).unwrap();
    let pem = String::from_utf8(pem).unwrap();
    let body = pem.strip_prefix("-----BEGIN CERTIFICATE-----\n").unwrap();
    let body = body.strip_suffix("-----END CERTIFICATE-----\n").unwrap();
    assert!(body.lines().all(|line| line.len() <= 64) && body.ends_with('\n'), "{pem}");
    STANDARD.decode(body.replace('\n', "")).unwrap()
}

/// The content of the DER element at the start, and what follows it.
fn element(der: &[u8]) -> (&[u8], &[u8]) {
    let (long, start) = match der[1] {
        short @ ..0x80 => (usize::from(short), 2),
        octets => {
            let end = 2 + usize::from(octets - 0x80);
            (der[2..end].iter().fold(0, |sum, it| sum * 256 + usize::from(*it)), end)
        }
    };
    der[start..].split_at(long)
}

/// What is random in a certificate: the serial number and the signature.
fn random(der: &[u8]) -> ([u8; 16], Vec<u8>) {
    let (content, _) = element(der);
    let (inner, rest) = element(content);
    let (_, rest_of_inner) = element(inner);
    let (serial, _) = element(rest_of_inner);
    let mut number = [0; 16];
    let serial = serial.strip_prefix(&[0]).unwrap_or(serial);
    number[16 - serial.len()..].copy_from_slice(serial);
    let (_, rest) = element(rest);
    (number, element(rest).0[1..].to_vec())
}

/// TestSigner, TestCertificateAuthority and TestKeyUsagesFromStrings: octet by octet the
/// certificates of upstream, and its errors.
#[test]
fn certificates_are_upstreams() {
    let (mut same, mut refused) = (0, Vec::new());
    for Sample { name, text, lines } in samples() {
        for line in lines {
            let Some(case) = line.strip_prefix("case ") else { continue };
            let parts: Vec<_> = case.splitn(5, ' ').collect();
            let [of, usages, seconds, now, expected] = parts[..] else { panic!("{case}") };
            let usages = usages.replace('_', " ");
            let mut csr = csr(Profile::LegacyUnknown, text, &usages.split(',').collect::<Vec<_>>());
            if let Ok(seconds) = seconds.parse::<i32>() {
                csr["spec"]["expirationSeconds"] = json!(seconds);
            }
            let now = Time::from_unix(now.parse().unwrap(), 123_456_789);
            // Moments around the end of an authority are whole seconds.
            let now = if of == "ed25519" { now.whole_seconds() } else { now };
            let expected = match expected.strip_prefix('"') {
                Some(error) => Err(error.strip_suffix('"').unwrap().replace('\\', "")),
                None => Ok(STANDARD.decode(expected).unwrap()),
            };
            let (serial, signature) =
                expected.as_ref().map_or(([1; 16], vec![7]), |certificate| random(certificate));
            let signer = FakeSigner { proof: Ok(()), serial, signature };
            let plan = plan(&controller(Ok(issuer(of, signer))), &csr, Some(now));
            if REFUSED.contains(&name) {
                assert!(plan.error.as_ref().unwrap().starts_with("unable to parse csr"), "{plan}");
                refused.push(name);
                continue;
            }
            let error =
                plan.error.as_ref().map(|error| error.replace("error auto signing csr: ", ""));
            assert_eq!(error.as_ref(), expected.as_ref().err(), "{name} {case}");
            assert_eq!(issued(&plan), expected.ok(), "{name} {case}");
            same += 1;
        }
    }
    refused.dedup();
    assert!(same > 80, "{same}");
    assert_eq!(refused, REFUSED);
}

/// `handle`: what cannot be read, and what its author has no key for, is tried again.
#[test]
fn what_upstream_refuses_is_refused() {
    for Sample { name, text, lines } in samples() {
        let csr = csr(Profile::LegacyUnknown, text, &CLIENT);
        if lines.iter().any(|line| line.starts_with("unreadable")) {
            let plan = plan(&usual(), &csr, None);
            let error = plan.error.as_deref().unwrap_or_default();
            assert!(error.starts_with("unable to parse csr \"csr-1\": "), "{name}: {plan}");
            assert_eq!(issued(&plan), None, "{name}");
        }
        if lines.iter().any(|line| line.starts_with("unproven")) {
            let forged = controller(Ok(issuer("p256", signer(Err("forged".to_owned())))));
            let plan = plan(&forged, &csr, None);
            let error = "error auto signing csr: unable to verify certificate request signature: \
                         forged";
            assert_eq!(plan.error.as_deref(), Some(error), "{name}: {plan}");
            assert_eq!(issued(&plan), None, "{name}");
        }
    }
}

/// TestHandle, all rows.
#[test]
fn requests_are_handled_as_upstream() {
    use Profile::{ApiServerClient, KubeletClient, KubeletServing, LegacyUnknown};
    let (client, serving, other) =
        (sample("kubelet-client"), sample("kubelet-serving"), sample("every-attribute"));
    let all = ["client auth", "digital signature", "key encipherment"];
    let server = ["server auth", "digital signature", "key encipherment"];
    let both = ["server auth", "client auth", "digital signature", "key encipherment"];
    let invalid = Some("invalid usage for client certificate: server auth");
    let missing = Some("missing required usage for client certificate: client auth");
    let rows: [(Profile, &str, &[&str], Option<&str>); 17] = [
        (ApiServerClient, other, &all, None),
        (ApiServerClient, other, &all[..2], None),
        (ApiServerClient, other, &all[..1], None),
        (ApiServerClient, other, &both, invalid),
        (
            ApiServerClient,
            other,
            &["cert sign", "server auth"],
            Some("invalid usage for client certificate: cert sign"),
        ),
        (ApiServerClient, other, &all[1..], missing),
        (ApiServerClient, other, &[], missing),
        (KubeletClient, client, &all, None),
        (KubeletClient, client, &all[..2], None),
        (KubeletClient, other, &all, Some("subject organization is not system:nodes")),
        (KubeletClient, serving, &all, Some("DNS subjectAltNames are not allowed")),
        (KubeletServing, serving, &server, None),
        (KubeletServing, serving, &server[..2], None),
        (KubeletServing, client, &server, Some("DNS or IP subjectAltName is required")),
        (
            KubeletServing,
            serving,
            &all,
            Some("usages did not match [digital signature key encipherment server auth]"),
        ),
        (LegacyUnknown, other, &["any"], None),
        (LegacyUnknown, other, &[], None),
    ];
    for (profile, request, usages, expected) in rows {
        let plan = plan(&usual(), &csr(profile, request, usages), Some(Time::EPOCH));
        assert_eq!(plan.error, None, "{profile:?}: {plan}");
        assert_eq!(issued(&plan).is_some(), expected.is_none(), "{profile:?} {usages:?}: {plan}");
        let Some(message) = expected else { continue };
        let conditions = json!([
            {"type": "Approved", "status": "True"},
            {"type": "Failed", "status": "True", "reason": "SignerValidationFailure",
                "message": message, "lastUpdateTime": "1970-01-01T00:00:00Z"},
        ]);
        assert_eq!(written(&plan).unwrap()["conditions"], conditions, "{profile:?} {usages:?}");
    }
}

/// TestHandle: "should do nothing if …".
#[test]
fn what_is_settled_or_for_others_is_left_alone() {
    let good = csr(Profile::KubeletClient, sample("kubelet-client"), &CLIENT);
    let conditions = |conditions: Value| json!({"status": {"conditions": conditions}});
    let approved = json!({"type": "Approved", "status": "True"});
    for (name, patch, expected) in [
        ("issued", json!({"status": {"certificate": "QQ=="}}), "the certificate is there"),
        ("not approved", conditions(json!([])), "it is not approved"),
        ("denied", conditions(json!([{"type": "Denied"}])), "it is denied"),
        ("denied too", conditions(json!([approved, {"type": "Denied"}])), "it is denied"),
        ("failed", conditions(json!([approved, {"type": "Failed"}])), "it has failed"),
        (
            "an unrecognised signer",
            json!({"spec": {"signerName": "kubernetes.io/not-recognised"}}),
            "it is for another signer",
        ),
        (
            "another signer",
            json!({"spec": {"signerName": "example.com/sample-name"}}),
            "it is for another signer",
        ),
    ] {
        // What it asks for is not even read.
        let csr = with(with(good.clone(), patch), json!({"spec": {"request": "AAAA"}}));
        let plan = plan(&usual(), &csr, None);
        assert_eq!(plan.to_string(), format!("why: {expected}\n"), "{name}");
    }
    // Upstream signs whatever the status of the approval is, and what has not failed.
    for approval in [json!({"type": "Approved"}), json!({"type": "Approved", "status": "False"})] {
        let failed = json!({"type": "Failed", "status": "False"});
        let csr = with(good.clone(), conditions(json!([approval, failed])));
        assert!(issued(&plan(&usual(), &csr, None)).is_some(), "{csr}");
    }
    // Files for other signers alone.
    let mut some = usual();
    some.authorities.remove(&Profile::KubeletClient);
    assert_eq!(plan(&some, &good, None).to_string(), "why: it is for another signer\n");
}

/// Test_signer_duration, all rows.
#[test]
fn durations_are_upstreams() {
    let (hour, minute) = (Duration::from_hours(1), Duration::from_mins(1));
    for (asked, expected) in [
        (Some(30 * 60), 30 * minute),
        (Some(3 * 3600), hour),
        (Some(-60), 10 * minute),
        (Some(599), 10 * minute),
        (Some(600), 10 * minute),
        (Some(3600), hour),
        (None, hour),
        (Some(i32::MAX), hour),
        (Some(i32::MIN), 10 * minute),
    ] {
        assert_eq!(certificate::duration(asked, hour), expected, "{asked:?}");
    }
    // The flag has the last word.
    assert_eq!(certificate::duration(Some(600), minute), minute);
    assert_eq!(certificate::duration(None, Duration::ZERO), Duration::ZERO);
}

#[test]
fn an_authority_that_is_not_there_is_an_error() {
    let csr = csr(Profile::KubeletClient, sample("kubelet-client"), &CLIENT);
    let absent = controller(Err("expected 1 certificate, found 2".to_owned()));
    let found = plan(&absent, &csr, None);
    let expected = "why: it cannot be signed\nerror: error auto signing csr: expected 1 \
                    certificate, found 2\n";
    assert_eq!(found.to_string(), expected);
    let broken = FakeSigner { signature: vec![], ..signer(Ok(())) };
    let found = plan(&controller(Ok(issuer("p256", broken))), &csr, None);
    let expected = "error auto signing csr: failed to sign certificate: no";
    assert_eq!(found.error.as_deref(), Some(expected));
    // That it is refused is known without one.
    let refused = with(csr, json!({"spec": {"usages": ["any"]}}));
    assert!(written(&plan(&absent, &refused, None)).is_some());
}

/// TestCertificateController: each change enqueues its own key.
#[test]
fn changes_enqueue_their_own_key() {
    let object = decode::<Csr>(&csr(Profile::KubeletClient, "", &CLIENT));
    let changes = [
        (Change::Added(Arc::clone(&object)), "now csr-1\n"),
        (Change::Updated { old: Arc::clone(&object), new: Arc::clone(&object) }, "now csr-1\n"),
        (Change::Deleted(Arc::clone(&object)), "forget csr-1\n"),
    ];
    for (change, expected) in changes {
        assert_eq!(enqueued(&usual(), &change, &Fixture::default()), expected);
    }
    let fixture =
        Fixture::default().holding_unreadable::<Csr>(&csr(Profile::KubeletClient, "", &[]), "no");
    let snapshot = usual().observe(&Key::new("", "csr-1"), &fixture.view(), &()).unwrap();
    let (plan, ()) = usual().decide(&snapshot, &Facts::default());
    assert_eq!(plan.to_string(), "why: the object cannot be read: no\n");
}

#[test]
fn a_summary_shows_what_would_be_signed() {
    let shown = |csr: &Value| {
        let fixture = Fixture::default().holding::<Csr>(std::slice::from_ref(csr));
        let snapshot = usual().observe(&Key::new("", "csr-1"), &fixture.view(), &()).unwrap();
        let summary = usual().summary(&snapshot).into_iter();
        summary.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
    };
    let csr = csr(Profile::KubeletClient, sample("kubelet-client"), &CLIENT);
    let first = [
        "signer: kubernetes.io/kube-apiserver-client-kubelet",
        "usages: digital signature, client auth",
        "conditions: Approved",
    ];
    let rest = ["valid for: 700 seconds", "authority: valid until 2262-04-11T23:47:16Z"];
    let asks = with(csr.clone(), json!({"spec": {"expirationSeconds": 700}}));
    assert_eq!(shown(&asks), [&first[..], &rest[..]].concat());
    assert_eq!(shown(&with(csr, json!({"status": {"certificate": "QQ=="}}))), first);
}

/// A request with a megabyte of names.
fn large() -> Vec<u8> {
    use der::{bits, element, nest, number, tag};
    let names = (0..60_000).map(|at| element(tag::context(2), format!("{at:017}").as_bytes()));
    let value = element(tag::OCTET_STRING, &nest(tag::SEQUENCE, names));
    let extension = [element(tag::OBJECT_IDENTIFIER, &[0x55, 0x1d, 17]), value].concat();
    let extensions = element(tag::SEQUENCE, &element(tag::SEQUENCE, &extension));
    let kind = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14];
    let kind = element(tag::OBJECT_IDENTIFIER, kind);
    let attribute = nest(tag::SEQUENCE, [kind, element(tag::SET, &extensions)]);
    let nothing = element(tag::SEQUENCE, &[]);
    let attributes = element(tag::wrapper(0), &attribute);
    let info = nest(tag::SEQUENCE, [number(&[0]), nothing.clone(), nothing.clone(), attributes]);
    nest(tag::SEQUENCE, [info, nothing, bits(&[1])])
}

fn armored(der: &[u8]) -> String {
    let label = "CERTIFICATE REQUEST-----";
    STANDARD.encode(format!("-----BEGIN {label}\n{}\n-----END {label}\n", STANDARD.encode(der)))
}

/// What a request costs grows with it, and no faster.
#[test]
fn a_large_request_costs_no_more_than_its_size() {
    let request = large();
    assert!(request.len() > 1_000_000);
    let found = plan(&usual(), &csr(Profile::LegacyUnknown, &armored(&request), &[]), None);
    let certificate = issued(&found).unwrap();
    assert!(certificate.len() < request.len() + 1000, "{}", certificate.len());
    // A length that lies is no reason to reserve memory.
    for lie in [&[0x30, 0x84, 0x7f, 0xff, 0xff, 0xff][..], &[0x30, 0x88, 1, 0, 0, 0, 0, 0, 0, 0]] {
        let found = plan(&usual(), &csr(Profile::LegacyUnknown, &armored(lie), &[]), None);
        assert!(found.error.is_some(), "{found}");
    }
}

/// Steps of a generator of numbers: the same ones in each run.
struct Dice(u64);

// === impl Dice ===

impl Dice {
    /// As xorshift.
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    /// One change or two to some bytes.
    fn changed(&mut self, bytes: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=self.below(2) {
            let (at, end) = (self.below(bytes.len()), self.below(bytes.len() + 1));
            let (from, to) = (at.min(end), at.max(end));
            match self.below(8) {
                0 => bytes.iter_mut().skip(at).take(1).for_each(|it| *it ^= 1 << (end % 8)),
                // Lengths, tags and ends of octets.
                1 => {
                    let odd = [0, 1, 0x1f, 0x30, 0x7f, 0x80, 0x81, 0x84, 0x88, 0xa0, 0xff];
                    let odd = odd[self.below(odd.len())];
                    bytes.iter_mut().skip(at).take(1).for_each(|it| *it = odd);
                }
                2 => drop(bytes.drain(from..to.min(from + 16))),
                3 => bytes.truncate(to),
                4 => bytes.insert(from, u8::try_from(end % 256).unwrap()),
                5 => {
                    let again = bytes[from..to].to_vec();
                    bytes.splice(from..from, again);
                }
                6 => {
                    let (one, two) = (self.below(other.len()), self.below(other.len()));
                    let part = other[one.min(two)..one.max(two)].to_vec();
                    bytes.splice(from..to, part);
                }
                _ => bytes.splice(from..from, [0x30, 0x80].repeat(end % 64)).for_each(drop),
            }
        }
        bytes
    }
}

/// The fuzz target: six thousand requests made of those of the corpus, changed in their DER, in
/// their PEM or in their base64. None makes a signer panic or costs more than its size, and each
/// gets the same plan when it is looked at again.
#[test]
fn six_thousand_odd_requests_are_survived() {
    let (mut dice, samples, controller) = (Dice(0x9e37_79b9_7f4a_7c15), samples(), usual());
    let pem = |sample: &Sample| STANDARD.decode(sample.text).unwrap();
    let (mut signed, mut refused, mut failed) = (0, 0, 0);
    for number in 0..6_000 {
        let [one, two] = [0; 2].map(|_: i32| pem(&samples[dice.below(samples.len())]));
        let body = |pem: &[u8]| {
            let text = String::from_utf8_lossy(pem).into_owned();
            let lines = text.lines().filter(|line| !line.contains(['-', ':', ' ']));
            STANDARD.decode(lines.collect::<String>()).unwrap_or_default()
        };
        let request = match number % 4 {
            0 | 1 => armored(&dice.changed(&body(&one), &body(&two))),
            2 => STANDARD.encode(dice.changed(&one, &two)),
            _ => {
                let text = dice.changed(STANDARD.encode(&one).as_bytes(), &two);
                String::from_utf8_lossy(&text).into_owned()
            }
        };
        let profile = Profile::ALL[dice.below(Profile::ALL.len())];
        let usages: &[&str] =
            if profile == Profile::KubeletServing { &["server auth"] } else { &CLIENT };
        let csr = csr(profile, &request, usages);
        // What is no base64 is no object: the cache keeps it as one that cannot be read.
        if Csr::decode(Codec::Json, csr.to_string().as_bytes()).is_err() {
            continue;
        }
        let found = plan(&controller, &csr, Some(Time::EPOCH));
        if number % 16 == 0 {
            let again = plan(&controller, &csr, Some(Time::EPOCH));
            assert_eq!(found.to_string(), again.to_string(), "{request}");
        }
        match issued(&found) {
            Some(certificate) => {
                assert!(certificate.len() < request.len() + 500, "{request}");
                signed += 1;
            }
            None if found.error.is_some() => refused += 1,
            None => failed += 1,
        }
    }
    assert!(signed > 100 && refused > 4_000 && failed > 50, "{signed} {refused} {failed}");
}

proptest! {
    /// No request makes a signer panic, and none gets more than it has asked for.
    #[test]
    fn any_request_is_survived(
        sample in 0..40_usize,
        cuts in (0..400_usize, 0..400_usize),
        bytes in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let texts = samples();
        let text = texts[sample % texts.len()].text;
        let pem = String::from_utf8(STANDARD.decode(text).unwrap()).unwrap();
        let body = pem.lines().filter(|line| !line.contains("---")).collect::<String>();
        let der = STANDARD.decode(body).unwrap_or_default();
        let (from, to) = (cuts.0.min(der.len()), cuts.1.min(der.len()));
        let (from, to) = (from.min(to), from.max(to));
        let spliced = [&der[..from], &bytes, &der[to..]].concat();
        for request in [armored(&spliced), armored(&bytes), STANDARD.encode(&bytes)] {
            let found = plan(&usual(), &csr(Profile::LegacyUnknown, &request, &CLIENT), None);
            if let Some(certificate) = issued(&found) {
                prop_assert!(certificate.len() < spliced.len() + 500);
            }
        }
    }
}
