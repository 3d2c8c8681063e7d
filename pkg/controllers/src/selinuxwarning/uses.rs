//! Labels, policies, and what conflicts. As upstream's `translator`, `internal/parse` and
//! `cache/conflict.go`.

use api::{Key, PodSeLinux, SeLinuxMount, Text};
use mutant::Mutant;

/// The policy of a pod that says nothing: its volumes are mounted with its label.
const MOUNT_OPTION: &str = "MountOption";
/// The other one: what is in the volumes gets the label, file by file.
const RECURSIVE: &str = "Recursive";

/// How a pod uses a volume.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usage {
    /// The label that the volume is mounted with, `user:role:type:level`; empty: with none.
    pub label: Text,
    /// How the volume gets its label.
    pub policy: Text,
}

/// In what two pods of a volume can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Property {
    ChangePolicy,
    Label,
}

/// What one pod is told of another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Conflict {
    pub(super) property: Property,
    pub(super) pod: Key,
    pub(super) value: Text,
    pub(super) other: Key,
    pub(super) other_value: Text,
}

// === impl Use ===

impl Usage {
    /// As in `GetMountSELinuxLabel` of upstream's pkg/volume/util, and `syncVolume`. An error: the
    /// labels, if there are several. `is_supported`: whether the volume can be mounted with one.
    pub(super) fn of<'a>(
        pod: &PodSeLinux,
        mount: &'a SeLinuxMount,
        is_supported: bool,
    ) -> Result<Self, &'a [Text]> {
        let label = match &*mount.labels {
            [] => Text::default(),
            [label] => label.clone(),
            several => return Err(several),
        };
        let policy = pod.change_policy.clone().unwrap_or_else(|| MOUNT_OPTION.into());
        let label = if is_supported && *policy != *RECURSIVE { label } else { Text::default() };
        let policy = if label.is_empty() { RECURSIVE.into() } else { policy };
        Ok(Self { label, policy })
    }
}

/// As `ParseSELinuxLabel`: the level, which comes last, may have colons.
pub(super) fn parts(label: &str) -> [&str; 4] {
    let mut parts = label.splitn(4, ':');
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

/// As `Conflicts`: nodes have their own defaults for what is missing, but for the level.
pub(super) fn labels_conflict(one: &str, other: &str) -> bool {
    let [(user, role, r#type, level), others] =
        [one, other].map(|label| <(&str, &str, &str, &str)>::from(parts(label)));
    let differs = |one: &str, other: &str| {
        let both = !one.is_empty() && !other.is_empty() || mutant::is(Mutant::MissingPartsConflict);
        both && one != other
    };
    differs(user, others.0)
        || differs(role, others.1)
        || differs(r#type, others.2)
        || level != others.3
}

// === impl Property ===

impl Property {
    /// All of them, in the order of their Events.
    pub(super) const ALL: [Self; 2] = [Self::ChangePolicy, Self::Label];

    /// What it is called in messages and in the metric.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ChangePolicy => "SELinuxChangePolicy",
            Self::Label => "SELinuxLabel",
        }
    }

    /// The reason of its Events.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::ChangePolicy => "SELinuxChangePolicyConflict",
            Self::Label => "SELinuxLabelConflict",
        }
    }

    fn of(self, usage: &Usage) -> &Text {
        match self {
            Self::ChangePolicy => &usage.policy,
            Self::Label => &usage.label,
        }
    }

    fn conflicts(self, one: &Usage, other: &Usage) -> bool {
        match self {
            Self::ChangePolicy => one.policy != other.policy,
            Self::Label => labels_conflict(&one.label, &other.label),
        }
    }

    /// Those in which these uses conflict.
    pub(super) fn between(one: &Usage, other: &Usage) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|property| property.conflicts(one, other))
    }
}

// === impl Conflict ===

impl Conflict {
    /// What the first pod is told of the second.
    pub(super) fn new(
        property: Property,
        (pod, usage): (&Key, &Usage),
        (other, other_usage): (&Key, &Usage),
    ) -> Self {
        let (value, other_value) = (property.of(usage).clone(), property.of(other_usage).clone());
        Self { property, pod: pod.clone(), value, other: other.clone(), other_value }
    }

    /// As `EventMessage`. What is in another namespace is not named.
    pub(super) fn message(&self) -> String {
        const END: &str =
            "If both pods land on the same node, only one of them may access the volume.";
        let Self { value, other_value, .. } = self;
        let (name, other) = (self.property.name(), &self.other.name);
        if self.pod.namespace == self.other.namespace {
            format!(
                "{name} \"{value}\" conflicts with pod {other} that uses the same volume as this \
                 pod with {name} \"{other_value}\". {END}"
            )
        } else {
            // Upstream has no blank before this value.
            format!(
                "{name}\"{value}\" conflicts with another pod that uses the same volume as this \
                 pod with a different {name}. {END}"
            )
        }
    }
}
