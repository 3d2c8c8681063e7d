//! `--config`: a file with fields of the component config. Its fields set their flags; flags on the
//! command line take precedence.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde_yaml::{Mapping, Value as Yaml};

use super::table::{API_VERSION, FIELDS, KIND, SERVICE_RANGES, Source};
use crate::flags::{Flags, Kind, Value};

/// The longest file that is read; all fields with comments take a tenth of it.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads the file at `path` and sets the flags of its fields. The error names the file, and the
/// field or the line.
pub(crate) fn apply(path: &str, flags: &mut Flags) -> Result<(), String> {
    let named = |what: String| format!("--config {path}: {what}");
    let text = read_text(Path::new(path)).map_err(named)?;
    let settings = settings(&text, flags).map_err(named)?;
    for (flag, value) in settings {
        flags.set_default(flag, value);
    }
    Ok(())
}

/// The text of a file, unless it is unreasonably large.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
    let bytes = read.map_err(|error| error.to_string())?;
    if u64::try_from(bytes).is_ok_and(|bytes| bytes <= FILE_BYTES_MAX) {
        Ok(text)
    } else {
        Err(format!("the file is larger than {FILE_BYTES_MAX} bytes"))
    }
}

/// The values of the flags for the fields in `text`.
fn settings(text: &str, flags: &Flags) -> Result<Vec<(&'static str, Value)>, String> {
    let yaml: Yaml = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    let mut root = match yaml {
        Yaml::Mapping(root) => root,
        Yaml::Null => return Err("the file is empty".to_owned()),
        _ => return Err(format!("the file must hold a {KIND}")),
    };
    for (name, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        match root.remove(name) {
            Some(Yaml::String(text)) if text == expected => {}
            Some(other) => {
                return Err(format!("{name} must be {expected:?}, but is {}", shown(&other)));
            }
            None => return Err(format!("{name} is missing, it must be {expected:?}")),
        }
    }
    let mut settings = Vec::new();
    let mut ranges = [None, None];
    walk("", &root, &mut |source, value| {
        match source {
            Source::Flag(flag) => settings.push((flag, read_as(flags.kind(flag), value)?)),
            Source::Part(_, index) => match text_of(value)? {
                text if text.contains(',') => return Err("must be one CIDR".to_owned()),
                text => ranges[index] = Some(text.to_owned()),
            },
            Source::Fixed(json) => only(json, value)?,
        }
        Ok(())
    })?;
    settings.extend(service_ranges(ranges)?);
    Ok(settings)
}

/// Calls `visit` for each field in `mapping`, which is at `path`; puts the field's name before
/// errors.
fn walk(
    path: &str,
    mapping: &Mapping,
    visit: &mut impl FnMut(Source, &Yaml) -> Result<(), String>,
) -> Result<(), String> {
    for (name, value) in mapping {
        let Yaml::String(name) = name else {
            return Err(format!("{path}: {} is no name of a field", shown(name)));
        };
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        // A dot in a name would look like a path.
        let mut fields = FIELDS.iter().filter(|_| !name.contains('.'));
        if let Some(field) = fields.clone().find(|field| field.path == path) {
            visit(field.source, value).map_err(|what| format!("{path}: {what}"))?;
            continue;
        }
        let is_parent = fields
            .any(|field| field.path.strip_prefix(&path).is_some_and(|rest| rest.starts_with('.')));
        match value {
            Yaml::Mapping(inner) if is_parent => walk(&path, inner, visit)?,
            _ if is_parent => return Err(format!("{path}: must be a mapping with fields")),
            _ => return Err(format!("unknown field {path:?}")),
        }
    }
    Ok(())
}

/// A value for a flag of `kind`, validated as the flag validates it.
fn read_as(kind: Kind, value: &Yaml) -> Result<Value, String> {
    let wants = |what: &str| Err(format!("must be {what}, but is {}", shown(value)));
    match (kind, value) {
        (Kind::Bool, Yaml::Bool(value)) => Ok(Value::Bool(*value)),
        (Kind::Bool, _) => wants("true or false"),
        (Kind::Texts, Yaml::Sequence(values)) => {
            let texts = values.iter().map(|value| text_of(value).map(str::to_owned));
            texts.collect::<Result<_, _>>().map(Value::List)
        }
        (Kind::Texts, _) => wants("a list of texts"),
        (Kind::Int | Kind::Int32, Yaml::Number(number)) if !number.is_f64() => {
            kind.parse(&number.to_string())
        }
        (Kind::Int | Kind::Int32, _) => wants("a whole number"),
        (Kind::Float32 | Kind::Float64, Yaml::Number(number)) => kind.parse(&number.to_string()),
        (Kind::Float32 | Kind::Float64, _) => wants("a number"),
        (_, Yaml::String(text)) => kind.parse(text),
        (Kind::Duration, _) => wants("a duration as text, such as \"5m0s\""),
        _ => wants("a text"),
    }
}

fn text_of(value: &Yaml) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("must be a text, but is {}", shown(value)))
}

/// Accepts only the fixed value.
fn only(json: &str, value: &Yaml) -> Result<(), String> {
    let given = serde_json::to_value(value).map_err(|error| error.to_string())?;
    let fixed: serde_json::Value = serde_json::from_str(json).map_err(|error| error.to_string())?;
    if given == fixed { Ok(()) } else { Err(format!("cannot be set, it is always {json}")) }
}

/// Both ranges of Service addresses in the form of their flag.
fn service_ranges(
    [first, second]: [Option<String>; 2],
) -> Result<Option<(&'static str, Value)>, String> {
    let empty = |range: &Option<String>| range.as_ref().is_none_or(String::is_empty);
    if empty(&first) && !empty(&second) {
        let fields =
            "NodeIPAMController.SecondaryServiceCIDR: needs NodeIPAMController.ServiceCIDR";
        return Err(fields.to_owned());
    }
    let ranges: Vec<_> = [first, second].into_iter().flatten().collect();
    if ranges.is_empty() {
        return Ok(None);
    }
    let ranges: Vec<_> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
    Ok(Some((SERVICE_RANGES, Value::Text(ranges.join(",")))))
}

/// A value for an error, shortened if it is long.
fn shown(value: &Yaml) -> String {
    match value {
        Yaml::Null => "nothing".to_owned(),
        Yaml::Bool(value) => value.to_string(),
        Yaml::Number(number) => number.to_string(),
        Yaml::String(text) if text.len() <= 60 => format!("{text:?}"),
        Yaml::String(_) => "a long text".to_owned(),
        Yaml::Sequence(_) => "a list".to_owned(),
        Yaml::Mapping(_) => "a mapping".to_owned(),
        Yaml::Tagged(_) => "a tagged value".to_owned(),
    }
}
