//! Tests of the parts, and of an informer against a fake API server.

mod factory;
mod frames;
mod health;
mod informer;
mod metrics;
mod panics;
mod reflector;
mod selection;
mod store;

use api::Pod;
use controller::{Cache, Change, Lister};

/// A change as `+ key@version`, `~ key@old>new` or `- key@version`.
fn text(change: &Change<Pod>) -> String {
    let version = |pod: &Pod| pod.meta.resource_version;
    match change {
        Change::Added(pod) => format!("+ {}@{}", pod.meta.key, version(pod)),
        Change::Updated { old, new } => {
            format!("~ {}@{}>{}", new.meta.key, version(old), version(new))
        }
        Change::Deleted(pod) => format!("- {}@{}", pod.meta.key, version(pod)),
    }
}

/// Reads a cache of pods.
fn pods(cache: &dyn Cache) -> Lister<'_, Pod> {
    Lister::new(cache)
}

/// A pod in namespace `default` as JSON.
pub(crate) fn json(name: &str, uid: &str, version: u64) -> String {
    format!(
        r#"{{"metadata":{{"namespace":"default","name":"{name}","uid":"{uid}","resourceVersion":"{version}"}},"spec":{{}},"status":{{"phase":"Running"}}}}"#
    )
}

/// The same as a pod bound to `node`.
fn on_node(name: &str, uid: &str, version: u64, node: &str) -> String {
    json(name, uid, version).replace(r#""spec":{}"#, &format!(r#""spec":{{"nodeName":"{node}"}}"#))
}
