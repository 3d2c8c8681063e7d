//! What a decision looks at: a volume on all nodes, or the list of a node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{
    AttachPlugin, ClaimSource, CsiDriver, Key, Node, PersistentVolume, PersistentVolumeClaim, Pod,
    Text, VolumeAttachment,
};
use controller::View;

use super::worlds::{self, Worlds};
use super::{Options, attachment_name};

/// What a sync is about.
#[derive(Clone, Debug)]
pub enum Observed {
    /// A volume.
    Volume(Box<Snapshot>),
    /// A node.
    Node(Box<NodeSnapshot>),
}

/// A volume at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment, on a clock that cannot be set.
    pub uptime: Duration,
    /// The flags.
    pub(super) options: Options,
    /// The name that nodes have for it.
    pub volume: Text,
    /// Its plugin.
    pub(super) plugin: AttachPlugin,
    /// Whether it must be attached, as its CSIDriver says.
    pub(super) is_attachable: bool,
    /// Whether it is translated.
    pub(super) is_migrated: bool,
    /// The nodes where it is wanted or attached.
    pub(super) places: BTreeMap<Text, Place>,
}

/// A volume on a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// The node; none: the cache has none.
    pub(super) node: Option<Arc<Node>>,
    /// The pods for which it is attached.
    pub(super) wants: Vec<Want>,
    /// Why it stays attached although it is not attached for any pod.
    pub(super) keeps: Option<String>,
    /// Its attachment.
    pub(super) attachment: Option<Arc<VolumeAttachment>>,
    /// The name that this has, or must have.
    pub(super) attachment_name: Text,
    /// An attachment of the same volume that has another name, so that others made it.
    pub(super) foreign: Option<Arc<VolumeAttachment>>,
    /// Whether it was in use when the node was deleted; none: not known.
    pub(super) was_in_use: Option<bool>,
    /// What is remembered.
    pub(super) memory: worlds::Place,
}

/// A pod that needs the volume.
#[derive(Clone, Debug)]
pub(super) struct Want {
    pub(super) pod: Arc<Pod>,
    /// What messages call the volume: its PersistentVolume, as a rule.
    pub(super) name: Text,
    /// The spec that stands in for a PersistentVolume, as JSON; none: there is one.
    pub(super) spec: Option<Text>,
    /// Whether the volume may be attached to several nodes.
    pub(super) is_shared: bool,
}

/// A node at one moment.
#[derive(Clone, Debug)]
pub struct NodeSnapshot {
    /// The moment, on a clock that cannot be set.
    pub uptime: Duration,
    /// The flags.
    pub(super) options: Options,
    /// The node.
    pub node: Arc<Node>,
    /// The volumes that its status is to list.
    pub(super) listing: BTreeSet<Text>,
    /// The volumes that its status is not to list.
    pub(super) dropped: BTreeSet<Text>,
    /// The attachments of all these that are of CSI drivers: their names, and what is cached.
    pub(super) attachments: BTreeMap<Text, (Text, Option<Arc<VolumeAttachment>>)>,
    /// Since when one of them lacks its attachment.
    pub(super) unbacked_since: Option<Duration>,
}

/// How a pod's claim and a volume belong together.
enum Claimed {
    /// The pod uses the volume.
    Uses,
    /// It may, for what is cached.
    Unclear(&'static str),
    /// It uses another one, or none.
    Other,
}

pub(super) fn observe(
    options: Options,
    key: &Key,
    view: &View<'_>,
    worlds: &Worlds,
) -> Option<Observed> {
    if key.namespace.is_empty() {
        let node = view.of::<Node>().get(key)?;
        return Some(Observed::Node(Box::new(node_snapshot(options, node, view, worlds))));
    }
    let volume: Text = key.to_string().into();
    let plugin = AttachPlugin::of(&volume)?;
    let volumes = view.of::<PersistentVolume>().by(PersistentVolume::BY_ATTACHED, &volume);
    let mut places = BTreeMap::new();
    add_pods(&mut places, &volume, &volumes, view);
    add_attachments(&mut places, &volume, &volumes, view, worlds);
    for (node, place) in &mut places {
        complete((node, place), (options, &volume, &plugin), &volumes, (view, worlds));
    }
    let is_attachable = match &plugin {
        AttachPlugin::Csi { driver, .. } => {
            let driver = view.of::<CsiDriver>().get(&Key::new("", driver));
            driver.is_none_or(|driver| driver.attach_required)
        }
        AttachPlugin::ByNode => true,
    };
    let is_migrated = volumes.iter().any(|it| it.plugin.is_some())
        || places.values().flat_map(|it: &Place| &it.wants).any(|want| want.spec.is_some());
    (!places.is_empty()).then(|| {
        let uptime = view.uptime;
        let mut snapshot =
            Snapshot { uptime, options, volume, plugin, is_attachable, is_migrated, places };
        snapshot.settle(&volumes, view);
        Observed::Volume(Box::new(snapshot))
    })
}

/// The pods that need the volume.
fn add_pods(
    places: &mut BTreeMap<Text, Place>,
    volume: &Text,
    volumes: &[Arc<PersistentVolume>],
    view: &View<'_>,
) {
    let pods = view.of::<Pod>();
    let mut add = |pod: &Arc<Pod>, want: Want| {
        let Some(node) = pod.node_name.clone().filter(|_| !pod.is_over()) else { return };
        let wants = &mut places.entry(node).or_default().wants;
        if !wants.iter().any(|known| known.pod.meta.key == pod.meta.key) {
            wants.push(want);
        }
    };
    for of in volumes {
        let Some(claim) = &of.claim else { continue };
        for pod in pods.by(Pod::BY_CLAIM, &claim.to_string()) {
            let mut claims = pod.claims.iter().filter(|(name, _)| *name == claim.name);
            let uses =
                |source| matches!(claimed(&pod, (claim, source), Some(of), view), Claimed::Uses);
            if claims.any(|(_, source)| uses(*source)) {
                let name = of.meta.key.name.clone();
                let is_shared = of.is_shared;
                add(&pod, Want { pod: Arc::clone(&pod), name, spec: None, is_shared });
            }
        }
    }
    for pod in pods.by(Pod::BY_INLINE_VOLUME, volume) {
        for inline in pod.inline_volumes().iter().filter(|inline| inline.volume == *volume) {
            let (name, spec) = (inline.name.clone(), inline.spec.clone());
            let is_shared = inline.is_shared;
            add(&pod, Want { pod: Arc::clone(&pod), name, spec, is_shared });
        }
    }
}

/// The nodes that have it, as attachments, statuses and the memory say.
fn add_attachments(
    places: &mut BTreeMap<Text, Place>,
    volume: &Text,
    volumes: &[Arc<PersistentVolume>],
    view: &View<'_>,
    worlds: &Worlds,
) {
    let present = volumes.iter().map(|it| &it.meta.key.name);
    let removed = worlds.removed_volumes.iter().filter(|(_, of)| *of == volume);
    let sources = present.chain(removed.map(|(name, _)| name)).chain([volume]);
    for source in sources {
        let attachments = view.of::<VolumeAttachment>();
        for attachment in attachments.by(VolumeAttachment::BY_SOURCE, source) {
            if let Some(node) = attachment.node.clone() {
                places.entry(node).or_default().foreign = Some(attachment);
            }
        }
    }
    for node in view.of::<Node>().by(Node::BY_ATTACHED_VOLUME, volume) {
        places.entry(node.meta.key.name.clone()).or_default();
    }
    for (node, memory) in worlds.of(volume) {
        places.entry(node.clone()).or_default().memory = memory.clone();
    }
}

/// Adds the node and the attachment.
fn complete(
    (node, place): (&Text, &mut Place),
    (options, volume, plugin): (Options, &Text, &AttachPlugin),
    volumes: &[Arc<PersistentVolume>],
    (view, worlds): (&View<'_>, &Worlds),
) {
    place.node = view.of::<Node>().get(&super::node_key(node));
    place.was_in_use = worlds.removed_nodes.get(node).map(|in_use| in_use.contains(volume));
    if let AttachPlugin::Csi { driver, handle } = plugin {
        let name = attachment_name(&options, (driver, handle), node);
        place.attachment = view.of::<VolumeAttachment>().get(&Key::new("", &name));
        let is_other = |it: &Arc<VolumeAttachment>| it.meta.key.name != name;
        place.foreign = place.foreign.take().filter(is_other);
        place.attachment_name = name;
    }
    if place.memory.name.is_empty() {
        let wanted = place.wants.first().map(|want| want.name.clone());
        let known = volumes.first().map(|it| it.meta.key.name.clone());
        let source = place.attachment.as_ref().and_then(|it| it.source.clone());
        place.memory.name = wanted.or(source).or(known).unwrap_or_else(|| "nil".into());
    }
}

/// Why the volume stays on this node although it is attached for no pod there.
fn keeps(
    (node, place): (&Text, &Place),
    volume: &Text,
    volumes: &[Arc<PersistentVolume>],
    view: &View<'_>,
) -> Option<String> {
    let pods = view.of::<Pod>();
    let may_be_of = |pod: &Arc<Pod>| {
        let mut claims = volumes.iter().map(|it| it.claim.as_ref());
        let is_of = |claim: Option<&Key>| {
            claim.is_none_or(|claim| claim.namespace == pod.meta.key.namespace)
        };
        volumes.is_empty() || claims.any(is_of)
    };
    if let Some(pod) = pods.by(Pod::UNREADABLE, "").iter().find(|pod| may_be_of(pod)) {
        return Some(format!("pod {} cannot be read, and may need it", pod.meta.key));
    }
    for pod in pods.by(Pod::BY_NODE, node).iter().filter(|pod| !pod.is_over()) {
        let key = &pod.meta.key;
        for (name, source) in &pod.claims {
            let claim = Key { namespace: key.namespace.clone(), name: name.clone() };
            let mut of = volumes.iter().map(Some).chain(volumes.is_empty().then_some(None));
            let unclear =
                of.find_map(|of| match claimed(pod, (&claim, *source), of.map(|it| &**it), view) {
                    Claimed::Unclear(why) => Some(why),
                    Claimed::Uses => Some("is bound to it"),
                    Claimed::Other => None,
                });
            let named = place.is_attached_for(&claim, view).then_some("names what is attached");
            if let Some(why) = named.or(unclear) {
                return Some(format!("pod {key} may need it: its claim {name} {why}"));
            }
        }
        if pod.inline_volumes().iter().any(|inline| inline.volume == *volume) {
            return Some(format!("pod {key} needs it"));
        }
    }
    None
}

/// As `createInTreeVolumeSpec` in upstream's attachdetach/util, which knows errors only. Without a
/// volume: whatever PersistentVolume stood for it, the cache has none.
fn claimed(
    pod: &Pod,
    (claim, source): (&Key, ClaimSource),
    volume: Option<&PersistentVolume>,
    view: &View<'_>,
) -> Claimed {
    let is_of = volume.is_none_or(|volume| volume.claim.as_ref() == Some(claim));
    let Some(cached) = view.of::<PersistentVolumeClaim>().get(claim) else {
        return if is_of { Claimed::Unclear("is not there") } else { Claimed::Other };
    };
    if cached.unreadable.is_some() {
        return if is_of { Claimed::Unclear("cannot be read") } else { Claimed::Other };
    }
    if source == ClaimSource::Ephemeral && !cached.meta.is_controlled_by(&pod.meta.uid) {
        return Claimed::Other;
    }
    let Some(name) = &cached.volume else { return Claimed::Other };
    let Some(volume) = volume else {
        // Another volume that exists is another one; if it does not, it may have been this one.
        let other = view.of::<PersistentVolume>().get(&Key::new("", name));
        let exists = other.is_some_and(|other| other.unreadable.is_none());
        return if exists {
            Claimed::Other
        } else {
            Claimed::Unclear("is bound to no known volume")
        };
    };
    if *name != volume.meta.key.name {
        return Claimed::Other;
    }
    let is_bound = cached.is_bound && volume.claim_uid.as_ref() == Some(&cached.meta.uid);
    if is_bound && is_of { Claimed::Uses } else { Claimed::Unclear("names it without being bound") }
}

fn node_snapshot(
    options: Options,
    node: Arc<Node>,
    view: &View<'_>,
    worlds: &Worlds,
) -> NodeSnapshot {
    let name = &node.meta.key.name;
    let (listing, dropped) = worlds.of_node(name);
    let all = node.volumes_attached.iter().map(|(volume, _)| volume).chain(&listing);
    let attachments = all.filter_map(|volume| {
        let Some(AttachPlugin::Csi { driver, handle }) = AttachPlugin::of(volume) else {
            return None;
        };
        let name = attachment_name(&options, (&driver, &handle), name);
        let cached = view.of::<VolumeAttachment>().get(&Key::new("", &name));
        Some((volume.clone(), (name, cached)))
    });
    NodeSnapshot {
        uptime: view.uptime,
        options,
        attachments: attachments.collect(),
        unbacked_since: worlds.unbacked_since(name),
        listing,
        dropped,
        node,
    }
}

// === impl Observed ===

impl Observed {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Volume(volume) => volume.summary(),
            Self::Node(node) => node.summary(),
        }
    }
}

// === impl Snapshot ===

impl Snapshot {
    /// Decides which pods count.
    fn settle(&mut self, volumes: &[Arc<PersistentVolume>], view: &View<'_>) {
        for (node, place) in &mut self.places {
            if !self.is_attachable {
                // As upstream's sweep: the driver needs no attachments any more.
                place.wants.clear();
                continue;
            }
            let refuses = match &place.node {
                None => Some("the cache has no such node"),
                Some(it) if !it.is_attached_for => Some("the node attaches its volumes itself"),
                Some(_) => None,
            };
            if let (Some(why), Some(want)) = (refuses, place.wants.first()) {
                place.keeps = Some(format!("pod {} needs it, but {why}", want.pod.meta.key));
                place.wants.clear();
            }
            if place.wants.is_empty() && place.keeps.is_none() && place.is_held(&self.volume) {
                let why = keeps((node, &*place), &self.volume, volumes, view);
                place.keeps = why;
            }
        }
    }

    fn summary(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("plugin", AttachPlugin::name_of(&self.volume))];
        if !self.is_attachable {
            facts.push(("attaching", "the CSIDriver says that it needs none".to_owned()));
        }
        for (node, place) in &self.places {
            facts.push(("node", format!("{node}: {}", place.summary(self))));
        }
        facts
    }
}

// === impl Place ===

impl Place {
    /// Whether the cached status of the node lists the volume.
    pub(super) fn is_listed(&self, volume: &str) -> bool {
        self.node.as_ref().is_some_and(|node| node.lists(volume))
    }

    /// Whether the node may have it.
    pub(super) fn is_held(&self, volume: &str) -> bool {
        self.attachment.is_some()
            || self.foreign.is_some()
            || self.memory.is_attached_by_node
            || self.is_listed(volume)
    }

    /// Whether the attacher, or the status of the node, says that the node has it.
    pub(super) fn is_confirmed(&self, volume: &str) -> bool {
        let mut attachments = self.attachment.iter().chain(&self.foreign);
        attachments.any(|it| it.attached)
            || self.memory.is_attached_by_node
            || self.is_listed(volume)
    }

    /// Whether a claim names the PersistentVolume that the attachment names, whatever this stands
    /// for now.
    fn is_attached_for(&self, claim: &Key, view: &View<'_>) -> bool {
        let Some(claim) = view.of::<PersistentVolumeClaim>().get(claim) else { return false };
        let mut attachments = self.attachment.iter().chain(&self.foreign);
        claim.volume.is_some() && attachments.any(|it| it.source == claim.volume)
    }

    fn summary(&self, s: &Snapshot) -> String {
        let mut words = Vec::new();
        words.push(match &self.attachment {
            None if self.memory.is_attached_by_node => "attached".to_owned(),
            None => "no attachment".to_owned(),
            Some(it) => format!("{} {}", it.meta.key, attachment_state(it)),
        });
        if self.is_listed(&s.volume) {
            words.push("listed by the node".to_owned());
        }
        match &self.node {
            None => words.push("no such node".to_owned()),
            Some(node) if node.uses(&s.volume) => words.push("in use".to_owned()),
            Some(_) => {}
        }
        let pods = self.wants.iter().map(|want| format!("needed by pod {}", want.pod.meta.key));
        words.extend(pods);
        words.extend(self.keeps.clone());
        let since = |what: &str, then: Duration| {
            format!("{what} asked for {}s ago", s.uptime.saturating_sub(then).as_secs())
        };
        words.extend(self.memory.attach_since.map(|then| since("attach", then)));
        words.extend(self.memory.detach_since.map(|then| since("detach", then)));
        words.join(", ")
    }
}

fn attachment_state(attachment: &VolumeAttachment) -> String {
    let error = |error: Option<&api::VolumeError>| {
        error.map(|it| format!(": {}", it.message)).unwrap_or_default()
    };
    if attachment.meta.is_terminating() {
        format!("is being deleted{}", error(attachment.detach_error.as_ref()))
    } else if attachment.attached {
        "is attached".to_owned()
    } else {
        format!("is not attached{}", error(attachment.attach_error.as_ref()))
    }
}

// === impl NodeSnapshot ===

impl NodeSnapshot {
    fn summary(&self) -> Vec<(&'static str, String)> {
        let listed = self.node.volumes_attached.iter().map(|(name, _)| name.to_string());
        let mut facts: Vec<_> = listed.map(|name| ("lists", name)).collect();
        let in_use = self.node.volumes_in_use.iter().map(|name| ("in use", name.to_string()));
        facts.extend(in_use);
        facts.extend(self.dropped.iter().map(|name| ("is to drop", name.to_string())));
        facts
    }
}
