//! Why the port cannot be opened.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why the port cannot be opened. The texts begin with upstream's words.
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
    /// A name in `--tls-cipher-suites` that nobody knows.
    #[error("--tls-cipher-suites: Cipher suite {0} not supported or doesn't exist")]
    CipherSuite(String),
    /// Names in `--tls-cipher-suites` that upstream knows, but none that is served here.
    #[error(
        "--tls-cipher-suites: none of {0} is served here: name one with ECDHE and GCM or \
         CHACHA20, or set --tls-min-version=VersionTLS13"
    )]
    NoCipherSuite(String),
    /// A number in `--tls-curve-preferences` that is none.
    #[error("--tls-curve-preferences: {0}")]
    Curve(String),
    /// A version that nobody knows.
    #[error("--tls-min-version: unknown tls version {0:?}")]
    Version(String),
    /// The TLS library refuses what was asked for.
    #[error("cannot serve TLS: {0}")]
    Tls(#[from] rustls::Error),
}

/// What is wrong with a certificate and its key.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// One of the two is not given.
    #[error("{flag}: missing filename for serving cert: both certificate and key are needed")]
    Missing {
        /// The flag that wants files.
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
    /// A file has not what it should have.
    #[error("{flag}: {}: {problem}", path.display())]
    Content {
        /// The flag that names the file.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        problem: String,
    },
}

/// An error of the system as upstream's log has it: in small letters, without the number.
pub(crate) fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}
