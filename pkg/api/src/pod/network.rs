//! Where a pod can be reached.

use prost::Message;
use serde::Deserialize;

use super::{WireContainer, WireSpec, WireStatus};
use crate::{Text, intern};

/// The addresses, names and named ports of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// `status.podIPs`, or `status.podIP` alone, as the API server does; none: it has no address.
    pub ips: Box<[Text]>,
    /// Most pods have no names, and then these take no memory.
    pub names: Option<Box<Names>>,
}

/// What of a pod has a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// `spec.hostname`, may be empty.
    pub hostname: Text,
    /// `spec.subdomain`, may be empty.
    pub subdomain: Text,
    /// The ports that have a name, first those of its containers, then those of its sidecars.
    pub ports: Box<[NamedPort]>,
}

/// An entry of a container's `ports` that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPort {
    /// Its name.
    pub name: Text,
    /// Such as `TCP`.
    pub protocol: Text,
    /// `containerPort`.
    pub number: i32,
}

impl Network {
    /// Its ports that have a name.
    pub fn ports(&self) -> &[NamedPort] {
        self.names.as_ref().map_or(&[], |names| &names.ports)
    }

    /// Its hostname, and the domain that it is in; none: it has no such name.
    pub fn host(&self) -> Option<(&Text, &Text)> {
        let names = self.names.as_ref()?;
        (!names.hostname.is_empty()).then_some((&names.hostname, &names.subdomain))
    }
}

pub(super) fn of(spec: &WireSpec, status: &WireStatus) -> Network {
    let sidecars = spec.init_containers.iter().filter(|it| it.restart_policy == "Always");
    let ports = spec.containers.iter().chain(sidecars).flat_map(WireContainer::named_ports);
    let names = Names {
        hostname: intern(&spec.hostname),
        subdomain: intern(&spec.subdomain),
        ports: ports.collect(),
    };
    let mut ips: Vec<Text> = status.pod_ips.iter().map(|it| it.ip.as_str().into()).collect();
    if ips.is_empty() && !status.pod_ip.is_empty() {
        ips.push(status.pod_ip.as_str().into());
    }
    let has_names = names != Names::default();
    Network { ips: ips.into(), names: has_names.then(|| Box::new(names)) }
}

impl WireContainer {
    fn named_ports(&self) -> impl Iterator<Item = NamedPort> {
        let named = self.ports.iter().filter(|port| !port.name.is_empty());
        named.map(|port| NamedPort {
            name: intern(&port.name),
            protocol: intern(&port.protocol),
            number: port.container_port,
        })
    }
}

/// `v1.ContainerPort`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireContainerPort {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "3")]
    container_port: i32,
    #[prost(string, tag = "4")]
    protocol: String,
}

/// `v1.PodIP`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct WireIp {
    #[prost(string, tag = "1")]
    ip: String,
}
