//! Amounts such as `100m` and `1Gi` (apimachinery's resource.Quantity).

mod canonical;
#[cfg(test)]
mod tests;

use std::fmt;
use std::hash::{Hash, Hasher};

use serde_json::Value;

const NANOS: i128 = 1_000_000_000;
/// What amounts with binary suffixes are cut to.
const BINARY_MAX: i128 = i64::MAX as i128 * NANOS;

const BINARY: [(&str, u32); 6] =
    [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

/// An amount, in billionths; finer parts are rounded away from zero. Beyond about 10^29 it
/// saturates, where upstream continues.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// How an amount prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Format {
    /// `12M`.
    #[default]
    Decimal,
    /// `12Mi`.
    Binary,
    /// `12e6`.
    Exponent,
}

/// A suffix that was read.
enum Suffix {
    Decimal(i32),
    Binary(u32),
    Exponent(i32),
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0, format: Format::Decimal };

    /// One unit.
    pub const ONE: Self = Self { nanos: NANOS, format: Format::Decimal };

    /// So many whole units.
    pub fn of(count: i64) -> Self {
        Self { nanos: i128::from(count) * NANOS, format: Format::Decimal }
    }

    /// So many thousandths.
    pub fn of_milli(count: i64) -> Self {
        Self { nanos: i128::from(count) * (NANOS / 1000), format: Format::Decimal }
    }

    /// The same amount, which prints with binary suffixes where it can, such as `12Mi`.
    #[must_use]
    pub fn in_binary(self) -> Self {
        Self { format: Format::Binary, ..self }
    }

    /// Reads text as upstream's ParseQuantity; the error is upstream's.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const WRONG: &str = "quantities must match the regular expression \
                             '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        const SUFFIX: &str = "unable to parse quantity's suffix";
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            Some(_) => (false, text),
            None => return Err(WRONG),
        };
        let (whole, rest) = digits(unsigned);
        let (part, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
        let letters = rest.trim_start_matches(|char| "eEinumkKMGTP".contains(char));
        let (_, end) = digits(letters.strip_prefix(['-', '+']).unwrap_or(letters));
        if !end.is_empty() {
            return Err(WRONG);
        }
        let suffix = Suffix::parse(rest).ok_or(SUFFIX)?;
        let nanos = match suffix {
            Suffix::Decimal(power) | Suffix::Exponent(power) => scaled(whole, part, power, 1),
            Suffix::Binary(power) => scaled(whole, part, 0, 1 << power).min(BINARY_MAX),
        };
        let format = match suffix {
            Suffix::Decimal(_) => Format::Decimal,
            Suffix::Exponent(_) => Format::Exponent,
            Suffix::Binary(_) => Format::Binary,
        };
        Ok(Self { nanos: if negative { -nanos } else { nanos }, format })
    }

    /// Reads the JSON of one: text or a number. None: it is neither, or cannot be read.
    pub fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text.trim()).ok(),
            Value::Number(number) => Self::parse(&number.to_string()).ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// The text in canonical form, as Quantity.MarshalJSON has it: `1000m` is `1`, `0.5` is `500m`.
    /// Of any size, and what is nearly canonical stays as it came. The error is upstream's.
    pub fn canonical(text: &str) -> Result<String, &'static str> {
        canonical::canonical(text)
    }

    /// In billionths; none: there are more than can be held.
    pub fn nanos(self) -> Option<i128> {
        (self.nanos.unsigned_abs() != i128::MAX.unsigned_abs()).then_some(self.nanos)
    }

    /// In whole units, rounded away from zero.
    pub fn value(self) -> i64 {
        i64::try_from(away_from_zero(self.nanos, NANOS)).unwrap_or(i64::MAX)
    }

    /// In thousandths, rounded away from zero.
    pub fn milli_value(self) -> i64 {
        i64::try_from(away_from_zero(self.nanos, NANOS / 1000)).unwrap_or(i64::MAX)
    }

    /// As `AsApproximateFloat64` of the amount in canonical form: `100m` is 100 times 0.001.
    #[expect(clippy::cast_precision_loss, reason = "as upstream")]
    pub fn approximate(self) -> f64 {
        let (mantissa, power) = thousands(self.nanos);
        let ten = 10_f64.powi(power.abs());
        mantissa as f64 * if power < 0 { 1.0 / ten } else { ten }
    }

    /// Rounded to thousandths, away from zero.
    pub fn rounded_to_milli(self) -> Self {
        let unit = NANOS / 1000;
        Self { nanos: away_from_zero(self.nanos, unit).saturating_mul(unit), ..self }
    }

    /// Rounded to whole units, away from zero. As RoundUp(0).
    pub fn rounded(self) -> Self {
        Self { nanos: away_from_zero(self.nanos, NANOS).saturating_mul(NANOS), ..self }
    }

    /// Whether it is nothing.
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Whether it is as much, and also prints the same.
    pub fn is_identical(self, other: Self) -> bool {
        self == other && self.format == other.format
    }

    /// Whether it is a whole number.
    pub fn is_whole(self) -> bool {
        self.nanos % NANOS == 0
    }

    /// The sum, which prints as the first does, or as the second if the first is nothing.
    pub fn plus(self, other: Self) -> Self {
        let format = if self.nanos == 0 { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_add(other.nanos), format }
    }

    /// The difference, which prints as the first does, or as the second if the first is nothing.
    pub fn minus(self, other: Self) -> Self {
        self.plus(Self { nanos: other.nanos.saturating_neg(), ..other })
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// In canonical form: the largest suffix that needs no fraction.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let small = self.nanos.abs() < 1024 * NANOS;
        match self.format {
            Format::Binary if !small && self.is_whole() => binary(f, self.nanos / NANOS),
            Format::Binary | Format::Decimal => {
                let (mantissa, power) = thousands(self.nanos);
                let suffix = DECIMAL.iter().find(|(_, known)| *known == power);
                write!(f, "{mantissa}{}", suffix.map_or("", |(suffix, _)| suffix))
            }
            Format::Exponent => match thousands(self.nanos) {
                (mantissa, 0) => write!(f, "{mantissa}"),
                (mantissa, power) => write!(f, "{mantissa}e{power}"),
            },
        }
    }
}

// === impl Suffix ===

impl Suffix {
    fn parse(text: &str) -> Option<Self> {
        if let Some((_, power)) = DECIMAL.iter().find(|(suffix, _)| *suffix == text) {
            return Some(Self::Decimal(*power));
        }
        if let Some((_, power)) = BINARY.iter().find(|(suffix, _)| *suffix == text) {
            return Some(Self::Binary(*power));
        }
        let power = text.strip_prefix(['e', 'E'])?;
        power.parse().ok().map(Self::Exponent)
    }
}

/// The digits at the start, and the rest.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// `whole.part` times 10 to the power times the factor, in billionths.
fn scaled(whole: &str, part: &str, power: i32, factor: i128) -> i128 {
    let number = |text: &str| {
        text.bytes().fold(0_i128, |sum, byte| {
            sum.saturating_mul(10).saturating_add(i128::from(byte - b'0'))
        })
    };
    // More digits make no difference.
    let part = &part[..part.len().min(18)];
    let fraction = i32::try_from(part.len()).unwrap_or(i32::MAX);
    let mantissa = number(&format!("{whole}{part}")).saturating_mul(factor);
    match power.saturating_sub(fraction).saturating_add(9) {
        shift @ 0.. => mantissa.saturating_mul(ten_to(shift.unsigned_abs())),
        shift => away_from_zero(mantissa, ten_to(shift.unsigned_abs())),
    }
}

fn ten_to(power: u32) -> i128 {
    10_i128.checked_pow(power).unwrap_or(i128::MAX)
}

fn away_from_zero(value: i128, unit: i128) -> i128 {
    let rest = if value % unit == 0 { 0 } else { value.signum() };
    value / unit + rest
}

/// Without the thousands that a suffix can say.
fn thousands(nanos: i128) -> (i128, i32) {
    let (mut mantissa, mut power) = (nanos, -9);
    while mantissa % 1000 == 0 && power < 18 {
        mantissa /= 1000;
        power += 3;
    }
    (mantissa, power)
}

fn binary(f: &mut fmt::Formatter<'_>, value: i128) -> fmt::Result {
    let (mut mantissa, mut suffix) = (value, "");
    for (larger, _) in BINARY {
        if mantissa % 1024 != 0 {
            break;
        }
        mantissa /= 1024;
        suffix = larger;
    }
    write!(f, "{mantissa}{suffix}")
}
