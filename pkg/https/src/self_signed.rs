//! A self-signed certificate, for when none is configured.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SanType, SerialNumber, date_time_ymd,
};
use runtime::Runtime;

use crate::Error;
use crate::error::in_words;

const HOUR: Duration = Duration::from_hours(1);
const YEAR: Duration = Duration::from_hours(24 * 365);

/// A chain and its key as PEM.
pub(crate) struct Generated {
    /// The certificate, then the CA that signed it.
    pub(crate) cert: String,
    /// The key, as PKCS 8.
    pub(crate) key: String,
}

/// Generates a certificate for localhost, 127.0.0.1 and the address of the listener, valid from an
/// hour ago for a year, signed by a CA whose key is dropped at once.
///
/// As `GenerateSelfSignedCertKey` of client-go's util/cert/cert.go, but with keys on P-256 instead
/// of RSA. The keys come from the system's randomness, not from the runtime's.
pub(crate) fn generate(bind: IpAddr, runtime: &Runtime) -> Result<Generated, Error> {
    let failed = |error: rcgen::Error| {
        Error::SelfSigned(format!("unable to generate self signed cert: {error}"))
    };
    let authority_key = KeyPair::generate().map_err(failed)?;
    let authority = CertifiedIssuer::self_signed(authority_params(runtime), authority_key);
    let authority = authority.map_err(failed)?;
    let key = KeyPair::generate().map_err(failed)?;
    let params = server_params(bind, runtime).map_err(failed)?;
    let cert = params.signed_by(&key, &authority).map_err(failed)?;
    Ok(Generated { cert: cert.pem() + &authority.pem(), key: key.serialize_pem() })
}

/// Finds the pair in `dir`, or generates it there. Returns the paths, certificate first.
///
/// As `MaybeDefaultWithSelfSignedCerts` of upstream's options/serving.go: half a pair is an error,
/// a file that cannot be opened counts as missing.
pub(crate) fn in_directory(
    dir: &Path,
    pair_name: &str,
    generate: impl FnOnce() -> Result<Generated, Error>,
) -> Result<(PathBuf, PathBuf), Error> {
    let [cert, key] = ["crt", "key"].map(|kind| dir.join(format!("{pair_name}.{kind}")));
    let half = |missing: &Path| {
        let missing = missing.display();
        let text =
            format!("error reading {missing}, certificate and key must be supplied as a pair");
        Err(Error::SelfSigned(format!("--cert-dir: {text}")))
    };
    match (File::open(&cert).is_ok(), File::open(&key).is_ok()) {
        (true, true) => return Ok((cert, key)),
        (true, false) => return half(&key),
        (false, true) => return half(&cert),
        (false, false) => {}
    }
    let made = generate()?;
    let written = |path: &Path, result: io::Result<()>| {
        result.map_err(|error| {
            let (path, error) = (path.display(), in_words(&error));
            Error::SelfSigned(format!("--cert-dir: cannot write {path}: {error}"))
        })
    };
    written(dir, DirBuilder::new().recursive(true).mode(0o755).create(dir))?;
    written(&cert, write(&cert, &made.cert, 0o644))?;
    written(&key, write(&key, &made.key, 0o600))?;
    tracing::info!(cert = %cert.display(), key = %key.display(), "generated self-signed cert");
    Ok((cert, key))
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    // The mode above is only for new files.
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    file.write_all(text.as_bytes())
}

fn authority_params(runtime: &Runtime) -> CertificateParams {
    let mut params = params("localhost-ca", runtime);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages.push(KeyUsagePurpose::KeyCertSign);
    params
}

fn server_params(bind: IpAddr, runtime: &Runtime) -> Result<CertificateParams, rcgen::Error> {
    let localhost = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut params = params("localhost", runtime);
    params.is_ca = IsCa::ExplicitNoCa;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    params.subject_alt_names =
        vec![SanType::DnsName("localhost".try_into()?), SanType::IpAddress(localhost)];
    if !bind.is_unspecified() && bind != localhost {
        params.subject_alt_names.push(SanType::IpAddress(bind));
    }
    Ok(params)
}

/// The common parameters of both certificates, with `name` and the time as the subject.
fn params(name: &str, runtime: &Runtime) -> CertificateParams {
    let unix_ns = u64::try_from(runtime.clock.now().unix_nanos()).unwrap_or(0);
    let now = Duration::from_secs(Duration::from_nanos(unix_ns).as_secs());
    let from = date_time_ymd(1970, 1, 1) + now.saturating_sub(HOUR);
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, format!("{name}@{}", now.as_secs()));
    params.not_before = from;
    params.not_after = from + YEAR;
    // Positive, and never zero.
    params.serial_number = Some(SerialNumber::from((runtime.random.bits() >> 1) | 1));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params
}
