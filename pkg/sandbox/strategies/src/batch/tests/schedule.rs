//! Schedules and time zones, after robfig/cron's parser_test.go and TestValidateScheduleFormat.

use crate::Path;
use crate::batch::{schedule, timezone};
use crate::fixture::lines;

#[test]
fn schedules() {
    for schedule in [
        "* * * * ?",
        "5 * * * *",
        "*/15 0-6/2,12 1,15 Jan-mar,12 MON-fri",
        "0 0 1 1 0",
        "5/15 * * * *",
        "@hourly",
        "@every 1h30m",
        "@every 1.5s",
        "TZ=UTC  5 5 * * *",
        "CRON_TZ=Asia/Tokyo * * * * *",
        "TZ=Asia/Tokyo @daily",
        ", * * * *",
    ] {
        assert_eq!(schedule::check(schedule), Ok(()), "{schedule}");
    }
}

#[test]
fn wrong_schedules() {
    let atoi = "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax";
    let big = "99999999999999999999";
    let out_of_range = format!(
        "failed to parse int from {big}: strconv.Atoi: parsing \"{big}\": value out of range"
    );
    let panic = "invalid schedule format: runtime error: slice bounds out of range [:-1]";
    for (schedule, expected) in [
        ("error", "expected exactly 5 fields, found 1: [error]"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("0 0 * * * *", "expected exactly 5 fields, found 6: [0 0 * * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("60/5 * * * *", "beginning of range (60) beyond end of range (59): 60/5"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* 5-3 * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("* 1-2-3 * * *", "too many hyphens: 1-2-3"),
        ("* 1/2/3 * * *", "too many slashes: 1/2/3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("* * x * *", atoi),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("*/-5 * * * *", "negative number (-5) not allowed: -5"),
        ("@unrecognized", "unrecognized descriptor: @unrecognized"),
        ("@every x", "failed to parse duration @every x: time: invalid duration \"x\""),
        ("@every 5", "failed to parse duration @every 5: time: missing unit in duration \"5\""),
        (
            "@every 5y",
            "failed to parse duration @every 5y: time: unknown unit \"y\" in duration \"5y\"",
        ),
        ("TZ=0", panic),
        ("TZ=", panic),
        ("CRON_TZ=UTC", panic),
        ("TZ=Mars/Base * * * * *", "provided bad location Mars/Base: unknown time zone Mars/Base"),
        ("TZ=../a * * * * *", "provided bad location ../a: time: invalid location name"),
    ] {
        assert_eq!(schedule::check(schedule), Err(expected.to_owned()), "{schedule}");
    }
    assert_eq!(schedule::check(&format!("{big} * * * *")), Err(out_of_range));
}

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
