//! The two controllers, their queues, and an API server that can be asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Codec, Key, Metadata, Object as _, OwnerRef, Resource, Served, ServedKind, intern};
use controller::fixture::{Fixture, NOW, with, woken_by_any, woken_by_served};
use controller::{
    Answer, Call, Controller as _, Enqueue, Facts, MetadataChange, News, Outcome, Plan, Query,
    Refused, Shared, Step,
};
use serde_json::{Value, json};

use crate::garbagecollector::identity::Identity;
use crate::garbagecollector::{Collector, Graph, Orphaner, Snapshot};

pub(super) const PODS: Resource = Resource::namespaced("", "v1", "pods", "Pod");
pub(super) const NODES: Resource = Resource::cluster_scoped("", "v1", "nodes", "Node");
pub(super) const SECRETS: Resource = Resource::namespaced("", "v1", "secrets", "Secret");
pub(super) const CONTROLLERS: Resource =
    Resource::namespaced("", "v1", "replicationcontrollers", "ReplicationController");
pub(super) const DEPLOYMENTS: Resource =
    Resource::namespaced("apps", "v1", "deployments", "Deployment");
pub(super) const ROLES: Resource =
    Resource::namespaced("rbac.authorization.k8s.io", "v1", "roles", "Role");
pub(super) const OLD_ROLES: Resource =
    Resource::namespaced("rbac.authorization.k8s.io", "v1beta1", "roles", "Role");

pub(super) struct World {
    pub(super) graph: Shared<Graph>,
    pub(super) collector: Collector,
    pub(super) orphaner: Orphaner,
    /// What the caches show, by uid.
    cache: BTreeMap<String, (Resource, Metadata)>,
    /// What is there.
    live: BTreeMap<Query, Metadata>,
    /// What cannot be read.
    broken: Vec<Query>,
    pub(super) pending: Vec<Key>,
    pub(super) to_orphan: Vec<Key>,
    version: u64,
}

/// As upstream's `makeID`.
pub(super) fn id(
    api_version: &str,
    kind: &str,
    namespace: &str,
    name: &str,
    uid: &str,
) -> Identity {
    let [kind, api_version, namespace, name, uid] =
        [kind, api_version, namespace, name, uid].map(intern);
    Identity { kind, api_version, namespace, name, uid }
}

/// The JSON of an object with these owners.
pub(super) fn object(id: &Identity, owners: &[&Identity]) -> Value {
    let owners: Vec<_> = owners.iter().map(|owner| reference(owner, false)).collect();
    json!({"metadata": {"name": &*id.name, "namespace": &*id.namespace, "uid": &*id.uid,
        "resourceVersion": "1", "ownerReferences": owners}})
}

/// The JSON of an object that blocks the deletion of these owners.
pub(super) fn blocking(id: &Identity, owners: &[&Identity]) -> Value {
    let owners: Vec<_> = owners.iter().map(|owner| reference(owner, true)).collect();
    with(object(id, &[]), json!({"metadata": {"ownerReferences": owners}}))
}

pub(super) fn reference(owner: &Identity, blocks: bool) -> Value {
    json!({"apiVersion": &*owner.api_version, "kind": &*owner.kind, "name": &*owner.name,
        "uid": &*owner.uid, "blockOwnerDeletion": blocks})
}

pub(super) fn finalizers(object: Value, finalizers: &[&str]) -> Value {
    with(object, json!({"metadata": {"finalizers": finalizers}}))
}

pub(super) fn ending(object: Value) -> Value {
    with(object, json!({"metadata": {"deletionTimestamp": NOW}}))
}

/// Is being deleted in the foreground.
pub(super) fn waiting(object: Value) -> Value {
    ending(finalizers(object, &["foregroundDeletion"]))
}

pub(super) fn metadata(object: &Value) -> Metadata {
    Metadata::decode(Codec::Json, object.to_string().as_bytes()).unwrap()
}

pub(super) fn owner_ref(owner: &Identity) -> OwnerRef {
    let object = object(&id("v1", "Pod", "ns1", "a", "a"), &[owner]);
    metadata(&object).meta.owners[0].clone()
}

pub(super) fn served(resources: &[Resource]) -> Arc<Served> {
    let kind = |resource: &Resource| ServedKind {
        resource: resource.clone(),
        verbs: Box::default(),
        preferred: *resource != OLD_ROLES,
        subresources: Box::default(),
    };
    Arc::new(Served::new(resources.iter().map(kind).collect(), BTreeMap::new()))
}

/// All kinds above.
pub(super) fn all_served() -> Arc<Served> {
    served(&[PODS, NODES, SECRETS, CONTROLLERS, DEPLOYMENTS, ROLES, OLD_ROLES])
}

fn resource_of(id: &Identity) -> Resource {
    all_served().find(&id.api_version, &id.kind).unwrap().clone()
}

fn query(id: &Identity) -> Query {
    let key = Key { namespace: id.namespace.clone(), name: id.name.clone() };
    Query::metadata(resource_of(id), key)
}

/// `ns1/Pod:name`.
pub(super) fn short(key: &Key) -> String {
    let text = key.to_string();
    text.rsplit_once(':').map_or(text.clone(), |(name, _)| name.to_owned())
}

/// The nodes by uid: `Pod.v1 ns1/name -> uids of owners`; with a question mark if virtual.
pub(super) fn listed(graph: &Graph) -> String {
    let lines = graph.all().map(|node| {
        let mark = if node.is_virtual() { "?" } else { "" };
        let Identity { kind, api_version, .. } = node.identity();
        let owners: Vec<_> = node.owners.iter().map(|owner| &*owner.uid).collect();
        let arrow = if owners.is_empty() { "" } else { " -> " };
        format!("{api_version}/{kind}{mark} {}{arrow}{}", node.key, owners.join(" "))
    });
    lines.collect::<Vec<_>>().join("; ")
}

impl World {
    pub(super) fn new() -> Self {
        let mut world = Self {
            collector: Collector,
            orphaner: Orphaner,
            graph: Shared::default(),
            cache: BTreeMap::new(),
            live: BTreeMap::new(),
            broken: Vec::new(),
            pending: Vec::new(),
            to_orphan: Vec::new(),
            version: 0,
        };
        world.serve(&all_served());
        world
    }

    pub(super) fn serve(&mut self, served: &Arc<Served>) {
        let queue = woken_by_served(&self.collector, &self.graph, served, &Fixture::default());
        self.enqueue(queue);
    }

    // === The API server ===

    /// It has this object.
    pub(super) fn live(&mut self, id: &Identity, object: &Value) {
        self.live.insert(query(id), metadata(object));
    }

    pub(super) fn gone(&mut self, id: &Identity) {
        self.live.remove(&query(id));
    }

    pub(super) fn broken(&mut self, id: &Identity) {
        self.broken.push(query(id));
    }

    // === The caches ===

    /// The cache of its kind shows the object so.
    pub(super) fn see(&mut self, id: &Identity, object: &Value) {
        self.version += 1;
        let mut new = metadata(object);
        new.meta.resource_version = self.version;
        let resource = resource_of(id);
        let old = self.cache.insert(id.uid.to_string(), (resource.clone(), new.clone()));
        match &old {
            None => self.tell(&resource, &MetadataChange::Added(&new.meta)),
            Some((_, old)) => {
                let (old, new) = (&old.meta, &new.meta);
                self.tell(&resource, &MetadataChange::Updated { old, new });
            }
        }
    }

    pub(super) fn add(&mut self, id: &Identity, owners: &[&Identity]) {
        self.see(id, &object(id, owners));
    }

    pub(super) fn delete(&mut self, id: &Identity) {
        let (resource, old) = self.cache.remove(&*id.uid).unwrap();
        self.tell(&resource, &MetadataChange::Deleted(&old.meta));
    }

    pub(super) fn drop_kind(&mut self, resource: &Resource) {
        self.cache.retain(|_, (known, _)| known != resource);
        self.tell(resource, &MetadataChange::Dropped);
    }

    /// The list of a kind is complete.
    pub(super) fn complete(&mut self, resource: &Resource) {
        self.tell(resource, &MetadataChange::Complete);
    }

    fn tell(&mut self, resource: &Resource, change: &MetadataChange<'_>) {
        let fixture = Fixture::default();
        let queue = woken_by_any(&self.collector, &self.graph, (resource, change), &fixture);
        self.enqueue(queue);
        let queue = woken_by_any(&self.orphaner, &self.graph, (resource, change), &fixture);
        self.to_orphan.extend(keys(queue));
        self.graph.read().check();
    }

    fn enqueue(&mut self, queue: Enqueue) {
        for key in keys(queue) {
            if !self.pending.contains(&key) {
                self.pending.push(key);
            }
        }
    }

    // === The workers ===

    /// The next key in the queue: what is read and written for it. One that fails, or is to be
    /// looked at again, goes back to the end of the queue.
    pub(super) fn look(&mut self) -> String {
        let key = self.pending.remove(0);
        let (mut text, plan) = self.sync(&key);
        let Some(plan) = plan else { return "not there".to_owned() };
        for line in plan.to_string().lines().filter(|line| !line.starts_with("why: ")) {
            text.push_str(line.strip_prefix("in order: ").unwrap_or(line));
            text.push('\n');
        }
        if plan.actions() > 0 {
            // The engine waits until the caches show what was written.
            self.pending.retain(|pending| *pending != key);
        }
        let again = plan.error.is_some() || plan.again.is_some();
        let is_there = self.graph.read().resolve(&key).is_some();
        if again && is_there && !self.pending.contains(&key) {
            self.pending.push(key);
        }
        text
    }

    /// All reads for a key, a line each, and the plan that comes of them.
    pub(super) fn sync(&mut self, key: &Key) -> (String, Option<Plan>) {
        let fixture = Fixture::default();
        let seen = self.collector.observe(key, &fixture.view(), &self.graph.read());
        let Some(snapshot) = seen else {
            return (String::new(), None);
        };
        let (mut text, mut facts) = (String::new(), Facts::default());
        loop {
            let (plan, verdict) = self.collector.decide(&snapshot, &facts);
            let [Step::Fetch(queries)] = plan.steps.as_slice() else {
                let (verdict, outcome) = (&verdict, &Outcome::default());
                let news = News::Acted { snapshot: &snapshot, verdict, outcome };
                self.collector.remember(&mut self.graph.write(), news, &mut Enqueue::default());
                return (text, Some(plan));
            };
            for query in queries {
                let Query::Get { resource, key, .. } = query else { panic!("{query}") };
                text.extend([format!("get {resource} {key}\n")]);
                let answer = match self.live.get(query) {
                    _ if self.broken.contains(query) => {
                        Answer::Failed(Refused { code: Some(500), ..Refused::from("broken") })
                    }
                    Some(found) => Answer::Metadata(Box::new(found.clone())),
                    None => Answer::NotFound,
                };
                let mut queue = Enqueue::default();
                let news = News::Answered { snapshot: &snapshot, query, answer: &answer };
                self.collector.remember(&mut self.graph.write(), news, &mut queue);
                self.enqueue(queue);
                self.graph.read().check();
                facts.answers.insert(query.clone(), answer);
            }
        }
    }

    /// A look begins that reads one object.
    pub(super) fn begin(&self, key: &Key) -> (Snapshot, Query) {
        let fixture = Fixture::default();
        let graph = self.graph.read();
        let snapshot = self.collector.observe(key, &fixture.view(), &graph).unwrap();
        let (plan, ()) = self.collector.decide(&snapshot, &Facts::default());
        let [Step::Fetch(queries)] = plan.steps.as_slice() else { panic!("{plan}") };
        let [query] = queries.as_slice() else { panic!("{plan}") };
        (snapshot, query.clone())
    }

    /// Its reads are served.
    pub(super) fn end(&mut self, (snapshot, query): (Snapshot, Query), answer: &Answer) {
        let mut queue = Enqueue::default();
        let news = News::Answered { snapshot: &snapshot, query: &query, answer };
        self.collector.remember(&mut self.graph.write(), news, &mut queue);
        self.enqueue(queue);
        self.graph.read().check();
    }

    // === What is there to see ===

    /// As [`listed`].
    pub(super) fn nodes(&self) -> String {
        listed(&self.graph.read())
    }

    /// The keys in the queue.
    pub(super) fn queue(&self) -> String {
        self.pending.iter().map(short).collect::<Vec<_>>().join("; ")
    }

    pub(super) fn absent(&self) -> String {
        let absent = self.graph.read().absent.all();
        let names = absent.iter().map(|it| {
            let key = Key { namespace: it.namespace.clone(), name: it.name.clone() };
            format!("{}/{} {key}", it.api_version, it.kind)
        });
        names.collect::<Vec<_>>().join("; ")
    }

    /// Checks graph and queue.
    #[track_caller]
    pub(super) fn is(&self, nodes: &str, queue: &str) {
        assert_eq!(self.nodes(), nodes, "nodes");
        assert_eq!(self.queue(), queue, "queue");
    }
}

fn keys(queue: Enqueue) -> Vec<Key> {
    let key = |call| match call {
        Call::Now(key) | Call::After(key, _) | Call::Forget(key) => key,
    };
    queue.calls.into_iter().map(key).collect()
}
