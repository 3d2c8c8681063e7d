//! Names of time zones. Upstream: validateTimeZone, and Go's time.LoadLocation with the zones of
//! the database that is built into the API server.

use crate::{Invalid, Path};

/// The zones that Go knows by name.
const ZONES: &str = include_str!("zones.txt");

/// What is wrong with `spec.timeZone`.
pub(super) fn validate(zone: &str, path: &Path) -> Vec<Invalid> {
    if zone.is_empty() {
        return vec![path.invalid(zone, "timeZone must be nil or non-empty string")];
    }
    if !zone.split('/').all(is_part) {
        return vec![path.invalid(zone, &format!("unknown time zone {zone}"))];
    }
    let mut faults = Vec::new();
    if zone.eq_ignore_ascii_case("Local") {
        let detail = "timeZone must be an explicit time zone as defined in \
                      https://www.iana.org/time-zones";
        faults.push(path.invalid(zone, detail));
    }
    if let Err(error) = load(zone) {
        faults.push(path.invalid(zone, &error));
    }
    faults
}

/// Whether there is such a zone, in the words of time.LoadLocation.
pub(super) fn load(zone: &str) -> Result<(), String> {
    if matches!(zone, "" | "UTC" | "Local") {
        return Ok(());
    }
    if zone.contains("..") || zone.starts_with(['/', '\\']) {
        return Err("time: invalid location name".to_owned());
    }
    if ZONES.split_ascii_whitespace().any(|known| known == zone) {
        return Ok(());
    }
    Err(format!("unknown time zone {zone}"))
}

fn is_part(part: &str) -> bool {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
    !matches!(part, "." | "..")
        && !part.starts_with('-')
        && (1..=14).contains(&part.len())
        && part.bytes().all(valid)
}
