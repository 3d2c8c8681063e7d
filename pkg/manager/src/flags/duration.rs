//! Durations as Go reads and prints them: `10s`, `1h30m0s`, `1.5ms`, `-2s`.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// Nanoseconds, with a sign. The default is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GoDuration(i64);

const NANOS_PER_SECOND: u64 = 1_000_000_000;

impl GoDuration {
    /// One second.
    pub const SECOND: Self = Self(1_000_000_000);

    /// Parses as Go's `time.ParseDuration`, with its error texts.
    pub fn parse(text: &str) -> Result<Self, String> {
        let invalid = || format!("time: invalid duration {text:?}");
        let (sign, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: i128 = 0;
        while !rest.is_empty() {
            let (whole, unit);
            let mut fraction = "";
            (whole, rest) = split(rest, |c| c.is_ascii_digit());
            if let Some(decimals) = rest.strip_prefix('.') {
                (fraction, rest) = split(decimals, |c| c.is_ascii_digit());
            }
            (unit, rest) = split(rest, |c| !c.is_ascii_digit() && c != '.');
            if whole.len() + fraction.len() == 0 {
                return Err(invalid());
            }
            if unit.is_empty() {
                return Err(format!("time: missing unit in duration {text:?}"));
            }
            let Some(nanos) = unit_nanos(unit) else {
                return Err(format!("time: unknown unit {unit:?} in duration {text:?}"));
            };
            let part = scaled(whole, fraction, nanos).ok_or_else(invalid)?;
            total = total.checked_add(part).ok_or_else(invalid)?;
        }
        i64::try_from(sign * total).map(Self).map_err(|_| invalid())
    }

    /// The duration without a sign: zero if it is negative.
    pub fn to_std(self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }
}

/// The longest prefix of `text` whose characters all satisfy `belongs`, and the rest.
fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

fn unit_nanos(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => NANOS_PER_SECOND,
        "m" => 60 * NANOS_PER_SECOND,
        "h" => 3_600 * NANOS_PER_SECOND,
        _ => return None,
    })
}

/// `whole.fraction` times `nanos`, rounded down; none if it is far too large.
fn scaled(whole: &str, fraction: &str, nanos: u64) -> Option<i128> {
    let number = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse().ok() };
    // More digits than these are less than a nanosecond, whatever the unit.
    let fraction = &fraction[..fraction.len().min(18)];
    let whole: i128 = number(whole)?;
    let part: i128 = number(fraction)?;
    let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    whole.checked_mul(nanos.into())?.checked_add(part * i128::from(nanos) / scale)
}

impl Display for GoDuration {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        f.write_str(&api::go::duration(Duration::from_nanos(self.0.unsigned_abs())))
    }
}
