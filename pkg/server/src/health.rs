//! The checks behind /healthz.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::response::Response;
use http::{StatusCode, Uri};
use runtime::Fenced;
use tracing::{info, warn};

use crate::answer::{self, TEXT};
use crate::chain::pairs;

/// Named checks, in the order in which they were added. Cheap to clone; clones share the checks.
///
/// A client learns which checks fail, never why: /healthz is open to all. The reason is logged,
/// once when it changes instead of once per probe. As apiserver/pkg/server/healthz/healthz.go and
/// controller-manager/pkg/healthz.
#[derive(Clone)]
pub struct Health(Arc<Inner>);

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// It passed.
    Success,
    /// It failed.
    Error,
}

/// Called with the name of a check and its result.
type Observe = Box<dyn Fn(&str, CheckResult) + Send + Sync>;

struct Inner {
    observe: Observe,
    checks: Mutex<Vec<Check>>,
    /// Why the checks that failed last time did so, by name, without numbers.
    reasons: Mutex<BTreeMap<String, String>>,
}

#[derive(Clone)]
struct Check {
    name: String,
    run: Arc<dyn Fn() -> Result<(), String> + Send + Sync>,
}

/// The results of a probe.
#[derive(Default)]
struct Report {
    /// A line per check.
    lines: String,
    failed: bool,
}

// === impl Health ===

impl Health {
    /// No checks yet. `observe` is called at each run of a check, for the service level indicators
    /// (type "healthz").
    pub fn new(observe: impl Fn(&str, CheckResult) + Send + Sync + 'static) -> Self {
        let observe = Box::new(observe);
        Self(Arc::new(Inner { observe, checks: Mutex::default(), reasons: Mutex::default() }))
    }

    /// Adds a check after the others; a check of the same name is replaced in its position. `check`
    /// must return at once: each probe runs it, on the probe's own task.
    pub fn add(&self, name: &str, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) {
        let check = Check { name: name.to_owned(), run: Arc::new(check) };
        let mut checks = locked(&self.0.checks);
        match checks.iter_mut().find(|present| present.name == name) {
            Some(present) => *present = check,
            None => checks.push(check),
        }
    }

    /// The response to a request for /healthz.
    pub(crate) fn answer(&self, uri: &Uri) -> Response {
        let query = pairs(uri);
        let excluded = query.iter().filter(|(key, _)| key == "exclude");
        let report = self.probe(&excluded.map(|(_, name)| name.as_str()).collect());
        if report.failed {
            let text = format!("{}healthz check failed", report.lines);
            return answer::error(StatusCode::INTERNAL_SERVER_ERROR, &text);
        }
        let verbose = query.iter().any(|(key, _)| key == "verbose");
        let text = if verbose { report.lines + "healthz check passed\n" } else { "ok".to_owned() };
        answer::text(StatusCode::OK, TEXT, text)
    }

    fn probe(&self, excluded: &BTreeSet<&str>) -> Report {
        let mut report = Report::default();
        let mut unknown = excluded.clone();
        for check in self.checks() {
            let name = check.name.as_str();
            if excluded.contains(name) {
                unknown.remove(name);
                report.line(format_args!("[+]{name} excluded: ok"));
                continue;
            }
            let result = runtime::fenced(|| (check.run)())
                .unwrap_or_else(|Fenced(panic)| Err(format!("the check panicked: {panic}")));
            let passed = if result.is_ok() { CheckResult::Success } else { CheckResult::Error };
            (self.0.observe)(name, passed);
            self.log(name, result);
            match passed {
                CheckResult::Success => report.line(format_args!("[+]{name} ok")),
                CheckResult::Error => {
                    report.failed = true;
                    report.line(format_args!("[-]{name} failed: reason withheld"));
                }
            }
        }
        if !unknown.is_empty() {
            let names: Vec<_> = unknown.iter().map(api::go::quote).collect();
            let (warning, names) = ("some health checks cannot be excluded", names.join(","));
            report.line(format_args!("warn: {warning}: no matches for {names}"));
        }
        report
    }

    /// The present checks. Without any, upstream checks a ping.
    fn checks(&self) -> Vec<Check> {
        let checks = locked(&self.0.checks).clone();
        if checks.is_empty() {
            return vec![Check { name: "ping".to_owned(), run: Arc::new(|| Ok(())) }];
        }
        checks
    }

    /// Logs what is new.
    fn log(&self, name: &str, result: Result<(), String>) {
        let mut reasons = locked(&self.0.reasons);
        match result {
            Ok(()) => {
                if reasons.remove(name).is_some() {
                    info!(check = name, "a health check passes again");
                }
            }
            Err(reason) => {
                // A reason that differs only in numbers, such as 20 s instead of 10 s, is not new.
                let kind: String = reason.chars().filter(|c| !c.is_ascii_digit()).collect();
                if reasons.get(name) != Some(&kind) {
                    warn!(check = name, reason, "a health check fails");
                    reasons.insert(name.to_owned(), kind);
                }
            }
        }
    }
}

// === impl Report ===

impl Report {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.lines, "{line}");
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
