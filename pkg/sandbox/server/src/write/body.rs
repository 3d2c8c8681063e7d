//! From the body of a request to the object that it holds.

use std::borrow::Cow;

use schema::{DecodeError, Decoded, Schema, Strictness, TypeId, decode, decode_value};
use serde_json::{Map, Value};
use strategies::Strategy;

use super::fields::{set, text};
use crate::request::Call;
use crate::status::Status;

/// How much of a body that cannot be read is shown.
const SUMMARY_LENGTH_MAX: usize = 30;
/// The types of bodies that creates and updates take.
const ACCEPTED: &str = "application/json, application/yaml";

/// What a body should hold.
pub(crate) struct Wanted<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) ty: TypeId,
    /// Fills in what is left out.
    pub(crate) strategy: Option<&'a dyn Strategy>,
    pub(crate) strictness: Strictness,
}

impl<'a> Wanted<'a> {
    /// An object of the resource of a call.
    pub(crate) fn of(call: &'a Call, strictness: Strictness) -> Self {
        let served = &call.served;
        Self {
            group: &served.resource.group,
            version: &served.resource.version,
            kind: &served.resource.kind,
            ty: served.ty,
            strategy: Some(&*served.strategy),
            strictness,
        }
    }

    /// A document of another kind.
    pub(crate) fn document(
        (group, version, kind): (&'a str, &'a str, &'a str),
        strictness: Strictness,
    ) -> Self {
        let schema = Schema::builtin();
        let ty = schema.kind(group, version, kind).unwrap_or_else(|| schema.custom());
        Self { group, version, kind, ty, strategy: None, strictness }
    }

    /// `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Reads the body of a create or an update, with defaults.
    pub(crate) fn read(&self, call: &Call) -> Result<Decoded, Status> {
        let json = match content_type(call).as_str() {
            "" | "application/json" => Cow::Borrowed(&*call.body),
            "application/yaml" | "text/yaml" | "application/x-yaml" => {
                let value = yaml(&call.body).map_err(|error| self.refused(&call.body, &error))?;
                Cow::Owned(value.to_string().into_bytes())
            }
            _ => return Err(unknown_format(ACCEPTED)),
        };
        self.decode(&json).map_err(|error| self.refused(&json, &error.to_string())).and_then(
            |decoded| {
                self.check(&decoded.object)?;
                Ok(decoded)
            },
        )
    }

    /// Reads JSON, with defaults.
    pub(crate) fn decode(&self, json: &[u8]) -> Result<Decoded, DecodeError> {
        self.whole(decode(Schema::builtin(), self.ty, json, self.strictness)?)
    }

    /// Reads what a patch makes of `old`, with defaults. The fields that it leaves alone were read
    /// before.
    pub(crate) fn decode_patched(&self, new: Value, old: &Value) -> Result<Decoded, DecodeError> {
        let (mut changed, mut known) = (new, Map::new());
        if let Some(fields) = changed.as_object_mut() {
            let all = std::mem::take(fields).into_iter();
            let parts = all.partition(|(name, value)| old.get(name) == Some(value));
            (known, *fields) = parts;
        }
        let schema = Schema::builtin();
        let mut decoded = decode_value(schema, self.ty, &changed, self.strictness)?;
        if let Some(fields) = decoded.object.as_object_mut() {
            fields.extend(known);
        }
        self.whole(decoded)
    }

    fn whole(&self, mut decoded: Decoded) -> Result<Decoded, DecodeError> {
        let Some(object) = decoded.object.as_object_mut() else {
            let message = "json: cannot unmarshal into an object".to_owned();
            return Err(DecodeError::Malformed(message));
        };
        for (field, value) in [("apiVersion", self.api_version()), ("kind", self.kind.to_owned())] {
            let said = object.get(field).and_then(Value::as_str).unwrap_or_default();
            if said.is_empty() {
                object.insert(field.to_owned(), value.into());
            }
        }
        if object.get("metadata").is_some_and(Value::is_null) {
            object.remove("metadata");
        }
        if let Some(strategy) = self.strategy {
            strategy.default(&mut decoded.object);
        }
        Ok(decoded)
    }

    /// The kind of the body is that of the path.
    fn check(&self, object: &Value) -> Result<(), Status> {
        let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
        let wanted = self.api_version();
        if kind != self.kind {
            return Err(self.other(api_version, kind));
        }
        if api_version != wanted {
            return Err(Status::bad_request(format!(
                "the API version in the data ({api_version}) does not match the expected API \
                 version ({wanted})"
            )));
        }
        Ok(())
    }

    /// 400: the body holds another kind.
    fn other(&self, api_version: &str, kind: &str) -> Status {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let why = if Schema::builtin().kind(group, version, kind).is_some() {
            let internal = if self.group.is_empty() { "core" } else { self.package() };
            format!("converting (v1.{kind}) to ({internal}.{}): unknown conversion", self.kind)
        } else {
            format!(
                "no kind {kind:?} is registered for version {api_version:?} in scheme \
                 \"pkg/api/legacyscheme/scheme.go:30\""
            )
        };
        let own = self.kind;
        let message = format!("{kind} in version {version:?} cannot be handled as a {own}: {why}");
        Status::bad_request(message)
    }

    /// The Go package of the group's internal types.
    fn package(&self) -> &str {
        self.group.split('.').next().unwrap_or_default()
    }

    /// 400: the body cannot be read (transformDecodeError).
    fn refused(&self, json: &[u8], why: &str) -> Status {
        let Ok(object) = serde_json::from_slice::<Value>(json) else {
            let (kind, summary) = (self.kind, summary(json));
            return Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): couldn't get \
                 version/kind; json parse error: {why} ({summary})"
            ));
        };
        let said = |pointer: &str| Some(text(&object, pointer)).filter(|text| !text.is_empty());
        let wanted = self.api_version();
        let api_version = said("/apiVersion").unwrap_or(&wanted);
        let kind = said("/kind").unwrap_or(self.kind);
        if kind != self.kind {
            return self.other(api_version, kind);
        }
        let (_, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let own = self.kind;
        let message = format!("{kind} in version {version:?} cannot be handled as a {own}: {why}");
        Status::bad_request(message)
    }
}

/// The type of the body, without its parameters.
pub(crate) fn content_type(call: &Call) -> String {
    let header = call.headers.get(http::header::CONTENT_TYPE);
    let header = header.and_then(|it| it.to_str().ok()).unwrap_or_default();
    header.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Reads YAML, and so JSON too.
pub(crate) fn yaml(body: &[u8]) -> Result<Value, String> {
    serde_yaml::from_slice(body).map_err(|error| error.to_string())
}

/// 415.
pub(crate) fn unknown_format(accepted: &str) -> Status {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: \
         {accepted}"
    );
    Status::new(415, "UnsupportedMediaType", message)
}

/// 400 if the body is about another namespace than the path; else the object is in the path's
/// (EnsureObjectNamespaceMatchesRequestNamespace).
pub(crate) fn put_in_namespace(object: &mut Value, call: &Call) -> Result<(), Status> {
    let said = text(object, "/metadata/namespace");
    let wanted = if call.served.resource.namespaced { call.namespace.as_str() } else { "" };
    if said == wanted {
        return Ok(());
    }
    if !said.is_empty() && !wanted.is_empty() {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let value = if wanted.is_empty() { Value::Null } else { wanted.into() };
    set(super::fields::metadata(object), "namespace", value);
    Ok(())
}

/// 400 if the body is about another object than the path.
pub(crate) fn check_name(object: &Value, call: &Call) -> Result<(), Status> {
    let (said, wanted) = (text(object, "/metadata/name"), call.name.as_str());
    if said.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be \
             provided"
        )));
    }
    if said != wanted {
        return Err(Status::bad_request(format!(
            "the name of the object ({said}) does not match the name on the URL ({wanted})"
        )));
    }
    Ok(())
}

fn summary(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    match text.chars().next() {
        None => "<empty>".to_owned(),
        Some('{') if text.len() > SUMMARY_LENGTH_MAX => {
            let start: String = text.chars().take(SUMMARY_LENGTH_MAX).collect();
            format!("{start} ...")
        }
        Some('{') => text.into_owned(),
        Some(_) => {
            let bytes = body.iter().take(SUMMARY_LENGTH_MAX);
            bytes.fold(String::new(), |shown, byte| format!("{shown}{byte:02x}"))
        }
    }
}
