//! What a cloud can do for a cluster, as traits, and the values that go in and out: load balancers,
//! routes and instances. As `k8s.io/cloud-provider` (cloud.go).
//!
//! A [`Cloud`] is an optional door of the engine. A plan asks it with an [`Ask`], which changes
//! nothing, and has it act with an [`Order`]; both are data, and print as text. The product has no
//! cloud, as upstream's kube-controller-manager has none since 1.31. The sandbox has one.

mod order;
mod providers;

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use api::{Ingress, Machine, NodeAddress, Text};

pub use order::{Ask, Order};
pub use providers::{Cloud, Instances, LoadBalancers, Pending, Routes, default_name};

/// A node as the machine behind it is asked about, and as load balancers lead to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instance {
    /// The name of the node.
    pub name: Text,
    /// `spec.providerID`; empty: only the name is known.
    pub provider_id: Text,
    /// The addresses that its status lists.
    pub addresses: Box<[NodeAddress]>,
}

/// A rule that leads a range of addresses to a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// Its name in the cloud; of no meaning when it is made.
    pub name: Text,
    /// The node; empty: none.
    pub node: Text,
    /// The addresses of that node.
    pub addresses: Box<[NodeAddress]>,
    /// Whether the cloud minds them: then a route with others is made anew.
    pub minds_addresses: bool,
    /// The range, such as `10.0.1.0/24`.
    pub cidr: Text,
    /// Whether it leads nowhere.
    pub is_blackhole: bool,
}

/// The addresses of a load balancer: `status.loadBalancer.ingress`.
pub type Addresses = Vec<Ingress>;

/// What a cloud replied to an [`Ask`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The load balancer; none: there is none.
    Balancer(Option<Addresses>),
    /// All routes of the cluster.
    Routes(Vec<Route>),
    /// Yes or no.
    Is(bool),
}

/// The result of an [`Order`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The addresses of a load balancer that was ensured; none of any other order.
    pub result: Result<Option<Addresses>, Failure>,
    /// How long it took.
    pub took: Duration,
}

/// Why a cloud did not do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong, for people.
    pub text: String,
    /// What follows from it.
    pub trouble: Trouble,
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is to be tried again, with back-off.
    Failed,
    /// It is to be tried again after this delay. Upstream's `api.RetryError`.
    NotYet(Duration),
    /// Another program does it. Upstream's `ImplementedElsewhere`.
    Elsewhere,
}

// === impl Instance ===

impl Instance {
    /// The machine of a node.
    pub fn of(machine: &Machine) -> Self {
        Self {
            name: machine.meta.key.name.clone(),
            provider_id: machine.provider_id.clone(),
            addresses: machine.addresses.clone(),
        }
    }
}

// === impl Failure ===

impl Failure {
    /// Another program does it, as upstream's error says it.
    pub fn elsewhere() -> Self {
        let text = "implemented by alternate to cloud provider".to_owned();
        Self { text, trouble: Trouble::Elsewhere }
    }

    /// Not yet; to be tried again after `delay`.
    pub fn not_yet(text: impl Into<String>, delay: Duration) -> Self {
        Self { text: text.into(), trouble: Trouble::NotYet(delay) }
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), trouble: Trouble::Failed }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
