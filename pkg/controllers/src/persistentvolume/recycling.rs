//! The pod that empties a volume. As `recycleVolumeOperation` in upstream's `pv_controller.go`,
//! with `pkg/volume/util/recyclerclient`.

use api::{Key, Kind, PersistentVolume, Phase, Pod, Text, VolumeSource};
use controller::{Action, EventType, Facts, ObjectRef, Plan, Query, Step, Write};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::reclaim::failed;
use super::volumes::{Ending, VolumeSnapshot, VolumeVerdict, event, resting, unbound};

/// The beginning of the names of such pods.
pub(super) const POD_PREFIX: &str = "recycler-for-";
const FAILED: &str = "VolumeFailedRecycle";
const GIB: i64 = 1 << 30;

/// How the volumes of the two plugins that can do it are emptied.
#[derive(Clone, Debug, PartialEq)]
pub struct Recyclers {
    /// Folders of a node.
    pub host_path: Recycler,
    /// NFS shares.
    pub nfs: Recycler,
}

/// How volumes of one kind are emptied.
#[derive(Clone, Debug, PartialEq)]
pub struct Recycler {
    /// The pod, whose first volume becomes the volume.
    pub pod: Value,
    /// How long the pod may run at least.
    pub timeout_seconds_min: i64,
    /// How long it may run for each GiB of the volume.
    pub timeout_seconds_per_gib: i64,
}

/// A recycling that this process began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recycling {
    /// The uid of the volume.
    pub volume: Text,
    /// The uid of the claim that it had.
    pub claim: Text,
    /// The uid of the pod.
    pub pod: Text,
}

/// How far a recycling has come.
enum Course {
    /// Live reads are needed.
    Ask(Vec<Query>),
    /// It must wait.
    Wait(String),
    /// The pod may be made.
    Begin,
}

/// Whether a recycling was begun for this volume and the claim that it had.
pub(super) fn is_same(it: &Recycling, volume: &PersistentVolume) -> bool {
    it.volume == volume.meta.uid && Some(&it.claim) == volume.claim_uid.as_ref()
}

/// The part of the volume's spec that says where its data is.
pub(super) fn source_of(volume: &PersistentVolume, name: &str) -> Value {
    let spec = volume.raw.field("spec").map(|spec| serde_json::from_str(spec.get()));
    let spec: Value = spec.and_then(Result::ok).unwrap_or_default();
    spec.get(name).cloned().unwrap_or_default()
}

/// The volume, whose claim was deleted, is emptied and used again.
pub(super) fn recycle(s: &VolumeSnapshot, why: &str, facts: &Facts) -> (Plan, VolumeVerdict) {
    // Of another claim of the same name: that one has another volume.
    if !s.users.is_empty() && s.claim.is_none() {
        let message = format!("Volume is used by pods: {}", s.users.join(","));
        let event = event(s, EventType::Normal, FAILED, message.clone());
        let plan = Plan::one(format!("{why}; {message}"), Step::InOrder(vec![event]));
        return resting(plan.again_after(Some(s.sync_period)));
    }
    let Some(recycler) = s.recyclers.of(&s.volume) else {
        let text = "No recycler plugin found for the volume!".to_owned();
        return resting(failed(s, why, (FAILED, text), Vec::new()));
    };
    match (s.own_recycling(), &s.recycler) {
        (Some(own), Some(pod)) if pod.meta.uid == own.pod => watched(s, why, pod, facts),
        (_, Some(pod)) if pod.meta.is_terminating() => {
            let why = format!("{why}; the pod of the last recycling is being deleted");
            resting(Plan::rest(why).again_after(Some(s.sync_period)))
        }
        (_, Some(pod)) => {
            // Nobody knows what it emptied, and when.
            let text = "old recycler pod found, will retry later";
            let delete = Write::delete(ObjectRef::new(&Pod::RESOURCE, &pod.meta));
            ended(s, why, text, vec![delete.into()])
        }
        (Some(_), None) => {
            let text = "failed to recycle volume: recycler pod was deleted";
            ended(s, why, text, Vec::new())
        }
        (None, None) => match &s.refused {
            // Two spaces, as upstream's.
            Some(error) => {
                let text = format!("unexpected error creating recycler pod:  {error}");
                ended(s, why, &text, Vec::new())
            }
            None => begin(s, why, recycler, facts),
        },
    }
}

/// The pod that this process made.
fn watched(s: &VolumeSnapshot, why: &str, pod: &Pod, facts: &Facts) -> (Plan, VolumeVerdict) {
    let name = &pod.meta.key;
    let delete = || -> Action { Write::delete(ObjectRef::new(&Pod::RESOURCE, &pod.meta)).into() };
    match pod.phase {
        Phase::Succeeded => {
            let event = event(s, EventType::Normal, "VolumeRecycled", "Volume recycled".to_owned());
            let actions = vec![delete(), unbound(s).into(), event];
            let plan = Plan::one(format!("{why}; pod {name} emptied it"), Step::InOrder(actions));
            (plan, VolumeVerdict { ended: Some(Ending::Emptied), ..VolumeVerdict::default() })
        }
        Phase::Failed => {
            let query = Query::object(Pod::RESOURCE, name.clone());
            let Some(answer) = facts.get(&query) else {
                let why = format!("{why}; pod {name} could not empty it, for which reason?");
                return resting(Plan::fetch(why, vec![query]));
            };
            let text = match answer.object() {
                Ok(Some((_, raw))) => message_of(raw.field("status").map_or("null", RawValue::get)),
                Ok(None) => "recycler pod was deleted".to_owned(),
                Err(refused) => {
                    let error = refused.text.clone();
                    return resting(Plan::failed(format!("pod {name} cannot be read"), error));
                }
            };
            ended(s, why, &format!("failed to recycle volume: {text}"), vec![delete()])
        }
        Phase::Pending | Phase::Unknown | Phase::Running => {
            let wait = Plan::rest(format!("{why}; pod {name} empties it"));
            resting(wait.again_after(Some(s.sync_period)))
        }
    }
}

fn message_of(status: &str) -> String {
    let status: Value = serde_json::from_str(status).unwrap_or_default();
    let message = status["message"].as_str().filter(|message| !message.is_empty());
    message.unwrap_or("pod failed, pod.Status.Message unknown").to_owned()
}

/// The recycling failed; the next one begins after a period.
fn ended(
    s: &VolumeSnapshot,
    why: &str,
    error: &str,
    actions: Vec<Action>,
) -> (Plan, VolumeVerdict) {
    let message = format!("Recycle failed: {error}");
    let plan = failed(s, why, (FAILED, message), actions);
    let verdict = VolumeVerdict { ended: Some(Ending::Failed), ..VolumeVerdict::default() };
    (plan.again_after(Some(s.sync_period)), verdict)
}

fn begin(
    s: &VolumeSnapshot,
    why: &str,
    recycler: &Recycler,
    facts: &Facts,
) -> (Plan, VolumeVerdict) {
    match course(s, facts) {
        Course::Ask(queries) => {
            resting(Plan::fetch(format!("{why}; is the volume as the cache shows it?"), queries))
        }
        Course::Wait(reason) => {
            let plan = Plan::rest(format!("{why}; {reason}"));
            resting(plan.again_after(Some(s.sync_period)))
        }
        Course::Begin => {
            let pod = recycler.pod_for(&s.volume);
            let namespace = recycler.namespace();
            let create = Write::create(Pod::RESOURCE, namespace, pod.to_string());
            let claim = s.volume.claim_uid.clone().unwrap_or_default();
            let volume = s.volume.meta.uid.clone();
            let recycling = Some(Recycling { volume, claim, pod: Text::default() });
            let plan =
                Plan::one(format!("{why}; a pod empties it"), Step::InOrder(vec![create.into()]));
            let plan = plan.again_after(Some(s.sync_period));
            (plan, VolumeVerdict { recycling, ..VolumeVerdict::default() })
        }
    }
}

/// What the pod deletes is gone for good: the volume is read live, and must be the cached version.
fn course(s: &VolumeSnapshot, facts: &Facts) -> Course {
    if let Some(next) = s.next_recycling.filter(|next| *next > s.now) {
        return Course::Wait(format!("the next pod tries at {next}"));
    }
    let (meta, name) = (&s.volume.meta, &s.volume.meta.key.name);
    let query = Query::view::<PersistentVolume>(meta.key.clone());
    let Some(answer) = facts.get(&query) else { return Course::Ask(vec![query]) };
    match answer.view::<PersistentVolume>() {
        Ok(Some(live))
            if live.meta.uid == meta.uid && live.meta.resource_version == meta.resource_version =>
        {
            Course::Begin
        }
        Ok(Some(_) | None) => Course::Wait(format!("volume {name} has another version by now")),
        Err(refused) => Course::Wait(format!("volume {name} cannot be read: {}", refused.text)),
    }
}

// === impl Recyclers ===

impl Recyclers {
    fn of(&self, volume: &PersistentVolume) -> Option<&Recycler> {
        match volume.source {
            VolumeSource::HostPath => Some(&self.host_path),
            VolumeSource::Nfs => Some(&self.nfs),
            VolumeSource::Csi | VolumeSource::Other => None,
        }
    }

    /// The key of the pod that empties the volume.
    pub(super) fn pod_of(&self, volume: &PersistentVolume) -> Option<Key> {
        let namespace = self.of(volume)?.namespace();
        Some(Key::new(&namespace, &format!("{POD_PREFIX}{}", volume.meta.key.name)))
    }
}

// === impl Recycler ===

impl Recycler {
    /// The pod of upstream's `NewPersistentVolumeRecyclerPodTemplate`.
    pub fn pod_template() -> Value {
        let script = "test -e /scrub && find /scrub -mindepth 1 -delete && test -z \"$(ls -A \
                      /scrub)\" || exit 1";
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"namespace": "default"},
            "spec": {
                "restartPolicy": "Never",
                "volumes": [{"name": "vol"}],
                "containers": [{
                    "name": "pv-recycler",
                    "image": "registry.k8s.io/build-image/debian-base:bookworm-v1.0.6",
                    "command": ["/bin/sh"],
                    "args": ["-c", script],
                    "volumeMounts": [{"name": "vol", "mountPath": "/scrub"}],
                }],
            },
        })
    }

    fn namespace(&self) -> Text {
        let namespace = self.pod["metadata"]["namespace"].as_str();
        namespace.filter(|it| !it.is_empty()).unwrap_or("default").into()
    }

    /// The pod that empties the volume.
    fn pod_for(&self, volume: &PersistentVolume) -> Value {
        let mut pod = self.pod.clone();
        let metadata = &mut pod["metadata"];
        metadata["name"] = format!("{POD_PREFIX}{}", volume.meta.key.name).into();
        metadata["namespace"] = (*self.namespace()).into();
        metadata["generateName"] = Value::Null;
        pod["apiVersion"] = "v1".into();
        pod["kind"] = "Pod".into();
        pod["spec"]["activeDeadlineSeconds"] = self.timeout_seconds(volume).into();
        let name = pod["spec"]["volumes"][0]["name"].take();
        let source = if volume.source == VolumeSource::Nfs {
            let source = source_of(volume, "nfs");
            json!({"name": name, "nfs": {"server": source["server"], "path": source["path"]}})
        } else {
            let source = source_of(volume, "hostPath");
            json!({"name": name, "hostPath": {"path": source["path"]}})
        };
        // A template has a volume, as is checked at the start.
        if let Some(first) = pod["spec"]["volumes"].get_mut(0) {
            *first = source;
        }
        pod
    }

    /// As `CalculateTimeoutForVolume`.
    fn timeout_seconds(&self, volume: &PersistentVolume) -> i64 {
        let size = volume.capacity.unwrap_or_default().value() / GIB;
        size.saturating_mul(self.timeout_seconds_per_gib).max(self.timeout_seconds_min)
    }
}
