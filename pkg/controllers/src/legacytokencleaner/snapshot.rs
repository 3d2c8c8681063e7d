//! What a pass looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Key, Pod, ServiceAccount, Text, Time, TokenSecret};
use controller::View;

/// The Secrets that may be cleaned, at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// How many Secrets with tokens there are.
    pub secrets: usize,
    /// Those that their account lists, which it does only if they were made for it unasked; sorted
    /// by key.
    pub candidates: Vec<Candidate>,
}

/// A Secret that its account lists.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The Secret.
    pub secret: Arc<TokenSecret>,
    /// Whether a pod of its namespace names it, or may name it.
    pub used: bool,
}

/// What the pods of a namespace name.
enum Used {
    These(BTreeSet<Text>),
    /// A pod cannot be read.
    Unknown,
}

pub(super) fn observe(view: &View<'_>) -> Snapshot {
    let secrets = view.of::<TokenSecret>().all();
    let count = secrets.len();
    let mut used: BTreeMap<Text, Used> = BTreeMap::new();
    let listed = secrets.into_iter().filter(|secret| is_listed(secret, view));
    let candidate = |secret: Arc<TokenSecret>| {
        let Key { namespace, name } = &secret.meta.key;
        let used = used.entry(namespace.clone()).or_insert_with(|| used_in(namespace, view));
        let used = match used {
            Used::These(names) => names.contains(name),
            Used::Unknown => true,
        };
        Candidate { secret, used }
    };
    Snapshot { now: view.now, secrets: count, candidates: listed.map(candidate).collect() }
}

/// Whether the account that the Secret is for lists it. As `getServiceAccount` and
/// `hasSecretReference`.
fn is_listed(secret: &TokenSecret, view: &View<'_>) -> bool {
    let key = &secret.meta.key;
    let account = view.of::<ServiceAccount>().get(&Key::new(&key.namespace, &secret.account));
    account.is_some_and(|account| {
        let is_it = secret.account_uid.is_empty() || secret.account_uid == account.meta.uid;
        is_it && account.lists(&key.name)
    })
}

/// As `getMountedSecretNames`.
fn used_in(namespace: &str, view: &View<'_>) -> Used {
    let pods = view.of::<Pod>().by(Pod::BY_NAMESPACE, namespace);
    if pods.iter().any(|pod| pod.unreadable) {
        return Used::Unknown;
    }
    Used::These(pods.iter().flat_map(|pod| pod.secrets.iter().cloned()).collect())
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let used = self.candidates.iter().filter(|candidate| candidate.used).count();
        vec![
            ("secrets with tokens", self.secrets.to_string()),
            ("listed by their account", self.candidates.len().to_string()),
            ("of these named by a pod", used.to_string()),
        ]
    }
}
