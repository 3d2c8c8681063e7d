//! The decoders, on bytes as the API server writes them.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{Codec, Object, Pod};
use proptest::prelude::*;
use prost::Message;
use serde_json::{Value, json};

use crate::frames::{
    EventKind, FrameError, ListDecoder, Mark, OBJECT_BYTES_MAX, WatchDecoder, error_of,
};

// Messages as the API server sends them, including fields that we do not read.

#[derive(Clone, PartialEq, Message)]
struct Unknown {
    #[prost(message, optional, tag = "1")]
    type_meta: Option<TypeMeta>,
    #[prost(bytes = "vec", tag = "2")]
    raw: Vec<u8>,
    #[prost(string, tag = "3")]
    content_encoding: String,
    #[prost(string, tag = "4")]
    content_type: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TypeMeta {
    #[prost(string, tag = "1")]
    api_version: String,
    #[prost(string, tag = "2")]
    kind: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WirePod {
    #[prost(message, required, tag = "1")]
    metadata: Meta,
    #[prost(message, optional, tag = "2")]
    spec: Option<TypeMeta>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Meta {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
    #[prost(string, tag = "5")]
    uid: String,
    #[prost(string, tag = "6")]
    resource_version: String,
    #[prost(btree_map = "string, string", tag = "12")]
    annotations: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct PodList {
    #[prost(message, required, tag = "1")]
    metadata: ListMeta,
    #[prost(message, repeated, tag = "2")]
    items: Vec<WirePod>,
    #[prost(uint64, tag = "9")]
    number: u64,
    #[prost(fixed64, tag = "10")]
    fixed: u64,
    #[prost(fixed32, tag = "11")]
    small: u32,
    #[prost(string, tag = "12")]
    text: String,
}

#[derive(Clone, PartialEq, Message)]
struct ListMeta {
    #[prost(string, tag = "1")]
    self_link: String,
    #[prost(string, tag = "2")]
    resource_version: String,
    #[prost(string, tag = "3")]
    r#continue: String,
    #[prost(int64, optional, tag = "4")]
    remaining: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(string, tag = "2")]
    outcome: String,
    #[prost(string, tag = "3")]
    message: String,
    #[prost(string, tag = "4")]
    reason: String,
    #[prost(message, optional, tag = "5")]
    details: Option<Details>,
    #[prost(int32, tag = "6")]
    code: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Details {
    #[prost(message, repeated, tag = "4")]
    causes: Vec<Cause>,
    #[prost(int32, tag = "5")]
    retry_after_seconds: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Cause {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(string, tag = "3")]
    field: String,
}

pub(super) fn envelope(kind: &str, message: &impl Message) -> Vec<u8> {
    let unknown = Unknown {
        type_meta: Some(TypeMeta { api_version: "v1".into(), kind: kind.into() }),
        raw: message.encode_to_vec(),
        content_encoding: String::new(),
        content_type: "application/vnd.kubernetes.protobuf".into(),
    };
    [b"k8s\0".to_vec(), unknown.encode_to_vec()].concat()
}

pub(super) fn frame(kind: &str, object: &[u8]) -> Vec<u8> {
    #[derive(Clone, PartialEq, Message)]
    struct WatchEvent {
        #[prost(string, tag = "1")]
        r#type: String,
        #[prost(message, optional, tag = "2")]
        object: Option<RawExtension>,
    }
    #[derive(Clone, PartialEq, Message)]
    struct RawExtension {
        #[prost(bytes = "vec", tag = "1")]
        raw: Vec<u8>,
    }
    let object = Some(RawExtension { raw: object.to_vec() });
    let event = WatchEvent { r#type: kind.into(), object }.encode_to_vec();
    [u32::try_from(event.len()).unwrap().to_be_bytes().to_vec(), event].concat()
}

pub(super) fn wire_pod(name: &str, version: u64) -> WirePod {
    let metadata = Meta {
        name: name.into(),
        namespace: "default".into(),
        uid: format!("uid-{version}"),
        resource_version: version.to_string(),
        annotations: BTreeMap::new(),
    };
    WirePod { metadata, spec: Some(TypeMeta::default()) }
}

pub(super) fn pod_list(pods: &[WirePod], version: u64) -> Vec<u8> {
    let metadata = ListMeta { resource_version: version.to_string(), ..ListMeta::default() };
    envelope("PodList", &PodList { metadata, items: pods.to_vec(), ..PodList::default() })
}

/// The objects of a list, and its metadata as (version, continue).
type Listed = (Vec<Vec<u8>>, (String, String));

fn read_list(codec: Codec, chunks: &[&[u8]]) -> Result<Listed, FrameError> {
    let mut decoder = ListDecoder::new(codec);
    let mut items = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk);
        while let Some(item) = decoder.pop()? {
            items.push(item.to_vec());
        }
    }
    let meta = decoder.finish()?;
    Ok((items, (meta.resource_version, meta.r#continue)))
}

fn read_watch(codec: Codec, chunks: &[&[u8]]) -> Result<Vec<(EventKind, Vec<u8>)>, FrameError> {
    let mut decoder = WatchDecoder::new(codec);
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk);
        while let Some(event) = decoder.pop()? {
            events.push((event.kind, event.object.to_vec()));
        }
    }
    Ok(events)
}

/// `bytes`, cut at the given places.
fn cut<'a>(bytes: &'a [u8], places: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut chunks = Vec::new();
    let mut start = 0;
    for place in places.into_iter().chain([bytes.len()]) {
        chunks.push(&bytes[start..place]);
        start = place;
    }
    chunks
}

fn places() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 0..40)
}

/// Texts with everything that could confuse a scanner.
fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(r#"[a-z"\\{}\[\],: \n\u{e9}\u{2028}]{0,30}"#, 0..6)
}

fn objects(texts: &[String]) -> Vec<Value> {
    let object = |(at, text): (usize, &String)| {
        let any = json!([1, true, null, "x", {"a": [text]}]);
        json!({"metadata": {"name": text, "n": at}, text: any})
    };
    texts.iter().enumerate().map(object).collect()
}

fn parsed(items: &[Vec<u8>]) -> Vec<Value> {
    items.iter().map(|item| serde_json::from_slice(item).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_json_list_reads_the_same_in_any_pieces(
        texts in texts(), places in places(), pretty: bool, first: bool
    ) {
        let items = objects(&texts);
        let meta = r#""metadata":{"resourceVersion":"12","continue":"next"}"#;
        let list = if pretty {
            serde_json::to_string_pretty(&items).unwrap()
        } else {
            serde_json::to_string(&items).unwrap()
        };
        let other = r#""kind":"PodList" , "n": 12,"e":[{"items":[1]},"\"]"],"#;
        let list = format!("\"items\":{list}");
        let (a, b) = if first { (meta, &*list) } else { (&*list, meta) };
        let bytes = format!("{{{other}{a},{b}}}\n");
        let (read, meta) = read_list(Codec::Json, &cut(bytes.as_bytes(), &places)).unwrap();
        prop_assert_eq!(parsed(&read), items);
        prop_assert_eq!(meta, ("12".to_owned(), "next".to_owned()));
    }

    #[test]
    fn a_protobuf_list_reads_the_same_in_any_pieces(
        names in prop::collection::vec("[a-z]{1,200}", 0..6), places in places(), number: u64
    ) {
        let items: Vec<_> = names.iter().zip(7u64..).map(|(name, n)| wire_pod(name, n)).collect();
        let metadata = ListMeta {
            self_link: "link".into(),
            resource_version: "12".into(),
            r#continue: "next".into(),
            remaining: Some(-1),
        };
        let (fixed, small, text) = (number, 7, "unknown".repeat(9));
        let list = PodList { metadata, items, number, fixed, small, text };
        let bytes = envelope("PodList", &list);
        let (read, meta) = read_list(Codec::Protobuf, &cut(&bytes, &places)).unwrap();
        let pods = read.iter().map(|item| Pod::decode(Codec::Protobuf, item).unwrap());
        let read: Vec<String> = pods.map(|pod| pod.meta.key.name.to_string()).collect();
        prop_assert_eq!(read, names);
        prop_assert_eq!(meta, ("12".to_owned(), "next".to_owned()));
    }

    #[test]
    fn a_json_watch_reads_the_same_in_any_pieces(texts in texts(), places in places()) {
        let objects = objects(&texts);
        let line = |object: &Value| format!("{}\n", json!({"type": "MODIFIED", "object": object}));
        let bytes = objects.iter().map(line).collect::<Vec<_>>().join("\n");
        let read = read_watch(Codec::Json, &cut(bytes.as_bytes(), &places)).unwrap();
        prop_assert!(read.iter().all(|(kind, _)| *kind == EventKind::Modified));
        let read: Vec<_> = read.into_iter().map(|(_, object)| object).collect();
        prop_assert_eq!(parsed(&read), objects);
    }

    #[test]
    fn a_protobuf_watch_reads_the_same_in_any_pieces(
        names in prop::collection::vec("[a-z]{0,200}", 0..6), places in places()
    ) {
        let pods: Vec<_> = names.iter().map(|name| envelope("Pod", &wire_pod(name, 3))).collect();
        let bytes = pods.iter().map(|pod| frame("ADDED", pod)).collect::<Vec<_>>().concat();
        let read = read_watch(Codec::Protobuf, &cut(&bytes, &places)).unwrap();
        let expected: Vec<_> = pods.into_iter().map(|pod| (EventKind::Added, pod)).collect();
        prop_assert_eq!(read, expected);
    }

    /// Arbitrary bytes: an error, never a panic.
    #[test]
    fn noise_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), places in places()) {
        for codec in [Codec::Json, Codec::Protobuf] {
            let _ = read_list(codec, &cut(&bytes, &places));
            let _ = read_watch(codec, &cut(&bytes, &places));
            let inside = [b"k8s\0\x12\x40".as_slice(), &bytes].concat();
            let _ = read_list(codec, &cut(&inside, &places));
        }
    }
}

#[test]
fn a_list_that_broke_off_is_no_list() {
    let list = PodList { items: vec![wire_pod("a", 1), wire_pod("b", 2)], ..PodList::default() };
    let protobuf = envelope("PodList", &list);
    let json = br#"{"metadata":{"resourceVersion":"1"},"items":[{"a":1},{"b":2}]}"#;
    for (codec, bytes) in [(Codec::Protobuf, &*protobuf), (Codec::Json, json)] {
        assert_eq!(read_list(codec, &[bytes]).unwrap().0.len(), 2);
        for end in 0..bytes.len() {
            // The list is whole if it is cut between two fields of the envelope.
            let whole = codec == Codec::Protobuf && end == bytes.len() - 37;
            let read = read_list(codec, &[&bytes[..end]]);
            assert_eq!(read.map(|_| ()), if whole { Ok(()) } else { Err(FrameError::Truncated) });
        }
    }
}

#[test]
fn lists_in_unusual_forms() {
    let rows: &[(&str, &str, Result<usize, &str>)] = &[
        ("no items", r#"{"metadata":{},"items":null}"#, Ok(0)),
        ("empty", r#"{"metadata":{},"items":[ ]}"#, Ok(0)),
        ("escaped name", r#"{"metadata":{},"it\u0065ms":[{}]}"#, Ok(1)),
        ("not an object", "[]", Err("malformed response: unexpected '[' in a list")),
        ("no metadata", r#"{"items":[]}"#, Err("malformed response: a list without metadata")),
        (
            "no comma",
            r#"{"metadata":{},"items":[{}{}]}"#,
            Err("malformed response: unexpected '{' in a list"),
        ),
        (
            "more after the end",
            r#"{"metadata":{}} x"#,
            Err("malformed response: unexpected 'x' in a list"),
        ),
        ("not JSON at all", "<html>", Err("malformed response: unexpected '<' in a list")),
    ];
    for (row, json, expected) in rows {
        let read = read_list(Codec::Json, &[json.as_bytes()]).map(|(items, _)| items.len());
        assert_eq!(
            read.map_err(|error| error.to_string()),
            expected.map_err(str::to_owned),
            "{row}"
        );
    }
    let error = read_list(Codec::Protobuf, &[b"{\"kind\":"]).unwrap_err();
    assert_eq!(error.to_string(), "malformed response: no k8s envelope");
}

/// streaming.go: `maxBytes` is 16 MiB; the claimed length is not trusted.
#[test]
fn endless_objects_are_refused() {
    let too_long = u32::try_from(OBJECT_BYTES_MAX).unwrap() + 1;
    let error = read_watch(Codec::Protobuf, &[&too_long.to_be_bytes()]).unwrap_err();
    assert_eq!(error, FrameError::TooLong(OBJECT_BYTES_MAX + 1));
    let text = "an object of 16777217 bytes or more; the limit is 16777216";
    assert_eq!(error.to_string(), text);

    let endless = vec![b'x'; OBJECT_BYTES_MAX / 8 + 1];
    let chunks: Vec<&[u8]> = std::iter::repeat_n(&*endless, 8).collect();
    assert!(matches!(read_watch(Codec::Json, &chunks), Err(FrameError::TooLong(_))));

    let list = [b"{\"items\":[\"".as_slice()].into_iter().chain(chunks).collect::<Vec<_>>();
    assert!(matches!(read_list(Codec::Json, &list), Err(FrameError::TooLong(_))));

    // An item of 20 MiB in a list of 2 GiB.
    let list = b"k8s\0\x12\x80\x80\x80\x80\x08\x12\x80\x80\x80\x0a";
    assert_eq!(read_list(Codec::Protobuf, &[list]), Err(FrameError::TooLong(20 << 20)));
}

#[test]
fn unknown_events_are_refused() {
    let rows: &[(&str, &[u8], &str)] = &[
        ("type", b"{\"type\":\"X\",\"object\":{}}\n", "malformed response: an event of type \"X\""),
        ("no object", b"{\"type\":\"ADDED\"}\n", "missing field `object`"),
        ("a page of HTML", b"<html>\n", "malformed response: an event: expected value"),
    ];
    for (row, line, expected) in rows {
        let error = read_watch(Codec::Json, &[line]).unwrap_err().to_string();
        assert!(error.contains(expected), "{row}: {error}");
    }
    let error = read_watch(Codec::Protobuf, &[&frame("X", b"k8s\0")]).unwrap_err();
    assert_eq!(error.to_string(), "malformed response: an event of type \"X\"");
    let error = read_watch(Codec::Protobuf, &[&[0, 0, 0, 1, 0xff]]).unwrap_err();
    assert_eq!(error, FrameError::Truncated);
}

#[test]
fn bookmarks() {
    let mut pod = wire_pod("", 12);
    let plain = envelope("Pod", &pod);
    assert_eq!(Mark::parse(Codec::Protobuf, &plain), Ok(Mark { version: 12, list_end: false }));
    pod.metadata.annotations.insert("k8s.io/initial-events-end".into(), "true".into());
    let end = envelope("Pod", &pod);
    assert_eq!(Mark::parse(Codec::Protobuf, &end), Ok(Mark { version: 12, list_end: true }));
    assert!(Mark::parse(Codec::Json, br#"{"metadata":{}}"#).is_err());
}

#[test]
fn errors_read_the_same_in_both_codecs() {
    let message = "Too large resource version: 9, current: 7";
    let json = json!({
        "kind": "Status", "status": "Failure", "message": message, "reason": "Timeout", "code": 504,
        "details": {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"},
            ],
            "retryAfterSeconds": 1
        }
    });
    let cause = Cause {
        reason: "ResourceVersionTooLarge".into(),
        message: "Too large resource version".into(),
        field: String::new(),
    };
    let status = Status {
        outcome: "Failure".into(),
        message: message.into(),
        reason: "Timeout".into(),
        details: Some(Details { causes: vec![cause], retry_after_seconds: 1 }),
        code: 504,
    };
    let from_json = error_of(Codec::Json, json.to_string().as_bytes());
    let from_protobuf = error_of(Codec::Protobuf, &envelope("Status", &status));
    assert_eq!(from_json, from_protobuf);
    assert!(from_json.is_too_large_resource_version());
    assert_eq!(from_json.to_string(), message);
    let status = from_json.status().unwrap();
    assert_eq!((status.code, status.retry_after), (504, Some(Duration::from_secs(1))));
    let silent = error_of(Codec::Json, b"{\"code\":500}").to_string();
    assert_eq!(silent, "an ERROR event with code 500");
    assert_eq!(error_of(Codec::Json, b"7").to_string().split(':').next(), Some("an ERROR event"));
}

/// A server that copies what a client sent: the bytes of a text may not be UTF-8.
#[test]
fn json_is_mended() {
    let item = [&br#"{"metadata":{"name":"a"},"x":"_"#[..], &[0xff], br#""}"#].concat();
    let mut list = ListDecoder::new(Codec::Json);
    list.feed(&[br#"{"metadata":{"resourceVersion":"5"},"items":["#, &*item, b"]}"].concat());
    let mended = "{\"metadata\":{\"name\":\"a\"},\"x\":\"_\u{fffd}\"}";
    assert_eq!(list.pop().unwrap(), Some(mended.as_bytes()));
    assert_eq!(list.pop().unwrap(), None);
    let mut watch = WatchDecoder::new(Codec::Json);
    watch.feed(&[br#"{"type":"ADDED","object":"#, &*item, b"}\n"].concat());
    let event = watch.pop().unwrap().unwrap();
    assert_eq!((event.kind, event.object), (EventKind::Added, mended.as_bytes()));
}
