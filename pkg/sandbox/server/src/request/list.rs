//! What lists and watches are asked with (`metav1.ListOptions`).

use strategies::{Invalid, Path};

use super::{Call, Fields, Labels, Verb, query};
use crate::status::{About, Status};

/// The parameters of a list or a watch, checked.
#[derive(Clone, Debug)]
pub(crate) struct ListOptions {
    pub(crate) labels: Labels,
    pub(crate) fields: Fields,
    /// As it was written: that it is absent, and that it is `0`, differ.
    pub(crate) resource_version: String,
    pub(crate) version_match: Match,
    /// 0: none.
    pub(crate) limit: usize,
    /// Empty: from the start.
    pub(crate) token: String,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
}

/// `resourceVersionMatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Unset,
    Exact,
    NotOlderThan,
}

impl ListOptions {
    /// Reads and checks them (upstream's listOpts).
    pub(crate) fn of(call: &Call) -> Result<Self, Status> {
        let labels = Labels::parse(call.parameter("labelSelector"));
        let labels = labels.map_err(Status::bad_request)?;
        let limit = call.number("limit")?.unwrap_or(0);
        let timeout_seconds = call.number("timeoutSeconds")?;
        let mut send_initial_events = call.switch("sendInitialEvents");
        let resource_version = call.parameter("resourceVersion").to_owned();
        let mut version_match = call.parameter("resourceVersionMatch");
        // Watches that begin anywhere begin with what is there (SetListOptionsDefaults).
        let anywhere = matches!(&*resource_version, "" | "0");
        let says_nothing = send_initial_events.is_none() && version_match.is_empty();
        if call.verb == Verb::Watch && anywhere && says_nothing {
            (send_initial_events, version_match) = (Some(true), "NotOlderThan");
        }
        let faults = faults(call, version_match, send_initial_events);
        if !faults.is_empty() {
            let about = About { group: "meta.k8s.io", resource: "ListOptions", name: "" };
            return Err(Status::invalid(about, &faults));
        }
        let version_match = match version_match {
            "Exact" => Match::Exact,
            "NotOlderThan" => Match::NotOlderThan,
            _ => Match::Unset,
        };
        Ok(Self {
            labels,
            fields: fields(call)?,
            resource_version,
            version_match,
            limit: usize::try_from(limit).unwrap_or(0),
            token: call.parameter("continue").to_owned(),
            timeout_seconds: timeout_seconds.and_then(|it| u64::try_from(it).ok()),
            bookmarks: call.switch("allowWatchBookmarks").unwrap_or(false),
            send_initial_events,
        })
    }

    /// The version that was asked for; 0: none.
    pub(crate) fn version(&self) -> Result<u64, Status> {
        Self::version_of(&self.resource_version)
    }

    /// The version that a parameter says; 0: none.
    pub(crate) fn version_of(value: &str) -> Result<u64, Status> {
        query::version(value).map_err(|fault| {
            let value = api::go::quote(value);
            let fault = format!("resourceVersion: Invalid value: {value}: {fault}");
            Status::bad_request(format!("invalid resource version: {fault}"))
        })
    }
}

/// The field selector, and the name in the path, which is one too.
fn fields(call: &Call) -> Result<Fields, Status> {
    let fields = Fields::parse(call.parameter("fieldSelector"), &call.served)?;
    if call.name.is_empty() {
        return Ok(fields);
    }
    if fields.is_empty() {
        return Ok(Fields::of_name(&call.name));
    }
    if fields.name() == Some(&*call.name) {
        return Ok(fields);
    }
    Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name"))
}

/// As upstream's ValidateListOptions.
fn faults(call: &Call, version_match: &str, send_initial_events: Option<bool>) -> Vec<Invalid> {
    let field = Path::new("resourceVersionMatch");
    let version = call.parameter("resourceVersion");
    let continues = !call.parameter("continue").is_empty();
    let mut faults = Vec::new();
    let mut forbid = |is_fault: bool, field: &Path, detail: &str| {
        if is_fault {
            faults.push(field.forbidden(detail));
        }
    };
    let sends = Path::new("sendInitialEvents");
    let says = !version_match.is_empty();
    let too_much = "resourceVersionMatch is forbidden when continue is provided";
    if call.verb == Verb::Watch {
        let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        forbid(send_initial_events.is_some() && version_match != "NotOlderThan", &field, detail);
        let detail =
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
        forbid(says && send_initial_events.is_none(), &field, detail);
        if says && version_match != "NotOlderThan" {
            faults.push(field.not_supported(version_match, &["NotOlderThan"]));
        }
        if says && continues {
            faults.push(field.forbidden(too_much));
        }
        return faults;
    }
    let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
    forbid(says && version.is_empty(), &field, detail);
    forbid(says && continues, &field, too_much);
    if says && !matches!(version_match, "Exact" | "NotOlderThan") {
        faults.push(field.not_supported(version_match, &["Exact", "NotOlderThan", ""]));
    }
    if version_match == "Exact" && version == "0" {
        let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
        faults.push(field.forbidden(detail));
    }
    if send_initial_events.is_some() {
        faults.push(sends.forbidden("sendInitialEvents is forbidden for list"));
    }
    faults
}
