//! Bootstrap tokens, what they sign, and how long certificates last.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::NOON;
use crate::go::parse_rfc3339;
use crate::*;

fn token(name: &str, data: &[(&str, &[u8])]) -> BootstrapToken {
    let data: serde_json::Map<_, _> = data
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(BASE64_STANDARD.encode(value))))
        .collect();
    let json = json!({"metadata": {"name": name, "namespace": "kube-system"}, "data": data});
    BootstrapToken::decode(Codec::Json, json.to_string().as_bytes()).unwrap()
}

#[test]
fn a_bootstrap_token_is_read() {
    let found = token(
        "bootstrap-token-abc123",
        &[
            ("token-id", b"abc123"),
            ("token-secret", b"\xff0123"),
            ("usage-bootstrap-signing", b"true"),
            ("expiration", b"2024-05-01T12:00:00Z"),
        ],
    );
    assert_eq!(found.id.as_deref(), Some("abc123"));
    assert_eq!(&*found.secret.0, b"\xff0123");
    assert!(found.signs);
    assert_eq!(found.expiration, Expiration::At(Time::parse(NOON).unwrap()));
    assert!(!format!("{found:?}").contains("0123\""), "no secret in what is printed: {found:?}");
    assert!(format!("{found:?}").contains("secret: …"));

    // `TestParseName`, `TestMismatchSecretName`, `TestBadSecretName`.
    for (name, id) in [
        ("bootstrap-token-abc12", "abc12"),
        ("bootstrap-token-abc1234", "abc1234"),
        ("bootstrap-token-ABC123", "ABC123"),
        ("bootstrap-token-abc12\n", "abc12\n"),
        ("abc123", "abc123"),
        ("bootstrap-token-abc123", "def456"),
        ("bootstrap-token-abc123", ""),
    ] {
        assert_eq!(token(name, &[("token-id", id.as_bytes())]).id, None, "{name:?} {id:?}");
    }
    let bare = token("bootstrap-token-abc123", &[("usage-bootstrap-signing", b"True")]);
    assert!(!bare.signs && bare.secret.0.is_empty());
    assert_eq!(bare.expiration, Expiration::Never);
    let garbage = token("bootstrap-token-abc123", &[("expiration", b"garbage")]);
    assert_eq!(garbage.expiration, Expiration::Unparsable);
    assert!(garbage.has_expired(Time::EPOCH));

    let error = DecodeError("no".to_owned());
    let unreadable = BootstrapToken::unreadable(found.meta, &error);
    assert!(unreadable.unreadable && !unreadable.signs);
    assert_eq!(unreadable.id.as_deref(), Some("abc123"));
    assert!(!unreadable.has_expired(Time::parse(NOON).unwrap()));
}

#[test]
fn the_cluster_info_is_read_and_kept() {
    let json = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "cluster-info", "namespace": "kube-public"},
        "data": {"kubeconfig": "payload", "jws-kubeconfig-abc123": "a..b", "other": "x"}});
    let found = ClusterInfo::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
    assert_eq!(found.kubeconfig.as_deref(), Some("payload"));
    let signatures: Vec<_> = found.signatures.iter().map(|(id, it)| (&**id, &**it)).collect();
    assert_eq!(signatures, [("abc123", "a..b")]);
    let body = found.raw.edited(&ClusterInfo::RESOURCE, &[]).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), json);
    let bare = ClusterInfo::decode(Codec::Json, br#"{"metadata":{},"data":null}"#).unwrap();
    assert!(bare.kubeconfig.is_none() && bare.signatures.is_empty());
}

/// What Go 1.26 makes of each, by `time.Parse(time.RFC3339, …)`.
#[test]
fn times_are_read_as_go_reads_them() {
    for (text, seconds) in [
        ("1970-01-01T00:00:00Z", 0),
        ("2024-05-01T12:00:00Z", 1_714_564_800),
        ("2024-05-01T12:00:00+02:00", 1_714_557_600),
        ("2024-05-01T12:00:00-00:30", 1_714_566_600),
        ("2024-05-01T12:00:00+24:60", 1_714_564_800 - 25 * 3600),
        ("2024-05-01T2:00:00Z", 1_714_528_800),
        ("2024-02-29T00:00:00Z", 1_709_164_800),
        ("1969-12-31T23:59:59Z", -1),
        ("2000-03-01T00:00:00Z", 951_868_800),
    ] {
        let expected = Some(Time::from_unix(seconds, 0));
        assert_eq!(parse_rfc3339(text.as_bytes()), expected, "{text}");
    }
    for (text, nanos) in
        [("0.5", 500_000_000), ("0,25", 250_000_000), ("0.1234567899", 123_456_789)]
    {
        let text = format!("1970-01-01T00:00:0{text}Z");
        assert_eq!(parse_rfc3339(text.as_bytes()), Some(Time::from_unix(0, nanos)), "{text}");
    }
    for text in ["9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z"] {
        assert!(parse_rfc3339(text.as_bytes()).is_some(), "{text}");
    }
    for text in [
        "",
        "garbage",
        "2024-05-01",
        "2024-05-01T12:00Z",
        "2024-05-01 12:00:00Z",
        "2024-05-01t12:00:00Z",
        "2024-05-01T12:00:00z",
        "2024-05-01T12:00:00",
        "2024-05-01T12:00:00.Z",
        "2024-05-01T12:00:60Z",
        "2024-05-01T24:00:00Z",
        "2024-02-30T12:00:00Z",
        "2023-02-29T12:00:00Z",
        "2024-13-01T12:00:00Z",
        "2024-00-01T12:00:00Z",
        "2024-05-00T12:00:00Z",
        "2024-5-01T12:00:00Z",
        "2024-05-01T12:00:00+0200",
        "2024-05-01T12:00:00+02",
        "2024-05-01T12:00:00Z ",
        " 2024-05-01T12:00:00Z",
        "+2024-05-01T12:00:00Z",
        "12024-05-01T12:00:00Z",
        "2024-05-01T12:00:00Z[UTC]",
    ] {
        assert_eq!(parse_rfc3339(text.as_bytes()), None, "{text:?}");
    }
}

fn request(certificate: &Value) -> CertificateSigningRequest {
    let condition = json!({"type": "Approved", "status": "True", "lastUpdateTime": NOON});
    let json = json!({"metadata": {"name": "a"}, "status": {"certificate": certificate,
        "conditions": [condition, {"type": "Failed", "lastUpdateTime": null}]}});
    CertificateSigningRequest::decode(Codec::Json, json.to_string().as_bytes()).unwrap()
}

/// `isExpired` in upstream's pkg/controller/certificates/cleaner.
#[test]
fn a_certificate_says_how_long_it_lasts() {
    let pem = include_str!("../../testdata/certificate.pem");
    let end = Time::parse("2024-05-01T11:30:00Z").unwrap();
    let of = |pem: &str| request(&json!(BASE64_STANDARD.encode(pem))).not_after();
    assert_eq!(of(pem), Some(end));
    assert_eq!(of(&format!("some text\n{}", pem.replace('\n', "\r\n"))), Some(end));
    assert_eq!(of(&pem.repeat(2)), Some(end), "the first one counts");
    for broken in ["", "garbage", &pem.replace("MII", "AAA"), &pem[..80]] {
        assert_eq!(of(broken), None, "{broken}");
    }
    assert_eq!(request(&Value::Null).not_after(), None);
    assert_eq!(request(&json!("@")).not_after(), None);
    // As Go's `pem.Decode`: the API server stores any bytes around a block, and halves of blocks.
    let odd = [b"\xff text\n-----BEGIN CERTIFICATE-----\nMII\n", pem.as_bytes()].concat();
    assert_eq!(request(&json!(BASE64_STANDARD.encode(odd))).not_after(), Some(end));
    let none = "-----BEGIN NONE-----\n@\n-----END NONE-----\n";
    assert_eq!(of(&format!("{none}{pem}")), Some(end));
    assert_eq!(of(&pem.replace("CERTIFICATE-----", "CERTIFICATE")), None);

    let found = request(&Value::Null);
    let noon = Time::parse(NOON).unwrap();
    let expected = [("Approved".into(), Some(noon)), ("Failed".into(), None)];
    assert_eq!(*found.condition_updates, expected);
}

/// `ReadASN1UTCTime` and `ReadASN1GeneralizedTime` of Go's cryptobyte.
#[test]
fn the_end_of_a_certificate_is_read_as_go_reads_it() {
    fn element(tag: u8, content: &[u8]) -> Vec<u8> {
        [&[tag, u8::try_from(content.len()).unwrap()], content].concat()
    }
    let ends = |tag: u8, date: &str| {
        let validity = [element(0x17, b"200101000000Z"), element(tag, date.as_bytes())].concat();
        let number = element(0x02, &[1]);
        let empty = element(0x30, &[]);
        let content = [number, empty.clone(), empty, element(0x30, &validity)].concat();
        let der = element(0x30, &element(0x30, &content));
        let body = BASE64_STANDARD.encode(der);
        let pem = format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
        request(&json!(BASE64_STANDARD.encode(pem))).not_after().map(|time| time.to_string())
    };
    let (utc, generalized) = (0x17, 0x18);
    for (tag, date, expected) in [
        (utc, "240501113000Z", Some("2024-05-01T11:30:00Z")),
        (utc, "2405011130Z", Some("2024-05-01T11:30:00Z")),
        (utc, "240501113000+0130", Some("2024-05-01T10:00:00Z")),
        (utc, "2405011130-0100", Some("2024-05-01T12:30:00Z")),
        (utc, "500501113000Z", Some("1950-05-01T11:30:00Z")),
        (utc, "240501113000+0000", None),
        (utc, "24050111Z", None),
        (utc, "240501113000", None),
        (utc, "240501113000+1", None),
        (generalized, "20500501113000Z", Some("2050-05-01T11:30:00Z")),
        (generalized, "20500501113000+0100", Some("2050-05-01T10:30:00Z")),
        (generalized, "205005011130Z", None),
        (0x0c, "20500501113000Z", None),
    ] {
        assert_eq!(ends(tag, date).as_deref(), expected, "{date}");
    }
}

#[test]
fn of_a_request_of_a_pod_the_metadata_is_read() {
    let json = json!({"metadata": {"name": "a", "namespace": "shop", "creationTimestamp": NOON}});
    let found = PodCertificateRequest::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
    assert_eq!(found.meta.creation_timestamp, Time::parse(NOON).ok());
    const { assert!(PodCertificateRequest::METADATA_ONLY) };
}
