//! CronJobs that are due each minute, drawn from a seed.

use crate::dice::Dice;
use crate::workload::{CASCADES, NAMESPACES, applied, tick};

const POLICIES: [&str; 3] = ["Allow", "Forbid", "Replace"];
const MORE: [&str; 5] = [
    "",
    "",
    ", successfulJobsHistoryLimit: 0",
    ", startingDeadlineSeconds: 20",
    ", timeZone: Asia/Kolkata, failedJobsHistoryLimit: 0",
];
/// How long the pod of a Job runs: longer than a minute, too.
const RUNS: [&str; 3] = ["3s", "8s", "80s"];

/// Something about a CronJob. At the end users suspend all: one that runs is never silent.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let (namespace, name) = (dice.pick(&NAMESPACES[..2]), dice.pick(&["tick", "tock"]));
    let cron = format!("cronjob/{name} -n {namespace}");
    let act = match dice.below(9) {
        0..=3 => apply(dice, namespace, name),
        4..=5 => {
            let suspends = dice.chance(0.6);
            format!("> patch {cron} '{{\"spec\":{{\"suspend\":{suspends}}}}}'\n")
        }
        6 => format!("> delete jobs -l of={name} --first 1 -n {namespace}\n"),
        7 => {
            let schedule = dice.pick(&["* * * * *", "*/2 * * * *", "@every 45s", "0 0 1 1 *"]);
            format!("> patch {cron} '{{\"spec\":{{\"schedule\":\"{schedule}\"}}}}'\n")
        }
        _ => format!("> delete {cron} --cascade {}\n", dice.pick(&CASCADES)),
    };
    // A minute begins, now and then.
    let wait = dice.chance(0.5).then(|| tick(dice.pick(&[30_000, 61_000, 130_000])));
    [act].into_iter().chain(wait).collect()
}

fn apply(dice: &Dice, namespace: &str, name: &str) -> String {
    let (policy, more, runs) = (dice.pick(&POLICIES), dice.pick(&MORE), dice.pick(&RUNS));
    applied(&format!(
        "apiVersion: batch/v1\nkind: CronJob\n\
        metadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
        {{schedule: '* * * * *', concurrencyPolicy: {policy}{more},\n  \
        jobTemplate: {{metadata: {{labels: {{of: {name}}}}}, spec: {{template:\n  \
        {{metadata: {{annotations: {{sandbox/run-for: {runs}}}}},\n  \
        spec: {{restartPolicy: Never, containers: [{{name: main, image: 'img:0'}}]}}}}}}}}}}"
    ))
}
