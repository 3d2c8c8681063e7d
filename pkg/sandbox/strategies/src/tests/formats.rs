//! Formats and ages.

use crate::formats::{config_key, dns_label, ip, legacy_cidr, legacy_ip, path_segment, port_name};

#[test]
fn shapes_are_distinguished() {
    let first = |wrongs: Vec<String>| wrongs.first().cloned().unwrap_or_default();
    let rows = [
        ("TestIsDNS1123Label: dots", dns_label("a.b"), "must not contain dots"),
        ("TestIsDNS1123Label: good", dns_label("0-a"), ""),
        ("TestIsValidIP", legacy_ip("1.2.3.04"), "must not have leading 0s"),
        (
            "TestIsValidIP: v4-mapped",
            legacy_ip("::ffff:1.2.3.4"),
            "must not be an IPv4-mapped IPv6 address",
        ),
        ("TestIsValidIP: canonical", ip("::0"), "must be in canonical form (\"::\")"),
        ("TestIsValidIP: long form is legacy", legacy_ip("::0"), ""),
        (
            "TestIsValidCIDR: bits",
            legacy_cidr("10.0.0.1/8"),
            "must not have bits set beyond the prefix length",
        ),
        ("TestIsValidCIDR: all", legacy_cidr("0.0.0.0/0"), ""),
        ("TestIsValidPortName", port_name("a--b"), "must not contain consecutive hyphens"),
        ("TestIsValidPortName: letters", port_name("80"), "must contain at least one letter (a-z)"),
        ("TestIsConfigMapKey", config_key("..a"), "must not start with '..'"),
        ("IsValidPathSegmentName", path_segment(".."), "may not be '..'"),
        ("IsValidPathSegmentName: slash", path_segment("a/b"), "may not contain '/'"),
    ];
    for (row, wrongs, expected) in rows {
        assert_eq!(first(wrongs), expected, "{row}");
    }
}

#[test]
fn ages_are_short() {
    const HOUR: i64 = 3600;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let rows = [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR, "8y"),
    ];
    for (seconds, expected) in rows {
        assert_eq!(crate::table::human(seconds), expected, "TestHumanDuration: {seconds}");
    }
}
