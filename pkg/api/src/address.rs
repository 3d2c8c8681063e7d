//! IP addresses as the API has them: which family one is of, and how it is written.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

/// `v1.IPFamily`; the two address types of EndpointSlices that are IP addresses are called the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// `IPv4`.
    V4,
    /// `IPv6`.
    V6,
}

impl Family {
    /// None: another word than these two.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "IPv4" => Some(Self::V4),
            "IPv6" => Some(Self::V6),
            _ => None,
        }
    }

    /// As the API writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    /// That of an address.
    pub const fn of(ip: IpAddr) -> Self {
        match ip {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads an address as upstream's `ParseIPSloppy`: leading zeros do not matter, and an IPv4 address
/// inside IPv6 is an IPv4 address. Its `Display` is Go's.
pub fn parse_ip(text: &str) -> Option<IpAddr> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(ip.to_canonical());
    }
    match text.rsplit_once(':') {
        None => sloppy(text).map(IpAddr::V4),
        Some((head, tail)) => {
            let ip: Ipv6Addr = format!("{head}:{}", sloppy(tail)?).parse().ok()?;
            Some(IpAddr::V6(ip).to_canonical())
        }
    }
}

fn sloppy(text: &str) -> Option<Ipv4Addr> {
    let part = |part: &str| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse::<u8>().ok()).flatten()
    };
    let parts: Option<Vec<u8>> = text.split('.').map(part).collect();
    let parts: [u8; 4] = parts?.try_into().ok()?;
    Some(Ipv4Addr::from(parts))
}
