//! The flags for serving: address, certificates, users, metrics.
//!
//! Nothing is opened here; [`Options::validate`](crate::options::Options::validate) checks what can
//! be checked without files.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use https::{CertificateSource, Limits, SniSource};

use crate::flags::{Flags, handles};

/// The name of the self-signed pair in `--cert-dir`.
const PAIR_NAME: &str = "kube-controller-manager";

/// The secure port; none: serve nothing. Flags of section "Secure serving"; numbers out of range
/// are left to the validation.
pub(crate) fn port(flags: &Flags) -> Option<https::Settings> {
    let port = u16::try_from(flags.int(handles::SECURE_PORT)).ok().filter(|port| *port != 0)?;
    let curves = flags.list(handles::TLS_CURVE_PREFERENCES).iter();
    Some(https::Settings {
        // A blank one means all addresses.
        bind: flags.text(handles::BIND_ADDRESS).parse().unwrap_or(Ipv4Addr::UNSPECIFIED.into()),
        port,
        share_port: flags.switch(handles::PERMIT_PORT_SHARING),
        certificate: certificate(flags),
        sni: flags.list(handles::TLS_SNI_CERT_KEY).iter().filter_map(|text| sni(text)).collect(),
        min_version: match flags.text(handles::TLS_MIN_VERSION) {
            "" => "VersionTLS12",
            name => name,
        }
        .to_owned(),
        cipher_suites: flags.list(handles::TLS_CIPHER_SUITES).to_vec(),
        curves: curves.filter_map(|number| number.parse().ok()).collect(),
        http2: !flags.switch(handles::DISABLE_HTTP2_SERVING),
        http2_max_streams: u32::try_from(flags.int(handles::HTTP2_MAX_STREAMS_PER_CONNECTION))
            .unwrap_or(0),
        limits: Limits::USUAL,
    })
}

/// Authentication and authorization. Flags of the sections "Authentication" and "Authorization",
/// without the kubeconfigs.
pub(crate) fn guard(flags: &Flags) -> auth::Settings {
    let list = |flag| flags.list(flag).to_vec();
    auth::Settings {
        client_ca_file: path(flags, handles::CLIENT_CA_FILE),
        request_header: auth::ProxySettings {
            client_ca_file: path(flags, handles::REQUESTHEADER_CLIENT_CA_FILE),
            allowed_names: list(handles::REQUESTHEADER_ALLOWED_NAMES),
            username_headers: list(handles::REQUESTHEADER_USERNAME_HEADERS),
            uid_headers: list(handles::REQUESTHEADER_UID_HEADERS),
            group_headers: list(handles::REQUESTHEADER_GROUP_HEADERS),
            extra_headers_prefix: list(handles::REQUESTHEADER_EXTRA_HEADERS_PREFIX),
        },
        skip_lookup: flags.switch(handles::AUTHENTICATION_SKIP_LOOKUP),
        tolerate_lookup_failure: flags.switch(handles::AUTHENTICATION_TOLERATE_LOOKUP_FAILURE),
        token_ttl: flags.positive(handles::AUTHENTICATION_TOKEN_WEBHOOK_CACHE_TTL),
        always_allow_paths: list(handles::AUTHORIZATION_ALWAYS_ALLOW_PATHS),
        authorized_ttl: flags.positive(handles::AUTHORIZATION_WEBHOOK_CACHE_AUTHORIZED_TTL),
        unauthorized_ttl: flags.positive(handles::AUTHORIZATION_WEBHOOK_CACHE_UNAUTHORIZED_TTL),
    }
}

/// Flags of section "Metrics".
pub(crate) fn metrics(flags: &Flags) -> metrics::Flags {
    let pairs = flags.list(handles::ALLOW_METRIC_LABELS).iter();
    let pairs = pairs.filter_map(|pair| pair.split_once('='));
    let pairs: BTreeMap<_, _> =
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    metrics::Flags {
        show_hidden_metrics_for_version: flags
            .text(handles::SHOW_HIDDEN_METRICS_FOR_VERSION)
            .to_owned(),
        disabled_metrics: flags.list(handles::DISABLED_METRICS).to_vec(),
        allow_list_mapping: Some(pairs).filter(|pairs| !pairs.is_empty()),
        allow_list_mapping_manifest: flags.text(handles::ALLOW_METRIC_LABELS_MANIFEST).to_owned(),
    }
}

/// A file or folder, if one is named.
pub(crate) fn path(flags: &Flags, flag: handles::Text) -> Option<PathBuf> {
    Some(flags.text(flag)).filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// If only one of certificate and key is set, the validation reports it.
fn certificate(flags: &Flags) -> CertificateSource {
    let path = |flag| path(flags, flag);
    match (
        path(handles::TLS_CERT_FILE),
        path(handles::TLS_PRIVATE_KEY_FILE),
        path(handles::CERT_DIR),
    ) {
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
