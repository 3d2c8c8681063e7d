//! Both controllers against an API server in memory, with caches that are stale as they like.
//!
//! Each deletion is held against the rule at the moment at which the API server gets it: upstream's
//! controller, with all its live reads, would have asked for it too. At the end, when everything
//! was delivered and synced, nothing is left that had to be deleted, nothing that is being deleted
//! waits, and the graph is the one that the existing objects give.

use api::{Key, Metadata, Resource, Text, Time};
use controller::fixture::{Fixture, NOW, woken_by_any, woken_by_served};
use controller::{
    Action, Answer, Call, Controller, Delete, Enqueue, Facts, Guard, MetadataChange, News,
    ObjectRef, Patch, PatchKind, Plan, Propagation, Query, Shared, Step, Tolerated, Write,
};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::world::{object as object_with, *};
use crate::garbagecollector::identity::Identity;
use crate::garbagecollector::{Collector, Graph, Orphaner};

const KINDS: [Resource; 4] = [NODES, DEPLOYMENTS, SECRETS, PODS];
/// Objects have few names, so that one follows another.
const NAMES: usize = 3;

/// What happens. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Op {
    /// A client creates an object with these owners, blocking or not.
    Create { kind: usize, name: usize, owners: Vec<(usize, bool)> },
    /// A client deletes an object.
    Delete { which: usize, how: usize },
    /// A client removes all owners of an object, or gives it one that is older.
    Own { which: usize, owner: Option<usize> },
    /// The cache of a kind gets a change.
    Deliver { kind: usize },
    /// The collector looks at a key.
    Collect { which: usize },
    /// The orphaner looks at a key.
    Orphan { which: usize },
}

type Event = (Option<Metadata>, Option<Metadata>);

struct Sim {
    live: BTreeMap<Text, (usize, Metadata)>,
    events: [VecDeque<Event>; 4],
    graph: Shared<Graph>,
    collector: Collector,
    orphaner: Orphaner,
    /// Keys that wait.
    collect: BTreeSet<Key>,
    orphan: BTreeSet<Key>,
    made: u64,
    version: u64,
}

fn op() -> impl Strategy<Value = Op> {
    let owners = prop::collection::vec((any::<usize>(), any::<bool>()), 0..3);
    prop_oneof![
        4 => (0..KINDS.len(), 0..NAMES, owners)
            .prop_map(|(kind, name, owners)| Op::Create { kind, name, owners }),
        2 => (any::<usize>(), 0..3_usize).prop_map(|(which, how)| Op::Delete { which, how }),
        1 => (any::<usize>(), any::<Option<usize>>())
            .prop_map(|(which, owner)| Op::Own { which, owner }),
        6 => (0..KINDS.len()).prop_map(|kind| Op::Deliver { kind }),
        5 => any::<usize>().prop_map(|which| Op::Collect { which }),
        1 => any::<usize>().prop_map(|which| Op::Orphan { which }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        failure_persistence: None,
        rng_algorithm: proptest::test_runner::RngAlgorithm::ChaCha,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_deleted_had_to_go_and_what_had_to_go_is_deleted(
        ops in prop::collection::vec(op(), 0..120),
    ) {
        let mut sim = Sim::new();
        for op in ops {
            sim.apply(op);
            sim.graph.read().check();
        }
        sim.settle();
        sim.check_the_end();
    }
}

impl Sim {
    fn new() -> Self {
        let graph = Shared::default();
        woken_by_served(&Collector, &graph, &all_served(), &Fixture::default());
        Self {
            live: BTreeMap::new(),
            events: Default::default(),
            orphaner: Orphaner,
            collector: Collector,
            graph,
            collect: BTreeSet::new(),
            orphan: BTreeSet::new(),
            made: 0,
            version: 0,
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Create { kind, name, owners } => self.create(kind, name, &owners),
            Op::Delete { which, how } => {
                let ways = [Propagation::Background, Propagation::Foreground, Propagation::Orphan];
                if let Some(uid) = self.nth(which) {
                    self.delete(&uid, ways[how]);
                }
            }
            Op::Own { which, owner } => self.own(which, owner),
            Op::Deliver { kind } => self.deliver(kind),
            Op::Collect { which } => {
                if let Some(key) = nth(&self.collect, which) {
                    self.collect.remove(&key);
                    self.look(&key);
                }
            }
            Op::Orphan { which } => {
                if let Some(key) = nth(&self.orphan, which) {
                    self.orphan.remove(&key);
                    self.let_go(&key);
                }
            }
        }
    }

    // === Users ===

    fn nth(&self, which: usize) -> Option<Text> {
        let at = which.checked_rem(self.live.len())?;
        self.live.keys().nth(at).cloned()
    }

    fn identity(&self, uid: &str) -> Identity {
        let (kind, object) = &self.live[uid];
        Identity::observed(&KINDS[*kind], &object.meta)
    }

    /// A dependent in a namespace may have any owner, one outside of them only such.
    fn create(&mut self, kind: usize, name: usize, owners: &[(usize, bool)]) {
        let resource = &KINDS[kind];
        let namespace = if resource.namespaced { "ns1" } else { "" };
        let (name, uid) = (format!("{}{name}", resource.plural), format!("uid{:05}", self.made));
        let mut of_kind = self.live.values().filter(|(other, _)| *other == kind);
        if of_kind.any(|(_, object)| *object.meta.key.name == *name) {
            return;
        }
        let id = id(&resource.api_version(), &resource.kind, namespace, &name, &uid);
        let owners: Vec<_> = owners
            .iter()
            .filter_map(|(which, blocks)| {
                let owner = self.identity(&self.nth(*which)?);
                let is_valid = resource.namespaced || owner.namespace.is_empty();
                is_valid.then(|| reference(&owner, *blocks))
            })
            .collect();
        let mut json = object_with(&id, &[]);
        json["metadata"]["ownerReferences"] = owners.into();
        self.made += 1;
        self.write(kind, metadata(&json));
    }

    fn own(&mut self, which: usize, owner: Option<usize>) {
        let Some(uid) = self.nth(which) else { return };
        let (kind, mut object) = self.live[&uid].clone();
        let mut owners = Vec::new();
        if let Some(owner) = owner.and_then(|owner| self.nth(owner)) {
            let owner = self.identity(&owner);
            if owner.uid >= uid
                || (object.meta.key.namespace.is_empty() && !owner.namespace.is_empty())
            {
                return;
            }
            owners = object.meta.owners.to_vec();
            owners.retain(|known| known.uid != owner.uid);
            owners.push(owner_ref(&owner));
        }
        object.meta.owners = owners.into();
        self.write(kind, object);
    }

    // === The API server ===

    /// An object has this state now. One that is being deleted and has no finalizers is deleted.
    fn write(&mut self, kind: usize, mut object: Metadata) {
        self.version += 1;
        object.meta.resource_version = self.version;
        let uid = object.meta.uid.clone();
        let is_gone = object.meta.is_terminating() && object.meta.finalizers.is_empty();
        let old = self.live.remove(&uid).map(|(_, old)| old);
        let new = (!is_gone).then_some(object);
        if let Some(new) = &new {
            self.live.insert(uid, (kind, new.clone()));
        }
        self.events[kind].push_back((old, new));
    }

    fn delete(&mut self, uid: &Text, how: Propagation) {
        let Some((kind, mut object)) = self.live.get(uid).cloned() else { return };
        let mut finalizers: Vec<Text> = object.meta.finalizers.to_vec();
        finalizers.retain(|it| !["orphan", "foregroundDeletion"].contains(&&**it));
        match how {
            Propagation::Background => {}
            Propagation::Foreground => finalizers.push("foregroundDeletion".into()),
            Propagation::Orphan => finalizers.push("orphan".into()),
        }
        object.meta.finalizers = finalizers.into();
        object.meta.deletion_timestamp = Time::parse(NOW).ok();
        self.write(kind, object);
    }

    /// Carries out a deletion. Whether it failed.
    fn deleted(&mut self, object: &ObjectRef, delete: &Delete) -> bool {
        let Delete { guard, propagation, .. } = delete;
        let Some((_, live)) = self.live.get(&object.uid) else { return false };
        let Guard::SameOwners(owners) = guard else { panic!("{delete:?}") };
        let is_same = live.meta.resource_version == object.resource_version;
        if !is_same && (live.meta.owners != *owners || live.meta.is_terminating()) {
            return true;
        }
        // The rule: upstream's live reads would say the same.
        assert!(!live.meta.owners.is_empty(), "{delete:?}");
        for owner in live.meta.owners.iter() {
            if let Some((_, owner)) = self.live.get(&owner.uid) {
                assert!(has(owner, "foregroundDeletion"), "{delete:?} though {owner:?} is there");
            }
        }
        self.delete(&object.uid, propagation.unwrap());
        false
    }

    /// Carries out a patch. Whether it failed.
    fn patched(&mut self, write: &Write, patch: &Patch) -> bool {
        let Some((kind, mut object)) = self.live.get(&write.object.uid).cloned() else {
            return !write.tolerates.contains(&Tolerated::Missing);
        };
        let body: Value = serde_json::from_str(&patch.body).unwrap();
        let body = &body["metadata"];
        assert_eq!(body["uid"], *object.meta.uid);
        if patch.kind == PatchKind::Merge {
            let version = object.meta.resource_version.to_string();
            if body["resourceVersion"] != version {
                return true;
            }
            if let Some(list) = body.get("finalizers") {
                let list = list.as_array().cloned().unwrap_or_default();
                let list = list.iter().map(|it| it.as_str().unwrap().into());
                object.meta.finalizers = list.collect();
            }
            if let Some(list) = body.get("ownerReferences") {
                let json = serde_json::json!({"metadata": {"ownerReferences": list}});
                object.meta.owners = metadata(&json).meta.owners;
            }
        } else {
            let mut owners = object.meta.owners.to_vec();
            for entry in body["ownerReferences"].as_array().unwrap() {
                if entry["$patch"] == "delete" {
                    owners.retain(|owner| entry["uid"] != *owner.uid);
                } else {
                    let owner = owners.iter_mut().find(|owner| entry["uid"] == *owner.uid);
                    // An entry without a name is invalid.
                    let Some(owner) = owner else { return true };
                    owner.block_owner_deletion = entry["blockOwnerDeletion"] == true;
                }
            }
            object.meta.owners = owners.into();
        }
        if self.live[&object.meta.uid].1 != object {
            self.write(kind, object);
        }
        false
    }

    // === Caches ===

    fn deliver(&mut self, kind: usize) {
        let Some((old, new)) = self.events[kind].pop_front() else { return };
        let change = match (&old, &new) {
            (None, Some(new)) => MetadataChange::Added(&new.meta),
            (Some(old), Some(new)) => MetadataChange::Updated { old: &old.meta, new: &new.meta },
            (Some(old), None) => MetadataChange::Deleted(&old.meta),
            (None, None) => return,
        };
        let fixture = Fixture::default();
        let queue = woken_by_any(&self.collector, &self.graph, (&KINDS[kind], &change), &fixture);
        self.collect.extend(keys(queue));
        let queue = woken_by_any(&self.orphaner, &self.graph, (&KINDS[kind], &change), &fixture);
        self.orphan.extend(keys(queue));
    }

    // === Workers ===

    fn look(&mut self, key: &Key) {
        let fixture = Fixture::default();
        let seen = self.collector.observe(key, &fixture.view(), &self.graph.read());
        let Some(snapshot) = seen else { return };
        let mut facts = Facts::default();
        let plan = loop {
            let (plan, ()) = self.collector.decide(&snapshot, &facts);
            let [Step::Fetch(queries)] = plan.steps.as_slice() else { break plan };
            for query in queries {
                let answer = self.answer(query);
                let mut queue = Enqueue::default();
                let news = News::Answered { snapshot: &snapshot, query, answer: &answer };
                self.collector.remember(&mut self.graph.write(), news, &mut queue);
                self.collect.extend(keys(queue));
                facts.answers.insert(query.clone(), answer);
            }
        };
        if self.act(&plan) || plan.again.is_some() {
            self.collect.insert(key.clone());
        }
    }

    fn let_go(&mut self, key: &Key) {
        let fixture = Fixture::default();
        let seen = self.orphaner.observe(key, &fixture.view(), &self.graph.read());
        let Some(snapshot) = seen else { return };
        let (plan, ()) = self.orphaner.decide(&snapshot, &Facts::default());
        if self.act(&plan) || plan.again.is_some() {
            self.orphan.insert(key.clone());
        }
    }

    fn answer(&self, query: &Query) -> Answer {
        let Query::Get { resource, key, .. } = query else { panic!("{query}") };
        let mut objects = self.live.values();
        let found =
            objects.find(|(kind, object)| KINDS[*kind] == *resource && object.meta.key == *key);
        found.map_or(Answer::NotFound, |(_, it)| Answer::Metadata(Box::new(it.clone())))
    }

    /// Whether it has to be tried again.
    fn act(&mut self, plan: &Plan) -> bool {
        for step in &plan.steps {
            let (Step::InOrder(actions) | Step::Together(actions)) = step else { panic!("{plan}") };
            let mut failed = false;
            for action in actions {
                let Action::Write(write) = action else { panic!("{action}") };
                failed |= if let Some(delete) = write.deleted() {
                    self.deleted(&write.object, delete)
                } else if let Some(patch) = write.patched() {
                    self.patched(write, patch)
                } else {
                    panic!("{action}")
                };
            }
            if failed {
                return true;
            }
        }
        plan.error.is_some()
    }

    // === The end ===

    /// Everything is delivered and looked at, again and again.
    fn settle(&mut self) {
        for _ in 0..200 {
            for kind in 0..KINDS.len() {
                while !self.events[kind].is_empty() {
                    self.deliver(kind);
                }
            }
            self.graph.read().check();
            let (collect, orphan) =
                (std::mem::take(&mut self.collect), std::mem::take(&mut self.orphan));
            if collect.is_empty() && orphan.is_empty() {
                return;
            }
            for key in &collect {
                self.look(key);
            }
            for key in &orphan {
                self.let_go(key);
            }
        }
        panic!("no end: {:?} {:?}", self.collect, self.orphan);
    }

    fn check_the_end(&self) {
        let mut built = World::new();
        for (kind, object) in self.live.values() {
            let meta = &object.meta;
            assert!(!meta.is_terminating(), "still being deleted: {meta:?}");
            let mut owners = meta.owners.iter();
            let is_owned = owners.any(|owner| self.live.contains_key(&owner.uid));
            assert!(meta.owners.is_empty() || is_owned, "left over: {meta:?}");
            let id = Identity::observed(&KINDS[*kind], meta);
            let mut json = object_with(&id, &[]);
            let refs = meta.owners.iter().map(|owner| {
                reference(&Identity::of(owner, &id.namespace), owner.block_owner_deletion)
            });
            json["metadata"]["ownerReferences"] = refs.collect::<Vec<_>>().into();
            built.see(&id, &json);
        }
        // Deleted owners may be named beside others: no node stands for them.
        let nodes = |text: String| {
            let lines = text.split("; ").filter(|line| !line.contains('?'));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(nodes(listed(&self.graph.read())), nodes(built.nodes()));
    }
}

fn has(object: &Metadata, finalizer: &str) -> bool {
    object.meta.is_terminating() && object.meta.finalizers.iter().any(|it| &**it == finalizer)
}

fn nth(keys: &BTreeSet<Key>, which: usize) -> Option<Key> {
    let at = which.checked_rem(keys.len())?;
    keys.iter().nth(at).cloned()
}

fn keys(queue: Enqueue) -> Vec<Key> {
    let key = |call| match call {
        Call::Now(key) | Call::After(key, _) | Call::Forget(key) => key,
    };
    queue.calls.into_iter().map(key).collect()
}
