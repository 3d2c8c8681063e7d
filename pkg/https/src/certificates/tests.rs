//! Which certificate a client gets, and when a new one takes effect.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use runtime::Runtime;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::{Certificates, is_host};
use crate::tests::{
    Folder, Log, certificate as certificate_of, client, connect, get, open, serve, settings,
    subject,
};
use crate::{CertificateSource, Limits, Settings, SniSource};

type Pair = (PathBuf, PathBuf);

async fn chain(address: std::net::SocketAddr, name: &str) -> Vec<CertificateDer<'static>> {
    let client = connect(address, client(), name).await.unwrap();
    client.get_ref().1.peer_certificates().unwrap().to_vec()
}

fn files((cert, key): Pair) -> CertificateSource {
    CertificateSource::Files { cert, key }
}

fn sni((cert, key): Pair, names: &[&str]) -> SniSource {
    SniSource { cert, key, names: names.iter().map(|name| (*name).to_owned()).collect() }
}

fn load(settings: &Settings) -> Certificates {
    Certificates::load(settings, &Runtime::system()).unwrap()
}

fn shown(certificates: &Certificates, name: &str) -> String {
    subject(&certificates.table.get().choose(name).cert[0])
}

/// `GenerateSelfSignedCertKey` of client-go.
#[tokio::test]
async fn a_self_signed_certificate_is_good_for_localhost_and_the_address() {
    let bind: IpAddr = "127.0.0.2".parse().unwrap();
    let port = serve(Settings { bind, ..settings() }).await;
    let shown = chain(port.address, "localhost").await;
    let (leaf, authority) = (subject(&shown[0]), subject(&shown[1]));
    let seconds = leaf.strip_prefix("localhost@").unwrap();
    assert_eq!(authority, format!("localhost-ca@{seconds}"));
    let (_, parsed) = X509Certificate::from_der(&shown[0]).unwrap();
    let from = parsed.validity().not_before.timestamp();
    assert_eq!(from + 3600, seconds.parse::<i64>().unwrap());
    assert_eq!(parsed.validity().not_after.timestamp() - from, 365 * 24 * 3600);
    let mut roots = RootCertStore::empty();
    roots.add(shown[1].clone()).unwrap();
    let roots = Arc::new(roots);
    for (name, is_good) in
        [("localhost", true), ("127.0.0.1", true), ("127.0.0.2", true), ("127.0.0.3", false)]
    {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(Arc::clone(&roots))
            .with_no_client_auth();
        let client = connect(port.address, config, name).await;
        assert_eq!(client.is_ok(), is_good, "{name}: {:?}", client.err());
    }
}

#[tokio::test]
async fn clients_are_shown_the_files_and_what_is_new_in_them() {
    let folder = Folder::new("files");
    let certificate = files(folder.pair("main", "old"));
    let limits = Limits { certificate_age: Duration::from_millis(5), ..Limits::USUAL };
    let port = serve(Settings { certificate, limits, ..settings() }).await;
    assert_eq!(subject(&chain(port.address, "localhost").await[0]), "old");
    folder.pair("main", "new");
    let is_new = async { while subject(&chain(port.address, "localhost").await[0]) != "new" {} };
    crate::tests::within(is_new).await;
}

#[tokio::test]
async fn a_broken_pair_is_not_shown_and_complained_about_once() {
    let folder = Folder::new("broken");
    let (cert, key) = folder.pair("main", "old");
    let certificate = files((cert.clone(), key.clone()));
    let mut certificates = load(&Settings { certificate, ..settings() });
    let (new_cert, new_key) = certificate_of("new");
    let rows = [
        (Some(new_cert.as_str()), "--tls-private-key-file", "cannot be used with the certificate"),
        (Some(""), "--tls-cert-file", "no certificate in it"),
        (Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "--tls-", "not a"),
        (None, "--tls-cert-file: open", "no such file or directory"),
    ];
    let log = Log::new();
    for (index, (text, flag, problem)) in rows.into_iter().enumerate() {
        match text {
            Some(text) => std::fs::write(&cert, text).unwrap(),
            None => std::fs::remove_file(&cert).unwrap(),
        }
        certificates.refresh().await;
        certificates.refresh().await;
        assert_eq!(log.lines(), index + 1);
        let complaint = certificates.default.complaint.clone().unwrap();
        assert!(complaint.contains(flag) && complaint.contains(problem), "{complaint}");
        assert_eq!(shown(&certificates, "localhost"), "old");
    }
    std::fs::write(&cert, new_cert).unwrap();
    std::fs::write(&key, new_key).unwrap();
    certificates.refresh().await;
    assert_eq!(certificates.default.complaint, None);
    assert_eq!(shown(&certificates, "localhost"), "new");
}

/// `BuildNamedCertificates`, and `getCertificate` of Go's crypto/tls.
#[tokio::test]
async fn a_name_gets_its_certificate_then_a_wildcard_then_the_default() {
    let folder = Folder::new("sni");
    let pair = |name: &str| folder.pair(&name.replace('*', "any"), name);
    let rows = vec![
        sni(pair("own.example"), &[]),
        sni(pair("given"), &["given.example", "*.given.example", "Upper.example"]),
        sni(pair("later"), &["given.example", "own.example", "later.example"]),
        sni(pair("*.wild.example"), &[]),
    ];
    let mut certificates =
        load(&Settings { certificate: files(pair("default")), sni: rows, ..settings() });
    let rows = [
        ("", "default"),
        ("other.example", "default"),
        ("given.example", "given"),
        ("GIVEN.example", "given"),
        ("upper.example", "given"),
        ("a.given.example", "given"),
        ("a.b.given.example", "default"),
        // A configured name beats one in a certificate.
        ("own.example", "later"),
        ("a.wild.example", "*.wild.example"),
        ("wild.example", "default"),
    ];
    for (name, expected) in rows {
        assert_eq!(shown(&certificates, name), expected, "{name}");
    }
    folder.pair("given", "fresh");
    certificates.refresh().await;
    assert_eq!(shown(&certificates, "given.example"), "fresh");
    assert_eq!(shown(&certificates, "other.example"), "default");
}

/// `GetConfigForClient` of upstream's tlsconfig.go: without a name, the address counts.
#[tokio::test]
async fn a_client_is_shown_the_certificate_for_its_name_or_for_our_address() {
    let folder = Folder::new("sni-clients");
    let rows = vec![
        sni(folder.pair("name", "name"), &["name.example"]),
        sni(folder.pair("address", "address"), &["127.0.0.1"]),
    ];
    let certificate = files(folder.pair("default", "default"));
    let any = "0.0.0.0".parse().unwrap();
    let port = serve(Settings { bind: any, certificate, sni: rows, ..settings() }).await;
    for (to, name, expected) in [
        ("127.0.0.1", "name.example", "name"),
        ("127.0.0.1", "127.0.0.1", "address"),
        ("127.0.0.1", "other.example", "default"),
        ("127.0.0.2", "127.0.0.2", "default"),
    ] {
        let address = std::net::SocketAddr::new(to.parse().unwrap(), port.address.port());
        assert_eq!(subject(&chain(address, name).await[0]), expected, "{name}");
    }
}

#[tokio::test]
async fn a_directory_keeps_the_certificate_for_the_next_process() {
    let folder = Folder::new("directory");
    let (dir, pair_name) = (folder.0.join("a/b"), "kube-controller-manager".to_owned());
    let certificate = CertificateSource::Directory { dir: dir.clone(), pair_name };
    let settings = Settings { certificate, ..settings() };
    let first = chain(serve(settings.clone()).await.address, "localhost").await;
    let [cert, key] = ["crt", "key"].map(|end| dir.join(format!("kube-controller-manager.{end}")));
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&cert), mode(&key)), (0o644, 0o600));
    let again = serve(settings.clone()).await;
    assert_eq!(chain(again.address, "localhost").await, first);
    assert!(get(again.address, "/").await.is_ok());
    std::fs::remove_file(&key).unwrap();
    let error = open(settings).await.err().unwrap().to_string();
    let text = format!("error reading {}, certificate and key must be supplied", key.display());
    assert!(error.starts_with("error creating self-signed certificates: "), "{error}");
    assert!(error.contains(&text), "{error}");
}

#[tokio::test]
async fn what_is_wrong_with_files_is_said_with_flag_and_file() {
    let folder = Folder::new("errors");
    let ((cert, key), (_, other)) = (folder.pair("a", "a"), folder.pair("b", "b"));
    let none = folder.0.join("none");
    let large = folder.write("large", &"x".repeat((1 << 20) + 1));
    let rows = [
        ((cert.clone(), PathBuf::new()), "--tls-private-key-file: missing filename for serving"),
        ((none, key.clone()), "--tls-cert-file: open"),
        ((cert.clone(), other), "--tls-private-key-file: "),
        ((cert.clone(), cert.clone()), "no private key in it"),
        ((large, key), "more than 1 MiB"),
    ];
    for (pair, expected) in rows {
        let settings_sni = Settings { sni: vec![sni(pair.clone(), &[])], ..settings() };
        let error = open(settings_sni).await.err().unwrap().to_string();
        assert!(error.starts_with("failed to load SNI cert and key: --tls-sni-cert-key: "));
        let error = open(Settings { certificate: files(pair), ..settings() }).await.err().unwrap();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// `getCertificateNames`.
#[test]
fn a_common_name_counts_if_it_can_be_a_name_of_a_host() {
    for name in ["localhost", "a.b-c.example", "*.example", "*"] {
        assert!(is_host(name), "{name}");
    }
    for name in ["10.0.0.1", "::1", "localhost@17", "A.example", "a..b", "-a", "a-", "a.*.b", ""] {
        assert!(!is_host(name), "{name}");
    }
}
