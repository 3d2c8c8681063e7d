//! Certificates by where they are.

use std::{env, fs, process};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

/// From `openssl x509 -enddate`.
const CA: &str = include_str!("../../testdata/ca.crt");
const END: &str = "4.948888908e+09";

fn page(options: &[String]) -> Vec<String> {
    let options = Options::parse(options.iter().cloned()).unwrap();
    let registry = Registry::default();
    let family = Family::alpha("ends", "When.").labels(&["flag"]);
    let gauges: IntGaugeVec = registry.family(&family).unwrap();
    show(&sources(&options), &gauges);
    let page = registry.page("").body;
    page.lines().filter(|line| line.starts_with("ends{")).map(str::to_owned).collect()
}

#[test]
fn certificates_are_found_by_flag() {
    let folder = env::temp_dir().join(format!("expiry-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).unwrap();
        folder.join(name).display().to_string()
    };
    let ca = write("ca.crt", CA);
    let kubeconfig = |user: &str| {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
             users: [{{name: other, user: {{}}}}, {{name: u, user: {user}}}]\n"
        )
    };
    let data = format!("{{client-certificate-data: {}}}", STANDARD.encode(CA));
    let with_data = write("data.conf", &kubeconfig(&data));
    let with_path = write("path.conf", &kubeconfig("{client-certificate: ca.crt}"));
    let with_token = write("token.conf", &kubeconfig("{token: t}"));
    let flags = [
        format!("--kubeconfig={with_data}"),
        format!("--authentication-kubeconfig={with_path}"),
        format!("--authorization-kubeconfig={with_token}"),
        format!("--tls-cert-file={ca}"),
        format!("--tls-private-key-file={ca}"),
        format!("--tls-sni-cert-key={ca},{ca}"),
    ];
    let expected = ["authentication-kubeconfig", "kubeconfig", "tls-cert-file", "tls-sni-cert-key"];
    let expected = expected.map(|flag| format!("ends{{flag=\"{flag}\"}} {END}"));
    assert_eq!(page(&flags), expected);
    // A folder with a pair that is not there yet, and no folder at all.
    assert_eq!(page(&[format!("--cert-dir={}", folder.display())]), [""; 0]);
    assert_eq!(page(&[]), [""; 0]);
    fs::remove_dir_all(&folder).unwrap();
}
