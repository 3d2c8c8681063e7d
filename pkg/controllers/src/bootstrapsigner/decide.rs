//! Which signatures are written. As `signConfigMap` in upstream's
//! `pkg/controller/bootstrap/bootstrapsigner.go`.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{ClusterInfo, Edit, Expiration, Kind};
use controller::{ObjectRef, Plan, Step, Tolerated, Write};
use mutant::Mutant;
use serde_json::Value;

use super::signature::{Hmac, detached};
use super::snapshot::{Snapshot, signing_id};

pub(super) fn decide(s: &Snapshot, hmac: &dyn Hmac) -> Plan {
    let info = &*s.info;
    if let Some(error) = &info.unreadable {
        return Plan::rest(format!("configmap {} cannot be read: {error}", info.meta.key));
    }
    let Some(kubeconfig) = &info.kubeconfig else {
        let key = ClusterInfo::KUBECONFIG;
        return Plan::rest(format!("configmap {} has no key {key}", info.meta.key));
    };
    let wanted = wanted(s, kubeconfig, hmac);
    let changed = wanted.iter().filter(|(id, signature)| {
        info.signatures.get(**id).is_none_or(|known| **known != ***signature)
    });
    let changed = changed.map(|(id, signature)| edit(id, signature.as_str().into()));
    let stale = info.signatures.keys().filter(|id| !wanted.contains_key(&***id));
    let stale = stale.filter(|_| !mutant::is(Mutant::StaleSignatureStays));
    let edits: Vec<_> = changed.chain(stale.map(|id| edit(id, Value::Null))).collect();
    let plan = if edits.is_empty() {
        Plan::rest("the signatures are right")
    } else {
        let why = format!("signatures that are missing, wrong or stale: {}", edits.len());
        let object = ObjectRef::new(&ClusterInfo::RESOURCE, &info.meta);
        let update = Write::update(object, info.raw.clone(), edits);
        let update = update.tolerating(&[Tolerated::Missing]);
        Plan::one(why, Step::InOrder(vec![update.into()]))
    };
    plan.again_after(next_expiry(s))
}

/// The signatures that there should be, by the ids of their tokens. That of a token that cannot be
/// read is as it is.
fn wanted<'a>(s: &'a Snapshot, kubeconfig: &str, hmac: &dyn Hmac) -> BTreeMap<&'a str, String> {
    let signed = s.tokens.iter().filter_map(|token| {
        if token.unreadable {
            let id = token.id.as_deref()?;
            return Some((id, s.info.signatures.get(id)?.to_string()));
        }
        let id = signing_id(token, s.now)?;
        Some((id, detached(hmac, kubeconfig, id, &token.secret.0)))
    });
    signed.collect()
}

/// When the first token that signs ends.
fn next_expiry(s: &Snapshot) -> Option<Duration> {
    let signs = s.tokens.iter().filter(|token| signing_id(token, s.now).is_some());
    let ends = signs.filter_map(|token| match token.expiration {
        Expiration::At(at) => Some(at.since(s.now)),
        Expiration::Never | Expiration::Unparsable => None,
    });
    ends.min()
}

fn edit(id: &str, value: Value) -> Edit {
    let key = format!("{}{id}", ClusterInfo::SIGNATURE_PREFIX);
    Edit::new(["data", &key], value)
}
