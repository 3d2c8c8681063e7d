//! ServiceCIDR and IPAddress: which addresses Services may have, and which they have.

use core::net::{IpAddr, Ipv4Addr};

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, from_text, null_is_empty, text};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Resource, Status};

/// What controllers read of a ServiceCIDR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceCidr {
    /// Its name, finalizers and so on.
    pub meta: Meta,
    /// `spec.cidrs`; what is none is left out.
    pub prefixes: Box<[Prefix]>,
    /// The condition `Ready`.
    pub ready: Option<ReadyCidr>,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// The condition `Ready` of a ServiceCIDR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyCidr {
    /// Whether it holds.
    pub status: Status,
    /// One word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

/// What controllers read of an IPAddress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpAddress {
    /// Its labels and so on; its name is the address.
    pub meta: Meta,
}

/// A range of addresses, such as `10.0.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl ServiceCidr {
    /// The finalizer of those that are still used.
    pub const FINALIZER: &'static str = "networking.k8s.io/service-cidr-finalizer";
}

impl IpAddress {
    /// The label that says who manages it.
    const MANAGED_BY: &'static str = "ipaddress.kubernetes.io/managed-by";
    /// The API server's allocator of the addresses of Services.
    const ALLOCATOR: &'static str = "ipallocator.k8s.io";

    /// The address; none if it is no address of a Service.
    pub fn of_service(&self) -> Option<IpAddr> {
        let is_managed = self.meta.labels.get(Self::MANAGED_BY) == Some(Self::ALLOCATOR);
        self.meta.key.name.parse().ok().filter(|_| is_managed)
    }
}

impl Kind for ServiceCidr {
    const RESOURCE: Resource =
        Resource::cluster_scoped("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR");
}

impl Object for ServiceCidr {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireCidr>(codec, bytes)?;
        let meta = wire.metadata.meta()?;
        Ok(wire.view(meta))
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self { unreadable: Some(error.clone()), ..WireCidr::default().view(meta) }
    }
}

impl Kind for IpAddress {
    const RESOURCE: Resource =
        Resource::cluster_scoped("networking.k8s.io", "v1", "ipaddresses", "IPAddress");
}

impl Object for IpAddress {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { meta: Meta::decode(codec, bytes)? })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self { meta }
    }
}

// === impl Prefix ===

impl Prefix {
    /// As Go's `netip.ParsePrefix`: bits of the host may be set, leading zeros may not.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.rsplit_once('/')?;
        let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
        let is_plain = bits == "0" || !bits.starts_with('0');
        let address: IpAddr = address.parse().ok()?;
        let bits: u8 = bits.parse().ok().filter(|_| is_number && is_plain)?;
        (bits <= length(address)).then_some(Self { address, bits })
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
        let first = masked(self.address, self.bits);
        let is_inside = is_v4(ip) == self.is_v4() && masked(ip, self.bits) == first;
        is_inside && number(ip) != first && !(self.is_v4() && number(ip) == self.last_v4())
    }

    /// The last address of a range of IPv4.
    fn last_v4(self) -> u128 {
        let hosts = u128::from(u32::MAX).checked_shr(self.bits.into()).unwrap_or(0);
        masked(self.address, self.bits) | hosts
    }
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

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireCidr {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: WireSpec,
    #[prost(message, required, tag = "3")]
    status: WireStatus,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireSpec {
    #[prost(string, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    cidrs: Vec<String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
}

/// `metav1.Condition`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireCondition {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    r#type: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    status: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    #[serde(deserialize_with = "from_text")]
    reason: Vec<u8>,
    #[prost(bytes = "vec", tag = "6")]
    #[serde(deserialize_with = "from_text")]
    message: Vec<u8>,
}

impl WireCidr {
    fn view(&self, meta: Meta) -> ServiceCidr {
        let ready = self.status.conditions.iter().find(|condition| condition.r#type == b"Ready");
        ServiceCidr {
            meta,
            prefixes: self.spec.cidrs.iter().filter_map(|cidr| Prefix::parse(cidr)).collect(),
            ready: ready.map(|condition| ReadyCidr {
                status: Status::parse(&text(&condition.status)),
                reason: text(&condition.reason).into_owned(),
                message: text(&condition.message).into_owned(),
            }),
            unreadable: None,
        }
    }
}
