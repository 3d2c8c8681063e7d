//! Tests of the group batch, after upstream's TestSetDefault*, TestValidate*, strategy tests and
//! printer tests.

mod cronjob;
mod job;
mod spec;
mod status;
mod timezone;

use serde_json::{Value, json};

use crate::fixture::template;

/// A Job as kubectl would send it, with the uid that it has when its strategy sees it.
pub(super) fn job() -> Value {
    let mut template = template(&json!({ "app": "sum" }));
    *template.pointer_mut("/spec").unwrap() = json!({
        "restartPolicy": "Never",
        "containers": [{ "name": "main", "image": "sum:1" }],
    });
    json!({
        "metadata": { "name": "sum", "namespace": "shop", "uid": "1-2" },
        "spec": { "template": template },
    })
}
