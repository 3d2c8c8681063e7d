//! What the flags say about serving: where, with which certificates, for whom, which metrics.
//!
//! Nothing is opened here; [`Options::validate`](crate::options::Options::validate) checks what can
//! be checked without files.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use https::{CertificateSource, Limits, SniSource};

use crate::flags::Flags;

/// What the self-signed pair in `--cert-dir` is called.
const PAIR_NAME: &str = "kube-controller-manager";

/// The secure port; none: serve nothing. Flags of section "Secure serving"; numbers out of range
/// are left to the validation.
pub(crate) fn port(flags: &Flags) -> Option<https::Settings> {
    let port = u16::try_from(flags.int("secure-port")).ok().filter(|port| *port != 0)?;
    let curves = flags.list("tls-curve-preferences").iter();
    Some(https::Settings {
        // A blank one means all addresses.
        bind: flags.text("bind-address").parse().unwrap_or(Ipv4Addr::UNSPECIFIED.into()),
        port,
        share_port: flags.switch("permit-port-sharing"),
        certificate: certificate(flags),
        sni: flags.list("tls-sni-cert-key").iter().filter_map(|text| sni(text)).collect(),
        min_version: match flags.text("tls-min-version") {
            "" => "VersionTLS12",
            name => name,
        }
        .to_owned(),
        cipher_suites: flags.list("tls-cipher-suites").to_vec(),
        curves: curves.filter_map(|number| number.parse().ok()).collect(),
        http2: !flags.switch("disable-http2-serving"),
        http2_max_streams: u32::try_from(flags.int("http2-max-streams-per-connection"))
            .unwrap_or(0),
        limits: Limits::USUAL,
    })
}

/// Who may see what. Flags of the sections "Authentication" and "Authorization", without the
/// kubeconfigs.
pub(crate) fn guard(flags: &Flags) -> auth::Settings {
    let list = |name| flags.list(name).to_vec();
    auth::Settings {
        client_ca_file: path(flags, "client-ca-file"),
        request_header: auth::ProxySettings {
            client_ca_file: path(flags, "requestheader-client-ca-file"),
            allowed_names: list("requestheader-allowed-names"),
            username_headers: list("requestheader-username-headers"),
            uid_headers: list("requestheader-uid-headers"),
            group_headers: list("requestheader-group-headers"),
            extra_headers_prefix: list("requestheader-extra-headers-prefix"),
        },
        skip_lookup: flags.switch("authentication-skip-lookup"),
        tolerate_lookup_failure: flags.switch("authentication-tolerate-lookup-failure"),
        token_ttl: flags.positive("authentication-token-webhook-cache-ttl"),
        always_allow_paths: list("authorization-always-allow-paths"),
        authorized_ttl: flags.positive("authorization-webhook-cache-authorized-ttl"),
        unauthorized_ttl: flags.positive("authorization-webhook-cache-unauthorized-ttl"),
    }
}

/// What to show of metrics. Flags of section "Metrics".
pub(crate) fn metrics(flags: &Flags) -> metrics::Flags {
    let pairs = flags.list("allow-metric-labels").iter();
    let pairs = pairs.filter_map(|pair| pair.split_once('='));
    let pairs: BTreeMap<_, _> =
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    metrics::Flags {
        show_hidden_metrics_for_version: flags.text("show-hidden-metrics-for-version").to_owned(),
        disabled_metrics: flags.list("disabled-metrics").to_vec(),
        allow_list_mapping: Some(pairs).filter(|pairs| !pairs.is_empty()),
        allow_list_mapping_manifest: flags.text("allow-metric-labels-manifest").to_owned(),
    }
}

/// A file or folder, if one is named.
pub(crate) fn path(flags: &Flags, name: &str) -> Option<PathBuf> {
    Some(flags.text(name)).filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// That only one of certificate and key is named is left to the validation.
fn certificate(flags: &Flags) -> CertificateSource {
    let path = |name| path(flags, name);
    match (path("tls-cert-file"), path("tls-private-key-file"), path("cert-dir")) {
        (Some(cert), Some(key), _) => CertificateSource::Files { cert, key },
        (_, _, Some(dir)) => CertificateSource::Directory { dir, pair_name: PAIR_NAME.to_owned() },
        (_, _, None) => CertificateSource::SelfSigned,
    }
}

/// `certificate,key[:domain,...]`, as k8s.io/component-base/cli/flag reads it.
fn sni(text: &str) -> Option<SniSource> {
    let (files, domains) = text.split_once(':').unwrap_or((text, ""));
    let (cert, key) = files.split_once(',')?;
    let domains = domains.split(',').map(str::trim).filter(|domain| !domain.is_empty());
    Some(SniSource {
        cert: cert.trim().into(),
        key: key.trim().into(),
        names: domains.map(str::to_owned).collect(),
    })
}
