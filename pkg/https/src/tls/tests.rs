//! Which versions, suites and curves the flags allow.

use rustls::crypto::ring::{self, cipher_suite, kx_group};
use rustls::version::{TLS12, TLS13};
use rustls::{CipherSuite, NamedGroup, ProtocolVersion, SupportedCipherSuite};

use super::{SUITES, SUITES_NOT_HERE, choose_curves, choose_suites, versions};
use crate::Settings;
use crate::tests::{client_with, connect, serve, settings};

const ALL: [&str; 2] = ["TLS12", "TLS13"];

fn suites(names: &[&str]) -> Result<Vec<CipherSuite>, String> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut provider = ring::default_provider();
    choose_suites(&mut provider, &names, &[&TLS13, &TLS12]).map_err(|error| error.to_string())?;
    let suites = provider.cipher_suites.iter().filter(|suite| suite.tls13().is_none());
    assert_eq!(suites.clone().count() + 3, provider.cipher_suites.len(), "TLS 1.3 is all there");
    Ok(suites.map(SupportedCipherSuite::suite).collect())
}

fn curves(numbers: &[i32]) -> Result<Vec<NamedGroup>, String> {
    let mut provider = ring::default_provider();
    choose_curves(&mut provider, numbers).map_err(|error| error.to_string())?;
    Ok(provider.kx_groups.iter().map(|group| group.name()).collect())
}

#[test]
fn suites_are_chosen_by_name_and_the_unsafe_ones_left_out() {
    let aes = CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
    let chacha = CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256;
    let rc4 = "TLS_RSA_WITH_RC4_128_SHA";
    assert_eq!(suites(&[]).unwrap().len(), 6);
    assert_eq!(suites(&["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", rc4]).unwrap(), [aes]);
    assert_eq!(suites(&["TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"]).unwrap(), [chacha]);
    assert_eq!(suites(&["TLS_AES_128_GCM_SHA256"]).unwrap(), []);
    let error = suites(&["foo", "bar"]).unwrap_err();
    assert!(error.ends_with("Cipher suite foo not supported or doesn't exist"), "{error}");
    assert!(suites(&[rc4]).unwrap_err().contains("none of TLS_RSA_WITH_RC4_128_SHA"));
    let mut provider = ring::default_provider();
    choose_suites(&mut provider, &[rc4.to_owned()], &[&TLS13]).unwrap();
    assert_eq!(provider.cipher_suites.len(), 3);
}

/// The lists in the help of --tls-cipher-suites: 15 preferred values and 12 insecure ones.
#[test]
fn every_suite_of_upstream_has_a_row() {
    assert_eq!(SUITES.len() + SUITES_NOT_HERE.len(), 15 + 12);
    let names = SUITES.iter().map(|(name, _)| name).chain(&SUITES_NOT_HERE);
    assert_eq!(names.collect::<std::collections::BTreeSet<_>>().len(), 27);
}

/// TestTLSCurvePreferences, with the supported curves.
#[test]
fn curves_are_chosen_by_number() {
    let (p256, p384, x25519) = (NamedGroup::secp256r1, NamedGroup::secp384r1, NamedGroup::X25519);
    assert_eq!(curves(&[]).unwrap(), [x25519, p256, p384]);
    assert_eq!(curves(&[23, 24, 29]).unwrap(), [x25519, p256, p384]);
    assert_eq!(curves(&[29]).unwrap(), [x25519]);
    assert_eq!(curves(&[23, 24, 25, 4588]).unwrap(), [p256, p384]);
    let rows = [
        (vec![23, 29, 23], "duplicate curve preference 23"),
        (vec![0], "curve preference 0 is out of range (must be 1-65535)"),
        (vec![-1], "curve preference -1 is out of range (must be 1-65535)"),
        (vec![70000], "curve preference 70000 is out of range (must be 1-65535)"),
        (vec![9999], "curve preference 9999 is not supported by the current Go version"),
        (vec![25, 4588], "none of 25,4588 is served here: name 23, 24 or 29"),
    ];
    for (numbers, error) in rows {
        assert_eq!(curves(&numbers), Err(format!("--tls-curve-preferences: {error}")));
    }
}

#[test]
fn versions_before_1_2_are_taken_for_1_2() {
    for (min, count) in [
        ("", 2),
        ("VersionTLS10", 2),
        ("VersionTLS11", 2),
        ("VersionTLS12", 2),
        ("VersionTLS13", 1),
    ] {
        assert_eq!(versions(min).unwrap(), [&TLS13, &TLS12][..count], "{min}");
    }
    let error = versions("VersionSSL30").unwrap_err().to_string();
    assert_eq!(error, "--tls-min-version: unknown tls version \"VersionSSL30\"");
}

/// The result of negotiation with a client for TLS 1.2 only, and with one for TLS 1.3 only.
async fn negotiated(settings: Settings) -> Vec<Option<(CipherSuite, NamedGroup)>> {
    let port = serve(settings).await;
    let mut found = Vec::new();
    for version in ALL {
        let versions = if version == "TLS12" { [&TLS12] } else { [&TLS13] };
        let config = client_with(ring::default_provider(), &versions);
        let client = connect(port.address, config, "localhost").await.ok();
        found.push(client.map(|client| {
            let tls = client.get_ref().1;
            let version = tls.protocol_version() == Some(ProtocolVersion::TLSv1_2);
            assert_eq!(version, versions == [&TLS12]);
            let group = tls.negotiated_key_exchange_group().unwrap().name();
            (tls.negotiated_cipher_suite().unwrap().suite(), group)
        }));
    }
    found
}

#[tokio::test]
async fn clients_get_what_the_flags_allow() {
    let chacha = cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256.suite();
    let rsa = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256".to_owned();
    let usual = negotiated(settings()).await;
    assert!(usual.iter().all(Option::is_some), "{usual:?}");
    let newest = Settings { min_version: "VersionTLS13".to_owned(), ..settings() };
    let newest = negotiated(newest).await;
    assert!(newest[0].is_none() && newest[1].is_some(), "{newest:?}");
    let one = Settings { cipher_suites: vec![format!("{chacha:?}")], ..settings() };
    let one = negotiated(Settings { curves: vec![24], ..one }).await;
    let group = kx_group::SECP384R1.name();
    assert_eq!(one[0], Some((chacha, group)));
    assert_eq!(one[1].map(|(_, group)| group), Some(group));
    // The self-signed certificate is not for RSA.
    let other = negotiated(Settings { cipher_suites: vec![rsa], ..settings() }).await;
    assert!(other[0].is_none() && other[1].is_some(), "{other:?}");
}
