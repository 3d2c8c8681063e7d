//! The phase of a volume, and whether its claim still exists. As `syncVolume` in upstream's
//! `pkg/controller/volume/persistentvolume/pv_controller.go`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{
    Edit, Key, Kind, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass, Text, Time,
    VolumePhase,
};
use controller::{
    Change, Count, Enqueue, Event, EventType, Facts, Family, News, ObjectRef, Outcome, Plan, Query,
    Retry, Step, View, Watches, Write,
};
use mutant::Mutant;
use serde_json::Value;

use super::annotations::{
    BOUND_BY_CONTROLLER, MIGRATED_TO, PROVISIONED_BY, edit, finalizers, migration,
};
use super::recycling::{self, POD_PREFIX, Recyclers, Recycling};
use super::{Started, metrics, reclaim};

/// The controller whose keys are volumes, with its options.
#[derive(Clone, Debug)]
pub struct Volumes {
    /// How often a volume that waits is looked at: `--pvclaimbinder-sync-period`.
    pub sync_period: Duration,
    /// How volumes are emptied.
    pub recyclers: Arc<Recyclers>,
}

/// A volume, and what decides over its phase.
#[derive(Clone, Debug)]
pub struct VolumeSnapshot {
    /// The moment.
    pub now: Time,
    /// How often a volume that waits is looked at.
    pub sync_period: Duration,
    /// The volume.
    pub volume: Arc<PersistentVolume>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// The claim of the name that it is bound to, as the cache has it; of any uid.
    pub claim: Option<Arc<PersistentVolumeClaim>>,
    /// Who makes the volumes of its StorageClass; none: there is no such class.
    pub provisioner: Option<Text>,
    /// The pods that use a claim of that name, as `namespace/name`, sorted.
    pub users: Vec<String>,
    /// The pod that empties it, or did.
    pub recycler: Option<Arc<Pod>>,
    /// What this process knows of that pod.
    pub recycling: Option<Recycling>,
    /// Why the pod that is to empty it could not be created.
    pub refused: Option<String>,
    /// When it may be emptied again, after a pod that could not.
    pub next_recycling: Option<Time>,
    /// How volumes are emptied.
    pub recyclers: Arc<Recyclers>,
    /// Since when it is to be deleted.
    pub deleting: Option<Started>,
}

/// What no cache shows.
#[derive(Debug, Default)]
pub struct VolumeMemory {
    /// The volumes that are to be deleted.
    pub(super) deleting: BTreeMap<Text, Started>,
    /// The volumes that are being emptied.
    recycling: BTreeMap<Text, Recycling>,
    /// The volumes whose pods could not be created, and why: until the volume says so.
    refused: BTreeMap<Text, String>,
    /// The volumes that could not be emptied, and when the next pod may try.
    resting: BTreeMap<Text, Time>,
}

/// What the memory learns of a sync.
#[derive(Debug, Default)]
pub struct VolumeVerdict {
    /// Who is to delete the volume.
    pub(super) deleter: Option<Text>,
    /// The recycling that the plan begins, without the pod's uid.
    pub(super) recycling: Option<Recycling>,
    /// How the plan ends the one that is known.
    pub(super) ended: Option<Ending>,
}

/// How a recycling ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The volume is empty.
    Emptied,
    /// It is not.
    Failed,
}

/// Whether the claim that a volume is bound to exists.
enum Bound {
    /// It has to be read.
    Ask(Box<Query>),
    /// It could not be read.
    Unknown(String),
    /// It does.
    There(Arc<PersistentVolumeClaim>),
    /// It was deleted.
    Deleted,
}

impl controller::Controller for Volumes {
    type Snapshot = VolumeSnapshot;
    type Memory = VolumeMemory;
    type Verdict = VolumeVerdict;

    const METRICS: &'static [Family] = metrics::OF_VOLUMES;

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.remembers::<PersistentVolume>(|_, memory, change, _, queue| {
            if let Change::Deleted(volume) = change
                && let Some(started) = memory.deleting.remove(&volume.meta.key.name)
            {
                queue.count(metrics::took(&started, metrics::DELETE));
            }
            queue.own(change);
        });
        table.on::<PersistentVolumeClaim>(|_, change, view, queue| {
            claim_changed(change, view, queue);
        });
        table.on::<Pod>(|_, change, _, queue| {
            let name = &change.object().meta.key.name;
            if let Some(volume) = name.strip_prefix(POD_PREFIX) {
                queue.add(&Key::new("", volume));
            }
        });
        table.reads::<StorageClass>();
    }

    fn observe(&self, key: &Key, view: &View<'_>, memory: &VolumeMemory) -> Option<VolumeSnapshot> {
        observe(self, key, view, memory)
    }

    fn decide(&self, snapshot: &VolumeSnapshot, facts: &Facts) -> (Plan, VolumeVerdict) {
        decide(snapshot, facts)
    }

    fn summary(&self, s: &VolumeSnapshot) -> Vec<(&'static str, String)> {
        summary(s)
    }

    fn gauges(&self, view: &View<'_>, _: &VolumeMemory) -> Vec<Count> {
        metrics::of_volumes(view)
    }

    fn remember(&self, memory: &mut VolumeMemory, news: News<'_, Self>, _: &mut Enqueue) {
        match news {
            News::Acted { snapshot, verdict, outcome } => {
                let name = &snapshot.volume.meta.key.name;
                if let Some(plugin) = &verdict.deleter {
                    let (plugin, at) = (plugin.clone(), snapshot.now);
                    let started = Started { plugin, at };
                    memory.deleting.entry(name.clone()).or_insert(started);
                }
                memory.begun(name, verdict.recycling.as_ref(), outcome);
                if let Some(ending) = verdict.ended {
                    memory.ended(name, ending, outcome, snapshot.now + self.sync_period);
                }
            }
            News::Gone(key) => memory.forget(&key.name),
            News::Answered { .. } => {}
        }
    }
}

/// Enqueues the volumes that it names or named, and those that are bound to a claim of its name.
fn claim_changed(change: &Change<PersistentVolumeClaim>, view: &View<'_>, queue: &mut Enqueue) {
    let claim = change.object();
    let was = match change {
        Change::Updated { old, .. } => old.volume.as_ref(),
        Change::Added(_) | Change::Deleted(_) => None,
    };
    was.into_iter().chain(&claim.volume).for_each(|name| queue.add(&Key::new("", name)));
    let key = claim.meta.key.to_string();
    for volume in view.of::<PersistentVolume>().by(PersistentVolume::BY_CLAIM, &key) {
        queue.add(&volume.meta.key);
    }
}

// === observe ===

fn observe(
    options: &Volumes,
    key: &Key,
    view: &View<'_>,
    memory: &VolumeMemory,
) -> Option<VolumeSnapshot> {
    let volume = view.of::<PersistentVolume>().get(key)?;
    let claim = volume.claim.as_ref();
    let class = volume.class.as_ref();
    let class = class.and_then(|name| view.of::<StorageClass>().get(&Key::new("", name)));
    let is_recycled = &*volume.reclaim_policy == "Recycle";
    let users = match claim {
        Some(claim) if is_recycled => users(claim, view),
        Some(_) | None => Vec::new(),
    };
    let recycler = is_recycled.then(|| options.recyclers.pod_of(&volume)).flatten();
    Some(VolumeSnapshot {
        now: view.now,
        sync_period: options.sync_period,
        annotations: volume.raw.annotations(),
        claim: claim.and_then(|key| view.of::<PersistentVolumeClaim>().get(key)),
        provisioner: class.map(|class| class.provisioner.clone()),
        users,
        recycler: recycler.and_then(|key| view.of::<Pod>().get(&key)),
        recycling: memory.recycling.get(&key.name).cloned(),
        refused: memory.refused.get(&key.name).cloned(),
        next_recycling: memory.resting.get(&key.name).copied(),
        recyclers: Arc::clone(&options.recyclers),
        deleting: memory.deleting.get(&key.name).cloned(),
        volume,
    })
}

/// As `isVolumeUsed`.
fn users(claim: &Key, view: &View<'_>) -> Vec<String> {
    let pods = view.of::<Pod>().by(Pod::BY_CLAIM, &claim.to_string());
    pods.iter().filter(|pod| !pod.is_over()).map(|pod| pod.meta.key.to_string()).collect()
}

fn summary(s: &VolumeSnapshot) -> Vec<(&'static str, String)> {
    let volume = &s.volume;
    let claim = volume.claim.as_ref().map_or("none".to_owned(), ToString::to_string);
    let mut facts = vec![
        ("phase", volume.phase.word().to_owned()),
        ("claim", claim),
        ("class", volume.class.as_deref().unwrap_or("none").to_owned()),
        ("policy", volume.reclaim_policy.to_string()),
    ];
    if let Some(claim) = &s.claim {
        let name = claim.volume.as_deref().unwrap_or("none");
        facts.push(("the claim's volume", name.to_owned()));
    }
    if !s.users.is_empty() {
        facts.push(("used by", s.users.join(", ")));
    }
    if let Some(Started { plugin, at }) = &s.deleting {
        facts.push(("to be deleted by", format!("{plugin}, since {at}")));
    }
    facts
}

// === decide ===

fn decide(s: &VolumeSnapshot, facts: &Facts) -> (Plan, VolumeVerdict) {
    let volume = &s.volume;
    if let Some(error) = &volume.unreadable {
        return resting(Plan::rest(format!("the volume cannot be read: {error}")));
    }
    let mut edits: Vec<_> = migration(&s.annotations, &[PROVISIONED_BY]).into_iter().collect();
    edits.extend(finalizers(&volume.meta, &s.annotations, &volume.reclaim_policy));
    if !edits.is_empty() {
        let why = "its annotations or finalizers do not say who is to delete it";
        return resting(Plan::one(why, Step::InOrder(vec![update(s, edits).into()])));
    }
    let (Some(key), Some(uid)) = (&volume.claim, volume.claim_uid.as_ref()) else {
        return resting(phase(s, "no claim is bound to it", VolumePhase::Available));
    };
    if uid.is_empty() {
        let why = format!("it is kept for claim {key}");
        return resting(phase(s, why, VolumePhase::Available));
    }
    match claim_of(s, key, uid, facts) {
        Bound::Ask(query) => {
            let why = format!("claim {key} is not in the cache; was it deleted?");
            resting(Plan::fetch(why, vec![*query]))
        }
        Bound::Unknown(error) => {
            resting(Plan::failed(format!("claim {key} cannot be read"), error))
        }
        Bound::There(claim) => with_claim(s, &claim, facts),
        Bound::Deleted => reclaim::released(s, &format!("its claim {key} was deleted"), facts),
    }
}

/// Whether the claim with this uid exists. That the cache lacks it is no answer for anything that
/// is written.
fn claim_of(s: &VolumeSnapshot, key: &Key, uid: &Text, facts: &Facts) -> Bound {
    if let Some(claim) = s.claim.as_ref().filter(|claim| claim.meta.uid == *uid) {
        return Bound::There(Arc::clone(claim));
    }
    if !reclaim::writes(s) || mutant::is(Mutant::AbsentClaimReleases) {
        return Bound::Deleted;
    }
    let query = Query::view::<PersistentVolumeClaim>(key.clone());
    let Some(answer) = facts.get(&query) else { return Bound::Ask(Box::new(query)) };
    match answer.view::<PersistentVolumeClaim>() {
        Ok(Some(claim)) if claim.meta.uid == *uid => Bound::There(Arc::clone(claim)),
        Ok(Some(_) | None) => Bound::Deleted,
        Err(refused) => Bound::Unknown(refused.text.clone()),
    }
}

fn with_claim(
    s: &VolumeSnapshot,
    claim: &PersistentVolumeClaim,
    facts: &Facts,
) -> (Plan, VolumeVerdict) {
    let (volume, key) = (&s.volume, &claim.meta.key);
    let binding = match claim.unreadable.clone().map_or_else(|| claim.binding(), Err) {
        Ok(binding) => binding,
        Err(error) => {
            return resting(Plan::rest(format!("its claim {key} cannot be read: {error}")));
        }
    };
    match &claim.volume {
        None if binding.is_block != volume.is_block => resting(mismatch(s, claim)),
        // The claim is enqueued by each change of the volume, and binds itself.
        None => resting(Plan::rest(format!("claim {key} is about to be bound to it"))),
        Some(name) if *name == volume.meta.key.name => {
            resting(phase(s, format!("bound to claim {key}"), VolumePhase::Bound))
        }
        Some(name) => elsewhere(s, (key, name), facts),
    }
}

/// The claim cannot be bound to it, and nothing else says so.
fn mismatch(s: &VolumeSnapshot, claim: &PersistentVolumeClaim) -> Plan {
    let (volume, name) = (&*s.volume.meta.key.name, &*claim.meta.key.name);
    let of_volume = format!(
        "Cannot bind PersistentVolume to requested PersistentVolumeClaim {name:?} due to \
         incompatible volumeMode."
    );
    let of_claim = format!(
        "Cannot bind PersistentVolume {volume:?} to requested PersistentVolumeClaim due to \
         incompatible volumeMode."
    );
    let event = |about, message| Event {
        about: Arc::new(about),
        r#type: EventType::Warning,
        reason: "VolumeMismatch".into(),
        message,
    };
    let about = ObjectRef::new(&PersistentVolume::RESOURCE, &s.volume.meta);
    let claim = ObjectRef::new(&PersistentVolumeClaim::RESOURCE, &claim.meta);
    let events = [event(about, of_volume.clone()), event(claim, of_claim)];
    let actions = events.map(controller::Action::Event).into();
    Plan::one(of_volume, Step::InOrder(actions)).again_after(Some(s.sync_period))
}

/// The claim got another volume.
fn elsewhere(
    s: &VolumeSnapshot,
    (key, name): (&Key, &str),
    facts: &Facts,
) -> (Plan, VolumeVerdict) {
    let is_made = s.annotations.contains_key(PROVISIONED_BY);
    if is_made && &*s.volume.reclaim_policy == "Delete" {
        let why = format!("it was made for claim {key}, which is bound to volume {name}");
        return reclaim::released(s, &why, facts);
    }
    let why = format!("its claim {key} is bound to volume {name}");
    resting(Plan::one(why, Step::InOrder(vec![unbound(s).into()])))
}

/// The volume is no claim's, or kept for one as before. As `unbindVolume`; the phase follows.
pub(super) fn unbound(s: &VolumeSnapshot) -> Write {
    let edits = if s.annotations.contains_key(BOUND_BY_CONTROLLER) {
        vec![Edit::new(["spec", "claimRef"], Value::Null), edit(BOUND_BY_CONTROLLER, Value::Null)]
    } else {
        vec![Edit::new(["spec", "claimRef", "uid"], Value::Null)]
    };
    update(s, edits)
}

fn update(s: &VolumeSnapshot, edits: Vec<Edit>) -> Write {
    let object = ObjectRef::new(&PersistentVolume::RESOURCE, &s.volume.meta);
    Write::update(object, s.volume.raw.clone(), edits)
}

fn phase(s: &VolumeSnapshot, why: impl Into<controller::Why>, phase: VolumePhase) -> Plan {
    if s.volume.phase == phase {
        return Plan::rest(why);
    }
    Plan::one(why, Step::InOrder(vec![phase_write(s, phase, "").into()]))
}

/// Writes the phase and the message. As `updateVolumePhase`.
pub(super) fn phase_write(s: &VolumeSnapshot, phase: VolumePhase, message: &str) -> Write {
    let message = if message.is_empty() { Value::Null } else { message.into() };
    let edits = vec![
        Edit::new(["status", "phase"], phase.word().into()),
        Edit::new(["status", "message"], message),
    ];
    let object = ObjectRef::new(&PersistentVolume::RESOURCE, &s.volume.meta);
    Write::status(object, s.volume.raw.clone(), edits, Retry::Never)
}

/// An event about the volume.
pub(super) fn event(
    s: &VolumeSnapshot,
    r#type: EventType,
    reason: &'static str,
    message: String,
) -> controller::Action {
    let about = Arc::new(ObjectRef::new(&PersistentVolume::RESOURCE, &s.volume.meta));
    controller::Action::Event(Event { about, r#type, reason: reason.into(), message })
}

pub(super) fn resting(plan: Plan) -> (Plan, VolumeVerdict) {
    (plan, VolumeVerdict::default())
}

// === impl VolumeMemory ===

impl VolumeMemory {
    /// The pod of a recycling was made, or not. One of its name that is there already will be seen.
    fn begun(&mut self, name: &Text, recycling: Option<&Recycling>, outcome: &Outcome) {
        let Some(recycling) = recycling else { return };
        match (outcome.made.as_slice(), &outcome.error) {
            ([pod], _) => {
                let begun = Recycling { pod: pod.uid.clone(), ..recycling.clone() };
                self.recycling.insert(name.clone(), begun);
            }
            (_, Some(error)) if outcome.reason != "AlreadyExists" => {
                self.refused.insert(name.clone(), error.clone());
            }
            _ => {}
        }
    }

    fn ended(&mut self, name: &Text, ending: Ending, outcome: &Outcome, next: Time) {
        if outcome.error.is_none() {
            self.forget(name);
            if ending == Ending::Failed {
                self.resting.insert(name.clone(), next);
            }
        } else if ending == Ending::Emptied && outcome.reason == "Conflict" {
            // The pod is deleted and the volume has another version by now: it is emptied again, as
            // upstream's is.
            self.recycling.remove(name);
        }
    }

    fn forget(&mut self, name: &Text) {
        self.recycling.remove(name);
        self.refused.remove(name);
        self.resting.remove(name);
    }
}

// === impl VolumeSnapshot ===

impl VolumeSnapshot {
    /// Whether a CSI driver does the work of an older plugin for it.
    pub(super) fn is_migrated(&self) -> bool {
        self.annotations.get(MIGRATED_TO).is_some_and(|driver| !driver.is_empty())
    }

    /// Whether it was said already that its claim was deleted.
    pub(super) fn is_released(&self) -> bool {
        matches!(self.volume.phase, VolumePhase::Released | VolumePhase::Failed)
    }

    /// The recycling of it that this process began for the claim that it had.
    pub(super) fn own_recycling(&self) -> Option<&Recycling> {
        self.recycling.as_ref().filter(|it| recycling::is_same(it, &self.volume))
    }
}
