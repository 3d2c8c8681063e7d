//! A plan as JSON, for the debug pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::Edit;
use serde_json::{Value, json};

use super::{Plan, Step};
use crate::write::shown;
use crate::{
    Action, Amount, Announce, Content, Count, Delete, Form, Guard, ListForm, ObjectRef, Query,
    Tolerated, Verb, When, Write,
};

impl Plan {
    /// The plan as one JSON object: `why`, `steps`, `againSeconds`, `error`, `counts`. A step has
    /// `how` (`inOrder`, `together`, `slowStart`, `chains`, `fetch`) and `actions`, `chains` or
    /// `queries`. Bodies are JSON values. Creates in a row that share their body are one action
    /// with `times`.
    pub fn to_json(&self) -> Value {
        json!({
            "why": self.why,
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
            "againSeconds": self.again.map(|delay| delay.as_secs_f64()),
            "error": self.error,
            "counts": self.counts.iter().map(count).collect::<Vec<_>>(),
        })
    }
}

fn count(count: &Count) -> Value {
    let Count { family, labels, value, when } = count;
    let labels = family.labels.unwrap_or_default().iter().zip(labels);
    let labels: BTreeMap<_, _> = labels.collect();
    json!({
        "family": family.name,
        "labels": labels,
        "value": match value {
            Amount::Of(value) => json!(value),
            Amount::Since(then) => json!({ "secondsSince": then }),
        },
        "when": match when {
            When::Always => "always",
            When::Done => "done",
            When::NotDone => "notDone",
            When::Failed => "failed",
        },
    })
}

fn step(step: &Step) -> Value {
    match step {
        Step::InOrder(actions) => json!({ "how": "inOrder", "actions": all(actions) }),
        Step::Together(actions) => json!({ "how": "together", "actions": all(actions) }),
        Step::SlowStart(actions) => json!({ "how": "slowStart", "actions": all(actions) }),
        Step::Chains(chains) => {
            let chains: Vec<_> = chains.iter().map(|chain| all(chain)).collect();
            json!({ "how": "chains", "chains": chains })
        }
        Step::Fetch(queries) => {
            let queries: Vec<_> = queries.iter().map(query).collect();
            json!({ "how": "fetch", "queries": queries })
        }
    }
}

fn query(query: &Query) -> Value {
    match query {
        Query::Get { resource, key, form: Form::Whole | Form::View(_) } => {
            json!({ "resource": resource.to_string(), "key": key.to_string() })
        }
        Query::Get { resource, key, form: Form::Metadata } => json!({
            "resource": resource.to_string(), "key": key.to_string(), "metadataOnly": true,
        }),
        Query::Path(path) => json!({ "path": path }),
        Query::Document(excerpt) => json!({ "path": excerpt.path() }),
        Query::List { resource, namespace, selector, form } => {
            let mut list = json!({
                "resource": resource.to_string(), "namespace": namespace,
                "metadataOnly": *form == ListForm::Metadata,
            });
            let both = [("labels", &selector.labels), ("fields", &selector.fields)];
            for (name, part) in both.into_iter().filter(|(_, part)| !part.is_empty()) {
                list[name] = Value::from(&**part);
            }
            list
        }
        Query::Review { resource, namespace, about, body: _ } => json!({
            "review": resource.to_string(), "namespace": namespace, "about": about,
        }),
        Query::Served => json!({ "discovery": true }),
        Query::Cloud(ask) => json!({ "cloud": ask.to_string() }),
    }
}

fn all(actions: &[Action]) -> Vec<Value> {
    actions.chunk_by(is_repeated).filter_map(|run| one(run.first()?, run.len())).collect()
}

/// Whether two actions create the same object twice, but for its generated name.
fn is_repeated(a: &Action, b: &Action) -> bool {
    let made = |action: &Action| {
        let write = action.write()?;
        Some((Arc::clone(write.created()?), write.object.clone()))
    };
    match (made(a), made(b)) {
        (Some((body, place)), Some((other, elsewhere))) => {
            Arc::ptr_eq(&body, &other) && place == elsewhere
        }
        (_, _) => false,
    }
}

fn one(action: &Action, times: usize) -> Option<Value> {
    let mut value = match action {
        Action::Write(write) => written(write, times),
        Action::Event(event) => json!({
            "verb": "event",
            "about": object(&event.about),
            "type": format!("{:?}", event.r#type),
            "reason": event.reason,
            "message": event.message,
        }),
        Action::Cloud(order) => json!({ "verb": "cloud", "order": order.to_string() }),
    };
    // Fields that do not apply are left out.
    value.as_object_mut()?.retain(|_, field| !field.is_null());
    Some(value)
}

fn written(write: &Write, times: usize) -> Value {
    let Write { object: about, subresource, verb, tolerates, announce, counts: _ } = write;
    let mut value = match verb {
        Verb::Create(body) => json!({
            "verb": "create",
            "resource": about.resource.to_string(),
            "namespace": about.key.namespace,
            "body": parsed(body),
            "times": times,
        }),
        Verb::Delete(Delete { guard, propagation, grace_period_seconds }) => json!({
            "verb": "delete",
            "object": object(about),
            "guard": match guard {
                Guard::Uid => None,
                Guard::Version => Some("version"),
                Guard::SameOwners(_) => Some("sameOwners"),
            },
            "propagationPolicy": propagation.map(|policy| format!("{policy:?}")),
            "gracePeriodSeconds": grace_period_seconds,
        }),
        Verb::DeleteAll => json!({
            "verb": "deletecollection",
            "resource": about.resource.to_string(),
            "namespace": about.key.namespace,
        }),
        Verb::Patch(patch) => json!({
            "verb": patch.kind.to_string(),
            "object": object(about),
            "body": parsed(&patch.body),
        }),
        Verb::Update(update) => match &update.content {
            Content::Edited { edits, .. } => json!({
                "verb": "update", "object": object(about), "changes": changes(about, edits),
            }),
            Content::Other(body) => json!({
                "verb": "update", "object": object(about), "body": parsed(body),
            }),
        },
    };
    let tolerates: Vec<_> = tolerates.iter().map(|failure| tolerated(*failure)).collect();
    value["subresource"] = json!(subresource);
    value["event"] = json!(announce.iter().find_map(event_after));
    value["tolerates"] = json!((!tolerates.is_empty()).then_some(tolerates));
    value
}

fn tolerated(failure: Tolerated) -> &'static str {
    match failure {
        Tolerated::Missing => "missing",
        Tolerated::Invalid => "invalid",
        Tolerated::Conflict => "conflict",
    }
}

/// The Event that is recorded once the write has succeeded.
fn event_after(announce: &Announce) -> Option<Value> {
    let (reason, _) = announce.done.as_ref()?;
    Some(json!({ "about": object(&announce.about), "reason": reason }))
}

fn changes(about: &ObjectRef, edits: &[Edit]) -> Vec<Value> {
    let change = |edit| json!({ "field": path(edit), "value": shown(&about.resource, edit) });
    edits.iter().map(change).collect()
}

fn path(edit: &Edit) -> String {
    edit.path.join(".")
}

fn object(object: &ObjectRef) -> Value {
    json!({
        "resource": object.resource.to_string(),
        "key": object.key.to_string(),
        "uid": object.uid,
        "resourceVersion": object.resource_version.to_string(),
    })
}

/// A body as JSON; an invalid one stays as text, so that the mistake can be seen.
fn parsed(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()))
}
