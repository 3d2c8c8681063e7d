//! Where the authority comes from.

use super::*;

/// A certificate of an authority, as kubeadm makes it.
const CERTIFICATE: &str = include_str!("../../testdata/ca.crt");

/// The authority, or the error, if a file with this content is given with this flag. `name` keeps
/// tests apart.
fn read_from(name: &str, content: &str, with_flag: &str) -> String {
    let place = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    std::fs::write(&place, content).unwrap();
    let flag = format!("{with_flag}={}", place.display());
    let read = root_ca(&Options::parse([flag]).unwrap());
    std::fs::remove_file(&place).unwrap();
    let error = |error| format!("{error:#}").replace(&place.display().to_string(), "F");
    read.unwrap_or_else(error)
}

/// Upstream's `readCA`: the bytes of the file, whatever stands between the certificates.
#[test]
fn a_file_is_published_as_it_is() {
    let key = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    for content in
        [CERTIFICATE.to_owned(), format!("# the authority\n{CERTIFICATE}{key}{CERTIFICATE}\n")]
    {
        assert_eq!(read_from("good-ca", &content, "--root-ca-file"), content);
    }
}

#[test]
fn a_file_without_a_good_certificate_is_named() {
    let broken = CERTIFICATE.replacen("MII", "AII", 1);
    for (content, expected) in [
        ("", "--root-ca-file F: holds no certificate"),
        ("x", "--root-ca-file F: holds no certificate"),
        (broken.as_str(), "--root-ca-file F: certificate 1 is broken: "),
        (&CERTIFICATE.replace("END", "BEGIN"), "--root-ca-file F: certificate 1 is not PEM: "),
        (&format!("{CERTIFICATE}{broken}"), "--root-ca-file F: certificate 2 is broken: "),
    ] {
        let error = read_from("bad-ca", content, "--root-ca-file");
        assert!(error.starts_with(expected), "{expected:?}: {error}");
    }
    let words = ["--root-ca-file=/no/such/file".to_owned()];
    let error = root_ca(&Options::parse(words).unwrap()).unwrap_err();
    let text = format!("{error:#}");
    assert!(text.starts_with("--root-ca-file /no/such/file: No such file"), "{text}");
}

/// ca-publishers.md: else the client's own CA data, which may be empty.
#[test]
fn without_the_flag_the_kubeconfig_is_asked() {
    let config = "clusters: [{name: a, cluster: {certificate-authority-data: UEVNCg==}}]\n\
                  contexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n";
    assert_eq!(read_from("with-ca", config, "--kubeconfig"), "PEM\n");
    let without = config.replace("certificate-authority-data: UEVNCg==", "server: x");
    assert_eq!(read_from("without-ca", &without, "--kubeconfig"), "");
    assert_eq!(root_ca(&Options::parse([]).unwrap()).unwrap(), "");
}
