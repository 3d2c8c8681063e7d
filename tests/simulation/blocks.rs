//! Nodes that want ranges of addresses for their pods, drawn from a seed.

use crate::dice::Dice;
use crate::workload::{NODES, applied, tick};

/// Nodes have no ranges of their own, and the controller of these runs, in cases that have this.
pub(crate) const WANTS: &str = "wants-range";
/// How many nodes without a kubelet there are, at most.
const SPARE: u64 = 4;
/// Eight blocks: one more than there can be nodes.
pub(crate) const RANGE: &str = "--cluster-cidr=10.244.0.0/21";

/// Something about such nodes.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let name = || format!("spare-{}", dice.below(SPARE));
    let wait = || tick(dice.pick(&[1, 1, 100, 2000, 20_000]));
    match dice.below(8) {
        0..=1 => vec![spare(&name())],
        2..=3 => (0..SPARE).map(|number| spare(&format!("spare-{number}"))).collect(),
        4 => vec![format!("> delete nodes/{}\n", name())],
        5..=6 => {
            let (gone, other) = (name(), name());
            vec![format!("> delete nodes/{gone}\n"), wait(), spare(&other), wait(), spare(&gone)]
        }
        // Its kubelet makes it anew.
        _ => vec![spare(&name()), format!("> delete nodes/node-{}\n", dice.below(NODES)), wait()],
    }
}

/// A node without a kubelet, which gets no pods but those of daemons that bear all taints.
fn spare(name: &str) -> String {
    applied(&format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n\
        spec: {{unschedulable: true, taints: [{{key: {WANTS}, effect: NoSchedule}}]}}"
    ))
}
