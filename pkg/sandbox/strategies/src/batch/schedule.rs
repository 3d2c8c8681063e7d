//! The syntax of schedules, as the parser that upstream takes (robfig/cron v3, ParseStandard).

use std::ops::RangeInclusive;

use api::go::quote;

use super::timezone;

/// What a field of a schedule may be.
struct Bounds {
    range: RangeInclusive<u64>,
    /// From the first number on.
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds { range: 0..=59, names: &[] },
    Bounds { range: 0..=23, names: &[] },
    Bounds { range: 1..=31, names: &[] },
    Bounds {
        range: 1..=12,
        names: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    Bounds { range: 0..=6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

const DESCRIPTORS: [&str; 7] =
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// What is wrong with a schedule, as the parser says it.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    if schedule.is_empty() {
        return Err("empty spec string".to_owned());
    }
    let rest = skip_zone(schedule)?;
    if rest.starts_with('@') {
        return check_descriptor(rest);
    }
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let found = fields.len();
        return Err(format!("expected exactly 5 fields, found {found}: [{}]", fields.join(" ")));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        for range in field.split(',').filter(|range| !range.is_empty()) {
            check_range(range, bounds)?;
        }
    }
    Ok(())
}

/// The schedule behind `TZ=`.
fn skip_zone(schedule: &str) -> Result<&str, String> {
    let zoned = schedule.strip_prefix("TZ=").or_else(|| schedule.strip_prefix("CRON_TZ="));
    let Some(zoned) = zoned else {
        return Ok(schedule);
    };
    let Some((zone, rest)) = zoned.split_once(' ') else {
        // The parser cuts where no space is, and its panic is caught.
        let error = "runtime error: slice bounds out of range [:-1]";
        return Err(format!("invalid schedule format: {error}"));
    };
    timezone::load(zone).map_err(|error| format!("provided bad location {zone}: {error}"))?;
    Ok(rest.trim())
}

fn check_descriptor(descriptor: &str) -> Result<(), String> {
    if DESCRIPTORS.contains(&descriptor) {
        return Ok(());
    }
    let Some(every) = descriptor.strip_prefix("@every ") else {
        return Err(format!("unrecognized descriptor: {descriptor}"));
    };
    let error = |error: String| format!("failed to parse duration {descriptor}: {error}");
    check_duration(every).map_err(error)
}

/// `*`, `3`, `1-5`, each with `/2` behind it or without.
fn check_range(range: &str, bounds: &Bounds) -> Result<(), String> {
    let (min, max) = (*bounds.range.start(), *bounds.range.end());
    let steps: Vec<&str> = range.split('/').collect();
    let ends: Vec<&str> = steps.first().unwrap_or(&"").split('-').collect();
    let (start, mut end) = match ends.as_slice() {
        ["*" | "?", ..] | [] => (min, max),
        [only] => {
            let only = bounds.number(only)?;
            (only, only)
        }
        [start, end] => (bounds.number(start)?, bounds.number(end)?),
        [start, ..] => {
            bounds.number(start)?;
            return Err(format!("too many hyphens: {range}"));
        }
    };
    let step = match steps.as_slice() {
        [_] => 1,
        [_, step] => {
            let step = number(step)?;
            if ends.len() == 1 {
                end = max;
            }
            step
        }
        _ => return Err(format!("too many slashes: {range}")),
    };
    if start < min {
        return Err(format!("beginning of range ({start}) below minimum ({min}): {range}"));
    }
    if end > max {
        return Err(format!("end of range ({end}) above maximum ({max}): {range}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {range}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {range}"));
    }
    Ok(())
}

impl Bounds {
    fn number(&self, text: &str) -> Result<u64, String> {
        let named = self.names.iter().zip(self.range.clone());
        let mut named = named.filter(|(name, _)| **name == text.to_lowercase());
        named.next().map_or_else(|| number(text), |(_, number)| Ok(number))
    }
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let why = if is_number { "value out of range" } else { "invalid syntax" };
    let number: i64 = text.parse().map_err(|_| {
        let error = format!("strconv.Atoi: parsing {}: {why}", quote(text));
        format!("failed to parse int from {text}: {error}")
    })?;
    u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
}

/// As time.ParseDuration.
fn check_duration(text: &str) -> Result<(), String> {
    const UNITS: [(&str, u64); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let error = |why: &str| Err(format!("time: {why} duration {}", quote(text)));
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return Ok(());
    }
    if rest.is_empty() {
        return error("invalid");
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let is_digit = |char: char| char.is_ascii_digit();
        let whole = rest.trim_start_matches(is_digit);
        let digits = &rest[..rest.len() - whole.len()];
        let after =
            whole.strip_prefix('.').map(|after| (after, after.trim_start_matches(is_digit)));
        let (fraction, unit) = after.map_or((0, whole), |(from, to)| (from.len() - to.len(), to));
        if digits.is_empty() && fraction == 0 {
            return error("invalid");
        }
        let end = unit.find(|char: char| char == '.' || char.is_ascii_digit());
        let (unit, next) = unit.split_at(end.unwrap_or(unit.len()));
        if unit.is_empty() {
            return error("missing unit in");
        }
        let Some((_, nanos)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return error(&format!("unknown unit {} in", quote(unit)));
        };
        let count: Option<u64> = if digits.is_empty() { Some(0) } else { digits.parse().ok() };
        let sum = count.and_then(|count| count.checked_mul(*nanos)?.checked_add(total));
        match sum.filter(|sum| i64::try_from(*sum).is_ok()) {
            Some(sum) => total = sum,
            None => return error("invalid"),
        }
        rest = next;
    }
    Ok(())
}
