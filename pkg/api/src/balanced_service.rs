//! Service: the view of the controller of load balancers, which no other controller shares.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::service::WireTarget;
use crate::wire::{self, null_is_empty};
use crate::{
    Codec, DecodeError, Index, Key, Kind, Meta, Object, Resource, TargetPort, Text, intern,
};

/// What the controller of load balancers reads of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalancedService {
    /// Name, labels and so on.
    pub meta: Meta,
    /// Whether its type is `LoadBalancer`.
    pub is_load_balancer: bool,
    /// Whether it names a `loadBalancerClass`: then its load balancer is made by another program.
    pub has_class: bool,
    /// What its load balancer is made from.
    pub spec: Arc<BalancerSpec>,
    /// `status.loadBalancer.ingress`.
    pub ingress: Box<[Ingress]>,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// The fields of a Service that a load balancer depends on: those that `needsUpdate` of upstream's
/// `k8s.io/cloud-provider/controllers/service` compares.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BalancerSpec {
    /// Namespace and name of the Service.
    pub key: Key,
    /// Its uid, from which providers make the name of the load balancer.
    pub uid: Text,
    /// All of them: each provider has its own.
    pub annotations: BTreeMap<Text, Text>,
    /// `spec.ports`.
    pub ports: Box<[BalancerPort]>,
    /// `spec.loadBalancerIP`; empty: any.
    pub load_balancer_ip: Text,
    /// `spec.loadBalancerSourceRanges`.
    pub source_ranges: Box<[Text]>,
    /// `spec.externalIPs`.
    pub external_ips: Box<[Text]>,
    /// `spec.ipFamilies`.
    pub families: Box<[Text]>,
    /// `spec.sessionAffinity`.
    pub session_affinity: Text,
    /// `spec.sessionAffinityConfig.clientIP.timeoutSeconds`.
    pub affinity_seconds: Option<i32>,
    /// `spec.externalTrafficPolicy`.
    pub external_traffic_policy: Text,
    /// `spec.healthCheckNodePort`; 0: none.
    pub health_check_node_port: i32,
}

/// An entry of `spec.ports`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BalancerPort {
    /// May be empty.
    pub name: Text,
    /// Such as `TCP`.
    pub protocol: Text,
    /// `appProtocol`.
    pub app_protocol: Option<Text>,
    /// What clients connect to.
    pub port: i32,
    /// The port of the nodes; 0: none.
    pub node_port: i32,
    /// Where it leads to.
    pub target: TargetPort,
}

/// An entry of `status.loadBalancer.ingress`: an address of a load balancer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ingress {
    /// The address; none: it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// The name; none: it has an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Whether the address is `VIP` or `Proxy`; the API server sets `VIP` with an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_mode: Option<String>,
    /// What became of its ports.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<IngressPort>,
}

/// A port of a load balancer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct IngressPort {
    /// Its number.
    pub port: i32,
    /// Such as `TCP`.
    pub protocol: String,
    /// Why it does not work; none: it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl BalancedService {
    /// The finalizer that holds a Service until its load balancer is deleted. Upstream's
    /// `LoadBalancerCleanupFinalizer`.
    pub const CLEANUP: &'static str = "service.kubernetes.io/load-balancer-cleanup";

    /// Whether it is to have a load balancer. As `wantsLoadBalancer`.
    pub fn wants_balancer(&self) -> bool {
        self.is_load_balancer && !self.has_class
    }

    /// Whether its load balancer is to be deleted, as its finalizer says that it may have one. As
    /// `needsCleanup`.
    pub fn needs_cleanup(&self) -> bool {
        let is_over = self.meta.is_terminating() || !self.is_load_balancer;
        self.meta.has_finalizer(Self::CLEANUP) && is_over
    }
}

impl Kind for BalancedService {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "services", "Service");
}

impl Object for BalancedService {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(_: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode_json::<WireService>(bytes)?;
        let meta = wire.metadata.meta()?;
        Ok(wire.view(meta))
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self { unreadable: Some(error.clone()), ..WireService::default().view(meta) }
    }
}

// === Wire ===

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct WireService {
    metadata: wire::ObjectMeta,
    spec: WireSpec,
    status: WireStatus,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    r#type: String,
    #[serde(deserialize_with = "null_is_empty")]
    ports: Vec<WirePort>,
    load_balancer_class: Option<String>,
    #[serde(rename = "loadBalancerIP")]
    load_balancer_ip: String,
    #[serde(deserialize_with = "null_is_empty")]
    load_balancer_source_ranges: Vec<String>,
    #[serde(rename = "externalIPs", deserialize_with = "null_is_empty")]
    external_ips: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    ip_families: Vec<String>,
    session_affinity: String,
    session_affinity_config: Option<WireAffinity>,
    external_traffic_policy: String,
    health_check_node_port: i32,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct WireAffinity {
    #[serde(rename = "clientIP")]
    client_ip: Option<WireClient>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireClient {
    timeout_seconds: Option<i32>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WirePort {
    name: String,
    protocol: String,
    app_protocol: Option<String>,
    port: i32,
    node_port: i32,
    target_port: WireTarget,
}

#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    load_balancer: WireBalancer,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct WireBalancer {
    #[serde(deserialize_with = "null_is_empty")]
    ingress: Vec<Ingress>,
}

impl WireService {
    fn view(self, meta: Meta) -> BalancedService {
        let Self { metadata, spec, status } = self;
        let annotations =
            metadata.annotations().map(|(key, value)| (intern(key), Text::from(&*value)));
        let texts = |all: &[String]| all.iter().map(|text| Text::from(text.as_str())).collect();
        let client = spec.session_affinity_config.and_then(|config| config.client_ip);
        BalancedService {
            is_load_balancer: spec.r#type == "LoadBalancer",
            has_class: spec.load_balancer_class.is_some(),
            spec: Arc::new(BalancerSpec {
                key: meta.key.clone(),
                uid: meta.uid.clone(),
                annotations: annotations.collect(),
                ports: spec.ports.iter().map(WirePort::view).collect(),
                load_balancer_ip: spec.load_balancer_ip.as_str().into(),
                source_ranges: texts(&spec.load_balancer_source_ranges),
                external_ips: texts(&spec.external_ips),
                families: texts(&spec.ip_families),
                session_affinity: intern(&spec.session_affinity),
                affinity_seconds: client.and_then(|client| client.timeout_seconds),
                external_traffic_policy: intern(&spec.external_traffic_policy),
                health_check_node_port: spec.health_check_node_port,
            }),
            ingress: status.load_balancer.ingress.into(),
            meta,
            unreadable: None,
        }
    }
}

impl WirePort {
    fn view(&self) -> BalancerPort {
        BalancerPort {
            name: intern(&self.name),
            protocol: intern(&self.protocol),
            app_protocol: self.app_protocol.as_deref().map(intern),
            port: self.port,
            node_port: self.node_port,
            target: self.target_port.view(),
        }
    }
}
