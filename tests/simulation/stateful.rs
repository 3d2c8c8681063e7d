//! StatefulSets, drawn from a seed.

use crate::dice::Dice;
use crate::workload::{CASCADES, NAMESPACES, applied};

/// How many replicas a set is given, at most: each pod waits for the one before it.
const REPLICAS: u64 = 5;
const STRATEGIES: [&str; 5] = [
    "",
    "",
    ", updateStrategy: {type: OnDelete}",
    ", updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}",
    ", updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 9}}",
];
const MORE: [&str; 5] =
    ["", "", ", minReadySeconds: 5", ", revisionHistoryLimit: 1", ", ordinals: {start: 3}"];
const POLICIES: [&str; 4] = [
    "{whenScaled: Retain, whenDeleted: Retain}",
    "{whenScaled: Retain, whenDeleted: Delete}",
    "{whenScaled: Delete, whenDeleted: Retain}",
    "{whenScaled: Delete, whenDeleted: Delete}",
];

/// Something about a set. What cannot change of a set is always the same, or what is applied later
/// would be refused.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let (namespace, name) = (dice.pick(&NAMESPACES[..2]), dice.pick(&["db", "queue"]));
    let set = format!("statefulset/{name} -n {namespace}");
    let pods = format!("pods -l app={name} --first {} -n {namespace}", 1 + dice.below(2));
    vec![match dice.below(13) {
        0..=3 => apply(dice, namespace, name),
        4..=6 => format!("> scale {set} {}\n", dice.below(REPLICAS)),
        7..=8 => format!("> set image {set} main=img:{}\n", dice.below(4)),
        9..=10 => format!("> delete {pods}\n"),
        11 => format!("> fail {pods}\n"),
        _ => format!("> delete {set} --cascade {}\n", dice.pick(&CASCADES)),
    }]
}

fn apply(dice: &Dice, namespace: &str, name: &str) -> String {
    let (replicas, image) = (dice.below(REPLICAS), dice.below(4));
    let (strategy, more) = (dice.pick(&STRATEGIES), dice.pick(&MORE));
    let fixed = match name {
        "db" => {
            let claim = "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}";
            format!(
                ", persistentVolumeClaimRetentionPolicy: {}, volumeClaimTemplates: \
                [{{metadata: {{name: data}}, spec: {claim}}}]",
                dice.pick(&POLICIES)
            )
        }
        _ => ", podManagementPolicy: Parallel".to_owned(),
    };
    applied(&format!(
        "apiVersion: apps/v1\nkind: StatefulSet\n\
        metadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
        {{replicas: {replicas}, serviceName: {name}, selector: {{matchLabels: {{app: {name}}}}}\
        {strategy}{more}{fixed},\n  \
        template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: \
        [{{name: main, image: 'img:{image}'}}]}}}}}}"
    ))
}
