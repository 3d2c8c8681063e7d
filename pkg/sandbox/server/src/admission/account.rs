//! ServiceAccount: every pod has one, and its token.

use api::Key;
use apimachinery::fields;
use serde_json::{Value, json};

use super::Attributes;
use crate::server::State;
use crate::status::Status;
use crate::write::fields::{has, items, list, map, pairs, text};
use crate::write::names;

/// Where containers find the token.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const VOLUME: &str = "kube-api-access-";
const MIRROR: &str = "kubernetes.io/config.mirror";
const ENFORCE: &str = "kubernetes.io/enforce-mountable-secrets";
/// How long a token lives: an hour and a little, which upstream knows as its own.
const TOKEN_SECONDS: i64 = 3607;

/// Whether an account must be there. Upstream's API server always asks for it; without the
/// controllers that make accounts there could be no pod then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accounts {
    Required,
    Optional,
}

pub(super) fn admit(
    state: &State,
    attributes: &Attributes<'_>,
    pod: &mut Value,
    accounts: Accounts,
) -> Result<(), Status> {
    if pairs(pod, "/metadata/annotations").any(|(key, _)| key == MIRROR) {
        return check_mirror(pod).map_err(|why| attributes.forbidden(pod, why));
    }
    if text(pod, "/spec/serviceAccountName").is_empty() {
        map(pod, &["spec"]).insert("serviceAccountName".to_owned(), "default".into());
    }
    let name = text(pod, "/spec/serviceAccountName").to_owned();
    // The older name of the field is always there too.
    map(pod, &["spec"]).insert("serviceAccount".to_owned(), name.clone().into());
    let namespace = attributes.namespace;
    let account = state.store.get("serviceaccounts", &Key::new(namespace, &name));
    let account = match account {
        Some(stored) => serde_json::Value::clone(&stored.object),
        None if accounts == Accounts::Optional => json!({"metadata": {"name": name}}),
        None => {
            let why = format!(
                "error looking up service account {namespace}/{name}: serviceaccount {name:?} \
                 not found"
            );
            return Err(attributes.forbidden(pod, &why));
        }
    };
    let wants =
        |object: &Value, pointer: &str| fields::at(object, pointer).and_then(Value::as_bool);
    let said = wants(pod, "/spec/automountServiceAccountToken");
    if said.or(wants(&account, "/automountServiceAccountToken")).unwrap_or(true) {
        mount(state, pod);
    }
    if items(pod, "/spec/imagePullSecrets").is_empty() {
        let secrets = items(&account, "/imagePullSecrets");
        let secrets: Vec<_> = secrets.iter().map(|it| json!({"name": text(it, "/name")})).collect();
        if !secrets.is_empty() {
            *list(pod, &["spec"], "imagePullSecrets") = secrets;
        }
    }
    let enforced = pairs(&account, "/metadata/annotations").any(|(key, value)| {
        key == ENFORCE
            && value
                .as_str()
                .is_some_and(|it| matches!(it, "1" | "t" | "T" | "true" | "TRUE" | "True"))
    });
    if enforced {
        check_secrets(pod, &account).map_err(|why| attributes.forbidden(pod, &why))?;
    }
    Ok(())
}

/// Puts the token where containers look for it.
fn mount(state: &State, pod: &mut Value) {
    let volumes = items(pod, "/spec/volumes").iter().map(|it| text(it, "/name"));
    let known = volumes.into_iter().find(|name| name.starts_with(VOLUME)).map(ToOwned::to_owned);
    let name = match &known {
        Some(name) => name.clone(),
        None => names::generated(VOLUME, &state.runtime.random),
    };
    let mut needed = false;
    for field in ["initContainers", "containers"] {
        let containers = pod.pointer_mut(&format!("/spec/{field}")).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let mounts = items(container, "/volumeMounts");
            if mounts.iter().any(|it| text(it, "/mountPath") == MOUNT_PATH) {
                continue;
            }
            let mount = json!({"name": name, "readOnly": true, "mountPath": MOUNT_PATH});
            list(container, &[], "volumeMounts").push(mount);
            needed = true;
        }
    }
    if known.is_none() && needed {
        let token = json!({"path": "token", "expirationSeconds": TOKEN_SECONDS});
        let root = json!({
            "name": "kube-root-ca.crt",
            "items": [{"key": "ca.crt", "path": "ca.crt"}],
        });
        let field = json!({"apiVersion": "v1", "fieldPath": "metadata.namespace"});
        let namespace = json!({"items": [{"path": "namespace", "fieldRef": field}]});
        let sources = json!([
            {"serviceAccountToken": token}, {"configMap": root}, {"downwardAPI": namespace},
        ]);
        let projected = json!({"defaultMode": 420, "sources": sources});
        list(pod, &["spec"], "volumes").push(json!({"name": name, "projected": projected}));
    }
}

/// What a mirror of a static pod may not ask for.
fn check_mirror(pod: &Value) -> Result<(), &'static str> {
    if !text(pod, "/spec/serviceAccountName").is_empty() {
        return Err("a mirror pod may not reference service accounts");
    }
    let volumes = items(pod, "/spec/volumes");
    if !secrets(pod).is_empty() || volumes.iter().any(|it| has(it, "/secret")) {
        return Err("a mirror pod may not reference secrets");
    }
    let mut sources = volumes.iter().flat_map(|it| items(it, "/projected/sources"));
    if sources.any(|it| has(it, "/serviceAccountToken")) {
        return Err("a mirror pod may not use ServiceAccountToken volume projections");
    }
    Ok(())
}

/// The secrets that containers take their environment from: what says so, and the secret.
fn secrets(pod: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (field, what) in [("initContainers", "init container"), ("containers", "container")] {
        for container in items(pod, &format!("/spec/{field}")) {
            let name = text(container, "/name");
            for env in items(container, "/env") {
                let secret = text(env, "/valueFrom/secretKeyRef/name");
                if has(env, "/valueFrom/secretKeyRef") {
                    let variable = text(env, "/name");
                    found
                        .push((format!("{what} {name} with envVar {variable}"), secret.to_owned()));
                }
            }
            for env in items(container, "/envFrom").iter().filter(|it| has(it, "/secretRef")) {
                let secret = text(env, "/secretRef/name").to_owned();
                found.push((format!("{what} {name} with envFrom"), secret));
            }
        }
    }
    found
}

/// An account can limit its pods to the secrets that it names.
fn check_secrets(pod: &Value, account: &Value) -> Result<(), String> {
    let named = |field: &str, secret: &str| {
        items(account, field).iter().any(|it| text(it, "/name") == secret)
    };
    let account = text(account, "/metadata/name");
    for volume in items(pod, "/spec/volumes").iter().filter(|it| has(it, "/secret")) {
        let secret = text(volume, "/secret/secretName");
        if !named("/secrets", secret) {
            return Err(format!(
                "volume with secret.secretName={secret:?} is not allowed because service account \
                 {account} does not reference that secret"
            ));
        }
    }
    for (what, secret) in secrets(pod) {
        if !named("/secrets", &secret) {
            return Err(format!(
                "{what} referencing secret.secretName={secret:?} is not allowed because service \
                 account {account} does not reference that secret"
            ));
        }
    }
    for (at, secret) in items(pod, "/spec/imagePullSecrets").iter().enumerate() {
        let secret = text(secret, "/name");
        if !named("/imagePullSecrets", secret) {
            return Err(format!(
                "imagePullSecrets[{at}].name={secret:?} is not allowed because service account \
                 {account} does not reference that imagePullSecret"
            ));
        }
    }
    Ok(())
}
