//! Delegated authentication and authorization of the secure port.
//!
//! A [`Guard`] checks each request. It finds the user by, in this order, the headers of a front
//! proxy, the client certificate, and the bearer token (a TokenReview); a request without
//! credentials is `system:anonymous`. Then it decides: `system:masters` may do everything, some
//! paths are open to all, and for the rest it asks the API server (a SubjectAccessReview).
//! Behaviour and responses are those of k8s.io/apiserver as kube-controller-manager configures it
//! (pkg/server/options/authentication.go and authorization.go).

mod access;
mod answer;
mod bundle;
mod certificate;
mod decision;
mod front_proxy;
mod guard;
mod lookup;
mod metrics;
mod percent;
mod review;
mod token;
mod trust;
mod user;

#[cfg(test)]
mod tests;

pub use access::Object;
pub use guard::{Error, Guard, Settings};
pub use metrics::Metrics;
pub use trust::ProxySettings;
pub use user::User;
