//! Rows of quantity_test.go.

use serde_json::json;

use super::Quantity;

/// Text, and its canonical form (TestQuantityParse, TestQuantityString, TestQuantityParseEmit).
#[test]
fn amounts_print_in_canonical_form() {
    let rows = [
        ("0", "0"),
        ("0n", "0"),
        ("0Ki", "0"),
        ("0e3", "0"),
        ("-0", "0"),
        ("1Ki", "1Ki"),
        ("8Ki", "8Ki"),
        ("7Mi", "7Mi"),
        ("6Gi", "6Gi"),
        ("1024Mi", "1Gi"),
        ("1500Mi", "1500Mi"),
        ("1000Ki", "1000Ki"),
        ("512", "512"),
        ("0.5Gi", "512Mi"),
        ("1.5Ki", "1536"),
        ("0.5Ki", "512"),
        ("0.0001Ki", "102400u"),
        ("1", "1"),
        ("100", "100"),
        ("1000", "1k"),
        ("1000m", "1"),
        ("100m", "100m"),
        ("0.1", "100m"),
        ("0.5", "500m"),
        ("1.5", "1500m"),
        ("1.1M", "1100k"),
        ("1e3", "1e3"),
        ("1E6", "1e6"),
        ("100e-3", "100e-3"),
        ("1e1", "10"),
        ("12E", "12E"),
        ("1000E", "1000E"),
        ("-5", "-5"),
        ("+5", "5"),
        ("-1Ki", "-1Ki"),
        (".5", "500m"),
        ("1.", "1"),
        ("1.1u", "1100n"),
        ("1.1n", "2n"),
        ("-1.1n", "-2n"),
        ("9223372036854775807Ki", "9223372036854775807"),
    ];
    for (text, canonical) in rows {
        let parsed = Quantity::parse(text).map(|it| it.to_string());
        assert_eq!(parsed.as_deref(), Ok(canonical), "{text}");
    }
}

/// TestQuantityParse's invalid rows.
#[test]
fn what_is_no_amount_is_refused() {
    for text in ["", "1.1.M", "1+1.0M", "0.1mi", "0.1am", "aoeu", "1kk", "1i", "1e", " 1", "1 Ki"] {
        assert!(Quantity::parse(text).is_err(), "{text:?}");
    }
    assert_eq!(Quantity::from_json(&json!(true)), None);
}

/// TestQuantityCmp, and that numbers are amounts too (TestJSON).
#[test]
fn amounts_compare_by_value() {
    let read = |value| Quantity::from_json(&value).unwrap();
    assert_eq!(read(json!(1)), read(json!("1000m")));
    assert_eq!(read(json!(0.5)), read(json!("500m")));
    assert_eq!(read(json!("1Gi")), read(json!("1024Mi")));
    assert!(read(json!("1G")) < read(json!("1Gi")));
    assert!(read(json!("-1")) < Quantity::ZERO);
}

/// TestScaledValueInternal, TestQuantityAdd, TestQuantityRoundUp.
#[test]
fn amounts_round_up_and_add() {
    let read = |text| Quantity::parse(text).unwrap();
    assert_eq!(read("1.1").value(), 2);
    assert_eq!(read("-1.1").value(), -2);
    assert_eq!(read("100.1m").milli_value(), 101);
    assert_eq!(read("0.0001").rounded_to_milli().to_string(), "1m");
    assert!(read("1k").is_whole() && !read("1m").is_whole());
    assert_eq!(read("0").plus(read("1Ki")).to_string(), "1Ki");
    assert_eq!(read("1Ki").plus(read("1k")).to_string(), "2024");
}

/// Every suffix, by its value.
#[test]
fn amounts_are_billionths() {
    let one = 1_000_000_000_i128;
    for (text, expected) in [
        ("+1", Some(one)),
        ("-1.50", Some(-one * 3 / 2)),
        ("1n", Some(1)),
        ("1u", Some(1000)),
        ("1m", Some(one / 1000)),
        ("1k", Some(one * 1000)),
        ("1e3", Some(one * 1000)),
        ("1E", Some(one * 1_000_000_000_000_000_000)),
        ("1Ki", Some(one * 1024)),
        ("0.5Mi", Some(one * 512 * 1024)),
        ("1Ei", Some(one << 60)),
        ("1e99", None),
        ("-1e2147483647", None),
    ] {
        assert_eq!(Quantity::parse(text).unwrap().nanos(), expected, "{text}");
    }
}

/// Huge and tiny amounts are cut, and never panic.
#[test]
fn amounts_saturate() {
    for text in ["1e99", "1e-99", "1e2147483647", "1e-2147483648", "99999999999999999999999999E"] {
        let amount = Quantity::parse(text).unwrap();
        let _ = (amount.to_string(), amount.value(), amount.milli_value(), amount.plus(amount));
    }
    assert_eq!(Quantity::parse("1e-99").unwrap().to_string(), "1e-9");
}

/// As NewMilliQuantity and AsApproximateFloat64.
#[test]
fn amounts_are_made_of_thousandths_and_become_floats() {
    assert_eq!(Quantity::of_milli(1500).to_string(), "1500m");
    assert_eq!(Quantity::of_milli(i64::MAX).milli_value(), i64::MAX);
    assert_eq!(Quantity::of_milli(2_048_000).in_binary().to_string(), "2Ki");
    assert_eq!(Quantity::of_milli(2_048_001).in_binary().to_string(), "2048001m");
    for (text, expected) in
        [("0", 0.0), ("100m", 0.1), ("0.05", 0.05), ("2", 2.0), ("3k", 3000.0), ("7u", 7.0 * 1e-6)]
    {
        let found = Quantity::parse(text).unwrap().approximate();
        assert!((found - expected).abs() < f64::EPSILON, "{text}: {found}");
    }
}
