//! The kinds of networking.k8s.io.

mod addresses;
mod ingress;
mod policy;

pub use addresses::{IPAddress, ServiceCIDR};
pub use ingress::{Ingress, IngressClass};
pub use policy::NetworkPolicy;
