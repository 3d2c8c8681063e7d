//! Tables, mirroring upstream's `pkg/controller/volume/selinuxwarning` and its packages.

mod changes;
mod labels;
mod memory;
mod sync;

use api::{CsiDriver, Key, PersistentVolume, PersistentVolumeClaim, Pod};
use controller::fixture::{Fixture, with};
use controller::{Action, Controller as _, Facts, Plan, Shared, Step};
use serde_json::{Value, json};

use super::*;

const DRIVER: &str = "ebs.csi.aws.com";

/// A pod `ns1/<name>` whose container mounts `vol1` and `inlineVolume`, if there are such volumes.
/// As upstream's `pod`.
fn pod(name: &str, level: &str, policy: Option<&str>) -> Value {
    let options = if level.is_empty() { Value::Null } else { json!({"level": level}) };
    let mounts = json!([{"name": "vol1"}, {"name": "inlineVolume"}]);
    let security = json!({"seLinuxOptions": options, "seLinuxChangePolicy": policy});
    json!({
        "metadata": {"name": name, "namespace": "ns1", "uid": format!("uid-{name}"),
            "resourceVersion": "1"},
        "spec": {
            "containers": [{"name": "container1", "volumeMounts": mounts}],
            "securityContext": security,
            "volumes": [{"name": "emptyDir1", "emptyDir": {}}],
        },
        "status": {"phase": "Running"},
    })
}

fn with_volume(mut pod: Value, volume: Value) -> Value {
    pod["spec"]["volumes"].as_array_mut().unwrap().push(volume);
    pod
}

/// As `withPVC`.
fn with_claim(pod: Value, claim: &str) -> Value {
    let source = json!({"claimName": claim});
    with_volume(pod, json!({"name": "vol1", "persistentVolumeClaim": source}))
}

/// As `withInlineVolume`.
fn with_inline(pod: Value) -> Value {
    let source = json!({"volumeID": "inlinevol1"});
    with_volume(pod, json!({"name": "inlineVolume", "awsElasticBlockStore": source}))
}

fn ended(pod: Value, phase: &str) -> Value {
    with(pod, json!({"status": {"phase": phase}}))
}

/// As `pvBoundToPVC`.
fn volume(name: &str, claim: &str) -> Value {
    json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1"},
        "spec": {
            "awsElasticBlockStore": {"volumeID": name},
            "claimRef": {"namespace": "ns1", "name": claim, "uid": format!("uid-{claim}")},
        },
        "status": {"phase": "Bound"},
    })
}

/// As `pvcBoundToPV`.
fn claim(name: &str, volume: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "ns1", "uid": format!("uid-{name}"),
            "resourceVersion": "1"},
        "spec": {"volumeName": volume},
        "status": {"phase": "Bound"},
    })
}

fn driver(supports: bool) -> Value {
    json!({"metadata": {"name": DRIVER, "uid": "uid-driver", "resourceVersion": "1"},
        "spec": {"seLinuxMount": supports}})
}

/// Caches with `pvc1`, which is bound to `pv1`, and a driver that mounts with labels.
fn caches(pods: &[Value]) -> Fixture {
    Fixture::default()
        .holding::<Pod>(pods)
        .holding::<PersistentVolumeClaim>(&[claim("pvc1", "pv1")])
        .holding::<PersistentVolume>(&[volume("pv1", "pvc1")])
        .holding::<CsiDriver>(&[driver(true)])
}

/// A manager whose caches and memory are these.
struct World {
    caches: Fixture,
    memory: Shared<Memory>,
}

impl World {
    fn new(caches: Fixture) -> Self {
        Self { caches, memory: Shared::default() }
    }

    fn observe(&self, pod: &str) -> Option<Snapshot> {
        let key = Key::new("ns1", pod);
        Controller.observe(&key, &self.caches.view(), &self.memory.read())
    }

    /// Syncs a pod, as the engine does.
    fn sync(&self, pod: &str) -> Option<Plan> {
        let Some(snapshot) = self.observe(pod) else {
            let gone = News::Gone(&Key::new("ns1", pod));
            Controller.remember(&mut self.memory.write(), gone, &mut Enqueue::default());
            return None;
        };
        let (plan, verdict) = Controller.decide(&snapshot, &Facts::default());
        let outcome = controller::Outcome::default();
        let acted = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &outcome };
        Controller.remember(&mut self.memory.write(), acted, &mut Enqueue::default());
        Some(plan)
    }

    /// The Events of a sync: whom each is about, and what it says.
    fn events(&self, pod: &str) -> Vec<String> {
        let plan = self.sync(pod).unwrap();
        let actions = plan.steps.iter().flat_map(|step| {
            let Step::InOrder(actions) = step else { panic!("{step:?}") };
            actions
        });
        let events = actions.map(|action| {
            let Action::Event(it) = action else { panic!("{action}") };
            format!("{}: {:?} {} {}", it.about.key.name, it.r#type, it.reason, it.message)
        });
        events.collect()
    }

    /// What the metric shows: the values of its labels.
    fn metric(&self) -> Vec<String> {
        let counts = Controller.gauges(&self.caches.view(), &self.memory.read());
        counts.iter().map(|count| count.labels.join(" ")).collect()
    }
}
