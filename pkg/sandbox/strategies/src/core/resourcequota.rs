//! ResourceQuota.

use std::collections::BTreeSet;

use api::Time;
use serde_json::{Value, json};

use crate::amounts::{is_quota, is_standard, of_resource};
use crate::formats::label_key;
use crate::table::{AGE, NAME, age, heading, name};
use crate::value::{entries, get, items, keep, or_null, section, set, text, texts};
use crate::{Cell, Column, Environment, Invalid, Path, Quantity, Strategy};

const COLUMNS: &[Column] = &[NAME, heading("Request"), heading("Limit"), AGE];

/// What scopes of pods can be applied to.
const OF_PODS: [&str; 7] =
    ["cpu", "limits.cpu", "limits.memory", "memory", "pods", "requests.cpu", "requests.memory"];
const OPERATOR: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                        ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                        ResourceQuotaScopeNotBestEffort or \
                        ResourceQuotaScopeCrossNamespacePodAffinity";

/// What a namespace may use.
pub struct ResourceQuota;

impl Strategy for ResourceQuota {
    fn default(&self, object: &mut Value) {
        section(object, "spec");
        section(object, "status");
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        set(object, "status", json!({}));
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let spec = Path::new("spec");
        let mut wrongs = amounts(object, "/spec/hard", &spec.child("hard"));
        let scopes = texts(object, "/spec/scopes");
        wrongs.extend(scope_wrongs(object, &scopes, &spec.child("scopes")));
        wrongs.extend(selector_wrongs(object, &spec));
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = self.validate_create(new);
        let scopes = |object| texts(object, "/spec/scopes").into_iter().collect::<BTreeSet<_>>();
        if scopes(new) != scopes(old) {
            let path = Path::new("spec").child("scopes");
            wrongs.push(path.invalid(or_null(new, "/spec/scopes"), "field is immutable"));
        }
        wrongs
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn validate_status(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        let path = Path::new("status");
        let of = |name: &str| amounts(new, &format!("/status/{name}"), &path.child(name));
        [of("hard"), of("used")].concat()
    }

    /// Upstream warns of new ones only.
    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() {
            return Vec::new();
        }
        let hard = get(object, "/spec/hard");
        let amount = |name: &str| hard.and_then(|hard| hard.get(name));
        let warning = |resource: &str| {
            let prefixed = format!("requests.{resource}");
            let bare = matches!(resource, "cpu" | "memory") && amount(&prefixed).is_none();
            let request_name = if bare { resource.to_owned() } else { prefixed };
            let limit_name = format!("limits.{resource}");
            let (request, limit) = (amount(&request_name)?, amount(&limit_name)?);
            let over = Quantity::from_json(request)? > Quantity::from_json(limit)?;
            let shown = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
            over.then(|| {
                let (request, limit) = (shown(request), shown(limit));
                format!(
                    "ResourceQuota {request_name} ({request}) should be less than {limit_name} \
                     ({limit})"
                )
            })
        };
        ["cpu", "memory", "ephemeral-storage"].into_iter().filter_map(warning).collect()
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let used = get(object, "/status/used");
        let side = |limits: bool| -> Cell {
            let hard = entries(object, "/status/hard").into_iter();
            let cells = hard.filter(|(name, _)| name.starts_with("limits.") == limits).map(
                |(name, hard)| {
                    let used = used.and_then(|used| used.get(name)).and_then(Value::as_str);
                    let (used, hard) = (used.unwrap_or("0"), hard.as_str().unwrap_or_default());
                    format!("{name}: {used}/{hard}")
                },
            );
            cells.collect::<Vec<_>>().join(", ").into()
        };
        vec![name(object), side(false), side(true), age(object, now)]
    }
}

fn amounts(object: &Value, pointer: &str, path: &Path) -> Vec<Invalid> {
    let of_one = |(name, value): (&str, &Value)| {
        let path = path.key(name);
        let mut wrongs = path.refuse(name, label_key(name));
        let bare = !name.contains('/');
        if wrongs.is_empty() && bare && !is_standard(name) {
            wrongs.push(path.invalid(name, "must be a standard resource type or fully qualified"));
        }
        if bare && !is_quota(name) {
            wrongs.push(path.invalid(name, "must be a standard resource for quota"));
        }
        wrongs.extend(of_resource(name, value, &path));
        wrongs
    };
    entries(object, pointer).into_iter().flat_map(of_one).collect()
}

fn is_scope(scope: &str) -> bool {
    const SCOPES: [&str; 7] = [
        "BestEffort",
        "CrossNamespacePodAffinity",
        "NotBestEffort",
        "NotTerminating",
        "PriorityClass",
        "Terminating",
        "VolumeAttributesClass",
    ];
    SCOPES.contains(&scope)
}

/// IsResourceQuotaScopeValidForResource.
fn fits(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => {
            ["persistentvolumeclaims", "requests.storage"].contains(&resource)
        }
        _ => !is_scope(scope) || OF_PODS.contains(&resource),
    }
}

fn misfits(object: &Value, scope: &str) -> usize {
    let hard = entries(object, "/spec/hard").into_iter();
    hard.filter(|(name, _)| is_quota(name) && !fits(scope, name)).count()
}

fn conflicts(scopes: &[&str]) -> usize {
    let pairs = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];
    pairs.iter().filter(|pair| pair.iter().all(|scope| scopes.contains(scope))).count()
}

fn scope_wrongs(object: &Value, scopes: &[&str], path: &Path) -> Vec<Invalid> {
    let wrong = |wrong: &str| path.invalid(or_null(object, "/spec/scopes"), wrong);
    let mut wrongs = Vec::new();
    for scope in scopes {
        if !is_scope(scope) {
            wrongs.push(wrong("unsupported scope"));
        }
        let misfits = misfits(object, scope);
        wrongs.extend((0..misfits).map(|_| wrong("unsupported scope applied to resource")));
    }
    wrongs.extend((0..conflicts(scopes)).map(|_| wrong("conflicting scopes")));
    wrongs
}

fn selector_wrongs(object: &Value, spec: &Path) -> Vec<Invalid> {
    let requirements = items(object, "/spec/scopeSelector/matchExpressions");
    let path = spec.child("scopeSelector").child("matchExpressions");
    let mut wrongs = Vec::new();
    for requirement in requirements {
        let (scope, operator) = (text(requirement, "/scopeName"), text(requirement, "/operator"));
        if !is_scope(scope) {
            wrongs.push(path.child("scopeName").invalid(scope, "unsupported scope"));
        }
        let selector = or_null(object, "/spec/scopeSelector");
        wrongs.extend(
            (0..misfits(object, scope))
                .map(|_| path.invalid(selector.clone(), "unsupported scope applied to resource")),
        );
        let valued = ["PriorityClass", "VolumeAttributesClass"].contains(&scope);
        if is_scope(scope) && !valued && operator != "Exists" {
            wrongs.push(path.child("operator").invalid(operator, OPERATOR));
        }
        let values = items(requirement, "/values");
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let wrong = "must be at least one value when `operator` is 'In' or 'NotIn' for \
                             scope selector";
                wrongs.push(path.child("values").required(wrong));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let wrong = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for \
                             scope selector";
                wrongs.push(path.child("values").invalid(values.to_vec(), wrong));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => {
                let wrong = "not a valid selector operator";
                wrongs.push(path.child("operator").invalid(operator, wrong));
            }
        }
    }
    let scopes: Vec<_> = requirements.iter().map(|it| text(it, "/scopeName")).collect();
    let said = or_null(object, "/spec/scopes");
    let conflicts = conflicts(&scopes);
    wrongs.extend((0..conflicts).map(|_| path.invalid(said.clone(), "conflicting scopes")));
    wrongs
}
