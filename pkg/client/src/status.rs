//! `metav1.Status`: the API server's description of an error.

use std::time::Duration;

use api::wire::{self, null_is_empty};
use api::{Codec, DecodeError};
use prost::Message;
use serde::Deserialize;

/// An error as the API server reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The HTTP code.
    pub code: u16,
    /// One word, such as `Conflict`.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// The name of the object that it is about; empty if there is none.
    pub name: String,
    /// The details.
    pub causes: Vec<Cause>,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
    /// The response was no `Status`: the message is made of what it was.
    pub bare: bool,
}

/// An entry of `details.causes`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// One word, such as `NamespaceTerminating`.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// The field with the error.
    pub field: String,
}

impl Status {
    /// Decodes a `metav1.Status`: the body of an error response, or the object of an ERROR event.
    pub fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(wire::decode::<WireStatus>(codec, bytes)?.view())
    }
}

// === Wire ===

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
    #[prost(string, tag = "1")]
    name: String,
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

impl WireStatus {
    fn view(self) -> Status {
        let details = self.details.unwrap_or_default();
        let cause = |c: WireCause| Cause { reason: c.reason, message: c.message, field: c.field };
        let seconds = u64::try_from(details.retry_after_seconds).ok().filter(|&s| s > 0);
        Status {
            code: u16::try_from(self.code).unwrap_or(0),
            reason: self.reason,
            message: self.message,
            name: details.name,
            causes: details.causes.into_iter().map(cause).collect(),
            retry_after: seconds.map(Duration::from_secs),
            bare: false,
        }
    }
}
