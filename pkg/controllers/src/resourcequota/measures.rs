//! What the names in a quota count. As `MatchingResources` of the evaluators in upstream's
//! `pkg/quota/v1/evaluator/core`.

use api::{
    DeviceClass, Key, Kind, PersistentVolumeClaim, Pod, Resource, ResourceClaim, Service, Text,
    intern,
};
use controller::View;

use super::kinds::Kinds;

/// Something that can be counted. A name may count two things, and their sum is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// The pods that are stored.
    StoredPods,
    /// Those of them that have not ended.
    ChargedPods,
    /// What these ask for, of a resource.
    Requests(Text),
    /// What these may use at most, of a resource.
    Limits(Text),
    Services,
    NodePorts,
    LoadBalancers,
    /// Volume claims, of a StorageClass or all.
    Claims(Option<Text>),
    /// The storage that these ask for.
    Storage(Option<Text>),
    ResourceClaims,
    /// The devices of a class that these may get at most.
    Devices(Text),
    /// The same by the name of the extended resource that the devices are, too, without what is
    /// counted as a request of pods.
    ExtendedDevices(Text),
    /// Objects of a kind that is only known by its metadata.
    Objects(Resource),
}

/// The measures that there are at a moment.
pub(super) struct Measures<'a> {
    pub(super) kinds: &'a Kinds,
    /// Whether devices may be extended resources.
    pub(super) extended: bool,
    pub(super) view: &'a View<'a>,
}

const REQUESTS: &str = "requests.";
const LIMITS: &str = "limits.";
const HUGE_PAGES: &str = "hugepages-";
const BY_STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";
const BY_DEVICE_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// The extended resource that the devices of a class always are, before the name of the class.
const IMPLICIT: &str = "deviceclass.resource.kubernetes.io/";
/// What quotas call the requests of pods without `requests.`, too.
const COMPUTE: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

impl Measures<'_> {
    /// What a name counts; nothing: no such name is known.
    pub(super) fn of(&self, name: &str) -> Vec<Measure> {
        let fixed = [of_pods, of_services, of_claims, of_resource_claims];
        let mut found: Vec<_> = fixed.iter().filter_map(|of| of(name)).collect();
        if let Some(extended) = self.extended_resource(name) {
            found.push(Measure::ExtendedDevices(extended));
        }
        if found.is_empty() {
            found.extend(self.kinds.find(name).map(Measure::Objects));
        }
        found
    }

    /// Whether a name counts objects of a kind.
    pub(super) fn counts(&self, name: &str, resource: &Resource) -> bool {
        self.of(name).iter().any(|measure| measure.is_of(resource))
    }

    /// The extended resource that a name counts, if the devices of some class are that.
    fn extended_resource(&self, name: &str) -> Option<Text> {
        let resource = name.strip_prefix(REQUESTS).filter(|_| self.extended)?;
        let classes = self.view.of::<DeviceClass>();
        let is_known = match resource.strip_prefix(IMPLICIT) {
            Some(class) => classes.get(&Key::new("", class)).is_some(),
            None => !classes.by(DeviceClass::BY_EXTENDED_RESOURCE, resource).is_empty(),
        };
        is_known.then(|| intern(resource))
    }
}

impl Measure {
    /// Whether it counts objects of a kind, in whichever version.
    pub(super) fn is_of(&self, resource: &Resource) -> bool {
        let own = self.resource();
        (&own.group, &own.plural) == (&resource.group, &resource.plural)
    }

    /// The kind of the objects that it counts.
    fn resource(&self) -> Resource {
        match self {
            Self::StoredPods | Self::ChargedPods | Self::Requests(_) | Self::Limits(_) => {
                Pod::RESOURCE
            }
            Self::Services | Self::NodePorts | Self::LoadBalancers => Service::RESOURCE,
            Self::Claims(_) | Self::Storage(_) => PersistentVolumeClaim::RESOURCE,
            Self::ResourceClaims | Self::Devices(_) | Self::ExtendedDevices(_) => {
                ResourceClaim::RESOURCE
            }
            Self::Objects(resource) => resource.clone(),
        }
    }
}

/// The names that quotas have for what devices of a class are as an extended resource.
pub(super) fn names_of(class: &DeviceClass) -> impl Iterator<Item = String> {
    let explicit = class.extended_resource.as_ref().map(|name| format!("{REQUESTS}{name}"));
    [format!("{REQUESTS}{}", implicit(&class.meta.key.name))].into_iter().chain(explicit)
}

/// The extended resource that the devices of a class always are.
pub(super) fn implicit(class: &str) -> String {
    format!("{IMPLICIT}{class}")
}

fn of_pods(name: &str) -> Option<Measure> {
    match name {
        "pods" => return Some(Measure::ChargedPods),
        "count/pods" => return Some(Measure::StoredPods),
        _ => {}
    }
    let limit = name.strip_prefix(LIMITS).filter(|limit| COMPUTE.contains(limit));
    if let Some(limit) = limit {
        return Some(Measure::Limits(intern(limit)));
    }
    let request = name.strip_prefix(REQUESTS);
    let resource = request.unwrap_or(name);
    let is_known = COMPUTE.contains(&resource)
        || resource.starts_with(HUGE_PAGES)
        || request.is_some_and(|request| request.starts_with(IMPLICIT) || !is_native(name));
    is_known.then(|| Measure::Requests(intern(resource)))
}

/// As `IsNativeResource`.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn of_services(name: &str) -> Option<Measure> {
    match name {
        "services" | "count/services" => Some(Measure::Services),
        "services.nodeports" => Some(Measure::NodePorts),
        "services.loadbalancers" => Some(Measure::LoadBalancers),
        _ => None,
    }
}

fn of_claims(name: &str) -> Option<Measure> {
    if name == "count/persistentvolumeclaims" {
        return Some(Measure::Claims(None));
    }
    let (class, what) = match name.rsplit_once(BY_STORAGE_CLASS) {
        Some((class, what)) => (Some(intern(class)), what),
        None => (None, name),
    };
    match what {
        "persistentvolumeclaims" => Some(Measure::Claims(class)),
        "requests.storage" => Some(Measure::Storage(class)),
        _ => None,
    }
}

fn of_resource_claims(name: &str) -> Option<Measure> {
    if name == "count/resourceclaims.resource.k8s.io" {
        return Some(Measure::ResourceClaims);
    }
    name.strip_suffix(BY_DEVICE_CLASS).map(|class| Measure::Devices(intern(class)))
}
