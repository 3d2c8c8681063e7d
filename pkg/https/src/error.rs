//! Why the port cannot be opened.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the port cannot be opened. The texts begin with upstream's.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is in use, is not ours, or may not be used.
    #[error(
        "failed to create listener: failed to listen on {address}: \
         listen tcp {address}: {step}: {}",
        in_words(source)
    )]
    Listen {
        /// What to listen on.
        address: SocketAddr,
        /// The system call that failed.
        step: &'static str,
        /// How it failed.
        source: io::Error,
    },
    /// No certificate could be made, or it could not be written to `--cert-dir`.
    #[error("error creating self-signed certificates: {0}")]
    SelfSigned(String),
    /// The certificate of `--tls-cert-file`, or of `--cert-dir`.
    #[error("failed to load serving cert and key: {0}")]
    Certificate(#[source] PairError),
    /// A certificate of `--tls-sni-cert-key`.
    #[error("failed to load SNI cert and key: {0}")]
    Sni(#[source] PairError),
    /// An unknown name in `--tls-cipher-suites`.
    #[error("--tls-cipher-suites: Cipher suite {0} not supported or doesn't exist")]
    CipherSuite(String),
    /// Names in `--tls-cipher-suites` that upstream supports, but none that we support.
    #[error(
        "--tls-cipher-suites: none of {0} is served here: name one with ECDHE and GCM or \
         CHACHA20, or set --tls-min-version=VersionTLS13"
    )]
    NoCipherSuite(String),
    /// An invalid number in `--tls-curve-preferences`.
    #[error("--tls-curve-preferences: {0}")]
    Curve(String),
    /// An unknown version.
    #[error("--tls-min-version: unknown tls version {0:?}")]
    Version(String),
    /// The TLS library refuses the configuration.
    #[error("cannot serve TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// What is wrong with a certificate and its key.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// One of the two is missing.
    #[error("{flag}: missing filename for serving cert: both certificate and key are needed")]
    Missing {
        /// The flag with the files.
        flag: &'static str,
    },
    /// A file cannot be read.
    #[error("{flag}: open {}: {}", path.display(), in_words(source))]
    Read {
        /// The flag that names the file.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The content of a file is wrong.
    #[error("{flag}: {}: {problem}", path.display())]
    Content {
        /// The flag that names the file.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// A system error as in upstream's log: in lower case, without the number.
pub(crate) fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}
