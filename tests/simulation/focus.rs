//! Narrow cases: a few objects, acts of users on them, and one fault that repeats, over and over.
//! What takes several unlikely things at once in a case with many families is likely here.

use crate::case::Case;
use crate::dice::Dice;
use crate::fault::{self, Fault, OF_WRITES, Plan, Point};
use crate::workload::{
    NODES, REPLICAS, WORKLOADS, Workload, accounts, apply_one, ended, jobs, make, namespaces,
    nodes, roles, roll_one, status_one, tick,
};
use crate::{
    batch, bootstrap, budgets, certificates, devices, groups, owners, pools, selinux, services,
    storage, volumes,
};

/// How many of all cases are narrow.
const SHARE: f64 = 0.4;
/// How many writes of an account, and watches of a resource, may go wrong.
const WRITES: u64 = 200;
const WATCHES: u64 = 60;
/// Before which question about groups discovery begins to be wrong.
const DISCOVERIES: u64 = 15;
/// How many events a watch brings before it ends, at most.
const EVENTS: u64 = 4;
const CASCADES: [&str; 4] = ["background", "foreground", "orphan", "orphan"];

const ROLLING: Workload = WORKLOADS[0];
const RECREATED: Workload = WORKLOADS[1];
const SET: Workload = WORKLOADS[3];
const DAEMON: Workload = WORKLOADS[5];
const OLD_SET: Workload = WORKLOADS[7];

/// What a case is about.
struct Theme {
    /// What there is at first.
    begin: fn(&Dice) -> Vec<String>,
    /// What people do then.
    act: fn(&Dice) -> Vec<String>,
    /// What may go wrong. There may be nothing, too.
    wrong: &'static [Wrong],
}

/// The fault that repeats.
#[derive(Clone, Copy)]
enum Wrong {
    /// Writes of an account.
    Writes(&'static str, fn(&Dice) -> Fault),
    /// Watches of a resource.
    Watches(&'static str, fn(&Dice) -> Fault),
    /// Discovery.
    Discovery,
}

use Wrong::{Discovery, Watches, Writes};

const THEMES: [Theme; 33] = [
    Theme {
        begin: |dice| apply_one(dice, &ROLLING),
        act: rolling,
        wrong: &[
            Writes("deployment-controller", any),
            Writes("replicaset-controller", any),
            Watches("deployments", unwatched),
            Watches("replicasets", unwatched),
            Watches("pods", unwatched),
        ],
    },
    Theme {
        begin: |dice| apply_one(dice, &RECREATED),
        act: |dice| roll_one(dice, &RECREATED),
        wrong: &[Writes("deployment-controller", any), Watches("pods", late)],
    },
    Theme {
        begin: |dice| apply_one(dice, &DAEMON),
        act: daemons,
        wrong: &[
            Writes("daemon-set-controller", any),
            Watches("daemonsets", unwatched),
            Watches("pods", unwatched),
        ],
    },
    Theme {
        begin: |dice| apply_one(dice, &SET),
        act: |dice| scaling(dice, &SET),
        wrong: &[
            Writes("replicaset-controller", any),
            Watches("pods", lagging),
            Watches("pods", lagging),
            Watches("pods", unwatched),
        ],
    },
    Theme {
        begin: |dice| apply_one(dice, &OLD_SET),
        act: |dice| {
            if dice.chance(0.5) { scaling(dice, &OLD_SET) } else { leaving(dice, &OLD_SET) }
        },
        wrong: &[
            Writes("replication-controller", any),
            Watches("pods", lagging),
            Watches("replicationcontrollers", late),
            Watches("replicationcontrollers", unwatched),
        ],
    },
    Theme {
        begin: |dice| (0..3).flat_map(|_| jobs(dice)).collect(),
        act: jobs,
        wrong: &[
            Writes("ttl-after-finished-controller", any),
            Watches("jobs", late),
            Watches("jobs", merged),
            Watches("jobs", unwatched),
        ],
    },
    Theme {
        begin: |dice| (0..3).flat_map(|_| batch::acts(dice)).collect(),
        act: batch::acts,
        wrong: &[
            Writes("job-controller", any),
            Writes("job-controller", any),
            Watches("pods", lagging),
            Watches("jobs", late),
            Watches("jobs", unwatched),
        ],
    },
    Theme {
        begin: old,
        act: |dice| status_one(dice, &ROLLING),
        wrong: &[
            Writes("replicaset-controller", conflict),
            Writes("deployment-controller", conflict),
        ],
    },
    Theme {
        begin: |dice| apply_one(dice, &SET),
        act: |dice| leaving(dice, &SET),
        wrong: &[Watches("replicasets", late), Watches("replicasets", late), Watches("pods", late)],
    },
    Theme {
        begin: |dice| apply_one(dice, &ROLLING),
        act: |dice| leaving(dice, &ROLLING),
        wrong: &[
            Writes("generic-garbage-collector", any),
            Watches("deployments", late),
            Watches("replicasets", late),
        ],
    },
    Theme {
        begin: |dice| apply_one(dice, &DAEMON),
        act: |dice| leaving(dice, &DAEMON),
        wrong: &[Writes("generic-garbage-collector", any), Watches("daemonsets", late)],
    },
    Theme {
        begin: |_| Vec::new(),
        act: owners::family,
        wrong: &[
            Writes("generic-garbage-collector", any),
            Writes("generic-garbage-collector", any),
            Watches("configmaps", unwatched),
        ],
    },
    Theme {
        begin: |_| Vec::new(),
        act: owners::replaced,
        wrong: &[
            Watches("configmaps", merged),
            Watches("configmaps", merged),
            Watches("widgets", merged),
            Watches("configmaps", unwatched),
        ],
    },
    Theme {
        begin: owners::acts,
        act: |dice| if dice.chance(0.3) { owners::afar(dice) } else { owners::acts(dice) },
        wrong: &[Watches("configmaps", late), Watches("widgets", late), Discovery],
    },
    Theme {
        begin: roles,
        act: roles,
        wrong: &[
            Writes("clusterrole-aggregation-controller", any),
            Watches("clusterroles", unwatched),
        ],
    },
    Theme {
        begin: accounts,
        act: accounts,
        wrong: &[
            Writes("tokens-controller", any),
            Writes("service-account-controller", any),
            Writes("root-ca-cert-publisher", any),
            Watches("serviceaccounts", merged),
            Watches("serviceaccounts", unwatched),
            Watches("secrets", unwatched),
            Watches("configmaps", unwatched),
        ],
    },
    Theme {
        begin: owners::acts,
        act: namespaces,
        wrong: &[
            Writes("namespace-controller", any),
            Writes("service-account-controller", any),
            Watches("namespaces", unwatched),
            Discovery,
        ],
    },
    Theme {
        begin: |dice| apply_one(dice, &DAEMON),
        act: machines,
        wrong: &[Writes("pod-garbage-collector", any), Watches("nodes", unwatched)],
    },
    Theme {
        begin: certificates::acts,
        act: certificates::acts,
        wrong: &[
            Writes("certificate-controller", any),
            Watches("certificatesigningrequests", unwatched),
        ],
    },
    Theme {
        begin: volumes::acts,
        act: volumes::acts,
        wrong: &[
            Writes("pvc-protection-controller", any),
            Watches("persistentvolumeclaims", unwatched),
            Watches("pods", late),
            Watches("pods", unwatched),
        ],
    },
    Theme {
        begin: |_| certificates::defined(),
        act: certificates::of_pods,
        wrong: &[
            Writes("podcertificaterequestcleaner", any),
            Watches("podcertificaterequests", unwatched),
        ],
    },
    Theme {
        begin: |dice| (0..4).flat_map(|_| bootstrap::acts(dice)).collect(),
        act: bootstrap::acts,
        wrong: &[
            Writes("token-cleaner", any),
            Writes("bootstrap-signer", any),
            Watches("secrets", unwatched),
            Watches("secrets", late),
            Watches("configmaps", unwatched),
        ],
    },
    Theme {
        begin: |dice| (0..3).flat_map(|_| storage::acts(dice)).collect(),
        act: storage::acts,
        wrong: &[
            Writes("pv-protection-controller", any),
            Writes("volumeattributesclass-protection-controller", any),
            Writes("ephemeral-volume-controller", any),
            Watches("persistentvolumes", unwatched),
            Watches("persistentvolumeclaims", late),
            Watches("persistentvolumeclaims", unwatched),
            Watches("pods", unwatched),
        ],
    },
    Theme {
        begin: |dice| [apply_one(dice, &ROLLING), services::acts(dice)].concat(),
        act: |dice| if dice.chance(0.6) { services::acts(dice) } else { roll_one(dice, &ROLLING) },
        wrong: &[
            Writes("endpoint-controller", any),
            Writes("endpointslice-controller", any),
            Writes("endpointslicemirroring-controller", any),
            Watches("services", unwatched),
            Watches("endpoints", unwatched),
            Watches("endpointslices", unwatched),
            Watches("pods", unwatched),
        ],
    },
    Theme {
        begin: |dice| budgets::guarded(dice, &ROLLING),
        act: |dice| {
            if dice.chance(0.8) { budgets::acts_on(dice, &ROLLING) } else { rolling(dice) }
        },
        wrong: &[
            Writes("disruption-controller", any),
            Watches("poddisruptionbudgets", unwatched),
            Watches("replicasets", late),
            Watches("pods", late),
            Watches("pods", lagging),
            Watches("pods", unwatched),
        ],
    },
    Theme {
        begin: |dice| services::again(dice, "default", services::CUSTOM),
        act: |dice| services::again(dice, "default", services::CUSTOM),
        wrong: &[Watches("services", late), Watches("endpoints", late)],
    },
    Theme {
        begin: |_| vec![owners::defined()],
        act: |dice| if dice.chance(0.7) { owners::customs(dice) } else { namespaces(dice) },
        wrong: &[Discovery, Discovery, Discovery, Watches("widgets", unwatched)],
    },
    Theme { begin: |_| vec![owners::defined()], act: owners::customs, wrong: &[Discovery] },
    Theme {
        begin: devices::acts,
        act: devices::acts,
        wrong: &[
            Writes("resource-claim-controller", any),
            Watches("resourceclaims", late),
            Watches("resourceclaims", unwatched),
            Watches("resourceclaimtemplates", unwatched),
            Watches("pods", late),
            Watches("pods", unwatched),
        ],
    },
    Theme {
        begin: devices::taints,
        act: devices::taints,
        wrong: &[
            Writes("device-taint-eviction-controller", any),
            Watches("resourceslices", late),
            Watches("resourceslices", unwatched),
            Watches("resourceclaims", unwatched),
            Watches("pods", unwatched),
        ],
    },
    Theme {
        begin: |_| groups::defined(),
        act: groups::acts,
        wrong: &[
            Writes("podgroup-protection-controller", any),
            Watches("podgroups", unwatched),
            Watches("pods", late),
            Watches("pods", unwatched),
        ],
    },
    Theme {
        begin: |_| pools::defined(),
        act: pools::acts,
        wrong: &[
            Writes("resourcepoolstatusrequest-controller", any),
            Watches("resourcepoolstatusrequests", unwatched),
            Watches("resourceslices", unwatched),
        ],
    },
    Theme {
        begin: |dice| vec![selinux::driver(dice)],
        act: selinux::acts,
        wrong: &[
            Watches("csidrivers", unwatched),
            Watches("persistentvolumes", unwatched),
            Watches("persistentvolumeclaims", late),
            Watches("pods", late),
            Watches("pods", lagging),
            Watches("pods", unwatched),
        ],
    },
];

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
    for _ in 0..3 + dice.below(7) {
        acts.extend((theme.act)(&dice));
        acts.push(tick(dice.pick(&[1, 20, 300, 1000, 2000, 5000, 20_000, 90_000])));
    }
    let nodes = usize::try_from(NODES).unwrap_or(0);
    Some(Case { seed, nodes, managers: 1, plan: plan(&dice, theme), acts })
}

/// One fault, or none at all.
fn plan(dice: &Dice, theme: &Theme) -> Plan {
    let mut plan = Plan::new();
    if dice.chance(0.2) {
        return plan;
    }
    match dice.pick(theme.wrong) {
        Writes(account, fault) => {
            let (fault, often) = (fault(dice), dice.pick(&[0.1, 0.3, 0.6, 0.9]));
            let writes = (0..WRITES).filter(|_| dice.chance(often));
            plan.extend(writes.map(|number| (Point::Write(account.to_owned(), number), fault)));
        }
        Watches(resource, fault) => {
            let fault = fault(dice);
            let of = |number| (Point::WatchOf(resource.to_owned(), number), fault);
            // A manager without events for longer than it awaits writes cannot be blamed.
            let step = if matches!(fault, Fault::Mute(_)) { 3 } else { 1 };
            plan.extend((0..WATCHES).step_by(step).map(of));
        }
        Discovery => {
            for _ in 0..2 + dice.below(4) {
                plan.extend(fault::wrong_discovery(dice, DISCOVERIES));
            }
        }
    }
    plan
}

// === Faults ===

fn conflict(_: &Dice) -> Fault {
    Fault::Conflict
}

/// Anything that becomes of a write, but for a crash.
fn any(dice: &Dice) -> Fault {
    match dice.pick(&OF_WRITES[..10]) {
        Fault::Delay(_) => Fault::Delay(dice.pick(&[5, 100, 1500, 20_000])),
        other => other,
    }
}

fn unwatched(dice: &Dice) -> Fault {
    fault::watch(dice, EVENTS)
}

fn lagging(dice: &Dice) -> Fault {
    Fault::Lag(dice.pick(&[100, 300, 2000]))
}

/// All events come, with a delay.
fn late(dice: &Dice) -> Fault {
    let long = dice.pick(&[300, 2000, 2000, 20_000]);
    dice.pick(&[Fault::Lag(long), Fault::Lag(long), Fault::Quiet(long), Fault::Hold(2)])
}

fn merged(dice: &Dice) -> Fault {
    Fault::Merge(dice.pick(&[300, 2000, 20_000]))
}

// === What people do ===

/// No controller awaits anything there any more, nor syncs again.
fn old(dice: &Dice) -> Vec<String> {
    let mut acts = apply_one(dice, &ROLLING);
    acts.extend((0..6).map(|_| tick(60_000)));
    acts
}

/// Rollouts that a user stops half-way.
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

/// Pods that go, and rollouts, some of them after all is forgotten that could be an excuse.
fn daemons(dice: &Dice) -> Vec<String> {
    match dice.below(10) {
        0..=1 => vec![format!("> delete {}\n", DAEMON.pods(1 + dice.below(2)))],
        2..=5 => {
            let image = format!("> set image {DAEMON} main=img:{}\n", dice.below(5));
            (0..4).map(|_| tick(60_000)).chain([image, tick(90_000)]).collect()
        }
        _ => roll_one(dice, &DAEMON),
    }
}

/// A new one, and smaller while its pods are about to be ready.
fn scaling(dice: &Dice, of: &Workload) -> Vec<String> {
    let scale = |replicas: u64| format!("> scale {of} {replicas}\n");
    let mut acts = vec![format!("> delete {of} --cascade background\n"), tick(5000)];
    acts.extend(apply_one(dice, of));
    acts.extend([
        scale(REPLICAS),
        tick(dice.pick(&[1, 500, 1000, 1200, 1500, 2000, 3000])),
        scale(dice.below(REPLICAS)),
        tick(dice.pick(&[300, 2000, 30_000])),
    ]);
    if dice.chance(0.3) {
        acts.push(format!("> delete {} --grace 0\n", of.pods(1 + dice.below(2))));
    }
    acts
}

/// An owner that is deleted, and made again soon.
fn leaving(dice: &Dice, of: &Workload) -> Vec<String> {
    let mut acts = vec![format!("> delete {of} --cascade {}\n", dice.pick(&CASCADES))];
    acts.push(tick(dice.pick(&[1, 20, 300, 2000])));
    acts.extend(apply_one(dice, of));
    acts.push(tick(dice.pick(&[300, 5000, 20_000])));
    acts
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
