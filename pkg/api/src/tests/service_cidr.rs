//! Ranges of the addresses of Services.

use core::net::IpAddr;

use crate::*;

#[test]
fn upstreams_bytes_of_a_range_are_read_from_both_codecs() {
    let protobuf = include_bytes!("../../testdata/service-cidr.pb");
    let range = ServiceCidr::decode(Codec::Protobuf, protobuf).unwrap();
    let json = ServiceCidr::decode(Codec::Json, include_bytes!("../../testdata/service-cidr.json"));
    assert_eq!(json.as_ref(), Ok(&range));
    let cidrs = ["10.0.0.0/16", "fd00::/108"].map(|cidr| Prefix::parse(cidr).unwrap());
    assert_eq!(*range.prefixes, cidrs);
    let (reason, message) = ("Terminating".to_owned(), "why".to_owned());
    assert_eq!(range.ready, Some(ReadyCidr { status: Status::False, reason, message }));
    assert!(range.meta.has_finalizer(ServiceCidr::FINALIZER));
    let protobuf = include_bytes!("../../testdata/ip-address.pb");
    let address = IpAddress::decode(Codec::Protobuf, protobuf).unwrap();
    let json = IpAddress::decode(Codec::Json, include_bytes!("../../testdata/ip-address.json"));
    assert_eq!(json.as_ref(), Ok(&address));
    assert_eq!(address.of_service(), "10.0.0.7".parse().ok());
}

/// As Go's `netip.ParsePrefix`.
#[test]
fn prefixes_are_read_as_go_reads_them() {
    for text in ["10.0.0.0/0", "10.1.2.3/32", "::/0", "fd00::1/128", "0.0.0.0/8"] {
        assert!(Prefix::parse(text).is_some(), "{text}");
    }
    for text in ["", "10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/08", "10.0.0.0/+8", "10.0.0/8"]
    {
        assert_eq!(Prefix::parse(text), None, "{text}");
    }
}

/// `OverlapsPrefix`, `ContainsPrefix` and TestPrefixContainsIP of upstream's pkg/api/servicecidr.
#[test]
fn ranges_overlap_cover_and_offer_addresses() {
    let prefix = |text: &str| Prefix::parse(text).unwrap();
    let (small, large) = (prefix("192.168.1.0/24"), prefix("192.168.0.0/16"));
    assert!(small.overlaps(large) && large.overlaps(small));
    assert!(large.covers(small) && !small.covers(large) && small.covers(small));
    assert!(!small.overlaps(prefix("192.168.2.0/24")) && !small.overlaps(prefix("::/0")));
    assert!(prefix("192.168.1.77/24").covers(small), "the bits of hosts do not matter");
    for (cidr, ip, offered) in [
        ("192.168.0.0/24", "192.168.0.1", true),
        ("192.168.0.0/24", "192.168.0.0", false),
        ("192.168.0.0/24", "192.168.0.255", false),
        ("192.168.0.0/24", "192.168.1.1", false),
        ("192.168.0.0/16", "192.168.0.255", true),
        ("192.168.0.0/32", "192.168.0.0", false),
        ("0.0.0.0/0", "255.255.255.255", false),
        ("0.0.0.0/0", "10.0.0.1", true),
        ("2001:db2::/96", "2001:db2::", false),
        ("2001:db2::/96", "2001:db2::ffff:ffff", true),
        ("2001:db2::/96", "192.168.0.1", false),
        ("::/0", "::1", true),
    ] {
        let ip: IpAddr = ip.parse().unwrap();
        assert_eq!(prefix(cidr).offers(ip), offered, "{ip} of {cidr}");
    }
}
