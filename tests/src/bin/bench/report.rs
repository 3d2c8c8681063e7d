//! What comes out: a table in Markdown, and everything in JSON.

use crate::figures::{Figures, Medians};
use crate::samples::Track;
use crate::scenarios::{ALL, Scenario};
use crate::world::Plan;
use cluster_tests::Binary;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What one manager did in one run.
pub(crate) struct Run {
    pub(crate) binary: Binary,
    /// From 1 on.
    pub(crate) number: usize,
    /// By scenario, in their order; an error says why there are no figures.
    pub(crate) results: Vec<(&'static str, Result<Figures, String>)>,
    pub(crate) tracks: Vec<Track>,
}

/// A column of the table: its head, what it shows, and how.
type Column = (&'static str, fn(&Medians) -> Option<f64>, fn(f64) -> String);

const COLUMNS: [Column; 7] = [
    ("time, s", |it| it.took_s, figures),
    ("CPU, s", |it| it.cpu_s, figures),
    ("memory, MiB", |it| it.rss_mib, figures),
    ("peak, MiB", |it| it.peak_mib, figures),
    ("requests", |it| it.requests, whole),
    ("writes", |it| it.writes, whole),
    ("received, MiB", |it| it.received_mib, figures),
];

/// The name that a report has for it.
pub(crate) fn name(binary: Binary) -> &'static str {
    match binary {
        Binary::Ours => "ours",
        Binary::Upstream => "upstream",
    }
}

/// The medians as a table, and below it what failed.
pub(crate) fn markdown(runs: &[Run]) -> String {
    let heads: Vec<_> = COLUMNS.iter().map(|(head, _, _)| *head).collect();
    let mut text = format!("| scenario | {} |\n", heads.join(" | "));
    let _ = writeln!(text, "|---|{}", "---:|".repeat(COLUMNS.len()));
    for scenario in ALL.iter().filter(|scenario| is_there(runs, scenario)) {
        let [ours, theirs] = [Binary::Ours, Binary::Upstream].map(|it| medians(runs, scenario, it));
        let cells = COLUMNS.iter().map(|(_, of, show)| cell(of(&ours), of(&theirs), *show));
        let cells: Vec<_> = cells.collect();
        let _ = writeln!(text, "| `{}` | {} |", scenario.name, cells.join(" | "));
    }
    text.push_str("\nEach cell: ours / upstream's (ratio).\n\n");
    for scenario in ALL.iter().filter(|scenario| is_there(runs, scenario)) {
        let _ = writeln!(text, "- `{}`: {}", scenario.name, scenario.text);
    }
    for (run, scenario, error) in failures(runs) {
        let name = name(run.binary);
        let first = error.lines().next().unwrap_or_default();
        let _ = writeln!(text, "\nFailed: `{scenario}`, {name}, run {}: {first}", run.number);
    }
    text
}

/// Everything, with the plan and the machine.
pub(crate) fn json(plan: &Plan, runs: &[Run]) -> Value {
    let scenarios = ALL.iter().filter(|scenario| is_there(runs, scenario)).map(|scenario| {
        let of = |binary| {
            let figures = runs.iter().filter(|run| run.binary == binary).map(|run| {
                match result(run, scenario.name) {
                    Some(Ok(figures)) => figures.to_json(),
                    Some(Err(error)) => json!({"error": error}),
                    None => Value::Null,
                }
            });
            let figures: Vec<_> = figures.collect();
            json!({"median": medians(runs, scenario, binary).to_json(), "runs": figures})
        };
        json!({"name": scenario.name, "text": scenario.text,
            "ours": of(Binary::Ours), "upstream": of(Binary::Upstream)})
    });
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let flags = plan.flags();
    json!({"nodes": plan.nodes, "scale": plan.scale, "flags": flags, "cores": cores,
        "scenarios": scenarios.collect::<Vec<_>>()})
}

/// Each scenario that failed, in which run, and why.
pub(crate) fn failures(runs: &[Run]) -> impl Iterator<Item = (&Run, &'static str, &str)> {
    runs.iter().flat_map(|run| {
        let failed =
            run.results.iter().filter_map(|(name, result)| Some((*name, result.as_ref().err()?)));
        failed.map(move |(name, error)| (run, name, error.as_str()))
    })
}

fn is_there(runs: &[Run], scenario: &Scenario) -> bool {
    runs.iter().any(|run| result(run, scenario.name).is_some())
}

fn result<'a>(run: &'a Run, scenario: &str) -> Option<&'a Result<Figures, String>> {
    run.results.iter().find(|(name, _)| *name == scenario).map(|(_, result)| result)
}

fn medians(runs: &[Run], scenario: &Scenario, binary: Binary) -> Medians {
    let runs = runs.iter().filter(|run| run.binary == binary);
    let figures = runs.filter_map(|run| result(run, scenario.name)?.as_ref().ok());
    Medians::of(&figures.collect::<Vec<_>>())
}

/// `12.3 / 45.6 (0.27)`; a dash for what there is not.
fn cell(ours: Option<f64>, theirs: Option<f64>, show: fn(f64) -> String) -> String {
    let text = |value: Option<f64>| value.map_or("–".to_owned(), show);
    let values = format!("{} / {}", text(ours), text(theirs));
    match ours.zip(theirs) {
        Some((ours, theirs)) if theirs > 0.0 => format!("{values} ({:.2})", ours / theirs),
        Some(_) | None => values,
    }
}

/// Three figures, or all of a large number.
fn figures(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        9.995..99.95 => format!("{value:.1}"),
        _ => whole(value),
    }
}

/// Thousands apart.
fn whole(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(binary: Binary, number: usize, result: Result<f64, &str>) -> Run {
        let of = |took_s| Figures { took_s, rss_kib: 1024, ..Figures::default() };
        let result = result.map(of).map_err(str::to_owned);
        Run { binary, number, results: vec![("idle", result)], tracks: Vec::new() }
    }

    #[test]
    fn the_table_has_medians_and_ratios_and_names_what_failed() {
        let runs = [
            run(Binary::Ours, 1, Ok(1.0)),
            run(Binary::Upstream, 1, Ok(4.0)),
            run(Binary::Ours, 2, Ok(3.0)),
            run(Binary::Upstream, 2, Err("waited 1s\nfor it")),
        ];
        let text = markdown(&runs);
        assert!(text.starts_with("| scenario | time, s |"), "{text}");
        assert!(text.contains("| `idle` | 2.00 / 4.00 (0.50) | 0.00 / 0.00 | 1.00"), "{text}");
        assert!(text.contains("\nFailed: `idle`, upstream, run 2: waited 1s\n"), "{text}");
        assert!(!text.contains("`jobs`"), "{text}");
        let json = json(&plan(), &runs);
        let idle = &json["scenarios"][0];
        assert_eq!(idle["ours"]["median"]["tookSeconds"], 2.0);
        assert_eq!(idle["upstream"]["runs"][1]["error"], "waited 1s\nfor it");
    }

    fn plan() -> Plan {
        let limit = std::time::Duration::from_secs(1);
        Plan { nodes: 1, scale: 1.0, default_rates: false, limit }
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0.00"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (99.96, "100"),
            (1_234.4, "1,234"),
            (12_345_678.0, "12,345,678"),
        ];
        for (value, expected) in cases {
            assert_eq!(figures(value), expected);
        }
        assert_eq!(whole(5.0), "5");
    }

    #[test]
    fn what_is_not_there_is_a_dash() {
        assert_eq!(cell(Some(1.0), None, figures), "1.00 / –");
        assert_eq!(cell(None, None, whole), "– / –");
    }
}
