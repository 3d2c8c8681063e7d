//! What a rule has in its hands: the facts, and a place for what it finds.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{Resource, Time};
use serde_json::Value;

use crate::json::{controller, text, time};
use crate::{Facts, Finding, Names, Need, Seen, Severity, Subject};

/// How far the chain is followed.
const DEPTH_MAX: usize = 6;

/// The core kind of Events.
pub(crate) const EVENTS: Resource = Resource::namespaced("", "v1", "events", "Event");
/// Where Events of objects outside namespaces are.
const EVENTS_OF_THE_CLUSTER: &str = "default";

/// An object of a kind.
#[derive(Clone, Debug)]
pub(crate) struct Thing {
    pub(crate) resource: Resource,
    pub(crate) json: Arc<Value>,
}

/// A walk along the chain.
pub(crate) struct Look<'a> {
    facts: &'a Facts,
    /// The kinds that are served.
    pub(crate) names: &'a Names,
    pub(crate) now: Time,
    /// What has not been read yet.
    pub(crate) needs: BTreeSet<Need>,
    pub(crate) findings: Vec<Finding>,
    depth: usize,
    visited: BTreeSet<Subject>,
}

/// An object that was asked for.
#[derive(Clone, Debug)]
pub(crate) enum Sought {
    /// It is there.
    There(Thing),
    /// There is none.
    Absent,
    /// It is not known.
    Unknown,
}

/// A finding that is not complete yet.
pub(crate) struct Found<'f>(Option<&'f mut Finding>);

// === impl Thing ===

impl Thing {
    pub(crate) fn new(resource: &Resource, json: &Arc<Value>) -> Self {
        Self { resource: resource.clone(), json: Arc::clone(json) }
    }

    pub(crate) fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    pub(crate) fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    pub(crate) fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    pub(crate) fn text(&self, pointer: &str) -> &str {
        text(&self.json, pointer)
    }

    pub(crate) fn subject(&self) -> Subject {
        Subject::new(&self.resource, self.namespace(), self.name())
    }

    /// Whether this one manages `other`.
    pub(crate) fn manages(&self, other: &Value) -> bool {
        controller(other).is_some_and(|owner| text(owner, "/uid") == self.uid())
    }

    /// Whether the status is of an older spec.
    pub(crate) fn is_behind(&self) -> bool {
        let generation = |at| self.json.pointer(at).and_then(Value::as_i64);
        let (spec, status) =
            (generation("/metadata/generation"), generation("/status/observedGeneration"));
        spec.is_some_and(|spec| status.unwrap_or(0) < spec)
    }
}

// === impl Look ===

impl<'a> Look<'a> {
    pub(crate) fn new(facts: &'a Facts, names: &'a Names, now: Time) -> Self {
        Self {
            facts,
            names,
            now,
            needs: BTreeSet::new(),
            findings: Vec::new(),
            depth: 0,
            visited: BTreeSet::new(),
        }
    }

    /// Looks at an object one step further along the chain, once, with the rule of its kind.
    pub(crate) fn follow(&mut self, thing: &Thing) {
        if self.depth >= DEPTH_MAX {
            return;
        }
        self.depth += 1;
        self.visit(thing);
        self.depth -= 1;
    }

    /// Looks at an object, once.
    pub(crate) fn visit(&mut self, thing: &Thing) {
        if self.visited.insert(thing.subject()) {
            crate::rules::of(self, thing);
        }
    }

    /// Objects of which one is looked at for all that have the same findings: pods of an owner.
    pub(crate) fn follow_alike(&mut self, things: &[Thing]) {
        let mut groups: Vec<Vec<Finding>> = Vec::new();
        for thing in things {
            let before = self.findings.len();
            self.follow(thing);
            let found = self.findings.split_off(before);
            let is_alike =
                |a: &Finding, b: &Finding| a.severity == b.severity && alike(a) == alike(b);
            let known = groups.iter_mut().find(|known| {
                known.len() == found.len()
                    && known.iter().zip(&found).all(|(one, other)| is_alike(one, other))
            });
            match known {
                Some(known) => known.iter_mut().for_each(|it| it.others += 1),
                None => groups.push(found),
            }
        }
        self.findings.extend(groups.into_iter().flatten());
    }

    /// All objects of a kind in a namespace; none of what is not known.
    pub(crate) fn list(&mut self, resource: &Resource, namespace: &str) -> Vec<Thing> {
        self.try_list(resource, namespace).unwrap_or_default()
    }

    /// As [`Look::list`]; none if it is not known.
    pub(crate) fn try_list(&mut self, resource: &Resource, namespace: &str) -> Option<Vec<Thing>> {
        self.try_list_where(resource, namespace, "")
    }

    /// As [`Look::try_list`], of those that a field selector names.
    pub(crate) fn try_list_where(
        &mut self,
        resource: &Resource,
        namespace: &str,
        fields: &str,
    ) -> Option<Vec<Thing>> {
        let namespace = if resource.namespaced { namespace } else { "" };
        let need = Need::List(resource.clone(), namespace.to_owned(), fields.to_owned());
        match self.facts.get(&need) {
            Some(Seen::Objects(found)) => {
                Some(found.iter().map(|json| Thing::new(resource, json)).collect())
            }
            Some(Seen::Absent) => Some(Vec::new()),
            Some(Seen::Object(_) | Seen::Unseen(_)) => None,
            None => {
                self.needs.insert(need);
                None
            }
        }
    }

    /// One object.
    pub(crate) fn get(&mut self, resource: &Resource, namespace: &str, name: &str) -> Sought {
        let namespace = if resource.namespaced { namespace } else { "" };
        let need = Need::Get(resource.clone(), namespace.to_owned(), name.to_owned());
        match self.facts.get(&need) {
            Some(Seen::Object(json)) => Sought::There(Thing::new(resource, json)),
            Some(Seen::Absent) => Sought::Absent,
            Some(Seen::Objects(_) | Seen::Unseen(_)) => Sought::Unknown,
            None => {
                self.needs.insert(need);
                Sought::Unknown
            }
        }
    }

    /// Whether this is the object of the question.
    pub(crate) fn is_first(&self) -> bool {
        self.depth == 0
    }

    /// The Events of an object, the last one first.
    pub(crate) fn events(&mut self, thing: &Thing) -> Vec<Arc<Value>> {
        let namespace = match thing.namespace() {
            "" => EVENTS_OF_THE_CLUSTER,
            namespace => namespace,
        };
        let is_about = |event: &Value| {
            let uid = text(event, "/involvedObject/uid");
            let is_named = text(event, "/involvedObject/name") == thing.name()
                && text(event, "/involvedObject/kind") == thing.resource.kind;
            // Events of nodes have their names as uids.
            is_named && (uid == thing.uid() || uid == thing.name() || uid.is_empty())
        };
        let events = self.list(&EVENTS, namespace).into_iter().map(|event| event.json);
        let mut events: Vec<_> = events.filter(|event| is_about(event)).collect();
        events.sort_by_key(|event| std::cmp::Reverse(event_time(event)));
        events
    }

    /// The last Event of an object that has one of these reasons.
    pub(crate) fn event(&mut self, thing: &Thing, reasons: &[&str]) -> Option<Arc<Value>> {
        let mut events = self.events(thing).into_iter();
        events.find(|event| reasons.contains(&text(event, "/reason")))
    }

    /// Says something about an object.
    pub(crate) fn say(
        &mut self,
        thing: &Thing,
        severity: Severity,
        cause: impl Into<String>,
    ) -> Found<'_> {
        self.findings.push(Finding {
            subject: thing.subject(),
            depth: self.depth,
            severity,
            cause: cause.into(),
            since: None,
            waiting_for: None,
            next: None,
            others: 0,
        });
        Found(self.findings.last_mut())
    }

    /// It is so, and nothing waits for it.
    pub(crate) fn note(&mut self, thing: &Thing, cause: impl Into<String>) -> Found<'_> {
        self.say(thing, Severity::Note, cause)
    }

    /// It takes its time.
    pub(crate) fn waits(&mut self, thing: &Thing, cause: impl Into<String>) -> Found<'_> {
        self.say(thing, Severity::Waiting, cause)
    }

    /// It does not go on by itself.
    pub(crate) fn stuck(&mut self, thing: &Thing, cause: impl Into<String>) -> Found<'_> {
        self.say(thing, Severity::Stuck, cause)
    }

    /// Findings since there were so many are the background of another one, and not the cause.
    pub(crate) fn demote_since(&mut self, start: usize) {
        let found = self.findings.iter_mut().skip(start);
        found.for_each(|it| it.severity = Severity::Note);
    }

    /// The worst that was found since there were so many findings.
    pub(crate) fn worst_since(&self, start: usize) -> Severity {
        let found = self.findings.iter().skip(start).map(|it| it.severity);
        found.max().unwrap_or(Severity::Note)
    }
}

// === impl Found ===

impl Found<'_> {
    /// Since when.
    pub(crate) fn since(self, since: Option<Time>) -> Self {
        self.with(|it| it.since = since)
    }

    /// What must happen.
    pub(crate) fn waiting_for(self, what: impl Into<String>) -> Self {
        self.with(|it| it.waiting_for = Some(what.into()))
    }

    /// What happens next.
    pub(crate) fn next(self, what: impl Into<String>) -> Self {
        self.with(|it| it.next = Some(what.into()))
    }

    fn with(mut self, set: impl FnOnce(&mut Finding)) -> Self {
        if let Some(finding) = &mut self.0 {
            set(finding);
        }
        self
    }
}

/// When an Event was seen last.
pub(crate) fn event_time(event: &Value) -> Option<Time> {
    let times = ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/firstTimestamp"];
    let known = times.iter().find_map(|at| time(event, at));
    known.or_else(|| time(event, "/metadata/creationTimestamp"))
}

/// What must be equal in two findings that are alike: their own names may differ.
fn alike(finding: &Finding) -> (String, usize) {
    let own = &finding.subject.name;
    (finding.cause.replace(own.as_str(), "it"), finding.depth)
}
