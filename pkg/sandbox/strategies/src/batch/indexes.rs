//! Indexes of Indexed Jobs as text: `1,3-5,7`. Upstream: validateIndexesFormat,
//! validateFailedIndexesNotOverlapCompleted.

use api::go::quote;

/// From and to, both within.
type Interval = (i64, i64);

/// How many indexes a text names, or what is wrong with it.
pub(super) fn check_intervals(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let mut last = None;
    let mut total = 0;
    for part in text.split(',') {
        let (from, to) = parse(part, completions)?;
        if let Some(last) = last.filter(|last| *last >= from) {
            return Err(out_of_order(last, from));
        }
        total += to - from + 1;
        last = Some(to);
    }
    Ok(total)
}

/// The first index that is both completed and failed, said as upstream says it. What cannot be
/// read is left out here.
pub(super) fn overlap(completed: &str, failed: &str, completions: i64) -> Option<String> {
    if completed.is_empty() || failed.is_empty() {
        return None;
    }
    let read = |text: &str| -> Vec<Interval> {
        text.split(',').filter_map(|part| parse(part, completions).ok()).collect()
    };
    let (completed, failed) = (read(completed), read(failed));
    let (mut at, mut failed_at) = (0, 0);
    while let (Some(done), Some(lost)) = (completed.get(at), failed.get(failed_at)) {
        if done.0 <= lost.1 && lost.0 <= done.1 {
            let index = done.0.max(lost.0);
            return Some(format!("failedIndexes and completedIndexes overlap at index: {index}"));
        }
        if done.0 <= lost.0 {
            at += 1;
        } else {
            failed_at += 1;
        }
    }
    None
}

fn parse(part: &str, completions: i64) -> Result<Interval, String> {
    let index = |text: &str| -> Result<i64, String> {
        let index: i64 = text
            .parse()
            .map_err(|_| format!("cannot convert string to integer for index: {}", quote(text)))?;
        if index >= completions {
            return Err(format!("too large index: {}", quote(text)));
        }
        Ok(index)
    };
    let ends: Vec<&str> = part.split('-').collect();
    match ends.as_slice() {
        [only] => index(only).map(|index| (index, index)),
        [from, to] => match (index(from)?, index(to)?) {
            (from, to) if from >= to => Err(out_of_order(from, to)),
            interval => Ok(interval),
        },
        _ => Err(format!(
            "the fragment {} violates the requirement that an index interval can have at most two \
             parts separated by '-'",
            quote(part)
        )),
    }
}

fn out_of_order(last: i64, next: i64) -> String {
    format!("non-increasing order, previous: {last}, current: {next}")
}
