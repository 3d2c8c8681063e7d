//! What one metric asks for. As `computeReplicasForMetric` in upstream's horizontal.go.

use std::sync::Arc;

use api::{CrossVersionReference, MetricName, MetricSource, MetricSpec, MetricTarget, Pod, go};
use apimachinery::Quantity;
use controller::{Facts, Query};
use serde_json::{Map, Value, json};

use super::custom;
use super::replicas::{Calculator, Computed, Tolerances, sum, sum_shared};
use super::samples::{self, Unknown};
use super::snapshot::Snapshot;

/// The target as it is.
pub(super) struct Target<'a> {
    /// `spec.replicas` of its scale.
    pub(super) current: i32,
    /// `status.replicas` of its scale.
    pub(super) status: i32,
    /// The selector of its pods, as text.
    pub(super) selector: &'a str,
    /// These pods.
    pub(super) pods: &'a [Arc<Pod>],
}

/// What a metric asks for.
#[derive(Clone, Debug)]
pub(super) struct Proposal {
    /// How many replicas.
    pub(super) replicas: i32,
    /// What the metric is called in Events.
    pub(super) name: String,
    /// Its entry of `status.currentMetrics`.
    pub(super) status: Value,
    /// What was measured, beside the target, for an operator.
    pub(super) measured: String,
}

/// Why a metric asks for nothing.
#[derive(Clone, Debug)]
pub(super) enum Silent {
    /// This must be read first.
    Unread(Box<Query>),
    /// It cannot be computed.
    Failed(Failure),
}

/// An error of a metric.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// The reason of the Event and of the condition.
    pub(super) reason: &'static str,
    /// The message of the Event.
    pub(super) message: String,
    /// The error of the sync.
    pub(super) error: String,
    /// Whether the spec is to blame.
    pub(super) is_spec: bool,
}

pub(super) fn propose(
    s: &Snapshot,
    spec: &MetricSpec,
    target: &Target<'_>,
    facts: &Facts,
) -> Result<Proposal, Silent> {
    let context = Context { s, target, facts };
    let Some(source) = &spec.source else {
        let error = format!("unknown metric source type {}", go::quote(&spec.r#type));
        return Err(Silent::Failed(Failure {
            reason: "InvalidMetricSourceType",
            message: error.clone(),
            error,
            is_spec: true,
        }));
    };
    match source {
        MetricSource::Resource { name, target } => {
            let found = context.resource((name, ""), target, "resource");
            let wrapped = |error| format!("failed to get {name} resource metric value: {error}");
            found
                .map(|it| it.with("Resource", "resource", json!({ "name": name })))
                .map_err(|unknown| failed(unknown, "FailedGetResourceMetric", wrapped))
        }
        MetricSource::ContainerResource { name, container, target } => {
            let found = context.resource((name, container), target, "container resource");
            let wrapped =
                |error| format!("failed to get {container} container metric value: {error}");
            let fields = json!({ "name": name, "container": container });
            found
                .map(|it| it.with("ContainerResource", "containerResource", fields))
                .map_err(|unknown| failed(unknown, "FailedGetContainerResourceMetric", wrapped))
        }
        MetricSource::Pods { metric, target } => {
            let wrapped = |error| format!("failed to get pods metric value: {error}");
            context
                .pods(metric, target)
                .map(|it| it.with("Pods", "pods", json!({ "metric": identifier(metric) })))
                .map_err(|unknown| failed(unknown, "FailedGetPodsMetric", wrapped))
        }
        MetricSource::Object { described, metric, target } => {
            let fields = json!({
                "metric": identifier(metric),
                "describedObject": reference(described),
            });
            let found = context.object(described, metric, target);
            found
                .map(|it| it.with("Object", "object", fields))
                .map_err(|it| it.labelled("FailedGetObjectMetric"))
        }
        MetricSource::External { metric, target } => {
            let found = context.external(metric, target);
            found
                .map(|it| it.with("External", "external", json!({ "metric": identifier(metric) })))
                .map_err(|it| it.labelled("FailedGetExternalMetric"))
        }
    }
}

/// What all computations need.
struct Context<'a> {
    s: &'a Snapshot,
    target: &'a Target<'a>,
    facts: &'a Facts,
}

/// A proposal of which the status is incomplete.
struct Found {
    replicas: i32,
    name: String,
    /// `current` of the status.
    current: Value,
    measured: String,
}

/// An error and its words in the error of the sync.
struct Wrapped {
    unknown: Unknown,
    words: String,
}

impl Context<'_> {
    fn calculator(&self) -> Calculator<'_> {
        Calculator {
            now: self.s.now,
            options: &self.s.options,
            pods: self.target.pods,
            tolerances: tolerances(self.s),
            current: self.target.current,
        }
    }

    fn namespace(&self) -> &str {
        &self.s.autoscaler.meta.key.namespace
    }

    /// As `computeStatusForResourceMetricGeneric`.
    fn resource(
        &self,
        (name, container): (&str, &str),
        target: &MetricTarget,
        what: &str,
    ) -> Result<Found, Unknown> {
        let samples = || {
            let before = format!("unable to get metrics for resource {name}: ");
            let items = custom::resource_items(self.s, self.target.selector, self.facts);
            let items = items.map_err(|unknown| unknown.prefixed(&before))?;
            Ok(samples::resource(items, name, container))
        };
        if let Some(average) = target.average_value {
            let before = format!("failed to get {name} usage: ");
            let computed = samples().and_then(|samples| {
                let computed = self.calculator().average(name, samples, average.milli_value());
                computed.map_err(Unknown::Failed)
            });
            let computed = computed.map_err(|unknown| unknown.prefixed(&before))?;
            let value = quantity(name, computed.usage);
            return Ok(Found {
                replicas: computed.replicas,
                name: format!("{name} resource"),
                measured: format!("{value} of {average}"),
                current: json!({ "averageValue": value.to_string() }),
            });
        }
        let Some(utilization) = target.average_utilization else {
            let error = "invalid resource metric source: neither an average utilization target \
                         nor an average value (usage) target was set";
            return Err(Unknown::Failed(error.to_owned()));
        };
        let before = format!("failed to get {name} utilization: ");
        let computed = samples().and_then(|samples| {
            let of = (name, container);
            self.calculator().utilization(of, samples, utilization).map_err(Unknown::Failed)
        });
        let computed = computed.map_err(|unknown| unknown.prefixed(&before))?;
        Ok(Found {
            replicas: computed.replicas,
            name: format!("{name} {what} utilization (percentage of request)"),
            measured: format!("{}% of {utilization}%", computed.utilization),
            current: json!({
                "averageUtilization": computed.utilization,
                "averageValue": quantity(name, computed.usage).to_string(),
            }),
        })
    }

    /// As `computeStatusForPodsMetric`.
    fn pods(&self, metric: &MetricName, target: &MetricTarget) -> Result<Found, Unknown> {
        let selector = selector(metric)?;
        let before = format!("unable to get metric {}: ", metric.name);
        let api = "custom metrics";
        let of = (metric, selector);
        let place = custom::of_pods(self.s, self.target.selector, of, self.facts);
        let place = place.map_err(|it| it.prefixed(&samples::unable(api)).prefixed(&before))?;
        let items = samples::items(&place, api, self.facts).map_err(|it| it.prefixed(&before))?;
        let average = target.average_value.unwrap_or_default();
        let samples = samples::custom(items);
        let computed = self.calculator().average("", samples, average.milli_value());
        let computed = computed.map_err(Unknown::Failed)?;
        let value = Quantity::of_milli(computed.usage);
        Ok(Found {
            replicas: computed.replicas,
            name: format!("pods metric {}", metric.name),
            measured: format!("{value} of {average}"),
            current: json!({ "averageValue": value.to_string() }),
        })
    }

    /// As `computeStatusForObjectMetric`.
    fn object(
        &self,
        described: &CrossVersionReference,
        metric: &MetricName,
        target: &MetricTarget,
    ) -> Result<Found, Wrapped> {
        let plain = |unknown: Unknown| Wrapped::new(unknown, "failed to get object metric value: ");
        let selector = selector(metric).map_err(plain)?;
        let usage = || self.object_usage(described, (metric, selector));
        let (name, kind) = (&metric.name, &described.kind);
        match (target.r#type.as_str(), target.value, target.average_value) {
            ("Value", Some(value), _) => {
                let computed = usage().and_then(|usage| {
                    let computed = self.calculator().total(usage, value.milli_value());
                    computed.map_err(Unknown::Failed)
                });
                let name = format!("{kind} metric {name}");
                Ok(Found::of_value(computed.map_err(plain)?, name, value))
            }
            ("AverageValue", _, Some(average)) => {
                let words = format!(
                    "failed to get object metric value: failed to get {name} object metric: "
                );
                let usage = usage().map_err(|unknown| Wrapped::new(unknown, words))?;
                Ok(self.shared(usage, metric, average))
            }
            _ => {
                let error = "invalid object metric source: neither a value target nor an average \
                             value target was set";
                Err(plain(Unknown::Failed(error.to_owned())))
            }
        }
    }

    /// As `GetObjectMetric`.
    fn object_usage(
        &self,
        described: &CrossVersionReference,
        (metric, selector): (&MetricName, &str),
    ) -> Result<i64, Unknown> {
        let found = || {
            let of = (metric, selector);
            let place = custom::of_object(self.s, described, of, self.facts)?;
            let list = samples::read(&place, self.facts)?;
            match apimachinery::fields::items(list, "/items") {
                [item] => Ok(samples::value(item)),
                items => Err(Unknown::Failed(format!(
                    "the custom metrics API server returned {} results when we asked for exactly \
                     one",
                    items.len()
                ))),
            }
        };
        let (name, namespace) = (&metric.name, self.namespace());
        let CrossVersionReference { kind, name: object, .. } = described;
        found().map_err(|unknown| {
            unknown.prefixed(&samples::unable("custom metrics")).map(|error| {
                format!("unable to get metric {name}: {error} on {kind} {namespace}/{object}")
            })
        })
    }

    /// As `computeStatusForExternalMetric`.
    fn external(&self, metric: &MetricName, target: &MetricTarget) -> Result<Found, Wrapped> {
        let name = &metric.name;
        let before = format!("failed to get {name} external metric value: ");
        if let Some(average) = target.average_value {
            let words = format!("{before}failed to get {name} external metric: ");
            let usage = self.external_usage(metric, sum_shared);
            let usage = usage.map_err(|unknown| Wrapped::new(unknown, words))?;
            return Ok(self.shared(usage, metric, average));
        }
        if let Some(value) = target.value {
            let words = format!("{before}failed to get external metric {name}: ");
            let computed = self.external_usage(metric, sum).and_then(|usage| {
                let computed = self.calculator().total(usage, value.milli_value());
                computed.map_err(Unknown::Failed)
            });
            let computed = computed.map_err(|unknown| Wrapped::new(unknown, words))?;
            return Ok(Found::of_value(computed, external_name(metric), value));
        }
        let error = "invalid external metric source: neither a value target nor an average value \
                     target was set";
        Err(Wrapped::new(Unknown::Failed(error.to_owned()), before))
    }

    /// As `GetExternalMetric`.
    fn external_usage(
        &self,
        metric: &MetricName,
        sum: impl FnOnce(Vec<i64>) -> i64,
    ) -> Result<i64, Unknown> {
        let selector = selector(metric)?;
        let place = custom::external(self.namespace(), &metric.name, selector);
        let items = samples::items(&place, "external metrics", self.facts);
        let items = items.map_err(|unknown| {
            let (namespace, name) = (self.namespace(), &metric.name);
            let selector = go::label_selector(&metric.selector_json);
            let before = format!("unable to get external metric {namespace}/{name}/{selector}: ");
            unknown.prefixed(&before)
        })?;
        Ok(sum(items.iter().map(samples::value).collect()))
    }

    /// A value that the replicas share.
    fn shared(&self, usage: i64, metric: &MetricName, average: Quantity) -> Found {
        let computed = self.calculator().shared(usage, average.milli_value(), self.target.status);
        let value = Quantity::of_milli(computed.usage);
        Found {
            replicas: computed.replicas,
            name: external_name(metric),
            measured: format!("{value} of {average}"),
            current: json!({ "averageValue": value.to_string() }),
        }
    }
}

impl Found {
    fn of_value(computed: Computed, name: String, target: Quantity) -> Self {
        let value = Quantity::of_milli(computed.usage);
        Self {
            replicas: computed.replicas,
            name,
            measured: format!("{value} of {target}"),
            current: json!({ "value": value.to_string() }),
        }
    }

    /// With the status of a kind of metric.
    fn with(self, r#type: &str, field: &str, mut fields: Value) -> Proposal {
        let Self { replicas, name, current, measured } = self;
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("current".to_owned(), current);
        }
        let mut status = Map::new();
        status.insert("type".to_owned(), json!(r#type));
        status.insert(field.to_owned(), fields);
        Proposal { replicas, name, status: Value::Object(status), measured }
    }
}

impl Wrapped {
    fn new(unknown: Unknown, words: impl Into<String>) -> Self {
        Self { unknown, words: words.into() }
    }

    fn labelled(self, reason: &'static str) -> Silent {
        let Self { unknown, words } = self;
        failed(unknown, reason, |error| format!("{words}{error}"))
    }
}

fn failed(
    unknown: Unknown,
    reason: &'static str,
    wrapped: impl FnOnce(String) -> String,
) -> Silent {
    match unknown {
        Unknown::Unread(query) => Silent::Unread(query),
        Unknown::Failed(message) => {
            let error = wrapped(message.clone());
            Silent::Failed(Failure { reason, message, error, is_spec: false })
        }
    }
}

/// The selector of a metric, as text.
fn selector(metric: &MetricName) -> Result<&str, Unknown> {
    let selector = metric.selector.as_deref();
    selector.map_err(|error| Unknown::Failed(error.to_string()))
}

/// As `tolerancesForHpa`.
pub(super) fn tolerances(s: &Snapshot) -> Tolerances {
    let default = s.options.tolerance;
    let behavior = s.autoscaler.behavior.as_ref();
    let behavior = behavior.filter(|_| s.options.admits_tolerances);
    Tolerances {
        down: behavior.and_then(|it| it.down.tolerance).unwrap_or(default),
        up: behavior.and_then(|it| it.up.tolerance).unwrap_or(default),
    }
}

fn external_name(metric: &MetricName) -> String {
    format!("external metric {}({})", metric.name, go::label_selector(&metric.selector_json))
}

/// As `buildQuantity`.
pub(super) fn quantity(resource: &str, milli: i64) -> Quantity {
    let quantity = Quantity::of_milli(milli);
    if resource == "memory" { quantity.in_binary() } else { quantity }
}

fn identifier(metric: &MetricName) -> Value {
    if metric.selector_json.is_null() {
        return json!({ "name": metric.name });
    }
    json!({ "name": metric.name, "selector": metric.selector_json })
}

fn reference(object: &CrossVersionReference) -> Value {
    let CrossVersionReference { api_version, kind, name } = object;
    if api_version.is_empty() {
        return json!({ "kind": kind, "name": name });
    }
    json!({ "apiVersion": api_version, "kind": kind, "name": name })
}
