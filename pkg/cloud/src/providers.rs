//! What a provider implements.

use std::pin::Pin;

use api::BalancerSpec;

use crate::{Addresses, Failure, Instance, Route};

/// The result of a call, later. The caller limits the time; a call that is dropped may have been
/// done.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'a>>;

/// A cloud. What it does not support is none.
pub trait Cloud: Send + Sync {
    /// Its name, which provider IDs begin with.
    fn name(&self) -> &str;

    /// Its load balancers.
    fn load_balancers(&self) -> Option<&dyn LoadBalancers>;

    /// Its routes.
    fn routes(&self) -> Option<&dyn Routes>;

    /// Its machines.
    fn instances(&self) -> Option<&dyn Instances>;
}

/// Load balancers, one for each Service that wants one. `cluster` is `--cluster-name`.
pub trait LoadBalancers: Send + Sync {
    /// The name of the load balancer of a Service.
    fn balancer_name(&self, cluster: &str, service: &BalancerSpec) -> String {
        let _ = cluster;
        default_name(service)
    }

    /// The load balancer of a Service; none: it has none.
    fn get<'a>(
        &'a self,
        cluster: &'a str,
        service: &'a BalancerSpec,
    ) -> Pending<'a, Option<Addresses>>;

    /// Makes a load balancer, or changes the one that there is. None is a mistake of the provider.
    fn ensure<'a>(
        &'a self,
        cluster: &'a str,
        service: &'a BalancerSpec,
        nodes: &'a [Instance],
    ) -> Pending<'a, Option<Addresses>>;

    /// Changes where a load balancer leads to.
    fn update<'a>(
        &'a self,
        cluster: &'a str,
        service: &'a BalancerSpec,
        nodes: &'a [Instance],
    ) -> Pending<'a, ()>;

    /// Deletes a load balancer, with all of its parts. That there is none is success.
    fn ensure_deleted<'a>(&'a self, cluster: &'a str, service: &'a BalancerSpec)
    -> Pending<'a, ()>;
}

/// Routes between the nodes of a cluster. `cluster` is `--cluster-name`.
pub trait Routes: Send + Sync {
    /// All routes of the cluster.
    fn list<'a>(&'a self, cluster: &'a str) -> Pending<'a, Vec<Route>>;

    /// Makes a route. Its name may be made from `hint`.
    fn create<'a>(&'a self, cluster: &'a str, hint: &'a str, route: &'a Route) -> Pending<'a, ()>;

    /// Deletes a route as it was listed.
    fn delete<'a>(&'a self, cluster: &'a str, route: &'a Route) -> Pending<'a, ()>;
}

/// The machines behind nodes. As upstream's `InstancesV2`.
pub trait Instances: Send + Sync {
    /// Whether the machine exists, on or off. If not, its node is deleted.
    fn exists<'a>(&'a self, instance: &'a Instance) -> Pending<'a, bool>;

    /// Whether the machine is shut down.
    fn is_shut_down<'a>(&'a self, instance: &'a Instance) -> Pending<'a, bool>;
}

/// A name for the load balancer of a Service: `a` and its uid, without dashes, 32 characters at
/// most. Upstream's `DefaultLoadBalancerName`.
pub fn default_name(service: &BalancerSpec) -> String {
    let uid = service.uid.chars().filter(|c| *c != '-');
    std::iter::once('a').chain(uid).take(32).collect()
}
