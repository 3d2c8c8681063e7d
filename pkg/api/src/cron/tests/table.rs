//! What ours says of the cases of a table that `tests/cluster/kube/cron/main.go` has printed, in
//! the same form.

use std::fmt::Write;

use super::{Schedule, Time, Zone};

/// The table, with our answers.
pub(crate) fn answered(table: &str) -> String {
    let mut zone = Zone::UTC;
    let mut answers = String::new();
    for line in table.lines() {
        let answer = if line.starts_with('[') {
            refused(line)
        } else if let Some(case) = line.strip_prefix('\t') {
            due(case, &zone)
        } else {
            zone = Zone::load(line, &Zone::UTC).expect("a zone of the table");
            line.to_owned()
        };
        answers.push_str(&answer);
        answers.push('\n');
    }
    answers
}

fn refused(line: &str) -> String {
    let [schedule, _]: [String; 2] = serde_json::from_str(line).expect("a schedule and its error");
    match Schedule::parse(&schedule, &Zone::UTC) {
        Ok(_) => format!("{schedule:?} is taken"),
        // As Go writes it.
        Err(error) => serde_json::json!([schedule, error]).to_string(),
    }
}

fn due(case: &str, zone: &Zone) -> String {
    let (times, schedule) = case.split_once('\t').expect("times and a schedule");
    let mut times = times.split(' ');
    let start: i64 = times.next().and_then(|it| it.parse().ok()).expect("a second to begin at");
    let parsed = match Schedule::parse(schedule, zone) {
        Ok(parsed) => parsed,
        Err(error) => return format!("\t{schedule:?} is refused: {error}"),
    };
    let mut answer = format!("\t{start}");
    let mut at = Time::from_unix(start, 0);
    for _ in times {
        let Some(next) = parsed.next(at) else {
            answer.push_str(" -");
            break;
        };
        let seconds = (next.unix_nanos() - at.unix_nanos()) / 1_000_000_000;
        write!(answer, " {seconds}").expect("a String takes all text");
        at = next;
    }
    format!("{answer}\t{schedule}")
}
