//! Names of time zones. Upstream: validateTimeZone.

use api::cron::Zone;

use crate::{Invalid, Path};

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
    if let Err(error) = Zone::load(zone, &Zone::UTC) {
        faults.push(path.invalid(zone, &error));
    }
    faults
}

fn is_part(part: &str) -> bool {
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
    !matches!(part, "." | "..")
        && !part.starts_with('-')
        && (1..=14).contains(&part.len())
        && part.bytes().all(valid)
}
