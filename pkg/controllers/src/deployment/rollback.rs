//! The deprecated annotation that asks for an older revision. As upstream's
//! `pkg/controller/deployment/rollback.go`.

use std::sync::Arc;

use api::Edit;
use controller::{Action, EventType, Write};
use serde_json::{Value, json};

use super::changes::event;
use super::revision::{self, REVISION, ROLLBACK_TO};
use super::snapshot::{Annotations, Set, Snapshot};
use super::template::{self, Template};

/// The revision that is asked for, 0 for the last one. As `getRollbackTo`.
pub(super) fn wanted(s: &Snapshot) -> Option<i64> {
    s.annotations.get(ROLLBACK_TO)?.parse().ok()
}

/// Gives the Deployment the template and the annotations of that revision, or says why not; and
/// takes the annotation away. The new set must be there; it counts with the annotations that it
/// gets.
pub(super) fn actions(s: &Snapshot, wanted: i64) -> Vec<Action> {
    let about = Arc::new(s.object());
    let warn = |reason, message: &str| {
        vec![event(&about, EventType::Warning, reason, message.to_owned()), restore(s, None)]
    };
    let of_new = revision::of_new(s);
    let old = s.old.iter().map(|set| (set, &set.annotations));
    let mut sets = old.chain(s.new.iter().zip(&of_new));
    let last = || revision::last(sets.clone().map(|(_, annotations)| annotations));
    let number = if wanted == 0 { last() } else { wanted };
    let not_found = "DeploymentRollbackRevisionNotFound";
    if number == 0 {
        return warn(not_found, "Unable to find last revision.");
    }
    let Some((set, _)) = sets.find(|(_, of_set)| revision::revision(of_set) == Some(number)) else {
        return warn(not_found, "Unable to find the revision to rollback to.");
    };
    let name = &s.deployment.meta.key.name;
    let present = Template::of(s.deployment.raw.field("spec"));
    if Template::of(set.view.raw.field("spec")) == present {
        let message = format!(
            "The rollback revision contains the same template as current deployment {name:?}"
        );
        return warn("DeploymentRollbackTemplateUnchanged", &message);
    }
    let message = format!("Rolled back deployment {name:?} to revision {number}");
    vec![restore(s, Some(set)), event(&about, EventType::Normal, "DeploymentRollback", message)]
}

/// The PUT of the Deployment.
fn restore(s: &Snapshot, from: Option<&Set>) -> Action {
    let mut edits = Vec::new();
    let mut annotations = s.annotations.clone();
    if let Some(of_new) = revision::of_new(s) {
        let known = of_new.get(REVISION).cloned().unwrap_or_default();
        annotations.insert(REVISION.to_owned(), known);
    }
    if let Some(set) = from {
        let template = template::raw_without_hash(set.view.raw.field("spec"));
        edits.push(Edit::new(["spec", "template"], template));
        annotations = restored(annotations, &set.annotations);
    }
    annotations.remove(ROLLBACK_TO);
    let annotations = if annotations.is_empty() { Value::Null } else { json!(annotations) };
    edits.push(Edit::new(["metadata", "annotations"], annotations));
    Write::update(s.object(), s.deployment.raw.clone(), edits).into()
}

/// The annotations that are the Deployment's own, and those that the set had copied. As
/// `SetDeploymentAnnotationsTo`.
pub(super) fn restored(mut of_deployment: Annotations, of_set: &Annotations) -> Annotations {
    of_deployment.retain(|name, _| revision::is_own(name));
    let copied = of_set.iter().filter(|(name, _)| !revision::is_own(name));
    of_deployment.extend(copied.map(|(name, value)| (name.clone(), value.clone())));
    of_deployment
}
