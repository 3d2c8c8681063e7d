//! The secure port: certificates, connections and their limits. What is served there is the
//! business of the service that [`Port::serve`] is given.
//!
//! Upstream: k8s.io/apiserver pkg/server/secure_serving.go, options/serving.go and
//! dynamiccertificates.
//!
//! # Limits
//!
//! Whoever reaches the port may send what they like, so each step of a connection has a limit:
//! the TLS handshake, the head of each request, the silence between two, the time in which nothing
//! of an answer is taken, the size of a head, the connections at once and the streams in each. When
//! there are too many connections, those of strangers make room for newcomers, so that a probe is
//! always answered. How long a page may take, and how large a body it reads, is known to the page
//! alone.

mod activity;
mod certificates;
mod connection;
mod error;
mod listen;
mod places;
mod port;
mod self_signed;
mod service;
#[cfg(test)]
mod tests;
mod tls;

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;

pub use error::{Error, PairError};
pub use port::Port;
pub use tls::{check_curves, is_cipher_suite, is_version};

use crate::places::Places;

/// What to listen on and how, as the flags say it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `--bind-address`. Unspecified, of either family, means all addresses of both families.
    pub bind: IpAddr,
    /// `--secure-port`; 0 lets the system choose.
    pub port: u16,
    /// `--permit-port-sharing`: others may listen on the same port. For `--permit-address-sharing`
    /// there is nothing to say: upstream's listeners always set SO_REUSEADDR, and so do ours.
    pub share_port: bool,
    /// The certificate for clients that no row of `sni` is for.
    pub certificate: CertificateSource,
    /// `--tls-sni-cert-key`. Where two rows have the same name, the earlier one has it.
    pub sni: Vec<SniSource>,
    /// `--tls-min-version`; empty is VersionTLS12, the oldest that is served.
    pub min_version: String,
    /// `--tls-cipher-suites` by their IANA names; empty is all. As upstream, this is about TLS 1.2:
    /// the suites of TLS 1.3 are always offered.
    pub cipher_suites: Vec<String>,
    /// `--tls-curve-preferences` as numbers; empty is all. Their order means nothing.
    pub curves: Vec<i32>,
    /// Whether clients may choose HTTP/2: not with `--disable-http2-serving`.
    pub http2: bool,
    /// `--http2-max-streams-per-connection`; 0 is 100, as upstream.
    pub http2_max_streams: u32,
    /// When to give up on a client.
    pub limits: Limits,
}

/// Where a certificate and its key come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSource {
    /// `--tls-cert-file` and `--tls-private-key-file`.
    Files {
        /// The certificate, and the authorities between it and the root.
        cert: PathBuf,
        /// Its key.
        key: PathBuf,
    },
    /// `--cert-dir`: `<dir>/<pair_name>.crt` and `.key`, written there if there are none.
    Directory {
        /// The directory, made if there is none.
        dir: PathBuf,
        /// What the files are called.
        pair_name: String,
    },
    /// A new one for this process, which only it has.
    SelfSigned,
}

/// A certificate for clients that ask for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SniSource {
    /// The certificate, and the authorities between it and the root.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Names, `*.` and the rest of a name, or addresses of ours that are asked without a name.
    /// Empty means the names in the certificate.
    pub names: Vec<String>,
}

/// When to give up on a client, and on how many to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the connection to the end of the TLS handshake.
    pub handshake: Duration,
    /// From the first byte of a request (of the first request: from the handshake) to the end of
    /// its head.
    pub head: Duration,
    /// Between two requests.
    pub idle: Duration,
    /// While there is an answer and the client takes nothing of it.
    pub write: Duration,
    /// At once, those in the handshake included. For each newcomer beyond it, a connection of a
    /// stranger ends, which may be in the middle of anything: of the address that has most of
    /// them, the oldest. Those that the service has vouched for ([`Line::vouch`]) stay; of ten
    /// places they have nine at most. Fewer where the process may not open twice as many files.
    pub connections: usize,
    /// How old a served certificate may be compared with its file.
    pub certificate_age: Duration,
}

/// The certificates that the client has sent, its own first; empty if it has sent none. An
/// extension of each request, beside the client's `SocketAddr`.
///
/// The client has shown that it has the key of the first one. Nothing else is known: not who
/// signed it, nor whether it is still valid.
#[derive(Clone, Debug)]
pub struct PeerCertificates(pub Arc<[CertificateDer<'static>]>);

/// The connection that a request came over. An extension of each request.
#[derive(Clone)]
pub struct Line {
    places: Places,
    network: IpAddr,
    number: u64,
}

// === impl Line ===

impl Line {
    /// The client has proven who it is: its connection is not ended to make room for others. No
    /// effect if very many are known already.
    pub fn vouch(&self) {
        self.places.vouch(self.network, self.number);
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Line {}", self.number)
    }
}

// === impl Limits ===

impl Limits {
    /// Upstream's, with limits on connections and on writing, which it lacks, and a shorter
    /// handshake (32 s there). Upstream notices new certificates at once, by inotify.
    pub const USUAL: Self = Self {
        handshake: Duration::from_secs(10),
        head: Duration::from_secs(32),
        idle: Duration::from_secs(90),
        write: Duration::from_secs(30),
        connections: 1000,
        certificate_age: Duration::from_secs(20),
    };
}
