//! Narrow cases: a few objects, what people do to them, and one thing that goes wrong, over and
//! over. What takes several unlikely things at once in a case with many families is likely here.

use crate::case::Case;
use crate::dice::Dice;
use crate::fault::{self, Fault, OF_WRITES, Plan, Point};
use crate::owners;
use crate::workload::{
    NODES, REPLICAS, WORKLOADS, Workload, accounts, apply_one, ended, make, namespaces, nodes,
    roles, roll_one, tick,
};

/// How many of all cases are narrow.
const SHARE: f64 = 0.25;
/// How many writes of an account, and watches of a resource, may go wrong.
const WRITES: u64 = 200;
const WATCHES: u64 = 60;
/// How many events a watch brings before it ends, at most.
const EVENTS: u64 = 4;
const CASCADES: [&str; 3] = ["background", "foreground", "orphan"];

/// What a case is about.
struct Theme {
    /// What there is at first.
    begin: fn(&Dice) -> Vec<String>,
    /// What people do then.
    act: fn(&Dice) -> Vec<String>,
    /// Who writes because of that.
    accounts: &'static [&'static str],
    /// What is read for it.
    resources: &'static [&'static str],
}

const THEMES: [Theme; 10] = [
    Theme {
        begin: |dice| apply_one(dice, &ROLLING),
        act: rolling,
        accounts: &["deployment-controller", "replicaset-controller"],
        resources: &["deployments", "replicasets", "pods"],
    },
    Theme {
        begin: |dice| apply_one(dice, &RECREATED),
        act: |dice| roll_one(dice, &RECREATED),
        accounts: &["deployment-controller", "replicaset-controller"],
        resources: &["deployments", "replicasets", "pods"],
    },
    Theme {
        begin: |dice| apply_one(dice, &DAEMON),
        act: |dice| roll_one(dice, &DAEMON),
        accounts: &["daemon-set-controller"],
        resources: &["daemonsets", "pods", "nodes"],
    },
    Theme {
        begin: |dice| apply_one(dice, &SET),
        act: scaling,
        accounts: &["replicaset-controller"],
        resources: &["replicasets", "pods"],
    },
    Theme {
        begin: |dice| apply_one(dice, &dice.pick(&ALL)),
        act: leaving,
        accounts: &["generic-garbage-collector", "replicaset-controller", "deployment-controller"],
        resources: &["deployments", "daemonsets", "replicasets", "pods"],
    },
    Theme {
        begin: owners::acts,
        act: owned,
        accounts: &["generic-garbage-collector"],
        resources: &["configmaps", "widgets"],
    },
    Theme {
        begin: roles,
        act: roles,
        accounts: &["clusterrole-aggregation-controller"],
        resources: &["clusterroles"],
    },
    Theme {
        begin: accounts,
        act: accounts,
        accounts: &[
            "tokens-controller",
            "service-account-controller",
            "root-ca-cert-publisher",
        ],
        resources: &["serviceaccounts", "secrets", "configmaps", "namespaces"],
    },
    Theme {
        begin: owners::acts,
        act: namespaces,
        accounts: &["namespace-controller", "service-account-controller"],
        resources: &["namespaces", "serviceaccounts", "configmaps"],
    },
    Theme {
        begin: |dice| apply_one(dice, &DAEMON),
        act: machines,
        accounts: &["pod-garbage-collector", "ttl-controller", "daemon-set-controller"],
        resources: &["nodes", "pods"],
    },
];

const ROLLING: Workload = WORKLOADS[0];
const RECREATED: Workload = WORKLOADS[1];
const SET: Workload = WORKLOADS[3];
const DAEMON: Workload = WORKLOADS[5];
const ALL: [Workload; 4] = [ROLLING, RECREATED, SET, DAEMON];

/// The case of a seed; none: it is a wide one.
pub(crate) fn draw(seed: u64) -> Option<Case> {
    // The choices of wide cases are others.
    let dice = Dice::new(!seed);
    if !dice.chance(SHARE) {
        return None;
    }
    let at = usize::try_from(dice.below(u64::try_from(THEMES.len()).ok()?)).ok()?;
    let theme = THEMES.get(at)?;
    let mut acts = vec![make("other")];
    acts.extend((theme.begin)(&dice));
    // As long as others may be excused for what they do at the beginning.
    let rest = dice.pick(&[0, 0, 4]);
    acts.extend((0..rest).map(|_| tick(60_000)));
    for _ in 0..2 + dice.below(8) {
        acts.extend((theme.act)(&dice));
        acts.push(tick(dice.pick(&[1, 20, 300, 1000, 2000, 5000, 20_000, 90_000])));
    }
    let nodes = usize::try_from(NODES).unwrap_or(0);
    Some(Case { seed, nodes, managers: 1, plan: plan(&dice, theme), acts })
}

/// One thing that goes wrong, or nothing at all.
fn plan(dice: &Dice, theme: &Theme) -> Plan {
    let mut plan = Plan::new();
    let kind = dice.below(6);
    if (1..=3).contains(&kind) {
        let (account, often) = (dice.pick(theme.accounts), dice.pick(&[0.1, 0.3, 0.6]));
        let fault = match dice.pick(&OF_WRITES[..10]) {
            Fault::Delay(_) => Fault::Delay(dice.pick(&[5, 100, 1500, 20_000])),
            other => other,
        };
        let writes = (0..WRITES).filter(|_| dice.chance(often));
        plan.extend(writes.map(|number| (Point::Write(account.to_owned(), number), fault)));
    }
    if (3..=5).contains(&kind) {
        let (resource, fault) = (dice.pick(theme.resources), fault::watch(dice, EVENTS));
        let of = |number| (Point::WatchOf(resource.to_owned(), number), fault);
        plan.extend((0..WATCHES).map(of));
    }
    plan
}

/// Rollouts that somebody stops half-way.
fn rolling(dice: &Dice) -> Vec<String> {
    let of = ROLLING;
    if dice.chance(0.7) {
        return roll_one(dice, &of);
    }
    let image = dice.below(5);
    let limit = r#"{"spec":{"revisionHistoryLimit":0}}"#;
    vec![
        format!("> set image {of} main=img:{image}\n"),
        tick(dice.pick(&[1, 500, 1500, 3000])),
        format!("> rollout pause {of}\n"),
        tick(dice.pick(&[1, 2000])),
        format!("> patch {of} '{limit}'\n"),
        tick(2000),
        format!("> set image {of} main=img:{}\n", image + 1),
        tick(dice.pick(&[2000, 5000])),
        format!("> rollout resume {of}\n"),
    ]
}

/// Up and down again, while pods are about to be ready.
fn scaling(dice: &Dice) -> Vec<String> {
    let scale = |replicas: u64| format!("> scale {SET} {replicas}\n");
    let less = dice.below(REPLICAS);
    vec![
        scale(REPLICAS),
        tick(dice.pick(&[1, 500, 1000, 1500, 2000, 3000])),
        scale(less),
        tick(dice.pick(&[300, 2000, 30_000])),
        format!("> delete {} --grace 0\n", SET.pods(1 + dice.below(2))),
    ]
}

/// Owners that are deleted, and made again at once.
fn leaving(dice: &Dice) -> Vec<String> {
    let of = dice.pick(&ALL);
    let mut acts = vec![format!("> delete {of} --cascade {}\n", dice.pick(&CASCADES))];
    acts.push(tick(dice.pick(&[1, 20, 300, 2000])));
    acts.extend(apply_one(dice, &of));
    acts.push(tick(dice.pick(&[300, 5000, 20_000])));
    acts
}

fn owned(dice: &Dice) -> Vec<String> {
    match dice.below(6) {
        0 => owners::afar(dice),
        1..=2 => owners::replaced(dice),
        _ => owners::acts(dice),
    }
}

/// Nodes that come, go and are not ready.
fn machines(dice: &Dice) -> Vec<String> {
    if dice.chance(0.4) {
        let not_ready = r#"{"status":{"conditions":[{"type":"Ready","status":"False"}]}}"#;
        let node = dice.below(NODES);
        return vec![format!("> patch status nodes/node-{node} '{not_ready}'\n"), tick(30_000)];
    }
    if dice.chance(0.3) { ended(dice) } else { nodes(dice) }
}
