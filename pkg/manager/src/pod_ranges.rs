//! The ranges that nodes get addresses for their pods from: flags, and what is wrong with them. As
//! `newNodeIpamController` in upstream's cmd/kube-controller-manager/app/core.go.

#[cfg(test)]
mod tests;

use anyhow::{Context as _, bail, ensure};
use api::Prefix;
use controllers::nodeipam::{ClusterRange, Controller};

use crate::flags::{Flags, handles};
use crate::options::Options;

/// Upstream's `defaultNodeMaskCIDRIPv4`.
const NODE_BITS_V4: u8 = 24;
/// Upstream's `defaultNodeMaskCIDRIPv6`.
const NODE_BITS_V6: u8 = 64;

/// Why no node gets ranges with these options; none: they do.
pub(crate) fn lacks(options: &Options) -> Option<&'static str> {
    let is_on = options.flags.switch(handles::ALLOCATE_NODE_CIDRS);
    (!is_on).then_some("--allocate-node-cidrs is false")
}

/// The controller with these options. An error, in upstream's words, if they do not fit together.
pub(crate) fn controller(options: &Options) -> anyhow::Result<Controller> {
    let flags = &options.flags;
    let prefixes = cluster(flags.text(handles::CLUSTER_CIDR))?;
    let services = services(flags.text(handles::SERVICE_CLUSTER_IP_RANGE))?;
    let bits = node_bits(flags, &prefixes)?;
    let kind = flags.text(handles::CIDR_ALLOCATOR_TYPE);
    // Others are refused before.
    ensure!(kind == "RangeAllocator", "invalid CIDR allocator type: {kind}");
    let ranges = prefixes.iter().zip(bits).map(|(prefix, bits)| range(*prefix, bits));
    Ok(Controller { ranges: ranges.collect::<anyhow::Result<_>>()?, services })
}

/// Why nodes get no routes from a cloud; none: they do. As `startRouteController` of upstream's
/// cmd/kube-controller-manager, when it had clouds.
pub(crate) fn lacks_routes(options: &Options) -> Option<&'static str> {
    let flags = &options.flags;
    let is_on =
        flags.switch(handles::ALLOCATE_NODE_CIDRS) && flags.switch(handles::CONFIGURE_CLOUD_ROUTES);
    (!is_on).then_some(
        "Will not configure cloud provider routes: --allocate-node-cidrs or \
         --configure-cloud-routes is false",
    )
}

/// The ranges inside which routes are the controller's. As `processCIDRs` of upstream's
/// k8s.io/cloud-provider/app/core.go and what follows it.
pub(crate) fn routes(options: &Options) -> anyhow::Result<Vec<Prefix>> {
    cluster(options.flags.text(handles::CLUSTER_CIDR))
}

/// As `validateCIDRs`.
fn cluster(text: &str) -> anyhow::Result<Vec<Prefix>> {
    let parse = |(at, text): (usize, &str)| {
        Prefix::parse_sloppy(text).with_context(|| {
            format!("--cluster-cidr: invalid CIDR[{at}]: <nil> (invalid CIDR address: {text})")
        })
    };
    let all = text.trim().split(',').enumerate().map(parse).collect::<anyhow::Result<Vec<_>>>()?;
    let count = all.len();
    let is_dual = all.iter().any(|it| it.is_v4()) && all.iter().any(|it| !it.is_v4());
    ensure!(
        count == 1 || is_dual,
        "len of ClusterCIDRs=={count} and they are not configured as dual stack (at least one from \
         each IPFamily"
    );
    ensure!(count <= 2, "length of clusterCIDRs is:{count} more than max allowed of 2");
    Ok(all)
}

/// What cannot be read is only logged.
fn services(text: &str) -> anyhow::Result<Vec<Prefix>> {
    let mut all = Vec::new();
    for text in text.split(',').filter(|text| !text.trim().is_empty()) {
        if let Some(prefix) = Prefix::parse_sloppy(text) {
            all.push(prefix);
        } else {
            let flag = "--service-cluster-ip-range";
            tracing::warn!(flag, cidr = text, "a range of Services cannot be read: left out");
        }
    }
    if let [first, second] = all[..] {
        ensure!(
            first.is_v4() != second.is_v4(),
            "serviceCIDR and secondaryServiceCIDR are not dualstack (from different IPfamiles)"
        );
    }
    Ok(all)
}

/// The prefix length of the blocks of each range. As `setNodeCIDRMaskSizes`.
fn node_bits(flags: &Flags, ranges: &[Prefix]) -> anyhow::Result<Vec<i32>> {
    let [both, v4, v6] = [
        handles::NODE_CIDR_MASK_SIZE,
        handles::NODE_CIDR_MASK_SIZE_IPV4,
        handles::NODE_CIDR_MASK_SIZE_IPV6,
    ]
    .map(|flag| Some(flags.int32(flag)).filter(|bits| *bits != 0));
    let is_v4 = ranges.iter().all(|range| range.is_v4());
    if ranges.len() > 1 {
        ensure!(
            both.is_none(),
            "usage of --node-cidr-mask-size is not allowed with dual-stack clusters"
        );
    } else if both.is_some() {
        ensure!(
            v4.is_none() && v6.is_none(),
            "usage of --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 is not allowed if \
             --node-cidr-mask-size is set. For dual-stack clusters please unset it and use \
             IPFamily specific flags"
        );
    } else if v4.is_some() && !is_v4 {
        bail!("usage of --node-cidr-mask-size-ipv4 is not allowed for a single-stack IPv6 cluster");
    } else if v6.is_some() && is_v4 {
        bail!("usage of --node-cidr-mask-size-ipv6 is not allowed for a single-stack IPv4 cluster");
    }
    let bits = |range: &Prefix| {
        let (own, default) = if range.is_v4() { (v4, NODE_BITS_V4) } else { (v6, NODE_BITS_V6) };
        both.or(own).unwrap_or(default.into())
    };
    Ok(ranges.iter().map(bits).collect())
}

fn range(prefix: Prefix, bits: i32) -> anyhow::Result<ClusterRange> {
    ensure!(
        bits >= i32::from(prefix.bits()),
        "Controller: Invalid --cluster-cidr, mask size of cluster CIDR must be less than or equal \
         to --node-cidr-mask-size configured for CIDR family"
    );
    let range = u8::try_from(bits).ok().and_then(|bits| ClusterRange::new(prefix, bits));
    range.context("New CIDR set failed; the node CIDR size is too big")
}
