//! What is changed of objects that stay. As upstream's `patch.go` and `operations.go`.

use std::collections::BTreeSet;

use api::{OwnerRef, Text};
use controller::{ObjectRef, PatchKind, Tolerated, Write};
use serde_json::{Value, json};

use super::node::edges;

/// The object no longer names the owners with these uids. For kinds that know no strategic merge
/// all other owners are written, of exactly this version.
pub(super) fn disown(object: &ObjectRef, owners: &[OwnerRef], uids: &BTreeSet<&str>) -> Write {
    let gone = |uid: &&str| json!({"$patch": "delete", "uid": *uid});
    let refs: Vec<_> = uids.iter().map(gone).collect();
    let others = owners.iter().filter(|owner| !uids.contains(&*owner.uid));
    let whole = whole(object, others.map(|owner| reference(owner, owner.block_owner_deletion)));
    patch(object, &refs, whole)
}

/// The object blocks the deletion of none of its owners. Only the field is written, so a reference
/// that was removed by now does not come back; but if an owner is named twice, of which a strategic
/// merge finds one, all are written.
pub(super) fn unblock(object: &ObjectRef, owners: &[OwnerRef]) -> Write {
    let whole = whole(object, owners.iter().map(|owner| reference(owner, false)));
    if edges(owners).len() < owners.len() {
        return merge(object, whole);
    }
    let blocking = owners.iter().filter(|owner| owner.block_owner_deletion);
    let loose = |owner: &OwnerRef| json!({"uid": &*owner.uid, "blockOwnerDeletion": false});
    let refs: Vec<_> = blocking.map(loose).collect();
    patch(object, &refs, whole)
}

/// The object, in exactly this version, has all of these finalizers but one.
pub(super) fn remove_finalizer(object: &ObjectRef, finalizers: &[Text], which: &str) -> Write {
    let others: Vec<_> = finalizers.iter().map(|it| &**it).filter(|it| *it != which).collect();
    let others = if others.is_empty() { Value::Null } else { json!(others) };
    let version = object.resource_version.to_string();
    let metadata = json!({"uid": &*object.uid, "resourceVersion": version, "finalizers": others});
    let body = json!({ "metadata": metadata }).to_string();
    merge(object, body)
}

fn merge(object: &ObjectRef, body: String) -> Write {
    let merge = Write::patch(object.clone(), PatchKind::Merge, body);
    merge.tolerating(&[Tolerated::Missing])
}

/// A strategic merge of references by uid, or else all of them.
fn patch(object: &ObjectRef, refs: &[Value], whole: String) -> Write {
    let body = json!({"metadata": {"uid": &*object.uid, "ownerReferences": refs}}).to_string();
    Write::strategic(object.clone(), body).or_merge(whole)
}

fn whole(object: &ObjectRef, refs: impl Iterator<Item = Value>) -> String {
    let refs: Vec<_> = refs.collect();
    let refs = if refs.is_empty() { Value::Null } else { json!(refs) };
    let version = object.resource_version.to_string();
    let metadata =
        json!({"uid": &*object.uid, "resourceVersion": version, "ownerReferences": refs});
    json!({ "metadata": metadata }).to_string()
}

/// A reference in JSON. What is not so is left out, which says the same.
fn reference(owner: &OwnerRef, blocks: bool) -> Value {
    let OwnerRef { api_version, kind, name, uid, controller, .. } = owner;
    let mut value = json!({
        "apiVersion": &**api_version, "kind": &**kind, "name": &**name, "uid": &**uid,
    });
    if *controller {
        value["controller"] = true.into();
    }
    if blocks {
        value["blockOwnerDeletion"] = true.into();
    }
    value
}
