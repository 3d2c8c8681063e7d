//! In which form a response is wanted.

use http::HeaderMap;
use http::header::{ACCEPT, USER_AGENT};

use super::{Call, query};
use crate::status::Status;

/// The group of the forms that any object can take.
const META: &str = "meta.k8s.io";
/// How clients begin that show responses to people as they come.
const PEOPLE: [&str; 3] = ["curl", "Wget", "Mozilla/5.0"];

/// What becomes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// It stays.
    Whole,
    /// Its metadata.
    Metadata(Version),
    /// The metadata of the objects of a list.
    MetadataList(Version),
    /// Rows for people.
    Table(Version, Include),
}

/// Of which version a form is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V1beta1,
}

/// What a row of a table says besides its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

/// The form that a call is to be answered in, or why there is none.
pub(crate) fn negotiate(call: &Call) -> Result<Form, Status> {
    let accept = call.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let accept = accept.collect::<Vec<_>>().join(",");
    if accept.trim().is_empty() {
        return Ok(Form::Whole);
    }
    let mut clauses: Vec<_> = accept.split(',').map(Clause::parse).collect();
    // The order of the client, but for what it says of its liking.
    clauses.sort_by(|one, two| two.quality.total_cmp(&one.quality));
    let Some(form) = clauses.iter().find_map(Clause::form) else {
        let message = "only the following media types are accepted: application/json";
        return Err(Status::new(406, "NotAcceptable", message));
    };
    let Form::Table(version, _) = form else { return Ok(form) };
    let include = match call.parameter("includeObject") {
        "" | "Metadata" => Include::Metadata,
        "None" => Include::Nothing,
        "Object" => Include::Object,
        other => {
            return Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: must \
                 be 'Metadata', 'Object', 'None', or empty",
                api::go::quote(other)
            )));
        }
    };
    Ok(Form::Table(version, include))
}

/// Whether JSON is to be written for people.
pub(crate) fn wants_pretty(query: &str, headers: &HeaderMap) -> bool {
    if query.contains("pretty") {
        let parameters = query::parse(query);
        let pretty = query::first(&parameters, "pretty").unwrap_or_default();
        if !pretty.is_empty() {
            return matches!(pretty, "1" | "t" | "T" | "TRUE" | "true" | "True");
        }
    }
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    PEOPLE.iter().any(|start| agent.starts_with(start))
}

/// A part of an `Accept` header.
struct Clause<'a> {
    media: &'a str,
    kind: &'a str,
    group: &'a str,
    version: &'a str,
    /// Whether it asks for what there is no way to say.
    is_odd: bool,
    quality: f32,
}

// === impl Clause ===

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let (kind, group, version) = ("", "", "");
        let mut clause = Self { media, kind, group, version, is_odd: false, quality: 1.0 };
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim_matches('"');
            match name.trim() {
                "as" => clause.kind = value,
                "g" => clause.group = value,
                "v" => clause.version = value,
                "q" => clause.quality = value.parse().unwrap_or(1.0),
                "stream" => clause.is_odd |= !matches!(value, "" | "watch"),
                "sv" => clause.is_odd |= !matches!(value, "" | "v1"),
                _ => {}
            }
        }
        clause
    }

    fn form(&self) -> Option<Form> {
        if self.is_odd || !matches!(self.media, "application/json" | "application/*" | "*/*") {
            return None;
        }
        if (self.kind, self.group, self.version) == ("", "", "") {
            return Some(Form::Whole);
        }
        let version = match self.version {
            "v1" if self.group == META => Version::V1,
            "v1beta1" if self.group == META => Version::V1beta1,
            _ => return None,
        };
        match self.kind {
            "PartialObjectMetadata" => Some(Form::Metadata(version)),
            "PartialObjectMetadataList" => Some(Form::MetadataList(version)),
            "Table" => Some(Form::Table(version, Include::Metadata)),
            _ => None,
        }
    }
}

// === impl Version ===

impl Version {
    /// `meta.k8s.io/v1`.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1beta1 => "meta.k8s.io/v1beta1",
        }
    }
}
