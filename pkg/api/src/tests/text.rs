//! Texts whose bytes are not UTF-8: the API server accepts them in protobuf where it does not
//! validate them, and writes them unchanged.

use prost::Message;

use crate::*;

/// A field of bytes.
fn field(tag: u32, bytes: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    prost::encoding::bytes::encode(tag, &bytes.to_vec(), &mut field);
    field
}

/// An object in its envelope.
fn enveloped(object: &[u8]) -> Vec<u8> {
    let envelope = wire::Unknown { raw: object.to_vec() };
    [&wire::PROTOBUF_MAGIC[..], &envelope.encode_to_vec()].concat()
}

fn pair(key: &[u8], value: &[u8]) -> Vec<u8> {
    [field(1, key), field(2, value)].concat()
}

fn metadata(name: &[u8]) -> Vec<u8> {
    let owner = [field(1, b"Job"), field(3, b"o\xff"), field(4, b"u\xfe"), field(5, b"v\xfd")];
    [
        field(1, name),
        field(3, b"shop"),
        field(5, b"uid"),
        field(6, b"12"),
        field(11, &pair(b"app", b"w\xffb")),
        field(12, &pair(b"note", b"\xc3\x28")),
        field(13, &owner.concat()),
        field(14, b"f\xff"),
    ]
    .concat()
}

#[test]
fn metadata_is_read_whatever_its_bytes() {
    let bytes = enveloped(&field(1, &metadata(b"web\xff")));
    let meta = Meta::decode(Codec::Protobuf, &bytes).unwrap();
    assert_eq!((meta.key.to_string().as_str(), &*meta.uid), ("shop/web\u{fffd}", "uid"));
    assert_eq!(meta.labels.get("app"), Some("w\u{fffd}b"));
    let owner = &meta.owners[0];
    let said = [&owner.api_version, &owner.kind, &owner.name, &owner.uid].map(|text| &**text);
    assert_eq!(said, ["v\u{fffd}", "Job", "o\u{fffd}", "u\u{fffd}"]);
    assert_eq!(&*meta.finalizers[0], "f\u{fffd}");
    let partial = Metadata::decode(Codec::Protobuf, &bytes).unwrap();
    assert_eq!(partial.meta.owners, meta.owners);
    let whole = wire::decode::<wire::MetadataOnly>(Codec::Protobuf, &bytes).unwrap();
    assert_eq!(whole.metadata.annotation("note").as_deref(), Some("\u{fffd}("));
}

/// Those parts of a pod that are for people.
#[test]
fn a_pod_is_read_whatever_is_said_in_it() {
    let env = pair(b"GREETING", b"\xff");
    let container = [field(1, b"main"), field(3, b"run \xff"), field(7, &env)].concat();
    let condition =
        [field(1, b"Ready"), field(2, b"True"), field(5, b"\xff"), field(6, b"\xff")].concat();
    let status =
        [field(1, b"Running"), field(2, &condition), field(3, b"\xff"), field(4, b"\xff")].concat();
    let pod = [field(1, &metadata(b"web")), field(2, &field(2, &container)), field(3, &status)];
    let pod = Pod::decode(Codec::Protobuf, &enveloped(&pod.concat())).unwrap();
    assert_eq!((pod.phase, pod.is_ready(), pod.evicted), (Phase::Running, true, false));
}

/// The API server only requires most names of claims and of Secrets to be non-empty.
#[test]
fn a_pod_is_read_whatever_it_refers_to() {
    let volume = |source: u32, text: &[u8]| {
        let source = field(source, &field(1, text));
        field(1, &[field(1, b"data"), field(2, &source)].concat())
    };
    let from_secret = field(4, &field(1, &field(1, b"env\xff")));
    let env = [field(1, b"A"), field(3, &from_secret)].concat();
    let container = [field(1, b"main"), field(7, &env)].concat();
    let spec = [
        volume(10, b"claim\xff"),
        volume(10, b"claim"),
        volume(6, b"secret\xff"),
        field(2, &container),
        field(15, &field(1, b"pull\xff")),
    ];
    let pod = [field(1, &metadata(b"web")), field(2, &spec.concat()), field(3, b"")];
    let pod = Pod::decode(Codec::Protobuf, &enveloped(&pod.concat())).unwrap();
    let claims: Vec<_> = pod.claims.iter().map(|(name, _)| &**name).collect();
    assert_eq!(claims, ["claim", "claim\u{fffd}"]);
    let secrets: Vec<_> = pod.secrets.iter().map(|name| &**name).collect();
    assert_eq!(secrets, ["env\u{fffd}", "pull\u{fffd}", "secret\u{fffd}"]);
}

/// Nobody checks which Secrets a service account lists.
#[test]
fn an_account_is_read_whatever_it_lists() {
    let secrets = [field(2, &field(3, b"odd\xff")), field(2, &field(3, b"token"))];
    let account = [field(1, &metadata(b"robot")), secrets.concat()].concat();
    let account = ServiceAccount::decode(Codec::Protobuf, &enveloped(&account)).unwrap();
    assert!(account.lists("token") && account.lists("odd\u{fffd}"));
}

/// Other servers may write half a character as an escape.
#[test]
fn json_is_read_with_half_characters() {
    let json = br#"{"metadata":{"name":"web","resourceVersion":"5","annotations":{"a":"\ud800x"},
        "labels":{"l":"\udc00"},"ownerReferences":[{"name":"\ud800","uid":"u"}]}}"#;
    let meta = Meta::decode(Codec::Json, json).unwrap();
    assert_eq!((&*meta.key.name, meta.resource_version), ("web", 5));
    assert!(meta.labels.get("l").is_some_and(|value| value.starts_with('\u{fffd}')));
    assert!(meta.owners[0].name.starts_with('\u{fffd}'));
}

/// The name can be read even if nothing else can.
#[test]
fn a_name_is_read_where_nothing_else_can_be() {
    let broken = [
        field(1, b"web"),
        field(3, b"shop"),
        field(6, b"none"),
        // No time at all.
        field(8, b"\xff\xff"),
    ];
    let bytes = enveloped(&field(1, &broken.concat()));
    assert!(Meta::decode(Codec::Protobuf, &bytes).is_err());
    let key = Key::decode(Codec::Protobuf, &bytes).unwrap();
    assert_eq!(key, Key::new("shop", "web"));
    let json = br#"{"metadata":{"name":"web","namespace":"shop","labels":7},"spec":[]}"#;
    assert!(Meta::decode(Codec::Json, json).is_err());
    assert_eq!(Key::decode(Codec::Json, json), Some(key));
    assert_eq!(Key::decode(Codec::Json, br#"{"metadata":{"namespace":"shop"}}"#), None);
    assert_eq!(Key::decode(Codec::Protobuf, b"no object"), None);
}
