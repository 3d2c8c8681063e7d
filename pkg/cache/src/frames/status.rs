//! What an ERROR event says.

use api::wire::{self, null_is_empty};
use api::{Codec, DecodeError};
use client::{ApiError, Cause, Status};
use prost::Message;
use serde::Deserialize;

/// `metav1.Status`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[prost(string, tag = "3")]
    message: String,
    #[prost(string, tag = "4")]
    reason: String,
    #[prost(message, optional, tag = "5")]
    details: Option<WireDetails>,
    #[prost(int32, tag = "6")]
    code: i32,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireDetails {
    #[prost(message, repeated, tag = "4")]
    #[serde(deserialize_with = "null_is_empty")]
    causes: Vec<WireCause>,
    #[prost(int32, tag = "5")]
    retry_after_seconds: i32,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireCause {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(string, tag = "3")]
    field: String,
}

/// The error that the object of an ERROR event stands for.
pub fn error_of(codec: Codec, object: &[u8]) -> ApiError {
    match wire::decode::<WireStatus>(codec, object) {
        Ok(status) => ApiError::Status(Box::new(status.view())),
        Err(DecodeError(text)) => ApiError::Decode(format!("an ERROR event: {text}")),
    }
}

impl WireStatus {
    fn view(self) -> Status {
        let mut status = Status {
            code: u16::try_from(self.code).unwrap_or(0),
            reason: self.reason,
            message: self.message,
            ..Status::default()
        };
        if status.message.is_empty() {
            status.message = format!("an ERROR event with code {}", status.code);
        }
        let details = self.details.unwrap_or_default();
        let cause = |c: WireCause| Cause { reason: c.reason, message: c.message, field: c.field };
        status.details.causes = details.causes.into_iter().map(cause).collect();
        let seconds =
            u64::try_from(details.retry_after_seconds).ok().filter(|&seconds| seconds > 0);
        status.retry_after = seconds.map(std::time::Duration::from_secs);
        status
    }
}
