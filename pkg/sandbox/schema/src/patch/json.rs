//! JSON patch (RFC 6902). Our own, since the crates for it follow the RFC where evanphx/json-patch
//! does not (negative indices, `replace` of what is not there, a missing value that is null), and
//! their errors are not the ones that users know.

use std::num::IntErrorKind;

use serde_json::{Map, Value};

use super::PatchError;

const OPERATIONS_MAX: usize = 10_000;
const MISSING: &str = "missing value";

type Operation = Map<String, Value>;

/// Reads a patch, with the texts of the API server, which reads it strictly first.
pub(super) fn operations(patch: &[u8]) -> Result<Vec<Operation>, PatchError> {
    let malformed = |why: String| PatchError::Malformed(format!("error decoding patch: {why}"));
    let patch: Value =
        serde_json::from_slice(patch).map_err(|error| malformed(error.to_string()))?;
    let unfit = |value: &Value, what: &str| {
        malformed(format!("json: cannot unmarshal {} into Go {what}", json_kind(value)))
    };
    let items = match patch {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        other => return Err(unfit(&other, "value of type []handlers.jsonPatchOp")),
    };
    let mut operations = Vec::new();
    for item in items {
        let operation = match item {
            Value::Object(operation) => operation,
            Value::Null => Operation::new(),
            other => return Err(unfit(&other, "value of type handlers.jsonPatchOp")),
        };
        for field in ["op", "path", "from"] {
            if let Some(value) = operation.get(field)
                && !(value.is_string() || value.is_null())
            {
                return Err(unfit(
                    value,
                    &format!("struct field jsonPatchOp.{field} of type string"),
                ));
            }
        }
        operations.push(operation);
    }
    if operations.len() > OPERATIONS_MAX {
        return Err(PatchError::TooLarge(format!(
            "Request entity is too large: The allowed maximum operations in a JSON patch is \
             {OPERATIONS_MAX}, got {}",
            operations.len()
        )));
    }
    Ok(operations)
}

pub(super) fn applied(mut object: Value, operations: &[Operation]) -> Result<Value, PatchError> {
    for operation in operations {
        let kind = operation.get("op").and_then(Value::as_str).unwrap_or("unknown");
        match kind {
            "add" => add(&mut object, operation),
            "remove" => remove(&mut object, operation),
            "replace" => replace(&mut object, operation),
            "move" => relocate(&mut object, operation),
            "copy" => copy(&mut object, operation),
            "test" => test(&mut object, operation),
            other => Err(format!("Unexpected kind: {other}")),
        }
        .map_err(PatchError::Misfit)?;
    }
    Ok(object)
}

fn add(doc: &mut Value, operation: &Operation) -> Result<(), String> {
    let path =
        path(operation).map_err(|_| format!("add operation failed to decode path: {MISSING}"))?;
    let (parent, key) = find(doc, path).ok_or_else(|| {
        format!("add operation does not apply: doc is missing path: \"{path}\": {MISSING}")
    })?;
    insert(parent, key, value(operation))
        .map_err(|why| format!("error in add for path: '{path}': {why}"))
}

fn remove(doc: &mut Value, operation: &Operation) -> Result<(), String> {
    let path = path(operation)
        .map_err(|_| format!("remove operation failed to decode path: {MISSING}"))?;
    let (parent, key) = find(doc, path).ok_or_else(|| {
        format!("remove operation does not apply: doc is missing path: \"{path}\": {MISSING}")
    })?;
    take(parent, &key).map(drop).map_err(|why| format!("error in remove for path: '{path}': {why}"))
}

fn replace(doc: &mut Value, operation: &Operation) -> Result<(), String> {
    let path =
        path(operation).map_err(|why| format!("replace operation failed to decode path: {why}"))?;
    if path.is_empty() {
        *doc = match value(operation) {
            it @ (Value::Object(_) | Value::Array(_)) => it,
            // The library wraps an error there that it does not have.
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                let why = "replace operation value must be object or array: %!w(<nil>)";
                return Err(why.to_owned());
            }
        };
        return Ok(());
    }
    let (parent, key) = find(doc, path).ok_or_else(|| {
        format!("replace operation does not apply: doc is missing path: {path}: {MISSING}")
    })?;
    match parent {
        Value::Array(items) => {
            let at = index(&key, items.len()).map_err(|_| {
                format!("replace operation does not apply: doc is missing key: {path}: {MISSING}")
            })?;
            items.get_mut(at).into_iter().for_each(|item| *item = value(operation));
        }
        // What is not there is added.
        parent => insert(parent, key, value(operation))?,
    }
    Ok(())
}

fn relocate(doc: &mut Value, operation: &Operation) -> Result<(), String> {
    let from =
        from(operation).map_err(|why| format!("move operation failed to decode from: {why}"))?;
    let (parent, key) = find(doc, from).ok_or_else(|| {
        format!("move operation does not apply: doc is missing from path: {from}: {MISSING}")
    })?;
    let value =
        take(parent, &key).map_err(|why| format!("error in move for path: '{key}': {why}"))?;
    let path =
        path(operation).map_err(|why| format!("move operation failed to decode path: {why}"))?;
    let (parent, key) = find(doc, path).ok_or_else(|| {
        format!("move operation does not apply: doc is missing destination path: {path}: {MISSING}")
    })?;
    insert(parent, key, value).map_err(|why| format!("error in move for path: '{path}': {why}"))
}

fn copy(doc: &mut Value, operation: &Operation) -> Result<(), String> {
    let from =
        from(operation).map_err(|why| format!("copy operation failed to decode from: {why}"))?;
    let (parent, key) = find(doc, from).ok_or_else(|| {
        format!("copy operation does not apply: doc is missing from path: {from}: {MISSING}")
    })?;
    let value = get(parent, &key)
        .map_err(|why| format!("error in copy for from: '{from}': {why}"))?
        .cloned()
        .unwrap_or_default();
    let path =
        path(operation).map_err(|_| format!("copy operation failed to decode path: {MISSING}"))?;
    let (parent, key) = find(doc, path).ok_or_else(|| {
        format!("copy operation does not apply: doc is missing destination path: {path}: {MISSING}")
    })?;
    insert(parent, key, value).map_err(|why| format!("error while adding value during copy: {why}"))
}

fn test(doc: &mut Value, operation: &Operation) -> Result<(), String> {
    let path =
        path(operation).map_err(|why| format!("test operation failed to decode path: {why}"))?;
    let failed = format!("testing value {path} failed: test failed");
    let wanted = operation.get("value");
    if path.is_empty() {
        return if wanted == Some(&*doc) { Ok(()) } else { Err(failed) };
    }
    let (parent, key) = find(doc, path).ok_or_else(|| {
        format!("test operation does not apply: is missing path: {path}: {MISSING}")
    })?;
    let value =
        get(parent, &key).map_err(|why| format!("error in test for path: '{path}': {why}"))?;
    // What is missing is null.
    let same = value.unwrap_or(&Value::Null) == wanted.unwrap_or(&Value::Null);
    if same { Ok(()) } else { Err(failed) }
}

fn path(operation: &Operation) -> Result<&str, String> {
    let path = operation.get("path").and_then(Value::as_str);
    path.ok_or_else(|| format!("operation missing path field: {MISSING}"))
}

fn from(operation: &Operation) -> Result<&str, String> {
    let from = operation.get("from").and_then(Value::as_str);
    from.ok_or_else(|| format!("operation, missing from field: {MISSING}"))
}

fn value(operation: &Operation) -> Value {
    operation.get("value").cloned().unwrap_or_default()
}

/// What holds the last part of a path, and that part.
fn find<'a>(doc: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    // Whatever stands before the first slash is not looked at.
    let (_, path) = path.split_once('/')?;
    let mut parts: Vec<_> = path.split('/').map(unescaped).collect();
    let key = parts.pop()?;
    let mut parent = doc;
    for part in parts {
        parent = match parent {
            Value::Array(items) => {
                let at = index(&part, items.len()).ok()?;
                items.get_mut(at)?
            }
            other => other.as_object_mut()?.get_mut(&part)?,
        };
    }
    (parent.is_object() || parent.is_array()).then_some((parent, key))
}

fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn get<'a>(parent: &'a Value, key: &str) -> Result<Option<&'a Value>, String> {
    match parent {
        Value::Array(items) => Ok(items.get(index(key, items.len())?)),
        other => Ok(other.get(key)),
    }
}

fn insert(parent: &mut Value, key: String, value: Value) -> Result<(), String> {
    match parent {
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            if let Err(why) = atoi(&key) {
                return Err(format!("value was not a proper array index: '{key}': {why}"));
            }
            // From behind, -1 is the place after the last item.
            let at = index(&key, items.len() + 1)?;
            items.insert(at, value);
        }
        other => drop(other.as_object_mut().and_then(|fields| fields.insert(key, value))),
    }
    Ok(())
}

fn take(parent: &mut Value, key: &str) -> Result<Value, String> {
    match parent {
        Value::Array(items) => {
            let at = index(key, items.len())?;
            Ok(items.remove(at))
        }
        other => other
            .as_object_mut()
            .and_then(|fields| fields.remove(key))
            .ok_or_else(|| format!("Unable to remove nonexistent key: {key}: {MISSING}")),
    }
}

/// An index below `len`; negative ones count from there.
fn index(key: &str, len: usize) -> Result<usize, String> {
    let said = atoi(key)?;
    let at = if said < 0 { i64::try_from(len).unwrap_or(i64::MAX) + said } else { said };
    let at = usize::try_from(at).ok().filter(|at| *at < len);
    at.ok_or_else(|| format!("Unable to access invalid index: {said}: invalid index referenced"))
}

/// `strconv.Atoi`.
fn atoi(text: &str) -> Result<i64, String> {
    text.parse().map_err(|error: std::num::ParseIntError| {
        let why = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.Atoi: parsing {text:?}: {why}")
    })
}

/// What Go's decoder calls a JSON value.
fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
