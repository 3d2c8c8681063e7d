//! What a scheduler reads of a pod.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Effect, Key, Labels, Taint, Time, Toleration};
use apimachinery::Quantity;
use serde_json::Value;

use super::select::{NodeWish, Selector};
use crate::fields::{at, flag, items, key, number, pairs, text, texts, time};

/// What a container counts for in scores if it asks for nothing: upstream's
/// `DefaultMilliCPURequest` and `DefaultMemoryRequest`.
const CPU_DEFAULT_MILLIS: i64 = 100;
const MEMORY_DEFAULT: i64 = 200 * 1024 * 1024;

/// Amounts of resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts {
    pub(crate) cpu_millis: i64,
    pub(crate) memory: i64,
    pub(crate) storage: i64,
    /// By name, all others but `pods`.
    pub(crate) others: BTreeMap<String, i64>,
}

/// A port of a host. The empty address is all of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Port {
    number: i64,
    protocol: String,
    address: String,
}

/// Pods that a pod wants near or far.
#[derive(Clone, Debug)]
pub(crate) struct Near {
    pub(crate) topology: String,
    pods: Selector,
    namespaces: Vec<String>,
    /// Of these namespaces too.
    namespace_labels: Option<Selector>,
}

/// A `topologySpreadConstraint`.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    pub(crate) topology: String,
    pub(crate) skew_max: i64,
    pub(crate) domains_min: i64,
    pub(crate) required: bool,
    pub(crate) pods: Selector,
    pub(crate) honors_wish: bool,
    pub(crate) honors_taints: bool,
}

/// A pod.
#[derive(Debug)]
pub(crate) struct Pod {
    pub(crate) object: Arc<Value>,
    pub(crate) key: Key,
    pub(crate) uid: String,
    pub(crate) labels: Labels,
    pub(crate) priority: i64,
    pub(crate) created: Time,
    pub(crate) wants: Amounts,
    /// CPU and memory as they count for scores.
    pub(crate) weighs: (i64, i64),
    pub(crate) ports: Vec<Port>,
    pub(crate) tolerations: Vec<Toleration>,
    pub(crate) wish: NodeWish,
    pub(crate) near: Vec<Near>,
    pub(crate) far: Vec<Near>,
    /// How much it likes to be near; less than nothing: far.
    pub(crate) likes: Vec<(i64, Near)>,
    pub(crate) spreads: Vec<Spread>,
    pub(crate) owner: Option<String>,
    pub(crate) claims: Vec<Key>,
}

impl Amounts {
    /// Reads a list of resources.
    pub(crate) fn read(object: &Value, path: &str) -> Self {
        let mut amounts = Self::default();
        for (name, amount) in at(object, path).and_then(Value::as_object).into_iter().flatten() {
            let amount = Quantity::from_json(amount).unwrap_or_default();
            match name.as_str() {
                "cpu" => amounts.cpu_millis = amount.milli_value(),
                "memory" => amounts.memory = amount.value(),
                "ephemeral-storage" => amounts.storage = amount.value(),
                "pods" => {}
                name => drop(amounts.others.insert(name.to_owned(), amount.value())),
            }
        }
        amounts
    }

    fn merge(&mut self, other: &Self, merge: fn(i64, i64) -> i64) {
        self.cpu_millis = merge(self.cpu_millis, other.cpu_millis);
        self.memory = merge(self.memory, other.memory);
        self.storage = merge(self.storage, other.storage);
        for (name, amount) in &other.others {
            let mine = self.others.entry(name.clone()).or_default();
            *mine = merge(*mine, *amount);
        }
    }

    /// More by these.
    pub(crate) fn add(&mut self, other: &Self) {
        self.merge(other, i64::saturating_add);
    }

    /// Less by these.
    pub(crate) fn take(&mut self, other: &Self) {
        self.merge(other, i64::saturating_sub);
    }

    /// What the containers of a pod ask for: the most that run at one time. As upstream's
    /// `PodRequests`.
    pub(crate) fn of_pod(pod: &Value) -> Self {
        let mut sum = Self::default();
        for container in items(pod, "/spec/containers") {
            sum.add(&Self::read(container, "/resources/requests"));
        }
        let (mut most, mut sidecars) = (Self::default(), Self::default());
        for container in items(pod, "/spec/initContainers") {
            let mut asked = Self::read(container, "/resources/requests");
            if text(container, "/restartPolicy") == "Always" {
                sum.add(&asked);
                sidecars.add(&asked);
                asked = sidecars.clone();
            } else {
                asked.add(&sidecars);
            }
            most.merge(&asked, i64::max);
        }
        sum.merge(&most, i64::max);
        let whole = Self::read(pod, "/spec/resources/requests");
        let over = |mine: &mut i64, whole: i64| *mine = if whole == 0 { *mine } else { whole };
        over(&mut sum.cpu_millis, whole.cpu_millis);
        over(&mut sum.memory, whole.memory);
        sum.add(&Self::read(pod, "/spec/overhead"));
        sum
    }
}

impl Port {
    fn read(port: &Value) -> Option<Self> {
        let number = number(port, "/hostPort").filter(|number| *number > 0)?;
        let protocol = Some(text(port, "/protocol")).filter(|it| !it.is_empty()).unwrap_or("TCP");
        let address = match text(port, "/hostIP") {
            "0.0.0.0" => "",
            address => address,
        };
        Some(Self { number, protocol: protocol.to_owned(), address: address.to_owned() })
    }

    /// Whether both cannot be on one host. As upstream's `HostPortInfo.CheckConflict`.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        let (mine, theirs) = (&self.address, &other.address);
        self.number == other.number
            && self.protocol == other.protocol
            && (mine == theirs || mine.is_empty() || theirs.is_empty())
    }
}

impl Near {
    fn read(term: &Value, pod: &Value, labels: &Labels) -> Self {
        let (same, other) = (texts(term, "/matchLabelKeys"), texts(term, "/mismatchLabelKeys"));
        let namespace_labels = term.get("namespaceSelector").filter(|it| it.is_object());
        let mut namespaces = texts(term, "/namespaces");
        if namespaces.is_empty() && namespace_labels.is_none() {
            namespaces.push(text(pod, "/metadata/namespace").to_owned());
        }
        // The API server has written these keys into the selector; twice does no harm.
        let pods = Selector::read(term.get("labelSelector"));
        Self {
            topology: text(term, "/topologyKey").to_owned(),
            pods: pods.with(&same, labels).without(&other, labels),
            namespaces,
            namespace_labels: namespace_labels.map(|it| Selector::read(Some(it))),
        }
    }

    /// Whether it means this pod.
    pub(crate) fn means(&self, pod: &Pod, namespaces: &BTreeMap<String, Labels>) -> bool {
        let namespace = &*pod.key.namespace;
        let selected = || {
            let labels = namespaces.get(namespace).cloned().unwrap_or_default();
            self.namespace_labels.as_ref().is_some_and(|selector| selector.takes(&labels))
        };
        (self.namespaces.iter().any(|it| it == namespace) || selected())
            && self.pods.takes(&pod.labels)
    }
}

impl Spread {
    fn read(constraint: &Value, labels: &Labels) -> Self {
        let honors = |field: &str, default: bool| match text(constraint, field) {
            "Honor" => true,
            "Ignore" => false,
            _ => default,
        };
        let keys = texts(constraint, "/matchLabelKeys");
        Self {
            topology: text(constraint, "/topologyKey").to_owned(),
            skew_max: number(constraint, "/maxSkew").unwrap_or(1),
            domains_min: number(constraint, "/minDomains").unwrap_or(1),
            required: text(constraint, "/whenUnsatisfiable") != "ScheduleAnyway",
            pods: Selector::read(constraint.get("labelSelector")).with(&keys, labels),
            honors_wish: honors("/nodeAffinityPolicy", true),
            honors_taints: honors("/nodeTaintsPolicy", false),
        }
    }
}

impl Pod {
    /// Reads a pod.
    pub(crate) fn read(object: &Arc<Value>) -> Self {
        let labels = Labels::new(pairs(object, "/metadata/labels"));
        let key = key(object);
        let (required, preferred) = (
            "requiredDuringSchedulingIgnoredDuringExecution",
            "preferredDuringSchedulingIgnoredDuringExecution",
        );
        let near = |path: &str| {
            let terms = items(object, &format!("/spec/affinity/{path}/{required}")).iter();
            terms.map(|term| Near::read(term, object, &labels)).collect()
        };
        let likes = |path: &str, sign: i64| {
            let terms = items(object, &format!("/spec/affinity/{path}/{preferred}")).iter();
            let term = |it: &Value| {
                let near = Near::read(it.get("podAffinityTerm")?, object, &labels);
                Some((sign * number(it, "/weight")?, near))
            };
            terms.filter_map(term).collect::<Vec<_>>()
        };
        let spreads = items(object, "/spec/topologySpreadConstraints").iter();
        let containers =
            items(object, "/spec/containers").iter().chain(items(object, "/spec/initContainers"));
        let ports = containers.flat_map(|it| items(it, "/ports")).filter_map(Port::read);
        let owner =
            items(object, "/metadata/ownerReferences").iter().find(|it| flag(it, "/controller"));
        Self {
            uid: text(object, "/metadata/uid").to_owned(),
            priority: number(object, "/spec/priority").unwrap_or(0),
            created: time(object, "/metadata/creationTimestamp").unwrap_or(Time::EPOCH),
            wants: Amounts::of_pod(object),
            weighs: weighs(object),
            ports: ports.collect(),
            tolerations: items(object, "/spec/tolerations").iter().map(toleration).collect(),
            wish: NodeWish::read(object),
            near: near("podAffinity"),
            far: near("podAntiAffinity"),
            likes: [likes("podAffinity", 1), likes("podAntiAffinity", -1)].concat(),
            spreads: spreads.map(|it| Spread::read(it, &labels)).collect(),
            owner: owner.map(|owner| text(owner, "/uid").to_owned()),
            claims: claims(object, &key),
            object: Arc::clone(object),
            labels,
            key,
        }
    }

    /// Whether it tolerates a taint.
    pub(crate) fn tolerates(&self, taint: &Taint) -> bool {
        self.tolerations.iter().any(|toleration| toleration.tolerates(taint))
    }

    /// Whether it tolerates all taints that would keep it away.
    pub(crate) fn tolerates_all(&self, taints: &[Taint]) -> bool {
        let hard = |taint: &&Taint| taint.effect != Effect::PreferNoSchedule;
        taints.iter().filter(hard).all(|taint| self.tolerates(taint))
    }

    /// Whether deletion was asked for.
    pub(crate) fn is_deleted(&self) -> bool {
        !text(&self.object, "/metadata/deletionTimestamp").is_empty()
    }
}

/// Reads a taint.
pub(crate) fn taint(taint: &Value) -> Taint {
    let effect = Effect::parse(text(taint, "/effect"));
    Taint::new(text(taint, "/key"), text(taint, "/value"), effect)
}

fn toleration(toleration: &Value) -> Toleration {
    let field = |name: &str| text(toleration, name).to_owned();
    Toleration {
        key: field("/key"),
        operator: field("/operator"),
        value: field("/value"),
        effect: field("/effect"),
        seconds: None,
    }
}

fn weighs(pod: &Value) -> (i64, i64) {
    let (mut cpu, mut memory) = (0, 0);
    for container in items(pod, "/spec/containers") {
        let asked = Amounts::read(container, "/resources/requests");
        cpu += if asked.cpu_millis == 0 { CPU_DEFAULT_MILLIS } else { asked.cpu_millis };
        memory += if asked.memory == 0 { MEMORY_DEFAULT } else { asked.memory };
    }
    (cpu, memory)
}

fn claims(pod: &Value, key: &Key) -> Vec<Key> {
    let volumes = items(pod, "/spec/volumes").iter();
    let claim = |volume: &Value| {
        if volume.get("ephemeral").is_some_and(Value::is_object) {
            let name = format!("{}-{}", key.name, text(volume, "/name"));
            return Some(Key::new(&key.namespace, &name));
        }
        let name = text(volume, "/persistentVolumeClaim/claimName");
        (!name.is_empty()).then(|| Key::new(&key.namespace, name))
    };
    volumes.filter_map(claim).collect()
}
