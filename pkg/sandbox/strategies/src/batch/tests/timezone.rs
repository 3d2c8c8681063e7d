//! Names of time zones.

use crate::Path;
use crate::batch::timezone;
use crate::fixture::lines;

/// TestValidateCronJob, TestTimeZones.
#[test]
fn time_zones() {
    let local = "timeZone must be an explicit time zone as defined in \
                 https://www.iana.org/time-zones";
    let rows: [(&str, &[&str]); 12] = [
        ("Europe/Rome", &[]),
        ("UTC", &[]),
        ("Etc/GMT+10", &[]),
        ("America/Argentina/Buenos_Aires", &[]),
        ("", &["timeZone must be nil or non-empty string"]),
        ("Local", &[local]),
        ("LOCAL", &[local, "unknown time zone LOCAL"]),
        (" Europe/Rome", &["unknown time zone  Europe/Rome"]),
        ("Europe/InvalidRome", &["unknown time zone Europe/InvalidRome"]),
        ("Europe/-a", &["unknown time zone Europe/-a"]),
        ("../UTC", &["unknown time zone ../UTC"]),
        ("europe/rome", &["unknown time zone europe/rome"]),
    ];
    for (zone, expected) in rows {
        let found = lines(&timezone::validate(zone, &Path::new("timeZone")));
        let expected: Vec<String> =
            expected.iter().map(|detail| format!("timeZone invalid {zone:?}: {detail}")).collect();
        assert_eq!(found, expected);
    }
}
