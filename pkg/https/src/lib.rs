//! The secure port: certificates, connections and their limits. The pages are served by the service
//! that [`Port::serve`] gets.
//!
//! Upstream: k8s.io/apiserver pkg/server/secure_serving.go, options/serving.go and
//! dynamiccertificates.
//!
//! # Limits
//!
//! Clients of the port are untrusted, so each step of a connection has a limit: the TLS handshake,
//! the head of each request, the idle time between two, the time in which the client does not read
//! its response, the size of a head, the number of connections and of streams in each. When there
//! are too many connections, those of unauthenticated clients make room for new ones, so that a
//! probe is always answered. The pages themselves limit their time and the size of request bodies.

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

/// The configuration of the port, from the flags.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `--bind-address`. Unspecified, of either family, means all addresses of both families.
    pub bind: IpAddr,
    /// `--secure-port`; 0 lets the system choose.
    pub port: u16,
    /// `--permit-port-sharing`: other processes may listen on the same port.
    /// `--permit-address-sharing` has no effect: upstream's listeners always set SO_REUSEADDR, and
    /// so do ours.
    pub share_port: bool,
    /// The certificate for clients that no row of `sni` matches.
    pub certificate: CertificateSource,
    /// `--tls-sni-cert-key`. If two rows have the same name, the earlier one wins.
    pub sni: Vec<SniSource>,
    /// `--tls-min-version`; empty is VersionTLS12, the oldest supported one.
    pub min_version: String,
    /// `--tls-cipher-suites` by their IANA names; empty is all. As upstream, this concerns TLS 1.2:
    /// the suites of TLS 1.3 are always offered.
    pub cipher_suites: Vec<String>,
    /// `--tls-curve-preferences` as numbers; empty is all. Their order does not matter.
    pub curves: Vec<i32>,
    /// Whether clients may choose HTTP/2: not with `--disable-http2-serving`.
    pub http2: bool,
    /// `--http2-max-streams-per-connection`; 0 is 100, as upstream.
    pub http2_max_streams: u32,
    /// The limits for clients.
    pub limits: Limits,
}

/// The source of a certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSource {
    /// `--tls-cert-file` and `--tls-private-key-file`.
    Files {
        /// The certificate, and the CAs between it and the root.
        cert: PathBuf,
        /// Its key.
        key: PathBuf,
    },
    /// `--cert-dir`: `<dir>/<pair_name>.crt` and `.key`, generated there if missing.
    Directory {
        /// The directory, created if missing.
        dir: PathBuf,
        /// The name of the files.
        pair_name: String,
    },
    /// A new one for this process only.
    SelfSigned,
}

/// A certificate for certain server names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SniSource {
    /// The certificate, and the CAs between it and the root.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Names, wildcards such as `*.example`, or addresses of ours for clients without a server
    /// name. Empty means the names in the certificate.
    pub names: Vec<String>,
}

/// When to close a connection, and how many to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the connection to the end of the TLS handshake.
    pub handshake: Duration,
    /// From the first byte of a request (of the first request: from the handshake) to the end of
    /// its head.
    pub head: Duration,
    /// Between two requests.
    pub idle: Duration,
    /// While there is a response and the client does not read.
    pub write: Duration,
    /// The number of connections, those in the handshake included. Each connection beyond it ends
    /// one of an unauthenticated client, in any state: the oldest one of the address with the most
    /// connections. Connections that the service has vouched for ([`Line::vouch`]) stay; they get
    /// at most nine tenths of the places. The number is lower if the process may not open twice as
    /// many files.
    pub connections: usize,
    /// How long a changed certificate file may take to be served.
    pub certificate_age: Duration,
}

/// The certificates that the client sent, its own first; empty if it sent none. An extension of
/// each request, beside the client's `SocketAddr`.
///
/// The client has proven that it has the key of the first one. Nothing else is verified: neither
/// the issuer nor the validity.
#[derive(Clone, Debug)]
pub struct PeerCertificates(pub Arc<[CertificateDer<'static>]>);

/// The connection of a request. An extension of each request.
#[derive(Clone)]
pub struct Line {
    places: Places,
    network: IpAddr,
    number: u64,
}

// === impl Line ===

impl Line {
    /// Marks the client as authenticated: its connection is not ended to make room for others. No
    /// effect if very many are marked already.
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
    /// handshake (32 s there). Upstream detects new certificates at once, by inotify.
    pub const USUAL: Self = Self {
        handshake: Duration::from_secs(10),
        head: Duration::from_secs(32),
        idle: Duration::from_secs(90),
        write: Duration::from_secs(30),
        connections: 1000,
        certificate_age: Duration::from_secs(20),
    };
}
