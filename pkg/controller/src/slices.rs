//! EndpointSlices as they should be, and the writes that make them so: what the two controllers of
//! slices share, as they share upstream's k8s.io/endpointslice.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{
    Edit, Endpoint, EndpointSlice, Endpoints, Family, Key, Kind, Meta, Resource, SlicePort, Text,
    Time,
};
use serde_json::{Value, json};

use crate::pods::generate_name;
use crate::services::enqueue;
use crate::{
    Action, Announce, Change, Count, Enqueue, Family as Counted, ObjectRef, View, When, Write,
    controller_ref,
};

#[cfg(test)]
mod tests;

/// What an endpoint is known by: all else of it may change. As `hashEndpoint`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    addresses: Vec<Text>,
    hostname: Option<Text>,
    namespace: Option<Text>,
    name: Option<Text>,
}

/// Endpoints, each once. As `EndpointSet`.
pub type Wanted = BTreeMap<Identity, Endpoint>;

/// A slice as it should be.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The slice that becomes it; none: it is made.
    pub existing: Option<Arc<EndpointSlice>>,
    /// Whether all of an existing one is replaced, whatever it was for.
    pub extent: Extent,
    /// `addressType`.
    pub family: Family,
    /// `ports`.
    pub ports: Vec<SlicePort>,
    /// `endpoints`.
    pub endpoints: Vec<Endpoint>,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    pub annotations: Annotations,
}

/// How much of an existing slice is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Its endpoints, labels and annotations: it is the same slice.
    Contents,
    /// All of it is made anew. Of such a slice upstream does not say how its name was made.
    Whole,
    /// All of it: it becomes another one.
    Recycled,
}

/// The annotations of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotations {
    /// When that happened which it follows from; the others are as they are.
    Trigger(Option<Time>),
    /// These and no others.
    All(BTreeMap<String, String>),
}

/// What becomes of the slices of one owner. Of those that are not named nothing does.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// New ones.
    pub create: Vec<Draft>,
    /// Others than before.
    pub update: Vec<Draft>,
    /// Those that go.
    pub delete: Vec<Arc<EndpointSlice>>,
}

/// For whom slices are written.
#[derive(Clone, Debug)]
pub struct Author<'a> {
    /// The kind of the owner.
    pub resource: Resource,
    /// The owner.
    pub owner: &'a Meta,
    /// Counts the changes by `operation`.
    pub changes: &'static Counted,
    /// The Event about the owner that tells of a failure: its reason, and how its message starts.
    pub failed: Option<(&'static str, String)>,
}

/// Enqueues the owners whose slices changed, for the controller of this name: by what their label
/// says, and once more if that or their manager became another one.
pub fn enqueue_owners(
    change: &Change<EndpointSlice>,
    manager: &str,
    delay: std::time::Duration,
    queue: &mut Enqueue,
) {
    let mut owner = |slice: &EndpointSlice| {
        if let Some(key) = EndpointSlice::service(&slice.meta) {
            enqueue(&key, delay, queue);
        }
    };
    match change {
        Change::Added(slice) | Change::Deleted(slice) if slice.manager() == manager => owner(slice),
        Change::Added(_) | Change::Deleted(_) => {}
        Change::Updated { .. } if change.is_resync() => {}
        Change::Updated { old, new } => {
            let service = |slice: &EndpointSlice| EndpointSlice::service(&slice.meta);
            if service(old) != service(new) {
                owner(new);
                owner(old);
            } else if old.manager() == manager || new.manager() == manager {
                owner(new);
            }
        }
    }
}

/// The slices that say that they are a Service's, and that the controller of this name manages, by
/// name.
pub fn managed(service: &Key, manager: &str, view: &View<'_>) -> Vec<Arc<EndpointSlice>> {
    let slices = view.of::<EndpointSlice>();
    let mut found = slices.by(EndpointSlice::BY_SERVICE, &service.to_string());
    found.retain(|slice| slice.manager() == manager);
    found
}

/// Whether both are the same beyond what they are known by. Hints do not count. As
/// `EndpointsEqualBeyondHash`.
pub fn is_alike(one: &Endpoint, other: &Endpoint) -> bool {
    let targets_alike = match (&one.target_ref, &other.target_ref) {
        (Some(one), Some(other)) => one.is_alike(other),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    targets_alike
        && one.node_name == other.node_name
        && one.zone == other.zone
        && one.conditions == other.conditions
}

/// How many slices so many endpoints need.
pub fn slices_needed(endpoints: usize, slice_max: usize) -> usize {
    endpoints.div_ceil(slice_max.max(1))
}

// === impl Identity ===

impl Identity {
    /// That of an endpoint.
    pub fn of(endpoint: &Endpoint) -> Self {
        let mut addresses = endpoint.addresses.clone();
        addresses.sort();
        let target = endpoint.target_ref.as_ref();
        Self {
            addresses,
            hostname: endpoint.hostname.clone().filter(|name| !name.is_empty()),
            namespace: target.and_then(|target| target.namespace.clone()),
            name: target.and_then(|target| target.name.clone()),
        }
    }
}

// === impl Draft ===

impl Draft {
    fn annotation_map(&self) -> Value {
        match &self.annotations {
            Annotations::Trigger(Some(at)) => json!({ Endpoints::TRIGGER_TIME: at.to_string() }),
            Annotations::Trigger(None) => json!({}),
            Annotations::All(all) => json!(all),
        }
    }

    fn body(&self, author: &Author<'_>) -> String {
        let resource = EndpointSlice::RESOURCE;
        let key = &author.owner.key;
        let mut metadata = json!({
            "generateName": generate_name(&key.name),
            "namespace": &*key.namespace,
            "labels": self.labels,
            "ownerReferences": [controller_ref(&author.resource, author.owner)],
        });
        let annotations = self.annotation_map();
        if annotations != json!({}) {
            metadata["annotations"] = annotations;
        }
        let body = json!({
            "apiVersion": resource.api_version(),
            "kind": resource.kind,
            "metadata": metadata,
            "addressType": self.family.name(),
            "ports": self.ports,
            "endpoints": self.endpoints,
        });
        body.to_string()
    }

    fn edits(&self, author: &Author<'_>) -> Vec<Edit> {
        let mut edits = vec![Edit::new(["metadata", "labels"], json!(self.labels))];
        let generated = json!(generate_name(&author.owner.key.name));
        match self.extent {
            Extent::Contents => {}
            Extent::Whole => edits.push(Edit::new(["metadata", "generateName"], Value::Null)),
            Extent::Recycled => edits.push(Edit::new(["metadata", "generateName"], generated)),
        }
        match (&self.annotations, self.extent) {
            (Annotations::Trigger(at), Extent::Contents) => {
                let path = ["metadata", "annotations", Endpoints::TRIGGER_TIME];
                edits.push(Edit::new(path, json!(at.map(|at| at.to_string()))));
            }
            (Annotations::Trigger(_), Extent::Whole | Extent::Recycled)
            | (Annotations::All(_), _) => {
                edits.push(Edit::new(["metadata", "annotations"], self.annotation_map()));
            }
        }
        if self.extent != Extent::Contents {
            let owners = json!([controller_ref(&author.resource, author.owner)]);
            edits.push(Edit::new(["metadata", "ownerReferences"], owners));
            edits.push(Edit::new(["ports"], json!(self.ports)));
        }
        edits.push(Edit::new(["endpoints"], json!(self.endpoints)));
        edits
    }

    fn write(&self, author: &Author<'_>) -> Action {
        let Meta { key, .. } = author.owner;
        let owner = &author.resource.kind;
        match &self.existing {
            None => {
                let namespace = key.namespace.clone();
                let create = Write::create(EndpointSlice::RESOURCE, namespace, self.body(author));
                let text = format!("failed to create EndpointSlice for {owner} {key}: ");
                author.announced(create, "create", &text)
            }
            Some(slice) => {
                let object = ObjectRef::new(&EndpointSlice::RESOURCE, &slice.meta);
                let update = Write::update(object, slice.raw.clone(), self.edits(author));
                let name = &slice.meta.key.name;
                let text = format!("failed to update {name} EndpointSlice for {owner} {key}: ");
                author.announced(update, "update", &text)
            }
        }
    }
}

// === impl Changes ===

impl Changes {
    /// Makes new slices of those that would go, rather than delete one and make another.
    pub fn recycle(&mut self, may_become: impl Fn(&EndpointSlice, &Draft) -> bool) {
        let (create, update) = (&mut self.create, &mut self.update);
        self.delete.retain(|slice| {
            let at = create.iter().rposition(|draft| may_become(slice, draft));
            let Some(at) = at else { return true };
            let existing = Some(Arc::clone(slice));
            update.push(Draft { existing, extent: Extent::Recycled, ..create.remove(at) });
            false
        });
    }

    /// How many slices change.
    pub fn len(&self) -> usize {
        self.create.len() + self.update.len() + self.delete.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The writes, in upstream's order. Nothing is made for an owner that is being deleted: the
    /// garbage collector may be deleting what is there.
    pub fn actions(&self, author: &Author<'_>) -> Vec<Action> {
        let may_create = !author.owner.is_terminating();
        let create = self.create.iter().filter(|_| may_create);
        let writes = create.chain(&self.update).map(|draft| draft.write(author));
        writes.chain(self.delete.iter().map(|slice| author.delete(slice))).collect()
    }
}

// === impl Author ===

impl Author<'_> {
    /// The deletion of one of its slices.
    pub fn delete(&self, slice: &EndpointSlice) -> Action {
        let Meta { key, .. } = self.owner;
        let name = &slice.meta.key.name;
        let object = ObjectRef::new(&EndpointSlice::RESOURCE, &slice.meta);
        let owner = &self.resource.kind;
        let text = format!("failed to delete {name} EndpointSlice for {owner} {key}: ");
        self.announced(Write::delete(object), "delete", &text)
    }

    fn announced(&self, write: Write, operation: &str, text: &str) -> Action {
        let count = Count::one(self.changes).labels([operation]).when(When::Done);
        let write = write.counted(vec![count]);
        let Some((reason, start)) = &self.failed else { return write.into() };
        let announce = Announce {
            about: Arc::new(ObjectRef::new(&self.resource, self.owner)),
            done: None,
            failed: (reason, format!("{start}{text}").into()),
            silent: &[],
        };
        write.announced(announce).into()
    }
}
