//! What a sync of a class looks at.

use std::sync::Arc;

use api::{Key, PersistentVolume, PersistentVolumeClaim, VolumeAttributesClass};
use controller::View;
use mutant::Mutant;

/// A class, and what keeps it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The class.
    pub class: Arc<VolumeAttributesClass>,
    /// What may refer to it, as the caches have it; looked for only if it is being deleted.
    pub user: Option<User>,
}

/// What may refer to a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum User {
    /// This volume is of the class.
    Volume(Key),
    /// This claim asks for it, has it, or is about to get it.
    Claim(Key),
    /// This volume cannot be read.
    UnreadableVolume(Key),
    /// This claim cannot be read.
    UnreadableClaim(Key),
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let class = view.of::<VolumeAttributesClass>().get(key)?;
    let is_held = class.meta.is_held_by(VolumeAttributesClass::PROTECTION);
    let user = if is_held { user(&key.name, view) } else { None };
    Some(Snapshot { class, user })
}

/// As `isBeingUsed`.
fn user(class: &str, view: &View<'_>) -> Option<User> {
    let (volumes, claims) = (view.of::<PersistentVolume>(), view.of::<PersistentVolumeClaim>());
    let volume = |class: &str| {
        let found = volumes.by(PersistentVolume::BY_ATTRIBUTES_CLASS, class);
        found.first().map(|it| it.meta.key.clone())
    };
    let claim = |class: &str| {
        let found = claims.by(PersistentVolumeClaim::BY_ATTRIBUTES_CLASS, class);
        found.first().map(|it| it.meta.key.clone())
    };
    let unknown = VolumeAttributesClass::UNKNOWN;
    let claim_of = |class| claim(class).filter(|_| !mutant::is(Mutant::ClassClaimsIgnored));
    let known = volume(class).map(User::Volume).or_else(|| claim_of(class).map(User::Claim));
    known
        .or_else(|| volume(unknown).map(User::UnreadableVolume))
        .or_else(|| claim(unknown).map(User::UnreadableClaim))
}

// === impl User ===

impl User {
    /// Why it keeps the class.
    pub(super) fn why(&self) -> String {
        match self {
            Self::Volume(key) => format!("volume {key} refers to it"),
            Self::Claim(key) => format!("claim {key} refers to it"),
            Self::UnreadableVolume(key) => {
                format!("volume {key} cannot be read, and may refer to it")
            }
            Self::UnreadableClaim(key) => {
                format!("claim {key} cannot be read, and may refer to it")
            }
        }
    }
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let meta = &self.class.meta;
        let none = || "none".to_owned();
        let finalizers = meta.finalizers.join(", ");
        let mut facts = vec![
            ("being deleted", meta.is_terminating().to_string()),
            ("finalizers", if finalizers.is_empty() { none() } else { finalizers }),
        ];
        if meta.is_held_by(VolumeAttributesClass::PROTECTION) {
            facts.push(("kept by", self.user.as_ref().map_or_else(none, User::why)));
        }
        facts
    }
}
