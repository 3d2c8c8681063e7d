//! /flagz and /statusz, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use api::Time;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, WARNING};
use http::{HeaderMap, StatusCode, Uri};
use runtime::{Random, Runtime};
use serde::Serialize;

use crate::ProcessStatus;
use crate::answer::TEXT;
use crate::cbor;
use crate::negotiate::{Encoding, Form, GROUP, Offers, Version, negotiate};

/// One of these is chosen at random, so that no client parses the text.
const DELIMITERS: [&str; 4] = [":", ": ", "=", " "];

/// The page /flagz, as apiserver/pkg/server/flagz. It never changes, so its text is rendered once.
pub(crate) struct Flagz {
    component: &'static str,
    flags: BTreeMap<String, String>,
    offers: Offers,
    text: Bytes,
}

/// The page /statusz, as apiserver/pkg/server/statusz.
pub(crate) struct Statusz {
    component: &'static str,
    status: ProcessStatus,
    paths: Vec<&'static str>,
    offers: Offers,
    runtime: Runtime,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta {
    kind: &'static str,
    api_version: String,
    metadata: Metadata,
}

#[derive(Serialize)]
struct Metadata {
    name: &'static str,
}

/// The types Flagz of config.k8s.io, which are alike.
#[derive(Serialize)]
struct FlagzObject<'a> {
    #[serde(flatten)]
    meta: TypeMeta,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    flags: &'a BTreeMap<String, String>,
}

/// The types Statusz of config.k8s.io, which are alike.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatuszObject<'a> {
    #[serde(flatten)]
    meta: TypeMeta,
    start_time: Time,
    uptime_seconds: u64,
    go_version: &'a str,
    binary_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    emulation_version: Option<&'a str>,
    paths: &'a [&'static str],
}

/// A failure as `metav1.Status`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Refusal {
    kind: &'static str,
    api_version: &'static str,
    metadata: BTreeMap<String, String>,
    status: &'static str,
    message: String,
    reason: &'static str,
    code: u16,
}

// === impl Flagz ===

impl Flagz {
    pub(crate) fn new(
        component: &'static str,
        flags: BTreeMap<String, String>,
        offers: Offers,
        random: &Random,
    ) -> Self {
        let (mut text, delimiter) = (header(component, "flagz"), delimiter(random));
        for (name, value) in &flags {
            let _ = writeln!(text, "{name}{delimiter}{value}");
        }
        Self { component, flags, offers, text: text.into() }
    }

    pub(crate) fn page(self) -> MethodRouter {
        let flagz = Arc::new(self);
        any(async move |headers: HeaderMap, uri: Uri| flagz.answer(&headers, &uri))
    }

    fn answer(&self, headers: &HeaderMap, uri: &Uri) -> Response {
        match negotiate(headers, uri, "Flagz", self.offers) {
            Ok(Form::Text) => ([(CONTENT_TYPE, TEXT)], self.text.clone()).into_response(),
            Ok(Form::Object(version, encoding)) => {
                let meta = TypeMeta::new("Flagz", version, self.component);
                let object = FlagzObject { meta, flags: &self.flags };
                structured(&object, "Flagz", version, encoding)
            }
            Err(encoding) => refused(encoding, self.offers),
        }
    }
}

// === impl Statusz ===

impl Statusz {
    pub(crate) fn new(
        component: &'static str,
        mut status: ProcessStatus,
        paths: Vec<&'static str>,
        offers: Offers,
        runtime: Runtime,
    ) -> Self {
        status.started = status.started.whole_seconds();
        Self { component, status, paths, offers, runtime }
    }

    pub(crate) fn page(self) -> MethodRouter {
        let statusz = Arc::new(self);
        any(async move |headers: HeaderMap, uri: Uri| statusz.answer(&headers, &uri))
    }

    fn answer(&self, headers: &HeaderMap, uri: &Uri) -> Response {
        match negotiate(headers, uri, "Statusz", self.offers) {
            Ok(Form::Text) => ([(CONTENT_TYPE, TEXT)], self.text()).into_response(),
            Ok(Form::Object(version, encoding)) => {
                structured(&self.object(version), "Statusz", version, encoding)
            }
            Err(encoding) => refused(encoding, self.offers),
        }
    }

    fn object(&self, version: Version) -> StatuszObject<'_> {
        StatuszObject {
            meta: TypeMeta::new("Statusz", version, self.component),
            start_time: self.status.started,
            uptime_seconds: self.uptime_seconds(),
            go_version: &self.status.go_version,
            binary_version: &self.status.binary_version,
            emulation_version: self.status.emulation_version.as_deref(),
            paths: &self.paths,
        }
    }

    /// As `statuszTextSerializer`: the line is empty if there is no emulation version.
    fn text(&self) -> String {
        let (up, delimiter) = (self.uptime_seconds(), delimiter(&self.runtime.random));
        let (hours, minutes, seconds) = (up / 3600, up / 60 % 60, up % 60);
        let (status, mut text) = (&self.status, header(self.component, "statusz"));
        let lines = [
            ("Started", Some(unix_date(status.started))),
            ("Up", Some(format!("{hours} hr {minutes:02} min {seconds:02} sec"))),
            ("Go version", Some(status.go_version.clone())),
            ("Binary version", Some(status.binary_version.clone())),
            ("Emulation version", status.emulation_version.clone()),
            ("Paths", Some(self.paths.join(" "))),
        ];
        text.push('\n');
        for (name, value) in lines {
            if let Some(value) = value {
                let _ = write!(text, "{name}{delimiter} {value}");
            }
            text.push('\n');
        }
        text
    }

    fn uptime_seconds(&self) -> u64 {
        self.runtime.clock.now().since(self.status.started).as_secs()
    }
}

// === impl TypeMeta ===

impl TypeMeta {
    fn new(kind: &'static str, version: Version, name: &'static str) -> Self {
        let api_version = format!("{GROUP}/{}", version.as_str());
        Self { kind, api_version, metadata: Metadata { name } }
    }
}

fn header(component: &str, page: &str) -> String {
    format!(
        "\n{component} {page}\nWarning: This endpoint is not meant to be machine parseable, has \
         no formatting compatibility guarantees and is for debugging purposes only.\n"
    )
}

fn delimiter(random: &Random) -> &'static str {
    DELIMITERS[(random.bits() % 4) as usize]
}

/// As Go's `time.UnixDate`, always in UTC.
fn unix_date(time: Time) -> String {
    let seconds = time.unix_nanos().div_euclid(1_000_000_000);
    let stamp = jiff::Timestamp::from_second(seconds).ok();
    let text = stamp.map(|stamp| jiff::fmt::strtime::format("%a %b %e %H:%M:%S UTC %Y", stamp));
    text.and_then(Result::ok).unwrap_or_else(|| time.to_string())
}

fn structured<T: Serialize>(
    object: &T,
    kind: &str,
    version: Version,
    encoding: Encoding,
) -> Response {
    let (media_type, body) = encode(object, encoding);
    let content_type = format!("{media_type};g={GROUP};v={};as={kind}", version.as_str());
    let response = ([(CONTENT_TYPE, content_type)], body).into_response();
    match version {
        Version::V1Beta1 => response,
        Version::V1Alpha1 => {
            let page = kind.to_ascii_lowercase();
            let old = format!("This version of the {page} endpoint is deprecated.");
            let warning = format!("299 - \"{old} Please use a newer version.\"");
            ([(WARNING, warning)], response).into_response()
        }
    }
}

/// As `ErrorNegotiated` in apiserver/pkg/endpoints/handlers/responsewriters.
fn refused(encoding: Encoding, offers: Offers) -> Response {
    let status = StatusCode::NOT_ACCEPTABLE;
    let refusal = Refusal {
        kind: "Status",
        api_version: "v1",
        metadata: BTreeMap::new(),
        status: "Failure",
        message: format!("only the following media types are accepted: {}", offers.names()),
        reason: "NotAcceptable",
        code: status.as_u16(),
    };
    let (media_type, body) = encode(&refusal, encoding);
    (status, [(CONTENT_TYPE, media_type)], body).into_response()
}

/// The media type and the body. YAML has its fields sorted, as upstream's.
fn encode<T: Serialize>(object: &T, encoding: Encoding) -> (&'static str, Bytes) {
    const STRINGS: &str = "fields with fixed names and text values can be written";
    match encoding {
        Encoding::Json => {
            let json = serde_json::to_string(object).expect(STRINGS) + "\n";
            ("application/json", api::go::escape_html(json).into())
        }
        Encoding::JsonPretty => {
            let json = serde_json::to_string_pretty(object).expect(STRINGS);
            ("application/json", api::go::escape_html(json).into())
        }
        Encoding::Yaml => {
            let sorted = serde_json::to_value(object).expect(STRINGS);
            ("application/yaml", serde_yaml::to_string(&sorted).expect(STRINGS).into())
        }
        Encoding::Cbor => {
            let value = serde_json::to_value(object).expect(STRINGS);
            ("application/cbor", cbor::encode(&value).into())
        }
    }
}
