//! Ranges of addresses of Services: one that is deleted stays for as long as it is needed.

use std::net::IpAddr;
use std::time::Duration;

use api::Time;
use serde_json::Value;

use super::fields::{at, is_ending, list, text, uid};
use super::{Judged, Oracle};
use crate::site::START;

pub(super) const ACCOUNT: &str = "service-cidrs-controller";
const FINALIZER: &str = "networking.k8s.io/service-cidr-finalizer";
/// How long one that is deleted stays in any case: upstream's `deletionGracePeriod`.
const GRACE: Duration = Duration::from_secs(10);

/// An address and how many of its bits count.
type Prefix = (IpAddr, u32);

impl Oracle {
    /// Why a range is not to be let go.
    pub(super) fn range_is_held(&self, it: &Judged<'_>) -> Option<String> {
        let range = it.changed().filter(|_| it.account == ACCOUNT)?;
        let lets_go = is_protected(range) && !is_protected(it.got) && it.target.sub.is_empty();
        if !lets_go {
            return None;
        }
        if !is_ending(range) {
            return Some(format!("{it}: it is not being deleted"));
        }
        let since = Time::parse(text(range, "/metadata/deletionTimestamp")).ok()?;
        let now = START + it.at + self.clocks.ahead(it.life, self.decider.begun);
        if now < since + GRACE {
            return Some(format!("{it}: addresses of it may still be given away"));
        }
        let was = self.objects.before(self.seen("ServiceCIDR"));
        let was = was.filter(|(key, _)| key.0 == "ServiceCIDR").filter_map(|(_, it)| it.as_ref());
        let others = was.chain(self.objects.of_kind("ServiceCIDR")).map(|it| &**it);
        let is_known = |address: &Value| {
            let born = self.born.get(uid(address));
            born.is_some_and(|born| self.knows("IPAddress", *born))
        };
        let held = self.held_by(range, others, is_known)?;
        Some(format!("{it}: a Service has {held}"))
    }

    /// At the end a range is ready.
    pub(super) fn range_lacks(&self, range: &Value) -> Option<String> {
        // Elsewhere there is one that nobody looks after.
        if !self.knowledge.has(ACCOUNT) {
            return None;
        }
        let is_ready = |it: &Value| text(it, "/type") == "Ready" && text(it, "/status") == "True";
        let is_ready = list(range, "/status/conditions").iter().any(is_ready);
        (!is_ready || !is_protected(range)).then(|| "is not ready".to_owned())
    }

    /// Whether a range that is being deleted may stay.
    pub(super) fn keeps_range(&self, range: &Value) -> bool {
        let others = self.objects.of_kind("ServiceCIDR").map(|it| &**it);
        self.held_by(range, others, |_| true).is_some()
    }

    /// The address that is of this range alone, if not all of it is of others.
    fn held_by<'a>(
        &'a self,
        range: &Value,
        others: impl Iterator<Item = &'a Value>,
        is_known: impl Fn(&Value) -> bool,
    ) -> Option<IpAddr> {
        let own = prefixes(range);
        let others = others.filter(|it| at(it, "/metadata/name") != at(range, "/metadata/name"));
        let others: Vec<_> = others.flat_map(prefixes).collect();
        if own.iter().all(|own| others.iter().any(|it| it.1 <= own.1 && holds(it, own.0))) {
            return None;
        }
        let managed = |it: &Value| {
            let label = "/metadata/labels/ipaddress.kubernetes.io~1managed-by";
            text(it, label) == "ipallocator.k8s.io" && is_known(it)
        };
        let all = self.objects.of_kind("IPAddress").filter(|it| managed(it));
        let mut all = all.filter_map(|it| text(it, "/metadata/name").parse::<IpAddr>().ok());
        let is_in = |those: &[Prefix], ip: IpAddr| those.iter().any(|it| holds(it, ip));
        all.find(|ip| is_in(&own, *ip) && !is_in(&others, *ip))
    }
}

fn is_protected(range: &Value) -> bool {
    list(range, "/metadata/finalizers").iter().any(|it| it == FINALIZER)
}

fn prefixes(range: &Value) -> Vec<Prefix> {
    let all = list(range, "/spec/cidrs").iter().filter_map(|it| it.as_str()?.split_once('/'));
    all.filter_map(|(ip, bits)| Some((ip.parse().ok()?, bits.parse().ok()?))).collect()
}

/// Whether an address is of a range; its first and its last are of none here.
fn holds((network, bits): &Prefix, ip: IpAddr) -> bool {
    match (*network, ip) {
        (IpAddr::V4(network), IpAddr::V4(ip)) => {
            let rest = 32 - bits;
            u32::from(network) >> rest == u32::from(ip) >> rest
        }
        (IpAddr::V6(network), IpAddr::V6(ip)) => {
            let rest = 128 - bits;
            u128::from(network) >> rest == u128::from(ip) >> rest
        }
        _ => false,
    }
}
