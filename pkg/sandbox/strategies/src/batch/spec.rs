//! What the specs of Jobs may not say, those in CronJobs too. Upstream: pkg/apis/batch/validation.

use serde_json::Value;

use super::failure_policy;
use super::indexes::check_intervals;
use crate::formats::{dns_subdomain, regex_error};
use crate::selector::{self, LabelSelector, Values};
use crate::value::{count, fill_zero, get, items, number, or_null, text};
use crate::workload::{mismatch, not_negative};
use crate::{Fault, Invalid, Path, pod};

/// Indexes that a status can name.
const INDEXES_MAX: i64 = 100_000;
/// Pods at once, and failed indexes, of a Job with more completions than that.
const HIGH_COMPLETIONS_MAX: i64 = 10_000;
const MANAGED_BY_BYTES_MAX: usize = 63;
const SUCCEEDED_INDEXES_BYTES_MAX: usize = 64 * 1024;
const SUCCESS_RULES_MAX: usize = 20;

/// Conditions of the rules of a pod failure policy are those that are true.
pub(super) fn default_failure_policy(spec: &mut Value) {
    let rules = spec.pointer_mut("/podFailurePolicy/rules").and_then(Value::as_array_mut);
    for rule in rules.into_iter().flatten() {
        let patterns = rule.get_mut("onPodConditions").and_then(Value::as_array_mut);
        for pattern in patterns.into_iter().flatten() {
            fill_zero(pattern, "status", "True");
        }
    }
}

/// As ValidateJobSpec: the spec of a Job, which has a selector by now.
pub(super) fn validate_with_selector(spec: &Value, values: Values, path: &Path) -> Vec<Invalid> {
    let mut faults = validate(spec, path);
    let selector = or_null(spec, "/selector");
    if selector.is_null() {
        faults.push(path.child("selector").required(""));
    }
    faults.extend(selector::validate(&selector, values, &path.child("selector")));
    if let Some(selector) = LabelSelector::read(&selector) {
        let template = or_null(spec, "/template");
        faults.extend(mismatch(&selector, &template, &path.child("template")));
    }
    faults
}

/// As validateJobSpec.
pub(super) fn validate(spec: &Value, path: &Path) -> Vec<Invalid> {
    const COUNTS: [&str; 7] = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    let mut faults = not_negative(spec, &COUNTS, path);
    let has = |pointer: &str| get(spec, pointer).is_some();
    if has("/maxFailedIndexes") && !has("/backoffLimitPerIndex") {
        let path = path.child("backoffLimitPerIndex");
        faults.push(path.required("when maxFailedIndexes is specified"));
    }
    if let Some(manager) = get(spec, "/managedBy").and_then(Value::as_str) {
        faults.extend(validate_manager(manager, &path.child("managedBy")));
    }
    faults.extend(validate_mode(spec, path));
    if let Some(policy) = get(spec, "/podFailurePolicy") {
        let path = path.child("podFailurePolicy");
        faults.extend(failure_policy::validate(policy, spec, &path));
    }
    if let Some(policy) = get(spec, "/successPolicy") {
        let path = path.child("successPolicy");
        if is_indexed(spec) {
            faults.extend(validate_success(policy, count(spec, "/completions"), &path));
        } else {
            faults.push(path.invalid(policy.clone(), "requires indexed completion mode"));
        }
    }
    faults.extend(validate_replacement(spec, &path.child("podReplacementPolicy")));
    let template = path.child("template");
    faults.extend(pod::validate_template(&or_null(spec, "/template"), &template));
    faults.extend(validate_restarts(spec, &template.child("spec").child("restartPolicy")));
    faults
}

/// As WarningsForJobSpec.
pub(super) fn warnings(spec: &Value, path: &Path) -> Vec<String> {
    let many = count(spec, "/completions") > INDEXES_MAX
        && count(spec, "/parallelism") > HIGH_COMPLETIONS_MAX;
    let mut warnings = Vec::new();
    if many && is_indexed(spec) {
        warnings.push(format!(
            "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a \
             parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes \
             when a big number of indexes fail"
        ));
    }
    let template = or_null(spec, "/template");
    warnings.extend(pod::template_warnings(&template, &path.child("template")));
    warnings
}

pub(super) fn is_indexed(spec: &Value) -> bool {
    text(spec, "/completionMode") == "Indexed"
}

/// As IsDomainPrefixedPath.
fn validate_manager(manager: &str, path: &Path) -> Vec<Invalid> {
    const HTTP_PATH: &str = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
    let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    let mut faults = Vec::new();
    match manager.split_once('/') {
        _ if manager.is_empty() => faults.push(path.required("")),
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => {
            let wrong = dns_subdomain(host);
            faults.extend(wrong.iter().map(|it| path.invalid(host, it)));
            if !rest.bytes().all(is_path) {
                faults.push(path.invalid(rest, &regex_error("Invalid path", HTTP_PATH, &[])));
            }
        }
        _ => {
            let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            faults.push(path.invalid(manager, detail));
        }
    }
    if manager.len() > MANAGED_BY_BYTES_MAX {
        faults.push(path.is(Fault::TooLong(MANAGED_BY_BYTES_MAX)));
    }
    faults
}

fn validate_mode(spec: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let mode = get(spec, "/completionMode").and_then(Value::as_str);
    if let Some(mode) = mode.filter(|mode| !matches!(*mode, "NonIndexed" | "Indexed")) {
        let path = path.child("completionMode");
        faults.push(path.not_supported(mode, &["NonIndexed", "Indexed"]));
    }
    match mode {
        Some("Indexed") => faults.extend(validate_indexed(spec, path)),
        None | Some("NonIndexed") => {
            for name in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if let Some(limit) = spec.get(name).filter(|it| !it.is_null()) {
                    let path = path.child(name);
                    faults.push(path.invalid(limit.clone(), "requires indexed completion mode"));
                }
            }
        }
        Some(_) => {}
    }
    faults
}

fn validate_indexed(spec: &Value, path: &Path) -> Vec<Invalid> {
    let [completions, parallelism, failed] =
        ["/completions", "/parallelism", "/maxFailedIndexes"].map(|it| number(spec, it));
    let above = |number: Option<i64>, max: i64| number.filter(|it| *it > max);
    let mut faults = Vec::new();
    if completions.is_none() {
        faults.push(path.child("completions").required("when completion mode is Indexed"));
    }
    if let Some(parallelism) = above(parallelism, INDEXES_MAX) {
        let detail =
            format!("must be less than or equal to {INDEXES_MAX} when completion mode is Indexed");
        faults.push(path.child("parallelism").invalid(parallelism, &detail));
    }
    let failed_path = path.child("maxFailedIndexes");
    if let Some(failed) = above(failed, completions.unwrap_or(i64::MAX)) {
        let detail = "must be less than or equal to completions";
        faults.push(failed_path.invalid(failed, detail));
    }
    if let Some(failed) = above(failed, INDEXES_MAX) {
        let detail = format!("must be less than or equal to {INDEXES_MAX}");
        faults.push(failed_path.invalid(failed, &detail));
    }
    let per_index = get(spec, "/backoffLimitPerIndex").is_some();
    if above(completions, INDEXES_MAX).is_none() || !per_index {
        return faults;
    }
    if failed.is_none() {
        let detail = format!("must be specified when completions is above {INDEXES_MAX}");
        faults.push(failed_path.required(&detail));
    }
    for (name, number) in [("parallelism", parallelism), ("maxFailedIndexes", failed)] {
        if let Some(number) = above(number, HIGH_COMPLETIONS_MAX) {
            let detail = format!(
                "must be less than or equal to {HIGH_COMPLETIONS_MAX} when completions are above \
                 {INDEXES_MAX} and used with backoff limit per index"
            );
            faults.push(path.child(name).invalid(number, &detail));
        }
    }
    faults
}

fn validate_success(policy: &Value, completions: i64, path: &Path) -> Vec<Invalid> {
    let path = path.child("rules");
    let rules = items(policy, "/rules");
    let mut faults = Vec::new();
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        faults.push(path.required(detail));
    }
    if rules.len() > SUCCESS_RULES_MAX {
        faults.push(path.is(Fault::TooMany(rules.len(), SUCCESS_RULES_MAX)));
    }
    for (at, rule) in rules.iter().enumerate() {
        faults.extend(validate_success_rule(rule, completions, &path.index(at)));
    }
    faults
}

fn validate_success_rule(rule: &Value, completions: i64, path: &Path) -> Vec<Invalid> {
    let indexes = get(rule, "/succeededIndexes").and_then(Value::as_str);
    let succeeded = number(rule, "/succeededCount");
    let mut faults = Vec::new();
    if indexes.is_none() && succeeded.is_none() {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        faults.push(path.required(detail));
    }
    let mut total = 0;
    if let Some(indexes) = indexes {
        let path = path.child("succeededIndexes");
        if indexes.len() > SUCCEEDED_INDEXES_BYTES_MAX {
            faults.push(path.is(Fault::TooLong(SUCCEEDED_INDEXES_BYTES_MAX)));
        }
        match check_intervals(indexes, completions) {
            Ok(count) => total = count,
            Err(error) => {
                let detail = format!("error parsing succeededIndexes: {error}");
                faults.push(path.invalid(indexes, &detail));
            }
        }
    }
    let Some(succeeded) = succeeded else {
        return faults;
    };
    faults.extend(not_negative(rule, &["succeededCount"], path));
    let path = path.child("succeededCount");
    if succeeded > completions {
        let detail = format!(
            "must be less than or equal to {completions} (the number of specified completions)"
        );
        faults.push(path.invalid(succeeded, &detail));
    }
    if indexes.is_some() && succeeded > total {
        let detail = format!(
            "must be less than or equal to {total} (the number of indexes in the specified \
             succeededIndexes field)"
        );
        faults.push(path.invalid(succeeded, &detail));
    }
    faults
}

fn validate_replacement(spec: &Value, path: &Path) -> Option<Invalid> {
    let policy = get(spec, "/podReplacementPolicy")?.as_str()?;
    let known: &[&str] = match get(spec, "/podFailurePolicy") {
        Some(_) => &["Failed"],
        None => &["Failed", "TerminatingOrFailed"],
    };
    (!known.contains(&policy)).then(|| path.not_supported(policy, known))
}

/// Pods of a Job must come to an end.
fn validate_restarts(spec: &Value, path: &Path) -> Option<Invalid> {
    let policy = text(spec, "/template/spec/restartPolicy");
    let fails = get(spec, "/podFailurePolicy").is_some();
    match policy {
        "" | "Always" => Some(path.required("valid values: \"OnFailure\", \"Never\"")),
        "OnFailure" if fails => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            Some(path.invalid(policy, detail))
        }
        "OnFailure" | "Never" => None,
        _ => Some(path.not_supported(policy, &["OnFailure", "Never"])),
    }
}
