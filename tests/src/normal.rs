//! What two clusters have in common: objects and events without names made at random, hashes, uids,
//! versions and times.
//!
//! A ReplicaSet of a Deployment and a ControllerRevision are named for what they contain, since
//! two managers may hash alike templates differently. A pod that was made for another object loses
//! the random end of its name.

use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// What the API server draws the ends of generated names from.
const RANDOM_CHARACTERS: &str = "bcdfghjklmnpqrstvwxz2456789";
const RANDOM_LENGTH: usize = 5;
/// Labels whose value is a hash.
const HASHES: [&str; 2] = ["pod-template-hash", "controller-revision-hash"];

/// The names of one cluster, learned from each object seen, and what stands for them.
#[derive(Debug, Clone, Default)]
pub struct Normal {
    /// Names with a hash in them, hashes and uids.
    words: BTreeMap<String, String>,
    /// The names of objects that make pods.
    makers: BTreeSet<String>,
}

impl Normal {
    /// Learns the names of the objects, which have their `kind`.
    pub fn learn<'a>(&mut self, objects: impl IntoIterator<Item = &'a Value>) {
        for object in objects {
            self.learn_one(object);
        }
    }

    /// The object without what differs between equal clusters. Of `managedFields` remain the
    /// managers, their operations and subresources; of a pod's status its phase.
    pub fn object(&self, object: &Value) -> Value {
        let mut object = object.clone();
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            for key in ["uid", "resourceVersion", "creationTimestamp"] {
                metadata.remove(key);
            }
            if let Some(fields) = metadata.remove("managedFields") {
                metadata.insert("managedFields".to_owned(), managers(&fields));
            }
        }
        match kind.as_str() {
            "Pod" => plain_pod(&mut object),
            // It counts how often a Deployment has scaled it, which is a matter of moments.
            "ReplicaSet" => {
                for (part, key) in [("metadata", "generation"), ("status", "observedGeneration")] {
                    object[part].as_object_mut().and_then(|part| part.remove(key));
                }
            }
            "Deployment" => forget_what_progressed(&mut object),
            // The version that its claim had when it was bound.
            "PersistentVolume" => {
                let claim = object["spec"]["claimRef"].as_object_mut();
                claim.and_then(|claim| claim.remove("resourceVersion"));
            }
            _ => {}
        }
        self.value(object)
    }

    /// What an Event reports, and how often.
    pub fn event(&self, event: &Value) -> (String, u64) {
        let about = &event["involvedObject"];
        let parts = [
            &about["kind"],
            &about["namespace"],
            &about["name"],
            &event["source"]["component"],
            &event["reportingComponent"],
            &event["type"],
            &event["reason"],
            &event["message"],
        ];
        let parts = parts.map(|part| self.text(part.as_str().unwrap_or_default()));
        (parts.join(" | "), event["count"].as_u64().unwrap_or(1))
    }

    fn learn_one(&mut self, object: &Value) {
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&object["kind"]), text(&metadata["name"]));
        let content = match kind.as_str() {
            "ReplicaSet" => &object["spec"]["template"],
            "ControllerRevision" => &object["data"],
            _ => &Value::Null,
        };
        let hash = HASHES.iter().map(|label| text(&metadata["labels"][*label]));
        let hash = hash.into_iter().find(|hash| !hash.is_empty());
        if let (Some(hash), false) = (hash, content.is_null()) {
            let short = fingerprint(content);
            if let Some(base) = name.strip_suffix(&format!("-{hash}")) {
                self.words.insert(name.clone(), format!("{base}-{short}"));
            }
            // A DaemonSet's ReplicaSet-like hash is known by its revision's name.
            self.words.insert(hash, short);
        }
        if ["ReplicaSet", "ReplicationController", "DaemonSet"].contains(&kind.as_str()) {
            self.makers.insert(name.clone());
        }
        let of = self.text(&name);
        self.words.insert(text(&metadata["uid"]), format!("uid of {kind} {of}"));
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(key, value)| (key, self.value(value)));
                Value::Object(fields.collect())
            }
            other => other,
        }
    }

    fn text(&self, text: &str) -> String {
        if is_time(text) {
            return "<time>".to_owned();
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let mut normal = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(is_part) {
            let (between, word) = rest.split_at(start);
            let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
            normal.push_str(between);
            normal.push_str(&self.word(&word[..end]));
            rest = &word[end..];
        }
        normal + rest
    }

    fn word(&self, word: &str) -> String {
        if let Some(known) = self.words.get(word) {
            return known.clone();
        }
        // As in metadata.generateName.
        if let Some(known) = word.strip_suffix('-').and_then(|word| self.words.get(word)) {
            return format!("{known}-");
        }
        let is_random = |end: &str| {
            end.len() == RANDOM_LENGTH && end.chars().all(|c| RANDOM_CHARACTERS.contains(c))
        };
        match word.rsplit_once('-') {
            Some((maker, end)) if is_random(end) && self.makers.contains(maker) => {
                format!("{}-*", self.words.get(maker).map_or(maker, String::as_str))
            }
            _ => word.to_owned(),
        }
    }
}

/// Short, and equal for equal content but for hashes and times in it.
fn fingerprint(content: &Value) -> String {
    fn strip(value: &Value) -> Value {
        match value {
            Value::String(text) if is_time(text) => "<time>".into(),
            Value::Array(items) => items.iter().map(strip).collect(),
            Value::Object(fields) => fields
                .iter()
                .filter(|(key, _)| !HASHES.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), strip(value)))
                .collect::<Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }
    let mut hasher = DefaultHasher::new();
    strip(content).to_string().hash(&mut hasher);
    format!("#{:08x}", hasher.finish() >> 32)
}

/// Which manager wrote how, but for the subresource's fields and the time.
fn managers(fields: &Value) -> Value {
    let entries = fields.as_array().into_iter().flatten();
    let entries: BTreeSet<_> = entries
        .map(|entry| {
            let text = |key: &str| entry[key].as_str().unwrap_or_default();
            format!("{} {} {}", text("manager"), text("operation"), text("subresource"))
        })
        .collect();
    json!(entries)
}

/// Without what the scheduler and the fake kubelets choose.
fn plain_pod(pod: &mut Value) {
    let phase = pod["status"]["phase"].take();
    pod["status"] = json!({"phase": phase});
    let owner = pod["metadata"]["ownerReferences"][0]["kind"].as_str();
    if owner != Some("DaemonSet")
        && let Some(node) = pod["spec"].get_mut("nodeName")
    {
        *node = "<node>".into();
    }
}

/// Which of its ReplicaSets a Deployment that is complete says has progressed is a matter of
/// moments: the condition is written again only if its reason was another one in between, and a
/// Recreate whose status write met a conflict then was not seen in between.
fn forget_what_progressed(deployment: &mut Value) {
    let conditions = deployment.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        if condition["reason"] == "NewReplicaSetAvailable" {
            condition["message"] = "<a ReplicaSet> has successfully progressed.".into();
        }
    }
}

fn is_time(text: &str) -> bool {
    let shape: String =
        text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).take(19).collect();
    shape == "0000-00-00T00:00:00" && text.ends_with('Z')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(hash: &str, image: &str) -> Value {
        json!({"kind": "ReplicaSet", "metadata": {"name": format!("web-{hash}"),
            "uid": format!("uid-{hash}"), "labels": {"pod-template-hash": hash}, "generation": 4},
            "spec": {"template": {"metadata": {"labels": {"pod-template-hash": hash}},
                "spec": {"image": image}}}})
    }

    fn pod(hash: &str, end: &str) -> Value {
        json!({"kind": "Pod", "metadata": {"name": format!("web-{hash}-{end}"),
            "uid": format!("pod-{end}"), "resourceVersion": "7",
            "generateName": format!("web-{hash}-"),
            "labels": {"pod-template-hash": hash},
            "ownerReferences": [{"kind": "ReplicaSet", "uid": format!("uid-{hash}")}],
            "managedFields": [{"manager": "kcm", "operation": "Update", "time": "now"}]},
            "spec": {"nodeName": "node-1"}, "status": {"phase": "Running", "podIP": end}})
    }

    fn learned(objects: &[Value]) -> Normal {
        let mut normal = Normal::default();
        normal.learn(objects);
        normal
    }

    #[test]
    fn a_bound_volume_is_equal_whatever_version_its_claim_had() {
        let volume = |version: &str| {
            json!({"kind": "PersistentVolume", "metadata": {"name": "disk"},
                "spec": {"claimRef": {"name": "data", "resourceVersion": version}}})
        };
        let normal = Normal::default();
        assert_eq!(normal.object(&volume("7")), normal.object(&volume("9")));
        let other = json!({"kind": "PersistentVolume", "metadata": {"name": "disk"},
            "spec": {"claimRef": {"name": "other"}}});
        assert_ne!(normal.object(&volume("7")), normal.object(&other));
    }

    #[test]
    fn equal_objects_under_other_names_are_equal() {
        let (left, right) = (learned(&[set("abc", "a")]), learned(&[set("xyz", "a")]));
        assert_eq!(left.object(&set("abc", "a")), right.object(&set("xyz", "a")));
        assert_eq!(left.object(&pod("abc", "bcdfg")), right.object(&pod("xyz", "zzzzz")));
    }

    #[test]
    fn other_content_is_another_name() {
        let (left, right) = (learned(&[set("abc", "a")]), learned(&[set("abc", "b")]));
        assert_ne!(left.object(&pod("abc", "bcdfg")), right.object(&pod("abc", "bcdfg")));
    }

    #[test]
    fn which_replica_set_has_progressed_is_left_out() {
        let deployment = |reason: &str, hash: &str| {
            let message = format!("ReplicaSet \"web-{hash}\" is told of");
            json!({"kind": "Deployment",
                "status": {"conditions": [{"reason": reason, "message": message}]}})
        };
        let normal = learned(&[set("abc", "a"), set("xyz", "b")]);
        let told = |reason, hash| normal.object(&deployment(reason, hash));
        assert_eq!(told("NewReplicaSetAvailable", "abc"), told("NewReplicaSetAvailable", "xyz"));
        assert_ne!(told("ReplicaSetUpdated", "abc"), told("ReplicaSetUpdated", "xyz"));
    }

    #[test]
    fn events_count_by_what_they_say() {
        let normal = learned(&[set("abc", "a")]);
        let event = |name: &str| {
            json!({"involvedObject": {"kind": "ReplicaSet", "name": "web-abc"}, "count": 3,
                "reason": "SuccessfulCreate", "message": format!("Created pod: {name}")})
        };
        let (told, count) = normal.event(&event("web-abc-bcdfg"));
        assert!(told.ends_with("-*") && count == 3, "{told}");
        assert_eq!(normal.event(&event("web-abc-zzzzz")).0, told);
        // No name that the API server has made.
        assert_ne!(normal.event(&event("web-abc-aaaaa")).0, told);
    }

    #[test]
    fn times_are_distinguished_from_other_text() {
        assert!(is_time("2026-01-02T03:04:05Z") && is_time("2026-01-02T03:04:05.000006Z"));
        assert!(!is_time("2026-01-02") && !is_time("at 2026-01-02T03:04:05Z"));
    }
}
