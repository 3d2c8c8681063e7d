//! Objects as clients want to see them: whole, their metadata, or rows of a table.

use std::borrow::Cow;
use std::io::Write;

use api::Time;
use apimachinery::fields;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, RETRY_AFTER, WARNING};
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};
use strategies::{Column, scale};

use crate::registry::Served;
use crate::request::{Call, Form, Include, Verb, wants_pretty};
use crate::status::Status;
use crate::store::{Event, Stored, TypeMeta, encode};
use crate::write::{Document, Written};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache, private");

/// Something to show.
pub(crate) enum Shown<'a> {
    /// An object.
    Stored(&'a Stored),
    /// An object as it is when it is seen no more.
    Gone(&'a Event),
    /// A document that is stored nowhere; it says its type.
    Document(&'a Value),
}

/// The metadata of a list.
pub(crate) struct ListMeta {
    pub(crate) revision: u64,
    /// How it continues.
    pub(crate) token: Option<String>,
    /// How many objects come after it, if that is known.
    pub(crate) remaining: Option<usize>,
}

/// How the objects of a resource are shown.
pub(crate) struct Renderer<'a> {
    served: &'a Served,
    /// Of what is shown.
    api_version: String,
    form: Form,
    now: Time,
    is_pretty: bool,
}

/// Whether a table says what its columns are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Columns {
    Shown,
    Hidden,
}

/// The response to a write: the document in the form that the call asks for, with warnings.
pub(crate) fn object(call: &Call, form: Form, written: &Written) -> Response<Bytes> {
    let shown = match &written.document {
        Document::Stored(stored) => Shown::Stored(stored),
        Document::Made(document) => Shown::Document(document),
    };
    let renderer = Renderer::new(call, form);
    let answer = match (call.verb, &written.document) {
        (Verb::DeleteCollection, Document::Made(list)) if form != Form::Whole => {
            renderer.collection(list)
        }
        _ => renderer.answer(written.code, &shown),
    };
    let mut answer = answer.unwrap_or_else(|fault| status(&fault, false));
    warn(&mut answer, &written.warnings);
    answer
}

fn warn(answer: &mut Response<Bytes>, warnings: &[String]) {
    for text in warnings {
        if let Ok(value) = HeaderValue::from_bytes(warning(text).as_bytes()) {
            answer.headers_mut().append(WARNING, value);
        }
    }
}

/// A failure.
pub(crate) fn status(status: &Status, is_pretty: bool) -> Response<Bytes> {
    let (json, _) = encode(&status.json());
    let mut answer = respond(status.code, json.into(), is_pretty);
    if let Some(seconds) = status.retry_after_seconds() {
        answer.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    warn(&mut answer, &status.warnings);
    answer
}

// === impl Renderer ===

impl<'a> Renderer<'a> {
    /// For the response to a call.
    pub(crate) fn new(call: &'a Call, form: Form) -> Self {
        // The parameter is looked for as in any query.
        let pretty = call.parameters.iter().find(|(name, _)| name == "pretty");
        let pretty = pretty.map(|(_, value)| format!("pretty={value}")).unwrap_or_default();
        let is_pretty = wants_pretty(&pretty, &call.headers);
        Self { is_pretty, ..Self::of(&call.served, form, call.now) }
    }

    /// For objects of a resource.
    pub(crate) fn of(served: &'a Served, form: Form, now: Time) -> Self {
        let api_version = served.resource.api_version();
        Self { served, api_version, form, now, is_pretty: false }
    }

    /// The response that is one object, or a document.
    pub(crate) fn answer(&self, code: u16, shown: &Shown<'_>) -> Result<Response<Bytes>, Status> {
        if matches!(self.form, Form::MetadataList(_)) && !shown.is_status() {
            return Err(Status::not_acceptable(format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list \
                 (*{})",
                self.go_type("")
            )));
        }
        let mut out = Vec::new();
        self.write(&mut out, shown, Columns::Shown);
        Ok(respond(code, out, self.is_pretty))
    }

    /// The response that is a list which was made already.
    fn collection(&self, list: &Value) -> Result<Response<Bytes>, Status> {
        let revision = fields::at(list, "/metadata/resourceVersion").and_then(Value::as_str);
        let revision = revision.and_then(|text| text.parse().ok()).unwrap_or_default();
        let items = fields::at(list, "/items")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let items: Vec<_> = items.iter().map(Shown::Document).collect();
        self.list(&ListMeta { revision, token: None, remaining: None }, &items)
    }

    /// The response that is a list.
    pub(crate) fn list(
        &self,
        meta: &ListMeta,
        items: &[Shown<'_>],
    ) -> Result<Response<Bytes>, Status> {
        let kind = &*self.served.resource.kind;
        let (kind, version) = match self.form {
            Form::Whole => (format!("{kind}List"), &*self.api_version),
            Form::Metadata(_) => {
                return Err(Status::not_acceptable(format!(
                    "you requested PartialObjectMetadata, but the requested object is a list (*{})",
                    self.go_type("List")
                )));
            }
            Form::MetadataList(version) => {
                ("PartialObjectMetadataList".to_owned(), version.api_version())
            }
            Form::Table(version, _) => ("Table".to_owned(), version.api_version()),
        };
        let mut out = Vec::new();
        let (kind, version) = (Value::from(kind), Value::from(version));
        let meta = meta.json();
        put(
            &mut out,
            format_args!("{{\"kind\":{kind},\"apiVersion\":{version},\"metadata\":{meta}"),
        );
        if matches!(self.form, Form::Table(..)) {
            put(&mut out, format_args!(",\"columnDefinitions\":{},\"rows\":[", self.columns()));
        } else {
            put(&mut out, format_args!(",\"items\":["));
        }
        for (index, shown) in items.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            match self.form {
                Form::Whole if !self.served.custom => shown.write(&mut out, TypeMeta::Absent),
                Form::Table(version, include) => {
                    self.write_row(&mut out, shown, (version.api_version(), include));
                }
                Form::Whole | Form::Metadata(_) | Form::MetadataList(_) => {
                    self.write(&mut out, shown, Columns::Hidden);
                }
            }
        }
        out.extend_from_slice(b"]}");
        Ok(respond(200, out, self.is_pretty))
    }

    /// Writes an object in its form, without a list around it.
    pub(crate) fn write(&self, out: &mut Vec<u8>, shown: &Shown<'_>, columns: Columns) {
        if shown.is_status() {
            return shown.write(out, TypeMeta::Stored);
        }
        match self.form {
            Form::Whole => shown.write(out, shown.type_meta(&self.api_version)),
            Form::Metadata(version) | Form::MetadataList(version) => {
                write_metadata(out, shown, version.api_version());
            }
            Form::Table(version, include) => {
                let (version, object) = (version.api_version(), shown.object());
                let revision = fields::at(&object, "/metadata/resourceVersion");
                let columns = match columns {
                    Columns::Shown if shown.is_scale() => definitions(scale::columns()),
                    Columns::Shown => self.columns(),
                    Columns::Hidden => Value::Null,
                };
                let metadata = json!({"resourceVersion": revision});
                put(
                    out,
                    format_args!(
                        "{{\"kind\":\"Table\",\"apiVersion\":\"{version}\",\"metadata\":{metadata},\
                         \"columnDefinitions\":{columns},\"rows\":["
                    ),
                );
                self.write_row(out, shown, (version, include));
                out.extend_from_slice(b"]}");
            }
        }
    }

    /// Writes an object that says nothing but a version: those of quiet watches are many.
    pub(crate) fn write_bookmark(&self, out: &mut Vec<u8>, revision: u64) {
        let (kind, version) = match self.form {
            Form::Metadata(version) | Form::MetadataList(version) => {
                ("PartialObjectMetadata", version.api_version())
            }
            Form::Whole | Form::Table(..) => (&*self.served.resource.kind, &*self.api_version),
        };
        let metadata = format_args!("{{\"resourceVersion\":\"{revision}\"}}");
        put(
            out,
            format_args!(
                "{{\"kind\":\"{kind}\",\"apiVersion\":\"{version}\",\"metadata\":{metadata}}}"
            ),
        );
    }

    fn write_row(&self, out: &mut Vec<u8>, shown: &Shown<'_>, how: (&str, Include)) {
        let object = shown.object();
        let cells = if shown.is_scale() {
            Value::from(scale::row(&object, self.now))
        } else {
            Value::from(self.served.strategy.row(&object, self.now))
        };
        put(out, format_args!("{{\"cells\":{cells},\"object\":"));
        match how {
            (_, Include::Nothing) => out.extend_from_slice(b"null"),
            (version, Include::Metadata) => write_metadata(out, shown, version),
            (_, Include::Object) => shown.write(out, shown.type_meta(&self.api_version)),
        }
        out.push(b'}');
    }

    fn columns(&self) -> Value {
        definitions(self.served.strategy.columns())
    }

    /// As Go names the type of the object, or of a list of it.
    fn go_type(&self, suffix: &str) -> String {
        let resource = &self.served.resource;
        if self.served.custom {
            return format!("unstructured.Unstructured{suffix}");
        }
        let package = match &*resource.group {
            "" => "core",
            group => group.split('.').next().unwrap_or(group),
        };
        format!("{package}.{}{suffix}", resource.kind)
    }
}

// === impl Shown ===

impl<'a> Shown<'a> {
    /// The object.
    fn object(&self) -> Cow<'a, Value> {
        match self {
            Self::Stored(stored) => Cow::Borrowed(&stored.object),
            Self::Gone(event) => Cow::Owned(event.gone()),
            Self::Document(document) => Cow::Borrowed(document),
        }
    }

    fn write(&self, out: &mut Vec<u8>, ty: TypeMeta<'_>) {
        match self {
            Self::Stored(stored) => stored.write(out, ty),
            Self::Gone(event) => event.write_gone(out, ty),
            Self::Document(document) => out.extend_from_slice(&encode(document).0),
        }
    }

    /// How the type is written if a version was asked for.
    fn type_meta<'v>(&self, version: &'v str) -> TypeMeta<'v> {
        let object = match self {
            Self::Stored(stored) => &*stored.object,
            Self::Gone(event) => event.before.as_ref().map_or(&Value::Null, |it| &it.object),
            Self::Document(_) => return TypeMeta::Stored,
        };
        let stored = object.get("apiVersion").and_then(Value::as_str);
        if stored == Some(version) { TypeMeta::Stored } else { TypeMeta::Version(version) }
    }

    /// Whether it is a Status, which stays one whatever is asked for.
    fn is_status(&self) -> bool {
        self.is_document("v1", "Status")
    }

    /// Whether it is a Scale, which has columns of its own.
    fn is_scale(&self) -> bool {
        self.is_document("autoscaling/v1", "Scale")
    }

    fn is_document(&self, api_version: &str, kind: &str) -> bool {
        let Self::Document(document) = self else { return false };
        let says = |field, value: &str| document.get(field).and_then(Value::as_str) == Some(value);
        says("kind", kind) && says("apiVersion", api_version)
    }
}

// === impl ListMeta ===

impl ListMeta {
    fn json(&self) -> Value {
        let mut meta = json!({"resourceVersion": self.revision.to_string()});
        if let Some(token) = &self.token {
            meta["continue"] = token.as_str().into();
        }
        if let Some(remaining) = self.remaining {
            meta["remainingItemCount"] = remaining.into();
        }
        meta
    }
}

/// Columns as a table defines them.
fn definitions(columns: &[Column]) -> Value {
    let columns = columns.iter().map(|column| {
        json!({
            "name": column.name,
            "type": column.kind,
            "format": column.format,
            "description": "",
            "priority": i32::from(column.wide),
        })
    });
    columns.collect()
}

fn write_metadata(out: &mut Vec<u8>, shown: &Shown<'_>, version: &str) {
    let object = shown.object();
    let metadata = object.get("metadata").unwrap_or(&Value::Null);
    put(
        out,
        format_args!(
            "{{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"{version}\",\
             \"metadata\":{metadata}}}"
        ),
    );
}

/// Writing to memory does not fail.
fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

/// A response of JSON.
fn respond(code: u16, mut json: Vec<u8>, is_pretty: bool) -> Response<Bytes> {
    if is_pretty && let Ok(value) = serde_json::from_slice::<Value>(&json) {
        json = serde_json::to_vec_pretty(&value).unwrap_or(json);
    }
    json.push(b'\n');
    let mut answer = Response::new(Bytes::from(json));
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers: [(HeaderName, HeaderValue); 2] = [(CONTENT_TYPE, JSON), (CACHE_CONTROL, NO_CACHE)];
    answer.headers_mut().extend(headers);
    answer
}

/// As `net.NewWarningHeader`: control characters are left out, quotes are escaped.
fn warning(text: &str) -> String {
    let mut out = String::from("299 - \"");
    for char in text.chars().filter(|char| !char.is_control()) {
        if matches!(char, '"' | '\\') {
            out.push('\\');
        }
        out.push(char);
    }
    out.push('"');
    out
}
