//! The size of the target: the `scale` of any kind. As `scaleForResourceMappings` in upstream's
//! horizontal.go and client-go's `scale` client.

use api::{Key, Resource, Text};
use apimachinery::fields;
use controller::{Facts, ObjectRef, Query, Write};
use serde_json::Value;

use super::custom::{group_of, no_match, served};
use super::samples::{self, Place, Unknown};
use super::snapshot::Snapshot;

/// The `scale` of the target.
pub(super) struct Scale<'a> {
    /// The kind of the target, in the version that the API server prefers.
    resource: Resource,
    json: &'a Value,
}

/// Why there is no scale.
pub(super) enum NoScale {
    /// This must be read first.
    Unread(Box<Query>),
    /// An error.
    Failed {
        /// The message of the Event and of the condition.
        message: String,
        /// The error of the sync.
        error: String,
        /// Whether the spec is to blame.
        is_spec: bool,
    },
}

pub(super) fn read<'a>(s: &Snapshot, facts: &'a Facts) -> Result<Scale<'a>, NoScale> {
    let target = &s.autoscaler.target;
    let group = group_of(&target.api_version).map_err(|message| NoScale::Failed {
        error: format!("invalid API version in scale target reference: {message}"),
        message,
        is_spec: true,
    })?;
    let unmapped = "unable to determine resource for scale target reference: ";
    let served = served(s, facts).map_err(|it| NoScale::of(it, unmapped))?;
    let found = served.find_kind(group, &target.kind);
    let Some(found) = found else {
        let unknown = Unknown::Failed(no_match(&target.kind, group));
        return Err(NoScale::of(unknown, unmapped));
    };
    let namespace = &s.autoscaler.meta.key.namespace;
    let (kind, name) = (&target.kind, &target.name);
    let unread = format!("failed to query scale subresource for {kind}/{namespace}/{name}: ");
    let resource = found.resource.clone();
    let json = json(s, &resource, facts).map_err(|it| NoScale::of(it, &unread))?;
    Ok(Scale { resource, json })
}

fn json<'a>(s: &Snapshot, resource: &Resource, facts: &'a Facts) -> Result<&'a Value, Unknown> {
    let name = &s.autoscaler.target.name;
    // A kind outside namespaces has its scale there.
    let namespace = &s.autoscaler.meta.key.namespace;
    let namespace = if resource.namespaced { namespace.clone() } else { Text::default() };
    let key = Key { namespace, name: name.as_str().into() };
    let path = resource.object_path(&key);
    let path = path.map_err(|error| Unknown::Failed(error.to_string()))?;
    let place = Place {
        path: format!("{path}/scale"),
        parameters: Vec::new(),
        resource: resource.plural.clone().into_owned(),
        name: name.clone(),
    };
    let scale = samples::read(&place, facts)?;
    if fields::text(scale, "/kind") == "Scale" {
        return Ok(scale);
    }
    let error = "received an object from a /scale endpoint which was not convertible to \
                 autoscaling Scale";
    Err(Unknown::Failed(error.to_owned()))
}

// === impl Scale ===

impl Scale<'_> {
    /// How many replicas it asks for.
    pub(super) fn replicas(&self) -> i32 {
        number(self.json, "/spec/replicas")
    }

    /// How many there are.
    pub(super) fn status_replicas(&self) -> i32 {
        number(self.json, "/status/replicas")
    }

    /// The selector of the pods, as text.
    pub(super) fn selector(&self) -> &str {
        fields::text(self.json, "/status/selector")
    }

    /// The write that gives it another size. Its version guards it.
    pub(super) fn resized(&self, replicas: i32) -> Write {
        let mut scale = self.json.clone();
        if let Some(fields) = scale.as_object_mut() {
            let spec =
                fields.entry("spec").or_insert_with(|| Value::Object(serde_json::Map::new()));
            if let Some(spec) = spec.as_object_mut() {
                spec.insert("replicas".to_owned(), replicas.into());
            }
        }
        let text = |pointer| Text::from(fields::text(self.json, pointer));
        let version = fields::text(self.json, "/metadata/resourceVersion").parse();
        let object = ObjectRef {
            resource: self.resource.clone(),
            key: Key { namespace: text("/metadata/namespace"), name: text("/metadata/name") },
            uid: text("/metadata/uid"),
            resource_version: version.unwrap_or_default(),
        };
        Write::other(object, "scale", scale.to_string())
    }
}

fn number(scale: &Value, pointer: &str) -> i32 {
    i32::try_from(fields::number(scale, pointer).unwrap_or(0)).unwrap_or(i32::MAX)
}

// === impl NoScale ===

impl NoScale {
    fn of(unknown: Unknown, before: &str) -> Self {
        match unknown {
            Unknown::Unread(query) => Self::Unread(query),
            Unknown::Failed(message) => {
                let error = format!("{before}{message}");
                Self::Failed { message, error, is_spec: false }
            }
        }
    }
}
