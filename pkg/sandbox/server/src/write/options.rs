//! What the query, or the body of a deletion, says about how to write.

use apimachinery::fields;
use schema::Strictness;
use serde_json::{Value, json};
use strategies::{Fault, Invalid, Path};

use super::fields::{has, number};
use crate::request::Call;
use crate::status::{About, Status};

/// The longest name of a field manager.
const MANAGER_LENGTH_MAX: usize = 128;

/// Options of creates, updates and patches.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Whether nothing is written.
    pub(crate) dry_run: bool,
    /// The field manager; from the user agent if the request names none.
    pub(crate) manager: String,
    /// What becomes of unknown fields.
    pub(crate) strictness: Strictness,
    /// `force` of an apply.
    pub(crate) force: bool,
}

/// Whose options are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Create,
    Update,
    Patch,
    Apply,
}

/// Options of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deletion {
    /// Whether nothing is written.
    pub(crate) dry_run: bool,
    /// The grace in seconds.
    pub(crate) grace: Option<i64>,
    /// What becomes of dependents.
    pub(crate) propagation: Option<Propagation>,
    /// The older form of that.
    pub(crate) orphan: Option<bool>,
    /// The uid that is meant.
    pub(crate) uid: Option<String>,
    /// The version that is meant.
    pub(crate) version: Option<String>,
}

/// `propagationPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Foreground,
    Background,
    Orphan,
}

impl Options {
    /// Reads the query.
    pub(crate) fn read(call: &Call, of: Of) -> Result<Self, Status> {
        let (mut faults, force) = (Vec::new(), values(call, "force"));
        let asked = call.parameter("fieldManager");
        match of {
            Of::Apply if asked.is_empty() => {
                faults.push(Path::new("fieldManager").required("is required for apply patch"));
            }
            Of::Patch if !force.is_empty() => {
                let detail = "may not be specified for non-apply patch";
                faults.push(Path::new("force").forbidden(detail));
            }
            Of::Create | Of::Update | Of::Patch | Of::Apply => {}
        }
        if asked.len() > MANAGER_LENGTH_MAX {
            faults.push(Path::new("fieldManager").is(Fault::TooLong(MANAGER_LENGTH_MAX)));
        }
        if let Some(at) = asked.chars().position(char::is_control) {
            let detail = format!("invalid character at position {at}");
            faults.push(Path::new("fieldManager").invalid(asked, &detail));
        }
        let dry_run = values(call, "dryRun");
        check_dry_run(&dry_run, &mut faults);
        let strictness = match call.parameter("fieldValidation") {
            "" | "Warn" => Strictness::Warn,
            "Ignore" => Strictness::Ignore,
            "Strict" => Strictness::Strict,
            other => {
                let known = &["", "Ignore", "Strict", "Warn"];
                faults.push(Path::new("fieldValidation").not_supported(other, known));
                Strictness::Warn
            }
        };
        if !faults.is_empty() {
            let kind = match of {
                Of::Create => "CreateOptions",
                Of::Update => "UpdateOptions",
                Of::Patch | Of::Apply => "PatchOptions",
            };
            return Err(invalid(kind, &faults));
        }
        let manager = if asked.is_empty() { agent(call) } else { asked.to_owned() };
        let force = force.first().is_some_and(|it| !matches!(*it, "false" | "0"));
        Ok(Self { dry_run: !dry_run.is_empty(), manager, strictness, force })
    }
}

impl Deletion {
    /// Reads the body, or the query if there is none.
    pub(crate) fn read(call: &Call) -> Result<Self, Status> {
        if call.body.is_empty() {
            return Self::query(call);
        }
        let body: Value = serde_json::from_slice(&call.body)
            .map_err(|error| Status::bad_request(error.to_string()))?;
        if !body.is_object() {
            return Err(Status::bad_request("decoded object cannot be converted to DeleteOptions"));
        }
        Self::parse(&body)
    }

    /// Reads `DeleteOptions`.
    pub(crate) fn parse(body: &Value) -> Result<Self, Status> {
        let text = |pointer: &str| fields::at(body, pointer).and_then(Value::as_str);
        let dry_run = super::fields::texts(body, "/dryRun");
        let dry_run: Vec<_> = dry_run.iter().map(String::as_str).collect();
        let grace = number(body, "/gracePeriodSeconds");
        if has(body, "/gracePeriodSeconds") && grace.is_none() {
            let message = "json: cannot unmarshal value into Go struct field \
                           DeleteOptions.gracePeriodSeconds of type int64";
            return Err(Status::bad_request(message));
        }
        let deletion = Self {
            grace,
            orphan: body.get("orphanDependents").and_then(Value::as_bool),
            uid: text("/preconditions/uid").map(ToOwned::to_owned),
            version: text("/preconditions/resourceVersion").map(ToOwned::to_owned),
            ..Self::default()
        };
        deletion.checked(text("/propagationPolicy"), &dry_run)
    }

    fn query(call: &Call) -> Result<Self, Status> {
        let value = |name| values(call, name).first().copied();
        let grace = value("gracePeriodSeconds").map(|text| {
            let wrong = |_| {
                Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
            };
            text.parse().map_err(wrong)
        });
        let orphan = value("orphanDependents").map(|text| !matches!(text, "false" | "0"));
        let deletion = Self { grace: grace.transpose()?, orphan, ..Self::default() };
        deletion.checked(value("propagationPolicy"), &values(call, "dryRun"))
    }

    /// ValidateDeleteOptions of apimachinery.
    fn checked(self, propagation: Option<&str>, dry_run: &[&str]) -> Result<Self, Status> {
        let (path, mut faults) = (Path::new("propagationPolicy"), Vec::new());
        if let (Some(policy), Some(_)) = (propagation, self.orphan) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            faults.push(path.invalid(policy, detail));
        }
        let parsed = match propagation {
            None => None,
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Background") => Some(Propagation::Background),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let known = &["Foreground", "Background", "Orphan", "nil"];
                faults.push(path.not_supported(other, known));
                None
            }
        };
        check_dry_run(dry_run, &mut faults);
        if !faults.is_empty() {
            return Err(invalid("DeleteOptions", &faults));
        }
        Ok(Self { dry_run: !dry_run.is_empty(), propagation: parsed, ..self })
    }
}

fn check_dry_run(values: &[&str], faults: &mut Vec<Invalid>) {
    if values.iter().any(|value| *value != "All") {
        let known = vec!["All".to_owned()];
        faults.push(Path::new("dryRun").is(Fault::NotSupported(json!(values), known)));
    }
}

/// All values of a parameter, without the empty ones.
fn values<'a>(call: &'a Call, name: &str) -> Vec<&'a str> {
    let given = call.parameters.iter().filter(|(known, _)| known == name);
    given.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty()).collect()
}

/// The name of the client's program, as upstream's prefixFromUserAgent.
fn agent(call: &Call) -> String {
    let agent = call.headers.get(http::header::USER_AGENT);
    let agent = agent.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let name = agent.split('/').next().unwrap_or_default();
    name.chars().filter(|it| !it.is_control()).take(MANAGER_LENGTH_MAX).collect()
}

/// 422 of options: `DeleteOptions.meta.k8s.io "" is invalid`.
fn invalid(kind: &str, faults: &[Invalid]) -> Status {
    Status::invalid(About { group: "meta.k8s.io", resource: kind, name: "" }, faults)
}
