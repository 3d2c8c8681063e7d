//! Durations of `@every`, as Go's `time.ParseDuration`.

use std::fmt::Write;

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
/// What a sum may come to with a sign before it.
const NANOS_MAX: u64 = 1 << 63;

/// The nanoseconds that a text says.
pub(super) fn parse(text: &str) -> Result<i64, String> {
    let error = |why: &str| format!("time: {why} duration {}", quote(text));
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(error("invalid"));
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, unit) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err(error("invalid"));
        }
        let end = unit.find(|char: char| char == '.' || char.is_ascii_digit());
        let (unit, next) = unit.split_at(end.unwrap_or(unit.len()));
        if unit.is_empty() {
            return Err(error("missing unit in"));
        }
        let Some((_, nanos)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(error(&format!("unknown unit {} in", quote(unit))));
        };
        let sum = sum(whole, fraction, *nanos).and_then(|sum| sum.checked_add(total));
        total = sum.filter(|sum| *sum <= NANOS_MAX).ok_or_else(|| error("invalid"))?;
        rest = next;
    }
    match i64::try_from(total) {
        Ok(total) if is_negative => Ok(-total),
        Ok(total) => Ok(total),
        Err(_) if is_negative => Ok(i64::MIN),
        Err(_) => Err(error("invalid")),
    }
}

fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|char: char| !char.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// So many units, with a fraction of which what no nanosecond holds is left out; none: too many.
fn sum(whole: &str, fraction: &str, nanos: u64) -> Option<u64> {
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let whole = whole.checked_mul(nanos)?;
    // More digits than these say nothing of a nanosecond.
    let fraction = &fraction[..fraction.len().min(18)];
    if fraction.is_empty() {
        return Some(whole);
    }
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let part = fraction.parse::<u128>().ok()? * u128::from(nanos) / scale;
    whole.checked_add(u64::try_from(part).ok()?)
}

/// As the package `time` quotes texts, otherwise than `strconv` does: what is not printable ASCII
/// is written byte by byte.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            ' '..='~' | '\x7f' => quoted.push(char),
            _ => {
                for byte in char.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(quoted, "\\x{byte:02x}");
                }
            }
        }
    }
    quoted.push('"');
    quoted
}
