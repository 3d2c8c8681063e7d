//! Amounts of resources, such as `100m` or `8Gi`.

const NANOS: i128 = 1_000_000_000;

/// In whole units, rounded up; none: it is no quantity.
pub(crate) fn units(text: &str) -> Option<i64> {
    scaled(text, NANOS)
}

/// In thousandths, rounded up; none: it is no quantity.
pub(crate) fn millis(text: &str) -> Option<i64> {
    scaled(text, NANOS / 1000)
}

fn scaled(text: &str, unit_nanos: i128) -> Option<i64> {
    let nanos = nanos(text)?;
    let rounded = nanos.div_euclid(unit_nanos) + i128::from(nanos.rem_euclid(unit_nanos) != 0);
    Some(i64::try_from(rounded).unwrap_or(if rounded < 0 { i64::MIN } else { i64::MAX }))
}

fn nanos(text: &str) -> Option<i128> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(text) => (-1, text),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || whole.len() > 18 {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = whole * NANOS;
    let mut place = NANOS;
    for digit in fraction.chars() {
        place /= 10;
        nanos += i128::from(digit.to_digit(10)?) * place;
    }
    let (numerator, denominator) = factor(suffix)?;
    Some(sign * nanos.checked_mul(numerator)? / denominator)
}

/// What a suffix multiplies and divides by.
fn factor(suffix: &str) -> Option<(i128, i128)> {
    let power = |base: i128, exponent: u32| base.checked_pow(exponent);
    Some(match suffix {
        "" => (1, 1),
        "n" => (1, NANOS),
        "u" => (1, 1_000_000),
        "m" => (1, 1000),
        "k" => (1000, 1),
        "M" => (power(10, 6)?, 1),
        "G" => (power(10, 9)?, 1),
        "T" => (power(10, 12)?, 1),
        "P" => (power(10, 15)?, 1),
        "E" => (power(10, 18)?, 1),
        "Ki" => (power(2, 10)?, 1),
        "Mi" => (power(2, 20)?, 1),
        "Gi" => (power(2, 30)?, 1),
        "Ti" => (power(2, 40)?, 1),
        "Pi" => (power(2, 50)?, 1),
        "Ei" => (power(2, 60)?, 1),
        exponent => {
            let exponent = exponent.strip_prefix(['e', 'E'])?;
            let exponent: i32 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
            let scale = power(10, exponent.unsigned_abs())?;
            if exponent < 0 { (1, scale) } else { (scale, 1) }
        }
    })
}
