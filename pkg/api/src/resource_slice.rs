//! ResourceSlice: which devices there are, and which of them are tainted.

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, from_optional_text, from_text, null_is_empty, text};
use crate::{
    Codec, DecodeError, Effect, Index, Kind, Meta, Object, Resource, Text, Time, Toleration, intern,
};

/// What controllers read of a ResourceSlice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceSlice {
    /// Its name and so on.
    pub meta: Meta,
    /// The driver that published it.
    pub driver: Text,
    /// The pool of the driver that it is a part of.
    pub pool: Text,
    /// Which version of the pool: only slices of the highest one count.
    pub generation: i64,
    /// How many slices that version of the pool has.
    pub slices: i64,
    /// The node that alone has the devices.
    pub node_name: Option<Text>,
    /// How many devices it has.
    pub devices: usize,
    /// Those of its devices that have taints with the effect `NoExecute`, in their order.
    pub tainted: Box<[TaintedDevice]>,
    /// Why the object could not be read.
    pub unreadable: Option<DecodeError>,
}

/// A device with taints with the effect `NoExecute`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintedDevice {
    /// Its name in the pool.
    pub name: Text,
    /// Those taints, in their order.
    pub taints: Box<[DeviceTaint]>,
}

/// A taint of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceTaint {
    /// Its name.
    pub key: Text,
    /// Its value, mostly empty.
    pub value: Text,
    /// When it was added; the API server writes that.
    pub added: Option<Time>,
}

impl ResourceSlice {
    /// The slices by driver and pool, as [`ResourceSlice::pool_key`].
    pub const BY_POOL: &'static str = "pool";

    /// What indexes by pool find.
    pub fn pool_key(driver: &str, pool: &str) -> Text {
        format!("{driver}/{pool}").into()
    }
}

impl DeviceTaint {
    /// Whether a toleration is of it. As `claimEvictionTime` in upstream's
    /// pkg/controller/devicetainteviction: unlike that of a pod, a toleration without an effect is
    /// of no taint with the effect `NoExecute`.
    pub fn is_tolerated(&self, toleration: &Toleration) -> bool {
        let fits = toleration.effect == Effect::NoExecute.as_str()
            && (toleration.key.is_empty() || *toleration.key == *self.key);
        fits && match &*toleration.operator {
            "" | "Equal" => *toleration.value == *self.value,
            "Exists" => true,
            _ => false,
        }
    }
}

impl Kind for ResourceSlice {
    const RESOURCE: Resource =
        Resource::cluster_scoped("resource.k8s.io", "v1", "resourceslices", "ResourceSlice");
}

impl Object for ResourceSlice {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] =
        &[Index::one(Self::BY_POOL, |slice| Some(Self::pool_key(&slice.driver, &slice.pool)))];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireSlice>(codec, bytes)?;
        let meta = wire.metadata.meta()?;
        Ok(wire.view(meta))
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self { unreadable: Some(error.clone()), ..WireSlice::default().view(meta) }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireSlice {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: WireSpec,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    driver: Vec<u8>,
    #[prost(message, required, tag = "2")]
    pool: WirePool,
    #[prost(bytes = "vec", optional, tag = "3")]
    #[serde(deserialize_with = "from_optional_text")]
    node_name: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "6")]
    #[serde(deserialize_with = "null_is_empty")]
    devices: Vec<WireDevice>,
}

/// `v1.ResourcePool`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WirePool {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
    #[prost(int64, tag = "2")]
    generation: i64,
    #[prost(int64, tag = "3")]
    resource_slice_count: i64,
}

/// `v1.Device`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireDevice {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
    #[prost(message, repeated, tag = "8")]
    #[serde(deserialize_with = "null_is_empty")]
    taints: Vec<WireTaint>,
}

/// `v1.DeviceTaint`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireTaint {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    value: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    #[serde(deserialize_with = "from_text")]
    effect: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    time_added: Option<wire::Time>,
}

impl WireSlice {
    fn view(&self, meta: Meta) -> ResourceSlice {
        let spec = &self.spec;
        ResourceSlice {
            meta,
            driver: intern(&text(&spec.driver)),
            pool: intern(&text(&spec.pool.name)),
            generation: spec.pool.generation,
            slices: spec.pool.resource_slice_count,
            node_name: spec.node_name.as_deref().map(|name| intern(&text(name))),
            devices: spec.devices.len(),
            tainted: spec.devices.iter().filter_map(WireDevice::tainted).collect(),
            unreadable: None,
        }
    }
}

impl WireDevice {
    fn tainted(&self) -> Option<TaintedDevice> {
        let is_evicting =
            |taint: &&WireTaint| taint.effect == Effect::NoExecute.as_str().as_bytes();
        let taints: Box<[_]> =
            self.taints.iter().filter(is_evicting).map(WireTaint::view).collect();
        (!taints.is_empty()).then(|| TaintedDevice { name: intern(&text(&self.name)), taints })
    }
}

impl WireTaint {
    fn view(&self) -> DeviceTaint {
        DeviceTaint {
            key: intern(&text(&self.key)),
            value: intern(&text(&self.value)),
            added: self.time_added.and_then(wire::Time::view),
        }
    }
}
