//! What people do to a cluster, drawn from a seed, as commands of `pkg/sandbox/script`.
//!
//! A run has a mixture of a few families of acts, each with a weight of its own: what happens
//! rarely in a run with everything happens often in some of these.

use crate::dice::Dice;
use crate::oracle::FOREIGN;
use crate::{
    attaching, autoscaling, batch, binding, blocks, bootstrap, budgets, bundles, certificates,
    corruption, cron, devices, groups, kubelets, migrations, owners, policies, pools, quotas,
    ranges, selinux, servers, services, stateful, storage, volumes,
};

/// An object with pods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) namespace: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) name: &'static str,
}

/// How many nodes there are.
pub(crate) const NODES: u64 = 3;

/// How many replicas a user asks for, at most.
pub(crate) const REPLICAS: u64 = 9;

pub(crate) const NAMESPACES: [&str; 3] = ["default", "other", "third"];

pub(crate) const WORKLOADS: [Workload; 9] = [
    Workload { namespace: "default", kind: "Deployment", name: "web" },
    Workload { namespace: "default", kind: "Deployment", name: "api" },
    Workload { namespace: "other", kind: "Deployment", name: "web" },
    Workload { namespace: "default", kind: "ReplicaSet", name: "plain" },
    Workload { namespace: "third", kind: "ReplicaSet", name: "plain" },
    Workload { namespace: "default", kind: "DaemonSet", name: "agent" },
    Workload { namespace: "other", kind: "DaemonSet", name: "agent" },
    Workload { namespace: "default", kind: "ReplicationController", name: "old" },
    Workload { namespace: "third", kind: "ReplicationController", name: "old" },
];
/// By what each is rolled; the last ones are for some Deployments alone, as long as they live: what
/// a rollout does that becomes a Recreate half-way is in `seeds/recreate-half-way.txt`.
const ROLLING: [&str; 6] = [
    "",
    "maxSurge: 1, maxUnavailable: 0",
    "maxSurge: 0, maxUnavailable: 2",
    "maxSurge: 30%, maxUnavailable: 34%",
    "maxSurge: 50%, maxUnavailable: 0",
    "maxSurge: 0, maxUnavailable: 15%",
];
const DAEMON: [&str; 6] = [
    "{type: RollingUpdate}",
    "{type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}",
    "{type: RollingUpdate, rollingUpdate: {maxSurge: 50%, maxUnavailable: 0}}",
    "{type: RollingUpdate, rollingUpdate: {maxUnavailable: 2}}",
    "{type: RollingUpdate, rollingUpdate: {maxUnavailable: 34%}}",
    "{type: OnDelete}",
];
/// What else a Deployment may say.
const DEPLOYMENT: [&str; 5] = [
    "",
    ", minReadySeconds: 5",
    ", progressDeadlineSeconds: 40, minReadySeconds: 10",
    ", revisionHistoryLimit: 0",
    ", revisionHistoryLimit: 1",
];
/// What else the pods of a DaemonSet may say.
const PLACES: [&str; 4] = [
    "",
    ", nodeSelector: {zone: a}",
    ", tolerations: [{operator: Exists}]",
    ", tolerations: [{key: a, operator: Equal, value: b, effect: NoSchedule}]",
];
/// An annotation with a byte that is no UTF-8, see `owners::ODD_TEXT`. On a Deployment alone: a
/// client that writes the status of a set in JSON writes all of it, with another text for that
/// byte.
const ODD_NOTE: &str = "note=odd-byte";
pub(crate) const CASCADES: [&str; 3] = ["background", "foreground", "orphan"];

/// An act of a user, and how likely it is in a run that has it.
type Family = fn(&Dice) -> Vec<String>;

/// The families that no run is without, and how many they are.
const FAMILIES: &[Family] = &[
    workloads,
    rollouts,
    harm,
    nodes,
    namespaces,
    roles,
    accounts,
    jobs,
    owners::acts,
    corruption::acts,
    statuses,
    ended,
    behind,
    certificates::acts,
    volumes::acts,
    stateful::acts,
    batch::acts,
    cron::acts,
    services::acts,
    budgets::acts,
    storage::acts,
    bootstrap::acts,
    certificates::of_pods,
    binding::acts,
    binding::growth,
    quotas::acts,
    ranges::acts,
    certificates::signing,
    bundles::acts,
    servers::acts,
    attaching::acts,
    devices::acts,
    devices::taints,
    groups::acts,
    pools::acts,
    kubelets::acts,
    blocks::acts,
    policies::acts,
    autoscaling::acts,
    migrations::acts,
    selinux::acts,
];

/// The acts of a run.
pub(crate) fn draw(dice: &Dice) -> Vec<String> {
    let mut acts = vec![make("other")];
    acts.extend(dice.chance(0.7).then(|| make("third")));
    let begin = 2 + dice.below(4);
    acts.extend((0..begin).flat_map(|_| apply(dice)));
    // A run without harm shows what the controllers do by themselves.
    let calm: &[Family] = &[
        workloads,
        rollouts,
        namespaces,
        roles,
        accounts,
        jobs,
        owners::acts,
        ended,
        certificates::acts,
        volumes::acts,
        stateful::acts,
        batch::acts,
        cron::acts,
        services::acts,
        budgets::acts,
        storage::acts,
        bootstrap::acts,
        certificates::of_pods,
        binding::acts,
        binding::growth,
        quotas::acts,
        ranges::acts,
        certificates::signing,
        bundles::acts,
        servers::acts,
        attaching::acts,
        devices::acts,
        devices::taints,
        groups::acts,
        pools::acts,
        policies::acts,
        autoscaling::acts,
        migrations::acts,
        selinux::acts,
    ];
    let calm_only = dice.chance(0.25);
    let among = if calm_only { calm } else { FAMILIES };
    let mut weights: Vec<_> = among.iter().map(|it| (*it, dice.pick(&[0, 0, 0, 1, 3]))).collect();
    weights.extend([(workloads as Family, 1), (rollouts as Family, 2)]);
    let sum = weights.iter().map(|(_, weight)| weight).sum();
    for _ in 0..8 + dice.below(20) {
        acts.push(tick(dice.pick(&[1, 50, 500, 2000, 2000, 10_000, 30_000])));
        let mut at = dice.below(sum);
        let chosen = weights.iter().find(|(_, weight)| {
            let is_here = at < *weight;
            at = at.saturating_sub(*weight);
            is_here
        });
        acts.extend(chosen.map(|(family, _)| family(dice)).unwrap_or_default());
    }
    acts
}

pub(crate) fn tick(millis: u64) -> String {
    format!("> tick {millis}ms\n")
}

/// A document to apply.
pub(crate) fn applied(lines: &str) -> String {
    let lines: Vec<_> = lines.lines().map(|line| format!("| {line}\n")).collect();
    format!("> apply\n{}", lines.concat())
}

pub(crate) fn make(namespace: &str) -> String {
    applied(&format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}}}"))
}

// === Workloads ===

/// Makes one, or sets it back.
fn apply(dice: &Dice) -> Vec<String> {
    apply_one(dice, &dice.pick(&WORKLOADS))
}

pub(crate) fn apply_one(dice: &Dice, of: &Workload) -> Vec<String> {
    let (replicas, image) = (dice.below(REPLICAS), dice.below(4));
    let start = dice.pick(&["", "", "", "12s"]);
    let (spec, place) = match of.kind {
        "Deployment" if of.name == "api" && of.namespace == "default" => {
            (format!("replicas: {replicas}, strategy: {{type: Recreate}}"), "")
        }
        "Deployment" => {
            let (rolling, more) = (dice.pick(&ROLLING), dice.pick(&DEPLOYMENT));
            let strategy = format!("{{type: RollingUpdate, rollingUpdate: {{{rolling}}}}}");
            (format!("replicas: {replicas}, strategy: {strategy}{more}"), "")
        }
        "ReplicaSet" | "ReplicationController" => {
            let ready = dice.pick(&["", "", ", minReadySeconds: 5"]);
            (format!("replicas: {replicas}{ready}"), "")
        }
        _ => {
            let ready = dice.pick(&["", "", ", minReadySeconds: 5", ", revisionHistoryLimit: 1"]);
            (format!("updateStrategy: {}{ready}", dice.pick(&DAEMON)), dice.pick(&PLACES))
        }
    };
    let Workload { namespace, kind, name } = of;
    let note = match start {
        "" => String::new(),
        delay => format!(", annotations: {{sandbox/start-delay: {delay}}}"),
    };
    let labels = format!("{{app: {name}}}");
    let (version, selector) = match of.kind {
        "ReplicationController" => ("v1", labels.clone()),
        _ => ("apps/v1", format!("{{matchLabels: {labels}}}")),
    };
    vec![applied(&format!(
        "apiVersion: {version}\nkind: {kind}\n\
        metadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
        {{{spec}, selector: {selector},\n  \
        template: {{metadata: {{labels: {labels}{note}}}, spec: {{containers: \
        [{{name: main, image: 'img:{image}'}}]{place}}}}}}}"
    ))]
}

fn workloads(dice: &Dice) -> Vec<String> {
    let of = dice.pick(&WORKLOADS);
    match dice.below(8) {
        0..=2 => apply(dice),
        3..=5 => vec![format!("> scale {of} {}\n", dice.below(REPLICAS))],
        6 => vec![format!("> set image {of} main=img:{}\n", dice.below(5))],
        _ => vec![format!("> delete {of} --cascade {}\n", dice.pick(&CASCADES))],
    }
}

fn rollouts(dice: &Dice) -> Vec<String> {
    roll_one(dice, &dice.pick(&WORKLOADS))
}

/// Something about a rollout.
pub(crate) fn roll_one(dice: &Dice, of: &Workload) -> Vec<String> {
    let act = match dice.below(10) {
        0..=4 => format!("> set image {of} main=img:{}\n", dice.below(5)),
        // Its pods cannot start: a user rolls it back at the end.
        5 if !of.kind.starts_with("Replica") => format!("> set image {of} main=img.invalid/x\n"),
        5..=6 => format!("> rollout {} {of}\n", dice.pick(&["pause", "resume", "resume"])),
        7 => format!("> rollout {} {of}\n", dice.pick(&["undo", "restart"])),
        8 => {
            let limit = dice.pick(&[0, 1, 10]);
            format!("> patch {of} '{{\"spec\":{{\"revisionHistoryLimit\":{limit}}}}}'\n")
        }
        _ => format!("> scale {of} {}\n", dice.below(REPLICAS)),
    };
    // Time enough, now and then, to get to its end.
    let wait = dice.chance(0.3).then(|| tick(90_000));
    [act].into_iter().chain(wait).collect()
}

fn harm(dice: &Dice) -> Vec<String> {
    let (of, few) = (dice.pick(&WORKLOADS), 1 + dice.below(3));
    vec![match dice.below(8) {
        0..=1 => format!("> fail {}\n", of.pods(few)),
        2..=4 => format!("> delete {}\n", of.pods(few)),
        5 => {
            let not_ready = r#"{"metadata":{"annotations":{"sandbox/not-ready":"true"}}}"#;
            let patch = format!("> patch {} '{not_ready}'\n", of.pods(few));
            if of.kind == "DaemonSet" {
                return vec![patch];
            }
            // Of more than there shall be, these are to go first.
            return vec![patch, tick(4000), format!("> scale {of} {few}\n")];
        }
        6 => {
            let finalizer = r#"{"metadata":{"finalizers":["example.com/wait"]}}"#;
            format!("> patch {} '{finalizer}'\n", of.pods(few))
        }
        _ => of.foreign(dice.chance(0.5)),
    }]
}

pub(crate) fn nodes(dice: &Dice) -> Vec<String> {
    let node = format!("node-{}", dice.below(NODES));
    vec![match dice.below(13) {
        0..=1 => format!("> {} {node}\n", dice.pick(&["kill", "partition"])),
        2..=4 => format!("> {} {node}\n", dice.pick(&["revive", "heal"])),
        5 => format!("> {} {node}\n", dice.pick(&["cordon", "uncordon"])),
        6..=7 => {
            format!("> taint {node} {}\n", dice.pick(&["a=b:NoSchedule", "a=b:NoExecute", "a-"]))
        }
        8 => format!("> delete nodes/{node}\n"),
        9..=10 => format!("> label nodes/{node} {}\n", dice.pick(&["zone=a", "zone=b", "zone-"])),
        _ => {
            let ttl = dice.pick(&["=77", "-", "=x"]);
            format!("> annotate nodes/{node} node.alpha.kubernetes.io/ttl{ttl}\n")
        }
    }]
}

// === Others ===

pub(crate) fn namespaces(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES[1..]);
    match dice.below(6) {
        0..=2 => vec![make(namespace)],
        3 => vec![format!("> delete namespace/{namespace}\n")],
        _ => {
            // Created in it while it is being deleted, as far as the server admits it.
            let mut acts = vec![format!("> delete namespace/{namespace}\n")];
            acts.push(tick(dice.pick(&[1, 20, 300])));
            acts.extend(owners::acts(dice));
            acts.push(tick(dice.pick(&[1, 300, 6000])));
            acts.extend([make(namespace)]);
            acts
        }
    }
}

pub(crate) fn roles(dice: &Dice) -> Vec<String> {
    let (role, sum) = (dice.below(4), dice.below(3));
    let label = dice.pick(&["to: all", "to: some", "other: x"]);
    let head = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n";
    let rule = |n: u64| format!("{{apiGroups: [''], resources: [kind{n}], verbs: [get]}}");
    vec![match dice.below(9) {
        0..=2 => {
            let rules = format!("[{}, {}]", rule(dice.below(3)), rule(dice.below(5)));
            let metadata = format!("{{name: part-{role}, labels: {{{label}}}}}");
            applied(&format!("{head}metadata: {metadata}\nrules: {rules}"))
        }
        3..=4 => {
            // One may be a part of the others, and of itself. With two that are parts of each other
            // both would change at the same moment for ever, here where all takes equally long.
            let label = if sum == 0 { label } else { "other: x" };
            let metadata = format!("{{name: sum-{sum}, labels: {{{label}}}}}");
            let wanted = dice.pick(&["to: all", "to: some"]);
            let selectors = format!("[{{matchLabels: {{{wanted}}}}}, {{matchLabels: {{x: y}}}}]");
            let rule = format!("aggregationRule: {{clusterRoleSelectors: {selectors}}}");
            applied(&format!("{head}metadata: {metadata}\n{rule}"))
        }
        5 => format!("> delete clusterrole/part-{role}\n"),
        6 => format!("> label clusterrole/part-{role} {}\n", dice.pick(&["to=all", "to-", "x=y"])),
        7 => {
            let rules = r#"{"rules":[{"apiGroups":[""],"resources":["odd"],"verbs":["get"]}]}"#;
            format!("> patch clusterrole/sum-{sum} '{rules}'\n")
        }
        _ => format!("> delete clusterrole/sum-{sum}\n"),
    }]
}

pub(crate) fn accounts(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES);
    let (account, number) = (dice.pick(&["default", "robot"]), dice.below(3));
    let root = format!("configmap/kube-root-ca.crt -n {namespace}");
    let secret = format!("secret/token-{number} -n {namespace}");
    vec![match dice.below(10) {
        0..=1 => format!("> delete serviceaccount/{account} -n {namespace}\n"),
        2..=3 => {
            // As Kubernetes made them before 1.24.
            let lists = "\nsecrets: [{name: token-0}, {name: token-1}, {name: token-2}]";
            let lists = if number == 0 { "" } else { lists };
            applied(&format!(
                "apiVersion: v1\nkind: ServiceAccount\n\
                metadata: {{name: {account}, namespace: {namespace}}}{lists}"
            ))
        }
        4..=5 => {
            let wrong = dice.pick(&["", "", ", kubernetes.io/service-account.uid: 0-0-0"]);
            let account = dice.pick(&["default", "robot", "nobody"]);
            applied(&format!(
                "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/service-account-token\n\
                metadata: {{name: token-{number}, namespace: {namespace}, annotations: \
                {{kubernetes.io/service-account.name: {account}{wrong}}}}}"
            ))
        }
        6 => format!("> patch {secret} '{{\"data\":null}}'\n"),
        7 => format!("> delete {secret}\n"),
        8 => format!("> delete {root}\n"),
        _ => format!("> patch {root} '{{\"data\":{{\"ca.crt\":\"odd\",\"more\":\"x\"}}}}'\n"),
    }]
}

/// Jobs that a user finishes instead of the Job controller, and how long they stay then.
pub(crate) fn jobs(dice: &Dice) -> Vec<String> {
    let (namespace, number) = (dice.pick(&NAMESPACES[..2]), dice.below(3));
    let job = format!("job/job-{number} -n {namespace}");
    let ttl = dice.pick(&["null", "0", "3", "20", "300"]);
    let patch =
        |ttl| format!("> patch {job} '{{\"spec\":{{\"ttlSecondsAfterFinished\":{ttl}}}}}'\n");
    match dice.below(10) {
        0..=2 => {
            let held = dice.pick(&["", "", ", finalizers: [example.com/wait]"]);
            let job = format!(
                "apiVersion: batch/v1\nkind: Job\n\
                metadata: {{name: job-{number}, namespace: {namespace}{held}}}\nspec:\n  \
                {{managedBy: example.com/user, ttlSecondsAfterFinished: {ttl}, template: {{spec: \
                {{restartPolicy: Never, containers: [{{name: main, image: 'img:0'}}]}}}}}}"
            );
            vec![applied(&job)]
        }
        3..=6 => vec![finish(dice, &job)],
        7 => vec![format!("> delete {job} --cascade {}\n", dice.pick(&CASCADES))],
        8 => vec![patch(ttl)],
        // More time, right before the first one is up.
        _ => {
            let wait = dice.pick(&[2_500, 2_950, 3_050]);
            vec![patch("3"), finish(dice, &job), tick(wait), patch(ttl)]
        }
    }
}

/// A user marks a Job as finished: when it was made, in the year before, or soon.
fn finish(dice: &Dice, job: &str) -> String {
    let made = format!("<<{job} .metadata.creationTimestamp or 2026-01-01T00:00:00Z>>");
    let at =
        dice.pick(&[made.as_str(), made.as_str(), "2025-01-01T00:00:00Z", "2026-01-01T00:20:00Z"]);
    let (word, before) =
        dice.pick(&[("Complete", "SuccessCriteriaMet"), ("Failed", "FailureTarget")]);
    let condition =
        |word| format!(r#"{{"type":"{word}","status":"True","lastTransitionTime":"{at}"}}"#);
    let completion =
        if word == "Complete" { format!(r#""completionTime":"{at}","#) } else { String::new() };
    let conditions = format!("[{},{}]", condition(before), condition(word));
    let status = format!(r#""startTime":"{at}",{completion}"conditions":{conditions}"#);
    format!("> patch status {job} '{{\"status\":{{{status}}}}}'\n")
}

/// A user writes what only the controllers should.
fn statuses(dice: &Dice) -> Vec<String> {
    status_one(dice, &dice.pick(&WORKLOADS))
}

pub(crate) fn status_one(dice: &Dice, of: &Workload) -> Vec<String> {
    let (sets, namespace) = (of.sets(1 + dice.below(2)), of.namespace);
    let status = dice.pick(&[
        r#"{"status":{"replicas":9,"availableReplicas":0,"readyReplicas":0}}"#,
        r#"{"status":{"observedGeneration":0}}"#,
        r#"{"status":{"conditions":null}}"#,
    ]);
    vec![match (of.kind, dice.below(3)) {
        ("DaemonSet", 0..=1) => {
            let status = r#"{"status":{"numberAvailable":0,"desiredNumberScheduled":7}}"#;
            format!("> patch status {of} '{status}'\n")
        }
        ("DaemonSet", _) => format!("> patch {} '{{\"revision\":50}}'\n", of.revisions(1)),
        ("Deployment", 0) => format!("> patch status {sets} '{status}'\n"),
        ("Deployment", 1) => format!(
            "> annotate {sets} {}\n",
            dice.pick(&["deployment.kubernetes.io/revision=9", "odd=1"])
        ),
        ("Deployment", _) if dice.chance(0.5) => {
            let note = dice.pick(&["odd=1", ODD_NOTE]);
            format!("> annotate deployment/{} -n {namespace} {note}\n", of.name)
        }
        _ => format!("> patch status {of} '{status}'\n"),
    }]
}

/// Pods that end, and pods of nodes that there are not.
pub(crate) fn ended(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES);
    let pod = |more: &str, spec: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{generateName: lone-, namespace: {namespace}, \
            annotations: {{sandbox/run-for: 2s{more}}}}}\nspec: {{restartPolicy: Never, {spec}\
            containers: [{{name: main, image: 'img:0'}}]}}"
        )
    };
    let (few, code) = (1 + dice.below(4), dice.pick(&["", ", sandbox/exit-code: '3'"]));
    let place = dice.pick(&["", "", "nodeName: ghost, "]);
    let pods: Vec<_> = (0..few).map(|_| pod(code, place)).collect();
    let lines = applied(&pods.join("\n---\n"));
    vec![lines.replacen("> apply", "> create", 1)]
}

/// What the controllers made is deleted or changed behind their backs.
fn behind(dice: &Dice) -> Vec<String> {
    let (of, few) = (dice.pick(&WORKLOADS), 1 + dice.below(2));
    vec![match (of.kind, dice.below(4)) {
        ("Deployment", 0) => {
            format!("> delete {} --cascade {}\n", of.sets(few), dice.pick(&CASCADES))
        }
        ("Deployment", 1..=2) => format!("> scale {} {}\n", of.sets(few), dice.below(5)),
        ("DaemonSet", 0..=1) => format!("> delete {}\n", of.revisions(few)),
        _ => format!("> delete {} --grace 0\n", of.pods(few)),
    }]
}

// === impl Workload ===

impl std::fmt::Display for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{} -n {}", self.kind.to_lowercase(), self.name, self.namespace)
    }
}

impl Workload {
    pub(crate) fn pods(&self, count: u64) -> String {
        self.some("pods", count)
    }

    pub(crate) fn sets(&self, count: u64) -> String {
        self.some("replicasets", count)
    }

    pub(crate) fn revisions(&self, count: u64) -> String {
        self.some("controllerrevisions", count)
    }

    fn some(&self, plural: &str, count: u64) -> String {
        format!("{plural} -l app={} --first {count} -n {}", self.name, self.namespace)
    }

    fn foreign(&self, has_owner: bool) -> String {
        let Self { namespace, name, .. } = self;
        let app = if has_owner { name } else { "stray" };
        let owner = "ownerReferences: [{apiVersion: example.com/v1, kind: Thing, name: thing, \
            uid: 0-1-1, controller: true}]";
        let owner = if has_owner { owner } else { "annotations: {a: b}" };
        format!(
            "> create\n| apiVersion: v1\n| kind: Pod\n| metadata:\n|   generateName: foreign-\n\
            |   namespace: {namespace}\n|   labels: {{app: {app}, {FOREIGN}: 'yes'}}\n|   {owner}\n\
            | spec: {{containers: [{{name: main, image: 'img:0'}}]}}\n"
        )
    }
}
