//! Volumes (ValidateVolumes, validateVolumeSource).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::environment::{Reader, field_ref, no_backsteps, resource_ref};
use super::mounts::relative;
use super::{Owner, duplicate, one_of};
use crate::formats::{dns_label, dns_subdomain};
use crate::value::{count, get, items, number, text};
use crate::{Fault, Invalid, Path, Quantity};

/// Files are at most readable, writable and executable by all: octal 777.
const MODE_MAX: i64 = 0o777;
const DRIVER_LENGTH_MAX: usize = 63;
const TOKEN_SECONDS_MIN: i64 = 600;
const TOKEN_SECONDS_MAX: i64 = 1 << 32;

/// Sources in upstream's order, with the name that upstream gives a second one.
const SOURCES: [(&str, &str); 30] = [
    ("emptyDir", "emptyDir"),
    ("hostPath", "hostPath"),
    ("gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret"),
    ("nfs", "nfs"),
    ("iscsi", "iscsi"),
    ("glusterfs", "glusterfs"),
    ("flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd"),
    ("cinder", "cinder"),
    ("cephfs", "cephFS"),
    ("quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI"),
    ("fc", "fc"),
    ("flexVolume", "flexVolume"),
    ("configMap", "configMap"),
    ("azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk"),
    ("storageos", "storageos"),
    ("projected", "projected"),
    ("scaleIO", "scaleIO"),
    ("csi", "csi"),
    ("ephemeral", "ephemeral"),
    ("image", "image"),
];

/// The volumes without faults by their name, and the faults of the others.
pub(super) fn validate<'a>(
    spec: &'a Value,
    path: &Path,
    owner: Owner,
) -> (BTreeMap<&'a str, &'a Value>, Vec<Invalid>) {
    let (mut volumes, mut faults) = (BTreeMap::new(), Vec::new());
    for (index, volume) in items(spec, "volumes").iter().enumerate() {
        let path = path.index(index);
        let name = text(volume, "name");
        let on_name = path.child("name");
        let mut own = source(volume, &path, owner);
        match name {
            "" => own.push(on_name.required("")),
            name => own.extend(on_name.refuse(name, dns_label(name))),
        }
        if volumes.contains_key(name) {
            own.push(duplicate(&on_name, name));
        }
        if own.is_empty() {
            volumes.insert(name, volume);
        }
        faults.extend(own);
    }
    (volumes, faults)
}

fn source(volume: &Value, path: &Path, owner: Owner) -> Vec<Invalid> {
    let there = |(field, shown)| get(volume, field).map(|source| (field, shown, source));
    let mut sources = SOURCES.into_iter().filter_map(there);
    let Some((field, _, first)) = sources.next() else {
        return vec![path.required("must specify a volume type")];
    };
    let mut faults = one_source(field, first, &path.child(field), owner);
    for (_, shown, _) in sources {
        faults.push(path.child(shown).forbidden("may not specify more than 1 volume type"));
    }
    faults
}

fn one_source(field: &str, source: &Value, path: &Path, owner: Owner) -> Vec<Invalid> {
    match field {
        "emptyDir" => {
            let size = get(source, "sizeLimit").and_then(Quantity::from_json);
            let is_negative = size.is_some_and(|size| size < Quantity::ZERO);
            let fault = "SizeLimit field must be a valid resource quantity";
            is_negative.then(|| path.child("sizeLimit").forbidden(fault)).into_iter().collect()
        }
        "hostPath" => host_path(source, path),
        "secret" => keys_in_files(source, "secretName", path),
        "configMap" => keys_in_files(source, "name", path),
        "downwardAPI" => {
            let mut faults: Vec<_> = mode(source, "defaultMode", path).into_iter().collect();
            // Upstream names the list's owner here, not the item.
            faults.extend(items(source, "items").iter().flat_map(|item| field_in_file(item, path)));
            faults
        }
        "projected" => projected(source, path),
        "persistentVolumeClaim" => required(source, &["claimName"], path),
        "nfs" => nfs(source, path),
        "csi" => csi(source, path),
        "ephemeral" if get(source, "volumeClaimTemplate").is_none() => {
            vec![path.child("volumeClaimTemplate").required("")]
        }
        "image" => {
            // Templates may leave it to others to say which.
            let fields: &[&str] = if owner == Owner::Pod { &["reference"] } else { &[] };
            let mut faults = required(source, fields, path);
            let policies = ["Always", "IfNotPresent", "Never"];
            let policy = text(source, "pullPolicy");
            faults.extend(one_of(policy, &policies, &path.child("pullPolicy")));
            faults
        }
        _ => Vec::new(),
    }
}

fn required(source: &Value, fields: &[&str], path: &Path) -> Vec<Invalid> {
    let missing = fields.iter().filter(|field| text(source, field).is_empty());
    missing.map(|field| path.child(field).required("")).collect()
}

fn host_path(source: &Value, path: &Path) -> Vec<Invalid> {
    const TYPES: [&str; 8] = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let file = text(source, "path");
    if file.is_empty() {
        return vec![path.child("path").required("")];
    }
    let mut faults: Vec<_> = no_backsteps(file, &path.child("path")).into_iter().collect();
    let kind = text(source, "type");
    if !TYPES.contains(&kind) {
        faults.push(path.child("type").not_supported(kind, &TYPES));
    }
    faults
}

fn nfs(source: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = required(source, &["server", "path"], path);
    let file = text(source, "path");
    if !file.starts_with('/') {
        faults.push(path.child("path").invalid(file, "must be an absolute path"));
    }
    faults
}

/// ValidateCSIDriverName.
fn csi(source: &Value, path: &Path) -> Vec<Invalid> {
    let (path, name) = (path.child("driver"), text(source, "driver"));
    if name.is_empty() {
        return vec![path.required("")];
    }
    let mut faults = Vec::new();
    if name.len() > DRIVER_LENGTH_MAX {
        faults.push(path.is(Fault::TooLong(DRIVER_LENGTH_MAX)));
    }
    let wrong = dns_subdomain(&name.to_lowercase());
    faults.extend(wrong.iter().map(|fault| path.invalid(name, fault)));
    faults
}

/// A ConfigMap or Secret.
fn keys_in_files(source: &Value, name: &str, path: &Path) -> Vec<Invalid> {
    let mut faults = required(source, &[name], path);
    faults.extend(mode(source, "defaultMode", path));
    for (index, item) in items(source, "items").iter().enumerate() {
        faults.extend(key_in_file(item, &path.child("items").index(index)));
    }
    faults
}

/// validateKeyToPath.
fn key_in_file(item: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = required(item, &["key", "path"], path);
    faults.extend(local_path(text(item, "path"), &path.child("path")));
    faults.extend(mode(item, "mode", path));
    faults
}

/// validateDownwardAPIVolumeFile.
fn field_in_file(item: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = required(item, &["path"], path);
    faults.extend(local_path(text(item, "path"), &path.child("path")));
    match (get(item, "fieldRef"), get(item, "resourceFieldRef")) {
        (Some(field), resource) => {
            faults.extend(field_ref(field, Reader::File, &path.child("fieldRef")));
            if resource.is_some() {
                let fault = "fieldRef and resourceFieldRef can not be specified simultaneously";
                faults.push(path.invalid("resource", fault));
            }
        }
        (None, Some(resource)) => {
            let path = path.child("resourceFieldRef");
            faults.extend(resource_ref(resource, Reader::File, &path));
        }
        (None, None) => {
            faults.push(path.required("one of fieldRef and resourceFieldRef is required"));
        }
    }
    faults.extend(mode(item, "mode", path));
    faults
}

/// validateProjectedVolumeSource.
fn projected(source: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults: Vec<_> = mode(source, "defaultMode", path).into_iter().collect();
    let mut files = BTreeSet::new();
    for (index, part) in items(source, "sources").iter().enumerate() {
        let on_part = path.child("sources").index(index);
        let mut sources = 0;
        for field in ["secret", "configMap"] {
            let Some(keys) = get(part, field) else { continue };
            sources += 1;
            let on_keys = on_part.child(field);
            faults.extend(required(keys, &["name"], &on_keys));
            for (index, item) in items(keys, "items").iter().enumerate() {
                faults.extend(key_in_file(item, &on_keys.child("items").index(index)));
                faults.extend(twice(&mut files, item, text(keys, "name"), path));
            }
        }
        if let Some(fields) = get(part, "downwardAPI") {
            sources += 1;
            for item in items(fields, "items") {
                faults.extend(field_in_file(item, &on_part.child("downwardAPI")));
                faults.extend(twice(&mut files, item, text(item, "path"), path));
            }
        }
        if let Some(token) = get(part, "serviceAccountToken") {
            sources += 1;
            faults.extend(account_token(token, &on_part.child("serviceAccountToken"), path));
        }
        for field in ["clusterTrustBundle", "podCertificate"] {
            sources += usize::from(get(part, field).is_some());
        }
        if sources > 1 {
            faults.push(on_part.forbidden("may not specify more than 1 volume type per source"));
        }
    }
    faults
}

/// A file that another source makes as well.
fn twice<'a>(
    files: &mut BTreeSet<&'a str>,
    item: &'a Value,
    shown: &str,
    path: &Path,
) -> Option<Invalid> {
    let file = text(item, "path");
    let is_new = file.is_empty() || files.insert(file);
    (!is_new).then(|| path.invalid(shown, "conflicting duplicate paths"))
}

fn account_token(token: &Value, path: &Path, all: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let seconds = count(token, "expirationSeconds");
    let on_seconds = path.child("expirationSeconds");
    if seconds < TOKEN_SECONDS_MIN {
        let fault = "may not specify a duration less than 10 minutes";
        faults.push(on_seconds.invalid(seconds, fault));
    }
    if seconds > TOKEN_SECONDS_MAX {
        let fault = "may not specify a duration larger than 2^32 seconds";
        faults.push(on_seconds.invalid(seconds, fault));
    }
    match text(token, "path") {
        "" => faults.push(all.child("path").required("")),
        file => faults.extend(local_path(file, &all.child("path"))),
    }
    faults
}

/// ValidateLocalNonReservedPath.
fn local_path(file: &str, path: &Path) -> Vec<Invalid> {
    let mut faults = relative(file, path);
    if file.starts_with("..") && !file.starts_with("../") {
        faults.push(path.invalid(file, "must not start with '..'"));
    }
    faults
}

fn mode(source: &Value, field: &str, path: &Path) -> Option<Invalid> {
    let mode = number(source, field).filter(|mode| !(0..=MODE_MAX).contains(mode))?;
    let fault = "must be a number between 0 and 0777 (octal), both inclusive";
    Some(path.child(field).invalid(mode, fault))
}
