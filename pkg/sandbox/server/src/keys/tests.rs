//! Requests as signers read them, and certificates.

use api::{CertificateRequest, Text};
use hollow::Keys as _;
use rcgen::date_time_ymd;

use super::*;

fn wanted(dns_names: &[&str], addresses: &[&str]) -> Wanted {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Wanted {
        common_name: "system:node:worker-0".to_owned(),
        organization: "system:nodes".to_owned(),
        dns_names: texts(dns_names),
        addresses: texts(addresses),
    }
}

/// The seed of a key.
fn seed(digit: &str) -> String {
    digit.repeat(64)
}

#[test]
fn requests_are_those_of_kubelets() {
    let usages = |usage| ["digital signature", usage].map(Text::from);
    let read = |wanted: &Wanted| {
        CertificateRequest::from_base64(&Keys.request(&seed("a"), wanted)).unwrap()
    };
    let client = read(&wanted(&[], &[]));
    assert_eq!(client.no_kubelet_client(&usages("client auth")), None);
    let serving = read(&wanted(&["worker-0"], &["10.128.0.1"]));
    assert_eq!(serving.no_kubelet_serving(&usages("server auth")), None);
    assert_eq!(serving.alternatives.dns, ["worker-0"]);
    assert_eq!(serving.alternatives.addresses, [Box::from([10, 128, 0, 1])]);
    assert_eq!(serving.public_key, client.public_key);
}

/// Rule: the same run gives the same bytes.
#[test]
fn a_seed_has_one_key_and_one_signature() {
    let request = |digit| Keys.request(&seed(digit), &wanted(&["worker-0"], &[]));
    assert_eq!(request("a"), request("a"));
    assert_ne!(request("a"), request("b"));
    // No certificate can have such a name.
    assert_eq!(Keys.request(&seed("a"), &wanted(&["w\u{f6}rker"], &[])), "");
}

/// As `tls.X509KeyPair`, which refuses a certificate for another key.
#[test]
fn a_certificate_is_for_the_key_that_asked() {
    let mut params = CertificateParams::default();
    (params.not_before, params.not_after) = (date_time_ymd(2026, 1, 1), date_time_ymd(2026, 1, 2));
    let certificate = params.self_signed(&key(&seed("a")).unwrap()).unwrap();
    let certificate = STANDARD.encode(certificate.pem());
    let day = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"].map(|it| Time::parse(it).unwrap());
    assert_eq!(Keys.validity(&seed("a"), &certificate), Some(day.into()));
    assert_eq!(Keys.validity(&seed("b"), &certificate), None);
    for nonsense in ["", "%", "bm8gUEVN", &Keys.request(&seed("a"), &wanted(&[], &[]))] {
        assert_eq!(Keys.validity(&seed("a"), nonsense), None, "{nonsense}");
    }
}
