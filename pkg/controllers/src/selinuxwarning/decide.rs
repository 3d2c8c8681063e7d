//! What there is to tell. As `syncPod` and `reportConflictEvents` in upstream's
//! `selinux_warning_controller.go`.

use std::sync::Arc;

use api::{Kind, Pod, Text};
use controller::{Action, Event, EventType, ObjectRef, Plan, Step};

use super::snapshot::{Mount, Other, Seen, Snapshot};
use super::uses::{Conflict, Property};

/// The reason of the Event about containers of one pod.
const SEVERAL: &str = "MultipleSELinuxLabels";

/// What is to be remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The uses of the snapshot.
    Uses,
    /// That the pod uses no volume any more.
    Over,
    /// Nothing.
    Unknown,
}

pub(super) fn decide(s: &Snapshot) -> (Plan, Verdict) {
    let pod = &*s.pod;
    if pod.unreadable {
        return (Plan::rest("the pod cannot be read"), Verdict::Unknown);
    }
    if pod.is_terminal() {
        return (Plan::rest("the pod has ended, and uses no volumes any more"), Verdict::Over);
    }
    let about = reference(pod);
    let clashes = clashes(s);
    let mut events: Vec<Action> = Vec::new();
    for (name, _) in &clashes {
        let name = api::go::quote(name.as_bytes());
        let message = "is mounted twice with different SELinux labels inside this pod";
        let message = format!("Volume {name} {message}");
        let r#type = EventType::Warning;
        let about = Arc::clone(&about);
        events.push(Action::Event(Event { about, r#type, reason: SEVERAL.into(), message }));
    }
    for seen in s.uses.values() {
        for other in &seen.others {
            tell(&mut events, (pod, &about, seen), other);
        }
    }
    let errors = clashes.iter().map(|(name, labels)| {
        format!("volume {name}: multiple SELinux labels found: {}", labels.join(","))
    });
    let error = errors.reduce(|all, next| format!("{all}; {next}"));
    let why = why(s, &clashes, &events);
    let steps = if events.is_empty() { Vec::new() } else { vec![Step::InOrder(events)] };
    (Plan { why: why.into(), steps, error, quiet: true, ..Plan::default() }, Verdict::Uses)
}

/// The volumes that are mounted with several labels.
fn clashes(s: &Snapshot) -> Vec<(&Text, &[Text])> {
    let clashes = s.mounts.iter().filter_map(|(name, mount)| match mount {
        Mount::Clash(labels) => Some((name, labels.as_slice())),
        Mount::Unbound(_) | Mount::Volume(_) | Mount::Other => None,
    });
    clashes.collect()
}

/// Tells both pods in what they conflict; not one that is gone.
fn tell(
    events: &mut Vec<Action>,
    (pod, about, seen): (&Pod, &Arc<ObjectRef>, &Seen),
    other: &Other,
) {
    let (own, its) = ((&pod.meta.key, &seen.usage), (&other.key, &other.usage));
    for property in Property::between(&seen.usage, &other.usage) {
        events.push(event(Arc::clone(about), &Conflict::new(property, own, its)));
        if let Some(pod) = &other.pod {
            events.push(event(reference(pod), &Conflict::new(property, its, own)));
        }
    }
}

fn event(about: Arc<ObjectRef>, conflict: &Conflict) -> Action {
    let reason = conflict.property.reason().into();
    Action::Event(Event { about, r#type: EventType::Normal, reason, message: conflict.message() })
}

fn reference(pod: &Pod) -> Arc<ObjectRef> {
    Arc::new(ObjectRef::new(&Pod::RESOURCE, &pod.meta))
}

fn why(s: &Snapshot, clashes: &[(&Text, &[Text])], events: &[Action]) -> String {
    let waits = s.mounts.iter().find_map(|(name, mount)| match mount {
        Mount::Unbound(why) => Some((name, why)),
        Mount::Clash(_) | Mount::Volume(_) | Mount::Other => None,
    });
    match (clashes, waits) {
        ([(name, _), ..], _) => format!("volume {name} is mounted with several labels"),
        ([], _) if !events.is_empty() => "pods conflict about a volume".to_owned(),
        ([], Some((name, why))) => format!("volume {name} waits: {why}"),
        ([], None) if s.uses.values().all(|seen| seen.is_known) => {
            "how it uses its volumes is known".to_owned()
        }
        ([], None) => "no other pod conflicts".to_owned(),
    }
}
