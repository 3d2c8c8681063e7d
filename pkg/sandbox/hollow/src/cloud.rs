//! A cloud that is not there: load balancers are addresses, routes are entries of a table, and the
//! instances are the machines of the kubelets.
//!
//! Machines that are no kubelet's here are another cloud's: they exist, and are on.

#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::{BalancerSpec, Ingress, Key, Text};
use cloud::{Addresses, Failure, Instance, Instances, LoadBalancers, Pending, Route, Routes};

use crate::Kubelet;

const NAME: &str = "hollow";
/// The text with which a load balancer fails.
const ERROR: &str = "sandbox/load-balancer-error";
/// The addresses of load balancers: the range for tests of devices, RFC 2544.
const FIRST: u32 = 0xc612_0001;
const LAST: u32 = 0xc613_fffe;

/// The cloud around the machines of some kubelets.
pub struct Cloud {
    kubelets: Arc<Mutex<Kubelet>>,
    state: Mutex<State>,
}

/// Load balancers, by cluster and uid of the Service; routes, by cluster and name.
#[derive(Default)]
struct State {
    balancers: BTreeMap<(String, Text), Balancer>,
    routes: BTreeMap<(String, Text), Route>,
}

struct Balancer {
    service: Key,
    address: IpAddr,
    nodes: Vec<Text>,
}

// === impl Cloud ===

impl Cloud {
    /// A cloud with the machines of these kubelets.
    pub fn new(kubelets: Arc<Mutex<Kubelet>>) -> Self {
        Self { kubelets, state: Mutex::default() }
    }

    /// The Services with load balancers, and the nodes that these lead to.
    pub fn balancers(&self) -> BTreeMap<Key, Vec<Text>> {
        let state = self.state();
        let balancers = state.balancers.values();
        balancers.map(|it| (it.service.clone(), it.nodes.clone())).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kubelets(&self) -> MutexGuard<'_, Kubelet> {
        self.kubelets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl cloud::Cloud for Cloud {
    fn name(&self) -> &str {
        NAME
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        Some(self)
    }

    fn routes(&self) -> Option<&dyn Routes> {
        Some(self)
    }

    fn instances(&self) -> Option<&dyn Instances> {
        Some(self)
    }
}

impl LoadBalancers for Cloud {
    fn get<'a>(
        &'a self,
        cluster: &'a str,
        service: &'a BalancerSpec,
    ) -> Pending<'a, Option<Addresses>> {
        let state = self.state();
        let found = state.balancers.get(&(cluster.to_owned(), service.uid.clone()));
        at_once(Ok(found.map(Balancer::addresses)))
    }

    fn ensure<'a>(
        &'a self,
        cluster: &'a str,
        service: &'a BalancerSpec,
        nodes: &'a [Instance],
    ) -> Pending<'a, Option<Addresses>> {
        at_once(self.state().ensure(cluster, service, nodes).map(Some))
    }

    fn update<'a>(
        &'a self,
        cluster: &'a str,
        service: &'a BalancerSpec,
        nodes: &'a [Instance],
    ) -> Pending<'a, ()> {
        let mut state = self.state();
        let found = state.balancers.get_mut(&(cluster.to_owned(), service.uid.clone()));
        at_once(match found {
            Some(balancer) => {
                balancer.nodes = names(nodes);
                Ok(())
            }
            None => Err(format!("{} has no load balancer", service.key).as_str().into()),
        })
    }

    fn ensure_deleted<'a>(
        &'a self,
        cluster: &'a str,
        service: &'a BalancerSpec,
    ) -> Pending<'a, ()> {
        self.state().balancers.remove(&(cluster.to_owned(), service.uid.clone()));
        at_once(Ok(()))
    }
}

impl Routes for Cloud {
    fn list<'a>(&'a self, cluster: &'a str) -> Pending<'a, Vec<Route>> {
        let state = self.state();
        let own = state.routes.iter().filter(|((of, _), _)| of == cluster);
        at_once(Ok(own.map(|(_, route)| route.clone()).collect()))
    }

    fn create<'a>(&'a self, cluster: &'a str, hint: &'a str, route: &'a Route) -> Pending<'a, ()> {
        let name = Text::from(format!("{cluster}-{hint}-{}", route.cidr));
        let route = Route { name: name.clone(), ..route.clone() };
        self.state().routes.insert((cluster.to_owned(), name), route);
        at_once(Ok(()))
    }

    fn delete<'a>(&'a self, cluster: &'a str, route: &'a Route) -> Pending<'a, ()> {
        self.state().routes.remove(&(cluster.to_owned(), route.name.clone()));
        at_once(Ok(()))
    }
}

impl Instances for Cloud {
    fn exists<'a>(&'a self, instance: &'a Instance) -> Pending<'a, bool> {
        at_once(Ok(!self.kubelets().is_terminated(&instance.name)))
    }

    fn is_shut_down<'a>(&'a self, instance: &'a Instance) -> Pending<'a, bool> {
        at_once(Ok(self.kubelets().is_off(&instance.name)))
    }
}

fn at_once<'a, T: Send + 'a>(result: Result<T, Failure>) -> Pending<'a, T> {
    Box::pin(ready(result))
}

fn names(nodes: &[Instance]) -> Vec<Text> {
    nodes.iter().map(|node| node.name.clone()).collect()
}

// === impl State ===

impl State {
    fn ensure(
        &mut self,
        cluster: &str,
        service: &BalancerSpec,
        nodes: &[Instance],
    ) -> Result<Addresses, Failure> {
        if let Some(error) = service.annotations.get(ERROR) {
            return Err(Failure::from(&**error));
        }
        let id = (cluster.to_owned(), service.uid.clone());
        let asked: Option<IpAddr> = service.load_balancer_ip.parse().ok();
        let known = self.balancers.get(&id).map(|balancer| balancer.address);
        let address = match known.filter(|known| asked.is_none_or(|asked| asked == *known)) {
            Some(known) => known,
            None => self.free(asked)?,
        };
        let balancer = Balancer { service: service.key.clone(), address, nodes: names(nodes) };
        let addresses = balancer.addresses();
        self.balancers.insert(id, balancer);
        Ok(addresses)
    }

    /// An address that no load balancer has: this one, if one is asked for.
    fn free(&self, asked: Option<IpAddr>) -> Result<IpAddr, Failure> {
        let taken: BTreeSet<IpAddr> = self.balancers.values().map(|it| it.address).collect();
        let mut all = (FIRST..=LAST).map(|number| IpAddr::V4(Ipv4Addr::from(number)));
        let found = match asked {
            Some(asked) => Some(asked).filter(|asked| !taken.contains(asked)),
            None => all.find(|address| !taken.contains(address)),
        };
        found.ok_or_else(|| "no address is free".into())
    }
}

impl Balancer {
    fn addresses(&self) -> Addresses {
        let (ip, ip_mode) = (Some(self.address.to_string()), Some("VIP".to_owned()));
        vec![Ingress { ip, ip_mode, ..Ingress::default() }]
    }
}
