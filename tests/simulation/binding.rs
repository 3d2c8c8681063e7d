//! Claims and volumes that the manager binds, and a provisioner that makes volumes, drawn from a
//! seed. Elsewhere users say what is bound (`storage`).

use crate::dice::Dice;
use crate::workload::{NAMESPACES, applied, tick};

/// Who makes volumes: a part of the sandbox. Cases that name it have it.
pub(crate) const PROVISIONER: &str = "sandbox/hollow";
/// The class of what it makes, and that of volumes made by hand.
pub(crate) const FAST: &str = "fast";
const MANUAL: &str = "manual";
const SIZES: [&str; 3] = ["1Gi", "2Gi", "3Gi"];

/// Something about claims and volumes.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let mut acts = vec![class(dice)];
    let namespace = dice.pick(&NAMESPACES[..2]);
    let claim = format!("bind-{}", dice.below(3));
    let disk = format!("disk-{}", dice.below(3));
    match dice.below(12) {
        0..=2 => acts.push(wish(dice, namespace, &claim)),
        3..=4 => acts.push(volume(dice, &disk)),
        // Both at once.
        5..=6 => acts.extend([volume(dice, &disk), wish(dice, namespace, &claim)]),
        7..=8 => {
            acts.push(format!("> delete pvc/{claim} -n {namespace}\n"));
            acts.push(tick(dice.pick(&[1, 100, 3000])));
            // Another one of its name.
            acts.extend(dice.chance(0.6).then(|| wish(dice, namespace, &claim)));
        }
        9 => acts.push(format!("> delete pv/{disk}\n")),
        10 => {
            let policy = dice.pick(&["Retain", "Delete"]);
            let patch = format!(r#"{{"spec":{{"persistentVolumeReclaimPolicy":"{policy}"}}}}"#);
            acts.push(format!("> patch pv/{disk} '{patch}'\n"));
        }
        // As an administrator lets another claim have it.
        _ => acts.push(format!("> patch pv/{disk} '{{\"spec\":{{\"claimRef\":null}}}}'\n")),
    }
    acts
}

/// Claims of volumes of a plugin that a CSI driver has replaced, which are to grow.
pub(crate) fn growth(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES[..2]);
    let number = dice.below(2);
    let (claim, disk) = (format!("grow-{number}"), format!("old-{number}"));
    let more = |size: &str| {
        let patch = format!(r#"{{"spec":{{"resources":{{"requests":{{"storage":"{size}"}}}}}}}}"#);
        format!("> patch pvc/{claim} -n {namespace} '{patch}'\n")
    };
    let make = applied(&format!(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {disk}}}\n\
        spec: {{capacity: {{storage: 1Gi}}, accessModes: [ReadWriteOnce], \
        storageClassName: {MANUAL},\n  \
        awsElasticBlockStore: {{volumeID: vol-{number}}}}}"
    ));
    let ask = asked(
        namespace,
        &claim,
        &format!("storageClassName: {MANUAL}, volumeName: {disk}, "),
        "1Gi",
    );
    let mut acts = vec![class(dice)];
    match dice.below(6) {
        0..=2 => {
            let wait = tick(dice.pick(&[1, 300, 5000]));
            acts.extend([classed(), make, ask, wait, more(dice.pick(&SIZES[1..]))]);
        }
        3 => acts.extend([classed(), more(dice.pick(&SIZES[1..]))]),
        4 => acts.push(format!("> delete pvc/{claim} -n {namespace}\n")),
        _ => acts.push(format!("> delete pv/{disk}\n")),
    }
    acts
}

/// The class of what the provisioner makes; it may be the default one.
fn class(dice: &Dice) -> String {
    let is_default = dice.pick(&[
        "",
        "",
        "\n  annotations: {storageclass.kubernetes.io/is-default-class: 'true'}",
    ]);
    applied(&format!(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata:\n  name: {FAST}{is_default}\n\
        provisioner: {PROVISIONER}"
    ))
}

/// The class of what is made by hand: without it nothing may grow.
fn classed() -> String {
    applied(&format!(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: {MANUAL}}}\n\
        provisioner: kubernetes.io/no-provisioner\nallowVolumeExpansion: true"
    ))
}

fn wish(dice: &Dice, namespace: &str, name: &str) -> String {
    let class = dice.pick(&[FAST, FAST, MANUAL, MANUAL, "''", ""]);
    let class =
        if class.is_empty() { String::new() } else { format!("storageClassName: {class}, ") };
    let disk = format!("volumeName: disk-{}, ", dice.below(3));
    let disk = if dice.chance(0.2) { disk.as_str() } else { "" };
    asked(namespace, name, &format!("{class}{disk}"), dice.pick(&SIZES[..2]))
}

fn asked(namespace: &str, name: &str, more: &str, size: &str) -> String {
    let lines = applied(&format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\n\
        metadata: {{name: {name}, namespace: {namespace}}}\n\
        spec: {{{more}accessModes: [ReadWriteOnce], resources: {{requests: {{storage: {size}}}}}}}"
    ));
    lines.replacen("> apply", "> create", 1)
}

/// A volume, which may be kept for a claim.
fn volume(dice: &Dice, name: &str) -> String {
    let class = dice.pick(&[MANUAL, MANUAL, ""]);
    let class =
        if class.is_empty() { String::new() } else { format!(", storageClassName: {class}") };
    let policy = dice.pick(&["Retain", "Retain", "Delete"]);
    let size = dice.pick(&SIZES);
    let kept = format!(
        ", claimRef: {{apiVersion: v1, kind: PersistentVolumeClaim, namespace: {}, name: bind-{}}}",
        dice.pick(&NAMESPACES[..2]),
        dice.below(3)
    );
    let kept = if dice.chance(0.2) { kept.as_str() } else { "" };
    let lines = applied(&format!(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}}}\n\
        spec: {{capacity: {{storage: {size}}}, accessModes: [ReadWriteOnce], \
        persistentVolumeReclaimPolicy: {policy},\n  \
        csi: {{driver: csi.example.com, volumeHandle: '1'}}{class}{kept}}}"
    ));
    lines.replacen("> apply", "> create", 1)
}
