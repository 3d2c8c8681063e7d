//! Kubelets that fall silent, taints, and pods that tolerate them for a while, drawn from a seed.

use crate::dice::Dice;
use crate::workload::{NAMESPACES, NODES, applied, tick};

/// Kubelets renew their Leases as often as real ones, and the controllers of the life of nodes run,
/// in cases that have this.
pub(crate) const HEARTS: &str = "hearts";

/// What pods may say of taints.
const TOLERATIONS: [&str; 5] = [
    "{operator: Exists}",
    "{operator: Exists, tolerationSeconds: 20}",
    "{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}",
    "{key: a, operator: Equal, value: b}, {operator: Exists, tolerationSeconds: 90}",
    "{key: node.kubernetes.io/unreachable, operator: Exists, tolerationSeconds: 30}",
];

/// Something about kubelets.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let node = format!("node-{}", dice.below(NODES));
    let marked = format!("> label nodes/{node} {HEARTS}=yes\n");
    // About the grace period, which is 50 s, and about what pods tolerate.
    let wait = || tick(dice.pick(&[20_000, 45_000, 55_000, 70_000, 120_000, 400_000]));
    let all = |verb: &str| (0..NODES).map(|node| format!("> {verb} node-{node}\n")).collect();
    let acts: Vec<String> = match dice.below(12) {
        0..=2 => vec![format!("> partition {node}\n"), wait(), format!("> heal {node}\n")],
        3..=4 => vec![format!("> kill {node}\n"), wait(), format!("> revive {node}\n")],
        5 => vec![format!("> partition {node}\n"), wait()],
        6 => {
            let cut: Vec<String> = all("partition");
            [cut, vec![wait()], all("heal")].concat()
        }
        7..=8 => {
            vec![
                tolerant(dice, &node),
                tick(3000),
                format!("> taint {node} a=b:NoExecute\n"),
                wait(),
            ]
        }
        9 => vec![format!("> taint {node} a-\n")],
        _ => vec![tolerant(dice, &node)],
    };
    [vec![marked], acts].concat()
}

/// A pod that nobody makes again.
fn tolerant(dice: &Dice, node: &str) -> String {
    let (namespace, number) = (dice.pick(&NAMESPACES[..2]), dice.below(3));
    let tolerations = dice.pick(&TOLERATIONS);
    let lines = applied(&format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: calm-{number}, namespace: {namespace}}}\n\
        spec: {{nodeName: {node}, containers: [{{name: main, image: 'img:0'}}],\n  \
        tolerations: [{tolerations}]}}"
    ));
    lines.replacen("> apply", "> create", 1)
}
