//! What a sync of a range looks at.

use core::net::IpAddr;
use std::sync::Arc;

use api::{IpAddress, Key, ServiceCidr, Time};
use controller::View;
use mutant::Mutant;

/// A range at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// How often in a row it has failed before.
    pub failures: u32,
    /// The range.
    pub cidr: Arc<ServiceCidr>,
    /// The other ranges, also those that are being deleted; none of a range that stays.
    pub others: Vec<Arc<ServiceCidr>>,
    /// The addresses that Services have; none of a range that stays.
    pub addresses: Vec<IpAddr>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let cidr = view.of::<ServiceCidr>().get(key)?;
    let (mut others, mut addresses) = (Vec::new(), Vec::new());
    if cidr.meta.is_terminating() {
        others = view.of::<ServiceCidr>().all();
        others.retain(|other| other.meta.key != *key);
        let all = view.of::<IpAddress>().all();
        addresses = all.iter().filter_map(|address| address.of_service()).collect();
    }
    Some(Snapshot { now: view.now, failures: view.failures, cidr, others, addresses })
}

// === impl Snapshot ===

impl Snapshot {
    /// The first address that only this range offers. As the end of `canDeleteCIDR`.
    pub(super) fn orphan(&self) -> Option<IpAddr> {
        let offered = |cidr: &ServiceCidr, ip: IpAddr| {
            cidr.prefixes.iter().filter(|prefix| prefix.offers(ip)).count()
        };
        let of_family =
            |ip: &IpAddr| self.cidr.prefixes.iter().any(|it| it.is_v4() == ip.is_ipv4());
        let is_orphan = |ip: &IpAddr| {
            offered(&self.cidr, *ip) == 1 && self.others.iter().all(|it| offered(it, *ip) == 0)
        };
        let mut all = self.addresses.iter().copied().filter(of_family);
        all.find(is_orphan).filter(|_| !mutant::is(Mutant::AddressesUnheld))
    }

    /// Whether each of its CIDRs is covered by another range. As the start of `canDeleteCIDR`.
    pub(super) fn is_covered(&self) -> bool {
        self.cidr.prefixes.iter().all(|own| {
            self.others.iter().any(|other| other.prefixes.iter().any(|it| it.covers(*own)))
        })
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let ServiceCidr { meta, ready, .. } = &*self.cidr;
        let ready = ready.as_ref().map_or("none".to_owned(), |it| format!("{:?}", it.status));
        vec![
            ("being deleted", meta.is_terminating().to_string()),
            ("finalizers", meta.finalizers.join(", ")),
            ("ready", ready),
            ("other ranges", self.others.len().to_string()),
            ("addresses of Services", self.addresses.len().to_string()),
        ]
    }
}
