//! What objects are given that do not ask for it: tolerations, taints, finalizers, classes.
//! DefaultTolerationSeconds, TaintNodesByCondition, StorageObjectInUseProtection,
//! DefaultStorageClass.

use std::cmp::Reverse;

use serde_json::{Value, json};

use super::Attributes;
use crate::server::State;
use crate::write::fields::{has, items, list, map, pairs, text};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const TOLERATION_SECONDS: i64 = 300;

/// Pods stay for a while on unreachable nodes.
pub(super) fn tolerate(attributes: &Attributes<'_>, pod: &mut Value) {
    if !attributes.is("pods") {
        return;
    }
    let tolerates = |pod: &Value, key: &str| {
        items(pod, "/spec/tolerations").iter().any(|it| {
            matches!(text(it, "/key"), known if known == key || known.is_empty())
                && matches!(text(it, "/effect"), "NoExecute" | "")
        })
    };
    let missing = [NOT_READY, UNREACHABLE].map(|key| (key, tolerates(pod, key)));
    for (key, _) in missing.into_iter().filter(|(_, there)| !there) {
        list(pod, &["spec"], "tolerations").push(json!({
            "key": key, "operator": "Exists", "effect": "NoExecute",
            "tolerationSeconds": TOLERATION_SECONDS,
        }));
    }
}

/// A new node is not ready until its kubelet reports that it is.
pub(super) fn taint(attributes: &Attributes<'_>, node: &mut Value) {
    if !attributes.creates("nodes") {
        return;
    }
    let is_taint =
        |it: &Value| text(it, "/key") == NOT_READY && text(it, "/effect") == "NoSchedule";
    if !items(node, "/spec/taints").iter().any(is_taint) {
        let taint = json!({"key": NOT_READY, "effect": "NoSchedule"});
        list(node, &["spec"], "taints").push(taint);
    }
}

/// Storage that is in use stays.
pub(super) fn protect(attributes: &Attributes<'_>, object: &mut Value) {
    let finalizer = match &*attributes.served.table {
        table if !attributes.creates(table) => return,
        "persistentvolumes" => "kubernetes.io/pv-protection",
        "persistentvolumeclaims" => "kubernetes.io/pvc-protection",
        "volumeattributesclasses.storage.k8s.io" => "kubernetes.io/vac-protection",
        _ => return,
    };
    let finalizers = list(object, &["metadata"], "finalizers");
    if !finalizers.iter().any(|it| it == finalizer) {
        finalizers.push(finalizer.into());
    }
}

/// A claim that names no class is of the default one.
pub(super) fn storage_class(state: &State, attributes: &Attributes<'_>, claim: &mut Value) {
    let beta = "volume.beta.kubernetes.io/storage-class";
    let says = |claim: &Value| {
        has(claim, "/spec/storageClassName")
            || pairs(claim, "/metadata/annotations").any(|(key, _)| key == beta)
    };
    if !attributes.creates("persistentvolumeclaims") || says(claim) {
        return;
    }
    let marks = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    if let Some(class) = default_class(state, "storageclasses.storage.k8s.io", &marks) {
        map(claim, &["spec"]).insert("storageClassName".to_owned(), class.into());
    }
}

/// The newest class that is marked as the default.
fn default_class(state: &State, table: &str, marks: &[&str]) -> Option<String> {
    let classes = state.store.list(table, None);
    let marked = classes.iter().map(|it| &it.object).filter(|class| {
        pairs(class, "/metadata/annotations")
            .any(|(key, value)| marks.contains(&key) && value == "true")
    });
    let newest = marked.min_by_key(|class| {
        let made = text(class, "/metadata/creationTimestamp").to_owned();
        (Reverse(made), text(class, "/metadata/name").to_owned())
    });
    newest.map(|class| text(class, "/metadata/name").to_owned())
}
