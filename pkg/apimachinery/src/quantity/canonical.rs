//! Quantities as the API server writes them: `1000m` is `1`, `0.5` is `500m`, `1024Ki` is `1Mi`.
//! What is nearly canonical stays as it came, as upstream.

/// The text is not a quantity at all.
const FORMAT: &str = "quantities must match the regular expression \
                      '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";
const NUMERIC: &str = "unable to parse numeric part of quantity";
/// Finer than this is rounded up.
const EXPONENT_MIN: i64 = -9;
/// So many decimal digits are certain to fit 64 bits.
const DIGITS_MAX: usize = 18;

/// More decimal digits do not fit 128 bits.
const FRACTION_MAX: usize = 38;

/// A text, taken apart.
struct Parts<'a> {
    negative: bool,
    /// Digits before the point, without zeros in front; never empty.
    whole: &'a str,
    /// Digits after the point.
    fraction: &'a str,
    suffix: &'a str,
}

/// What a suffix multiplies by, and the family that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    /// Ten to this: `m`, `k`.
    Decimal(i64),
    /// Two to this: `Ki`.
    Binary(u32),
    /// Ten to this: `e3`.
    Exponent(i64),
}

/// Decimal digits and the power of ten that they are multiplied by.
struct Decimal {
    digits: String,
    exponent: i64,
}

/// The canonical form of a quantity. The error is upstream's.
pub(super) fn canonical(text: &str) -> Result<String, &'static str> {
    if text.is_empty() {
        return Err(FORMAT);
    }
    let parts = Parts::of(text)?;
    let scale = Scale::of(parts.suffix).ok_or(SUFFIX)?;
    if parts.is_kept(scale) {
        return Ok(text.to_owned());
    }
    let digits = format!("{}{}", parts.whole, parts.fraction);
    let fraction = i64::try_from(parts.fraction.len()).map_err(|_| NUMERIC)?;
    let sign = if parts.negative { "-" } else { "" };
    Ok(match scale {
        Scale::Decimal(exponent) => {
            let decimal = Decimal { digits, exponent: exponent - fraction }.rounded();
            decimal.print(sign, decimal_suffix)
        }
        Scale::Exponent(exponent) => {
            let decimal = Decimal { digits, exponent: exponent - fraction }.rounded();
            decimal.print(sign, |exponent| match exponent {
                0 => String::new(),
                _ => format!("e{exponent}"),
            })
        }
        Scale::Binary(shift) => {
            let value = Decimal::shifted(&parts, shift).rounded();
            match value.whole().filter(|value| *value >= 1024) {
                Some(value) => binary(sign, value),
                None => value.print(sign, decimal_suffix),
            }
        }
    })
}

fn decimal_suffix(exponent: i64) -> String {
    let known = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    let at = usize::try_from((exponent - EXPONENT_MIN) / 3).unwrap_or(usize::MAX);
    known.get(at).copied().unwrap_or_default().to_owned()
}

fn binary(sign: &str, mut value: u128) -> String {
    let mut at = 0;
    while value.is_multiple_of(1024) && at < 6 {
        value /= 1024;
        at += 1;
    }
    format!("{sign}{value}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][at])
}

// === impl Parts ===

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, &'static str> {
        let negative = text.starts_with('-');
        let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
        let rest = rest.trim_start_matches('0');
        let (whole, rest) = digits(rest);
        let whole = if whole.is_empty() { "0" } else { whole };
        let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
        let suffix = rest;
        let rest = rest.trim_start_matches(|it| "eEinumkKMGTP".contains(it));
        let rest = rest.strip_prefix(['-', '+']).unwrap_or(rest);
        match digits(rest) {
            (_, "") => Ok(Self { negative, whole, fraction, suffix }),
            _ => Err(FORMAT),
        }
    }

    /// Whether upstream's short cut keeps the text as it is.
    fn is_kept(&self, scale: Scale) -> bool {
        let length = self.whole.len() + self.fraction.len();
        match scale {
            Scale::Decimal(exponent) | Scale::Exponent(exponent) => {
                let fraction = i64::try_from(self.fraction.len()).unwrap_or(i64::MAX);
                let exponent = exponent.saturating_sub(fraction);
                let first = self.whole.starts_with('0');
                let ends = match self.fraction.len() {
                    0..3 => format!("{}{}", self.whole, self.fraction).ends_with("000"),
                    _ => self.fraction.ends_with("000"),
                };
                length <= DIGITS_MAX
                    && exponent >= EXPONENT_MIN
                    && exponent % 3 == 0
                    && !first
                    && !ends
            }
            Scale::Binary(shift) => {
                // 2^10 has three decimal digits.
                let room = 14_usize.saturating_sub(usize::try_from(shift * 3 / 10).unwrap_or(14));
                let value = self.whole.parse::<i64>().unwrap_or(0);
                let fits = value.checked_mul(1 << shift).is_some();
                self.fraction.is_empty() && self.whole.len() <= room && fits && value & 7 != 0
            }
        }
    }
}

/// The digits in front, and the rest.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

// === impl Scale ===

impl Scale {
    fn of(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "" => Self::Decimal(0),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            _ => {
                let exponent = suffix.strip_prefix(['e', 'E'])?;
                Self::Exponent(i64::from(exponent.parse::<i32>().ok()?))
            }
        })
    }
}

// === impl Decimal ===

impl Decimal {
    /// The number times two to `shift`, but no more than 64 bits hold.
    fn shifted(parts: &Parts<'_>, shift: u32) -> Self {
        let max = Self { digits: i64::MAX.to_string(), exponent: 0 };
        // What is cut off here is far finer than what rounding keeps.
        let fraction = parts.fraction.get(..FRACTION_MAX.min(parts.fraction.len()));
        let mut fraction = fraction.unwrap_or_default();
        let whole = parts.whole.parse::<i64>().ok().and_then(|it| it.checked_mul(1 << shift));
        if whole.is_none() {
            return max;
        }
        loop {
            let value = format!("{}{fraction}", parts.whole).parse::<u128>().ok();
            if let Some(value) = value.and_then(|it| it.checked_mul(1 << shift)) {
                let exponent = -i64::try_from(fraction.len()).unwrap_or(0);
                let it = Self { digits: value.to_string(), exponent };
                let too_large = it.floor().is_none_or(|value| value >= 1 << 63);
                return if too_large { max } else { it };
            }
            match fraction.len().checked_sub(1) {
                Some(shorter) => fraction = fraction.get(..shorter).unwrap_or_default(),
                None => return max,
            }
        }
    }

    /// Without what is finer than a billionth; that counts as one.
    fn rounded(mut self) -> Self {
        let zeros = self.digits.len() - self.digits.trim_start_matches('0').len();
        self.digits.drain(..zeros);
        let cut = usize::try_from(EXPONENT_MIN - self.exponent).unwrap_or(0);
        if self.digits.is_empty() || cut == 0 {
            return self;
        }
        let keep = self.digits.len().saturating_sub(cut);
        let dropped = self.digits.split_off(keep);
        self.exponent = EXPONENT_MIN;
        if dropped.bytes().any(|digit| digit != b'0') {
            self.digits = incremented(&self.digits);
        }
        self
    }

    /// Its integer part; none: it is too large.
    fn floor(&self) -> Option<u128> {
        let value = self.digits.parse::<u128>().ok()?;
        let cut = u32::try_from(-self.exponent).ok()?;
        Some(10_u128.checked_pow(cut).map_or(0, |unit| value / unit))
    }

    /// Its value, if it is whole.
    fn whole(&self) -> Option<u128> {
        let value = self.floor()?;
        let unit = 10_u128.checked_pow(u32::try_from(-self.exponent).ok()?)?;
        (self.digits.parse() == Ok(value * unit)).then_some(value)
    }

    fn print(&self, sign: &str, suffix: impl Fn(i64) -> String) -> String {
        let significant = self.digits.trim_end_matches('0');
        if significant.is_empty() {
            return "0".to_owned();
        }
        let zeros = self.digits.len() - significant.len();
        let exponent = self.exponent + i64::try_from(zeros).unwrap_or(0);
        let more = exponent.rem_euclid(3);
        let zeros = ["", "0", "00"][usize::try_from(more).unwrap_or(0)];
        format!("{sign}{significant}{zeros}{}", suffix(exponent - more))
    }
}

/// The next number.
fn incremented(digits: &str) -> String {
    let kept = digits.trim_end_matches('9');
    let nines = "0".repeat(digits.len() - kept.len());
    match kept.char_indices().next_back() {
        Some((at, last)) => {
            let next = char::from(u8::try_from(last).unwrap_or(b'0') + 1);
            format!("{}{next}{nines}", &kept[..at])
        }
        None => format!("1{nines}"),
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn quantities_are_canonical() {
        // What Quantity.MarshalJSON of apimachinery 0.36.3 prints.
        for line in include_str!("quantities.txt").lines() {
            let (text, expected) = line.split_once('\t').unwrap();
            let read = canonical(text.trim()).unwrap_or_else(str::to_owned);
            assert_eq!(read, expected, "{text}");
        }
    }
}
