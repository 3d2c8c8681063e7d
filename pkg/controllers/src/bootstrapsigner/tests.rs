//! Tables, mirroring upstream's `bootstrapsigner_test.go` and `util_test.go` in
//! `pkg/controller/bootstrap`. That signatures are upstream's is shown where they are computed, in
//! the manager.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use controller::fixture::{Fixture, NOW, ago, decode, enqueued, with};
use controller::{Controller as _, Step, Tolerated};
use serde_json::{Value, json};

use super::*;

/// Shows what it is asked to sign: no such thing as a signature.
#[derive(Debug)]
struct Shown;

impl Hmac for Shown {
    fn sha256(&self, key: &[u8], message: &[u8]) -> [u8; 32] {
        let message = String::from_utf8_lossy(message).into_owned();
        let (_, content) = message.split_once('.').unwrap();
        let mut shown = [b' '; 32];
        let text = [key, b":", content.as_bytes()].concat();
        for (to, from) in shown.iter_mut().zip(text) {
            *to = from;
        }
        shown
    }
}

fn controller() -> Controller {
    Controller { hmac: Arc::new(Shown) }
}

/// The signature of `payload` by the token `abc123` with the secret `tokenSecret`.
fn signature() -> String {
    let content = BASE64_URL_SAFE_NO_PAD.encode("payload");
    let shown = format!("{:32}", format!("tokenSecret:{content}"));
    let header = "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiYzEyMyJ9";
    format!("{header}..{}", BASE64_URL_SAFE_NO_PAD.encode(shown))
}

/// As upstream's `newConfigMap`.
fn info(signatures: &[(&str, &str)]) -> Value {
    let mut data = json!({"kubeconfig": "payload", "other": "stays"});
    for (id, signature) in signatures {
        data[format!("jws-kubeconfig-{id}")] = json!(signature);
    }
    json!({"metadata": {"name": "cluster-info", "namespace": "kube-public", "uid": "uid-info",
        "resourceVersion": "1"}, "data": data})
}

/// A token with this id in its name, and this data.
fn token_of(id: &str, data: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<_, _> = data
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(BASE64_STANDARD.encode(value))))
        .collect();
    json!({"metadata": {"name": format!("bootstrap-token-{id}"), "namespace": "kube-system",
        "uid": id, "resourceVersion": "1"}, "data": data})
}

/// As upstream's `newTokenSecret` with `addSecretSigningUsage`.
fn token(expiration: &str) -> Value {
    let data = [
        ("token-id", "abc123"),
        ("token-secret", "tokenSecret"),
        ("usage-bootstrap-signing", "true"),
        ("expiration", expiration),
    ];
    token_of("abc123", &data)
}

fn caches(infos: &[Value], tokens: &[Value]) -> Fixture {
    Fixture::default().holding::<ClusterInfo>(infos).holding::<BootstrapToken>(tokens)
}

fn observe(fixture: &Fixture) -> Option<Snapshot> {
    controller().observe(&Key::new("kube-public", "cluster-info"), &fixture.view(), &())
}

fn plan(fixture: &Fixture) -> String {
    controller().decide(&observe(fixture).unwrap(), &Facts::default()).0.to_string()
}

fn update(edits: &str) -> String {
    let start = "in order: update configmaps kube-public/cluster-info";
    format!("why: signatures that are missing, wrong or stale: 1\n{start} {edits}\n")
}

/// TestNoConfigMap, TestSimpleSign, TestNoSignNeeded, TestUpdateSignature, TestRemoveSignature.
#[test]
fn the_kubeconfig_is_signed_as_upstream() {
    let signature = signature();
    let signed = update(&format!("data.jws-kubeconfig-abc123=\"{signature}\""));
    let right = "why: the signatures are right\n".to_owned();
    let old = || vec![("abc123", "old signature")];
    for (name, signatures, tokens, expected) in [
        ("TestSimpleSign", vec![], vec![token("")], signed.clone()),
        ("TestNoSignNeeded", vec![("abc123", &*signature)], vec![token("")], right.clone()),
        ("TestUpdateSignature", old(), vec![token("")], signed),
        ("TestRemoveSignature", old(), vec![], update("data.jws-kubeconfig-abc123=null")),
        // More than upstream's rows.
        ("nothing to sign with", vec![], vec![], right),
        ("an odd id", vec![("", "x")], vec![], update("data.jws-kubeconfig-=null")),
    ] {
        assert_eq!(plan(&caches(&[info(&signatures)], &tokens)), expected, "{name}");
    }
    assert!(observe(&caches(&[], &[token("")])).is_none(), "TestNoConfigMap");
    let bare = with(info(&[("abc123", "x")]), json!({"data": {"kubeconfig": null}}));
    let expected = "why: configmap kube-public/cluster-info has no key kubeconfig\n";
    assert_eq!(plan(&caches(&[bare], &[])), expected, "then nothing is removed either");
}

/// TestValidateSecretForSigning, TestBadSecretName, TestMismatchSecretName.
#[test]
fn only_good_tokens_sign() {
    let with = |key: &str, value: &str| {
        let mut data = vec![
            ("token-id", "abc123"),
            ("token-secret", "tokenSecret"),
            ("usage-bootstrap-signing", "true"),
        ];
        data.retain(|(known, _)| *known != key);
        data.push((key, value));
        token_of("abc123", &data)
    };
    for (name, token, signs) in [
        ("Signing token with no exp", token(""), true),
        ("Signing token with valid exp", token(&ago(-3600)), true),
        ("Expired signing token", token(&ago(3600)), false),
        ("Signing token with bad exp", token("garbage"), false),
        ("Signing token without signing bit", with("usage-bootstrap-signing", ""), false),
        ("Signing token with bad signing bit", with("usage-bootstrap-signing", "yes"), false),
        ("Signing token with no ID", with("token-id", ""), false),
        ("Signing token with no secret", with("token-secret", ""), false),
        ("mismatched name", with("token-id", "def456"), false),
        ("expires now", token(NOW), false),
    ] {
        let text = plan(&caches(&[info(&[])], &[token]));
        assert_eq!(text.contains("jws-kubeconfig-abc123"), signs, "{name}: {text}");
    }
}

/// Then its signature goes, and nobody has to change anything for that.
#[test]
fn it_looks_again_when_a_token_expires() {
    let text = plan(&caches(&[info(&[("abc123", &signature())])], &[token(&ago(-60))]));
    assert_eq!(text, "why: the signatures are right\nagain in 60s\n");
}

#[test]
fn what_cannot_be_read_changes_nothing() {
    let fixture = caches(&[info(&[("abc123", "old")])], &[]);
    let fixture = fixture.holding_unreadable::<BootstrapToken>(&token(""), "data: no");
    assert_eq!(plan(&fixture), "why: the signatures are right\n");
    let fixture = caches(&[], &[token("")]);
    let fixture = fixture.holding_unreadable::<ClusterInfo>(&info(&[]), "data: no");
    let expected = "why: configmap kube-public/cluster-info cannot be read: data: no\n";
    assert_eq!(plan(&fixture), expected);
}

/// Not every conflict comes with a new version, whose event would enqueue the key.
#[test]
fn a_conflict_is_tried_again() {
    let fixture = caches(&[info(&[])], &[token("")]);
    let (plan, ()) = controller().decide(&observe(&fixture).unwrap(), &Facts::default());
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    let tolerated = actions.iter().filter_map(|action| action.write()).flat_map(|it| it.tolerates);
    assert_eq!(tolerated.collect::<Vec<_>>(), [&Tolerated::Missing]);
}

/// `NewSigner`: all changes lead to the one key.
#[test]
fn changes_enqueue_the_config_map() {
    let none = caches(&[], &[]);
    let key = "kube-public/cluster-info";
    let token = decode::<BootstrapToken>(&token(""));
    for change in [Change::Added(Arc::clone(&token)), Change::Deleted(token)] {
        assert_eq!(enqueued(&controller(), &change, &none), format!("now {key}\n"));
    }
    let info = decode::<ClusterInfo>(&info(&[]));
    let added = Change::Added(Arc::clone(&info));
    assert_eq!(enqueued(&controller(), &added, &none), format!("now {key}\n"));
    let gone = Change::Deleted(info);
    assert_eq!(enqueued(&controller(), &gone, &none), format!("forget {key}\n"));
}

#[test]
fn a_summary_names_tokens_and_no_secret() {
    let fixture = caches(&[info(&[("old123", "x")])], &[token("")]);
    let facts = controller().summary(&observe(&fixture).unwrap());
    let lines: Vec<_> = facts.into_iter().map(|(name, it)| format!("{name}: {it}")).collect();
    let expected = ["has a kubeconfig: true", "tokens that sign: abc123", "signed by: old123"];
    assert_eq!(lines, expected);
}
