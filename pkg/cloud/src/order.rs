//! What a plan asks a cloud, and what it has it do, as data.

use std::fmt;
use std::sync::Arc;

use api::{BalancerSpec, Text};

use crate::{Instance, Route};

/// A question, which changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// Whether a Service has a load balancer; [`crate::Reply::Balancer`].
    Balancer {
        /// `--cluster-name`.
        cluster: Text,
        /// The Service.
        service: Arc<BalancerSpec>,
    },
    /// All routes of the cluster; [`crate::Reply::Routes`].
    Routes {
        /// `--cluster-name`.
        cluster: Text,
    },
    /// Whether the machine of a node exists, on or off; [`crate::Reply::Is`].
    Exists(Arc<Instance>),
    /// Whether it is shut down; [`crate::Reply::Is`].
    IsShutDown(Arc<Instance>),
}

/// Something that a cloud is to do. Each can be repeated: a second time it changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// A Service is to have a load balancer that leads to these nodes.
    Ensure {
        /// `--cluster-name`.
        cluster: Text,
        /// The Service.
        service: Arc<BalancerSpec>,
        /// The nodes, sorted by name.
        nodes: Arc<[Instance]>,
    },
    /// A load balancer is to lead to these nodes.
    Update {
        /// `--cluster-name`.
        cluster: Text,
        /// The Service.
        service: Arc<BalancerSpec>,
        /// The nodes, sorted by name.
        nodes: Arc<[Instance]>,
    },
    /// A Service is to have no load balancer.
    Delete {
        /// `--cluster-name`.
        cluster: Text,
        /// The Service.
        service: Arc<BalancerSpec>,
    },
    /// A route is to be made.
    CreateRoute {
        /// `--cluster-name`.
        cluster: Text,
        /// From which its name may be made.
        hint: Text,
        /// The route.
        route: Route,
    },
    /// A route is to be deleted.
    DeleteRoute {
        /// `--cluster-name`.
        cluster: Text,
        /// The route, as the cloud listed it.
        route: Route,
    },
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Balancer { service, .. } => write!(f, "cloud: load balancer of {}", service.key),
            Self::Routes { cluster } => write!(f, "cloud: routes of {cluster}"),
            Self::Exists(it) => write!(f, "cloud: does the instance of {} exist", it.name),
            Self::IsShutDown(it) => write!(f, "cloud: is the instance of {} shut down", it.name),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write = |f: &mut fmt::Formatter<'_>, verb, service: &BalancerSpec, nodes: &[_]| {
            let names: Vec<&str> = nodes.iter().map(|it: &Instance| &*it.name).collect();
            write!(f, "cloud: {verb} load balancer of {} to [{}]", service.key, names.join(" "))
        };
        match self {
            Self::Ensure { service, nodes, .. } => write(f, "ensure", service, nodes),
            Self::Update { service, nodes, .. } => write(f, "update", service, nodes),
            Self::Delete { service, .. } => {
                write!(f, "cloud: delete load balancer of {}", service.key)
            }
            Self::CreateRoute { hint, route: Route { cidr, node, .. }, .. } => {
                write!(f, "cloud: create route {cidr} to {node} with hint {hint}")
            }
            Self::DeleteRoute { route: Route { name, cidr, node, .. }, .. } => {
                write!(f, "cloud: delete route {name} {cidr} to {node}")
            }
        }
    }
}
