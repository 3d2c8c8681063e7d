//! Tokens of service accounts that live in Secrets: fills the Secrets that ask for one, and deletes
//! those whose account is deleted.
//!
//! Reads: ServiceAccount, Secret (those of type `kubernetes.io/service-account-token` only).
//! Writes: Secret (update, delete), ServiceAccount (update). No Events. Upstream:
//! `pkg/controller/serviceaccount/tokens_controller.go` (v1.36).
//!
//! Two controllers, each with a queue of its own:
//!
//! - [`Accounts`], whose keys are service accounts, deletes the Secrets of one that is deleted;
//! - [`Secrets`], whose keys are Secrets, gives each of them the token, the namespace and the
//!   authority that it lacks, and deletes it if its account is deleted. Once a Secret is deleted,
//!   its name is struck from the `secrets` of its account.
//!
//! They create no Secret, and add nothing to the `secrets` of an account. A token does not expire:
//! it is valid until its Secret is deleted.
//!
//! **Invariant:** no token is held in memory. The view knows whether there is one; the Secret
//! itself is read right before it is written.
//! **Invariant:** the cache alone gets no Secret deleted: whether the account exists is read live
//! right before. Deletions carry the uid of the Secret.
//! **Invariant:** a token that is there stays. Nothing is written but to the version that the cache
//! shows too.
//!
//! What an event costs: of an account a look-up of its Secrets; of a Secret two look-ups and a
//! comparison of one text. Accounts without such Secrets, nowadays nearly all, cost nothing more.
//!
//! Otherwise than upstream,
//! - the key of an account has no uid, so the event of any account with a name may get the Secrets
//!   of its predecessors deleted. That is why the account is read live first;
//! - if the update of a Secret or an account fails, whatever the error, it is tried again, at most
//!   ten times. Upstream tries conflicts of accounts at once and those of Secrets not at all;
//! - the name of a Secret that is there again stays in the `secrets` of its account.
//!
//! # Parts
//!
//! - `claims`: what a token says.
//! - `content`: what a Secret lacks, and the edits that give it that.
//! - `reference`: the key of the work after the deletion of a Secret.

mod claims;
mod content;
mod decide;
mod reference;
mod snapshot;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use api::{Key, ServiceAccount, TokenSecret};
use controller::{Change, Facts, Plan, View, Watches};

use content::Authority;
use reference::Reference;
pub use snapshot::{AccountSnapshot, SecretSnapshot};

/// Upstream's `maxRetries`.
const RETRIES_MAX: u32 = 10;

/// Makes tokens from what they are to say. Like a function: it keeps no state that a decision could
/// depend on; but with keys on elliptic curves each call gives another signature.
pub trait TokenSigner: Send + Sync {
    /// The token (a JWT in its compact form) whose payload is `claims`, byte by byte. The error
    /// says why there is none.
    fn sign(&self, claims: &[u8]) -> Result<String, String>;
}

/// The controller whose keys are service accounts. It has no options.
#[derive(Clone, Copy, Debug)]
pub struct Accounts;

/// The controller whose keys are Secrets.
#[derive(Clone)]
pub struct Secrets {
    signer: Arc<dyn TokenSigner>,
    authority: Authority,
}

impl controller::Controller for Accounts {
    type Snapshot = AccountSnapshot;
    type Memory = ();
    type Verdict = ();

    const RETRIES_MAX: Option<u32> = Some(RETRIES_MAX);

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<ServiceAccount>(|_, change, _, queue| queue.own(change));
        table.reads::<TokenSecret>();
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<AccountSnapshot> {
        snapshot::observe_account(key, view)
    }

    fn decide(&self, snapshot: &AccountSnapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide_account(snapshot, facts), ())
    }

    fn summary(&self, snapshot: &AccountSnapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}

// === impl Secrets ===

impl Secrets {
    /// With the key that signs, and the authority that pods trust the API server by; if that is
    /// empty, what a Secret has stays.
    pub fn new(signer: Arc<dyn TokenSigner>, root_ca: &str) -> Self {
        Self { signer, authority: Authority::new(root_ca) }
    }
}

impl controller::Controller for Secrets {
    type Snapshot = SecretSnapshot;
    type Memory = ();
    type Verdict = ();

    const RETRIES_MAX: Option<u32> = Some(RETRIES_MAX);

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<TokenSecret>(|_, change, _, queue| {
            queue.own(change);
            if let Change::Deleted(secret) = change
                && let Some(reference) = Reference::to(secret)
            {
                queue.add(&reference.key());
            }
        });
        table.reads::<ServiceAccount>();
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<SecretSnapshot> {
        snapshot::observe_secret(key, view)
    }

    fn decide(&self, snapshot: &SecretSnapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide_secret(snapshot, facts, self), ())
    }

    fn summary(&self, snapshot: &SecretSnapshot) -> Vec<(&'static str, String)> {
        snapshot.summary(&self.authority)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}
