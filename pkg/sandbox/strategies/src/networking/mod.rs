//! The kinds of networking.k8s.io.

mod addresses;

pub use addresses::{IPAddress, ServiceCIDR};
