//! The authorities that sign certificates: key pairs in files, which are read again when they
//! change. As `caProvider` of upstream's pkg/controller/certificates/signer, and
//! `DynamicCertKeyPairContent` of k8s.io/apiserver.
//!
//! Signs with ring, which TLS uses anyway: RSA keys of 2048 to 4096 bits, ECDSA keys on P-256 and
//! P-384, and Ed25519 keys. Upstream also accepts other sizes of RSA keys, and keys on P-224 and
//! P-521.

mod proof;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use api::{CertificateRequest, Time};
use controllers::csrsigning::{Authority, Issuer, Profile, Signer};
use ring::hmac::{self, HMAC_SHA256};
use runtime::{Clock, Latest};
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::FromDer as _;

use crate::flags::handles;
use crate::options::Options;

/// The flags of a key pair: of its certificate, and of its key.
type Flags = (handles::Text, handles::Text);

/// How often the files are read.
const EVERY: Duration = Duration::from_secs(20);
/// More than any key pair needs.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The key pair of all signers.
const GENERAL: Flags = (handles::CLUSTER_SIGNING_CERT_FILE, handles::CLUSTER_SIGNING_KEY_FILE);
/// How authorities sign, as Go's `signingParamsForKey` chooses it: the scheme, and its
/// `AlgorithmIdentifier`, DER.
const ALGORITHMS: [(SignatureScheme, &[u8]); 4] = [
    (
        SignatureScheme::RSA_PKCS1_SHA256,
        &[0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11, 5, 0],
    ),
    (
        SignatureScheme::ECDSA_NISTP256_SHA256,
        &[0x30, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2],
    ),
    (
        SignatureScheme::ECDSA_NISTP384_SHA384,
        &[0x30, 10, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3],
    ),
    (SignatureScheme::ED25519, &[0x30, 5, 6, 3, 0x2b, 0x65, 0x70]),
];

/// The authority in a pair of files.
pub(crate) struct FileAuthority {
    files: Files,
    loaded: Latest<Loaded>,
}

#[derive(Clone)]
struct Files {
    flags: (&'static str, &'static str),
    cert: PathBuf,
    key: PathBuf,
}

#[derive(PartialEq, Eq)]
struct Content {
    cert: Vec<u8>,
    key: Vec<u8>,
}

#[derive(Clone)]
struct Loaded {
    /// The last pair that fits together.
    content: Arc<Content>,
    /// What it is good for.
    issuer: Result<Arc<Issuer>, String>,
    /// Why the files cannot be loaded now, as it was logged.
    complaint: Option<String>,
}

/// A private key.
struct RingSigner {
    signer: Box<dyn rustls::sign::Signer>,
    /// Serial numbers are derived with it. It is made of the private key, so that all processes
    /// that sign with that derive the same.
    secret: hmac::Key,
}

/// The flags of the key pair of one signer.
const fn flags(profile: Profile) -> Flags {
    match profile {
        Profile::KubeletServing => (
            handles::CLUSTER_SIGNING_KUBELET_SERVING_CERT_FILE,
            handles::CLUSTER_SIGNING_KUBELET_SERVING_KEY_FILE,
        ),
        Profile::KubeletClient => (
            handles::CLUSTER_SIGNING_KUBELET_CLIENT_CERT_FILE,
            handles::CLUSTER_SIGNING_KUBELET_CLIENT_KEY_FILE,
        ),
        Profile::ApiServerClient => (
            handles::CLUSTER_SIGNING_KUBE_APISERVER_CLIENT_CERT_FILE,
            handles::CLUSTER_SIGNING_KUBE_APISERVER_CLIENT_KEY_FILE,
        ),
        Profile::LegacyUnknown => (
            handles::CLUSTER_SIGNING_LEGACY_UNKNOWN_CERT_FILE,
            handles::CLUSTER_SIGNING_LEGACY_UNKNOWN_KEY_FILE,
        ),
    }
}

/// Why nothing can be signed with these options, in upstream's words; none: something can. The
/// general pair counts as missing if one half of it is.
pub(crate) fn lacks(options: &Options) -> Option<&'static str> {
    let is_given = |flag| !options.flags.text(flag).is_empty();
    let own = Profile::ALL.into_iter().map(flags);
    let is_any = own.into_iter().any(|(cert, key)| is_given(cert) || is_given(key));
    let is_general = is_given(GENERAL.0) && is_given(GENERAL.1);
    let why = "Skipping CSR signer controller because no csr cert/key was specified";
    (!is_any && !is_general).then_some(why)
}

/// The authorities of the signers that have one. An error if a file cannot be read, a pair does not
/// fit together, or its key is not supported.
pub(crate) fn authorities(
    options: &Options,
) -> anyhow::Result<BTreeMap<Profile, Arc<FileAuthority>>> {
    let open = |(cert, key): Flags| {
        let path = |flag| PathBuf::from(options.flags.text(flag));
        let (cert_path, key_path) = (path(cert), path(key));
        if cert_path.as_os_str().is_empty() && key_path.as_os_str().is_empty() {
            return Ok(None);
        }
        let files = Files { flags: (cert.name(), key.name()), cert: cert_path, key: key_path };
        FileAuthority::open(files).map(Arc::new).map(Some)
    };
    let mut authorities = BTreeMap::new();
    for profile in Profile::ALL {
        if let Some(authority) = open(flags(profile))? {
            authorities.insert(profile, authority);
        }
    }
    if authorities.is_empty() {
        let general = open(GENERAL)?.context("no key pair that could sign certificates")?;
        authorities.extend(Profile::ALL.map(|profile| (profile, Arc::clone(&general))));
    }
    for profile in Profile::ALL.into_iter().filter(|it| !authorities.contains_key(it)) {
        let signer = profile.signer_name();
        tracing::info!(signer, "a signer has no key pair, but others have: it does not sign");
    }
    Ok(authorities)
}

/// Reads the files again and again: at once, since this process may have been a standby for days.
pub(crate) async fn follow(
    authorities: BTreeMap<Profile, Arc<FileAuthority>>,
    clock: Clock,
) -> Infallible {
    let mut all: Vec<_> = authorities.into_values().collect();
    // One pair may be that of all signers.
    all.dedup_by(|one, other| Arc::ptr_eq(one, other));
    // As at the start of the process, without another thread: nothing is to be signed before.
    for authority in &all {
        authority.take(authority.files.read());
    }
    loop {
        clock.sleep(EVERY).await;
        for authority in &all {
            authority.refresh().await;
        }
    }
}

// === impl FileAuthority ===

impl FileAuthority {
    fn open(files: Files) -> anyhow::Result<Self> {
        let content = files.read()?;
        let issuer = files.pair(&content)?;
        files.check_single(&content)?;
        let content = Arc::new(content);
        let loaded = Loaded { content, issuer: Ok(Arc::new(issuer)), complaint: None };
        Ok(Self { files, loaded: Latest::new(loaded) })
    }

    /// Reads the files again.
    async fn refresh(&self) {
        // A file system that hangs must not block the manager.
        let files = self.files.clone();
        if let Ok(read) = tokio::task::spawn_blocking(move || files.read()).await {
            self.take(read);
        }
    }

    /// Takes what was read. What does not fit together is not used, and logged once: the two files
    /// are seldom replaced at the same moment.
    fn take(&self, read: anyhow::Result<Content>) {
        let last = self.loaded.get();
        match read {
            Ok(content) if content == *last.content => {
                self.loaded.set(Loaded { complaint: None, ..last });
            }
            read => {
                let loaded = read.and_then(|content| self.load(content));
                self.loaded.set(loaded.unwrap_or_else(|error| last.complaining(&error)));
            }
        }
    }

    fn load(&self, content: Content) -> anyhow::Result<Loaded> {
        let issuer = self.files.pair(&content)?;
        let single = self.files.check_single(&content).map_err(|error| format!("{error:#}"));
        let cert = self.files.cert.display();
        match &single {
            Ok(()) => tracing::info!(%cert, "certificates are signed with another key pair"),
            Err(error) => tracing::warn!(%cert, error, "no certificates can be signed"),
        }
        let issuer = single.map(|()| Arc::new(issuer));
        Ok(Loaded { content: Arc::new(content), issuer, complaint: None })
    }
}

impl Authority for FileAuthority {
    fn issuer(&self) -> Result<Arc<Issuer>, String> {
        self.loaded.with(|loaded| loaded.issuer.clone())
    }
}

impl Loaded {
    fn complaining(self, error: &anyhow::Error) -> Self {
        let error = format!("{error:#}");
        if self.complaint.as_ref() != Some(&error) {
            tracing::warn!(
                error,
                "cannot load another key pair, certificates are signed as before"
            );
        }
        Self { complaint: Some(error), ..self }
    }
}

// === impl Files ===

impl Files {
    fn read(&self) -> anyhow::Result<Content> {
        let read = |flag, path: &PathBuf| {
            let mut bytes = Vec::new();
            let mut limited = File::open(path)
                .with_context(|| format!("--{flag} {}", path.display()))?
                .take(FILE_BYTES_MAX + 1);
            let read = limited.read_to_end(&mut bytes);
            let read = match read {
                Ok(_) if bytes.len() as u64 > FILE_BYTES_MAX => {
                    Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 1 MiB"))
                }
                read => read,
            };
            read.with_context(|| format!("--{flag} {}", path.display()))?;
            anyhow::Ok(bytes)
        };
        Ok(Content { cert: read(self.flags.0, &self.cert)?, key: read(self.flags.1, &self.key)? })
    }

    /// The authority whose certificate comes first. As `tls.X509KeyPair`: the key must fit.
    fn pair(&self, content: &Content) -> anyhow::Result<Issuer> {
        let about_cert = || format!("--{} {}", self.flags.0, self.cert.display());
        let about_key = || format!("--{} {}", self.flags.1, self.key.display());
        let certificate = match CertificateDer::pem_slice_iter(&content.cert).next() {
            Some(Ok(certificate)) => certificate,
            Some(Err(error)) => return Err(error).with_context(about_cert),
            None => return Err(anyhow::anyhow!("holds no certificate")).with_context(about_cert),
        };
        let parsed = X509Certificate::from_der(&certificate);
        let (_, certificate) =
            parsed.context("its certificate is broken").with_context(about_cert)?;
        let (algorithm, signer) =
            signer(content, certificate.public_key().raw).with_context(about_key)?;
        let key_id = certificate.extensions().iter().find_map(|it| match it.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.into()),
            _ => None,
        });
        Ok(Issuer {
            subject: certificate.subject().as_raw().into(),
            key_id: key_id.unwrap_or_default(),
            not_after: Time::from_unix(certificate.validity().not_after.timestamp(), 0),
            algorithm: algorithm.into(),
            signer: Arc::new(signer),
        })
    }

    /// As `setCA`: a chain is no authority.
    fn check_single(&self, content: &Content) -> anyhow::Result<()> {
        let found = CertificateDer::pem_slice_iter(&content.cert).flatten().count();
        let (flag, file) = (self.flags.0, self.cert.display());
        ensure!(found == 1, "--{flag} {file}: expected 1 certificate, found {found}");
        Ok(())
    }
}

// === impl RingSigner ===

/// The private key of the pair whose certificate has this public key, and how it signs.
fn signer(content: &Content, public_key: &[u8]) -> anyhow::Result<(&'static [u8], RingSigner)> {
    let unfit = "its private key cannot sign certificates here, only RSA keys of 2048 to 4096 \
                 bits, ECDSA keys on P-256 or P-384, and Ed25519 keys can";
    // Sections that are not private keys, such as EC PARAMETERS, are skipped.
    let key = match PrivateKeyDer::pem_slice_iter(&content.key).next() {
        Some(Ok(key)) => key,
        // The error would contain a part of the key.
        Some(Err(_)) => bail!("a section of it is not PEM"),
        None => bail!("holds no private key (RSA PRIVATE KEY, EC PRIVATE KEY or PRIVATE KEY)"),
    };
    let key = any_supported_type(&key).ok().context(unfit)?;
    let own = key.public_key().context("the public part of its key is missing")?;
    ensure!(*own == *public_key, "its private key is not that of the certificate");
    let (scheme, algorithm, signer) = ALGORITHMS
        .into_iter()
        .find_map(|(scheme, algorithm)| Some((scheme, algorithm, key.choose_scheme(&[scheme])?)))
        .context(unfit)?;
    ensure!(signer.scheme() == scheme, "{unfit}");
    Ok((algorithm, RingSigner { signer, secret: hmac::Key::new(HMAC_SHA256, &content.key) }))
}

impl Signer for RingSigner {
    fn verify(&self, request: &CertificateRequest) -> Result<(), String> {
        proof::verify(request)
    }

    fn serial(&self, content: &[u8]) -> [u8; 16] {
        let tag = hmac::sign(&self.secret, content);
        *tag.as_ref().first_chunk().expect("SHA-256 has 32 bytes")
    }

    fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, String> {
        self.signer.sign(bytes).map_err(|error| error.to_string())
    }
}
