//! Where the metrics APIs have a metric. As client-go's and k8s.io/metrics' clients.

use std::sync::Arc;

use api::{CrossVersionReference, Key, MetricName, Resource, Served};
use apimachinery::fields;
use controller::{Facts, Query};
use serde_json::Value;

use super::samples::{self, Place, Unknown};
use super::snapshot::Snapshot;

/// The group of the custom metrics API.
const CUSTOM: &str = "custom.metrics.k8s.io";
/// The document that names its versions.
pub(super) const CUSTOM_GROUP: &str = "/apis/custom.metrics.k8s.io";
const EXTERNAL: &str = "external.metrics.k8s.io";
const RESOURCE: &str = "metrics.k8s.io";

/// A version of the custom metrics API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `v1beta2`.
    V1Beta2,
    /// `v1beta1`.
    V1Beta1,
}

/// What the pods of a selector use.
pub(super) fn pods(namespace: &str, selector: &str) -> Place {
    Place {
        path: resource(RESOURCE, "v1beta1", "pods").collection_path(namespace),
        parameters: vec![("labelSelector", selector.to_owned())],
        resource: format!("pods.{RESOURCE}"),
        name: String::new(),
    }
}

/// A metric from outside the cluster.
pub(super) fn external(namespace: &str, metric: &str, selector: &str) -> Place {
    Place {
        path: resource(EXTERNAL, "v1beta1", metric).collection_path(namespace),
        parameters: vec![("labelSelector", selector.to_owned())],
        resource: format!("{metric}.{EXTERNAL}"),
        name: String::new(),
    }
}

/// A metric of all pods of a selector.
pub(super) fn of_pods(
    s: &Snapshot,
    selector: &str,
    (metric, metric_selector): (&MetricName, &str),
    facts: &Facts,
) -> Result<Place, Unknown> {
    let version = version(s, facts)?;
    let labels = ("labelSelector", selector.to_owned());
    place(s, version, ("pods", "*"), (&metric.name, metric_selector), Some(labels))
}

/// A metric of one object.
pub(super) fn of_object(
    s: &Snapshot,
    object: &CrossVersionReference,
    (metric, metric_selector): (&MetricName, &str),
    facts: &Facts,
) -> Result<Place, Unknown> {
    let version = version(s, facts)?;
    let group = group_of(&object.api_version).unwrap_or_default();
    let metric = (metric.name.as_str(), metric_selector);
    if object.kind == "Namespace" && group.is_empty() {
        // The name of the namespace does not count: the reference stays in its own.
        let namespace = &s.autoscaler.meta.key.namespace;
        return Ok(Place {
            path: format!("{}/{}", root(version, "metrics").collection_path(namespace), metric.0),
            parameters: vec![("metricLabelSelector", metric.1.to_owned())],
            resource: format!("metrics.{CUSTOM}"),
            name: metric.0.to_owned(),
        });
    }
    let served = served(s, facts)?;
    let Some(found) = served.find_kind(group, &object.kind) else {
        let dot = if group.is_empty() { "" } else { "." };
        let kind = format!("{}{dot}{group}", object.kind);
        let no_match = no_match(&object.kind, group);
        return Err(Unknown::Failed(format!("unable to map kind {kind} to resource: {no_match}")));
    };
    place(s, version, (&found.resource.to_string(), &object.name), metric, None)
}

fn place(
    s: &Snapshot,
    version: Version,
    (plural, name): (&str, &str),
    (metric, metric_selector): (&str, &str),
    labels: Option<(&'static str, String)>,
) -> Result<Place, Unknown> {
    let key = Key { namespace: s.autoscaler.meta.key.namespace.clone(), name: name.into() };
    let path = root(version, plural).object_path(&key);
    let path = path.map_err(|error| Unknown::Failed(error.to_string()))?;
    let parameters =
        labels.into_iter().chain([("metricLabelSelector", metric_selector.to_owned())]);
    Ok(Place {
        path: format!("{path}/{metric}"),
        parameters: parameters.collect(),
        resource: format!("{plural}.{CUSTOM}"),
        name: name.to_owned(),
    })
}

fn root(version: Version, plural: &str) -> Resource {
    let version = match version {
        Version::V1Beta2 => "v1beta2",
        Version::V1Beta1 => "v1beta1",
    };
    resource(CUSTOM, version, plural)
}

fn resource(group: &'static str, version: &'static str, plural: &str) -> Resource {
    let mut resource = Resource::namespaced(group, version, "", "");
    resource.plural = plural.to_owned().into();
    resource
}

/// The version of the custom metrics API that the server prefers, of those that are known.
fn version(s: &Snapshot, facts: &Facts) -> Result<Version, Unknown> {
    if let Some(version) = s.custom {
        return Ok(version);
    }
    let query = Query::path(CUSTOM_GROUP);
    let answer = facts.get(&query).ok_or(Unknown::Unread(query.into()))?;
    let group = answer.json().map_err(|refused| {
        Unknown::Failed(match refused.code {
            Some(404) => format!("no custom metrics API ({CUSTOM}) registered"),
            Some(_) | None => refused.text.clone(),
        })
    })?;
    let unknown = || Unknown::Failed("no known available metric versions found".to_owned());
    version_in(group).ok_or_else(unknown)
}

/// As `chooseVersion`.
pub(super) fn version_in(group: &Value) -> Option<Version> {
    let known = |name: &str| match name.strip_prefix(CUSTOM)? {
        "/v1beta2" => Some(Version::V1Beta2),
        "/v1beta1" => Some(Version::V1Beta1),
        _ => None,
    };
    let preferred = known(fields::text(group, "/preferredVersion/groupVersion"));
    let mut all = fields::items(group, "/versions").iter();
    preferred.or_else(|| all.find_map(|it| known(fields::text(it, "/groupVersion"))))
}

/// What the API server serves.
pub(super) fn served<'a>(s: &'a Snapshot, facts: &'a Facts) -> Result<&'a Arc<Served>, Unknown> {
    if let Some(served) = &s.served {
        return Ok(served);
    }
    let answer = facts.get(&Query::Served).ok_or(Unknown::Unread(Query::Served.into()))?;
    answer.served().map_err(|refused| Unknown::Failed(refused.text.clone()))
}

/// The group of an `apiVersion`. As `schema.ParseGroupVersion`.
pub(super) fn group_of(api_version: &str) -> Result<&str, String> {
    match api_version.split_once('/') {
        None => Ok(""),
        Some((group, version)) if !version.contains('/') => Ok(group),
        Some(_) => Err(format!("unexpected GroupVersion string: {api_version}")),
    }
}

/// As `NoKindMatchError`.
pub(super) fn no_match(kind: &str, group: &str) -> String {
    format!("no matches for kind {} in group {}", api::go::quote(kind), api::go::quote(group))
}

/// As [`samples::items`], of the resource metrics API.
pub(super) fn resource_items<'a>(
    s: &Snapshot,
    selector: &str,
    facts: &'a Facts,
) -> Result<&'a [Value], Unknown> {
    let place = pods(&s.autoscaler.meta.key.namespace, selector);
    samples::items(&place, "resource metrics", facts)
}
