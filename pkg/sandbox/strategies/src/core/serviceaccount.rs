//! ServiceAccount.

use serde_json::{Value, json};

use crate::value::{annotation, items_mut, text};
use crate::{Environment, Strategy};

const MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";

/// A service account.
pub struct ServiceAccount;

impl Strategy for ServiceAccount {
    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        names_only(object);
    }

    fn prepare_update(&self, new: &mut Value, _old: &Value, _env: &Environment<'_>) {
        names_only(new);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some_and(|old| annotation(old, MOUNTABLE).is_some()) {
            return Vec::new();
        }
        let warning = || {
            format!(
                "metadata.annotations[{MOUNTABLE}]: deprecated in v1.32+; prefer separate \
                 namespaces to isolate access to mounted secrets"
            )
        };
        annotation(object, MOUNTABLE).map(|_| warning()).into_iter().collect()
    }
}

/// Of a reference to a secret only its name is kept.
fn names_only(object: &mut Value) {
    for secret in items_mut(object, "secrets") {
        *secret = match text(secret, "/name") {
            "" => json!({}),
            name => json!({ "name": name }),
        };
    }
}
