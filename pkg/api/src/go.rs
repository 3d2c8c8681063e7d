//! Text as Go writes it, where users or other programs see the difference.

use std::fmt::Write;
use std::time::Duration;

use serde_json::Value;

use crate::Time;

/// As `strconv.Quote` and `%q`: what is no text or has no shape is written as an escape.
pub fn quote(bytes: impl AsRef<[u8]>) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.as_ref().utf8_chunks() {
        chunk.valid().chars().for_each(|char| push(&mut out, char));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

/// JSON as `encoding/json` writes it: with nothing in it that a browser could take for HTML, or old
/// JavaScript for the end of a line.
pub fn escape_html(json: String) -> String {
    const ESCAPES: [(char, &str); 5] = [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ];
    // In JSON these stand in strings only.
    ESCAPES.iter().fold(
        json,
        |json, (char, escape)| {
            if json.contains(*char) { json.replace(*char, escape) } else { json }
        },
    )
}

/// A `metav1.LabelSelector`, from its JSON, as its method `String` writes it.
pub fn label_selector(selector: &Value) -> String {
    let Some(selector) = selector.as_object() else { return "nil".to_owned() };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let mut labels: Vec<_> = labels.into_iter().flatten().collect();
    labels.sort_by_key(|(key, _)| *key);
    let labels = labels.into_iter().map(|(key, value)| format!("{key}: {},", text(Some(value))));
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    let expressions = expressions.into_iter().flatten().map(|expression| {
        let values = expression.get("values").and_then(Value::as_array);
        let values: Vec<_> = values.into_iter().flatten().map(|it| text(Some(it))).collect();
        format!(
            "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
            text(expression.get("key")),
            text(expression.get("operator")),
            values.join(" "),
        )
    });
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
        labels.collect::<String>(),
        expressions.collect::<String>(),
    )
}

/// A duration as its method `String` writes it: `10s`, `1h30m0s`, `1.5ms`.
pub fn duration(duration: Duration) -> String {
    const SECOND: u64 = 1_000_000_000;
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => format!("{}µs", decimal(nanos, 1_000)),
        1_000_000..SECOND => format!("{}ms", decimal(nanos, 1_000_000)),
        _ => {
            let minutes = nanos / (60 * SECOND);
            let seconds = decimal(nanos % (60 * SECOND), SECOND);
            match minutes {
                0 => format!("{seconds}s"),
                1..60 => format!("{minutes}m{seconds}s"),
                _ => format!("{}h{}m{seconds}s", minutes / 60, minutes % 60),
            }
        }
    }
}

/// `number / unit` with as many decimals as it needs; `unit` is a power of ten.
fn decimal(number: u64, unit: u64) -> String {
    let (whole, rest) = (number / unit, number % unit);
    let decimals = (unit + rest).to_string();
    let decimals = decimals[1..].trim_end_matches('0');
    if decimals.is_empty() { whole.to_string() } else { format!("{whole}.{decimals}") }
}

/// A moment in UTC as `time.RFC1123Z` writes it.
pub fn rfc1123z(time: Time) -> String {
    let second = time.unix_nanos().div_euclid(1_000_000_000);
    let stamp = jiff::Timestamp::from_second(second).unwrap_or_default();
    jiff::fmt::strtime::format("%a, %d %b %Y %H:%M:%S +0000", stamp).unwrap_or_default()
}

/// As `time.Parse(time.RFC3339, …)`, where what cannot be read means something: an hour may have
/// one digit, a fraction may have a comma, no second is a leap second, and the year 9999 ends with
/// its last day.
pub fn parse_rfc3339(text: &[u8]) -> Option<Time> {
    let mut rest = text;
    let year = number(&mut rest, 4)?;
    let month = number(literal(&mut rest, b'-')?, 2).filter(|it| (1..=12).contains(it))?;
    let day = number(literal(&mut rest, b'-')?, 2)?;
    literal(&mut rest, b'T')?;
    let digits = if rest.get(1).is_some_and(u8::is_ascii_digit) { 2 } else { 1 };
    let hour = number(&mut rest, digits).filter(|it| *it < 24)?;
    let minute = number(literal(&mut rest, b':')?, 2).filter(|it| *it < 60)?;
    let second = number(literal(&mut rest, b':')?, 2).filter(|it| *it < 60)?;
    let nanos = fraction(&mut rest);
    let offset_seconds = offset(&mut rest)?;
    if !rest.is_empty() || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(Time::from_unix(seconds - offset_seconds, nanos))
}

/// So many digits.
fn number(text: &mut &[u8], digits: usize) -> Option<i64> {
    let (number, rest) = text.split_at_checked(digits)?;
    let is_number = number.iter().all(u8::is_ascii_digit);
    *text = rest;
    is_number.then(|| number.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

/// This byte, and what follows it.
fn literal<'a, 'b>(text: &'a mut &'b [u8], byte: u8) -> Option<&'a mut &'b [u8]> {
    *text = text.strip_prefix(&[byte])?;
    Some(text)
}

/// Nanoseconds behind a point or comma, if at least one digit follows it; more digits than nine
/// count for nothing.
fn fraction(text: &mut &[u8]) -> i32 {
    let Some((b'.' | b',', digits)) = text.split_first() else { return 0 };
    let length = digits.iter().take_while(|digit| digit.is_ascii_digit()).count();
    let (digits, rest) = digits.split_at(length);
    if digits.is_empty() {
        return 0;
    }
    *text = rest;
    let padded = digits.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    padded.fold(0, |sum, digit| sum * 10 + i32::from(digit - b'0'))
}

/// Seconds east of Greenwich.
fn offset(text: &mut &[u8]) -> Option<i64> {
    let (sign, rest) = text.split_first()?;
    *text = rest;
    let sign = match sign {
        b'Z' => return Some(0),
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hours = number(text, 2).filter(|it| *it <= 24)?;
    let minutes = number(literal(text, b':')?, 2).filter(|it| *it <= 60)?;
    Some(sign * (hours * 3600 + minutes * 60))
}

fn days_in(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from 1970-01-01 on, in the Gregorian calendar. Years begin in March, so that leap days
/// come last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn push(out: &mut String, char: char) {
    let escape = match char {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\x07' => "\\a",
        '\x08' => "\\b",
        '\x0c' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\x0b' => "\\v",
        ' '..='~' => return out.push(char),
        _ if is_printable(char) => return out.push(char),
        _ => {
            let number = u32::from(char);
            let _ = match number {
                0..0x80 => write!(out, "\\x{number:02x}"),
                0x80..0x1_0000 => write!(out, "\\u{number:04x}"),
                _ => write!(out, "\\U{number:08x}"),
            };
            return;
        }
    };
    out.push_str(escape);
}

/// Rust and Go agree on it, but that alone Rust does not print a mark that combines with a letter.
fn is_printable(char: char) -> bool {
    ["a", char.encode_utf8(&mut [0; 4])].concat().escape_debug().count() == 2
}
