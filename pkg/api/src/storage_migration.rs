//! StorageVersionMigration: a wish that all objects of a kind are stored anew, in the version in
//! which the API server stores them now.

use serde::Deserialize;
use serde_json::Value;

use crate::wire::{self, null_is_empty};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, Text, Values, intern};

/// What controllers read of a StorageVersionMigration, and the whole of it.
#[derive(Clone, Debug)]
pub struct StorageVersionMigration {
    /// Name and so on.
    pub meta: Meta,
    /// `spec.resource`: the group of the kind; empty for the core group.
    pub group: Text,
    /// And its plural.
    pub plural: Text,
    /// `status.resourceVersion`: what is older is stored anew; empty: not known yet.
    pub until: Text,
    /// `status.conditions`: types, and whether they are true.
    pub conditions: Box<[(Text, Text)]>,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

impl StorageVersionMigration {
    /// The index by kind, as `group/plural`.
    pub const BY_KIND: &'static str = "kind";

    /// Whether it has begun, and its end is not noted yet.
    pub fn is_running(&self) -> bool {
        self.is("Running")
    }

    /// Whether it has come to its end, and that was good.
    pub fn has_succeeded(&self) -> bool {
        self.is("Succeeded")
    }

    /// Whether it has come to its end.
    pub fn is_over(&self) -> bool {
        self.has_succeeded() || self.is("Failed")
    }

    /// Whether a condition is said to be true, or to be false.
    pub fn says(&self, kind: &str) -> bool {
        let mut conditions = self.conditions.iter();
        conditions.any(|(known, status)| **known == *kind && matches!(&**status, "True" | "False"))
    }

    /// `status.conditions`, whole.
    pub fn whole_conditions(&self) -> Vec<Value> {
        let status = self.raw.field("status").map(|status| serde_json::from_str(status.get()));
        let mut status: Value = status.and_then(Result::ok).unwrap_or_default();
        match status.get_mut("conditions").map(Value::take) {
            Some(Value::Array(conditions)) => conditions,
            _ => Vec::new(),
        }
    }

    fn is(&self, kind: &str) -> bool {
        let mut conditions = self.conditions.iter();
        conditions.any(|(known, status)| **known == *kind && **status == *"True")
    }
}

impl Kind for StorageVersionMigration {
    const RESOURCE: Resource = Resource::cluster_scoped(
        "storagemigration.k8s.io",
        "v1beta1",
        "storageversionmigrations",
        "StorageVersionMigration",
    );
}

impl Object for StorageVersionMigration {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[Index {
        name: Self::BY_KIND,
        values: Values::One(|it| Some(intern(&format!("{}/{}", it.group, it.plural)))),
    }];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, Wire>(codec, bytes)?;
        let conditions = wire.status.conditions.iter();
        let conditions = conditions.map(|it| (intern(&it.r#type), intern(&it.status)));
        Ok(Self {
            meta: wire.metadata.meta()?,
            group: intern(&wire.spec.resource.group),
            plural: intern(&wire.spec.resource.resource),
            until: intern(&wire.status.resource_version),
            conditions: conditions.collect(),
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        let [group, plural, until] = [(); 3].map(|()| intern(""));
        let (conditions, raw) = (Box::default(), Raw::default());
        let unreadable = Some(error.clone());
        Self { meta, group, plural, until, conditions, raw, unreadable }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct Wire {
    metadata: wire::ObjectMeta,
    #[serde(default)]
    spec: WireSpec,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireSpec {
    resource: WireResource,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireResource {
    group: String,
    resource: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    resource_version: String,
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireCondition {
    r#type: String,
    status: String,
}
