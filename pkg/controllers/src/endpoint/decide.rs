//! Whether a Service has the right Endpoints. As `syncService` in upstream's
//! `pkg/controller/endpoint/endpoints_controller.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Edit, Endpoints, Kind, Labels, Service, Subset, Time};
use controller::services::Moments;
use controller::subsets::are_alike;
use controller::{Action, Announce, Facts, ObjectRef, Plan, Query, Step, Why, Write};
use mutant::Mutant;
use serde_json::{Value, json};

use super::addresses::wanted;
use super::capacity::{count, is_truncated, truncated};
use super::is_start;
use super::snapshot::Snapshot;

/// The label that names who manages Endpoints. Upstream's `LabelManagedBy`.
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
/// What that says of ours. Upstream's `ControllerName`.
const MANAGER: &str = "endpoint-controller";
/// Upstream's value of [`Endpoints::OVER_CAPACITY`].
const TRUNCATED: &str = "truncated";

/// Endpoints as they should be.
struct Course<'a> {
    service: &'a Service,
    subsets: Vec<Subset>,
    is_truncated: bool,
    labels: BTreeMap<&'a str, &'a str>,
    trigger: Option<Time>,
}

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> (Plan, Option<Arc<Moments>>) {
    let Some(service) = &s.service else { return (leftover(s, facts), None) };
    if let Some(why) = left_alone(service) {
        return (Plan::rest(why), None);
    }
    if let Some(error) = s.endpoints.as_ref().and_then(|it| it.unreadable.as_ref()) {
        let why = "its Endpoints cannot be read, and are left alone";
        return (Plan::failed(why, format!("cannot read endpoints {}: {error}", s.key)), None);
    }
    let moments = Arc::new(Moments::new(service, &s.pods));
    let trigger = moments.trigger(s.earlier.as_deref());
    let all = wanted(service, &s.pods);
    if s.endpoints.as_ref().is_some_and(|stored| is_right(stored, &all, service)) {
        return (Plan::rest("the Endpoints are right"), Some(moments));
    }
    let total = count(&all);
    let cut = truncated(&all);
    let course = Course {
        service,
        is_truncated: cut.is_some(),
        subsets: cut.unwrap_or(all),
        labels: labels(service),
        trigger,
    };
    let write = match &s.endpoints {
        None => course.create(),
        Some(stored) => course.update(stored),
    };
    let why = course.why(total, s.endpoints.is_some());
    (Plan::one(why, Step::InOrder(vec![write])), Some(moments))
}

/// Whether this controller has made them.
pub(super) fn is_own(endpoints: &Endpoints) -> bool {
    endpoints.meta.labels.get(MANAGED_BY) == Some(MANAGER)
}

/// Why a Service's endpoints are somebody else's; none: they are not.
fn left_alone(service: &Service) -> Option<Why> {
    if let Some(error) = &service.unreadable {
        return Some(format!("the Service cannot be read: {error}").into());
    }
    if service.is_external_name {
        return Some("a Service of type ExternalName gets no Endpoints".into());
    }
    if service.selector.is_none() {
        return Some("a Service without a selector has the Endpoints that somebody makes".into());
    }
    None
}

/// There is no Service.
fn leftover(s: &Snapshot, facts: &Facts) -> Plan {
    let Some(endpoints) = &s.endpoints else {
        let why = if is_start(&s.key) { "all Endpoints of the start are known" } else { "gone" };
        return Plan::rest(why);
    };
    let delete = || {
        let object = ObjectRef::new(&Endpoints::RESOURCE, &endpoints.meta);
        Step::InOrder(vec![Write::delete(object).into()])
    };
    let why = "there is no such Service";
    if is_own(endpoints) || mutant::is(Mutant::LeftoverUnread) {
        return Plan::one(why, delete());
    }
    // Somebody may have made both a moment ago, and the cache has seen but one of them.
    let query = Query::metadata(Service::RESOURCE, s.key.clone());
    match facts.get(&query).map(controller::Answer::metadata) {
        None => Plan::fetch("there seems to be no such Service", vec![query]),
        Some(Ok(None)) => Plan::one(why, delete()),
        Some(Ok(Some(_))) => Plan::rest("the cache does not show the Service yet"),
        Some(Err(error)) => Plan::failed("there seems to be no such Service", error.text.clone()),
    }
}

fn is_right(stored: &Endpoints, all: &[Subset], service: &Service) -> bool {
    let subsets = &stored.subsets;
    let (says_truncated, is_cut) = (stored.over_capacity.as_deref(), truncated(all));
    let subsets_right = match &is_cut {
        None => says_truncated.is_none() && are_alike(subsets, all),
        Some(cut) => {
            says_truncated == Some(TRUNCATED) && (subsets == cut || is_truncated(subsets, all))
        }
    };
    subsets_right && labels_right(&stored.meta.labels, &service.meta.labels)
}

/// Whether the labels are those of the Service and our own. Whether it is headless does not count.
/// As `labelsCorrectForEndpoints`.
fn labels_right(stored: &Labels, of_service: &Labels) -> bool {
    let others = |labels: &Labels| -> Vec<(String, String)> {
        let others =
            labels.iter().filter(|(key, _)| ![MANAGED_BY, Service::HEADLESS].contains(key));
        others.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    stored.get(MANAGED_BY) == Some(MANAGER) && others(stored) == others(of_service)
}

fn labels(service: &Service) -> BTreeMap<&str, &str> {
    let mut labels: BTreeMap<_, _> = service.meta.labels.iter().collect();
    if service.has_cluster_ip() {
        labels.remove(Service::HEADLESS);
    } else {
        labels.insert(Service::HEADLESS, "");
    }
    labels.insert(MANAGED_BY, MANAGER);
    labels
}

// === impl Course ===

impl Course<'_> {
    fn why(&self, total: usize, exists: bool) -> String {
        let what = if exists { "are wrong" } else { "are missing" };
        if self.is_truncated {
            let kept = count(&self.subsets);
            return format!("the Endpoints {what}: {kept} of {total} addresses fit");
        }
        format!("the Endpoints {what}: there should be {total} addresses")
    }

    fn create(&self) -> Action {
        let (resource, key) = (Endpoints::RESOURCE, &self.service.meta.key);
        let mut metadata = json!({
            "name": &*key.name,
            "namespace": &*key.namespace,
            "labels": self.labels,
        });
        let annotations = self.annotations().filter(|(_, value)| !value.is_null());
        let annotations: serde_json::Map<_, _> =
            annotations.map(|(key, value)| (key.to_owned(), value)).collect();
        if !annotations.is_empty() {
            metadata["annotations"] = annotations.into();
        }
        let mut body = json!({
            "apiVersion": resource.api_version(),
            "kind": resource.kind,
            "metadata": metadata,
        });
        if !self.subsets.is_empty() {
            body["subsets"] = json!(self.subsets);
        }
        let write = Write::create(resource, key.namespace.clone(), body.to_string());
        let text = format!("Failed to create endpoint for service {key}: ");
        let about = ObjectRef {
            resource: Endpoints::RESOURCE,
            key: key.clone(),
            uid: "".into(),
            resource_version: 0,
        };
        write.announced(failure(about, "FailedToCreateEndpoint", text)).into()
    }

    fn update(&self, stored: &Endpoints) -> Action {
        let object = ObjectRef::new(&Endpoints::RESOURCE, &stored.meta);
        let mut edits = vec![Edit::new(["metadata", "labels"], json!(self.labels))];
        edits.extend(
            self.annotations()
                .map(|(name, value)| Edit::new(["metadata", "annotations", name], value)),
        );
        let subsets = if self.subsets.is_empty() { Value::Null } else { json!(self.subsets) };
        edits.push(Edit::new(["subsets"], subsets));
        let text = format!("Failed to update endpoint {}: ", stored.meta.key);
        let write = Write::update(object.clone(), stored.raw.clone(), edits);
        write.announced(failure(object, "FailedToUpdateEndpoint", text)).into()
    }

    fn annotations(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let trigger = json!(self.trigger.map(|at| at.to_string()));
        let capacity = json!(self.is_truncated.then_some(TRUNCATED));
        [(Endpoints::TRIGGER_TIME, trigger), (Endpoints::OVER_CAPACITY, capacity)].into_iter()
    }
}

fn failure(about: ObjectRef, reason: &'static str, text: String) -> Announce {
    Announce { about: Arc::new(about), done: None, failed: (reason, text.into()), silent: &[] }
}
