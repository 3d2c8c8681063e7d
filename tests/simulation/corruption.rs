//! Fields that tie objects together, corrupted by a user; and how many deletions that may cost.

use crate::dice::Dice;
use crate::workload::{WORKLOADS, tick};

/// A corruption of some objects.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// `patch` or `patch json`.
    verb: &'static str,
    patch: &'static str,
    cost: Cost,
}

/// What a manager may delete for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// Nothing: what looks foreign stays, and what is adopted again was never missing.
    Nothing,
    /// Those that it was done to, and what they own: their owner is gone for all that is known.
    Those,
    /// Those, if there is no such other owner; else as many as it was done to: one takes the place
    /// of each, and one of the two is deleted when it is adopted again.
    AsMany,
}

/// How long all must have been well before it, so that nothing of before shows.
const REST_MINUTES: usize = 5;

/// A kind that there is not.
pub(crate) const UNKNOWN: &str = "Riddle";
/// A group and version that there is not.
pub(crate) const UNKNOWN_GROUP: &str = "odd/v7";
const GONE: &str = r#"{"metadata":{"ownerReferences":null}}"#;
const WRONG_UID: &str =
    r#"[{"op":"replace","path":"/metadata/ownerReferences/0/uid","value":"0-0-0"}]"#;
const NO_CONTROLLER: &str =
    r#"[{"op":"replace","path":"/metadata/ownerReferences/0/controller","value":false}]"#;
const UNKNOWN_KIND: &str =
    r#"[{"op":"replace","path":"/metadata/ownerReferences/0/kind","value":"Riddle"}]"#;
const UNKNOWN_VERSION: &str =
    r#"[{"op":"replace","path":"/metadata/ownerReferences/0/apiVersion","value":"odd/v7"}]"#;
const SECOND: &str = concat!(
    r#"[{"op":"add","path":"/metadata/ownerReferences/-","value":{"apiVersion":"v1","#,
    r#""kind":"ConfigMap","name":"kube-root-ca.crt","#,
    r#""uid":"<<configmap/kube-root-ca.crt -n default .metadata.uid or 0-0-0>>"}}]"#
);
const OF_ANOTHER: &str = concat!(
    r#"{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","#,
    r#""name":"plain","uid":"<<replicaset/plain -n default .metadata.uid or 0-0-0>>","#,
    r#""controller":true}]}}"#
);
const OTHER_APP: &str = r#"{"metadata":{"labels":{"app":"nobody"}}}"#;
const MORE: &str = r#"{"metadata":{"labels":{"extra":"yes"}}}"#;
const ODD_HASH: &str = r#"{"metadata":{"labels":{"pod-template-hash":"odd"}}}"#;
const ODD_REVISION: &str = r#"{"metadata":{"labels":{"controller-revision-hash":"odd"}}}"#;
const NO_LABELS: &str = r#"{"metadata":{"labels":null}}"#;

const KINDS: [Kind; 12] = [
    Kind { verb: "patch", patch: GONE, cost: Cost::Nothing },
    Kind { verb: "patch json", patch: WRONG_UID, cost: Cost::Those },
    Kind { verb: "patch json", patch: NO_CONTROLLER, cost: Cost::Nothing },
    Kind { verb: "patch json", patch: UNKNOWN_KIND, cost: Cost::Nothing },
    Kind { verb: "patch json", patch: UNKNOWN_VERSION, cost: Cost::Nothing },
    Kind { verb: "patch json", patch: SECOND, cost: Cost::Nothing },
    Kind { verb: "patch", patch: OF_ANOTHER, cost: Cost::AsMany },
    Kind { verb: "patch", patch: OTHER_APP, cost: Cost::Nothing },
    Kind { verb: "patch", patch: MORE, cost: Cost::Nothing },
    Kind { verb: "patch", patch: ODD_HASH, cost: Cost::Nothing },
    Kind { verb: "patch", patch: ODD_REVISION, cost: Cost::Those },
    Kind { verb: "patch", patch: NO_LABELS, cost: Cost::Nothing },
];

/// Something wrong in some objects, and some time before and after it.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let (of, few) = (dice.pick(&WORKLOADS), 1 + dice.below(3));
    let Kind { verb, patch, .. } = dice.pick(&KINDS);
    let objects = match (of.kind, dice.below(3)) {
        ("Deployment", 0) => of.sets(few),
        ("DaemonSet", 0) => of.revisions(few),
        _ => of.pods(few),
    };
    let mut acts = Vec::new();
    if dice.chance(0.7) {
        acts.extend((0..REST_MINUTES).map(|_| tick(60_000)));
    }
    acts.push(format!("> {verb} {objects} '{patch}'\n"));
    acts.push(tick(dice.pick(&[5000, 60_000])));
    acts
}

/// What an act may cost, if it is one of these.
pub(crate) fn cost(act: &str) -> Option<Cost> {
    let fits = |kind: &&Kind| {
        act.starts_with(kind.verb)
            && act.strip_suffix('\'').is_some_and(|it| it.ends_with(kind.patch))
    };
    KINDS.iter().find(fits).map(|kind| kind.cost)
}
