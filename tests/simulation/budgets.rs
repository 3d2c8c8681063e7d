//! Budgets for disruptions, and evictions of pods, drawn from a seed.

use crate::dice::Dice;
use crate::workload::{WORKLOADS, Workload, applied, apply_one, tick};

const AMOUNTS: [&str; 8] = [
    "maxUnavailable: 0",
    "maxUnavailable: 1",
    "maxUnavailable: 34%",
    "minAvailable: 2",
    "minAvailable: 33%",
    "minAvailable: 50%",
    "minAvailable: 75%",
    "minAvailable: 100%",
];
const POLICIES: [&str; 3] = ["", "", ", unhealthyPodEvictionPolicy: AlwaysAllow"];
/// When a pod was marked to be disrupted: long ago, or not yet.
const MARKED: [&str; 3] = ["2025-01-01T00:00:00Z", "2026-01-01T00:04:00Z", "2026-01-01T00:15:00Z"];
/// What a user writes over.
const STATUSES: [&str; 3] = [
    r#"{"status":{"disruptionsAllowed":9,"currentHealthy":9}}"#,
    r#"{"status":{"observedGeneration":0}}"#,
    r#"{"status":{"conditions":null}}"#,
];

/// Something about a budget, or about pods that one may be for.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    acts_on(dice, &dice.pick(&WORKLOADS))
}

/// A workload with a budget.
pub(crate) fn guarded(dice: &Dice, of: &Workload) -> Vec<String> {
    let mut acts = apply_one(dice, of);
    acts.push(budget(dice, of, "guard"));
    acts
}

pub(crate) fn acts_on(dice: &Dice, of: &Workload) -> Vec<String> {
    let Workload { namespace, name, .. } = of;
    let guard = format!("pdb/guard-{name} -n {namespace}");
    let evict = |few| format!("> evict {}\n", of.pods(few));
    let few = 1 + dice.below(3);
    match dice.below(14) {
        0..=2 => vec![budget(dice, of, "guard")],
        3..=6 => vec![evict(few)],
        7..=8 => {
            let wait = tick(dice.pick(&[1, 500, 2000, 5000]));
            vec![budget(dice, of, "guard"), wait.clone(), evict(1), wait, evict(few)]
        }
        9..=10 => vec![marked(dice, of)],
        11 => vec![format!("> patch status {guard} '{}'\n", dice.pick(&STATUSES))],
        // Of pods that two budgets are for none can be evicted.
        12 => vec![budget(dice, of, "second")],
        _ => vec![format!(
            "> delete pdb/{}-{name} -n {namespace}\n",
            dice.pick(&["guard", "second"])
        )],
    }
}

fn budget(dice: &Dice, of: &Workload, role: &str) -> String {
    let Workload { namespace, name, .. } = of;
    let (amount, policy) = (dice.pick(&AMOUNTS), dice.pick(&POLICIES));
    // One that has the other amount, too, is refused.
    let delete = format!("> delete pdb/{role}-{name} -n {namespace}\n");
    let apply = applied(&format!(
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\n\
        metadata: {{name: {role}-{name}, namespace: {namespace}}}\n\
        spec: {{{amount}{policy}, selector: {{matchLabels: {{app: {name}}}}}}}"
    ));
    if dice.chance(0.2) { format!("{delete}{apply}") } else { apply }
}

/// A pod that somebody marks as disrupted, and does not delete.
fn marked(dice: &Dice, of: &Workload) -> String {
    let at = dice.pick(&MARKED);
    let condition =
        |word: &str| format!(r#"{{"type":"{word}","status":"True","lastTransitionTime":"{at}"}}"#);
    let all = ["PodScheduled", "Initialized", "ContainersReady", "Ready", "DisruptionTarget"];
    let conditions = all.map(condition).join(",");
    format!("> patch status {} '{{\"status\":{{\"conditions\":[{conditions}]}}}}'\n", of.pods(1))
}
