//! What comes next in a pass. As `Delete` and `deleteAllContent` in upstream's
//! `deletion/namespaced_resources_deleter.go`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use api::{Edit, Kind, Namespace, NamespacePhase, Pod, Served, ServedKind, Text, Verb};
use controller::{Facts, Plan, Query, Refused, Step};
use mutant::Mutant;
use serde_json::{Value, json};

use super::Controller;
use super::conditions::{self, Failure};
use super::content::{self, Left, Place, Progress};
use super::snapshot::{Live, Snapshot};

/// What is ours among the finalizers. Upstream's `v1.FinalizerKubernetes`.
const FINALIZER: &str = "kubernetes";
/// How many reasons why a namespace stays a plan names.
const NAMED_MAX: usize = 10;

/// What discovery found.
struct Discovered<'a> {
    /// The kinds of which objects can be in the namespace, and can be deleted.
    kinds: Vec<&'a ServedKind>,
    failure: Option<Failure<'a>>,
}

pub(super) fn decide(s: &Snapshot, facts: &Facts, options: &Controller) -> Plan {
    let meta = &s.namespace.meta;
    if !meta.is_terminating() {
        return Plan::rest("not being deleted");
    }
    let place = Place { key: &meta.key, deleted: meta.deletion_timestamp, now: s.now };
    let itself = Query::object(Namespace::RESOURCE, meta.key.clone());
    let pods = place.all(&Pod::RESOURCE);
    let (Some(live), Some(served)) = (facts.get(&itself), facts.get(&Query::Served)) else {
        return Plan::fetch("what is served?", vec![itself, Query::Served, pods]);
    };
    let live = match Live::read(live) {
        Ok(Some(live)) => live,
        Ok(None) => return Plan::rest("deleted"),
        Err(error) => return Plan::failed("cannot be read", error),
    };
    if live.namespace.meta.uid != meta.uid || !live.namespace.meta.is_terminating() {
        // The cache will show it.
        return Plan::rest("another one by that name");
    }
    if live.namespace.phase != NamespacePhase::Terminating {
        let phase = Edit::new(["status", "phase"], "Terminating".into());
        // What was listed until now proves nothing: more could be made.
        return write("marks it as terminating", &live, "status", phase, vec![itself, pods]);
    }
    if live.namespace.finalizers.is_empty() {
        return Plan::rest("all content is deleted");
    }
    let discovered = Discovered::new(served.served());
    let is_first = |kind: &&ServedKind| options.pods_first && content::is_pods(kind);
    let (first, others): (Vec<_>, Vec<_>) = discovered.kinds.iter().copied().partition(is_first);
    let pods = match content::empty(&first, &place, facts) {
        Progress::Over(left) => left,
        Progress::Next(plan) => return plan,
    };
    if pods.iter().any(|left| !left.is_gone) {
        return conclude(s, &live, &discovered, &pods, options);
    }
    let left = match content::empty(&others, &place, facts) {
        Progress::Over(left) => pods.into_iter().chain(left).collect::<Vec<_>>(),
        Progress::Next(plan) => return plan,
    };
    conclude(s, &live, &discovered, &left, options)
}

/// What follows from what is left: conditions, and another pass or the end.
fn conclude(
    s: &Snapshot,
    live: &Live<'_>,
    discovered: &Discovered<'_>,
    left: &[Left<'_>],
    options: &Controller,
) -> Plan {
    let conditions = conditions::updated(
        &live.namespace.conditions,
        &conditions::troubles(discovered.failure.as_ref(), left),
        s.now,
    );
    let status = live.conditions(&conditions);
    let errors = errors(&s.namespace.meta.key.name, discovered.failure.as_ref(), left, options);
    let seconds = left.iter().map(|left| left.seconds).max().unwrap_or(0);
    if errors.is_empty() && seconds == 0 || mutant::is(Mutant::NamespaceGoesFirst) {
        return match status {
            // The next write needs the version that this one makes.
            Some(edit) => {
                let itself = Query::object(Namespace::RESOURCE, s.namespace.meta.key.clone());
                write("all content is deleted", live, "status", edit, vec![itself])
            }
            None => finalize(live, options.sync_period),
        };
    }
    let steps = status.map(|edit| Step::InOrder(vec![live.update("status", edit)]));
    let error = aggregate(&errors);
    let unit = if mutant::is(Mutant::NamespaceHurries) { 1 } else { 1000 };
    let pause = Duration::from_millis((seconds / 2 + 1).saturating_mul(unit));
    let pause = options.sync_period.map_or(pause, |period| pause.min(period));
    Plan {
        why: why(discovered.failure.as_ref(), left).into(),
        steps: steps.into_iter().collect(),
        again: error.is_none().then_some(pause),
        error,
        ..Plan::default()
    }
}

/// As `finalizeNamespace`.
fn finalize(live: &Live<'_>, sync_period: Option<Duration>) -> Plan {
    let finalizers = live.namespace.finalizers.iter().filter(|name| &***name != FINALIZER);
    let others: BTreeSet<&Text> = finalizers.collect();
    if others.iter().copied().eq(&live.namespace.finalizers) {
        let others: Vec<_> = others.iter().map(|name| &***name).collect();
        let why = format!("all content is deleted; waits for finalizer {}", others.join(", "));
        return Plan::rest(why).again_after(sync_period);
    }
    let value = match others.iter().map(|name| json!(&***name)).collect::<Vec<_>>() {
        others if others.is_empty() => Value::Null,
        others => others.into(),
    };
    let edit = Edit::new(["spec", "finalizers"], value);
    write("all content is deleted", live, "finalize", edit, Vec::new())
}

/// A write of the namespace, and what is read after it.
fn write(
    why: &'static str,
    live: &Live<'_>,
    subresource: &'static str,
    edit: Edit,
    reads: Vec<Query>,
) -> Plan {
    let mut steps = vec![Step::InOrder(vec![live.update(subresource, edit)])];
    if !reads.is_empty() {
        steps.push(Step::Fetch(reads));
    }
    Plan { why: why.into(), steps, ..Plan::default() }
}

// === What is wrong ===

fn errors(
    namespace: &str,
    failure: Option<&Failure<'_>>,
    left: &[Left<'_>],
    options: &Controller,
) -> Vec<String> {
    let discovery = failure.map(|failure| failure.error.clone());
    let content = left.iter().filter_map(|left| {
        let error = left.error.as_deref()?;
        Some(if options.pods_first && *left.resource == Pod::RESOURCE {
            format!("failed to delete pods for namespace: {namespace}, err: {error}")
        } else {
            error.to_owned()
        })
    });
    discovery.into_iter().chain(content).collect()
}

/// Several errors as one, each text once. As Go's `utilerrors.NewAggregate` prints them.
fn aggregate(errors: &[String]) -> Option<String> {
    let mut known = BTreeSet::new();
    let errors: Vec<_> = errors.iter().filter(|error| known.insert(*error)).cloned().collect();
    match errors.as_slice() {
        [] => None,
        [error] => Some(error.clone()),
        errors => Some(format!("[{}]", errors.join(", "))),
    }
}

/// The groups, kinds and finalizers that hold the namespace.
fn why(failure: Option<&Failure<'_>>, left: &[Left<'_>]) -> String {
    let groups = failure.map(|failure| match &failure.groups {
        Some(groups) => format!("discovery of {}", groups.join(", ")),
        None => "discovery".to_owned(),
    });
    let kinds = left.iter().filter(|left| !left.is_gone).map(|left| {
        let name = content::name(left.resource);
        match left.count {
            0 => format!("{name} (failed)"),
            count => format!("{name} ({count} left)"),
        }
    });
    let finalizers = left.iter().flat_map(|left| {
        let name = content::name(left.resource);
        let finalizers = left.finalizers.iter();
        finalizers.map(move |(finalizer, count)| format!("finalizer {finalizer} on {count} {name}"))
    });
    let all: Vec<_> = groups.into_iter().chain(kinds).chain(finalizers).collect();
    let named = all.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(NAMED_MAX) {
        0 => format!("waits for {named}"),
        more => format!("waits for {named} and {more} more"),
    }
}

// === impl Discovered ===

impl<'a> Discovered<'a> {
    fn new(served: Result<&'a Arc<Served>, &Refused>) -> Self {
        let served = match served {
            Ok(served) => served,
            Err(refused) => {
                let failure = Failure { error: refused.text.clone(), groups: None };
                return Self { kinds: Vec::new(), failure: Some(failure) };
            }
        };
        // What is known of a group that failed is old.
        let is_new = |kind: &&ServedKind| !served.failed.contains_key(&kind.resource.api_version());
        let can_be_deleted = |kind: &&ServedKind| {
            kind.preferred && kind.resource.namespaced && kind.verbs.contains(&Verb::Delete)
        };
        let failure = served.failure().filter(|_| !mutant::is(Mutant::StaleIsComplete));
        let failure = failure.map(|error| Failure {
            error,
            groups: Some(served.failed.keys().map(String::as_str).collect()),
        });
        Self { kinds: served.kinds.iter().filter(can_be_deleted).filter(is_new).collect(), failure }
    }
}
