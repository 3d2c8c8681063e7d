//! ResourcePoolStatusRequest: a question about pools of devices, and its answer.

use serde::Deserialize;

use crate::wire::{self, from_text, lossy_text, moment, null_is_empty};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, Text, Time, intern};

/// A question about pools of devices, and the whole of it.
#[derive(Clone, Debug)]
pub struct ResourcePoolStatusRequest {
    /// Its name and so on.
    pub meta: Meta,
    /// The driver whose pools are asked for.
    pub driver: Text,
    /// The pool that alone is asked for.
    pub pool: Option<Text>,
    /// How many pools the answer may have.
    pub limit: Option<i32>,
    /// The answer.
    pub answered: Option<Answered>,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// That there is a status is all that counts, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// When the condition `Complete` or `Failed` was written; none: there is no such condition, or
    /// it has no time.
    pub at: Option<Time>,
    /// Whether there is such a condition.
    pub is_concluded: bool,
}

impl ResourcePoolStatusRequest {
    /// The requests that wait for their answer, by driver.
    pub const PENDING_BY_DRIVER: &'static str = "pendingDriver";
}

impl Kind for ResourcePoolStatusRequest {
    const RESOURCE: Resource = Resource::cluster_scoped(
        "resource.k8s.io",
        "v1alpha3",
        "resourcepoolstatusrequests",
        "ResourcePoolStatusRequest",
    );
}

impl Object for ResourcePoolStatusRequest {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[Index::one(Self::PENDING_BY_DRIVER, |request| {
        request.answered.is_none().then(|| request.driver.clone())
    })];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireRequest>(codec, bytes)?;
        let WireSpec { driver, pool_name, limit } = wire.spec;
        Ok(Self {
            meta: wire.metadata.meta()?,
            driver: intern(&driver),
            pool: (!pool_name.is_empty()).then(|| intern(&pool_name)),
            limit,
            answered: wire.status.map(|status| status.view()),
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            driver: Text::default(),
            pool: None,
            limit: None,
            answered: None,
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct WireRequest {
    metadata: wire::ObjectMeta,
    #[serde(default)]
    spec: WireSpec,
    #[serde(default)]
    status: Option<WireStatus>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    #[serde(deserialize_with = "lossy_text")]
    driver: String,
    #[serde(deserialize_with = "lossy_text")]
    pool_name: String,
    limit: Option<i32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireCondition {
    #[serde(deserialize_with = "from_text")]
    r#type: Vec<u8>,
    #[serde(deserialize_with = "moment")]
    last_transition_time: Option<Time>,
}

impl WireStatus {
    fn view(&self) -> Answered {
        let concludes =
            |it: &&WireCondition| matches!(it.r#type.as_slice(), b"Complete" | b"Failed");
        let found = self.conditions.iter().find(concludes);
        let at = found.and_then(|it| it.last_transition_time);
        Answered { at, is_concluded: found.is_some() }
    }
}
