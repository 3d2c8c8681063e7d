//! Jobs whose pods run, drawn from a seed.

use crate::dice::Dice;
use crate::workload::{CASCADES, NAMESPACES, applied};

/// What a Job is, whatever else is applied to it: most of its spec cannot change. They come to an
/// end within minutes, some of them well.
const JOBS: [(&str, &str, &str); 5] = [
    ("pi", "completions: 3", "0"),
    ("queue", "podReplacementPolicy: Failed", "0"),
    ("wrong", "backoffLimit: 1, completions: 2", "1"),
    (
        "shards",
        "completions: 4, completionMode: Indexed, backoffLimitPerIndex: 1, maxFailedIndexes: 2",
        "0,1,0,0",
    ),
    (
        "leader",
        "completions: 3, completionMode: Indexed, successPolicy: {rules: [{succeededCount: 2}]}, \
         podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [42]}}]}",
        "0",
    ),
];

/// Something about a Job.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let (namespace, of) = (dice.pick(&NAMESPACES[..2]), dice.pick(&JOBS));
    let job = format!("job/{} -n {namespace}", of.0);
    let pods = format!("pods -l job-name={} --first {} -n {namespace}", of.0, 1 + dice.below(2));
    vec![match dice.below(14) {
        0..=5 => apply(dice, namespace, of),
        6..=7 => {
            let suspends = dice.chance(0.5);
            format!("> patch {job} '{{\"spec\":{{\"suspend\":{suspends}}}}}'\n")
        }
        8 => {
            let parallelism = 1 + dice.below(3);
            format!("> patch {job} '{{\"spec\":{{\"parallelism\":{parallelism}}}}}'\n")
        }
        9..=10 => format!("> delete {pods}{}\n", dice.pick(&["", " --grace 0"])),
        11 => format!("> fail {pods}\n"),
        12 => format!("> evict {pods}\n"),
        _ => format!("> delete {job} --cascade {}\n", dice.pick(&CASCADES)),
    }]
}

fn apply(dice: &Dice, namespace: &str, (name, fixed, codes): (&str, &str, &str)) -> String {
    let parallelism = 1 + dice.below(3);
    let more = dice.pick(&["", "", ", suspend: true", ", ttlSecondsAfterFinished: 20"]);
    applied(&format!(
        "apiVersion: batch/v1\nkind: Job\n\
        metadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
        {{parallelism: {parallelism}, {fixed}{more},\n  \
        template: {{metadata: {{annotations: \
        {{sandbox/exit-code: '{codes}', sandbox/run-for: 8s}}}},\n  \
        spec: {{restartPolicy: Never, containers: [{{name: main, image: 'img:0'}}]}}}}}}"
    ))
}
