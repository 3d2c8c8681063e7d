//! Tables, mirroring upstream's tests of `pkg/controller/resourcequota` and of
//! `pkg/quota/v1/evaluator/core`.

mod devices;
mod enqueues;
mod objects;
mod pods;
mod sync;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Kind as _, Resource, Served, ServedKind, Verb};
use controller::fixture::{self, Fixture, NOW, ago, with};
use controller::{Controller as _, Facts, Outcome, Plan, Shared};
use serde_json::{Value, json};

use super::*;

const CONTROLLER: Controller = Controller {
    queue: Queue::Primary,
    resync: Duration::from_mins(5),
    pod_level: PodLevel::Counts,
    extended: true,
};
const WIDGETS: Resource = Resource::namespaced("example.com", "v1", "widgets", "Widget");
const CONFIG_MAPS: Resource = Resource::namespaced("", "v1", "configmaps", "ConfigMap");

/// Caches as a test sets them.
#[derive(Default)]
struct World {
    quota: Value,
    pods: Vec<Value>,
    services: Vec<Value>,
    claims: Vec<Value>,
    resource_claims: Vec<Value>,
    classes: Vec<Value>,
    /// Objects of kinds that are only counted.
    counted: BTreeMap<Resource, Vec<Value>>,
    /// The API server serves no ResourceClaims.
    without_resource_claims: bool,
    kinds: Shared<Kinds>,
}

/// What a sync came to.
struct Synced {
    plan: Plan,
    /// The status that is written.
    status: Option<Value>,
}

/// A quota `shop/quota` with this spec, as if it had just been created.
fn quota(spec: &Value) -> Value {
    json!({
        "metadata": {"name": "quota", "namespace": "shop", "uid": "q1", "resourceVersion": "7"},
        "spec": spec,
    })
}

/// A quota of these names, each with the limit 100.
fn of(names: &[&str]) -> Value {
    let hard: BTreeMap<_, _> = names.iter().map(|name| (*name, "100")).collect();
    quota(&json!({ "hard": hard }))
}

/// An object of any kind.
fn named(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
        "resourceVersion": "3"}})
}

/// A running pod whose container asks for this.
fn pod(name: &str, resources: impl Into<Value>) -> Value {
    let resources = resources.into();
    let containers = json!([{"name": "ctr", "resources": resources}]);
    with(named(name), json!({"spec": {"containers": containers}, "status": {"phase": "Running"}}))
}

fn ended(pod: Value) -> Value {
    with(pod, json!({"status": {"phase": "Failed"}}))
}

/// What discovery finds.
fn served(resources: &[Resource]) -> Arc<Served> {
    let kind = |resource: &Resource| ServedKind {
        resource: resource.clone(),
        verbs: [Verb::Create, Verb::Delete, Verb::List, Verb::Watch].into(),
        preferred: true,
        subresources: [].into(),
    };
    Arc::new(Served::new(resources.iter().map(kind).collect(), BTreeMap::new()))
}

// === impl World ===

impl World {
    fn of(quota: Value) -> Self {
        Self { quota, ..Self::default() }
    }

    fn fixture(&self) -> Fixture {
        let mut fixture = Fixture::default()
            .holding::<ResourceQuota>(std::slice::from_ref(&self.quota))
            .holding::<Pod>(&self.pods)
            .holding::<Service>(&self.services)
            .holding::<PersistentVolumeClaim>(&self.claims)
            .holding::<ResourceClaim>(&self.resource_claims)
            .holding::<DeviceClass>(&self.classes);
        if self.without_resource_claims {
            fixture = fixture.silent::<ResourceClaim>(None);
        }
        self.counted
            .iter()
            .fold(fixture, |fixture, (resource, all)| fixture.holding_metadata(resource, all))
    }

    /// The API server serves these kinds from now on.
    fn serve(&self, resources: &[Resource]) {
        let fixture = self.fixture();
        fixture::woken_by_served(&CONTROLLER, &self.kinds, &served(resources), &fixture);
    }

    /// One sync; what is written is there afterwards.
    fn sync_by(&mut self, controller: &Controller) -> Synced {
        let fixture = self.fixture();
        let view = fixture.view();
        let snapshot =
            controller.observe(&Key::new("shop", "quota"), &view, &self.kinds.read()).unwrap();
        let (plan, verdict) = controller.decide(&snapshot, &Facts::default());
        let write = controller.report(&snapshot, Some(&verdict), &Outcome::default());
        let status = write.map(|write| {
            assert_eq!(write.object.resource, ResourceQuota::RESOURCE);
            assert_eq!(write.subresource, Some("status"));
            fixture::status(&write);
            self.quota = fixture::body(&write);
            self.quota["status"].clone()
        });
        Synced { plan, status }
    }

    fn sync(&mut self) -> Synced {
        self.sync_by(&CONTROLLER)
    }

    /// What a sync finds to be used.
    fn used(&mut self) -> Value {
        self.sync();
        self.quota["status"]["used"].clone()
    }
}
