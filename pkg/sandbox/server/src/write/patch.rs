//! Patches: what they make of an object, which is then written as an update.

use schema::apply::{self, Applier, ApplyError};
use schema::patch::{self as patches, PatchError};
use schema::{DecodeError, Decoded, Schema, Strictness, decode};
use serde_json::{Value, json};
use strategies::{Invalid, Path};

use super::body::{Wanted, check_name, content_type, put_in_namespace, unknown_format, yaml};
use super::create::own;
use super::fields::text;
use super::options::{Of, Options};
use super::part::Part;
use super::update::{Change, update};
use super::{Written, about, existing};
use crate::registry::Served;
use crate::request::Call;
use crate::server::State;
use crate::status::{About, Status};

/// The types of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Kind {
    /// By the content type; 415.
    pub(super) fn of(call: &Call) -> Result<Self, Status> {
        match content_type(call).as_str() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if !call.served.custom => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            _ if call.served.custom => Err(unknown_format(
                "application/json-patch+json, application/merge-patch+json, \
                 application/apply-patch+yaml",
            )),
            _ => Err(unknown_format(
                "application/json-patch+json, application/merge-patch+json, \
                 application/strategic-merge-patch+json, application/apply-patch+yaml",
            )),
        }
    }

    /// Whose options these are.
    pub(super) fn options(self) -> Of {
        if self == Self::Apply { Of::Apply } else { Of::Patch }
    }
}

/// Handles a PATCH.
pub(super) fn patch(state: &mut State, call: &Call, part: Part) -> Result<Written, Status> {
    let kind = Kind::of(call)?;
    let options = Options::read(call, kind.options())?;
    let old = existing(state, call);
    let made = match (kind, &old) {
        (Kind::Apply, _) => applied(call, &options, old.as_deref())?,
        (_, None) => return Err(Status::not_found(about(&call.served, &call.name))),
        (_, Some(old)) => {
            let wanted = Wanted::of(call, options.strictness);
            let mut made = patched(call, kind, &wanted, old)?;
            own(state, call, &options, old, &mut made.object);
            made
        }
    };
    let mut new = made.object;
    if let (None, uid @ 1..) = (&old, text(&new, "/metadata/uid").len()) {
        let uid = &text(&new, "/metadata/uid")[..uid];
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was \
             found"
        );
        return Err(Status::conflict(about(&call.served, &call.name), &why));
    }
    put_in_namespace(&mut new, call)?;
    check_name(&new, call)?;
    let creates = kind == Kind::Apply && part == Part::Whole;
    let change = Change { call, part, options: &options, creates, uid: None };
    let warnings = made.warnings.clone();
    update(state, &change, old, new, made.warnings).map_err(|status| status.warned(&warnings))
}

/// What a patch of another kind than apply makes of an object.
pub(super) fn patched(
    call: &Call,
    kind: Kind,
    wanted: &Wanted<'_>,
    old: &Value,
) -> Result<Decoded, Status> {
    let (schema, mut object) = (Schema::builtin(), old.clone());
    let body = match kind {
        Kind::Json => {
            patches::json(&mut object, &call.body).map_err(|error| refused(&error))?;
            Value::Null
        }
        Kind::Merge => {
            let body = patch_object(&call.body)
                .map_err(|why| Status::bad_request(format!("error decoding patch: {why}")))?;
            if body.is_null() {
                return Err(Status::bad_request("Invalid JSON Patch"));
            }
            patches::merge(&mut object, &body);
            body
        }
        Kind::Strategic => {
            let body = patch_object(&call.body).map_err(Status::bad_request)?;
            if !body.is_null() {
                let patched = patches::strategic(schema, wanted.ty, &mut object, &body);
                patched.map_err(|error| refused(&error))?;
            }
            body
        }
        Kind::Apply => return Err(unknown_format("application/json-patch+json")),
    };
    typed(wanted, (object, old), &body, kind)
}

/// The JSON object, or null, of a body; in Go's words what else it is.
fn patch_object(body: &[u8]) -> Result<Value, String> {
    match serde_json::from_slice(body) {
        Ok(value @ (Value::Object(_) | Value::Null)) => Ok(value),
        Ok(other) => Err(no_map(&other)),
        Err(error) => {
            let schema = Schema::builtin();
            let read = decode(schema, schema.custom(), body, Strictness::Ignore);
            Err(read.map_or_else(|error| error.to_string(), |_| error.to_string()))
        }
    }
}

/// What Go says of a value where an object should be.
fn no_map(value: &Value) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
}

/// The object with the fields that its type has, and defaults.
fn typed(
    wanted: &Wanted<'_>,
    (object, old): (Value, &Value),
    body: &Value,
    kind: Kind,
) -> Result<Decoded, Status> {
    let whole = (kind != Kind::Strategic).then(|| object.clone());
    let decoded = wanted.decode_patched(object, old);
    decoded.map_err(|error| match error {
        DecodeError::Malformed(_) | DecodeError::Strict(_) => {
            let shown = whole.as_ref().unwrap_or(body).to_string();
            let fault: Invalid = Path::new("patch").invalid(shown, &error.to_string());
            Status::invalid(About { group: "", resource: "", name: "" }, &[fault])
        }
    })
}

/// What is left after an apply.
fn applied(call: &Call, options: &Options, old: Option<&Value>) -> Result<Decoded, Status> {
    let (schema, served) = (Schema::builtin(), &call.served);
    let body = configuration(call)?;
    let (api_version, now) = (served.resource.api_version(), call.now.to_string());
    let by = Applier {
        manager: &options.manager,
        force: options.force,
        subresource: &call.subresource,
        api_version: &api_version,
        now: &now,
    };
    // The schema does not know which kinds there are of custom resources.
    if served.custom {
        check_kind(&body, served, &api_version)?;
    }
    let live = old.unwrap_or(&Value::Null);
    let object = apply::apply(schema, served.ty, live, body, &by);
    let object = object.map_err(|error| unapplied(&error))?;
    let wanted = Wanted::of(call, Strictness::Ignore);
    wanted
        .decode_patched(object, &Value::Null)
        .map_err(|error| Status::bad_request(error.to_string()))
}

/// What is applied.
pub(super) fn configuration(call: &Call) -> Result<Value, Status> {
    let malformed = |why: String| Status::bad_request(format!("error decoding YAML: {why}"));
    match yaml(&call.body)
        .map_err(|why| malformed(format!("error converting YAML to JSON: {why}")))?
    {
        body @ Value::Object(_) => Ok(body),
        Value::Null => Ok(json!({})),
        other => {
            let why = no_map(&other);
            Err(malformed(format!("error unmarshaling JSON: while decoding JSON: {why}")))
        }
    }
}

/// 400: another kind, or another version of it, is applied (apimachinery's versionCheckManager).
fn check_kind(body: &Value, served: &Served, api_version: &str) -> Result<(), Status> {
    let (said, kind) = (text(body, "/apiVersion"), text(body, "/kind"));
    if said == api_version && kind == &*served.resource.kind {
        return Ok(());
    }
    let slash = if said.contains('/') { "" } else { "/" };
    Err(Status::bad_request(format!("invalid object type: {slash}{said}, Kind={kind}")))
}

/// The API server's response to an apply that fails: for a conflict a cause for each field.
fn unapplied(error: &ApplyError) -> Status {
    let why = error.to_string();
    let conflicts = match error {
        ApplyError::Malformed(_) => return Status::bad_request(why),
        ApplyError::Failed(_) => return Status::new(500, "", why),
        ApplyError::Conflicts(conflicts) => conflicts,
    };
    let causes: Vec<_> = conflicts
        .iter()
        .map(|it| {
            let (message, field) = (&it.message, &it.field);
            json!({"reason": "FieldManagerConflict", "message": message, "field": field})
        })
        .collect();
    let mut status = Status::new(409, "Conflict", why);
    status.details = json!({"causes": causes});
    status
}

/// The API server's response to a patch that does not apply.
fn refused(error: &PatchError) -> Status {
    let why = error.to_string();
    match error {
        PatchError::Malformed(_) => return Status::bad_request(why),
        PatchError::TooLarge(_) => return Status::new(413, "RequestEntityTooLarge", why),
        PatchError::Failed(_) => return Status::new(500, "", why),
        PatchError::Misfit(_) => {}
    }
    // Upstream's generic response does not say why; kubectl shows the same text.
    tracing::debug!(why, "a patch does not fit");
    let message = "the server rejected our request due to an error in our request";
    let mut status = Status::new(422, "Invalid", message);
    status.details = json!({});
    status
}
