//! What a sync of a pod looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{
    AttachPlugin, ClaimSource, CsiDriver, Key, MountSource, PersistentVolume,
    PersistentVolumeClaim, Pod, SeLinuxMount, Text,
};
use controller::View;

use super::memory::Memory;
use super::uses::Usage;

/// A pod and its volumes.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The pod.
    pub pod: Arc<Pod>,
    /// The volumes that its containers mount, by their names in the pod, in the order of the spec.
    pub(super) mounts: Vec<(Text, Mount)>,
    /// How it uses volumes, by the names that nodes have for them.
    pub(super) uses: BTreeMap<Text, Seen>,
}

/// A volume that containers mount.
#[derive(Clone, Debug)]
pub(super) enum Mount {
    /// What it is cannot be told yet.
    Unbound(String),
    /// The containers have several labels, these.
    Clash(Vec<Text>),
    /// The volume of this name.
    Volume(Text),
    /// One that is mounted without a label in any case.
    Other,
}

/// How the pod uses a volume, and who else does.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) usage: Usage,
    /// Whether that is remembered already.
    pub(super) is_known: bool,
    /// The pods that are remembered to use it otherwise, unless all is known.
    pub(super) others: Vec<Other>,
}

/// Another pod of a volume.
#[derive(Clone, Debug)]
pub(super) struct Other {
    pub(super) key: Key,
    pub(super) usage: Usage,
    /// None: it is gone by now.
    pub(super) pod: Option<Arc<Pod>>,
}

pub(super) fn observe(key: &Key, view: &View<'_>, memory: &Memory) -> Option<Snapshot> {
    let pod = view.of::<Pod>().get(key)?;
    let mut snapshot = Snapshot { pod, mounts: Vec::new(), uses: BTreeMap::new() };
    let pod = Arc::clone(&snapshot.pod);
    let Some(se_linux) = pod.se_linux().filter(|_| !pod.is_terminal()) else {
        return Some(snapshot);
    };
    for mount in &se_linux.mounts {
        let what = match volume_of(&pod, mount, view) {
            Err(why) => Mount::Unbound(why),
            Ok(volume) => {
                let is_supported = volume.as_deref().is_some_and(|it| is_supported(it, view));
                match (Usage::of(se_linux, mount, is_supported), volume) {
                    (Err(labels), _) => Mount::Clash(labels.to_vec()),
                    (Ok(_), None) => Mount::Other,
                    (Ok(usage), Some(volume)) => {
                        // The last one counts, if a pod has a volume twice.
                        let seen = Seen::of(&pod, (&volume, usage), view, memory);
                        snapshot.uses.insert(volume.clone(), seen);
                        Mount::Volume(volume)
                    }
                }
            }
        };
        snapshot.mounts.push((mount.name.clone(), what));
    }
    Some(snapshot)
}

/// The name that nodes have for what is mounted; none: it is not attached to nodes; an error: what
/// it waits for. As `CreateVolumeSpec` of upstream's attachdetach/util.
fn volume_of(pod: &Pod, mount: &SeLinuxMount, view: &View<'_>) -> Result<Option<Text>, String> {
    let place = match &mount.source {
        MountSource::Inline(volume) => return Ok(Some(volume.clone())),
        MountSource::Other => return Ok(None),
        MountSource::Claim(place) => *place,
    };
    let Some((name, source)) = pod.claims.get(place) else { return Ok(None) };
    let key = Key { namespace: pod.meta.key.namespace.clone(), name: name.clone() };
    let claim = view.of::<PersistentVolumeClaim>().get(&key);
    let claim = claim.ok_or_else(|| format!("claim {name} is not there"))?;
    let volume = claim.volume.as_ref().filter(|_| claim.is_bound);
    let volume = volume.ok_or_else(|| format!("claim {name} is not bound"))?;
    if *source == ClaimSource::Ephemeral && !claim.meta.is_controlled_by(&pod.meta.uid) {
        return Err(format!("claim {name} is not of this pod"));
    }
    let cached = view.of::<PersistentVolume>().get(&Key::new("", volume));
    let cached = cached.ok_or_else(|| format!("volume {volume} is not there"))?;
    if cached.claim_uid.as_ref() != Some(&claim.meta.uid) {
        return Err(format!("volume {volume} is not bound to claim {name}"));
    }
    Ok(cached.attached_as.clone())
}

/// Whether it can be mounted with a label. As `SupportsSELinuxContextMount` of upstream's plugins.
fn is_supported(volume: &str, view: &View<'_>) -> bool {
    match AttachPlugin::of(volume) {
        Some(AttachPlugin::Csi { driver, .. }) => {
            let driver = view.of::<CsiDriver>().get(&Key::new("", &driver));
            driver.is_some_and(|driver| driver.se_linux_mount)
        }
        Some(AttachPlugin::ByNode) => true,
        None => false,
    }
}

// === impl Seen ===

impl Seen {
    fn of(pod: &Pod, (volume, usage): (&Text, Usage), view: &View<'_>, memory: &Memory) -> Self {
        if memory.of(&pod.meta, volume) == Some(&usage) {
            return Self { usage, is_known: true, others: Vec::new() };
        }
        let others = memory.others(volume, &pod.meta.key, &usage).into_iter();
        let others =
            others.map(|(key, usage)| Other { pod: view.of::<Pod>().get(&key), key, usage });
        Self { is_known: false, others: others.collect(), usage }
    }
}

// === impl Snapshot ===

impl Snapshot {
    /// How it uses volumes.
    pub(super) fn all_uses(&self) -> impl Iterator<Item = (&Text, &Usage)> {
        self.uses.iter().map(|(volume, seen)| (volume, &seen.usage))
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let mounts = self.mounts.iter().map(|(name, mount)| {
            let what = match mount {
                Mount::Unbound(why) => why.clone(),
                Mount::Clash(labels) => format!("several labels: {}", labels.join(", ")),
                Mount::Other => "is mounted without a label".to_owned(),
                Mount::Volume(volume) => self.describe(volume),
            };
            ("mounts", format!("{name}: {what}"))
        });
        mounts.collect()
    }

    fn describe(&self, volume: &Text) -> String {
        let Some(Seen { usage, is_known, others }) = self.uses.get(volume) else {
            return volume.to_string();
        };
        let others = match (is_known, others.len()) {
            (true, _) => "compared already".to_owned(),
            (false, count) => format!("{count} pods use it otherwise"),
        };
        format!("{volume} with label \"{}\" and policy {}, {others}", usage.label, usage.policy)
    }
}
