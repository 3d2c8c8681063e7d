//! Playing a script.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context as _;
use api::{Key, Resource};
use http::Method;
use serde_json::{Map, Value, json};
use why::Question;

use crate::command::{How, Target};
use crate::resources::{Resources, items, text};
use crate::wait::LOOK;
use crate::{Ask, Cluster, Command, Entry, Reply, Script, Step, Unsupported, normal};

const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
/// What the namespace of a script is called in its output.
const HOME: &str = "default";
/// The field manager of applies.
const MANAGER: &str = "script";

/// Plays scripts on a cluster.
pub struct Player<'a, C> {
    pub(crate) cluster: &'a C,
    pub(crate) resources: Resources,
    /// Where commands act that name no namespace.
    pub(crate) namespace: String,
    /// That one, and those that commands were about so far.
    pub(crate) seen: BTreeSet<String>,
    /// Called with each command before it is done, and with each line that it prints.
    listener: Box<dyn Fn(Progress<'_>) + 'a>,
    /// For how long commands that only look are tried again.
    patience: Duration,
}

/// What happens while a script plays.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A comment, a setting or an empty line.
    Line(&'a str),
    /// A command begins.
    Command(&'a Step),
    /// A line that it printed.
    Output(&'a str),
}

/// A script with what it printed this time.
pub struct Played {
    /// The script with its new output.
    pub script: Script,
    /// The commands that printed something else than before, and why, if it is no difference but a
    /// failure.
    pub differences: Vec<Difference>,
}

/// A command that printed something else than the script says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its line.
    pub line: usize,
    /// The command.
    pub command: String,
    /// What the script says.
    pub expected: Vec<String>,
    /// What it printed.
    pub actual: Vec<String>,
}

impl<'a, C: Cluster> Player<'a, C> {
    /// A player on this cluster, in this namespace.
    pub async fn new(cluster: &'a C, namespace: &str) -> anyhow::Result<Self> {
        let resources = Resources::discover(cluster).await?;
        let (namespace, listener) = (namespace.to_owned(), Box::new(|_: Progress<'_>| ()));
        let seen = BTreeSet::from([namespace.clone()]);
        Ok(Self { cluster, resources, namespace, seen, listener, patience: Duration::ZERO })
    }

    /// This player, which calls `listener` with what happens.
    pub fn with_listener(self, listener: impl Fn(Progress<'_>) + 'a) -> Self {
        Self { listener: Box::new(listener), ..self }
    }

    /// This player, which repeats a command without effects for so long until its output is as the
    /// script says: on a real cluster a status and an Event come later than what they report.
    pub fn patient(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Plays a script to its end. A command that the cluster refuses prints why; an error is a
    /// server without a response, or a script that cannot continue.
    pub async fn play(&mut self, script: &Script) -> anyhow::Result<Played> {
        self.begin().await?;
        let (mut played, mut differences) = (script.clone(), Vec::new());
        for entry in &mut played.entries {
            let step = match entry {
                Entry::Line(line) => {
                    (self.listener)(Progress::Line(line));
                    continue;
                }
                Entry::Step(step) => step,
            };
            (self.listener)(Progress::Command(step));
            let context = || format!("line {}: {}", step.line, step.text);
            let mut output = self.run(step).await.with_context(context)?;
            let mut waited = Duration::ZERO;
            while output != step.output && step.command.only_looks() && waited < self.patience {
                self.cluster.tick(LOOK).await;
                waited += LOOK;
                output = self.run(step).await.with_context(context)?;
            }
            for line in &output {
                (self.listener)(Progress::Output(line));
            }
            let expected = std::mem::replace(&mut step.output, output);
            if expected != step.output {
                let (line, command) = (step.line, step.text.clone());
                let actual = step.output.clone();
                differences.push(Difference { line, command, expected, actual });
            }
        }
        Ok(Played { script: played, differences })
    }

    /// Does a command and returns what it prints.
    async fn run(&mut self, step: &Step) -> anyhow::Result<Vec<String>> {
        let lines = match &step.command {
            Command::Write(how) => self.write(*how, &step.input.join("\n")).await,
            Command::Show(target) => self.show(target).await,
            Command::Get(target, paths) => self.get(target, paths).await,
            Command::Events(reason, namespace) => {
                self.events(reason.as_deref(), namespace.as_deref()).await
            }
            Command::Rollout(what, target) => self.rollout(*what, target).await,
            Command::Explain(target) => self.explain(target).await,
            Command::Why(target, user) => self.why(target, user.as_deref()).await,
            Command::Tick(time) => {
                self.cluster.tick(*time).await;
                Ok(Vec::new())
            }
            Command::Settle(limit) => self.settle(*limit).await,
            Command::Until(target, path, value, limit) => {
                self.until(target, path, value, *limit).await
            }
            Command::UntilGone(target, limit) => self.until_gone(target, *limit).await,
            Command::Say(_) => Ok(Vec::new()),
            Command::Node(act, node) => Ok(possible(self.cluster.node(*act, node))),
            Command::Join(node, token) => Ok(possible(self.cluster.join(node, token))),
            Command::Fail(target) => self.fail(target).await,
            Command::Cordon(node, cordoned) => {
                let patch = json!({"spec": {"unschedulable": cordoned}});
                let done = if *cordoned { "cordoned" } else { "uncordoned" };
                self.each(&node_target(node), done, |path| Ask::patch(path, MERGE, patch.clone()))
                    .await
            }
            Command::Taint(node, key, value) => self.taint(node, key, value.as_ref()).await,
            Command::Delete { target, cascade, grace_seconds } => {
                let options = delete_options(cascade.as_deref(), *grace_seconds);
                let delete = |path| Ask::send(Method::DELETE, path, options.clone());
                self.each(target, "deleted", delete).await
            }
            Command::Scale(target, replicas) => {
                let patch = json!({"spec": {"replicas": replicas}});
                let scale = |path| Ask::patch(format!("{path}/scale"), MERGE, patch.clone());
                self.each(target, "scaled", scale).await
            }
            Command::SetImage(target, name, image) => {
                let containers = json!({"containers": [{"name": name, "image": image}]});
                let patch = json!({"spec": {"template": {"spec": containers}}});
                let set = |path| Ask::patch(path, STRATEGIC, patch.clone());
                self.each(target, "image updated", set).await
            }
            Command::Patch(target, subresource, patch) => {
                let mut patch = patch.clone();
                self.fill(&mut patch).await?;
                let ask = |path| Ask::patch(format!("{path}{subresource}"), MERGE, patch.clone());
                self.each(target, "patched", ask).await
            }
            Command::Edit(target, edits) => {
                let mut edits = edits.clone();
                self.fill(&mut edits).await?;
                let ask = |path| Ask::patch(path, JSON_PATCH, edits.clone());
                self.each(target, "patched", ask).await
            }
            Command::Mark(target, field, key, value) => {
                let patch = json!({"metadata": {*field: {key: value}}});
                let done = if *field == "labels" { "labeled" } else { "annotated" };
                self.each(target, done, |path| Ask::patch(path, MERGE, patch.clone())).await
            }
            Command::Evict(target) => self.evict(target).await,
        };
        Ok(lines?.iter().map(|line| self.normal(line)).collect())
    }

    /// A line that is the same in whichever namespace the script plays.
    pub(crate) fn normal(&self, line: &str) -> String {
        normal::text(line).replace(&self.namespace, HOME)
    }

    /// The YAML documents below a command.
    async fn write(&mut self, how: How, input: &str) -> anyhow::Result<Vec<String>> {
        let mut lines = Vec::new();
        for mut document in documents(input)? {
            self.fill(&mut document).await?;
            let line = self.write_one(how, document).await?;
            lines.push(line);
        }
        Ok(lines)
    }

    async fn write_one(&mut self, how: How, document: Value) -> anyhow::Result<String> {
        let mut resource = self.resources.of(&document).cloned();
        if resource.is_err() {
            // A definition of its kind may have come just now.
            self.resources = Resources::discover(self.cluster).await?;
            resource = self.resources.of(&document).cloned();
        }
        let resource = match resource {
            Ok(resource) => resource,
            Err(error) => return Ok(format!("error: {error}")),
        };
        let metadata = document.get("metadata").unwrap_or(&Value::Null);
        let (name, namespace) = (text(metadata, "name"), text(metadata, "namespace"));
        let namespace = Some(namespace).filter(|it| !it.is_empty());
        self.seen.extend(namespace.clone());
        if resource.plural == "namespaces" {
            self.seen.insert(name.clone());
        }
        let key = self.key(&resource, namespace.as_deref(), &name);
        let ask = match how {
            How::Create => {
                Ask::send(Method::POST, resource.collection_path(&key.namespace), document)
            }
            How::Replace => Ask::send(Method::PUT, resource.object_path(&key)?, document),
            How::Apply => {
                let object = resource.object_path(&key)?;
                let path = format!("{object}?fieldManager={MANAGER}&force=true");
                Ask::patch(path, APPLY, document)
            }
        };
        let before = match how {
            How::Apply => version(&self.cluster.ask(Ask::get(resource.object_path(&key)?)).await?),
            How::Create | How::Replace => None,
        };
        let reply = self.cluster.ask(ask).await?;
        if !reply.is_ok() {
            return Ok(reply.failure());
        }
        let done = match how {
            How::Create => "created",
            How::Replace => "replaced",
            How::Apply if before.is_none() => "serverside-applied",
            How::Apply if before == version(&reply) => "unchanged",
            How::Apply => "configured",
        };
        Ok(format!("{} {done}", named(&resource, &shown_name(&reply.body))))
    }

    /// Asks for each object of a target, and says that it is done.
    pub(crate) async fn each(
        &self,
        target: &Target,
        done: &str,
        ask: impl Fn(String) -> Ask,
    ) -> anyhow::Result<Vec<String>> {
        let (resource, keys) = match self.find(target).await? {
            Ok(found) => found,
            Err(failure) => return Ok(vec![failure]),
        };
        let mut lines = Vec::new();
        for key in keys {
            let reply = self.cluster.ask(ask(resource.object_path(&key)?)).await?;
            lines.push(outcome(&reply, &resource, &key, done));
        }
        Ok(counted(&lines))
    }

    async fn evict(&self, target: &Target) -> anyhow::Result<Vec<String>> {
        let (resource, keys) = match self.find(target).await? {
            Ok(found) => found,
            Err(failure) => return Ok(vec![failure]),
        };
        let mut lines = Vec::new();
        for key in keys {
            let metadata = json!({"name": &*key.name, "namespace": &*key.namespace});
            let eviction =
                json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata});
            let path = format!("{}/eviction", resource.object_path(&key)?);
            let reply = self.cluster.ask(Ask::send(Method::POST, path, eviction)).await?;
            lines.push(outcome(&reply, &resource, &key, "evicted"));
        }
        Ok(counted(&lines))
    }

    async fn taint(
        &self,
        node: &str,
        key: &str,
        value: Option<&(String, String)>,
    ) -> anyhow::Result<Vec<String>> {
        let target = node_target(node);
        let (resource, keys) = match self.find(&target).await? {
            Ok(found) => found,
            Err(failure) => return Ok(vec![failure]),
        };
        let path =
            keys.first().map(|key| resource.object_path(key)).transpose()?.unwrap_or_default();
        let reply = self.cluster.ask(Ask::get(path)).await?;
        if !reply.is_ok() {
            return Ok(vec![reply.failure()]);
        }
        let spec = reply.body.get("spec").unwrap_or(&Value::Null);
        let mut taints = items(spec, "taints").to_vec();
        taints.retain(|taint| text(taint, "key") != key);
        if let Some((value, effect)) = value {
            taints.push(json!({"key": key, "value": value, "effect": effect}));
        }
        let patch = json!({"spec": {"taints": taints}});
        let done = if value.is_some() { "tainted" } else { "untainted" };
        self.each(&target, done, |path| Ask::patch(path, MERGE, patch.clone())).await
    }

    async fn fail(&self, target: &Target) -> anyhow::Result<Vec<String>> {
        let keys = match self.find(target).await? {
            Ok((_, keys)) => keys,
            Err(failure) => return Ok(vec![failure]),
        };
        Ok(keys.iter().flat_map(|key| possible(self.cluster.fail(key))).collect())
    }

    async fn explain(&self, target: &Target) -> anyhow::Result<Vec<String>> {
        let (resource, keys) = match self.find(target).await? {
            Ok(found) => found,
            Err(failure) => return Ok(vec![failure]),
        };
        let mut lines = Vec::new();
        for key in keys {
            match self.cluster.explain(&resource.plural, &key).await {
                Ok(explained) => lines.extend(explained),
                Err(Unsupported(why)) => lines.push(format!("cannot be done here: {why}")),
            }
        }
        Ok(lines)
    }

    async fn why(&self, target: &Target, user: Option<&str>) -> anyhow::Result<Vec<String>> {
        let keys = match self.find(target).await? {
            Ok((_, keys)) => keys,
            Err(failure) => return Ok(vec![failure]),
        };
        let mut lines = Vec::new();
        for key in keys {
            let (name, namespace) = (key.name.to_string(), key.namespace.to_string());
            let question = Question { kind: target.resource.clone(), name, namespace };
            match self.cluster.why(&question, user).await {
                Ok(said) => lines.extend(said),
                Err(Unsupported(why)) => lines.push(format!("cannot be done here: {why}")),
            }
        }
        Ok(lines)
    }

    /// The objects of a target, the oldest first; or what the server says why there are none.
    pub(crate) async fn find(
        &self,
        target: &Target,
    ) -> anyhow::Result<Result<(Resource, Vec<Key>), String>> {
        let resource = match self.resources.named(&target.resource) {
            Ok(resource) => resource.clone(),
            Err(error) => return Ok(Err(format!("error: {error}"))),
        };
        let namespace = target.namespace.as_deref();
        if !target.name.is_empty() {
            let key = self.key(&resource, namespace, &target.name);
            return Ok(Ok((resource, vec![key])));
        }
        let reply = self.cluster.ask(Ask::get(self.list_path(&resource, target))).await?;
        if !reply.is_ok() {
            return Ok(Err(reply.failure()));
        }
        let mut found: Vec<_> = items(&reply.body, "items").iter().map(age_and_key).collect();
        found.sort();
        found.truncate(target.first.unwrap_or(usize::MAX));
        Ok(Ok((resource, found.into_iter().map(|(_, key)| key).collect())))
    }

    pub(crate) fn list_path(&self, resource: &Resource, target: &Target) -> String {
        let key = self.key(resource, target.namespace.as_deref(), "");
        let path = resource.collection_path(&key.namespace);
        match target.selector.as_str() {
            "" => path,
            selector => format!("{path}?labelSelector={}", client::percent_encoded(selector)),
        }
    }

    pub(crate) fn key(&self, resource: &Resource, namespace: Option<&str>, name: &str) -> Key {
        let namespace = namespace.unwrap_or(&self.namespace);
        Key::new(if resource.namespaced { namespace } else { "" }, name)
    }
}

/// YAML documents as JSON.
fn documents(text: &str) -> anyhow::Result<Vec<Value>> {
    let documents = serde_yaml::Deserializer::from_str(text);
    let read = documents.map(<Value as serde::Deserialize>::deserialize);
    let read: Result<Vec<_>, _> = read.collect();
    Ok(read?.into_iter().filter(|document| !document.is_null()).collect())
}

/// As kubectl names an object.
pub(crate) fn named(resource: &Resource, name: &str) -> String {
    let singular = resource.kind.to_lowercase();
    if resource.group.is_empty() {
        return format!("{singular}/{name}");
    }
    format!("{singular}.{}/{name}", resource.group)
}

/// That it was done, or why not.
pub(crate) fn outcome(reply: &Reply, resource: &Resource, key: &Key, done: &str) -> String {
    if reply.is_ok() { format!("{} {done}", named(resource, &key.name)) } else { reply.failure() }
}

/// Lines that are equal but for names that were made up are there once, with how often.
pub(crate) fn counted(lines: &[String]) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for line in lines.iter().map(|line| normal::text(line)) {
        match counted.iter_mut().find(|(known, _)| *known == line) {
            Some((_, count)) => *count += 1,
            None => counted.push((line, 1)),
        }
    }
    let times = |(line, count): (String, usize)| match count {
        1 => line,
        _ => format!("{line}  ({count} times)"),
    };
    counted.into_iter().map(times).collect()
}

fn possible(done: Result<(), Unsupported>) -> Vec<String> {
    done.err().into_iter().map(|Unsupported(why)| format!("cannot be done here: {why}")).collect()
}

fn node_target(node: &str) -> Target {
    Target { resource: "nodes".to_owned(), name: node.to_owned(), ..Target::default() }
}

fn delete_options(cascade: Option<&str>, grace_seconds: Option<i64>) -> Value {
    let mut options = Map::new();
    if let Some(cascade) = cascade {
        let mut policy = cascade.to_owned();
        policy.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
        options.insert("propagationPolicy".to_owned(), policy.into());
    }
    if let Some(seconds) = grace_seconds {
        options.insert("gracePeriodSeconds".to_owned(), seconds.into());
    }
    Value::Object(options)
}

pub(crate) fn version(reply: &Reply) -> Option<String> {
    let metadata = reply.body.get("metadata").filter(|_| reply.is_ok())?;
    Some(text(metadata, "resourceVersion"))
}

fn shown_name(object: &Value) -> String {
    object.get("metadata").map(|metadata| text(metadata, "name")).unwrap_or_default()
}

fn age_and_key(object: &Value) -> (String, Key) {
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    let key = Key::new(&text(metadata, "namespace"), &text(metadata, "name"));
    (text(metadata, "creationTimestamp"), key)
}
