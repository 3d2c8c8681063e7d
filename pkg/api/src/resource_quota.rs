//! ResourceQuota: a view beside the whole object.

use std::collections::{BTreeMap, BTreeSet};

use apimachinery::Quantity;
use serde::Deserialize;

use crate::wire::{self, WireQuantity, null_is_empty};
use crate::{
    Codec, DecodeError, Index, Kind, Meta, Object, Raw, Requirement, Resource, SelectorError, Text,
    check_requirement, intern,
};

/// What controllers read of a ResourceQuota, and the whole of it.
#[derive(Clone, Debug)]
pub struct ResourceQuota {
    /// Name and so on.
    pub meta: Meta,
    /// `spec.hard`.
    pub hard: BTreeMap<Text, Quantity>,
    /// What all must hold of the objects that it counts: `spec.scopes` and `spec.scopeSelector`.
    pub scopes: Box<[QuotaScope]>,
    /// `status.hard`.
    pub status_hard: BTreeMap<Text, Quantity>,
    /// `status.used`.
    pub used: BTreeMap<Text, Quantity>,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// A `v1.ScopedResourceSelectorRequirement`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaScope {
    /// Such as `PriorityClass`.
    pub name: String,
    /// What must hold of it, where the scope has values.
    pub requirement: Result<Requirement, SelectorError>,
}

impl ResourceQuota {
    /// Upstream's `namespace`: all quotas of a namespace.
    pub const BY_NAMESPACE: &'static str = "namespace";
    /// The quotas by each name in their `spec.hard`.
    pub const BY_HARD: &'static str = "spec.hard";
}

impl Kind for ResourceQuota {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "resourcequotas", "ResourceQuota");
}

impl Object for ResourceQuota {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[
        Index::by_namespace(Self::BY_NAMESPACE),
        Index::several(Self::BY_HARD, |quota| quota.hard.keys().cloned().collect()),
    ];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireQuota>(codec, bytes)?;
        Ok(Self {
            meta: wire.metadata.meta()?,
            hard: amounts(&wire.spec.hard),
            scopes: wire.spec.scopes(),
            status_hard: amounts(&wire.status.hard),
            used: amounts(&wire.status.used),
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            hard: BTreeMap::new(),
            scopes: Box::default(),
            status_hard: BTreeMap::new(),
            used: BTreeMap::new(),
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

fn amounts(wire: &BTreeMap<String, WireQuantity>) -> BTreeMap<Text, Quantity> {
    wire.iter().map(|(name, amount)| (intern(name), amount.view())).collect()
}

// === Wire ===

#[derive(Deserialize)]
struct WireQuota {
    metadata: wire::ObjectMeta,
    #[serde(default, deserialize_with = "null_is_empty")]
    spec: WireSpec,
    #[serde(default, deserialize_with = "null_is_empty")]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    #[serde(deserialize_with = "null_is_empty")]
    hard: BTreeMap<String, WireQuantity>,
    #[serde(deserialize_with = "null_is_empty")]
    scopes: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    scope_selector: WireSelector,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSelector {
    #[serde(deserialize_with = "null_is_empty")]
    match_expressions: Vec<WireScope>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireScope {
    scope_name: String,
    operator: String,
    #[serde(deserialize_with = "null_is_empty")]
    values: BTreeSet<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[serde(deserialize_with = "null_is_empty")]
    hard: BTreeMap<String, WireQuantity>,
    #[serde(deserialize_with = "null_is_empty")]
    used: BTreeMap<String, WireQuantity>,
}

impl WireSpec {
    /// As `getScopeSelectorsFromQuota` in apiserver's pkg/quota/v1/generic.
    fn scopes(self) -> Box<[QuotaScope]> {
        let exists = |name| QuotaScope { name, requirement: Ok(Requirement::Exists) };
        let selected = self.scope_selector.match_expressions.into_iter().map(WireScope::view);
        self.scopes.into_iter().map(exists).chain(selected).collect()
    }
}

impl WireScope {
    /// As `ScopedResourceSelectorRequirementsAsSelector` in upstream's pkg/apis/core/v1/helper;
    /// values with `Exists` are not looked at, as its callers.
    fn view(self) -> QuotaScope {
        let Self { scope_name: name, operator, values } = self;
        let requirement = if operator == "Exists" {
            Ok(Requirement::Exists)
        } else {
            let read = Requirement::read(&name, &operator, values);
            read.and_then(|it| check_requirement(&name, &it).map(|()| it))
        };
        QuotaScope { name, requirement }
    }
}
