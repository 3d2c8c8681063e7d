//! Where a list continues (apiserver's `storage/continue.go`).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::status::Status;

const VERSION: &str = "meta.k8s.io/v1";

/// What `continue` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// At which version the list began; none: it continues with the present objects.
    pub(super) revision: Option<u64>,
    /// From which path on, without the namespace that the list is about.
    pub(super) start: String,
}

impl Token {
    /// What comes after an object.
    pub(super) fn after(revision: u64, path: &str) -> Self {
        Self { revision: Some(revision), start: format!("{path}\0") }
    }

    pub(super) fn encode(&self) -> String {
        let revision = self.revision.map_or(json!(-1), Value::from);
        let token = json!({"v": VERSION, "rv": revision, "start": self.start});
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    pub(super) fn decode(text: &str) -> Result<Self, Status> {
        Self::read(text)
            .map_err(|fault| Status::bad_request(format!("invalid continue token: {fault}")))
    }

    fn read(text: &str) -> Result<Self, String> {
        let broken = |fault: &dyn std::fmt::Display| format!("continue key is not valid: {fault}");
        let json = URL_SAFE_NO_PAD.decode(text).map_err(|error| broken(&error))?;
        let token: Value = serde_json::from_slice(&json).map_err(|error| broken(&error))?;
        let text = |field| token.get(field).and_then(Value::as_str).unwrap_or_default();
        let version = text("v");
        if version != VERSION {
            let fault = "continue key is not valid: server does not recognize this encoded version";
            return Err(format!("{fault} {version}"));
        }
        let revision = token.get("rv").and_then(Value::as_i64).unwrap_or(0);
        if revision == 0 {
            let fault = format!("incorrect encoded start resourceVersion (version {VERSION})");
            return Err(broken(&fault));
        }
        let start = text("start");
        if start.is_empty() {
            return Err(broken(&format!("encoded start key empty (version {VERSION})")));
        }
        let parts = start.strip_prefix('/').unwrap_or(start).split('/');
        if parts.into_iter().any(|part| matches!(part, "" | "." | "..")) {
            return Err(broken(&start));
        }
        let start = start.strip_prefix('/').unwrap_or(start).to_owned();
        Ok(Self { revision: u64::try_from(revision).ok(), start })
    }
}
