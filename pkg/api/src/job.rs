//! Job: the view that controllers share.

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, null_is_empty};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Resource, Time};

/// What controllers read of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Name, uid and so on; no labels, which no controller reads.
    pub meta: Meta,
    /// `spec.ttlSecondsAfterFinished`: how long it stays once it has finished; none: for good.
    pub ttl_seconds_after_finished: Option<i32>,
    /// How it has finished: the first condition of that type, as upstream's `FinishedCondition`;
    /// none: it has not.
    pub finish: Option<Finish>,
    /// `status.startTime`.
    pub start_time: Option<Time>,
    /// `status.completionTime`.
    pub completion_time: Option<Time>,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// A condition of a Job for its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// `Complete` or `Failed`.
    pub r#type: &'static str,
    /// Since when; none: the condition does not say.
    pub since: Option<Time>,
}

impl Job {
    /// Jobs by the uid of the CronJob that manages them.
    pub const BY_CONTROLLER: &'static str = "controllerUID";
}

impl Kind for Job {
    const RESOURCE: Resource = Resource::namespaced("batch", "v1", "jobs", "Job");
}

impl Object for Job {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[Index::by_controller(Self::BY_CONTROLLER)];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireJob>(codec, bytes)?;
        Ok(Self {
            meta: wire.metadata.without_labels()?,
            ttl_seconds_after_finished: wire.spec.ttl_seconds_after_finished,
            finish: wire.status.conditions.iter().find_map(WireCondition::finish),
            start_time: wire.status.start_time.and_then(wire::Time::view),
            completion_time: wire.status.completion_time.and_then(wire::Time::view),
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            ttl_seconds_after_finished: None,
            finish: None,
            start_time: None,
            completion_time: None,
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireJob {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: WireSpec,
    #[prost(message, required, tag = "3")]
    status: WireStatus,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    #[prost(int32, optional, tag = "8")]
    ttl_seconds_after_finished: Option<i32>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
    #[prost(message, optional, tag = "2")]
    start_time: Option<wire::Time>,
    #[prost(message, optional, tag = "3")]
    completion_time: Option<wire::Time>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireCondition {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "wire::from_text")]
    r#type: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "wire::from_text")]
    status: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    last_transition_time: Option<wire::Time>,
}

impl WireCondition {
    /// None: it does not say that the Job has finished.
    fn finish(&self) -> Option<Finish> {
        let r#type = match self.r#type.as_slice() {
            b"Complete" => "Complete",
            b"Failed" => "Failed",
            _ => return None,
        };
        let since = self.last_transition_time.and_then(wire::Time::view);
        (self.status == b"True").then_some(Finish { r#type, since })
    }
}
