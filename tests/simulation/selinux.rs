//! Pods that use volumes with SELinux labels, drawn from a seed. The user says what is bound.

use crate::dice::Dice;
use crate::workload::{NAMESPACES, applied, tick};

/// The driver of all these volumes. What warns of conflicts runs in cases that name it.
pub(crate) const DRIVER: &str = "selinux.example.com";
const VOLUMES: u64 = 2;
const PODS: u64 = 4;

/// Something about such pods. Those of the same name follow each other.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES[..2]);
    let (name, volume) = (format!("labelled-{}", dice.below(PODS)), dice.below(VOLUMES));
    let grace = dice.pick(&["", " --grace 0"]);
    let wait = tick(dice.pick(&[1, 100, 2000, 20_000]));
    let go = format!("> delete pod/{name} -n {namespace}{grace}\n");
    match dice.below(12) {
        0 => vec![driver(dice)],
        1 => pair(namespace, volume),
        2..=4 => [pair(namespace, volume), vec![pod(dice, namespace, &name, volume)]].concat(),
        // Bound when its pod is there.
        5 => [vec![pod(dice, namespace, &name, volume), wait], pair(namespace, volume)].concat(),
        6..=7 => vec![go, wait, pod(dice, namespace, &name, volume)],
        8 => vec![go],
        9 => vec![format!("> fail pod/{name} -n {namespace}\n")],
        10 => vec![format!("> delete pvc/labelled-{volume} -n {namespace}\n")],
        _ => vec![format!("> delete csidriver/{DRIVER}\n")],
    }
}

/// Its volumes can be mounted with a label, mostly.
pub(crate) fn driver(dice: &Dice) -> String {
    let supports = dice.pick(&["true", "true", "true", "false"]);
    applied(&format!(
        "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {{name: {DRIVER}}}\n\
        spec: {{seLinuxMount: {supports}}}"
    ))
}

/// A volume and its claim, bound to each other. The other namespace has one with the same data.
fn pair(namespace: &str, number: u64) -> Vec<String> {
    let claim = format!("labelled-{number}");
    let volume = format!("{claim}-{namespace}");
    let made = |lines: &str| applied(lines).replacen("> apply", "> create", 1);
    vec![
        made(&format!(
            "apiVersion: v1\nkind: PersistentVolumeClaim\n\
            metadata: {{name: {claim}, namespace: {namespace}}}\n\
            spec: {{storageClassName: disks, volumeName: {volume}, accessModes: [ReadWriteMany], \
            resources: {{requests: {{storage: 1Gi}}}}}}"
        )),
        made(&format!(
            "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {volume}}}\n\
            spec: {{capacity: {{storage: 1Gi}}, accessModes: [ReadWriteMany], \
            storageClassName: disks,\n  csi: {{driver: {DRIVER}, volumeHandle: h{number}}},\n  \
            claimRef: {{apiVersion: v1, kind: PersistentVolumeClaim, namespace: {namespace}, \
            name: {claim}, uid: '<<pvc/{claim} -n {namespace} .metadata.uid or 0-0-0>>'}}}}"
        )),
        format!(
            "> patch status pvc/{claim} -n {namespace} '{{\"status\":{{\"phase\":\"Bound\"}}}}'\n"
        ),
    ]
}

/// One with a label, perhaps a part of one, or with several.
fn pod(dice: &Dice, namespace: &str, name: &str, volume: u64) -> String {
    let place = dice.pick(&["nodeName: node-0, ", "nodeName: node-1, ", "schedulerName: x, "]);
    let ends = dice.pick(&["", "", ", annotations: {sandbox/run-for: 2s}"]);
    let options = || {
        dice.pick(&[
            "",
            "seLinuxOptions: {level: 's0:c1'}",
            "seLinuxOptions: {level: 's0:c1', user: u}",
            "seLinuxOptions: {level: 's0:c1', role: r, type: t}",
            "seLinuxOptions: {level: 's0:c2'}",
        ])
    };
    let policy = dice.pick(&["", "", "", "seLinuxChangePolicy: Recursive"]);
    let of_pod = [options(), policy].into_iter().filter(|it| !it.is_empty());
    let of_pod = of_pod.collect::<Vec<_>>().join(", ");
    let container = |container: &str, options: &str| {
        format!(
            "{{name: {container}, image: 'img:0', securityContext: {{{options}}}, \
            volumeMounts: [{{name: data, mountPath: /data}}]}}"
        )
    };
    let mut containers = container("main", dice.pick(&["", "", options()]));
    if dice.chance(0.1) {
        containers = format!("{containers}, {}", container("beside", options()));
    }
    let lines = applied(&format!(
        "apiVersion: v1\nkind: Pod\n\
        metadata: {{name: {name}, namespace: {namespace}{ends}}}\n\
        spec: {{restartPolicy: Never, {place}securityContext: {{{of_pod}}},\n  \
        containers: [{containers}],\n  \
        volumes: [{{name: data, persistentVolumeClaim: {{claimName: labelled-{volume}}}}}]}}"
    ));
    lines.replacen("> apply", "> create", 1)
}
