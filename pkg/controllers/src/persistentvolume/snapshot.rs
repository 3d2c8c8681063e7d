//! What a sync of a claim looks at.

use std::sync::Arc;
use std::time::Duration;

use api::{
    ClaimBinding, DecodeError, Key, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass,
    Text, Time,
};
use controller::View;

use super::{Claims, Memory, Started};

/// A claim, and what it may be bound to.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// How often a claim that waits is looked at.
    pub sync_period: Duration,
    /// Whether volumes are asked for.
    pub provisions: bool,
    /// The claim.
    pub claim: Arc<PersistentVolumeClaim>,
    /// What only the binder reads of it.
    pub binding: ClaimBinding,
    /// Why it could not be read.
    pub unreadable: Option<DecodeError>,
    /// The volume that it names; none: it names none, or there is none of that name.
    pub volume: Option<Arc<PersistentVolume>>,
    /// The volumes that it may get.
    pub candidates: Candidates,
    /// Its StorageClass; none: it has none, or there is none of that name.
    pub class: Option<Arc<StorageClass>>,
    /// The name of the StorageClass that it gets if no volume fits, since it says nothing of one.
    pub default_class: Option<Text>,
    /// The names of the pods that use it and have no node.
    pub waiting_pods: Vec<Text>,
    /// Since when a volume is being made for it.
    pub started: Option<Started>,
}

/// The volumes that a claim may get.
#[derive(Clone, Debug)]
pub enum Candidates {
    /// It has or names one.
    NotSought,
    /// Those that are kept for it, and the free ones of its class.
    Found(Vec<Arc<PersistentVolume>>),
}

pub(super) fn observe(
    options: &Claims,
    key: &Key,
    view: &View<'_>,
    memory: &Memory,
) -> Option<Snapshot> {
    let claim = view.of::<PersistentVolumeClaim>().get(key)?;
    let binding = claim.unreadable.clone().map_or_else(|| claim.binding(), Err);
    let (binding, unreadable) = match binding {
        Ok(binding) => (binding, None),
        Err(error) => (ClaimBinding::default(), Some(error)),
    };
    let seeks = claim.is_pending();
    let named = claim.volume.as_ref();
    let volume = named.and_then(|name| view.of::<PersistentVolume>().get(&Key::new("", name)));
    let class = claim.class.as_ref().filter(|_| seeks);
    let class = class.and_then(|name| view.of::<StorageClass>().get(&Key::new("", name)));
    let is_classless = claim.class.is_none()
        && !binding.names_class
        && !binding.annotations.contains_key(PersistentVolumeClaim::BETA_CLASS);
    Some(Snapshot {
        now: view.now,
        sync_period: options.sync_period,
        provisions: options.provisions,
        candidates: if seeks {
            Candidates::Found(candidates(&claim, view, memory))
        } else {
            Candidates::NotSought
        },
        default_class: if seeks && is_classless { default_class(view) } else { None },
        waiting_pods: if seeks { waiting_pods(key, view) } else { Vec::new() },
        started: memory.started.get(key).cloned(),
        claim,
        binding,
        unreadable,
        volume,
        class,
    })
}

/// Those that are kept for the claim, and the free ones of its class, without those that another
/// claim just got.
fn candidates(
    claim: &PersistentVolumeClaim,
    view: &View<'_>,
    memory: &Memory,
) -> Vec<Arc<PersistentVolume>> {
    let volumes = view.of::<PersistentVolume>();
    let key = claim.meta.key.to_string();
    let kept = volumes.by(PersistentVolume::BY_CLAIM, &key);
    let class = claim.class.as_deref().unwrap_or_default();
    let free = volumes.by(PersistentVolume::FREE_BY_CLASS, class);
    let is_taken = |volume: &PersistentVolume| {
        let taken = memory.taken.get(&volume.meta.key.name);
        taken.is_some_and(|version| volume.meta.resource_version <= *version)
    };
    kept.into_iter().chain(free.into_iter().filter(|volume| !is_taken(volume))).collect()
}

fn default_class(view: &View<'_>) -> Option<Text> {
    let classes = view.of::<StorageClass>().all();
    let class = StorageClass::default_of(classes.iter().map(|class| &**class));
    class.map(|class| class.meta.key.name.clone())
}

/// As `findNonScheduledPodsByPVC`.
fn waiting_pods(key: &Key, view: &View<'_>) -> Vec<Text> {
    let pods = view.of::<Pod>().by(Pod::BY_CLAIM, &key.to_string());
    let waiting = pods.iter().filter(|pod| !pod.is_over() && pod.node_name.is_none());
    waiting.map(|pod| pod.meta.key.name.clone()).collect()
}

// === impl Snapshot ===

impl Snapshot {
    /// Whether the claim has this annotation, whatever it says.
    pub(super) fn has(&self, annotation: &str) -> bool {
        self.binding.annotations.contains_key(annotation)
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let claim = &self.claim;
        let mut facts = vec![
            ("phase", self.binding.phase.clone()),
            ("asks for", claim.request.to_string()),
            ("class", claim.class.as_deref().unwrap_or("none").to_owned()),
            ("volume", claim.volume.as_deref().unwrap_or("none").to_owned()),
        ];
        if claim.volume.is_some() {
            let state = self.volume.as_ref().map_or("does not exist", |it| it.phase.word());
            facts.push(("the volume", state.to_owned()));
        }
        if let Candidates::Found(found) = &self.candidates {
            facts.push(("volumes that may fit", found.len().to_string()));
        }
        if claim.class.is_some() && claim.is_pending() {
            let provisioner = self.class.as_ref().map(|class| class.provisioner.to_string());
            let provisioner = provisioner.unwrap_or_else(|| "the class does not exist".to_owned());
            facts.push(("provisioner", provisioner));
        }
        if let Some(started) = &self.started {
            let Started { plugin, at } = started;
            facts.push(("asked", format!("{plugin}, since {at}")));
        }
        facts
    }
}
