//! The syntax of schedules.

use std::ops::RangeInclusive;

use super::zone::Zone;
use super::{Field, Fields, Rule, duration};
use crate::go::quote;

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

/// The five fields that a word stands for.
const DESCRIPTORS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

const SECOND_NANOS: i64 = 1_000_000_000;

pub(super) fn schedule(text: &str, local: &Zone) -> Result<Rule, String> {
    if text.is_empty() {
        return Err("empty spec string".to_owned());
    }
    let (zone, rest) = zone(text, local)?;
    if !rest.starts_with('@') {
        return fields(rest, zone);
    }
    if let Some((_, standing_for)) = DESCRIPTORS.iter().find(|(name, _)| *name == rest) {
        return fields(standing_for, zone);
    }
    let Some(every) = rest.strip_prefix("@every ") else {
        return Err(format!("unrecognized descriptor: {rest}"));
    };
    let nanos = duration::parse(every)
        .map_err(|error| format!("failed to parse duration {rest}: {error}"))?;
    Ok(Rule::Every((nanos / SECOND_NANOS).max(1)))
}

/// The zone, and the schedule behind `TZ=` if it has that.
fn zone<'a>(text: &'a str, local: &Zone) -> Result<(Zone, &'a str), String> {
    let zoned = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ="));
    let Some(zoned) = zoned else {
        return Ok((local.clone(), text));
    };
    let Some((name, rest)) = zoned.split_once(' ') else {
        // The parser cuts where no space is, and its panic is caught.
        let error = "runtime error: slice bounds out of range [:-1]";
        return Err(format!("invalid schedule format: {error}"));
    };
    let zone = Zone::load(name, local)
        .map_err(|error| format!("provided bad location {name}: {error}"))?;
    Ok((zone, rest.trim()))
}

fn fields(text: &str, zone: Zone) -> Result<Rule, String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = *fields.as_slice() else {
        let (found, fields) = (fields.len(), fields.join(" "));
        return Err(format!("expected exactly 5 fields, found {found}: [{fields}]"));
    };
    let [minutes, hours, days, months, weekdays] = &FIELDS;
    Ok(Rule::Fields(Box::new(Fields {
        minute: minutes.field(minute)?,
        hour: hours.field(hour)?,
        day: days.field(day)?,
        month: months.field(month)?,
        weekday: weekdays.field(weekday)?,
        zone,
    })))
}

// === impl Bounds ===

impl Bounds {
    /// A list. Nothing between two commas is nothing.
    fn field(&self, text: &str) -> Result<Field, String> {
        let mut field = Field::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let Field { bits, is_star } = self.part(part)?;
            field.bits |= bits;
            field.is_star |= is_star;
        }
        Ok(field)
    }

    /// `*`, `3`, `1-5`, each with `/2` behind it or without.
    fn part(&self, text: &str) -> Result<Field, String> {
        let (min, max) = (*self.range.start(), *self.range.end());
        let steps: Vec<&str> = text.split('/').collect();
        let ends: Vec<&str> = steps.first().unwrap_or(&"").split('-').collect();
        let mut is_star = false;
        let (start, mut end) = match ends.as_slice() {
            ["*" | "?", ..] | [] => {
                is_star = true;
                (min, max)
            }
            [only] => {
                let only = self.number(only)?;
                (only, only)
            }
            [start, end] => (self.number(start)?, self.number(end)?),
            [start, ..] => {
                self.number(start)?;
                return Err(format!("too many hyphens: {text}"));
            }
        };
        let step = match steps.as_slice() {
            [_] => 1,
            [_, step] => {
                if ends.len() == 1 {
                    end = max;
                }
                number(step)?
            }
            _ => return Err(format!("too many slashes: {text}")),
        };
        if start < min {
            return Err(format!("beginning of range ({start}) below minimum ({min}): {text}"));
        }
        if end > max {
            return Err(format!("end of range ({end}) above maximum ({max}): {text}"));
        }
        if start > end {
            return Err(format!(
                "beginning of range ({start}) beyond end of range ({end}): {text}"
            ));
        }
        if step == 0 {
            return Err(format!("step of range should be a positive number: {text}"));
        }
        let bits = (start..=end).step_by(usize::try_from(step).unwrap_or(usize::MAX));
        let bits = bits.fold(0, |bits, number| bits | 1 << number);
        Ok(Field { bits, is_star: is_star && step == 1 })
    }

    fn number(&self, text: &str) -> Result<u64, String> {
        // Go lowers each letter to one letter.
        let lowered: String = text.chars().filter_map(|char| char.to_lowercase().next()).collect();
        let mut named = self.names.iter().zip(self.range.clone());
        let named = named.find(|(name, _)| **name == lowered);
        named.map_or_else(|| number(text), |(_, number)| Ok(number))
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
