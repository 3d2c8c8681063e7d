//! The Events about a set, which report its pods and claims. As `recordPodEvent` and
//! `recordClaimEvent` in upstream's `stateful_pod_control.go`.

use std::sync::Arc;

use api::{Kind, StatefulSet};
use controller::{Action, Announce, Event, EventType, Message, ObjectRef};

/// What is done to a pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deed {
    word: &'static str,
    done: &'static str,
    failed: &'static str,
}

/// The API server's word for a name that is taken: no Event reports that.
const ALREADY_EXISTS: &str = "AlreadyExists";

pub(super) const CREATE: Deed =
    Deed { word: "Create", done: "SuccessfulCreate", failed: "FailedCreate" };
pub(super) const UPDATE: Deed =
    Deed { word: "Update", done: "SuccessfulUpdate", failed: "FailedUpdate" };
pub(super) const DELETE: Deed =
    Deed { word: "Delete", done: "SuccessfulDelete", failed: "FailedDelete" };

/// A write that is the whole of a deed.
pub(super) fn of_pod(set: &StatefulSet, deed: Deed, pod: &str) -> Announce {
    Announce {
        about: about(set),
        done: Some((deed.done, Message::Whole(success(set, deed, pod)))),
        failed: (deed.failed, failure(set, deed, pod, "").into()),
        silent: &[ALREADY_EXISTS],
    }
}

/// A write without which a deed is not done.
pub(super) fn toward_pod(set: &StatefulSet, deed: Deed, pod: &str, what: &str) -> Announce {
    let failed = (deed.failed, failure(set, deed, pod, what).into());
    Announce { about: about(set), done: None, failed, silent: &[] }
}

/// The creation of a claim for a pod.
pub(super) fn of_claim(set: &StatefulSet, pod: &str, claim: &str) -> Announce {
    let name = &set.meta.key.name;
    let done = format!("Create Claim {claim} Pod {pod} in StatefulSet {name} success");
    let failed = format!("Create Claim {claim} for Pod {pod} in StatefulSet {name} failed error: ");
    Announce {
        about: about(set),
        done: Some((CREATE.done, Message::Whole(done))),
        failed: (CREATE.failed, failed.into()),
        silent: &[ALREADY_EXISTS],
    }
}

/// A deed is done, for which the pod itself is not written.
pub(super) fn did(set: &StatefulSet, deed: Deed, pod: &str) -> Action {
    event(set, EventType::Normal, deed.done, success(set, deed, pod))
}

/// A deed cannot be begun.
pub(super) fn cannot(set: &StatefulSet, deed: Deed, pod: &str, error: &str) -> Action {
    event(set, EventType::Warning, deed.failed, failure(set, deed, pod, error))
}

/// Somebody else manages a claim.
pub(super) fn conflicting(set: &StatefulSet, claim: &str) -> Action {
    let message = format!(
        "PersistentVolumeClaim {claim} has a conflicting OwnerReference that acts as a manging \
         controller, the retention policy is ignored for this claim"
    );
    event(set, EventType::Warning, "ConflictingController", message)
}

fn event(set: &StatefulSet, r#type: EventType, reason: &'static str, message: String) -> Action {
    Action::Event(Event { about: about(set), r#type, reason: reason.into(), message })
}

fn success(set: &StatefulSet, deed: Deed, pod: &str) -> String {
    format!("{} Pod {pod} in StatefulSet {} successful", deed.word, set.meta.key.name)
}

fn failure(set: &StatefulSet, deed: Deed, pod: &str, error: &str) -> String {
    format!("{} Pod {pod} in StatefulSet {} failed error: {error}", deed.word, set.meta.key.name)
}

fn about(set: &StatefulSet) -> Arc<ObjectRef> {
    Arc::new(ObjectRef::new(&StatefulSet::RESOURCE, &set.meta))
}
