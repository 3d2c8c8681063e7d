//! Service: the view that controllers share.

use std::collections::BTreeMap;

use prost::Message;
use serde::{Deserialize, Deserializer};

use crate::wire::{self, null_is_empty};
use crate::{
    Codec, DecodeError, Family, Index, Kind, Labels, Meta, Object, Resource, Text, intern, parse_ip,
};

/// What controllers read of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Name, labels and so on.
    pub meta: Meta,
    /// Whether its type is `ExternalName`.
    pub is_external_name: bool,
    /// `spec.selector`; none: it is absent. An empty one is absent, too: so protobuf has it, as the
    /// API server stores it.
    pub selector: Option<Labels>,
    /// `spec.ports`.
    pub ports: Box<[ServicePort]>,
    /// `spec.clusterIP`: `None` for a headless one; empty if it has none yet.
    pub cluster_ip: Text,
    /// `spec.ipFamilies`, as far as they are known.
    pub families: Box<[Family]>,
    /// `spec.publishNotReadyAddresses`.
    pub publishes_not_ready: bool,
    /// How many ports of nodes its type makes it take. As upstream's pkg/quota/v1 counts them.
    pub node_ports: u32,
    /// Whether its type is `LoadBalancer`.
    pub is_load_balancer: bool,
    /// `spec.trafficDistribution`.
    pub traffic_distribution: Option<Text>,
    /// What the annotation [`Service::TOPOLOGY_HINTS`] says, or else [`Service::TOPOLOGY_MODE`].
    pub topology_mode: Option<Text>,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// An entry of `spec.ports`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServicePort {
    /// May be empty.
    pub name: Text,
    /// Such as `TCP`.
    pub protocol: Text,
    /// `appProtocol`.
    pub app_protocol: Option<Text>,
    /// Where it leads to.
    pub target: TargetPort,
}

/// `targetPort`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetPort {
    /// This port of the pod.
    Number(i32),
    /// The port of the pod with this name.
    Name(Text),
}

impl Service {
    /// Upstream's `namespace`: all Services of a namespace.
    pub const BY_NAMESPACE: &'static str = "namespace";
    /// Services by the pair of their selector that the fewest pods may have, as
    /// `namespace/key=value`: who looks for those that select a pod looks under each of its labels.
    pub const BY_SELECTOR: &'static str = "selector";
    /// The older annotation that asks for hints by topology, which counts first. Upstream's
    /// `DeprecatedAnnotationTopologyAwareHints`.
    pub const TOPOLOGY_HINTS: &'static str = "service.kubernetes.io/topology-aware-hints";
    /// The newer one. Upstream's `AnnotationTopologyMode`.
    pub const TOPOLOGY_MODE: &'static str = "service.kubernetes.io/topology-mode";
    /// The label that says of endpoints that their Service has no cluster IP. Upstream's
    /// `IsHeadlessService`.
    pub const HEADLESS: &'static str = "service.kubernetes.io/headless";

    /// Whether `clusterIP` says that it is to have none.
    pub fn is_headless(&self) -> bool {
        &*self.cluster_ip == "None"
    }

    /// Whether it has a cluster IP. As `IsServiceIPSet`.
    pub fn has_cluster_ip(&self) -> bool {
        !self.cluster_ip.is_empty() && !self.is_headless()
    }

    /// The family of its cluster IP; none if it has none. What is no address is IPv4, as upstream.
    pub fn cluster_family(&self) -> Option<Family> {
        let family = || parse_ip(&self.cluster_ip).map_or(Family::V4, Family::of);
        self.has_cluster_ip().then(family)
    }

    /// The value under which [`Self::BY_SELECTOR`] finds the Services of a namespace whose selector
    /// has this pair.
    pub fn selector_value(namespace: &str, (key, value): (&str, &str)) -> String {
        format!("{namespace}/{key}={value}")
    }
}

impl Kind for Service {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "services", "Service");
}

impl Object for Service {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[
        Index::one(Self::BY_SELECTOR, |service| {
            // The longest value says the most.
            let pair = service.selector.as_ref()?.iter().max_by_key(|(_, value)| value.len())?;
            Some(Self::selector_value(&service.meta.key.namespace, pair).into())
        }),
        Index::by_namespace(Self::BY_NAMESPACE),
    ];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireService>(codec, bytes)?;
        let meta = wire.metadata.meta()?;
        Ok(wire.view(meta))
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self { unreadable: Some(error.clone()), ..WireService::default().view(meta) }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireService {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: WireSpec,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    ports: Vec<WirePort>,
    #[prost(btree_map = "string, string", tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    selector: BTreeMap<String, String>,
    #[prost(string, tag = "3")]
    #[serde(rename = "clusterIP")]
    cluster_ip: String,
    #[prost(string, tag = "4")]
    r#type: String,
    #[prost(bool, tag = "13")]
    publish_not_ready_addresses: bool,
    #[prost(string, repeated, tag = "19")]
    #[serde(deserialize_with = "null_is_empty")]
    ip_families: Vec<String>,
    #[prost(bool, optional, tag = "20")]
    allocate_load_balancer_node_ports: Option<bool>,
    #[prost(string, optional, tag = "23")]
    traffic_distribution: Option<String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WirePort {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    protocol: String,
    #[prost(message, required, tag = "4")]
    target_port: WireTarget,
    #[prost(int32, tag = "5")]
    node_port: i32,
    #[prost(string, optional, tag = "6")]
    app_protocol: Option<String>,
}

/// `intstr.IntOrString`: a number or a text in JSON.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct WireTarget {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int32, tag = "2")]
    number: i32,
    #[prost(string, tag = "3")]
    text: String,
}

impl<'de> Deserialize<'de> for WireTarget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(i32),
            Text(String),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Number(number) => Self { number, ..Self::default() },
            Either::Text(text) => Self { r#type: 1, text, ..Self::default() },
        })
    }
}

impl WireTarget {
    pub(crate) fn view(&self) -> TargetPort {
        match self.r#type {
            1 => TargetPort::Name(intern(&self.text)),
            _ => TargetPort::Number(self.number),
        }
    }
}

impl WireService {
    fn view(&self, meta: Meta) -> Service {
        let spec = &self.spec;
        let annotation = |key| self.metadata.annotation(key);
        let mode = annotation(Service::TOPOLOGY_HINTS);
        let mode = mode.or_else(|| annotation(Service::TOPOLOGY_MODE));
        Service {
            meta,
            is_external_name: spec.r#type == "ExternalName",
            selector: (!spec.selector.is_empty()).then(|| Labels::new(&spec.selector)),
            ports: spec.ports.iter().map(WirePort::view).collect(),
            cluster_ip: spec.cluster_ip.as_str().into(),
            families: spec.ip_families.iter().filter_map(|word| Family::parse(word)).collect(),
            publishes_not_ready: spec.publish_not_ready_addresses,
            node_ports: spec.node_ports(),
            is_load_balancer: spec.r#type == "LoadBalancer",
            traffic_distribution: spec.traffic_distribution.as_deref().map(intern),
            topology_mode: mode.map(|mode| intern(&mode)),
            unreadable: None,
        }
    }
}

impl WireSpec {
    /// Node ports may not be allocated yet, so that it takes one says its type.
    fn node_ports(&self) -> u32 {
        let count = match self.r#type.as_str() {
            "LoadBalancer" if self.allocate_load_balancer_node_ports == Some(false) => {
                self.ports.iter().filter(|port| port.node_port != 0).count()
            }
            "NodePort" | "LoadBalancer" => self.ports.len(),
            _ => 0,
        };
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

impl WirePort {
    fn view(&self) -> ServicePort {
        ServicePort {
            name: intern(&self.name),
            protocol: intern(&self.protocol),
            app_protocol: self.app_protocol.as_deref().map(intern),
            target: self.target_port.view(),
        }
    }
}
