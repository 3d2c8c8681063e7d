//! The provider of volumes: each claim gets one of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Resource, Time};
use serde_json::{Value, json};

use crate::alarms::Alarms;
use crate::attacher::DRIVER;
use crate::fields::{at, key, text};
use crate::kinds::{CLAIMS, VOLUMES, target};
use crate::{Change, Part, Reaction, Request, Sender};

/// Who made a volume, as its annotation `pv.kubernetes.io/provisioned-by` says.
const PROVISIONER: &str = "sandbox/hollow";
/// What is asked for and not seen is asked for again after this.
const RETRY: Duration = Duration::from_secs(2);

/// A provisioner and, if nobody else binds, a binder: a claim that waits gets a volume, and is
/// bound to it; the volume is deleted after its claim.
pub struct Volumes {
    binder: Binder,
    claims: BTreeMap<Key, Arc<Value>>,
    /// Those that were made here, by their claim and its uid.
    made: BTreeMap<(Key, String), Arc<Value>>,
    alarms: Alarms<Key>,
}

/// Who binds claims and volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Binder {
    /// This part, whatever class a claim names.
    Itself,
    /// A controller, which asks for volumes by an annotation.
    Controller,
}

impl Part for Volumes {
    fn watches(&self) -> &'static [Resource] {
        static WATCHED: [Resource; 2] = [CLAIMS, VOLUMES];
        &WATCHED
    }

    fn step(&mut self, now: Time, changes: &[Change]) -> Reaction {
        let mut reaction = Reaction::default();
        let mut touched: BTreeSet<Key> = BTreeSet::new();
        for change in changes {
            if change.resource == CLAIMS {
                touched.insert(self.see_claim(change));
            } else if change.resource == VOLUMES {
                touched.extend(self.see_volume(change));
            }
        }
        touched.extend(self.alarms.due(now));
        for key in touched {
            let requests = self.tend(&key);
            self.alarms.set(&key, (!requests.is_empty()).then(|| now + RETRY));
            reaction.send(&Sender::Operator, requests);
        }
        reaction.again = self.alarms.next();
        reaction
    }
}

impl Volumes {
    /// Binds each claim to a volume of its own.
    pub fn binding() -> Self {
        Self::with(Binder::Itself)
    }

    /// Makes volumes for the claims that a controller asks it for, and deletes those that it
    /// releases: the provisioner `sandbox/hollow` of a StorageClass.
    pub fn provisioning() -> Self {
        Self::with(Binder::Controller)
    }

    fn with(binder: Binder) -> Self {
        let (claims, made) = (BTreeMap::new(), BTreeMap::new());
        Self { binder, claims, made, alarms: Alarms::default() }
    }

    fn see_claim(&mut self, change: &Change) -> Key {
        let key = key(&change.object);
        if change.gone {
            self.claims.remove(&key);
        } else {
            self.claims.insert(key.clone(), Arc::clone(&change.object));
        }
        key
    }

    /// The claim of a volume that was made here.
    fn see_volume(&mut self, change: &Change) -> Option<Key> {
        let volume = &change.object;
        let annotations = at(volume, "/metadata/annotations")?;
        if annotations.get("pv.kubernetes.io/provisioned-by")?.as_str() != Some(PROVISIONER) {
            return None;
        }
        let part = |name| text(volume, name);
        let key = Key::new(part("/spec/claimRef/namespace"), part("/spec/claimRef/name"));
        let of = (key.clone(), part("/spec/claimRef/uid").to_owned());
        if change.gone {
            self.made.remove(&of);
        } else {
            self.made.insert(of, Arc::clone(volume));
        }
        Some(key)
    }

    /// The next thing to be done for a claim, and for the volumes of former claims of its name.
    fn tend(&self, key: &Key) -> Vec<Request> {
        let claim = self.claims.get(key);
        let uid = claim.map_or("", |claim| text(claim, "/metadata/uid"));
        let of_key = self.made.range((key.clone(), String::new())..);
        let of_key = of_key.take_while(|((claim, _), _)| claim == key);
        let left = of_key.filter(|((_, claim), volume)| claim != uid && self.may_drop(volume));
        let mut requests: Vec<Request> = left.map(|(_, volume)| drop_volume(volume)).collect();
        requests.extend(claim.into_iter().flat_map(|claim| self.bind(key, claim, uid)));
        requests
    }

    /// Whether a volume whose claim does not exist may be deleted.
    fn may_drop(&self, volume: &Value) -> bool {
        match self.binder {
            Binder::Itself => true,
            Binder::Controller => text(volume, "/status/phase") == "Released",
        }
    }

    /// Whether a volume is to be made for a claim.
    fn is_asked(&self, claim: &Value) -> bool {
        let asked = "volume.kubernetes.io/storage-provisioner";
        match self.binder {
            Binder::Itself => true,
            Binder::Controller => at(claim, "/metadata/annotations")
                .is_some_and(|all| all.get(asked).and_then(Value::as_str) == Some(PROVISIONER)),
        }
    }

    fn bind(&self, key: &Key, claim: &Value, uid: &str) -> Vec<Request> {
        let name = format!("pvc-{uid}");
        let bound = text(claim, "/spec/volumeName");
        let is_over = at(claim, "/metadata/deletionTimestamp").is_some();
        let wants_none = at(claim, "/metadata/annotations")
            .is_some_and(|annotations| annotations.get("sandbox/unbound").is_some());
        if is_over || wants_none || !(bound.is_empty() || bound == name) || !self.is_asked(claim) {
            return Vec::new();
        }
        let of_volume = Key::new("", &name);
        let Some(volume) = self.made.get(&(key.clone(), uid.to_owned())) else {
            return vec![Request::Create(target(&VOLUMES, &of_volume, ""), volume(claim, &name))];
        };
        if self.binder == Binder::Controller {
            return Vec::new();
        }
        let mut requests = Vec::new();
        if bound.is_empty() {
            let annotations = json!({
                "pv.kubernetes.io/bind-completed": "yes",
                "pv.kubernetes.io/bound-by-controller": "yes",
            });
            let metadata = json!({ "uid": uid, "annotations": annotations });
            let body = json!({ "metadata": metadata, "spec": { "volumeName": name } });
            requests.push(Request::Patch(target(&CLAIMS, key, ""), body));
        }
        if text(claim, "/status/phase") != "Bound" {
            let status = json!({
                "phase": "Bound",
                "accessModes": at(claim, "/spec/accessModes"),
                "capacity": at(claim, "/spec/resources/requests"),
            });
            let body = json!({ "metadata": { "uid": uid }, "status": status });
            requests.push(Request::Patch(target(&CLAIMS, key, "status"), body));
        }
        if text(volume, "/status/phase") != "Bound" {
            let body = json!({ "status": { "phase": "Bound" } });
            requests.push(Request::Patch(target(&VOLUMES, &of_volume, "status"), body));
        }
        requests
    }
}

/// The volume of a claim.
fn volume(claim: &Value, name: &str) -> Value {
    let mut volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name,
            "annotations": { "pv.kubernetes.io/provisioned-by": PROVISIONER },
        },
        "spec": {
            "accessModes": at(claim, "/spec/accessModes"),
            "capacity": { "storage": at(claim, "/spec/resources/requests/storage") },
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": text(claim, "/metadata/namespace"),
                "name": text(claim, "/metadata/name"),
                "uid": text(claim, "/metadata/uid"),
            },
            "hostPath": { "path": format!("/hollow/{name}") },
            "persistentVolumeReclaimPolicy": "Delete",
        },
    });
    let spec = &mut volume["spec"];
    for field in ["storageClassName", "volumeMode", "volumeAttributesClassName"] {
        if let Some(said) = at(claim, &format!("/spec/{field}")) {
            spec[field] = said.clone();
        }
    }
    // The API server takes attributes of CSI volumes alone.
    if spec.get("volumeAttributesClassName").is_some() {
        spec["hostPath"] = Value::Null;
        spec["csi"] = json!({ "driver": DRIVER, "volumeHandle": name });
    }
    volume
}

fn drop_volume(volume: &Value) -> Request {
    let options = json!({ "preconditions": { "uid": at(volume, "/metadata/uid") } });
    Request::Delete(target(&VOLUMES, &key(volume), ""), options)
}
