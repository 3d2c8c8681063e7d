//! Volumes and claims as one line of text each, so that a table shows them before and after.

use serde_json::{Map, Value, json};

use controller::fixture::ago;

use crate::persistentvolume::annotations::{
    BETA_PROVISIONER, BOUND_BY_CONTROLLER, MIGRATED_TO, PROVISIONED_BY, PROVISIONER, SELECTED_NODE,
};

const COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const PRE_RESIZE: &str = "volume.alpha.kubernetes.io/pre-resize-capacity";

/// The words that stand for annotations, in the order in which they are shown: of volumes and of
/// claims.
const ANNOTATIONS: [(&str, &str); 9] = [
    ("by-controller", BOUND_BY_CONTROLLER),
    ("completed", COMPLETED),
    ("made-by", PROVISIONED_BY),
    ("asks", PROVISIONER),
    ("asks-beta", BETA_PROVISIONER),
    ("migrated", MIGRATED_TO),
    ("node", SELECTED_NODE),
    ("beta-class", BETA_CLASS),
    ("resized-from", PRE_RESIZE),
];

/// A volume: `name size phase`, and then of these: `of=` the claim and `uid=` its uid, `class=`,
/// `policy=`, `source=`, `modes=`, `block`, `vac=`, `labeled`, `ending`, `finalizers=`,
/// `message=` with dashes for spaces, annotations.
pub(super) fn volume(line: &str) -> Value {
    let mut words = line.split(' ');
    let [name, size, phase] = [(); 3].map(|()| words.next().unwrap());
    let mut volume = json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1"},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "volumeMode": "Filesystem",
        },
        "status": {"phase": phase},
    });
    let mut source = "gcePersistentDisk";
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, "yes"));
        let spec = &mut volume["spec"];
        match key {
            "of" => {
                spec["claimRef"]["name"] = value.into();
                spec["claimRef"]["namespace"] = "default".into();
            }
            "uid" => spec["claimRef"]["uid"] = value.into(),
            "class" => spec["storageClassName"] = value.into(),
            "policy" => spec["persistentVolumeReclaimPolicy"] = value.into(),
            "source" => source = value,
            "modes" => spec["accessModes"] = value.split(',').collect(),
            "block" => spec["volumeMode"] = "Block".into(),
            "vac" => spec["volumeAttributesClassName"] = value.into(),
            "labeled" => volume["metadata"]["labels"] = json!({"foo": "true", "bar": "false"}),
            "ending" => volume["metadata"]["deletionTimestamp"] = ago(1).into(),
            "finalizers" => volume["metadata"]["finalizers"] = value.split(',').collect(),
            "message" => volume["status"]["message"] = value.replace('-', " ").into(),
            _ => annotate(&mut volume, key, value),
        }
    }
    volume["spec"][source] = match source {
        "hostPath" => json!({"path": "/data"}),
        "nfs" => json!({"server": "nfs", "path": "/share"}),
        _ => json!({}),
    };
    volume
}

/// A claim: `name uid size phase`, and then of these: `volume=`, `class=`, `modes=`, `block`,
/// `vac=`, `labeled` for a selector, `source` for a data source, `has=` another capacity than it
/// asks for, annotations. One that is bound has what it asks for.
pub(super) fn claim(line: &str) -> Value {
    let mut words = line.split(' ');
    let [name, uid, size, phase] = [(); 4].map(|()| words.next().unwrap());
    let mut claim = json!({
        "metadata": {"name": name, "namespace": "default", "uid": uid, "resourceVersion": "1"},
        "spec": {
            "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
            "resources": {"requests": {"storage": size}},
            "volumeMode": "Filesystem",
        },
        "status": {"phase": phase},
    });
    let mut has = size;
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, "yes"));
        let spec = &mut claim["spec"];
        match key {
            "volume" => spec["volumeName"] = value.into(),
            "class" => spec["storageClassName"] = value.into(),
            "modes" => spec["accessModes"] = value.split(',').collect(),
            "block" => spec["volumeMode"] = "Block".into(),
            "vac" => spec["volumeAttributesClassName"] = value.into(),
            "labeled" => spec["selector"] = json!({"matchLabels": {"foo": "true"}}),
            "source" => spec["dataSource"] = json!({"kind": "VolumeSnapshot", "name": "snap"}),
            "has" => has = value,
            _ => annotate(&mut claim, key, value),
        }
    }
    if phase == "Bound" {
        claim["status"]["accessModes"] = claim["spec"]["accessModes"].clone();
        claim["status"]["capacity"] = json!({"storage": has});
        let class = claim["spec"].get("volumeAttributesClassName").cloned();
        if let Some(class) = class {
            claim["status"]["currentVolumeAttributesClassName"] = class;
        }
    }
    claim
}

fn annotate(object: &mut Value, word: &str, value: &str) {
    let (_, name) = ANNOTATIONS.iter().find(|(known, _)| *known == word).expect(word);
    object["metadata"]["annotations"][*name] = value.into();
}

/// The line of a volume.
pub(super) fn shown_volume(volume: &Value) -> String {
    let (spec, meta) = (&volume["spec"], &volume["metadata"]);
    let mut words = vec![text(&meta["name"]), text(&spec["capacity"]["storage"])];
    words.push(text(&volume["status"]["phase"]));
    option(&mut words, "of", &spec["claimRef"]["name"]);
    option(&mut words, "uid", &spec["claimRef"]["uid"]);
    option(&mut words, "class", &spec["storageClassName"]);
    if spec["persistentVolumeReclaimPolicy"] != "Retain" {
        option(&mut words, "policy", &spec["persistentVolumeReclaimPolicy"]);
    }
    for source in ["hostPath", "nfs", "csi"] {
        if spec.get(source).is_some() {
            words.push(format!("source={source}"));
        }
    }
    if spec["accessModes"] != json!(["ReadWriteOnce", "ReadOnlyMany"]) {
        words.push(format!("modes={}", joined(&spec["accessModes"])));
    }
    if spec["volumeMode"] == "Block" {
        words.push("block".to_owned());
    }
    option(&mut words, "vac", &spec["volumeAttributesClassName"]);
    if meta.get("labels").is_some() {
        words.push("labeled".to_owned());
    }
    if meta.get("deletionTimestamp").is_some() {
        words.push("ending".to_owned());
    }
    if meta.get("finalizers").is_some() {
        words.push(format!("finalizers={}", joined(&meta["finalizers"])));
    }
    if let Some(message) = volume["status"]["message"].as_str() {
        words.push(format!("message={}", message.replace(' ', "-")));
    }
    words.extend(annotations(meta));
    words.join(" ")
}

/// The line of a claim. The parts of its status that follow from its phase and its spec are not
/// shown.
pub(super) fn shown_claim(claim: &Value) -> String {
    let (spec, meta, status) = (&claim["spec"], &claim["metadata"], &claim["status"]);
    let size = &spec["resources"]["requests"]["storage"];
    let mut words = vec![text(&meta["name"]), text(&meta["uid"]), text(size)];
    words.push(text(&status["phase"]));
    option(&mut words, "volume", &spec["volumeName"]);
    option(&mut words, "class", &spec["storageClassName"]);
    if spec["accessModes"] != json!(["ReadWriteOnce", "ReadOnlyMany"]) {
        words.push(format!("modes={}", joined(&spec["accessModes"])));
    }
    if spec["volumeMode"] == "Block" {
        words.push("block".to_owned());
    }
    option(&mut words, "vac", &spec["volumeAttributesClassName"]);
    if spec.get("selector").is_some() {
        words.push("labeled".to_owned());
    }
    if spec.get("dataSource").is_some() {
        words.push("source".to_owned());
    }
    let is_bound = status["phase"] == "Bound";
    let has = &status["capacity"]["storage"];
    if is_bound && has != size || !is_bound && !has.is_null() {
        option(&mut words, "has", has);
    }
    let modes = if is_bound { &spec["accessModes"] } else { &Value::Null };
    if status["accessModes"] != *modes {
        words.push(format!("status-modes={}", joined(&status["accessModes"])));
    }
    let class = if is_bound { &spec["volumeAttributesClassName"] } else { &Value::Null };
    if status["currentVolumeAttributesClassName"] != *class {
        option(&mut words, "status-vac", &status["currentVolumeAttributesClassName"]);
    }
    words.extend(annotations(meta));
    words.join(" ")
}

fn annotations(meta: &Value) -> Vec<String> {
    let none = Map::new();
    let annotations = meta.get("annotations").and_then(Value::as_object).unwrap_or(&none);
    let shown = ANNOTATIONS.iter().filter_map(|(word, name)| match text(annotations.get(*name)?) {
        value if value == "yes" => Some((*word).to_owned()),
        value => Some(format!("{word}={value}")),
    });
    shown.collect()
}

fn option(words: &mut Vec<String>, name: &str, value: &Value) {
    if !value.is_null() {
        words.push(format!("{name}={}", text(value)));
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn joined(list: &Value) -> String {
    let items = list.as_array().map(|items| items.iter().map(text).collect::<Vec<_>>());
    items.unwrap_or_default().join(",")
}
