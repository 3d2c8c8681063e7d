//! Percent-encoding and parameters.

use api::go;

use crate::status::Status;

/// The parameters of a query, decoded. What cannot be decoded is left out, as Go's `url.Query`
/// does.
pub(super) fn parse(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';'));
    let decoded = |text: &str| decode(&text.replace('+', " "));
    let parsed = pairs.filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((decoded(name)?, decoded(value)?))
    });
    parsed.collect()
}

/// Undoes percent-encoding; none: it is broken.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let decoded = match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (bytes.next().and_then(digit)?, bytes.next().and_then(digit)?);
                u8::try_from(high * 16 + low).ok()?
            }
            other => other,
        };
        out.push(decoded);
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

/// The first value of a parameter.
pub(super) fn first<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// As upstream's `Convert_Slice_string_To_bool`.
pub(super) fn switch(parameters: &[(String, String)], name: &str) -> Option<bool> {
    let value = first(parameters, name)?;
    Some(value != "0" && !value.eq_ignore_ascii_case("false"))
}

/// As `strconv.ParseInt` and its errors.
pub(super) fn number(parameters: &[(String, String)], name: &str) -> Result<Option<i64>, Status> {
    let Some(value) = first(parameters, name) else { return Ok(None) };
    match value.parse() {
        Ok(number) => Ok(Some(number)),
        Err(error) => Err(Status::bad_request(number_fault("ParseInt", value, &error))),
    }
}

/// A version as upstream's versioner reads it, empty being 0; or what is wrong with it.
pub(super) fn version(value: &str) -> Result<u64, String> {
    // Rust takes a sign, Go does not.
    match value {
        "" => Ok(0),
        _ if value.starts_with('+') => Err(fault("ParseUint", value, "invalid syntax")),
        _ => value.parse().map_err(|error| number_fault("ParseUint", value, &error)),
    }
}

fn number_fault(function: &str, value: &str, error: &std::num::ParseIntError) -> String {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    let is_overflow = matches!(error.kind(), PosOverflow | NegOverflow);
    fault(function, value, if is_overflow { "value out of range" } else { "invalid syntax" })
}

fn fault(function: &str, value: &str, what: &str) -> String {
    format!("strconv.{function}: parsing {}: {what}", go::quote(value))
}
