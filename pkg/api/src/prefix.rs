//! Ranges of IP addresses, as the API and flags write them.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

use crate::address::{Family, parse_ip};

/// A range of addresses, such as `10.0.0.0/16`. Bits of the host may be set; `Display` shows the
/// range without them, as Go's `net.IPNet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// As Go's `netip.ParsePrefix`: bits of the host may be set, leading zeros may not.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.rsplit_once('/')?;
        let is_plain = bits == "0" || !bits.starts_with('0');
        let address: IpAddr = address.parse().ok()?;
        Self::new(address, digits(bits).filter(|_| is_plain)?)
    }

    /// As `ParseCIDRSloppy` of k8s.io/utils/net: leading zeros do not matter, and an IPv4 address
    /// inside IPv6 stays an IPv6 address.
    pub fn parse_sloppy(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let address = if address.contains(':') {
            IpAddr::V6(address.parse::<Ipv6Addr>().ok()?)
        } else {
            parse_ip(address)?
        };
        Self::new(address, digits(bits)?)
    }

    /// The range of a family that begins at this address, a number of as many bits as the family
    /// has; none: it has not so many bits.
    pub fn at(family: Family, first: u128, bits: u8) -> Option<Self> {
        let address = match family {
            Family::V4 => IpAddr::V4(Ipv4Addr::from(u32::try_from(first).ok()?)),
            Family::V6 => IpAddr::V6(Ipv6Addr::from(first)),
        };
        Self::new(address, bits)
    }

    fn new(address: IpAddr, bits: u8) -> Option<Self> {
        (bits <= length(address)).then_some(Self { address, bits })
    }

    /// How many bits all addresses of the range have in common.
    pub fn bits(self) -> u8 {
        self.bits
    }

    /// How many bits an address of it has.
    pub fn length(self) -> u8 {
        length(self.address)
    }

    /// Of which family it is.
    pub fn family(self) -> Family {
        Family::of(self.address)
    }

    /// Its first address as a number.
    pub fn first(self) -> u128 {
        masked(self.address, self.bits)
    }

    /// Its last address as a number.
    pub fn last(self) -> u128 {
        let all = u128::MAX.checked_shr(128 - u32::from(self.length())).unwrap_or(0);
        self.first() | all.checked_shr(self.bits.into()).unwrap_or(0)
    }

    /// Whether they have an address in common.
    pub fn overlaps(self, other: Self) -> bool {
        let bits = self.bits.min(other.bits);
        is_v4(self.address) == is_v4(other.address)
            && masked(self.address, bits) == masked(other.address, bits)
    }

    /// Whether it is the same range as the other, or a larger one with it inside.
    pub fn covers(self, other: Self) -> bool {
        self.overlaps(other) && self.bits <= other.bits
    }

    /// Whether it is the range of IPv4 addresses, not of IPv6 addresses.
    pub fn is_v4(self) -> bool {
        is_v4(self.address)
    }

    /// Whether a Service can have this address of it. As `PrefixContainsIP` in upstream's
    /// pkg/api/servicecidr: not the first one, and of IPv4 not the last one.
    pub fn offers(self, ip: IpAddr) -> bool {
        let is_inside = is_v4(ip) == self.is_v4() && masked(ip, self.bits) == self.first();
        let ip = number(ip);
        is_inside && ip != self.first() && !(self.is_v4() && ip == self.last())
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, bits) = (self.first(), self.bits);
        match self.address {
            // The first address of a range of IPv4 has no more bits.
            IpAddr::V4(_) => {
                write!(f, "{}/{bits}", Ipv4Addr::from(u32::try_from(first).unwrap_or_default()))
            }
            IpAddr::V6(_) => write!(f, "{}/{bits}", Ipv6Addr::from(first)),
        }
    }
}

/// As Go's `dtoi`: digits alone.
fn digits(text: &str) -> Option<u8> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

fn is_v4(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V4(_))
}

fn length(ip: IpAddr) -> u8 {
    if is_v4(ip) { 32 } else { 128 }
}

fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(Ipv4Addr::to_bits(ip)),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

/// The first bits of an address, and then zeros.
fn masked(ip: IpAddr, bits: u8) -> u128 {
    let hosts = u32::from(length(ip).saturating_sub(bits));
    let keep = u128::MAX.checked_shl(hosts).unwrap_or(0);
    number(ip) & keep
}
