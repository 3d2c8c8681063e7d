//! ClusterRole: the view that controllers share.

use prost::Message;
use serde::Deserialize;

use crate::selector::WireSelector;
use crate::wire::{self, null_is_empty};
use crate::{
    Codec, DecodeError, Index, Kind, Meta, Object, Resource, Selector, SelectorError, Text, intern,
};

/// What may be done, in the whole cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterRole {
    /// Name, labels and so on.
    pub meta: Meta,
    /// `rules`.
    pub rules: Box<[PolicyRule]>,
    /// `aggregationRule.clusterRoleSelectors`: selects the roles whose rules this one has; none: it
    /// has its own.
    pub aggregates: Option<Box<[Result<Selector, SelectorError>]>>,
    /// Why the object could not be read; then its rules are not known.
    pub unreadable: Option<DecodeError>,
}

/// One thing that may be done. Lists that are absent are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyRule {
    /// `verbs`.
    pub verbs: Box<[Text]>,
    /// `apiGroups`.
    pub api_groups: Box<[Text]>,
    /// `resources`.
    pub resources: Box<[Text]>,
    /// `resourceNames`.
    pub resource_names: Box<[Text]>,
    /// `nonResourceURLs`.
    pub non_resource_urls: Box<[Text]>,
}

impl ClusterRole {
    /// The roles that have the rules of others, all under the empty value.
    pub const AGGREGATING: &'static str = "aggregating";
}

impl Kind for ClusterRole {
    const RESOURCE: Resource =
        Resource::cluster_scoped("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole");
}

impl Object for ClusterRole {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] =
        &[Index::one(Self::AGGREGATING, |role| role.aggregates.is_some().then(|| intern("")))];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireRole>(codec, bytes)?;
        let meta = wire.metadata.meta()?;
        let aggregates = wire.aggregation_rule.map(|rule| {
            let selectors = rule.cluster_role_selectors.into_iter();
            selectors.map(WireSelector::parse).collect()
        });
        let rules = wire.rules.iter().map(WireRule::view).collect();
        Ok(Self { meta, rules, aggregates, unreadable: None })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        let unreadable = Some(error.clone());
        Self { meta, rules: Box::default(), aggregates: None, unreadable }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireRole {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    rules: Vec<WireRule>,
    #[prost(message, optional, tag = "3")]
    aggregation_rule: Option<WireAggregation>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireAggregation {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    cluster_role_selectors: Vec<WireSelector>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireRule {
    #[prost(string, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    verbs: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    api_groups: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    #[serde(deserialize_with = "null_is_empty")]
    resources: Vec<String>,
    #[prost(string, repeated, tag = "4")]
    #[serde(deserialize_with = "null_is_empty")]
    resource_names: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    #[serde(rename = "nonResourceURLs", deserialize_with = "null_is_empty")]
    non_resource_urls: Vec<String>,
}

impl WireRule {
    fn view(&self) -> PolicyRule {
        let texts = |list: &[String]| list.iter().map(|text| intern(text)).collect();
        PolicyRule {
            verbs: texts(&self.verbs),
            api_groups: texts(&self.api_groups),
            resources: texts(&self.resources),
            resource_names: texts(&self.resource_names),
            non_resource_urls: texts(&self.non_resource_urls),
        }
    }
}
