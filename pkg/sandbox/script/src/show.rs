//! What is there, as text that two runs agree on.

use anyhow::Context as _;
use serde_json::Value;

use crate::command::Target;
use crate::play::counted;
use crate::resources::{items, text};
use crate::{Ask, Cluster, Player};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
/// Which component records which Event depends on how nodes are played.
const HOLLOW: [&str; 4] = ["kubelet", "default-scheduler", "kwok", "kwok-controller"];
/// How a message begins that stands for others (client-go's EventAggregator).
const COMBINED: &str = "(combined from similar events): ";
/// Columns that differ from run to run, or that say where a pod was placed.
const VOLATILE: [&str; 9] = [
    "Age",
    "Last Schedule",
    "Duration",
    "Last Seen",
    "First Seen",
    "Node",
    "Holder",
    "Created At",
    "Cluster-IP",
];

impl<C: Cluster> Player<'_, C> {
    /// The server's table, without what differs from run to run; equal rows are counted.
    pub(crate) async fn show(&self, target: &Target) -> anyhow::Result<Vec<String>> {
        let resource = match self.resources.named(&target.resource) {
            Ok(resource) => resource,
            Err(error) => return Ok(vec![format!("error: {error}")]),
        };
        let path = match target.name.as_str() {
            "" => self.list_path(resource, target),
            name => resource.object_path(&self.key(resource, target.namespace.as_deref(), name))?,
        };
        let reply = self.cluster.ask(Ask { accept: TABLE, ..Ask::get(path) }).await?;
        if !reply.is_ok() {
            return Ok(vec![reply.failure()]);
        }
        let columns = items(&reply.body, "columnDefinitions");
        let is_shown = |column: &Value| {
            column.get("priority").and_then(Value::as_i64) == Some(0)
                && !VOLATILE.contains(&text(column, "name").as_str())
        };
        let shown: Vec<_> = columns.iter().map(is_shown).collect();
        let keep = |cells: Vec<String>| -> Vec<String> {
            cells.into_iter().zip(&shown).filter(|(_, shown)| **shown).map(|it| it.0).collect()
        };
        let heading = columns.iter().map(|column| text(column, "name").to_uppercase());
        let rows = items(&reply.body, "rows").iter();
        let mut rows: Vec<Vec<String>> = rows
            .map(|row| keep(items(row, "cells").iter().map(|it| self.cell(it)).collect()))
            .collect();
        rows.sort();
        if rows.is_empty() {
            return Ok(vec!["No resources found".to_owned()]);
        }
        rows.insert(0, keep(heading.collect()));
        Ok(counted(&aligned(&rows)))
    }

    /// Fields of objects.
    pub(crate) async fn get(
        &self,
        target: &Target,
        paths: &[String],
    ) -> anyhow::Result<Vec<String>> {
        let objects = match self.objects(target).await? {
            Ok(objects) => objects,
            Err(failure) => return Ok(vec![failure]),
        };
        let mut lines = Vec::new();
        for object in objects {
            match object {
                Ok(object) => {
                    lines.extend(
                        paths
                            .iter()
                            .map(|path| format!("{path}: {}", self.normal(&field(&object, path)))),
                    );
                }
                Err(failure) => lines.push(failure),
            }
        }
        Ok(if lines.is_empty() { vec!["No resources found".to_owned()] } else { counted(&lines) })
    }

    /// The objects of a target, or what the server says why there are none.
    pub(crate) async fn objects(
        &self,
        target: &Target,
    ) -> anyhow::Result<Result<Vec<Result<Value, String>>, String>> {
        let (resource, keys) = match self.find(target).await? {
            Ok(found) => found,
            Err(failure) => return Ok(Err(failure)),
        };
        let mut objects = Vec::new();
        for key in keys {
            let reply = self.cluster.ask(Ask::get(resource.object_path(&key)?)).await?;
            objects.push(if reply.is_ok() { Ok(reply.body) } else { Err(reply.failure()) });
        }
        Ok(Ok(objects))
    }

    /// What controllers recorded, each kind of it once, as its number depends on how long it took.
    /// That nodes are there is news only to who asks for that.
    pub(crate) async fn events(
        &self,
        reason: Option<&str>,
        namespace: Option<&str>,
    ) -> anyhow::Result<Vec<String>> {
        let resource = self.resources.named("events")?;
        let key = self.key(resource, namespace, "");
        let path = resource.collection_path(&key.namespace);
        let reply = self.cluster.ask(Ask::get(path)).await?;
        let mut lines: Vec<_> = items(&reply.body, "items")
            .iter()
            .filter(|event| reason.is_none_or(|reason| text(event, "reason") == reason))
            .filter(|event| !HOLLOW.contains(&source(event).as_str()))
            .filter(|event| reason.is_some() || field(event, ".involvedObject.kind") != "Node")
            .map(|event| {
                let about = event.get("involvedObject").unwrap_or(&Value::Null);
                let (kind, name) = (text(about, "kind").to_lowercase(), text(about, "name"));
                let (kind_of, reason) = (text(event, "type"), text(event, "reason"));
                let message = text(event, "message");
                let message = message.strip_prefix(COMBINED).unwrap_or(&message);
                // Some of upstream's messages end with a space.
                let message = message.trim_end();
                self.normal(&format!("{kind_of} {reason} {kind}/{name}: {message}"))
            })
            .collect();
        lines.sort();
        lines.dedup();
        Ok(if lines.is_empty() { vec!["No events found".to_owned()] } else { lines })
    }

    fn cell(&self, value: &Value) -> String {
        match value {
            Value::String(text) => self.normal(restarts(text)),
            Value::Null => "<none>".to_owned(),
            other => other.to_string(),
        }
    }
}

/// The component that recorded an Event.
fn source(event: &Value) -> String {
    match text(event, "reportingComponent") {
        component if component.is_empty() => {
            text(event.get("source").unwrap_or(&Value::Null), "component")
        }
        component => component,
    }
}

/// A value by its path: `.status.conditions[0].type`, `.status.conditions[Available].status`,
/// `.metadata.labels[example.com/color]`.
pub(crate) fn field(object: &Value, path: &str) -> String {
    let mut found = Some(object);
    let mut rest = path.trim_start_matches('.');
    while !rest.is_empty() {
        if let Some((index, after)) = rest.strip_prefix('[').and_then(|it| it.split_once(']')) {
            found = found.and_then(|value| part(value, index));
            rest = after.trim_start_matches('.');
        } else {
            let end =
                rest.get(1..).and_then(|it| it.find(['.', '['])).map_or(rest.len(), |it| it + 1);
            let (name, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            found = found.and_then(|value| value.get(name));
            rest = after.trim_start_matches('.');
        }
    }
    match found {
        None | Some(Value::Null) => "<none>".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// By number, by key, or the one of a list that has this type or name.
fn part<'a>(value: &'a Value, index: &str) -> Option<&'a Value> {
    let Some(list) = value.as_array() else { return value.get(index) };
    match index.parse::<usize>() {
        Ok(index) => list.get(index),
        Err(_) => {
            list.iter().find(|it| ["type", "name"].iter().any(|field| text(it, field) == index))
        }
    }
}

/// A number of restarts without when the last one was.
fn restarts(text: &str) -> &str {
    match text.split_once(" (") {
        Some((count, ago)) if ago.ends_with(" ago)") => count,
        _ => text,
    }
}

/// Columns as wide as their widest cell, two spaces apart.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}  "));
        cells.collect::<String>().trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A number in an object.
pub(crate) fn number(object: &Value, path: &str) -> anyhow::Result<i64> {
    let text = field(object, path);
    if text == "<none>" {
        return Ok(0);
    }
    text.parse().with_context(|| format!("{path} is {text:?}"))
}
