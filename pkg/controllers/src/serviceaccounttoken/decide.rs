//! What becomes of a Secret. As `syncServiceAccount` and `syncSecret` of upstream's
//! `pkg/controller/serviceaccount/tokens_controller.go`.

use api::{Edit, Key, Kind, Meta, Raw, ServiceAccount, Text, TokenSecret};
use controller::{Action, Answer, Facts, ObjectRef, Plan, Query, Step, Write};
use serde_json::{Value, json};

use super::Secrets;
use super::claims;
use super::content::Lacks;
use super::snapshot::{AccountSnapshot, SecretSnapshot};

/// What a live read found; or the plan that comes of there being no response.
type Live<'a> = Result<Option<&'a (Meta, Raw)>, Plan>;

pub(super) fn decide_account(s: &AccountSnapshot, facts: &Facts) -> Plan {
    if s.stale.is_empty() {
        return Plan::rest("no secret is for an account that is deleted");
    }
    let live = match live::<ServiceAccount>(&s.key, "does the account exist?", facts) {
        Ok(live) => live.map(|(meta, _)| &meta.uid),
        Err(plan) => return plan,
    };
    let stale = s.stale.iter().filter(|secret| live.is_none_or(|uid| !secret.is_for(uid)));
    let deletes: Vec<_> = stale.map(|secret| delete(secret)).collect();
    if deletes.is_empty() {
        return Plan::rest("the account of the secrets is there");
    }
    Plan::one("the account is deleted", Step::Together(deletes))
}

pub(super) fn decide_secret(s: &SecretSnapshot, facts: &Facts, controller: &Secrets) -> Plan {
    match s {
        SecretSnapshot::Gone { secret, account } => strike(secret, account, facts),
        SecretSnapshot::There { secret, .. } if secret.account.is_empty() => {
            Plan::rest("names no account")
        }
        SecretSnapshot::There { secret, account } => {
            let uid = match account {
                Some(account) => Ok(Some(account.meta.uid.clone())),
                None => live_account(secret, facts),
            };
            match uid {
                Ok(Some(uid)) => fill(secret, &uid, facts, controller),
                Ok(None) => {
                    Plan::one("the account is deleted", Step::InOrder(vec![delete(secret)]))
                }
                Err(plan) => plan,
            }
        }
    }
}

/// The uid of the account that a Secret names, by a live read.
fn live_account(secret: &TokenSecret, facts: &Facts) -> Result<Option<Text>, Plan> {
    let key = Key::new(&secret.meta.key.namespace, &secret.account);
    let live = live::<ServiceAccount>(&key, "does the account exist?", facts)?;
    let uid = live.map(|(meta, _)| meta.uid.clone());
    Ok(uid.filter(|uid| secret.is_for(uid)))
}

/// Gives a Secret what it lacks. As `generateTokenIfNeeded`.
fn fill(secret: &TokenSecret, account_uid: &Text, facts: &Facts, controller: &Secrets) -> Plan {
    let Secrets { signer, authority } = controller;
    if Lacks::of(secret, authority).is_nothing() {
        return Plan::rest("complete");
    }
    let key = &secret.meta.key;
    let (meta, raw) = match live::<TokenSecret>(key, "does the secret lack it still?", facts) {
        Ok(Some(live)) => live,
        Ok(None) => return Plan::rest("deleted meanwhile"),
        Err(plan) => return plan,
    };
    if meta.resource_version != secret.meta.resource_version {
        return Plan::rest("changed meanwhile, the cache will show that");
    }
    let lacks = Lacks::of_live(raw, authority);
    if lacks.is_nothing() {
        return Plan::rest("complete");
    }
    let account = Key::new(&key.namespace, &secret.account);
    let sign = || signer.sign(&claims::payload(&account, account_uid, &key.name));
    let why = format!("lacks {}", lacks.words());
    match lacks.fill(&key.namespace, authority, sign) {
        Ok(mut edits) => {
            // The annotation with the name is there: it led to the account.
            let path = ["metadata", "annotations", TokenSecret::ACCOUNT_UID];
            edits.push(Edit::new(path, json!(**account_uid)));
            Plan::one(why, Step::InOrder(vec![update::<TokenSecret>(meta, raw, edits)]))
        }
        Err(error) => Plan::failed(why, format!("cannot sign a token: {error}")),
    }
}

/// Removes the name of a deleted Secret from its account. As `removeSecretReference`.
fn strike(secret: &Key, account: &ServiceAccount, facts: &Facts) -> Plan {
    let key = &account.meta.key;
    let (meta, raw) = match live::<ServiceAccount>(key, "does it list the secret?", facts) {
        Ok(Some(live)) if live.0.uid == account.meta.uid => live,
        Ok(Some(_) | None) => return Plan::rest("the account is deleted"),
        Err(plan) => return plan,
    };
    let listed = raw.field("secrets").map_or("null", |secrets| secrets.get());
    let listed: Option<Vec<Value>> = serde_json::from_str(listed).unwrap_or_default();
    let listed = listed.unwrap_or_default();
    let is_other = |it: &&Value| it.get("name").and_then(Value::as_str) != Some(&secret.name);
    let others: Vec<_> = listed.iter().filter(is_other).cloned().collect();
    if others.len() == listed.len() {
        return Plan::rest("the account does not list the secret");
    }
    let others = if others.is_empty() { Value::Null } else { Value::Array(others) };
    let edits = vec![Edit::new(["secrets"], others)];
    let strike = update::<ServiceAccount>(meta, raw, edits);
    Plan::one("the account lists a secret that is deleted", Step::InOrder(vec![strike]))
}

// === Reads and writes ===

fn live<'a, T: Kind>(key: &Key, why: &'static str, facts: &'a Facts) -> Live<'a> {
    let query = Query::object(T::RESOURCE, key.clone());
    match facts.get(&query).map(Answer::object) {
        Some(Ok(found)) => Ok(found),
        Some(Err(error)) => {
            Err(Plan::failed(why, format!("cannot read {} {key}: {error}", T::RESOURCE)))
        }
        None => Err(Plan::fetch(why, vec![query])),
    }
}

fn delete(secret: &TokenSecret) -> Action {
    Write::delete(ObjectRef::new(&TokenSecret::RESOURCE, &secret.meta)).into()
}

fn update<T: Kind>(meta: &Meta, raw: &Raw, edits: Vec<Edit>) -> Action {
    let object = ObjectRef::new(&T::RESOURCE, meta);
    Write::update(object, raw.clone(), edits).into()
}
