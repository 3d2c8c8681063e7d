//! Secrets that hold a token of a service account.

use super::{LIMIT, account, data, secret, seen_with, with_token};
use anyhow::ensure;
use cluster_tests::{Cluster, Objects, status_code, wait_until};
use serde_json::{Value, json};
use std::fs;

const BINDINGS: &str = "rolebindings.v1.rbac.authorization.k8s.io";
const ROLES: &str = "roles.v1.rbac.authorization.k8s.io";

/// TestServiceAccountTokenAuthentication
pub(super) async fn authenticate(cluster: &Cluster) -> anyhow::Result<()> {
    let mine = Objects::in_new(cluster, "auth").await?;
    let other = Objects::in_new(cluster, "auth-other").await?;
    for (name, verbs) in [("ro", json!(["get", "list", "watch"])), ("rw", json!(["*"]))] {
        let account = account(&mine, name).await?;
        allow(&mine, name, &verbs).await?;
        let secret = with_token(&mine, &format!("{name}-token"), &account).await?;
        filled_in(cluster, &secret, &account)?;
        let can_write = if name == "rw" { None } else { Some(403) };
        let seen = seen_with(cluster, &secret, "auth")?;
        wait_until("the role to count", LIMIT, async || Ok(Some(seen.list("secrets").await?)))
            .await?;
        asks(&seen, [None, can_write]).await?;
        asks(&seen_with(cluster, &secret, "auth-other")?, [Some(403); 2]).await?;
    }
    let secret = mine.get("secrets", "ro-token").await?;
    mine.delete("secrets", "ro-token").await?;
    let seen = seen_with(cluster, &secret, "auth")?;
    wait_until("the token to be invalid", LIMIT, async || {
        Ok((code(seen.list("secrets").await) == Some(401)).then_some(()))
    })
    .await?;
    asks(&seen, [Some(401); 2]).await?;
    ensure!(other.list("secrets").await?.is_empty());
    Ok(())
}

/// A Secret is deleted when its account is, or never existed, or was another one of that name.
pub(super) async fn go_with_their_account(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "account-goes").await?;
    let (goes, stays) = (account(&objects, "goes").await?, account(&objects, "stays").await?);
    with_token(&objects, "goes", &goes).await?;
    with_token(&objects, "stays", &stays).await?;
    // By its annotations alone a Secret is none of this controller's.
    let mut opaque = secret("opaque", &goes);
    opaque["type"] = "Opaque".into();
    objects.create("secrets", &opaque).await?;
    objects.delete("serviceaccounts", "goes").await?;
    objects.gone("secrets", "goes").await?;
    let again = account(&objects, "goes").await?;
    with_token(&objects, "again", &again).await?;
    let nobody = json!({"metadata": {"name": "nobody", "uid": "no-such-uid"}});
    for (name, account) in [("of-nobody", &nobody), ("of-the-first", &goes)] {
        objects.create("secrets", &secret(name, account)).await?;
        objects.gone("secrets", name).await?;
    }
    let mut left: Vec<_> = objects.list("secrets").await?;
    left.sort_by_key(|secret| secret["metadata"]["name"].to_string());
    let left: Vec<_> = left.iter().map(|secret| &secret["metadata"]["name"]).collect();
    ensure!(left == ["again", "opaque", "stays"], "{left:?}");
    Ok(())
}

/// An account no longer lists a deleted Secret; what else it lists stays.
pub(super) async fn leave_their_account(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "secret-goes").await?;
    let listing = account(&objects, "listing").await?;
    for name in ["goes", "stays"] {
        with_token(&objects, name, &listing).await?;
    }
    let names = |names: &[&str]| {
        Value::from(names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>())
    };
    // The last is of no Secret at all.
    let secrets = json!({"secrets": names(&["goes", "stays", "other"])});
    objects.merge("serviceaccounts", "listing", &secrets).await?;
    objects.delete("secrets", "goes").await?;
    let left = names(&["stays", "other"]);
    objects
        .wait("serviceaccounts", "listing", "to list two", |account| account["secrets"] == left)
        .await
        .map(drop)
}

/// What is missing or wrong in a Secret with a token is filled in again.
pub(super) async fn are_made_whole_again(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "whole").await?;
    let account = account(&objects, "whole").await?;
    // Without the uid, which is filled in too.
    let mut bare = secret("token", &account);
    bare["metadata"]["annotations"]["kubernetes.io/service-account.uid"] = Value::Null;
    objects.create("secrets", &bare).await?;
    let is_whole = |secret: &Value| filled_in(cluster, secret, &account).is_ok();
    objects.wait("secrets", "token", "to be whole", is_whole).await?;
    for key in ["token", "ca.crt", "namespace"] {
        let patch = json!({"data": {key: null}});
        objects.merge("secrets", "token", &patch).await?;
        objects.wait("secrets", "token", &format!("to have {key}"), is_whole).await?;
    }
    let wrong = json!({"data": {"ca.crt": "eA=="}});
    objects.merge("secrets", "token", &wrong).await?;
    objects.wait("secrets", "token", "to have the right CA", is_whole).await.map(drop)
}

/// An error unless the Secret has all that a pod would look for.
fn filled_in(cluster: &Cluster, secret: &Value, account: &Value) -> anyhow::Result<()> {
    let annotations = &secret["metadata"]["annotations"];
    for key in ["name", "uid"] {
        let wanted = &account["metadata"][key];
        ensure!(&annotations[format!("kubernetes.io/service-account.{key}")] == wanted);
    }
    ensure!(data(secret, "ca.crt")? == fs::read_to_string(cluster.ca_path())?);
    ensure!(data(secret, "namespace")? == secret["metadata"]["namespace"]);
    ensure!(data(secret, "token")?.split('.').count() == 3);
    Ok(())
}

/// Lets the account do this with pods and Secrets of its namespace.
async fn allow(objects: &Objects, account: &str, verbs: &Value) -> anyhow::Result<()> {
    let metadata = json!({"name": account});
    let rules = json!([{"apiGroups": [""], "resources": ["secrets", "pods"], "verbs": verbs}]);
    objects.create(ROLES, &json!({"metadata": metadata, "rules": rules})).await?;
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account});
    let subject =
        json!({"kind": "ServiceAccount", "name": account, "namespace": objects.namespace()});
    let binding = json!({"metadata": metadata, "roleRef": role, "subjects": [subject]});
    objects.create(BINDINGS, &binding).await.map(drop)
}

/// Reads and writes, and expects these errors.
async fn asks(objects: &Objects, [read, write]: [Option<u16>; 2]) -> anyhow::Result<()> {
    for resource in ["secrets", "pods"] {
        let got = code(objects.list(resource).await);
        ensure!(got == read, "LIST of {resource}: {got:?}, not {read:?}");
    }
    let object = json!({"metadata": {"name": "test"}});
    let got = code(objects.create("secrets", &object).await);
    ensure!(got == write, "POST: {got:?}, not {write:?}");
    let got = code(objects.delete("secrets", "test").await);
    ensure!(got == write, "DELETE: {got:?}, not {write:?}");
    Ok(())
}

/// The status with which something was refused.
fn code<T>(answer: anyhow::Result<T>) -> Option<u16> {
    answer.err().and_then(|error| status_code(&error))
}
