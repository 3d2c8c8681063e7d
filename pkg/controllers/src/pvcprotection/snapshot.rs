//! What a sync of a claim looks at.

use std::sync::Arc;

use api::{Key, PersistentVolumeClaim, Pod, Time};
use controller::View;

use super::usage::{Unused, keeps, refers};

/// A claim, and its users.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The claim.
    pub claim: Arc<PersistentVolumeClaim>,
    /// A pod that keeps it if it is being deleted, as the cache has it.
    pub keeper: Option<Key>,
    /// A pod that makes that it is not unused, as the cache has it.
    pub referrer: Option<Key>,
    /// Whether an earlier live list found it unused, which began after it was deleted.
    pub known_unused: bool,
    /// All claims of its namespace that wait like it, and it: if no pod in the cache keeps it.
    pub held: Vec<Arc<PersistentVolumeClaim>>,
}

pub(super) fn observe(key: &Key, view: &View<'_>, memory: &Unused) -> Option<Snapshot> {
    let claims = view.of::<PersistentVolumeClaim>();
    let claim = claims.get(key)?;
    let pods = view.of::<Pod>().by(Pod::BY_CLAIM, &key.to_string());
    let first = |uses: fn(&Pod, &PersistentVolumeClaim) -> bool| {
        let found = pods.iter().find(|pod| uses(pod, &claim));
        found.map(|pod| pod.meta.key.clone())
    };
    let (keeper, referrer) = (first(keeps), first(refers));
    let known_unused = memory.has(&claim);
    let asks = claim.is_held() && keeper.is_none() && !known_unused;
    let held = if asks {
        claims.by(PersistentVolumeClaim::HELD_BY_NAMESPACE, &key.namespace)
    } else {
        Vec::new()
    };
    Some(Snapshot { now: view.now, claim, keeper, referrer, known_unused, held })
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let user = |pod: &Option<Key>| pod.as_ref().map_or("none".to_owned(), Key::to_string);
        let finalizers = self.claim.meta.finalizers.join(", ");
        vec![
            ("being deleted", self.claim.meta.is_terminating().to_string()),
            ("finalizers", if finalizers.is_empty() { "none".to_owned() } else { finalizers }),
            ("kept by a pod in the cache", user(&self.keeper)),
            ("a live list found it unused", self.known_unused.to_string()),
        ]
    }
}
