//! Validation of the secure port without files (k8s.io/apiserver/pkg/server/options).

use crate::flags::Flags;
use crate::gates::features;
use crate::options::Options;

/// One of these must be among the suites for HTTP/2 (RFC 7540, section 9.2.2).
const HTTP2_SUITES: [&str; 2] =
    ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"];
/// The texts are upstream's, although 0 does disable HTTPS.
pub(super) fn port(flags: &Flags) -> Option<String> {
    let port = flags.value("secure-port").int();
    let range = match port {
        0..=65535 => return None,
        ..0 => "between 0 and 65535, inclusive. 0 for turning off secure port",
        _ => "between 1 and 65535, inclusive. It cannot be turned off with 0",
    };
    Some(format!("--secure-port {port} must be {range}"))
}

/// The header names of front proxies.
pub(super) fn headers(options: &Options) -> Vec<String> {
    let headers = &options.guard.request_header;
    let blank = |flag: &str, names: &[String]| {
        let is_blank = names.iter().any(|name| name.trim().is_empty());
        is_blank.then(|| format!("empty value in {flag:?}"))
    };
    let first = [
        blank("requestheader-username-headers", &headers.username_headers),
        blank("requestheader-group-headers", &headers.group_headers),
        blank("requestheader-extra-headers-prefix", &headers.extra_headers_prefix),
        blank("requestheader-allowed-names", &headers.allowed_names),
    ];
    let mut errors: Vec<_> = first.into_iter().flatten().collect();
    let uid = &headers.uid_headers;
    if uid.is_empty() {
        return errors;
    }
    let flag = "requestheader-uid-headers";
    let feature = features::REQUEST_HEADER_UID;
    if !options.gates.is_on(feature) {
        let gate = feature.name();
        errors.push(format!("--{flag} requires the {gate:?} feature to be enabled"));
        return errors;
    }
    errors.extend(blank(flag, uid));
    if !uid.iter().any(|name| name.eq_ignore_ascii_case("X-Remote-Uid")) {
        errors.push(format!(
            "--{flag} is set without specifying the standard X-Remote-Uid header - API aggregation \
             will not work"
        ));
    }
    errors
}

/// Errors in the TLS settings.
pub(super) fn tls(serving: &https::Settings, flags: &Flags) -> Result<(), String> {
    let is_named = |flag: &str| !flags.value(flag).text().is_empty();
    if is_named("tls-cert-file") != is_named("tls-private-key-file") {
        return Err("missing filename for serving cert".to_owned());
    }
    let suites = &serving.cipher_suites;
    if let Some(suite) = suites.iter().find(|suite| !https::is_cipher_suite(suite)) {
        return Err(format!("Cipher suite {suite} not supported or doesn't exist"));
    }
    https::check_curves(&serving.curves)?;
    let version = serving.min_version.as_str();
    if !https::is_version(version) {
        return Err(format!("unknown tls version {version:?}"));
    }
    let is_half = |pair: &https::SniSource| {
        pair.cert.as_os_str().is_empty() || pair.key.as_os_str().is_empty()
    };
    if serving.sni.iter().any(is_half) {
        return Err("failed to load SNI cert and key: missing filename for serving cert".to_owned());
    }
    let has_http2_suite = suites.iter().any(|suite| HTTP2_SUITES.contains(&suite.as_str()));
    if serving.http2 && version != "VersionTLS13" && !suites.is_empty() && !has_http2_suite {
        let [rsa, ecdsa] = HTTP2_SUITES;
        return Err(format!(
            "error configuring http2: http2: TLSConfig.CipherSuites is missing an HTTP/2-required \
             AES_128_GCM_SHA256 cipher (need at least one of {rsa} or {ecdsa})"
        ));
    }
    Ok(())
}

/// A path may have a `*` only at its end.
pub(super) fn paths(guard: &auth::Settings) -> Option<String> {
    let mut paths = guard.always_allow_paths.iter();
    let is_bad = |path: &&String| path.strip_suffix('*').unwrap_or(path).contains('*');
    paths.find(is_bad).map(|path| format!("only trailing * allowed in {path:?}"))
}
