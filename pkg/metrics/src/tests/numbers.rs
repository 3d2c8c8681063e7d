//! Numbers as Go prints them.

use proptest::prelude::*;

use crate::number;

/// Bits and text, printed by a Go program: `strconv.FormatFloat(f, 'g', -1, 64)`.
const GO: &str = include_str!("../../testdata/numbers.txt");

fn text(value: f64) -> String {
    let mut out = String::new();
    number::push(&mut out, value);
    out
}

#[test]
fn numbers_are_gos() {
    let rows: Vec<_> = GO.lines().filter_map(|line| line.split_once(' ')).collect();
    assert!(rows.len() > 80, "{} rows", rows.len());
    for (bits, expected) in rows {
        let value = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        assert_eq!(text(value), expected, "{bits}");
    }
}

/// Both zeros print alike.
fn bits(value: f64) -> u64 {
    (value + 0.0).to_bits()
}

/// What Go's 'g' promises: plain from 0.0001 up to a million, two digits of exponent outside, and
/// no digit more than needed.
fn is_in_shape(value: f64, text: &str) -> bool {
    let digits = |text: &str| text.trim_start_matches('-').replace('.', "");
    match text.split_once('e') {
        None => (1e-4..1e6).contains(&value.abs()) || value == 0.0,
        Some((mantissa, exponent)) => {
            !(1e-4..1e6).contains(&value.abs())
                && exponent.starts_with(['+', '-'])
                && (3..=4).contains(&exponent.len())
                && (exponent.len() == 3 || !exponent[1..].starts_with('0'))
                && !(mantissa.contains('.') && mantissa.ends_with('0'))
                && digits(mantissa).len() <= 17
        }
    }
}

proptest! {
    #[test]
    fn every_number_is_read_back(any: u64) {
        let value = f64::from_bits(any);
        prop_assume!(value.is_finite());
        let text = text(value);
        prop_assert_eq!(bits(text.parse().unwrap()), bits(value));
        prop_assert!(is_in_shape(value, &text), "{}", text);
    }

    #[test]
    fn everyday_numbers_are_read_back(mantissa in -1e7..1e7f64, scale in -12..3) {
        let value = mantissa * 10f64.powi(scale);
        let text = text(value);
        prop_assert_eq!(bits(text.parse().unwrap()), bits(value));
        prop_assert!(is_in_shape(value, &text), "{}", text);
    }
}
