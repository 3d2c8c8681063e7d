//! Tests of the group apps, after upstream's TestSetDefault*, TestValidate*, strategy tests and
//! printer tests.

mod create;
mod defaults;
mod print;
mod update;

use serde_json::{Value, json};

use crate::fixture::template;

/// A body that kubectl would send.
pub(crate) fn body(kind: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": { "name": "web", "namespace": "shop" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": template(&json!({ "app": "web" })),
        },
    })
}
