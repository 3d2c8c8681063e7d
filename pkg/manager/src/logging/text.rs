//! klog's text format, which upstream's manager writes and pipelines parse (k8s.io/klog/v2,
//! textlogger, internal/buffer and internal/serialize):
//!
//! ```text
//! I1123 08:11:40.032109       1 worker.rs:357] "acted" controller="a" key="shop/web" actions=3
//! ```

use std::fmt::Write as _;

use runtime::Zone;
use serde_json::Value;

use super::entry::{Entry, Pair, Severity, each_once};

/// The entry as a line, or as several if a value has several.
pub(super) fn line(entry: &Entry, zone: &Zone, pid: u32) -> String {
    let mut line = header(entry, zone, pid);
    if entry.is_plain {
        line.push_str(&entry.message);
    } else {
        line.push_str(&api::go::quote(&entry.message));
    }
    let own = || entry.pairs.iter();
    // The error argument of klog's `Error` comes first.
    let is_cause = |pair: &&Pair| entry.severity == Severity::Error && pair.0 == "err";
    let rest = own().filter(|pair| !is_cause(pair));
    let pairs = own().filter(is_cause).chain(&entry.context).chain(rest);
    for (name, value) in each_once(pairs.cloned()) {
        line.extend([" ", name]);
        push_value(&mut line, &value);
    }
    line.push('\n');
    line
}

/// `Lmmdd hh:mm:ss.uuuuuu threadid file:line] `, where the thread is the process.
fn header(entry: &Entry, zone: &Zone, pid: u32) -> String {
    let letter = match entry.severity {
        Severity::Info => 'I',
        Severity::Warning => 'W',
        Severity::Error => 'E',
    };
    let at = zone.local(entry.time);
    let date = format!("{:02}{:02}", at.month(), at.day());
    let micros = at.subsec_nanosecond() / 1000;
    let clock = format!("{:02}:{:02}:{:02}.{micros:06}", at.hour(), at.minute(), at.second());
    format!("{letter}{date} {clock} {pid:>7} {}:{}] ", entry.file_name(), entry.line)
}

fn push_value(line: &mut String, value: &Value) {
    match value {
        Value::String(text) if text.contains('\n') => push_block(line, text),
        Value::String(text) => line.extend(["=", &api::go::quote(text)]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            // Writing to a string cannot fail.
            let _ = write!(line, "={value}");
        }
    }
}

/// A text of several lines: each after a tab, so that none looks like the end, `\n >`.
fn push_block(line: &mut String, text: &str) {
    line.push_str("=<\n");
    for part in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        line.extend(["\t", part, "\n"]);
    }
    line.push_str(" >");
}
