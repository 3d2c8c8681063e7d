//! What a claim and a volume say of each other and of who makes and deletes a volume. As
//! `updateMigrationAnnotations` and `modifyDeletionFinalizers` in upstream's
//! `pv_controller_base.go`.

use std::collections::BTreeMap;

use api::{Edit, InTreePlugin, Meta, Text};
use serde_json::Value;

/// Of claims and volumes that the binder brought together, not a person.
pub(super) const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// Of claims: the node that the scheduler chose.
pub(super) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Of volumes: who made them.
pub(super) const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// Of both: the CSI driver that does the work of an older plugin.
pub(super) const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";
/// Of claims: who is to make a volume.
pub(super) const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
/// The same, before.
pub(super) const BETA_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
/// Of volumes that a plugin of the binder is to delete.
pub(super) const IN_TREE_FINALIZER: &str = "kubernetes.io/pv-controller";
/// Of volumes that an external provisioner is to delete.
const EXTERNAL_FINALIZER: &str = "external-provisioner.volume.kubernetes.io/finalizer";
/// The beginning of the names of plugins that are or were a part of Kubernetes.
pub(super) const IN_TREE: &str = "kubernetes.io/";

/// Sets an annotation, or removes it.
pub(super) fn edit(name: &str, value: impl Into<Value>) -> Edit {
    Edit::new(["metadata", "annotations", name], value.into())
}

/// Makes right who does the work of an older plugin; none: it is. The first of `keys` that is there
/// names the plugin.
pub(super) fn migration(annotations: &BTreeMap<String, String>, keys: &[&str]) -> Option<Edit> {
    let provisioner = keys.iter().find_map(|key| annotations.get(*key))?;
    let known = annotations.get(MIGRATED_TO).map_or("", String::as_str);
    match InTreePlugin::named(provisioner) {
        Some(plugin) => (known != plugin.driver).then(|| edit(MIGRATED_TO, plugin.driver)),
        None => (!known.is_empty()).then(|| edit(MIGRATED_TO, Value::Null)),
    }
}

/// Makes the finalizers of a volume right that hold it until its data is deleted; none: they are.
pub(super) fn finalizers(
    meta: &Meta,
    annotations: &BTreeMap<String, String>,
    policy: &str,
) -> Option<Edit> {
    let provisioner = annotations.get(PROVISIONED_BY)?;
    let mut names: Vec<Text> = meta.finalizers.to_vec();
    let has = |name: &str| meta.has_finalizer(name);
    if InTreePlugin::named(provisioner).is_some() {
        names.retain(|name| **name != *IN_TREE_FINALIZER);
    } else if provisioner.starts_with(IN_TREE) {
        match policy {
            "Delete" if !has(IN_TREE_FINALIZER) => names.push(IN_TREE_FINALIZER.into()),
            "Retain" | "Recycle" => names.retain(|name| **name != *IN_TREE_FINALIZER),
            _ => {}
        }
        names.retain(|name| **name != *EXTERNAL_FINALIZER);
    }
    if *names == *meta.finalizers {
        return None;
    }
    let value = match names.as_slice() {
        [] => Value::Null,
        names => names.iter().map(|name| Value::from(&**name)).collect(),
    };
    Some(Edit::new(["metadata", "finalizers"], value))
}
