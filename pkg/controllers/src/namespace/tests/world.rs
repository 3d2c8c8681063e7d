//! An API server in memory with one namespace: it does what plans say at once, and serves queries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{Codec, Key, Listed, Meta, Namespace, Raw, Resource, Served, ServedKind, Time, Verb};
use controller::fixture::{self, Fixture, ago, time, with};
use controller::{Action, Answer, Controller as _, Facts, Form, Plan, Query, Refused, Step, Write};
use serde_json::{Value, json};

use super::super::Controller;

/// How often the engine reads for one sync.
const FETCHES_MAX: usize = 8;

pub(super) struct World {
    pub(super) controller: Controller,
    pub(super) now: Time,
    /// None: it is deleted.
    pub(super) namespace: Option<Value>,
    pub(super) kinds: Vec<ServedKind>,
    /// Groups that cannot be discovered.
    pub(super) failed: BTreeMap<String, String>,
    /// By the name of their kind, in the words of the conditions.
    pub(super) objects: BTreeMap<String, Vec<Value>>,
    /// How requests are refused, by their text in `requests`: how often, and how.
    pub(super) refused: BTreeMap<String, (usize, Refused)>,
    /// What was asked for in the last sync, in order. Of what is asked at once, in any order.
    pub(super) requests: Vec<String>,
    /// What happens right before a request, once.
    pub(super) before: Option<(String, Happening)>,
}

/// Something that others do.
pub(super) type Happening = fn(&mut World);

/// How a sync went.
#[derive(Debug)]
pub(super) struct Synced {
    /// The last plan.
    pub(super) plan: Plan,
    /// Why a write failed.
    pub(super) failed: Option<String>,
}

/// A kind that is served, such as `deployments.apps`, with all verbs.
pub(super) fn kind(name: &str) -> ServedKind {
    let (plural, group) = name.split_once('.').unwrap();
    let (group, plural) = (group.to_owned(), plural.to_owned());
    let mut kind = plural.trim_end_matches('s').to_owned();
    kind[..1].make_ascii_uppercase();
    let resource = Resource {
        group: group.into(),
        version: "v1".into(),
        plural: plural.into(),
        kind: kind.into(),
        namespaced: true,
    };
    let verbs = [Verb::Delete, Verb::DeleteCollection, Verb::List, Verb::Watch].into();
    ServedKind { resource, verbs, preferred: true, subresources: Box::default() }
}

/// A kind that admits nothing but this.
pub(super) fn kind_with(name: &str, verbs: &[Verb]) -> ServedKind {
    ServedKind { verbs: verbs.into(), ..kind(name) }
}

/// Refused for ever.
pub(super) fn always(code: u16, text: &str) -> (usize, Refused) {
    (usize::MAX, Refused { code: Some(code), ..Refused::from(text) })
}

/// Refused once.
pub(super) fn once(code: u16, text: &str) -> (usize, Refused) {
    (1, always(code, text).1)
}

/// An object in the namespace.
pub(super) fn object(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
        "resourceVersion": "1"}})
}

/// One that something must be done for before it is deleted.
pub(super) fn held(name: &str, finalizers: &[&str]) -> Value {
    with(object(name), json!({"metadata": {"finalizers": finalizers}}))
}

/// One that takes its time to end.
pub(super) fn running(name: &str, grace_seconds: i64) -> Value {
    with(object(name), json!({"grace": grace_seconds}))
}

/// One that nothing ends.
pub(super) fn immortal(name: &str) -> Value {
    with(object(name), json!({"immortal": true}))
}

fn name(resource: &Resource) -> String {
    super::super::content::name(resource)
}

impl World {
    /// A namespace of which deletion was asked for six seconds ago, and the kinds of upstream's
    /// `testResources`.
    pub(super) fn new() -> Self {
        let namespace = json!({
            "metadata": {
                "name": "shop", "uid": "uid-shop", "resourceVersion": "1",
                "deletionTimestamp": ago(6),
            },
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Terminating"},
        });
        Self {
            controller: Controller::new(Duration::ZERO),
            now: time(0),
            namespace: Some(namespace),
            kinds: ["pods.", "services.", "deployments.apps"].map(kind).into(),
            failed: BTreeMap::new(),
            objects: BTreeMap::new(),
            refused: BTreeMap::new(),
            requests: Vec::new(),
            before: None,
        }
    }

    /// With another namespace, merged into the usual one.
    pub(super) fn of(patch: Value) -> Self {
        let mut world = Self::new();
        world.namespace = world.namespace.map(|namespace| with(namespace, patch));
        world
    }

    pub(super) fn holding(mut self, kind: &str, objects: &[Value]) -> Self {
        self.objects.insert(kind.to_owned(), objects.to_vec());
        self
    }

    pub(super) fn serving(mut self, kinds: &[ServedKind]) -> Self {
        self.kinds = kinds.to_vec();
        self
    }

    pub(super) fn refusing(mut self, request: &str, how: (usize, Refused)) -> Self {
        self.refused.insert(request.to_owned(), how);
        self
    }

    /// A sync, with the cache up to date.
    pub(super) fn sync(&mut self) -> Synced {
        let cached = self.namespace.clone().unwrap();
        self.sync_from(&cached)
    }

    /// A sync, with this in the cache.
    pub(super) fn sync_from(&mut self, cached: &Value) -> Synced {
        self.requests.clear();
        let mut fixture = Fixture::default().holding::<Namespace>(std::slice::from_ref(cached));
        fixture.now = self.now;
        let key = Key::new("", "shop");
        let snapshot = self.controller.observe(&key, &fixture.view(), &()).unwrap();
        let mut facts = Facts::default();
        for _ in 0..=FETCHES_MAX {
            let plan = self.controller.decide(&snapshot, &facts).0;
            let (steps, queries) = plan.round();
            let failed = steps.iter().find_map(|step| self.step(step, &mut facts).err());
            let Some(queries) = queries.filter(|_| failed.is_none()) else {
                return Synced { plan, failed };
            };
            let answers = queries.iter().map(|query| (query.clone(), self.live(query)));
            facts.answers.extend(answers.collect::<Vec<_>>());
        }
        panic!("asks for too many live reads: {:?}", self.requests);
    }

    /// The conditions of the namespace: type, status, reason and message.
    pub(super) fn conditions(&self) -> Vec<String> {
        let conditions = self.namespace.as_ref().unwrap()["status"]["conditions"].as_array();
        let text = |condition: &Value| {
            let field = |name: &str| condition[name].as_str().unwrap_or("-").to_owned();
            ["type", "status", "reason", "message"].map(field).join(" ")
        };
        conditions.into_iter().flatten().map(text).collect()
    }

    /// How one condition ends; the types are long.
    pub(super) fn condition(&self, r#type: &str) -> String {
        let start = format!("{type} ");
        let conditions = self.conditions();
        let found = conditions.iter().find_map(|condition| condition.strip_prefix(&start));
        found.unwrap_or("none").to_owned()
    }

    // === Requests ===

    pub(super) fn asked(&mut self, request: String) -> Result<(), Refused> {
        if let Some((_, change)) = self.before.take_if(|(at, _)| *at == request) {
            change(self);
        }
        let refused = match self.refused.get_mut(&request) {
            Some((left, how)) if *left > 0 => {
                *left -= 1;
                Err(how.clone())
            }
            Some(_) | None => Ok(()),
        };
        self.requests.push(request);
        refused
    }

    fn live(&mut self, query: &Query) -> Answer {
        let request = match query {
            Query::Get { key, form: Form::Whole, .. } => format!("GET {key}"),
            Query::Get { resource, key, .. } => format!("GET {}/{}", name(resource), key.name),
            Query::List { resource, .. } => format!("LIST {}", name(resource)),
            Query::Served => "DISCOVER".to_owned(),
            Query::Path(_) | Query::Document(_) | Query::Review { .. } | Query::Cloud(_) => {
                panic!("must not be asked: {query}")
            }
        };
        match self.asked(request) {
            Err(Refused { code: Some(404), .. }) => return Answer::NotFound,
            Err(refused) => return Answer::Failed(refused),
            Ok(()) => {}
        }
        match query {
            Query::Get { form: Form::Whole, .. } => {
                self.namespace.as_ref().map_or(Answer::NotFound, found)
            }
            Query::Get { .. }
            | Query::Path(_)
            | Query::Document(_)
            | Query::Review { .. }
            | Query::Cloud(_) => Answer::NotFound,
            Query::List { resource, namespace, .. } => {
                assert_eq!(&**namespace, "shop");
                let objects = self.objects.get(&name(resource)).into_iter().flatten();
                Answer::All(objects.map(metadata).collect())
            }
            Query::Served => {
                let served = Served::new(self.kinds.clone(), self.failed.clone());
                Answer::Served(Arc::new(served))
            }
        }
    }

    fn step(&mut self, step: &Step, facts: &mut Facts) -> Result<(), String> {
        match step {
            Step::InOrder(actions) => {
                actions.iter().try_for_each(|action| self.action(action, facts))
            }
            Step::Together(actions) => {
                let done: Vec<_> =
                    actions.iter().map(|action| self.action(action, facts)).collect();
                done.into_iter().collect()
            }
            Step::SlowStart(_) | Step::Chains(_) | Step::Fetch(_) => panic!("no such step"),
        }
    }

    fn action(&mut self, action: &Action, facts: &mut Facts) -> Result<(), String> {
        let Action::Write(write) = action else { panic!("{action}") };
        let kind = name(&write.object.resource);
        match &write.verb {
            controller::Verb::DeleteAll => {
                let done = self.asked(format!("DELETE {kind}"));
                if done.is_ok() {
                    self.delete(&kind, None);
                }
                facts.emptied.insert(write.emptied().unwrap(), done.err());
            }
            controller::Verb::Delete(delete) => {
                let object = &write.object.key.name;
                self.asked(format!("DELETE {kind}/{object} {:?}", delete.propagation))
                    .map_err(|refused| refused.text)?;
                self.delete(&kind, Some(object));
            }
            controller::Verb::Update(_) => self.update(write)?,
            controller::Verb::Create(_) | controller::Verb::Patch(_) => panic!("{action}"),
        }
        Ok(())
    }

    /// Objects go at once, unless something holds them.
    pub(super) fn delete(&mut self, kind: &str, only: Option<&str>) {
        let now = self.now.to_string();
        let Some(objects) = self.objects.get_mut(kind) else { return };
        let is_meant = |object: &Value| only.is_none_or(|name| object["metadata"]["name"] == name);
        objects.retain_mut(|object| {
            let stays = !object["metadata"]["finalizers"].is_null() || !object["grace"].is_null();
            if !is_meant(object) || !object["immortal"].is_null() {
                return true;
            }
            let grace = object["grace"].as_i64().unwrap_or(0);
            let deletion = json!({"deletionTimestamp": now, "deletionGracePeriodSeconds": grace});
            *object = with(object.take(), json!({"metadata": deletion}));
            stays
        });
    }

    fn update(&mut self, update: &Write) -> Result<(), String> {
        let object = &update.object;
        let part = update.subresource.expect("a part of the namespace");
        self.asked(format!("PUT {}/{part}", object.key)).map_err(|refused| refused.text)?;
        let Some(namespace) = &self.namespace else { return Err("not found".to_owned()) };
        let written = fixture::body(update);
        let (old, new) = (&namespace["metadata"], &written["metadata"]);
        if old["resourceVersion"] != new["resourceVersion"] || old["uid"] != new["uid"] {
            return Err("the object has been modified".to_owned());
        }
        let field = if part == "status" { "status" } else { "spec" };
        let mut namespace = namespace.clone();
        namespace[field] = written[field].clone();
        let is_over = namespace["spec"]["finalizers"].as_array().is_none_or(Vec::is_empty)
            && namespace["metadata"]["finalizers"].is_null();
        self.namespace = (!is_over).then_some(namespace);
        self.touch(json!({}));
        Ok(())
    }

    /// A client writes the namespace.
    pub(super) fn touch(&mut self, patch: Value) {
        let Some(namespace) = self.namespace.take() else { return };
        let version = namespace["metadata"]["resourceVersion"].as_str().unwrap();
        let version = version.parse::<u64>().unwrap() + 1;
        let version = json!({"metadata": {"resourceVersion": version.to_string()}});
        self.namespace = Some(with(with(namespace, patch), version));
    }

    /// The kinds that a request of this sort was sent for.
    pub(super) fn asked_for(&self, verb: &str) -> BTreeSet<&str> {
        let start = format!("{verb} ");
        self.requests.iter().filter_map(|request| request.strip_prefix(&start)).collect()
    }
}

fn found(object: &Value) -> Answer {
    let bytes = object.to_string();
    let meta = Meta::decode(Codec::Json, bytes.as_bytes()).unwrap();
    Answer::Found(Box::new((meta, Raw::parse(bytes.as_bytes()).unwrap())))
}

fn metadata(object: &Value) -> Listed {
    Listed::decode(Codec::Json, object.to_string().as_bytes()).unwrap()
}
