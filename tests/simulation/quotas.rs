//! Quotas, and what counts in them, drawn from a seed. Their limits are far off: how the API server
//! keeps them is not the manager's.

use crate::dice::Dice;
use crate::workload::{NAMESPACES, applied, tick};

/// Their kind. What counts for them runs only in cases that have it.
pub(crate) const KIND: &str = "ResourceQuota";
/// Each quota, which of these limits it may have, and its scopes, which never change.
const QUOTAS: [(&str, &[&str], &str); 6] = [
    ("pods", &["pods: 300, count/pods: 400", "pods: 301", "count/pods: 402"], ""),
    (
        "objects",
        &[
            "configmaps: 300, secrets: 300, count/deployments.apps: 90",
            "replicationcontrollers: 90, count/replicasets.apps: 500, resourcequotas: 20",
            "secrets: 301, count/configmaps: 302",
        ],
        "",
    ),
    (
        "services",
        &[
            "services: 50, services.nodeports: 80, persistentvolumeclaims: 90",
            "services.nodeports: 81, requests.storage: 900Gi",
        ],
        "",
    ),
    ("lasting", &["pods: 300", "pods: 301, count/pods: 400"], ", scopes: [NotTerminating]"),
    ("ending", &["pods: 300"], ", scopes: [Terminating]"),
    ("large", &["pods: 300, requests.cpu: 99", "requests.cpu: 98"], ", scopes: [NotBestEffort]"),
];

/// Something about quotas.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES[..2]);
    let (name, limits, scopes) = dice.pick(&QUOTAS);
    let quota = format!("quota/{name} -n {namespace}");
    match dice.below(12) {
        0..=3 => {
            let hard = dice.pick(limits);
            vec![applied(&format!(
                "apiVersion: v1\nkind: {KIND}\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
                spec: {{hard: {{{hard}}}{scopes}}}"
            ))]
        }
        4 => vec![format!("> delete {quota}\n")],
        5 => {
            let used = dice.pick(&[r#"{"pods":"7","services":"7"}"#, "null"]);
            vec![format!("> patch status {quota} '{{\"status\":{{\"used\":{used}}}}}'\n")]
        }
        6..=8 => pods(dice, namespace),
        _ => objects(dice, namespace),
    }
}

/// Pods of the scopes, some of which end.
fn pods(dice: &Dice, namespace: &str) -> Vec<String> {
    let name = format!("counted-{}", dice.below(3));
    let target = format!("pod/{name} -n {namespace}");
    let resources = dice.pick(&["", ", resources: {requests: {cpu: 250m}}"]);
    let deadline = dice.pick(&["", "activeDeadlineSeconds: 9000, "]);
    let ends = dice.pick(&["", ", annotations: {sandbox/run-for: 2s}"]);
    let make = applied(&format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {namespace}{ends}}}\n\
        spec: {{restartPolicy: Never, {deadline}containers: \
        [{{name: main, image: 'img:0'{resources}}}]}}"
    ));
    let make = make.replacen("> apply", "> create", 1);
    match dice.below(8) {
        0..=3 => vec![make],
        4..=5 => vec![format!("> delete {target}{}\n", dice.pick(&["", " --grace 0"]))],
        6 => vec![format!("> patch {target} '{{\"spec\":{{\"activeDeadlineSeconds\":8000}}}}'\n")],
        _ => {
            let wait = tick(dice.pick(&[1, 100, 3000]));
            vec![format!("> delete {target} --grace 0\n"), wait, make]
        }
    }
}

/// What else counts.
fn objects(dice: &Dice, namespace: &str) -> Vec<String> {
    let name = format!("counted-{}", dice.below(3));
    let kind = dice.pick(&["ConfigMap", "Secret", "Service", "Service", "PersistentVolumeClaim"]);
    if dice.chance(0.4) {
        return vec![format!("> delete {}/{name} -n {namespace}\n", kind.to_lowercase())];
    }
    let rest = match kind {
        "Service" => dice.pick(&[
            "spec: {ports: [{port: 80}]}",
            "spec: {type: NodePort, ports: [{name: a, port: 80}]}",
            "spec: {type: NodePort, ports: [{name: a, port: 80}, {name: b, port: 81}]}",
        ]),
        "PersistentVolumeClaim" => dice.pick(&[
            "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
            "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 500Mi}}}",
        ]),
        _ => "data: {}",
    };
    vec![applied(&format!(
        "apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}}}\n{rest}"
    ))]
}
