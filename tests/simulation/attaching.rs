//! Pods with volumes that are attached to their nodes, drawn from a seed. The manager binds claims
//! and volumes in these cases; the users are the kubelets, who say what is in use.

use crate::dice::Dice;
use crate::workload::{NODES, applied, tick};

/// Who attaches: a part of the sandbox. Cases that name it have it.
pub(crate) const ATTACHER: &str = "hollow.sandbox";
/// Nodes whose volumes the manager attaches say so.
pub(crate) const MANAGED: &str = "volumes.kubernetes.io/controller-managed-attach-detach";
/// The taint of a node that is down for good.
pub(crate) const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
/// How many volumes; the last one may be attached to several nodes at once.
const VOLUMES: u64 = 3;

/// Something about pods and their volumes.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let number = dice.below(VOLUMES);
    let (node, other) = (dice.below(NODES), dice.below(NODES));
    let mut acts = manage();
    acts.extend(pair(number));
    let go = |grace: &str| format!("> delete pods -l disk=d{number}{grace}\n");
    let grace = dice.pick(&["", "", " --grace 0"]);
    let wait = tick(dice.pick(&[1, 100, 1000, 3000, 20_000]));
    match dice.below(14) {
        0..=2 => acts.push(pod(dice, number, node)),
        // From one node to another, or back to the same.
        3..=5 => {
            acts.extend([pod(dice, number, node), tick(dice.pick(&[500, 5000, 20_000]))]);
            acts.extend([go(grace), wait, pod(dice, number, other)]);
        }
        // Two nodes at once.
        6 => acts.extend([pod(dice, number, node), wait, pod(dice, number, other)]),
        7 => acts.push(go(grace)),
        8..=9 => {
            // The kubelet takes its time.
            acts.extend([pod(dice, number, node), tick(5000), in_use(node, &[number])]);
            acts.extend([go(grace), wait, pod(dice, number, other)]);
            acts.push(tick(dice.pick(&[1000, 20_000, 400_000])));
            acts.extend(dice.chance(0.6).then(|| in_use(node, &[])));
        }
        10 => {
            let used: Vec<u64> = (0..VOLUMES).filter(|_| dice.chance(0.5)).collect();
            acts.push(in_use(node, &used));
        }
        11 => {
            // A node that fails, and perhaps stays down.
            acts.extend([pod(dice, number, node), tick(5000), in_use(node, &[number])]);
            acts.extend([format!("> kill node-{node}\n"), tick(60_000), go(" --grace 0")]);
            acts.push(pod(dice, number, other));
            let ends = [
                tick(400_000),
                format!("> taint node-{node} {OUT_OF_SERVICE}=down:NoExecute\n"),
                format!("> delete nodes/node-{node}\n"),
            ];
            acts.extend([dice.pick(&ends), wait, format!("> revive node-{node}\n")]);
        }
        12 => {
            // A client that deletes attachments, or an attacher that has failed.
            let some = format!("volumeattachments --first {}", 1 + dice.below(2));
            acts.push(dice.pick(&[
                format!("> delete {some}\n"),
                format!("> patch status {some} '{{\"status\":{{\"attached\":false}}}}'\n"),
                format!(
                    "> patch status {some} '{{\"status\":{{\"attached\":false,\
                    \"attachError\":{{\"message\":\"no such disk\"}}}}}}'\n"
                ),
            ]));
        }
        _ => {
            acts.push(dice.pick(&[
                format!("> delete pvc/att-{number}\n"),
                format!("> delete pv/att-{number}\n"),
                format!("> annotate nodes/node-{node} {MANAGED}-\n"),
                format!("> delete csidriver/{ATTACHER}\n"),
                driver(),
            ]));
        }
    }
    acts
}

/// As kubelets say it of their own nodes.
fn manage() -> Vec<String> {
    (0..NODES).map(|node| format!("> annotate nodes/node-{node} {MANAGED}=true\n")).collect()
}

/// One whose volumes need not be attached.
fn driver() -> String {
    applied(&format!(
        "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {{name: {ATTACHER}}}\n\
        spec: {{attachRequired: false}}"
    ))
}

/// A volume and its claim, each made for the other.
fn pair(number: u64) -> Vec<String> {
    let mode = if number + 1 == VOLUMES { "ReadWriteMany" } else { "ReadWriteOnce" };
    let volume = format!(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: att-{number}}}\n\
        spec: {{capacity: {{storage: 1Gi}}, accessModes: [{mode}], storageClassName: disks,\n  \
        csi: {{driver: {ATTACHER}, volumeHandle: h{number}}},\n  \
        claimRef: {{apiVersion: v1, kind: PersistentVolumeClaim, namespace: default, \
        name: att-{number}}}}}"
    );
    let claim = format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: att-{number}}}\n\
        spec: {{storageClassName: disks, volumeName: att-{number}, accessModes: [{mode}], \
        resources: {{requests: {{storage: 1Gi}}}}}}"
    );
    [volume, claim].iter().map(|it| applied(it).replacen("> apply", "> create", 1)).collect()
}

/// On a node at once, or bound by the scheduler; now and then it ends.
fn pod(dice: &Dice, number: u64, node: u64) -> String {
    let ends = dice.pick(&["", "", "", ", annotations: {sandbox/run-for: 2s}"]);
    let lines = applied(&format!(
        "apiVersion: v1\nkind: Pod\n\
        metadata: {{generateName: disk-{number}-, labels: {{disk: d{number}}}{ends}}}\n\
        spec: {{restartPolicy: Never, nodeName: node-{node}, \
        containers: [{{name: main, image: 'img:0'}}],\n  \
        volumes: [{{name: data, persistentVolumeClaim: {{claimName: att-{number}}}}}]}}"
    ));
    lines.replacen("> apply", "> create", 1)
}

/// What the kubelet of a node says of these volumes.
fn in_use(node: u64, volumes: &[u64]) -> String {
    let names = volumes.iter().map(|it| format!("\"kubernetes.io/csi/{ATTACHER}^h{it}\""));
    let names = names.collect::<Vec<_>>().join(",");
    format!("> patch status nodes/node-{node} '{{\"status\":{{\"volumesInUse\":[{names}]}}}}'\n")
}
