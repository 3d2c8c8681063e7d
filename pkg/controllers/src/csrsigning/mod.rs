//! The signers of certificate requests: make the certificates that somebody has approved.
//!
//! Reads: CertificateSigningRequest. Writes: CertificateSigningRequest (PUT of `status`). No
//! Events. Upstream: `pkg/controller/certificates/signer`, and `authority` and
//! `certificate_controller.go` beside it (v1.36).
//!
//! Kubernetes has four signers ([`Profile`]), and each that has a key pair signs. A request for it
//! that is approved and not denied gets a certificate, unless it says what this signer does not
//! sign: then it gets the condition `Failed`, and is not looked at again. A certificate has the
//! names of the request and its usages, and no other extension that was requested; it is never that
//! of an authority. It begins five minutes ago, lasts as long as the request asks for and the flag
//! allows, and ends with the authority at the latest. Where it cannot be made, since the request
//! cannot be read, its signature is wrong, or the authority has expired, that is tried again with
//! back-off.
//!
//! **Invariant:** nothing is signed but what the cache shows as approved, and the PUT names the
//! version that was looked at: the API server refuses it if the request was denied meanwhile.
//! **Invariant:** a certificate that is there stays; a request that failed stays so.
//! **Invariant:** the signature of the request is verified, although the API server has done that.
//!
//! What an event costs: a look-up; for an approved request one verification and one signature.
//!
//! Otherwise than upstream,
//! - one engine serves all signers, so a request is looked at once, not four times;
//! - a request that Go's parser reads only by passing over something is refused as unreadable, see
//!   [`api::CertificateRequest`]; and so is one whose signature the library cannot verify, such as
//!   those of keys on P-224 and P-521;
//! - the serial number is derived from the content and the private key, not drawn: explaining a
//!   request shows the certificate that it would get at that moment.
//!
//! # Parts
//!
//! - `profile`: which requests a signer signs.
//! - `usages`: what usages mean in a certificate.
//! - `certificate`: how long a certificate is valid, and its encoding.
//! - `der`: DER that is written.

mod certificate;
mod decide;
mod der;
mod profile;
mod snapshot;
mod usages;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api::{CertificateRequest, CertificateSigningRequest, Key, Time};
use controller::{Facts, Plan, View, Watches};

pub use profile::Profile;
pub use snapshot::Snapshot;

/// Where the authority of a signer comes from.
pub trait Authority: Send + Sync {
    /// The authority as its files have it now. The error says why there is none.
    fn issuer(&self) -> Result<Arc<Issuer>, String>;
}

/// An authority that issues certificates.
#[derive(Clone)]
pub struct Issuer {
    /// Its name, DER.
    pub subject: Box<[u8]>,
    /// Its `subjectKeyIdentifier`; empty if it has none.
    pub key_id: Box<[u8]>,
    /// It signs nothing that is valid longer.
    pub not_after: Time,
    /// `AlgorithmIdentifier` of its signatures, DER.
    pub algorithm: Box<[u8]>,
    /// Its private key.
    pub signer: Arc<dyn Signer>,
}

/// What an authority computes. Like functions, but that a key on an elliptic curve gives another
/// signature each time.
pub trait Signer: Send + Sync {
    /// Whether the author of the request has the private key. The error says why that is not
    /// known.
    fn verify(&self, request: &CertificateRequest) -> Result<(), String>;

    /// A number that nobody else can foresee, other for each content.
    fn serial(&self, content: &[u8]) -> [u8; 16];

    /// The signature of these bytes.
    fn sign(&self, bytes: &[u8]) -> Result<Vec<u8>, String>;
}

/// The controller.
#[derive(Clone)]
pub struct Controller {
    /// The signers that sign here.
    pub authorities: BTreeMap<Profile, Arc<dyn Authority>>,
    /// How long certificates are valid at most.
    pub duration_max: Duration,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<CertificateSigningRequest>(|_, change, _, queue| queue.own(change));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view, &self.authorities)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, self.duration_max), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary(self.duration_max)
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signers: Vec<_> = self.authorities.keys().collect();
        f.debug_struct("Controller").field("signers", &signers).finish_non_exhaustive()
    }
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("not_after", &self.not_after).finish_non_exhaustive()
    }
}
