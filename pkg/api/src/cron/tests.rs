//! What upstream's parser says of many schedules, and what that table does not have.

mod table;

use super::*;

/// See `tests/cluster/kube/cron/main.go`.
const CASES: &str = include_str!("../../testdata/cron.txt");

/// The zones that Go knows by name.
const ZONES: &str = include_str!("../../testdata/zones.txt");

fn zone(name: &str) -> Zone {
    Zone::load(name, &Zone::UTC).unwrap()
}

/// When a schedule is due after a moment, in the zone.
fn due(schedule: &str, name: &str, after: &str, rounds: usize) -> Vec<String> {
    let parsed = Schedule::parse(schedule, &zone(name)).unwrap();
    let mut at = Time::parse(after).unwrap();
    let mut found = Vec::new();
    for _ in 0..rounds {
        let Some(next) = parsed.next(at) else { break };
        found.push(zone(name).rfc3339(next));
        at = next;
    }
    found
}

#[test]
fn schedules_are_due_when_upstreams_parser_says() {
    let found = table::answered(CASES);
    let mut differing = CASES.lines().zip(found.lines()).filter(|(theirs, ours)| theirs != ours);
    let differing: Vec<_> = differing.by_ref().take(10).collect();
    assert!(differing.is_empty(), "theirs and ours: {differing:#?}");
    let [refused, due] =
        ["[", "\t"].map(|start| CASES.lines().filter(|line| line.starts_with(start)).count());
    assert!(due > 3000 && refused > 300, "{due} and {refused} cases");
}

/// The facts that the table is there for, where people can read them.
#[test]
fn clocks_that_are_set() {
    let rows: [(&str, &str, &str, &[&str]); 9] = [
        // New York has no half past two on 10 March 2024, and two half past ones on 3 November.
        (
            "30 2 * * *",
            "America/New_York",
            "2024-03-09T12:00:00Z",
            &["2024-03-11T02:30:00-04:00", "2024-03-12T02:30:00-04:00"],
        ),
        (
            "30 1 * * *",
            "America/New_York",
            "2024-11-02T12:00:00Z",
            &["2024-11-03T01:30:00-04:00", "2024-11-03T01:30:00-05:00"],
        ),
        // Brazil had no midnight on 4 November 2018: the day begins at one.
        (
            "0 0 * * *",
            "America/Sao_Paulo",
            "2018-11-03T12:00:00Z",
            &["2018-11-05T00:00:00-02:00", "2018-11-06T00:00:00-02:00"],
        ),
        (
            "30 1 4 * *",
            "America/Sao_Paulo",
            "2018-10-31T12:00:00Z",
            &["2018-11-04T01:30:00-02:00", "2018-12-04T01:30:00-02:00"],
        ),
        // On 6 October 2024, Lord Howe's second hour began at half past.
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2024-10-04T12:00:00Z",
            &["2024-10-05T02:15:00+10:30", "2024-10-07T02:15:00+11:00"],
        ),
        // A step makes a restriction of a star, so that either of two is enough.
        (
            "0 0 */2 * 1",
            "UTC",
            "2024-05-01T00:00:00Z",
            &["2024-05-03T00:00:00Z", "2024-05-05T00:00:00Z", "2024-05-06T00:00:00Z"],
        ),
        ("0 0 29 2 *", "UTC", "2024-02-29T00:00:00Z", &["2028-02-29T00:00:00Z"]),
        ("59 23 31 2 *", "UTC", "2024-05-01T00:00:00Z", &[]),
        ("@every 1h", "Asia/Kolkata", "2024-05-01T00:10:07Z", &["2024-05-01T06:40:07+05:30"]),
    ];
    for (schedule, zone, after, expected) in rows {
        assert_eq!(
            due(schedule, zone, after, expected.len().max(1)),
            expected,
            "{schedule} {zone}"
        );
    }
}

/// Samoa had no 30 December 2011. Upstream's parser looks for ever.
#[test]
fn a_day_that_a_zone_left_out_ends_no_search() {
    let found = due("0 0 31 12 *", "Pacific/Apia", "2011-12-28T00:00:00Z", 2);
    assert_eq!(found, ["2011-12-31T00:00:00+14:00", "2012-12-31T00:00:00+14:00"]);
}

#[test]
fn parts_of_seconds_are_cut_off() {
    for (schedule, expected) in [("* * * * *", 60), ("@every 10s", 11), ("@every 1ms", 2)] {
        let parsed = Schedule::parse(schedule, &Zone::UTC).unwrap();
        let next = parsed.next(Time::from_unix(1, 999_999_999));
        assert_eq!(next, Some(Time::from_unix(expected, 0)), "{schedule}");
    }
}

/// After robfig/cron's parser_test.go and TestValidateScheduleFormat.
#[test]
fn schedules_that_are_taken() {
    for schedule in [
        "* * * * ?",
        "*/15 0-6/2,12 1,15 Jan-mar,12 MON-fri",
        "5/15 * * * *",
        "@hourly",
        "@every 1h30m",
        "TZ=UTC  5 5 * * *",
        "CRON_TZ=Asia/Tokyo * * * * *",
        "TZ=Asia/Tokyo @daily",
        "TZ= @daily",
        ", * * * *",
        "* * * * FR\u{130}",
    ] {
        assert_eq!(Schedule::parse(schedule, &Zone::UTC).err(), None, "{schedule}");
    }
}

#[test]
fn schedules_that_are_refused() {
    let atoi = "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax";
    let big = "99999999999999999999";
    let out_of_range = format!(
        "failed to parse int from {big}: strconv.Atoi: parsing \"{big}\": value out of range"
    );
    let panic = "invalid schedule format: runtime error: slice bounds out of range [:-1]";
    for (schedule, expected) in [
        ("", "empty spec string"),
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
        (&format!("{big} * * * *"), &out_of_range),
        ("@unrecognized", "unrecognized descriptor: @unrecognized"),
        ("@every x", "failed to parse duration @every x: time: invalid duration \"x\""),
        ("@every 5", "failed to parse duration @every 5: time: missing unit in duration \"5\""),
        (
            "@every 5y",
            "failed to parse duration @every 5y: time: unknown unit \"y\" in duration \"5y\"",
        ),
        (
            "@every 9999999h",
            "failed to parse duration @every 9999999h: time: invalid duration \"9999999h\"",
        ),
        ("TZ=0", panic),
        ("TZ=", panic),
        ("CRON_TZ=UTC", panic),
        ("TZ=Mars/Base * * * * *", "provided bad location Mars/Base: unknown time zone Mars/Base"),
        ("TZ=../a * * * * *", "provided bad location ../a: time: invalid location name"),
    ] {
        let found = Schedule::parse(schedule, &Zone::UTC).err();
        assert_eq!(found.as_deref(), Some(expected), "{schedule}");
    }
}

#[test]
fn zones_are_loaded_as_go_loads_them() {
    let local = zone("Asia/Tokyo");
    for name in ["Europe/Rome", "UTC", "", "Etc/UTC", "Etc/GMT+10", "GMT", "EST5EDT", "US/Pacific"]
    {
        assert!(Zone::load(name, &local).is_ok(), "{name}");
    }
    assert_eq!(Zone::load("Local", &local), Ok(local.clone()));
    for (name, expected) in [
        ("europe/rome", "unknown time zone europe/rome"),
        ("utc", "unknown time zone utc"),
        ("LOCAL", "unknown time zone LOCAL"),
        ("Europe/InvalidRome", "unknown time zone Europe/InvalidRome"),
        ("../UTC", "time: invalid location name"),
        ("/UTC", "time: invalid location name"),
    ] {
        assert_eq!(Zone::load(name, &local).unwrap_err(), expected);
    }
    let unknown = ZONES.split_ascii_whitespace().filter(|it| Zone::load(it, &local).is_err());
    assert_eq!(unknown.collect::<Vec<_>>(), [""; 0], "of those that Go has");
}
