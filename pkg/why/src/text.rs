//! A report for people.

use std::fmt::Write as _;
use std::time::Duration;

use api::Time;

use crate::{Decision, Finding, Report, Severity, State, Unseen};

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether it has colours, as escape sequences of a terminal.
    pub colours: bool,
}

/// The whole report. Its first line is the cause.
pub fn write(report: &Report, style: Style) -> String {
    let mut out = String::new();
    let colour = match report.state {
        State::Settled => GREEN,
        State::InProgress => YELLOW,
        State::Stuck => RED,
    };
    line(&mut out, 0, &style.paint(colour, &report.cause));
    if !report.findings.is_empty() {
        out.push('\n');
    }
    let mut last = None;
    for finding in &report.findings {
        if last != Some(&finding.subject) {
            let more = match finding.others {
                0 => String::new(),
                more => format!(" (and {more} more like it)"),
            };
            let subject = format!("{}{more}", finding.subject);
            line(&mut out, finding.depth, &style.paint(BOLD, &subject));
        }
        last = Some(&finding.subject);
        write_finding(&mut out, finding, report.at, style);
    }
    for decision in &report.decisions {
        write_decision(&mut out, decision, style);
    }
    write_unseen(&mut out, &report.unseen, style);
    out
}

fn write_finding(out: &mut String, finding: &Finding, now: Time, style: Style) {
    let (sign, colour) = match finding.severity {
        Severity::Note => ("-", ""),
        Severity::Waiting => ("~", YELLOW),
        Severity::Stuck => ("!", RED),
    };
    let since = finding.since.map(|since| format!(" (for {})", age(now.since(since))));
    let text = format!("{sign} {}{}", finding.cause, since.unwrap_or_default());
    line(out, finding.depth + 1, &style.paint(colour, &text));
    for (name, text) in [("waits for", &finding.waiting_for), ("next", &finding.next)] {
        if let Some(text) = text {
            line(out, finding.depth + 2, &format!("{name}: {text}"));
        }
    }
}

fn write_decision(out: &mut String, decision: &Decision, style: Style) {
    let head = format!("{} on {}, decided here and now:", decision.controller, decision.subject);
    let _ = write!(out, "\n{}\n", style.paint(BOLD, &head));
    for fact in decision.summary.iter().filter(|fact| !fact.value.is_empty()) {
        line(out, 1, &format!("{}: {}", fact.name, fact.value));
    }
    for read in &decision.live_reads {
        line(out, 1, &format!("read: {read}"));
    }
    for step in &decision.plan {
        line(out, 1, &words(step));
    }
    if let Some(error) = &decision.error {
        line(out, 1, &format!("no plan: {error}"));
    }
}

/// A line of a plan, as a sentence about the controller.
fn words(step: &str) -> String {
    if let Some(why) = step.strip_prefix("why: ") {
        return format!("decides: {why}");
    }
    if let Some(error) = step.strip_prefix("error: ") {
        return format!("fails: {error}");
    }
    match step.strip_prefix("again in ") {
        Some(delay) => format!("looks again in {}", whole_seconds(delay)),
        None => format!("would do: {step}"),
    }
}

/// A delay as plans print it, without a part of a second.
fn whole_seconds(delay: &str) -> String {
    let parts = delay.strip_suffix('s').and_then(|number| number.split_once('.'));
    match parts {
        Some((seconds, rest)) if rest.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{seconds}s")
        }
        Some(_) | None => delay.to_owned(),
    }
}

fn write_unseen(out: &mut String, unseen: &[Unseen], style: Style) {
    for (forbidden, head) in [
        (true, "Not seen, since RBAC does not allow it:"),
        (false, "Not seen, since reading it failed:"),
    ] {
        let mut lines = unseen.iter().filter(|it| it.forbidden == forbidden).peekable();
        if lines.peek().is_some() {
            let _ = write!(out, "\n{}\n", style.paint(BOLD, head));
        }
        for it in lines {
            let name = if it.name.is_empty() { String::new() } else { format!(" {}", it.name) };
            let place = match it.namespace.as_str() {
                "" => String::new(),
                namespace => format!(" in namespace {namespace}"),
            };
            let why = if forbidden { String::new() } else { format!(": {}", it.why) };
            line(out, 1, &format!("{} {}{name}{place}{why}", it.verb, it.resource));
        }
    }
}

fn line(out: &mut String, depth: usize, text: &str) {
    let _ = writeln!(out, "{:indent$}{text}", "", indent = depth * 2);
}

/// As kubectl shows ages: `45s`, `12m`, `3h`, `2d`.
pub fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

const BOLD: &str = "1";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

// === impl Style ===

impl Style {
    fn paint(self, colour: &str, text: &str) -> String {
        if self.colours && !colour.is_empty() {
            return format!("\u{1b}[{colour}m{text}\u{1b}[0m");
        }
        text.to_owned()
    }
}
