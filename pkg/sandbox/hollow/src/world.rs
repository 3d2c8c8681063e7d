//! A small API server for tests, and a clock, which run the kubelets, the scheduler and the
//! provider of volumes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Resource, Time};
use serde_json::{Value, json};

use crate::fields::{at, condition, items, key, number, text};
use crate::kinds::{CSRS, PODS};
use crate::{Change, Kubelet, Nodes, Part, Request, Scheduler, Sent, Target, Volumes};

/// 2027-01-15T08:00:00Z.
const START: Time = Time::from_unix(1_800_000_000, 0);

pub(crate) struct World {
    pub(crate) now: Time,
    version: u64,
    pub(crate) objects: BTreeMap<(String, Key), Arc<Value>>,
    fresh: Vec<Change>,
    pub(crate) kubelet: Kubelet,
    pub(crate) scheduler: Scheduler,
    pub(crate) volumes: Volumes,
    again: Option<Time>,
    /// Every so many requests one gets no response.
    pub(crate) drop_every: Option<u64>,
    pub(crate) requests: u64,
    /// What failed.
    pub(crate) failures: Vec<String>,
    /// Status of a pod at each change: time since the start, name, words.
    pub(crate) log: Vec<String>,
}

impl World {
    pub(crate) fn new(nodes: &Nodes) -> Self {
        Self {
            now: START,
            version: 0,
            objects: BTreeMap::new(),
            fresh: Vec::new(),
            kubelet: Kubelet::new(nodes, 7),
            scheduler: Scheduler::new(7),
            volumes: Volumes::binding(),
            again: None,
            drop_every: None,
            requests: 0,
            failures: Vec::new(),
            log: Vec::new(),
        }
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        loop {
            self.settle();
            match self.again.filter(|again| *again <= end) {
                Some(again) => self.now = again.max(self.now),
                None => break,
            }
        }
        self.now = end;
        self.settle();
    }

    /// Steps until nothing changes at this moment.
    fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 1000, "no end at {}", self.now);
            let changes = std::mem::take(&mut self.fresh);
            let reactions = [
                self.kubelet.step(self.now, &changes),
                self.scheduler.step(self.now, &changes),
                self.volumes.step(self.now, &changes),
            ];
            self.again = reactions.iter().filter_map(|reaction| reaction.again).min();
            for Sent { by, mut request } in
                reactions.into_iter().flat_map(|reaction| reaction.requests)
            {
                if let Request::Create(target, csr) = &mut request
                    && target.resource == CSRS
                {
                    csr["spec"]["username"] = json!(format!("{by:?}"));
                }
                self.requests += 1;
                if self.drop_every.is_some_and(|every| self.requests.is_multiple_of(every)) {
                    continue;
                }
                if let Err(code) = self.answer(&request) {
                    self.failures.push(format!("{code} {request:?}"));
                }
            }
            if self.fresh.is_empty() && self.again.is_none_or(|again| again > self.now) {
                return;
            }
        }
    }

    pub(crate) fn get(&self, resource: &Resource, name: &str) -> Option<&Value> {
        let key = (resource.plural.to_string(), Key::parse(name));
        self.objects.get(&key).map(|object| &**object)
    }

    pub(crate) fn pod(&self, name: &str) -> &Value {
        self.get(&PODS, &format!("default/{name}")).unwrap_or(&Value::Null)
    }

    pub(crate) fn all(&self, plural: &str) -> impl Iterator<Item = &Value> {
        let all = self.objects.iter().filter(move |((found, _), _)| found == plural);
        all.map(|(_, object)| &**object)
    }

    pub(crate) fn ready(&self) -> usize {
        let ready =
            |pod: &&Value| condition(pod, "Ready").is_some_and(|it| text(it, "/status") == "True");
        self.all("pods").filter(ready).count()
    }

    pub(crate) fn events(&self, reason: &str) -> Vec<(&str, i64)> {
        let events = self.all("events").filter(|it| text(it, "/reason") == reason);
        events.map(|it| (text(it, "/message"), number(it, "/count").unwrap_or(1))).collect()
    }

    pub(crate) fn create(&mut self, resource: &Resource, object: Value) {
        let target = Target { resource: resource.clone(), key: key(&object), subresource: "" };
        self.answer(&Request::Create(target, object)).unwrap();
    }

    pub(crate) fn delete(&mut self, name: &str, grace: Option<i64>) {
        let key = Key::new("default", name);
        let options = grace.map_or_else(|| json!({}), |it| json!({ "gracePeriodSeconds": it }));
        let target = Target { resource: PODS, key, subresource: "" };
        self.answer(&Request::Delete(target, options)).unwrap();
    }

    /// Changes an object as another client would.
    pub(crate) fn edit(&mut self, resource: &Resource, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut object = self.get(resource, name).unwrap().clone();
        let spec = at(&object, "/spec").cloned();
        edit(&mut object);
        if at(&object, "/spec").cloned() != spec {
            let generation = number(&object, "/metadata/generation").unwrap_or(0);
            object["metadata"]["generation"] = json!(generation + 1);
        }
        self.store(resource, Key::parse(name), object);
    }

    fn store(&mut self, resource: &Resource, key: Key, mut object: Value) {
        let id = (resource.plural.to_string(), key);
        let known = self.objects.get(&id);
        if known.is_some_and(|known| **known == object) {
            return;
        }
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        if resource.plural == "pods" {
            let phase = |it: &Value| text(it, "/status/phase").to_owned();
            let before = known.map(|it| phase(it)).unwrap_or_default();
            let over = matches!(before.as_str(), "Succeeded" | "Failed");
            assert!(!over || before == phase(&object), "{before} is the end: {object}");
            let nodes = known.map(|it| text(it, "/spec/nodeName")).unwrap_or_default();
            assert!(nodes.is_empty() || nodes == text(&object, "/spec/nodeName"), "bound twice");
            let at = self.now.since(START).as_secs_f64();
            let line = format!("{at:.1} {} {}", text(&object, "/metadata/name"), words(&object));
            self.log.push(line);
        }
        let object = Arc::new(object);
        self.objects.insert(id, Arc::clone(&object));
        self.fresh.push(Change { resource: resource.clone(), object, gone: false });
    }

    fn answer(&mut self, request: &Request) -> Result<(), u16> {
        let (Request::Create(target, body)
        | Request::Update(target, body)
        | Request::Patch(target, body)
        | Request::Delete(target, body)) = request;
        let id = (target.resource.plural.to_string(), target.key.clone());
        let known = self.objects.get(&id).cloned();
        if let Request::Create(..) = request
            && target.subresource.is_empty()
        {
            return self.make(target, body.clone(), known.is_some());
        }
        let known = known.ok_or(404_u16)?;
        let mut object = Value::clone(&known);
        match request {
            Request::Create(..) => {
                if !text(&known, "/spec/nodeName").is_empty()
                    || text(&known, "/metadata/uid") != text(body, "/metadata/uid")
                {
                    return Err(409);
                }
                object["spec"]["nodeName"] = body["target"]["name"].clone();
                let scheduled = json!({ "type": "PodScheduled", "status": "True" });
                merge(&mut object["status"], &json!({ "conditions": [scheduled] }), "");
            }
            Request::Update(..) => {
                let version = "/metadata/resourceVersion";
                if text(body, version) != text(&known, version) {
                    return Err(409);
                }
                object = body.clone();
            }
            Request::Patch(..) => {
                if at(body, "/metadata/uid").is_some_and(|uid| *uid != known["metadata"]["uid"]) {
                    return Err(409);
                }
                merge(&mut object, body, "");
            }
            Request::Delete(..) => return self.remove(target, body, object),
        }
        self.store(&target.resource, target.key.clone(), object);
        Ok(())
    }

    fn make(&mut self, target: &Target, mut object: Value, exists: bool) -> Result<(), u16> {
        if exists {
            return Err(409);
        }
        let mut key = target.key.clone();
        if let Some(base) = at(&object, "/metadata/generateName").and_then(Value::as_str) {
            key = Key::new("", &format!("{base}{}", self.version));
            object["metadata"]["name"] = json!(&*key.name);
        }
        object["metadata"]["uid"] = json!(format!("uid-{}", self.version));
        object["metadata"]["creationTimestamp"] = json!(self.now);
        object["metadata"]["generation"] = json!(1);
        self.store(&target.resource, key, object);
        Ok(())
    }

    fn remove(&mut self, target: &Target, options: &Value, mut object: Value) -> Result<(), u16> {
        if at(options, "/preconditions/uid").is_some_and(|it| *it != object["metadata"]["uid"]) {
            return Err(409);
        }
        let asked = number(options, "/gracePeriodSeconds");
        let grace = asked.or(number(&object, "/spec/terminationGracePeriodSeconds")).unwrap_or(30);
        let over = matches!(text(&object, "/status/phase"), "Succeeded" | "Failed");
        let bound = !text(&object, "/spec/nodeName").is_empty();
        let grace = if target.resource == PODS && bound && !over { grace } else { 0 };
        if grace == 0 && items(&object, "/metadata/finalizers").is_empty() {
            self.version += 1;
            self.objects.remove(&(target.resource.plural.to_string(), target.key.clone()));
            let line = text(&object, "/metadata/name").to_owned();
            let at = self.now.since(START).as_secs_f64();
            self.log.push(format!("{at:.1} {line} gone"));
            let object = Arc::new(object);
            self.fresh.push(Change { resource: target.resource.clone(), object, gone: true });
            return Ok(());
        }
        let end = self.now + Duration::from_secs(grace.unsigned_abs());
        object["metadata"]["deletionTimestamp"] = json!(end);
        object["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
        self.store(&target.resource, target.key.clone(), object);
        Ok(())
    }
}

/// As a strategic merge patch, for the lists that are patched here.
fn merge(object: &mut Value, patch: &Value, field: &str) {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => {
            for (name, value) in patch {
                if value.is_null() {
                    object.remove(name);
                } else {
                    merge(object.entry(name).or_insert(Value::Null), value, name);
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if matches!(field, "conditions" | "podIPs") => {
            let name = if field == "conditions" { "/type" } else { "/ip" };
            for new in new {
                let same = old.iter_mut().find(|old| text(old, name) == text(new, name));
                match same {
                    Some(old) => merge(old, new, ""),
                    None => old.push(without_nulls(new)),
                }
            }
        }
        (object, Value::Array(new)) if matches!(field, "conditions" | "podIPs") => {
            *object = new.iter().map(without_nulls).collect();
        }
        (object, patch) => *object = patch.clone(),
    }
}

fn without_nulls(value: &Value) -> Value {
    let fields = value.as_object().cloned().unwrap_or_default();
    fields.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

/// A pod in one line: phase, readiness, and what each container does.
pub(crate) fn words(pod: &Value) -> String {
    let ready = condition(pod, "Ready").map_or("", |it| text(it, "/status"));
    let mut words = format!("{} {ready}", text(pod, "/status/phase"));
    let first = items(pod, "/status/initContainerStatuses").iter();
    for status in first.chain(items(pod, "/status/containerStatuses")) {
        let restarts = number(status, "/restartCount").unwrap_or(0);
        let state = match at(status, "/state").and_then(Value::as_object) {
            Some(state) if state.contains_key("running") => "running".to_owned(),
            Some(state) => {
                let inner = state.values().next().unwrap_or(&Value::Null);
                let code =
                    number(inner, "/exitCode").map_or(String::new(), |code| format!("({code})"));
                format!("{}{code}", text(inner, "/reason"))
            }
            None => String::new(),
        };
        words = format!("{words} {}:{state}/{restarts}", text(status, "/name"));
    }
    words
}

/// A pod with a container called `main`.
pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "namespace": "default" },
        "spec": {
            "schedulerName": "default-scheduler",
            "restartPolicy": "Always",
            "containers": [{ "name": "main", "image": "web:1" }],
        },
        "status": { "phase": "Pending", "qosClass": "BestEffort" },
    })
}

/// A pod with these annotations and these fields of the spec.
pub(crate) fn pod_with(name: &str, annotations: &[(&str, &str)], spec: &Value) -> Value {
    let mut pod = pod(name);
    for (key, value) in annotations {
        pod["metadata"]["annotations"][format!("sandbox/{key}")] = json!(value);
    }
    merge(&mut pod["spec"], spec, "");
    pod
}

impl World {
    /// A client deletes an object.
    pub(crate) fn lose(&mut self, target: &Target) {
        self.answer(&Request::Delete(target.clone(), json!({}))).unwrap();
    }
}
