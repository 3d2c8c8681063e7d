//! CronJob: a view beside the whole object.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::wire::{self, null_is_empty};
use crate::{Codec, DecodeError, Index, Key, Kind, Meta, Object, Raw, Resource, Text, Time};

/// What controllers read of a CronJob, and the whole of it.
#[derive(Clone, Debug)]
pub struct CronJob {
    /// Name, uid and so on.
    pub meta: Meta,
    /// `spec.schedule`, as it was written.
    pub schedule: String,
    /// `spec.timeZone`; none: that of the controller.
    pub time_zone: Option<String>,
    /// `spec.startingDeadlineSeconds`: how late a Job may start; none: ever so late.
    pub starting_deadline_seconds: Option<i64>,
    /// `spec.concurrencyPolicy`.
    pub concurrency: ConcurrencyPolicy,
    /// `spec.suspend`.
    pub suspended: bool,
    /// `spec.successfulJobsHistoryLimit`; none: all are kept.
    pub successful_jobs_history_limit: Option<i32>,
    /// `spec.failedJobsHistoryLimit`; none: all are kept.
    pub failed_jobs_history_limit: Option<i32>,
    /// The status as it was last written.
    pub status: CronJobStatus,
    /// The whole object. The Job's template is read from it when one is made.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// What becomes of a Job that still runs when the next one is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConcurrencyPolicy {
    /// It runs on, beside the next one. Also any word that the API server does not admit.
    #[default]
    Allow,
    /// It runs on, and there is no next one.
    Forbid,
    /// It is deleted.
    Replace,
}

/// `status` of a CronJob.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CronJobStatus {
    /// The Jobs that run.
    #[serde(deserialize_with = "null_is_empty")]
    pub active: Vec<ActiveJob>,
    /// When the last Job was due that was started.
    pub last_schedule_time: Option<Time>,
    /// When a Job last completed.
    pub last_successful_time: Option<Time>,
}

/// An entry of `status.active`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveJob {
    /// Its namespace and name.
    pub key: Key,
    /// Its uid.
    pub uid: Text,
    /// The entry, with the fields that we do not know.
    pub reference: Value,
}

impl Kind for CronJob {
    const RESOURCE: Resource = Resource::namespaced("batch", "v1", "cronjobs", "CronJob");
}

impl Object for CronJob {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, Wire>(codec, bytes)?;
        let Wire { metadata, spec, status } = wire;
        Ok(Self {
            meta: metadata.without_labels()?,
            schedule: spec.schedule,
            time_zone: spec.time_zone,
            starting_deadline_seconds: spec.starting_deadline_seconds,
            concurrency: match spec.concurrency_policy.as_str() {
                "Forbid" => ConcurrencyPolicy::Forbid,
                "Replace" => ConcurrencyPolicy::Replace,
                _ => ConcurrencyPolicy::Allow,
            },
            suspended: spec.suspend.unwrap_or(false),
            successful_jobs_history_limit: spec.successful_jobs_history_limit,
            failed_jobs_history_limit: spec.failed_jobs_history_limit,
            status,
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            schedule: String::new(),
            time_zone: None,
            starting_deadline_seconds: None,
            concurrency: ConcurrencyPolicy::Allow,
            suspended: true,
            successful_jobs_history_limit: None,
            failed_jobs_history_limit: None,
            status: CronJobStatus::default(),
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct Wire {
    metadata: wire::ObjectMeta,
    spec: WireSpec,
    #[serde(default)]
    status: CronJobStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSpec {
    #[serde(default)]
    schedule: String,
    time_zone: Option<String>,
    starting_deadline_seconds: Option<i64>,
    #[serde(default)]
    concurrency_policy: String,
    suspend: Option<bool>,
    successful_jobs_history_limit: Option<i32>,
    failed_jobs_history_limit: Option<i32>,
}

/// The fields of an `ObjectReference` that are read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WireReference {
    namespace: String,
    name: String,
    uid: String,
}

impl<'de> Deserialize<'de> for ActiveJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let reference = Value::deserialize(deserializer)?;
        let read = WireReference::deserialize(&reference).map_err(serde::de::Error::custom)?;
        let WireReference { namespace, name, uid } = read;
        Ok(Self { key: Key::new(&namespace, &name), uid: uid.into(), reference })
    }
}
