//! Numbers as Go prints them.

use std::fmt::Write as _;

/// In this range Go writes numbers without an exponent.
const PLAIN: std::ops::Range<f64> = 1e-4..1e6;

/// Adds `value` as Go's `strconv.FormatFloat(value, 'g', -1, 64)`: the fewest digits that parse as
/// `value`. As expfmt does, without the sign of zero.
pub(crate) fn push(out: &mut String, value: f64) {
    if value.is_nan() {
        out.push_str("NaN");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "+Inf" } else { "-Inf" });
    } else if value == 0.0 {
        out.push('0');
    } else if PLAIN.contains(&value.abs()) {
        write!(out, "{value}").expect("a string takes everything");
    } else {
        let text = format!("{value:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        write!(out, "{digits}e{sign}{exponent:0>2}").expect("a string takes everything");
    }
}
