//! From a case that fails to a short one that fails in the same way.

use crate::case::Case;
use crate::fault::Plan;
use crate::run::run;

/// How many runs it may take.
const RUNS: usize = 100;

/// Leaves out acts and faults as long as the same promise is broken.
pub(crate) fn shrink(case: &Case, rule: &str) -> anyhow::Result<Case> {
    let (mut best, mut left) = (case.clone(), RUNS);
    let mut fails = |case: &Case| -> anyhow::Result<bool> {
        if left == 0 {
            return Ok(false);
        }
        left -= 1;
        Ok(run(case)?.broken.is_some_and(|broken| broken.rule() == rule))
    };
    loop {
        let size = (best.acts.len(), best.plan.len());
        let faults: Vec<_> = best.plan.clone().into_iter().collect();
        let base = best.clone();
        let with = |plan: &[_]| Case { plan: Plan::from_iter(plan.to_vec()), ..base.clone() };
        let faults = fewer(faults, |rest| fails(&with(rest)))?;
        best.plan = Plan::from_iter(faults);
        let base = best.clone();
        let with = |acts: &[String]| Case { acts: acts.to_vec(), ..base.clone() };
        best.acts = fewer(base.acts.clone(), |rest| fails(&with(rest)))?;
        if size == (best.acts.len(), best.plan.len()) {
            return Ok(best);
        }
    }
}

/// Leaves out pieces, large ones first, as long as `fails` says so.
fn fewer<T: Clone>(
    mut items: Vec<T>,
    mut fails: impl FnMut(&[T]) -> anyhow::Result<bool>,
) -> anyhow::Result<Vec<T>> {
    let mut size = items.len();
    while size > 0 {
        let mut start = 0;
        while start < items.len() {
            let end = (start + size).min(items.len());
            let rest = [&items[..start], &items[end..]].concat();
            if fails(&rest)? {
                items = rest;
            } else {
                start = end;
            }
        }
        size /= 2;
    }
    Ok(items)
}
