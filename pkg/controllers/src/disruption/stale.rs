//! Pods that were to be disrupted and were not, and pods that several budgets are for. As
//! `syncStalePodDisruption` and `getPdbForPod` in upstream's
//! `pkg/controller/disruption/disruption.go`.

use std::sync::Arc;
use std::time::Duration;

use api::{Key, Kind, Pod, PodDisruptionBudget, Status, Text, Time};
use controller::{
    Action, Change, Enqueue, Event, EventType, Facts, ObjectRef, PatchKind, Plan, Step, Tolerated,
    View, Watches, Write,
};
use mutant::Mutant;
use serde_json::json;

use super::snapshot;

/// How long the condition `DisruptionTarget` may hold while nobody deletes the pod; upstream's
/// `stalePodDisruptionTimeout`.
const STALE_AFTER: Duration = Duration::from_mins(2);

/// The controller whose keys are pods, with its option.
#[derive(Clone, Copy, Debug)]
pub struct Pods {
    /// Whether conditions of pods say of which generation they are: the gate
    /// `PodObservedGenerationTracking`. Without it, only those that did before.
    pub tracks_generations: bool,
}

/// A pod at one moment.
#[derive(Clone, Debug)]
pub struct PodSnapshot {
    /// The moment.
    pub now: Time,
    /// Whether conditions say of which generation they are.
    pub tracks_generations: bool,
    /// The pod.
    pub pod: Arc<Pod>,
    /// The names of the budgets that are for it, sorted.
    pub budgets: Vec<Text>,
}

impl controller::Controller for Pods {
    type Snapshot = PodSnapshot;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Pod>(|_, change, view, queue| pod_changed(change, view, queue));
        table.reads::<PodDisruptionBudget>();
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<PodSnapshot> {
        let pod = view.of::<Pod>().get(key)?;
        let budgets = snapshot::budgets_for(&key.namespace, &pod.meta.labels, view);
        let budgets = budgets.iter().map(|budget| budget.meta.key.name.clone()).collect();
        let tracks_generations = self.tracks_generations;
        Some(PodSnapshot { now: view.now, tracks_generations, pod, budgets })
    }

    fn decide(&self, snapshot: &PodSnapshot, _: &Facts) -> (Plan, ()) {
        (decide(snapshot), ())
    }

    fn summary(&self, s: &PodSnapshot) -> Vec<(&'static str, String)> {
        let budgets = s.budgets.iter().map(|name| &**name).collect::<Vec<_>>().join(", ");
        let mut facts = vec![("budgets", budgets)];
        if let Some((status, since)) = s.pod.disruption_target {
            let since = since.map_or("an unknown time".to_owned(), |at| at.to_string());
            facts.push(("DisruptionTarget", format!("{status:?} since {since}")));
        }
        facts
    }
}

fn pod_changed(change: &Change<Pod>, view: &View<'_>, queue: &mut Enqueue) {
    let (Change::Added(pod) | Change::Updated { new: pod, .. }) = change else { return };
    let key = &pod.meta.key;
    if snapshot::budgets_for(&key.namespace, &pod.meta.labels, view).len() > 1 {
        queue.add(key);
    } else if let Some(at) = stale_at(pod) {
        queue.add_after(key, at.since(view.now));
    }
}

/// When its condition `DisruptionTarget` is stale; none: never. As
/// `nonTerminatingPodHasStaleDisruptionCondition`.
fn stale_at(pod: &Pod) -> Option<Time> {
    let Some((Status::True, since)) = pod.disruption_target else { return None };
    if pod.meta.is_terminating() || pod.is_terminal() || pod.ended_by_kubelet {
        return None;
    }
    if mutant::is(Mutant::MarkIsStale) {
        return Some(Time::EPOCH);
    }
    Some(since.map_or(Time::EPOCH, |since| since + STALE_AFTER))
}

fn decide(s: &PodSnapshot) -> Plan {
    let mut actions: Vec<_> = several(s).into_iter().collect();
    let (why, again) = match stale_at(&s.pod) {
        None => ("it is not marked as DisruptionTarget, or it ends".to_owned(), None),
        Some(at) if at > s.now => {
            let why = format!("marked as DisruptionTarget; if nobody deletes it, until {at}");
            (why, Some(at.since(s.now)))
        }
        Some(_) => {
            actions.push(reset(s).into());
            ("it was marked as DisruptionTarget, and nobody deleted it".to_owned(), None)
        }
    };
    if actions.is_empty() {
        return Plan::rest(why).again_after(again);
    }
    Plan::one(why, Step::InOrder(actions)).again_after(again)
}

/// The warning that several budgets are for it; the API server refuses to evict such a pod.
fn several(s: &PodSnapshot) -> Option<Action> {
    let [first, _, ..] = s.budgets.as_slice() else { return None };
    let Key { namespace, name } = &s.pod.meta.key;
    Some(Action::Event(Event {
        about: Arc::new(ObjectRef::new(&Pod::RESOURCE, &s.pod.meta)),
        r#type: EventType::Warning,
        reason: "MultiplePodDisruptionBudgets".into(),
        message: format!(
            "Pod {namespace:?}/{name:?} matches multiple PodDisruptionBudgets.  \
             Chose {first:?} arbitrarily."
        ),
    }))
}

/// The condition, set to False. Upstream PUTs the whole status, on this version of the pod too.
fn reset(s: &PodSnapshot) -> Write {
    let meta = &s.pod.meta;
    let mut condition = json!({
        "type": "DisruptionTarget",
        "status": "False",
        "reason": null,
        "message": null,
        "lastTransitionTime": s.now,
    });
    if meta.generation != 0 && (s.tracks_generations || s.pod.observed.disruption_target) {
        condition["observedGeneration"] = meta.generation.into();
    }
    let version = meta.resource_version.to_string();
    let patch = json!({
        "metadata": {"uid": &*meta.uid, "resourceVersion": version},
        "status": {"conditions": [condition]},
    });
    let object = ObjectRef::new(&Pod::RESOURCE, meta);
    let write = Write::patch(object, PatchKind::Strategic, patch.to_string()).at("status");
    write.tolerating(&[Tolerated::Missing, Tolerated::Conflict])
}
