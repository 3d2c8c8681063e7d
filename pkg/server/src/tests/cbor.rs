//! CBOR, byte for byte.
//!
//! The bodies were written by `NewSerializerInfo` of k8s.io/apimachinery's
//! pkg/runtime/serializer/cbor of v0.36.3, whose order of fields is the deterministic one; the rest
//! of the responses are those of `flagz.Install` with the feature gate CBORServingAndStorage.

use http::HeaderMap;
use serde_json::{Value, json};

use super::*;

const FLAGZ: &[u8] = b"\xd9\xd9\xf7\xa4DkindEFlagzEflags\xa2AaD1m0sAbD<a>&\
    Hmetadata\xa1DnameWkube-controller-managerJapiVersionUconfig.k8s.io/v1beta1";
const FLAGZ_ALPHA: &[u8] = b"\xd9\xd9\xf7\xa4DkindEFlagzEflags\xa2AaD1m0sAbD<a>&\
    Hmetadata\xa1DnameWkube-controller-managerJapiVersionVconfig.k8s.io/v1alpha1";
const STATUSZ: &[u8] = b"\xd9\xd9\xf7\xa9DkindGStatuszEpaths\x84H/configzF/flagzH/healthzH/metrics\
    Hmetadata\xa1DnameWkube-controller-managerIgoVersionHgo1.26.8\
    IstartTimeT2026-11-21T18:02:03ZJapiVersionUconfig.k8s.io/v1beta1\
    MbinaryVersionF1.36.3MuptimeSeconds\x00PemulationVersionD1.36";
const REFUSED: &[u8] = b"\xd9\xd9\xf7\xa7Dcode\x19\x01\x96DkindFStatusFreasonMNotAcceptable\
    FstatusGFailureGmessageXmonly the following media types are accepted: application/json, \
    application/yaml, text/plain, application/cborHmetadata\xa0JapiVersionBv1";

/// Status, headers and body.
async fn ask_for(uri: &str, accept: &str) -> (u16, HeaderMap, Vec<u8>) {
    let router = router_of(Pages { cbor: true, ..pages() });
    let request = Request::builder().uri(uri).header(LET_IN.0, LET_IN.1).header("accept", accept);
    let response = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    (parts.status.as_u16(), parts.headers, body.collect().await.unwrap().to_bytes().to_vec())
}

/// TestKubeControllerManagerServingZPages (test/integration/serving), "structured cbor response".
#[tokio::test(start_paused = true)]
async fn both_pages_are_served_as_cbor() {
    let flagz = "application/cbor;g=config.k8s.io;v=v1beta1;as=Flagz";
    let alpha = "application/cbor;g=config.k8s.io;v=v1alpha1;as=Flagz";
    let statusz = "application/cbor;g=config.k8s.io;v=v1beta1;as=Statusz";
    let either = "application/json;q=0.5,application/cbor;v=v1beta1;g=config.k8s.io;as=Flagz";
    let rows = [
        ("/flagz", "application/cbor;v=v1beta1;g=config.k8s.io;as=Flagz", flagz, FLAGZ),
        ("/flagz", "application/cbor;pretty=1;v=v1beta1;g=config.k8s.io;as=Flagz", flagz, FLAGZ),
        ("/flagz", either, flagz, FLAGZ),
        ("/flagz", alpha, alpha, FLAGZ_ALPHA),
        ("/statusz", statusz, statusz, STATUSZ),
    ];
    for (uri, accept, content_type, body) in rows {
        let answer = ask_for(uri, accept).await;
        assert_eq!((answer.0, &*answer.2), (200, body), "{accept}");
        assert_eq!(answer.1["content-type"], content_type);
        assert_eq!(answer.1.contains_key("warning"), content_type == alpha);
    }
}

#[tokio::test(start_paused = true)]
async fn errors_for_cbor_clients_are_cbor_and_name_all_types() {
    for accept in ["application/cbor", "application/cbor,application/json"] {
        let (status, headers, body) = ask_for("/flagz", accept).await;
        assert_eq!((status, &*body), (406, REFUSED));
        assert_eq!(headers["content-type"], "application/cbor");
    }
    let message = "only the following media types are accepted: application/json, \
                   application/yaml, text/plain, application/cbor";
    for accept in ["application/xml", "application/cbor;v=v2;g=config.k8s.io;as=Flagz"] {
        let (status, headers, body) = ask_for("/flagz", accept).await;
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((status, &body["message"]), (406, &json!(message)));
        assert_eq!(headers["content-type"], "application/json");
    }
}

/// JSON and text come first if the client has no preference.
#[tokio::test(start_paused = true)]
async fn cbor_is_only_for_clients_that_ask_for_it() {
    let rows = [
        ("*/*", "text/plain; charset=utf-8"),
        (
            "application/*;v=v1beta1;g=config.k8s.io;as=Flagz",
            "application/json;g=config.k8s.io;v=v1beta1;as=Flagz",
        ),
    ];
    for (accept, content_type) in rows {
        assert_eq!(ask_for("/flagz", accept).await.1["content-type"], content_type);
    }
}

/// Lengths and numbers at each of their borders.
#[test]
fn heads_are_as_short_as_they_can_be() {
    let rows: [(u64, &[u8]); 9] = [
        (0, b"\x00"),
        (23, b"\x17"),
        (24, b"\x18\x18"),
        (255, b"\x18\xff"),
        (256, b"\x19\x01\x00"),
        (65_535, b"\x19\xff\xff"),
        (65_536, b"\x1a\x00\x01\x00\x00"),
        (4_294_967_295, b"\x1a\xff\xff\xff\xff"),
        (4_294_967_296, b"\x1b\x00\x00\x00\x01\x00\x00\x00\x00"),
    ];
    for (number, bytes) in rows {
        assert_eq!(crate::cbor::encode(&json!(number))[3..], *bytes, "{number}");
    }
    // As in RFC 8949, appendix A.
    let rows: [(Value, &[u8]); 7] = [
        (json!(-1), b"\x20"),
        (json!(-1000), b"\x39\x03\xe7"),
        (json!(1.1), b"\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a"),
        (json!(null), b"\xf6"),
        (json!([true, false]), b"\x82\xf5\xf4"),
        (json!({"bb": 1, "a": 2, "": 3}), b"\xa3\x40\x03\x41a\x02\x42bb\x01"),
        (json!("x".repeat(300)), &[&b"\x59\x01\x2c"[..], &[b'x'; 300]].concat()),
    ];
    for (value, bytes) in rows {
        assert_eq!(crate::cbor::encode(&value)[3..], *bytes, "{value}");
    }
}
