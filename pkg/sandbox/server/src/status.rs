//! Errors, as the API server says them.

use serde_json::{Value, json};
use strategies::Invalid;

/// A `metav1.Status` that says that a request failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The HTTP code.
    pub code: u16,
    /// Such as `NotFound`; empty: upstream has none for it.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// `details`: name, group, kind, uid, causes, retryAfterSeconds. Null: none.
    pub details: Value,
    /// With what a list can be continued that cannot be continued as it was asked for.
    pub continue_token: Option<String>,
    /// What the client is warned of beside.
    pub warnings: Box<[String]>,
}

/// What a status is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    /// The group of the resource; for faults of a body that of its kind.
    pub(crate) group: &'a str,
    /// The plural; for faults of a body the kind.
    pub(crate) resource: &'a str,
    /// The object; may be empty.
    pub(crate) name: &'a str,
}

impl Status {
    /// A failure without details.
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        let (message, details) = (message.into(), Value::Null);
        Self { code, reason, message, details, continue_token: None, warnings: Box::default() }
    }

    /// The same with warnings.
    pub(crate) fn warned(mut self, warnings: &[String]) -> Self {
        self.warnings = [&self.warnings, warnings].concat().into();
        self
    }

    /// 400.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 404 of an object: `pods "web" not found`.
    pub(crate) fn not_found(about: About<'_>) -> Self {
        Self::new(404, "NotFound", format!("{about} not found")).about(about)
    }

    /// 409 of a name: `pods "web" already exists`.
    pub(crate) fn already_exists(about: About<'_>) -> Self {
        Self::new(409, "AlreadyExists", format!("{about} already exists")).about(about)
    }

    /// 409 of a version.
    pub(crate) fn conflict(about: About<'_>, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {about}: {why}");
        Self::new(409, "Conflict", message).about(about)
    }

    /// 403.
    pub(crate) fn forbidden(about: About<'_>, why: &str) -> Self {
        let message = match about.name {
            "" => format!("{} is forbidden: {why}", about.qualified()),
            _ => format!("{about} is forbidden: {why}"),
        };
        Self::new(403, "Forbidden", message).about(about)
    }

    /// 422; `about` has the kind for its resource.
    pub(crate) fn invalid(about: About<'_>, faults: &[Invalid]) -> Self {
        let texts: Vec<_> = faults.iter().map(ToString::to_string).collect();
        // As upstream's aggregates: what is said twice is shown once.
        let mut once: Vec<&str> = Vec::new();
        for text in &texts {
            if !once.contains(&text.as_str()) {
                once.push(text);
            }
        }
        let all = match once.as_slice() {
            [one] => (*one).to_owned(),
            all => format!("[{}]", all.join(", ")),
        };
        let causes: Vec<_> = faults
            .iter()
            .map(|fault| {
                let (reason, message) = (fault.reason(), fault.body());
                json!({"reason": reason, "message": message, "field": fault.field.to_string()})
            })
            .collect();
        let mut status = Self::new(422, "Invalid", format!("{about} is invalid: {all}"));
        status = status.about(about);
        if let Some(details) = status.details.as_object_mut() {
            details.insert("causes".to_owned(), causes.into());
        }
        status
    }

    /// 410: a version that is no longer known.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 504: a version that is ahead.
    pub(crate) fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let mut status = Self::new(504, "Timeout", message);
        let cause = json!({
            "reason": "ResourceVersionTooLarge",
            "message": "Too large resource version",
        });
        status.details = json!({"causes": [cause], "retryAfterSeconds": 1});
        status
    }

    /// 406.
    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    /// 413.
    pub(crate) fn too_large(bytes_max: usize) -> Self {
        let message = format!("Request entity too large: limit is {bytes_max}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 429.
    pub(crate) fn too_many_requests(message: impl Into<String>) -> Self {
        let mut status = Self::new(429, "TooManyRequests", message);
        status.details = json!({"retryAfterSeconds": 1});
        status
    }

    /// 500.
    pub(crate) fn internal(error: impl std::fmt::Display) -> Self {
        let message = format!("Internal error occurred: {error}");
        let mut status = Self::new(500, "InternalError", message);
        status.details = json!({"causes": [{"message": error.to_string()}]});
        status
    }

    /// When to try again, in seconds.
    pub(crate) fn retry_after_seconds(&self) -> Option<u64> {
        self.details.get("retryAfterSeconds")?.as_u64().filter(|seconds| *seconds > 0)
    }

    /// With `details` of an object.
    pub(crate) fn about(mut self, about: About<'_>) -> Self {
        let mut details = json!({"kind": about.resource});
        for (field, value) in [("name", about.name), ("group", about.group)] {
            if !value.is_empty() {
                details[field] = value.into();
            }
        }
        self.details = details;
        self
    }

    /// The document.
    pub fn json(&self) -> Value {
        let mut document = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if !self.reason.is_empty() {
            document["reason"] = self.reason.into();
        }
        if !self.details.is_null() {
            document["details"] = self.details.clone();
        }
        if let Some(token) = &self.continue_token {
            document["metadata"]["continue"] = token.as_str().into();
        }
        document
    }
}

impl About<'_> {
    /// `deployments.apps`.
    pub(crate) fn qualified(&self) -> String {
        match self.group {
            "" => self.resource.to_owned(),
            group => format!("{}.{group}", self.resource),
        }
    }
}

/// As upstream: `pods "web"`, `deployments.apps "web"`.
impl std::fmt::Display for About<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?}", self.qualified(), self.name)
    }
}
