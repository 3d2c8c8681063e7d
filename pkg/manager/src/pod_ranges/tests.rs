//! Flags, after upstream's `core_test.go` and `validateCIDRs`.

use super::*;

fn with(words: &str) -> Result<String, String> {
    let words = words.split_whitespace().map(|word| format!("--{word}"));
    let options = Options::parse(words).map_err(|failure| failure.text().to_owned())?;
    let made = controller(&options).map_err(|error| error.to_string())?;
    let services: Vec<_> = made.services.iter().map(ToString::to_string).collect();
    let ranges = made.ranges.iter().map(|range| format!("{range:?}"));
    let bits = |text: &str| text.rsplit("node_bits: ").next().unwrap_or_default().to_owned();
    let shown = ranges.zip(made.ranges.iter()).map(|(debug, range)| {
        format!("{} {}", range.prefix(), bits(&debug).trim_end_matches(" }"))
    });
    Ok(shown.chain(services).collect::<Vec<_>>().join(", "))
}

/// The sizes of upstream's TestSetNodeCIDRMaskSizes (its rows are the cases of the function), and
/// of the card.
#[test]
fn sizes_follow_the_family() {
    for (words, shown) in [
        ("cluster-cidr=10.244.0.0/16", "10.244.0.0/16 24"),
        ("cluster-cidr=10.244.3.7/16", "10.244.0.0/16 24"),
        ("cluster-cidr=010.244.0.0/016", "10.244.0.0/16 24"),
        ("cluster-cidr=fd00:1::/56", "fd00:1::/56 64"),
        ("cluster-cidr=10.244.0.0/16 node-cidr-mask-size=26", "10.244.0.0/16 26"),
        ("cluster-cidr=10.244.0.0/16 node-cidr-mask-size-ipv4=25", "10.244.0.0/16 25"),
        ("cluster-cidr=fd00:1::/56 node-cidr-mask-size-ipv6=66", "fd00:1::/56 66"),
        ("cluster-cidr=fd00:1::/56 node-cidr-mask-size=66", "fd00:1::/56 66"),
        (
            "cluster-cidr=fd00::/56,10.0.0.0/8 node-cidr-mask-size-ipv4=20",
            "fd00::/56 64, 10.0.0.0/8 20",
        ),
        (
            "cluster-cidr=10.0.0.0/8 service-cluster-ip-range=10.96.0.0/12,fd00::/108",
            "10.0.0.0/8 24, 10.96.0.0/12, fd00::/108",
        ),
        (
            "cluster-cidr=10.0.0.0/8 service-cluster-ip-range=a,fd00::/108",
            "10.0.0.0/8 24, fd00::/108",
        ),
    ] {
        assert_eq!(with(words).as_deref(), Ok(shown), "{words}");
    }
}

/// The errors of `newNodeIpamController`, `validateCIDRs`, `NewNodeIpamController` and
/// `NewCIDRSet`.
#[test]
fn what_does_not_fit_is_refused() {
    for (words, error) in [
        ("", "invalid CIDR[0]: <nil> (invalid CIDR address: )"),
        ("cluster-cidr=10.0.0.0/8,x", "invalid CIDR[1]: <nil> (invalid CIDR address: x)"),
        ("cluster-cidr=10.0.0.0/33", "invalid CIDR address: 10.0.0.0/33"),
        ("cluster-cidr=10.0.0.0/8,11.0.0.0/8", "are not configured as dual stack"),
        ("cluster-cidr=10.0.0.0/8,11.0.0.0/8,fd00::/56", "more than max allowed of 2"),
        ("cluster-cidr=10.0.0.0/8,fd00::/56 node-cidr-mask-size=24", "with dual-stack clusters"),
        (
            "cluster-cidr=10.0.0.0/8 node-cidr-mask-size=24 node-cidr-mask-size-ipv4=24",
            "if --node-cidr-mask-size is set",
        ),
        ("cluster-cidr=fd00::/56 node-cidr-mask-size-ipv4=24", "a single-stack IPv6 cluster"),
        ("cluster-cidr=10.0.0.0/8 node-cidr-mask-size-ipv6=64", "a single-stack IPv4 cluster"),
        ("cluster-cidr=10.0.0.0/25", "mask size of cluster CIDR must be less than or equal"),
        ("cluster-cidr=10.0.0.0/8 node-cidr-mask-size=-1", "mask size of cluster CIDR"),
        ("cluster-cidr=fd00::/40", "the node CIDR size is too big"),
        ("cluster-cidr=10.0.0.0/8 node-cidr-mask-size=33", "the node CIDR size is too big"),
        (
            "cluster-cidr=10.0.0.0/8 service-cluster-ip-range=10.0.0.0/24,10.1.0.0/24",
            "serviceCIDR and secondaryServiceCIDR are not dualstack",
        ),
    ] {
        let found = with(words).unwrap_err();
        assert!(found.contains(error), "{words}: {found}");
    }
}
