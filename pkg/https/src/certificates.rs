//! The serving certificates: which one for which client, and their reloading.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use runtime::{Clock, Latest, Runtime};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

use crate::self_signed::{self, Generated};
use crate::{CertificateSource, Error, PairError, Settings};

/// More than any chain needs. A device or a log file is not read into memory.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// All certificates and their sources.
pub(crate) struct Certificates {
    default: Slot,
    sni: Vec<Slot>,
    table: Latest<Arc<Table>>,
}

/// Chooses the certificate of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Chooser {
    table: Latest<Arc<Table>>,
    /// Our address of the connection, which counts if the client sends no server name.
    address: Option<IpAddr>,
}

/// Certificates by server name.
#[derive(Debug)]
struct Table {
    default: Arc<CertifiedKey>,
    by_name: BTreeMap<String, Arc<CertifiedKey>>,
}

/// One certificate.
struct Slot {
    /// None: it was generated in memory and does not change.
    files: Option<Files>,
    /// The configured names; if there are none, those in the certificate count.
    names: Vec<String>,
    loaded: Loaded,
    /// Why the files cannot be served now, as it was logged.
    complaint: Option<String>,
}

#[derive(Clone)]
struct Files {
    cert_flag: &'static str,
    cert: PathBuf,
    key_flag: &'static str,
    key: PathBuf,
}

#[derive(PartialEq, Eq)]
struct Content {
    cert: Vec<u8>,
    key: Vec<u8>,
}

struct Loaded {
    content: Content,
    served: Arc<CertifiedKey>,
    /// As in the certificate.
    names: Vec<String>,
}

// === impl Certificates ===

impl Certificates {
    /// Loads all certificates of the settings, and generates missing ones.
    pub(crate) fn load(settings: &Settings, runtime: &Runtime) -> Result<Self, Error> {
        let default = default_slot(settings, runtime)?;
        let sni: Result<Vec<Slot>, Error> = settings
            .sni
            .iter()
            .map(|source| {
                let flag = "--tls-sni-cert-key";
                let files = Files::new((flag, &source.cert), (flag, &source.key));
                Slot::from_files(files, &source.names).map_err(Error::Sni)
            })
            .collect();
        let sni = sni?;
        let table = Latest::new(Arc::new(Table::new(&default, &sni)));
        Ok(Self { default, sni, table })
    }

    /// Chooses certificates for new connections, from those loaded last.
    pub(crate) fn chooser(&self) -> Chooser {
        Chooser { table: self.table.clone(), address: None }
    }

    /// Reloads changed files, for ever.
    pub(crate) async fn follow(mut self, clock: &Clock, every: Duration) -> Infallible {
        loop {
            clock.sleep(every).await;
            self.refresh().await;
        }
    }

    async fn refresh(&mut self) {
        let mut is_new = false;
        for slot in std::iter::once(&mut self.default).chain(&mut self.sni) {
            is_new |= slot.refresh().await;
        }
        if is_new {
            self.table.set(Arc::new(Table::new(&self.default, &self.sni)));
        }
    }
}

fn default_slot(settings: &Settings, runtime: &Runtime) -> Result<Slot, Error> {
    let generate = || self_signed::generate(settings.bind, runtime);
    let files = match &settings.certificate {
        CertificateSource::SelfSigned => {
            let slot = Slot::from_memory(generate()?)?;
            tracing::info!("generated self-signed cert in-memory");
            return Ok(slot);
        }
        CertificateSource::Files { cert, key } => {
            Files::new(("--tls-cert-file", cert), ("--tls-private-key-file", key))
        }
        CertificateSource::Directory { dir, pair_name } => {
            let (cert, key) = self_signed::in_directory(dir, pair_name, generate)?;
            Files::new(("--cert-dir", &cert), ("--cert-dir", &key))
        }
    };
    Slot::from_files(files, &[]).map_err(Error::Certificate)
}

// === impl Chooser ===

impl Chooser {
    /// The chooser for a connection to `address`.
    pub(crate) fn at(&self, address: IpAddr) -> Self {
        Self { table: self.table.clone(), address: Some(address.to_canonical()) }
    }
}

impl ResolvesServerCert for Chooser {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let table = self.table.get();
        let name = hello.server_name().map(str::to_owned);
        let name = name.or_else(|| self.address.map(|address| address.to_string()));
        Some(Arc::clone(table.choose(&name.unwrap_or_default())))
    }
}

// === impl Table ===

impl Table {
    /// As `BuildNamedCertificates` of upstream's named_certificates.go: configured names beat names
    /// in certificates, and earlier rows beat later ones.
    fn new(default: &Slot, sni: &[Slot]) -> Self {
        let mut by_name = BTreeMap::new();
        let given = sni.iter().flat_map(|slot| slot.names.iter().map(move |name| (name, slot)));
        let own = sni.iter().filter(|slot| slot.names.is_empty());
        let own = own.flat_map(|slot| slot.loaded.names.iter().map(move |name| (name, slot)));
        for (name, slot) in given.chain(own) {
            let served = || Arc::clone(&slot.loaded.served);
            by_name.entry(name.to_lowercase()).or_insert_with(served);
        }
        Self { default: Arc::clone(&default.loaded.served), by_name }
    }

    /// The name itself, else a `*` for its first label, else the default: `getCertificate` of Go's
    /// crypto/tls.
    fn choose(&self, name: &str) -> &Arc<CertifiedKey> {
        let name = name.to_lowercase();
        let wildcard = || {
            let (_, rest) = name.split_once('.')?;
            self.by_name.get(&format!("*.{rest}"))
        };
        self.by_name.get(&name).or_else(wildcard).unwrap_or(&self.default)
    }
}

// === impl Slot ===

impl Slot {
    fn from_files(files: Files, names: &[String]) -> Result<Self, PairError> {
        let loaded = files.parse(files.read()?)?;
        Ok(Self { files: Some(files), names: names.to_vec(), loaded, complaint: None })
    }

    fn from_memory(made: Generated) -> Result<Self, Error> {
        let content = Content { cert: made.cert.into_bytes(), key: made.key.into_bytes() };
        let loaded = Loaded::new(content).map_err(|(_, problem)| Error::SelfSigned(problem))?;
        Ok(Self { files: None, names: Vec::new(), loaded, complaint: None })
    }

    /// Returns whether there is a new certificate to serve. A broken one is not served, and logged
    /// once: the two files are seldom replaced at the same moment.
    async fn refresh(&mut self) -> bool {
        let Some(files) = self.files.clone() else { return false };
        // A file system that hangs must not block the manager.
        let reader = files.clone();
        let Ok(read) = tokio::task::spawn_blocking(move || reader.read()).await else {
            return false;
        };
        let content = match read {
            Ok(content) if content == self.loaded.content => {
                self.complaint = None;
                return false;
            }
            read => read,
        };
        match content.and_then(|content| files.parse(content)) {
            Ok(loaded) => {
                tracing::info!(cert = %files.cert.display(), "serving a new certificate");
                (self.loaded, self.complaint) = (loaded, None);
                true
            }
            Err(error) => {
                let error = error.to_string();
                if self.complaint.as_ref() != Some(&error) {
                    tracing::warn!(error, "cannot load a new certificate, the old one is kept");
                    self.complaint = Some(error);
                }
                false
            }
        }
    }
}

// === impl Files ===

impl Files {
    fn new(cert: (&'static str, &Path), key: (&'static str, &Path)) -> Self {
        let (cert_flag, cert) = (cert.0, cert.1.to_owned());
        let (key_flag, key) = (key.0, key.1.to_owned());
        Self { cert_flag, cert, key_flag, key }
    }

    fn read(&self) -> Result<Content, PairError> {
        let read = |flag, path: &Path| {
            if path.as_os_str().is_empty() {
                return Err(PairError::Missing { flag });
            }
            let bytes = read_file(path);
            bytes.map_err(|source| PairError::Read { flag, path: path.to_owned(), source })
        };
        let cert = read(self.cert_flag, &self.cert)?;
        Ok(Content { cert, key: read(self.key_flag, &self.key)? })
    }

    fn parse(&self, content: Content) -> Result<Loaded, PairError> {
        Loaded::new(content).map_err(|(half, problem)| {
            let (flag, path) = match half {
                Half::Cert => (self.cert_flag, &self.cert),
                Half::Key => (self.key_flag, &self.key),
            };
            PairError::Content { flag, path: path.clone(), problem }
        })
    }
}

/// Which of the two files is wrong.
enum Half {
    Cert,
    Key,
}

impl Loaded {
    fn new(content: Content) -> Result<Self, (Half, String)> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&content.cert).collect();
        let chain = chain.map_err(|error| (Half::Cert, error.to_string()))?;
        let Some(first) = chain.first() else {
            return Err((Half::Cert, "no certificate in it".to_owned()));
        };
        let names = X509Certificate::from_der(first).map(|(_, certificate)| names(&certificate));
        let names = names.map_err(|error| (Half::Cert, format!("not a certificate: {error}")))?;
        let key = PrivateKeyDer::from_pem_slice(&content.key)
            .map_err(|error| (Half::Key, format!("no private key in it: {error}")))?;
        let served =
            CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| {
                (Half::Key, format!("cannot be used with the certificate: {error}"))
            })?;
        Ok(Self { content, served: Arc::new(served), names })
    }
}

/// As `getCertificateNames` of upstream's named_certificates.go: the common name, if it is a valid
/// host name, and the alternative names, but no addresses.
fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let common = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
    let common = common.filter(|name| is_host(name)).last().map(str::to_owned);
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let alternative = alternative.map(|names| names.value.general_names.as_slice());
    let hosts = alternative.unwrap_or_default().iter().filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    });
    common.into_iter().chain(hosts).collect()
}

/// Whether the name is an RFC 1123 subdomain, perhaps behind `*.`, and not an address.
fn is_host(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let ends = [label.bytes().next(), label.bytes().last()];
        ends.iter().all(|end| end.is_some_and(is_inner))
            && label.bytes().all(|byte| is_inner(byte) || byte == b'-')
    };
    let plain = name.strip_prefix("*.").unwrap_or(name);
    let is_subdomain = plain.len() <= 253 && plain.split('.').all(is_label);
    name == "*" || (is_subdomain && name.parse::<IpAddr>().is_err())
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 1 MiB"));
    }
    Ok(bytes)
}
