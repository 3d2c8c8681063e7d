//! Both controllers over caches in memory: what they write shows there at once, and enqueues keys
//! as their watch tables say.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use api::{
    Codec, Key, Kind, Meta, Object as _, PersistentVolume, PersistentVolumeClaim, Pod, Raw,
    StorageClass, Time,
};
use controller::fixture::{Fixture, body, decode, remembered, time, with};
use controller::{
    Action, Answer, Call, Change, Controller, Enqueue, Facts, Form, News, ObjectRef, Outcome, Plan,
    Query, Shared, Step, Verb, Views, Write,
};
use serde_json::{Value, json};

use super::notation::{claim, shown_claim, shown_volume, volume};
use crate::persistentvolume::{Claims, Memory, Recycler, Recyclers, VolumeMemory, Volumes};

/// The period of tests.
pub(super) const PERIOD: Duration = Duration::from_secs(15);

/// How often a key is synced before a test gives up.
const SYNCS_MAX: usize = 50;

/// The reason and the message of an error.
type Refusal = (&'static str, &'static str);

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Which {
    Claim,
    Volume,
}

/// The objects, and what happened.
pub(super) struct World {
    pub(super) claims: Claims,
    pub(super) volumes: Volumes,
    pub(super) claim_memory: Arc<Shared<Memory>>,
    pub(super) volume_memory: Arc<Shared<VolumeMemory>>,
    pub(super) now: Time,
    /// By plural name and key.
    pub(super) objects: BTreeMap<(String, Key), Value>,
    /// Those that live reads find and the caches lack.
    pub(super) unseen: BTreeMap<(String, Key), Value>,
    /// Type and reason, and the message.
    pub(super) events: Vec<(String, String)>,
    /// What was written, as text.
    pub(super) writes: Vec<String>,
    /// The next write whose text begins so fails: with this reason and message.
    pub(super) refused: Option<(&'static str, &'static str, &'static str)>,
    /// The last plan of each key.
    pub(super) plans: BTreeMap<(Which, Key), Plan>,
    /// The errors of plans.
    pub(super) errors: Vec<String>,
    queue: VecDeque<(Which, Key)>,
    version: u64,
}

impl World {
    pub(super) fn new(volumes: &[&str], claims: &[&str]) -> Self {
        let recycler = Recycler {
            pod: Recycler::pod_template(),
            timeout_seconds_min: 60,
            timeout_seconds_per_gib: 30,
        };
        let nfs = Recycler { timeout_seconds_min: 300, ..recycler.clone() };
        let recyclers = Arc::new(Recyclers { host_path: recycler, nfs });
        let mut world = Self {
            claims: Claims { sync_period: PERIOD, provisions: true },
            volumes: Volumes { sync_period: PERIOD, recyclers },
            claim_memory: Arc::default(),
            volume_memory: Arc::default(),
            now: time(0),
            objects: BTreeMap::new(),
            unseen: BTreeMap::new(),
            events: Vec::new(),
            writes: Vec::new(),
            refused: None,
            plans: BTreeMap::new(),
            errors: Vec::new(),
            queue: VecDeque::new(),
            version: 100,
        };
        for line in volumes {
            world.hold::<PersistentVolume>(volume(line));
        }
        for line in claims {
            world.hold::<PersistentVolumeClaim>(claim(line));
        }
        world
    }

    /// Without an event.
    pub(super) fn hold<T: Kind>(&mut self, object: Value) {
        let key = decode::<T>(&object).meta().key.clone();
        self.objects.insert((plural::<T>(), key), object);
    }

    /// Live reads find it, and the caches lack it.
    pub(super) fn hide<T: Kind>(&mut self, object: Value) {
        let key = decode::<T>(&object).meta().key.clone();
        self.unseen.insert((plural::<T>(), key), object);
    }

    pub(super) fn class(&mut self, name: &str, provisioner: &str, more: &Value) {
        let class = json!({
            "metadata": {"name": name, "resourceVersion": "1"},
            "provisioner": provisioner, "volumeBindingMode": "Immediate",
        });
        self.hold::<StorageClass>(with(class, more.clone()));
    }

    /// Syncs a key, and whatever that enqueues.
    pub(super) fn run(&mut self, which: Which, name: &str) {
        let namespace = if which == Which::Claim { "default" } else { "" };
        self.queue.push_back((which, Key::new(namespace, name)));
        self.drain();
    }

    fn drain(&mut self) {
        for _ in 0..SYNCS_MAX {
            let Some((which, key)) = self.queue.pop_front() else { return };
            match which {
                Which::Claim => {
                    let (controller, memory) = (self.claims, Arc::clone(&self.claim_memory));
                    self.sync(&controller, &memory, (which, key));
                }
                Which::Volume => {
                    let (controller, memory) =
                        (self.volumes.clone(), Arc::clone(&self.volume_memory));
                    self.sync(&controller, &memory, (which, key));
                }
            }
        }
        panic!("they never come to rest: {:?}", self.writes);
    }

    fn sync<C: Controller>(
        &mut self,
        controller: &C,
        memory: &Shared<C::Memory>,
        (which, key): (Which, Key),
    ) {
        let fixture = self.fixture();
        let Some(snapshot) = controller.observe(&key, &fixture.view(), &memory.read()) else {
            let mut queue = Enqueue::default();
            controller.remember(&mut memory.write(), News::Gone(&key), &mut queue);
            return;
        };
        let mut facts = Facts::default();
        let (plan, verdict) = loop {
            let (plan, verdict) = controller.decide(&snapshot, &facts);
            let Some(Step::Fetch(queries)) = plan.steps.first() else { break (plan, verdict) };
            for query in queries {
                self.writes.push(format!("read {query}"));
                facts.answers.insert(query.clone(), self.answer(query));
            }
        };
        let outcome = self.act(&plan);
        let mut queue = Enqueue::default();
        let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &outcome };
        controller.remember(&mut memory.write(), news, &mut queue);
        self.errors.extend(plan.error.clone());
        self.plans.insert((which, key), plan);
    }

    fn act(&mut self, plan: &Plan) -> Outcome {
        let mut outcome = Outcome::default();
        for (at, step) in plan.steps.iter().enumerate() {
            let Step::InOrder(actions) = step else { panic!("another step: {plan}") };
            for action in actions {
                match action {
                    Action::Cloud(order) => panic!("no cloud is here: {order}"),
                    Action::Event(event) => {
                        let what = format!("{:?} {}", event.r#type, event.reason);
                        self.events.push((what, event.message.clone()));
                    }
                    Action::Write(write) => match self.write(write) {
                        Ok(made) => outcome.made.extend(made),
                        Err((reason, error)) => {
                            outcome.step = Some(at);
                            outcome.reason = reason.to_owned();
                            outcome.error = Some(error.to_owned());
                            return outcome;
                        }
                    },
                }
            }
        }
        outcome
    }

    /// The API server's part: the version is compared, and a status PUT changes nothing of the
    /// spec.
    fn write(&mut self, write: &Write) -> Result<Option<ObjectRef>, Refusal> {
        let ObjectRef { resource, key, uid, .. } = &write.object;
        let place = (resource.plural.to_string(), key.clone());
        self.writes.push(write.to_string());
        self.version += 1;
        if let Some((_, reason, error)) =
            self.refused.take_if(|(start, ..)| write.to_string().starts_with(*start))
        {
            return Err((reason, error));
        }
        match &write.verb {
            Verb::Create(_) => {
                let mut object = body(write);
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                let key = Key::new(&key.namespace, &name);
                object["metadata"]["uid"] = format!("uid-{}", self.version).into();
                object["metadata"]["resourceVersion"] = self.version.to_string().into();
                let place = (place.0, key);
                if self.objects.contains_key(&place) || self.unseen.contains_key(&place) {
                    return Err(("AlreadyExists", "it exists"));
                }
                let made = decode::<Pod>(&object).meta().clone();
                self.put(&place, &object);
                Ok(Some(ObjectRef::new(resource, &made)))
            }
            Verb::Delete(_) => {
                let known = self.objects.get(&place);
                if known.is_some_and(|known| known["metadata"]["uid"] == **uid) {
                    self.remove(&place);
                }
                Ok(None)
            }
            Verb::Update(_) => {
                let mut object = body(write);
                let known = self.objects.get(&place).expect("an object that exists").clone();
                if known["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
                    return Err(("Conflict", "it has another version"));
                }
                let kept = if write.subresource == Some("status") { "spec" } else { "status" };
                object[kept] = known[kept].clone();
                object["metadata"]["resourceVersion"] = self.version.to_string().into();
                self.put(&place, &object);
                Ok(None)
            }
            Verb::DeleteAll | Verb::Patch(_) => panic!("another verb: {write}"),
        }
    }

    /// Somebody else writes an object.
    pub(super) fn change<T: Kind>(&mut self, key: &Key, patch: Value) {
        let place = (plural::<T>(), key.clone());
        self.version += 1;
        let version = json!({"metadata": {"resourceVersion": self.version.to_string()}});
        let object = with(with(self.objects[&place].clone(), patch), version);
        self.put(&place, &object);
        self.drain();
    }

    /// Somebody else deletes an object.
    pub(super) fn delete<T: Kind>(&mut self, key: &Key) {
        self.remove(&(plural::<T>(), key.clone()));
        self.drain();
    }

    fn put(&mut self, place: &(String, Key), object: &Value) {
        let old = self.objects.insert(place.clone(), object.clone());
        match place.0.as_str() {
            "persistentvolumes" => self.hear(&changed::<PersistentVolume>(old.as_ref(), object)),
            "persistentvolumeclaims" => {
                self.hear(&changed::<PersistentVolumeClaim>(old.as_ref(), object));
            }
            _ => self.hear(&changed::<Pod>(old.as_ref(), object)),
        }
    }

    fn remove(&mut self, place: &(String, Key)) {
        let object = self.objects.remove(place).expect("an object that exists");
        match place.0.as_str() {
            "persistentvolumes" => {
                self.hear(&Change::Deleted(decode::<PersistentVolume>(&object)));
            }
            "persistentvolumeclaims" => {
                self.hear(&Change::Deleted(decode::<PersistentVolumeClaim>(&object)));
            }
            _ => self.hear(&Change::Deleted(decode::<Pod>(&object))),
        }
    }

    /// Notifies both of a change.
    fn hear<T: Kind>(&mut self, change: &Change<T>) {
        let fixture = self.fixture();
        let claims = remembered(&self.claims, &self.claim_memory, change, &fixture);
        let volumes = remembered(&self.volumes, &self.volume_memory, change, &fixture);
        for (which, queue) in [(Which::Claim, claims), (Which::Volume, volumes)] {
            for call in queue.calls {
                let (Call::Now(key) | Call::Forget(key)) = call else { panic!("{call:?}") };
                if !self.queue.contains(&(which, key.clone())) {
                    self.queue.push_back((which, key));
                }
            }
        }
    }

    pub(super) fn fixture(&self) -> Fixture {
        let of = |plural: String| -> Vec<Value> {
            let all = self.objects.iter().filter(|((known, _), _)| *known == plural);
            all.map(|(_, object)| object.clone()).collect()
        };
        let mut fixture = Fixture::default()
            .holding::<PersistentVolume>(&of(plural::<PersistentVolume>()))
            .holding::<PersistentVolumeClaim>(&of(plural::<PersistentVolumeClaim>()))
            .holding::<StorageClass>(&of(plural::<StorageClass>()))
            .holding::<Pod>(&of(plural::<Pod>()));
        fixture.now = self.now;
        fixture
    }

    /// What a live read finds.
    fn answer(&self, query: &Query) -> Answer {
        let Query::Get { resource, key, form } = query else { panic!("another query: {query}") };
        let place = (resource.plural.to_string(), key.clone());
        let found = self.unseen.get(&place).or_else(|| self.objects.get(&place));
        let Some(found) = found else { return Answer::NotFound };
        match (form, &*place.0) {
            (Form::Whole, _) => {
                let json = found.to_string();
                let meta = Meta::decode(Codec::Json, json.as_bytes()).unwrap();
                Answer::Found(Box::new((meta, Raw::parse(json.as_bytes()).unwrap())))
            }
            (Form::View(_), "persistentvolumes") => {
                Answer::Views(Views::new(vec![decode::<PersistentVolume>(found)]))
            }
            (Form::View(_), _) => {
                Answer::Views(Views::new(vec![decode::<PersistentVolumeClaim>(found)]))
            }
            (Form::Metadata, _) => panic!("another query: {query}"),
        }
    }

    /// The lines of the volumes.
    pub(super) fn shown_volumes(&self) -> Vec<String> {
        self.lines::<PersistentVolume>(shown_volume)
    }

    /// The lines of the claims.
    pub(super) fn shown_claims(&self) -> Vec<String> {
        self.lines::<PersistentVolumeClaim>(shown_claim)
    }

    fn lines<T: Kind>(&self, shown: fn(&Value) -> String) -> Vec<String> {
        let plural = plural::<T>();
        let all = self.objects.iter().filter(|((known, _), _)| *known == plural);
        all.map(|(_, object)| shown(object)).collect()
    }

    /// Types and reasons of the events, each once where it is repeated.
    pub(super) fn shown_events(&self) -> Vec<&str> {
        let mut shown: Vec<_> = self.events.iter().map(|(what, _)| what.as_str()).collect();
        shown.dedup();
        shown
    }

    /// The last plan of a key.
    pub(super) fn plan(&self, which: Which, name: &str) -> &Plan {
        let namespace = if which == Which::Claim { "default" } else { "" };
        &self.plans[&(which, Key::new(namespace, name))]
    }
}

/// A row of a table: the key that is synced, the objects before and after, and the events.
pub(super) struct Row<'a> {
    /// Upstream's number.
    pub(super) name: &'a str,
    pub(super) which: Which,
    pub(super) volumes: &'a [&'a str],
    pub(super) claims: &'a [&'a str],
    pub(super) to_volumes: &'a [&'a str],
    pub(super) to_claims: &'a [&'a str],
    pub(super) events: &'a [&'a str],
}

impl Row<'_> {
    /// Plays it in a world that was made ready.
    pub(super) fn play(&self, prepare: impl FnOnce(&mut World)) -> World {
        let mut world = World::new(self.volumes, self.claims);
        prepare(&mut world);
        let first = match self.which {
            Which::Claim => self.claims[0].split(' ').next(),
            Which::Volume => self.volumes[0].split(' ').next(),
        };
        world.run(self.which, first.unwrap());
        assert_eq!(world.shown_volumes(), self.to_volumes, "{}: {:#?}", self.name, world.writes);
        assert_eq!(world.shown_claims(), self.to_claims, "{}: {:#?}", self.name, world.writes);
        assert_eq!(world.shown_events(), self.events, "{}", self.name);
        world
    }
}

fn changed<T: Kind>(old: Option<&Value>, new: &Value) -> Change<T> {
    match old {
        Some(old) => Change::Updated { old: decode(old), new: decode(new) },
        None => Change::Added(decode(new)),
    }
}

fn plural<T: Kind>() -> String {
    T::RESOURCE.plural.to_string()
}
