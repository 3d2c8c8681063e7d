//! How many disruptions a budget allows. As `trySync` in upstream's
//! `pkg/controller/disruption/disruption.go`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Kind, Pod, PodDisruptionBudget, Time};
use controller::{Action, Event, EventType, Facts, ObjectRef, Plan, Step};

use super::disrupted::{self, Disrupted};
use super::expected::{Expected, Failure, Lasts, Unknown, expected};
use super::report;
use super::snapshot::Snapshot;

/// How many pods a reason names.
const NAMED_MAX: usize = 3;
/// An entry of `disruptedPods` is dropped once its time is over, not when it is.
const TICK: Duration = Duration::from_millis(1);

/// What a sync found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing yet, or nothing can be said of the budget.
    Nothing,
    /// These numbers.
    Counted(Counts),
    /// The numbers are not known; why. No disruption is allowed.
    Failed(String),
}

/// The numbers of a status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Healthy pods.
    pub current: i32,
    /// How many must be healthy.
    pub desired: i32,
    /// How many there should be.
    pub expected: i32,
    /// How many may be evicted.
    pub allowed: i32,
    /// Those that are about to be, and since when.
    pub disrupted: BTreeMap<String, Time>,
}

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
    if let Some(error) = &s.budget.unreadable {
        let why = format!("the budget cannot be read: {error}");
        return (Plan::rest(why), Verdict::Nothing);
    }
    let about = Arc::new(ObjectRef::new(&PodDisruptionBudget::RESOURCE, &s.budget.meta));
    let event = |r#type, reason: &'static str, message| {
        let about = Arc::clone(&about);
        Action::Event(Event { about, r#type, reason: reason.into(), message })
    };
    let mut events = Vec::new();
    if let Err(error) = &s.budget.selector {
        let message = format!("Failed to get pods: {error}");
        events.push(event(EventType::Warning, "NoPods", message));
        let error = error.to_string();
        return failed(events, Failure { error, lasts: Lasts::UntilChanged });
    }
    if s.pods.is_empty() {
        events.push(event(EventType::Normal, "NoPods", "No matching pods found".to_owned()));
    }
    let expected = match expected(s, facts) {
        Ok(expected) => expected,
        Err(Unknown::Unread(queries)) => {
            let why = "how many pods do those ask for that manage the pods?";
            return (Plan::fetch(why, queries), Verdict::Nothing);
        }
        Err(Unknown::Failed(failure)) => {
            let error = &failure.error;
            let message = format!("Failed to calculate the number of expected pods: {error}");
            events.push(event(EventType::Warning, "CalculateExpectedPodCountFailed", message));
            return failed(events, failure);
        }
    };
    if !expected.unmanaged.is_empty() {
        events.push(event(EventType::Warning, "UnmanagedPods", unmanaged(&s.budget)));
    }
    let disrupted = disrupted::sort(s);
    events.extend(disrupted.not_deleted.iter().map(|pod| not_deleted(s, pod)));
    let counts = count(s, &expected, &disrupted);
    let again = disrupted.until.map(|until| until.since(s.now) + TICK);
    let plan = with(events, why(s, &expected, &disrupted, &counts)).again_after(again);
    (plan, Verdict::Counted(counts))
}

/// As `failSafe`: no disruption is allowed.
fn failed(events: Vec<Action>, failure: Failure) -> (Plan, Verdict) {
    let Failure { error, lasts } = failure;
    let plan = with(events, format!("no disruption is allowed: {error}"));
    let plan = match lasts {
        Lasts::UntilChanged => plan,
        Lasts::Perhaps => Plan { error: Some(error.clone()), ..plan },
    };
    (plan, Verdict::Failed(error))
}

fn with(events: Vec<Action>, why: String) -> Plan {
    if events.is_empty() { Plan::rest(why) } else { Plan::one(why, Step::InOrder(events)) }
}

/// As `updatePdbStatus`.
fn count(s: &Snapshot, expected: &Expected<'_>, disrupted: &Disrupted<'_>) -> Counts {
    let healthy = s.pods.iter().filter(|pod| disrupted.is_healthy(pod, s.now)).count();
    let current = i32::try_from(healthy).unwrap_or(i32::MAX);
    let allowed = current.saturating_sub(expected.healthy).max(0);
    Counts {
        current,
        desired: expected.healthy,
        expected: expected.pods,
        // A budget without pods is safe when its first ones come before they are counted.
        allowed: if expected.pods <= 0 { 0 } else { allowed },
        disrupted: disrupted.expected.clone(),
    }
}

/// The numbers in words, and which pods more disruptions wait for.
fn why(
    s: &Snapshot,
    expected: &Expected<'_>,
    disrupted: &Disrupted<'_>,
    counts: &Counts,
) -> String {
    let Counts { current, desired, allowed, .. } = counts;
    let mut parts = vec![if s.pods.is_empty() {
        "no pod matches, so none may be evicted".to_owned()
    } else {
        format!("{current} healthy, {desired} needed, so {allowed} may be evicted")
    }];
    let is_disrupted = |pod: &Pod| disrupted.expected.contains_key(&*pod.meta.key.name);
    let waits = s.pods.iter().filter(|pod| !pod.meta.is_terminating() && !pod.is_ready());
    let waits = waits.filter(|pod| !is_disrupted(pod)).map(|pod| &*pod.meta.key.name);
    let unmanaged = expected.unmanaged.iter().map(|pod| &*pod.meta.key.name);
    parts.extend(named("not ready", waits.collect()));
    parts.extend(named(
        "about to be evicted",
        disrupted.expected.keys().map(String::as_str).collect(),
    ));
    parts.extend(named("managed by nothing, so not expected", unmanaged.collect()));
    parts.join("; ")
}

/// The first of these pods; none if there is none.
fn named(what: &str, names: Vec<&str>) -> Option<String> {
    let more = match names.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let is_empty = names.is_empty();
    let named = names.into_iter().take(NAMED_MAX).collect::<Vec<_>>().join(", ");
    (!is_empty).then(|| format!("{what}: {named}{more}"))
}

// === Events ===

fn unmanaged(budget: &PodDisruptionBudget) -> String {
    let selector = report::selector(budget);
    format!(
        "Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be \
         unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may \
         result in undefined behavior. To account for these pods please set \
         \".spec.minAvailable\" field of the PDB to an integer value."
    )
}

/// Upstream prints the namespace twice.
fn not_deleted(s: &Snapshot, pod: &Pod) -> Action {
    let namespace = &s.budget.meta.key.namespace;
    Action::Event(Event {
        about: Arc::new(ObjectRef::new(&Pod::RESOURCE, &pod.meta)),
        r#type: EventType::Warning,
        reason: "NotDeleted".into(),
        message: format!(
            "Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't"
        ),
    })
}
