//! Blocks of one range.

use api::Prefix;

use super::super::ClusterRange;
use super::super::blocks::Blocks;

fn range(cluster: &str, node_bits: u8) -> ClusterRange {
    ClusterRange::new(Prefix::parse_sloppy(cluster).unwrap(), node_bits).unwrap()
}

/// TestIndexToCIDRBlock, all rows.
#[test]
fn a_block_has_its_number() {
    for (cluster, bits, number, block) in [
        ("127.123.3.0/16", 24, 0, "127.123.0.0/24"),
        ("127.123.0.0/16", 24, 15, "127.123.15.0/24"),
        ("192.168.5.219/28", 32, 5, "192.168.5.213/32"),
        ("2001:0db8:1234:3::/48", 64, 0, "2001:db8:1234::/64"),
        ("2001:0db8:1234::/48", 64, 15, "2001:db8:1234:f::/64"),
        ("2001:0db8:85a3::8a2e:0370:7334/50", 63, 6425, "2001:db8:85a3:3232::/63"),
        ("2001:0db8::/32", 48, 0, "2001:db8::/48"),
        ("2001:0db8::/32", 48, 15, "2001:db8:f::/48"),
        ("2001:0db8:85a3::8a2e:0370:7334/32", 48, 6425, "2001:db8:1919::/48"),
        ("2001:0db8:1234:ff00::/56", 72, 0, "2001:db8:1234:ff00::/72"),
        ("2001:0db8:1234:ff00::/56", 72, 15, "2001:db8:1234:ff00:f00::/72"),
        ("2001:0db8:1234:ff00::0370:7334/56", 72, 6425, "2001:db8:1234:ff19:1900::/72"),
        ("2001:0db8:1234:0:1234::/80", 96, 0, "2001:db8:1234:0:1234::/96"),
        ("2001:0db8:1234:0:1234::/80", 96, 15, "2001:db8:1234:0:1234:f::/96"),
        ("2001:0db8:1234:ff00::0370:7334/80", 96, 6425, "2001:db8:1234:ff00:0:1919::/96"),
    ] {
        let shown = range(cluster, bits).block(number).map(|block| block.to_string());
        assert_eq!(shown.as_deref(), Some(block), "{cluster} {number}");
    }
}

/// TestGetBitforCIDR and TestOccupy, all rows but repeated ones.
#[test]
fn a_range_overlaps_blocks() {
    for (cluster, bits, other, span) in [
        ("127.0.0.0/8", 16, "127.0.0.0/16", Some((0, 0))),
        ("be00::/8", 16, "be00::/16", Some((0, 0))),
        ("127.0.0.0/8", 16, "127.123.0.0/16", Some((123, 123))),
        ("be00::/8", 16, "beef::/16", Some((0xef, 0xef))),
        ("127.0.0.0/8", 16, "127.224.0.0/16", Some((224, 224))),
        ("be00::/8", 16, "be24::/16", Some((0x24, 0x24))),
        ("192.168.0.0/16", 24, "192.168.151.0/24", Some((151, 151))),
        ("beef::/16", 24, "beef:9700::/24", Some((0x97, 0x97))),
        ("192.168.0.0/16", 24, "127.168.224.0/24", None),
        ("beef::/16", 24, "2001:db00::/24", None),
        ("127.0.0.0/8", 16, "127.0.0.0/8", Some((0, 255))),
        ("2001:beef:1200::/40", 48, "2001:beef:1200::/40", Some((0, 255))),
        ("127.0.0.0/8", 16, "127.0.0.0/2", Some((0, 255))),
        ("2001:beef:1200::/40", 48, "2001:beef::/34", Some((0, 255))),
        ("127.0.0.0/8", 16, "127.0.0.0/16", Some((0, 0))),
        ("127.0.0.0/8", 32, "127.0.0.0/16", Some((0, 65535))),
        ("127.0.0.0/7", 16, "127.0.0.0/15", Some((256, 257))),
        ("127.0.0.0/7", 15, "127.0.0.0/15", Some((128, 128))),
        ("127.0.0.0/7", 18, "127.0.0.0/15", Some((1024, 1031))),
        ("2001:beef::/32", 48, "2001:beef:1200::/40", Some((0x1200, 0x12ff))),
        // Of the other family, or smaller than a block.
        ("127.0.0.0/8", 16, "be00::/16", None),
        ("10.0.0.0/8", 16, "10.3.7.0/24", Some((3, 3))),
    ] {
        let other = Prefix::parse_sloppy(other).unwrap();
        assert_eq!(range(cluster, bits).span(other), span, "{cluster} {bits} {other}");
    }
}

/// TestCIDRSetFullyAllocated, TestCIDRSet_RandomishAllocation and …AllocationOccupied: what was
/// released is found again, whatever is used besides.
#[test]
fn all_blocks_are_given_once() {
    for cluster in ["127.123.234.0/16", "beef:1234::/16"] {
        let mut blocks = Blocks::new(range(cluster, 24));
        for expected in 0..256 {
            let found = blocks.free().unwrap();
            assert_eq!((found.block, found.tries), (expected, 0));
            assert_eq!(blocks.occupy((found.block, found.block)), 1);
            blocks.given(found.block);
        }
        assert_eq!((blocks.free(), blocks.used()), (None, 256));
        for block in (0..128).rev() {
            assert_eq!(blocks.release((block, block)), 1);
        }
        assert_eq!(blocks.occupy((32, 128)), 96, "one of them was used");
        let found = blocks.free().unwrap();
        assert_eq!((found.block, found.tries), (0, 0));
        blocks.given(31);
        let found = blocks.free().unwrap();
        assert_eq!((found.block, found.tries), (0, 224), "it goes on behind the last");
        assert_eq!(blocks.release((32, 128)), 96);
    }
}

/// TestDoubleOccupyRelease, and what upstream does not count: a block of two is used until both
/// have gone.
#[test]
fn a_block_is_counted_when_it_changes() {
    let mut blocks = Blocks::new(range("10.42.0.0/16", 24));
    assert_eq!(blocks.occupy((5, 5)), 1);
    assert_eq!(blocks.occupy((5, 5)), 0);
    assert_eq!(blocks.occupy((0, 9)), 9);
    assert_eq!(blocks.used(), 10);
    assert_eq!(blocks.occupy((8, 11)), 2, "ranges may overlap");
    assert_eq!(blocks.release((0, 9)), 7);
    assert_eq!(blocks.release((5, 5)), 0);
    assert_eq!(blocks.release((5, 5)), 1);
    assert_eq!(blocks.used(), 4);
}

/// TestCIDRSetv6: as many blocks as upstream's bitmap may have, and no more.
#[test]
fn a_range_is_cut_or_refused() {
    let new = |cluster, bits| ClusterRange::new(Prefix::parse_sloppy(cluster).unwrap(), bits);
    assert!(new("2001:beef:1200::/48", 64).is_some());
    assert!(new("2001:beef:1200::/48", 65).is_none());
    assert!(new("10.0.0.0/8", 32).is_some());
    assert!(new("10.0.0.0/8", 33).is_none());
    assert!(new("10.0.0.0/24", 16).is_none());
    assert!(new("10.0.0.0/24", 24).is_some());
}
