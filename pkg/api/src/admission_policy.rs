//! ValidatingAdmissionPolicy: which requests pass, by expressions.

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, null_is_empty};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Resource};

/// What controllers read of a ValidatingAdmissionPolicy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatingAdmissionPolicy {
    /// Name, generation and so on.
    pub meta: Meta,
    /// `status.observedGeneration`: the generation that was looked at last.
    pub observed_generation: i64,
    /// How many expressions `spec.validations` has, of conditions and of messages.
    pub expressions: usize,
    /// How many resources `spec.matchConstraints.resourceRules` names, each in a group and a
    /// version: without wildcards and subresources.
    pub resources: usize,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// A ValidatingAdmissionPolicy with its expressions, for live reads: too long for a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyExpressions {
    /// Name, generation and so on.
    pub meta: Meta,
    /// `status.observedGeneration`: the generation that was looked at last.
    pub observed_generation: i64,
    /// `spec.paramKind`: its `apiVersion` and `kind`.
    pub param_kind: Option<(String, String)>,
    /// `spec.matchConstraints.resourceRules`.
    pub rules: Vec<NamedResources>,
    /// `spec.variables`: the name of each and its expression.
    pub variables: Vec<(String, String)>,
    /// `spec.validations`.
    pub validations: Vec<Validation>,
    /// How long the object was in the response: what it takes in etcd, at most.
    pub bytes: usize,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// The resources that a rule of a policy is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedResources {
    /// Such as `apps`; empty for core.
    pub groups: Vec<String>,
    /// Such as `v1`.
    pub versions: Vec<String>,
    /// Plural names, which may have subresources and wildcards.
    pub resources: Vec<String>,
}

/// A validation of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validation {
    /// `expression`.
    pub expression: String,
    /// `messageExpression`; empty: there is none.
    pub message_expression: String,
}

const RESOURCE: Resource = Resource::cluster_scoped(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
);

impl Kind for ValidatingAdmissionPolicy {
    const RESOURCE: Resource = RESOURCE;
}

impl Object for ValidatingAdmissionPolicy {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WirePolicy>(codec, bytes)?;
        let spec = wire.spec.unwrap_or_default();
        let rules = spec.match_constraints.unwrap_or_default().resource_rules;
        Ok(Self {
            meta: wire.metadata.meta()?,
            observed_generation: wire.status.unwrap_or_default().observed_generation.unwrap_or(0),
            expressions: spec.validations.iter().map(WireValidation::expressions).sum(),
            resources: rules.iter().map(WireNamedRule::resources).sum(),
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        let unreadable = Some(error.clone());
        Self { meta, observed_generation: 0, expressions: 0, resources: 0, unreadable }
    }
}

impl Kind for PolicyExpressions {
    const RESOURCE: Resource = RESOURCE;
}

impl Object for PolicyExpressions {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireExpressions>(codec, bytes)?;
        let spec = wire.spec.unwrap_or_default();
        let rules = spec.match_constraints.unwrap_or_default().resource_rules;
        let param_kind = spec
            .param_kind
            .map(|it| (it.api_version.unwrap_or_default(), it.kind.unwrap_or_default()));
        Ok(Self {
            meta: wire.metadata.meta()?,
            observed_generation: wire.status.unwrap_or_default().observed_generation.unwrap_or(0),
            param_kind,
            rules: rules.into_iter().map(WireNamedRule::named).collect(),
            variables: spec.variables.into_iter().map(WireVariable::pair).collect(),
            validations: spec.validations.into_iter().map(WireExpression::validation).collect(),
            bytes: bytes.len(),
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            observed_generation: 0,
            param_kind: None,
            rules: Vec::new(),
            variables: Vec::new(),
            validations: Vec::new(),
            bytes: 0,
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WirePolicy {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, optional, tag = "2")]
    spec: Option<WireSpec>,
    #[prost(message, optional, tag = "3")]
    status: Option<WireStatus>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    #[prost(message, optional, tag = "2")]
    match_constraints: Option<WireMatch>,
    #[prost(message, repeated, tag = "3")]
    #[serde(deserialize_with = "null_is_empty")]
    validations: Vec<WireValidation>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    #[prost(int64, optional, tag = "1")]
    observed_generation: Option<i64>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireMatch {
    #[prost(message, repeated, tag = "3")]
    #[serde(deserialize_with = "null_is_empty")]
    resource_rules: Vec<WireNamedRule>,
}

/// In JSON the fields of the rule stand beside its own.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireNamedRule {
    #[prost(message, optional, tag = "2")]
    #[serde(flatten)]
    with_operations: Option<WireOperations>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireOperations {
    #[prost(message, optional, tag = "2")]
    #[serde(flatten)]
    rule: Option<WireRule>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireRule {
    #[prost(string, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    api_groups: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    api_versions: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    #[serde(deserialize_with = "null_is_empty")]
    resources: Vec<String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireValidation {
    #[prost(string, optional, tag = "4")]
    message_expression: Option<String>,
}

impl WireValidation {
    fn expressions(&self) -> usize {
        let has_message = self.message_expression.as_ref().is_some_and(|it| !it.is_empty());
        1 + usize::from(has_message)
    }
}

impl WireNamedRule {
    /// As upstream's `extractGroups`, `extractVersions` and `extractResources`.
    fn resources(&self) -> usize {
        let rule = self.with_operations.as_ref().and_then(|it| it.rule.as_ref());
        let Some(rule) = rule else { return 0 };
        let known = |names: &[String]| {
            let has_any = names.iter().any(|name| name.contains('*'));
            if has_any { 0 } else { names.len() }
        };
        let resources = rule.resources.iter().filter(|name| !name.contains(['*', '/'])).count();
        known(&rule.api_groups) * known(&rule.api_versions) * resources
    }
}

/// With all that is written out.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireExpressions {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, optional, tag = "2")]
    spec: Option<WireWritten>,
    #[prost(message, optional, tag = "3")]
    status: Option<WireStatus>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireWritten {
    #[prost(message, optional, tag = "1")]
    param_kind: Option<WireParamKind>,
    #[prost(message, optional, tag = "2")]
    match_constraints: Option<WireMatch>,
    #[prost(message, repeated, tag = "3")]
    #[serde(deserialize_with = "null_is_empty")]
    validations: Vec<WireExpression>,
    #[prost(message, repeated, tag = "7")]
    #[serde(deserialize_with = "null_is_empty")]
    variables: Vec<WireVariable>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireParamKind {
    #[prost(string, optional, tag = "1")]
    api_version: Option<String>,
    #[prost(string, optional, tag = "2")]
    kind: Option<String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireExpression {
    #[prost(string, optional, tag = "1")]
    expression: Option<String>,
    #[prost(string, optional, tag = "4")]
    message_expression: Option<String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireVariable {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    expression: Option<String>,
}

impl WireExpression {
    fn validation(self) -> Validation {
        Validation {
            expression: self.expression.unwrap_or_default(),
            message_expression: self.message_expression.unwrap_or_default(),
        }
    }
}

impl WireVariable {
    fn pair(self) -> (String, String) {
        (self.name.unwrap_or_default(), self.expression.unwrap_or_default())
    }
}

impl WireNamedRule {
    fn named(self) -> NamedResources {
        let rule = self.with_operations.and_then(|it| it.rule).unwrap_or_default();
        let WireRule { api_groups, api_versions, resources } = rule;
        NamedResources { groups: api_groups, versions: api_versions, resources }
    }
}
