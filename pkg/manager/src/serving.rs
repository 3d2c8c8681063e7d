//! What the flags say about serving: where, with which certificates, for whom, which metrics.
//!
//! Nothing is opened here; [`Options::validate`](crate::options::Options::validate) checks what can
//! be checked without files.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use crate::flags::Flags;

/// The secure port. Flags of section "Secure serving".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// Where to listen; unspecified: everywhere.
    pub bind_address: IpAddr,
    /// The port; none: serve nothing.
    pub port: Option<u16>,
    /// Folder of the self-signed pair; none: keep it in memory.
    pub cert_dir: Option<PathBuf>,
    /// Certificate and its intermediates; none together with `key_file`: a self-signed one.
    pub cert_file: Option<PathBuf>,
    /// Key of `cert_file`.
    pub key_file: Option<PathBuf>,
    /// More pairs, for some domains each.
    pub sni: Vec<SniPair>,
    /// As Go names it, such as `VersionTLS12`, the default.
    pub tls_version_min: String,
    /// By their IANA names; empty: the library's choice.
    pub cipher_suites: Vec<String>,
    /// By their IANA numbers; empty: the library's choice.
    pub curves: Vec<i32>,
    /// Requests at a time per connection; none: the library's default.
    pub http2_streams_max: Option<u32>,
    /// Whether to offer HTTP/2.
    pub http2: bool,
    /// Whether to listen with `SO_REUSEPORT`.
    pub share_port: bool,
}

/// A certificate for some domains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SniPair {
    /// Certificate and its intermediates.
    pub cert_file: PathBuf,
    /// Its key.
    pub key_file: PathBuf,
    /// Domains and IP addresses, `*.` at most in front; empty: those of the certificate.
    pub domains: Vec<String>,
}

/// Who asks. Flags of section "Authentication".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authentication {
    /// For TokenReviews and the lookup; none: in-cluster, or not at all.
    pub kubeconfig: Option<PathBuf>,
    /// Whether to leave out what the cluster says about client authorities.
    pub skip_lookup: bool,
    /// Whether to start although that cannot be read.
    pub tolerate_lookup_failure: bool,
    /// How long a TokenReview's answer is kept.
    pub token_cache_ttl: Duration,
    /// Authorities whose client certificates are believed.
    pub client_ca_file: Option<PathBuf>,
    /// Proxies that say whom they speak for.
    pub request_header: RequestHeader,
}

/// The flags `--requestheader-*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// Authorities of the proxies; none: what the cluster says.
    pub client_ca_file: Option<PathBuf>,
    /// Common names of the proxies; empty: any.
    pub allowed_names: Vec<String>,
    /// Headers with the user's name.
    pub username_headers: Vec<String>,
    /// Headers with the user's UID.
    pub uid_headers: Vec<String>,
    /// Headers with the user's groups.
    pub group_headers: Vec<String>,
    /// Start of the headers with more about the user.
    pub extra_headers_prefixes: Vec<String>,
}

/// Who may. Flags of section "Authorization".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// For SubjectAccessReviews; none: in-cluster, or not at all.
    pub kubeconfig: Option<PathBuf>,
    /// Paths for everybody; a `*` at the end stands for anything.
    pub always_allow_paths: Vec<String>,
    /// How long a yes is kept.
    pub allow_cache_ttl: Duration,
    /// How long a no is kept.
    pub deny_cache_ttl: Duration,
}

impl Serving {
    /// What the flags say; numbers out of range are left to the validation.
    pub(crate) fn from_flags(flags: &Flags) -> Self {
        let curves = flags.list("tls-curve-preferences").iter();
        Self {
            // A blank one means all addresses.
            bind_address: flags
                .text("bind-address")
                .parse()
                .unwrap_or(Ipv4Addr::UNSPECIFIED.into()),
            port: u16::try_from(flags.int("secure-port")).ok().filter(|port| *port != 0),
            cert_dir: path(flags, "cert-dir"),
            cert_file: path(flags, "tls-cert-file"),
            key_file: path(flags, "tls-private-key-file"),
            sni: flags.list("tls-sni-cert-key").iter().filter_map(|text| sni(text)).collect(),
            tls_version_min: match flags.text("tls-min-version") {
                "" => "VersionTLS12",
                name => name,
            }
            .to_owned(),
            cipher_suites: flags.list("tls-cipher-suites").to_vec(),
            curves: curves.filter_map(|number| number.parse().ok()).collect(),
            http2_streams_max: u32::try_from(flags.int("http2-max-streams-per-connection"))
                .ok()
                .filter(|max| *max != 0),
            http2: !flags.switch("disable-http2-serving"),
            share_port: flags.switch("permit-port-sharing"),
        }
    }
}

impl Authentication {
    pub(crate) fn from_flags(flags: &Flags) -> Self {
        let list = |name| flags.list(name).to_vec();
        Self {
            kubeconfig: path(flags, "authentication-kubeconfig"),
            skip_lookup: flags.switch("authentication-skip-lookup"),
            tolerate_lookup_failure: flags.switch("authentication-tolerate-lookup-failure"),
            token_cache_ttl: flags.positive("authentication-token-webhook-cache-ttl"),
            client_ca_file: path(flags, "client-ca-file"),
            request_header: RequestHeader {
                client_ca_file: path(flags, "requestheader-client-ca-file"),
                allowed_names: list("requestheader-allowed-names"),
                username_headers: list("requestheader-username-headers"),
                uid_headers: list("requestheader-uid-headers"),
                group_headers: list("requestheader-group-headers"),
                extra_headers_prefixes: list("requestheader-extra-headers-prefix"),
            },
        }
    }
}

impl Authorization {
    pub(crate) fn from_flags(flags: &Flags) -> Self {
        Self {
            kubeconfig: path(flags, "authorization-kubeconfig"),
            always_allow_paths: flags.list("authorization-always-allow-paths").to_vec(),
            allow_cache_ttl: flags.positive("authorization-webhook-cache-authorized-ttl"),
            deny_cache_ttl: flags.positive("authorization-webhook-cache-unauthorized-ttl"),
        }
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
fn path(flags: &Flags, name: &str) -> Option<PathBuf> {
    Some(flags.text(name)).filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// `certificate,key[:domain,...]`, as k8s.io/component-base/cli/flag reads it.
fn sni(text: &str) -> Option<SniPair> {
    let (files, domains) = text.split_once(':').unwrap_or((text, ""));
    let (cert, key) = files.split_once(',')?;
    let domains = domains.split(',').map(str::trim).filter(|domain| !domain.is_empty());
    Some(SniPair {
        cert_file: cert.trim().into(),
        key_file: key.trim().into(),
        domains: domains.map(str::to_owned).collect(),
    })
}
