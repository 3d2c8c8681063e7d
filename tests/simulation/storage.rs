//! Volumes, their classes, and pods with volumes of their own, drawn from a seed. The user is the
//! binder and the driver: nobody else says what is bound, and of which class it is.

use crate::dice::Dice;
use crate::workload::{NAMESPACES, applied, tick};

const CLASSES: [&str; 3] = ["gold", "silver", "bronze"];
const PHASES: [&str; 5] = ["Bound", "Bound", "Released", "Available", "Failed"];
const CLAIM: &str = "accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}";

/// Something about one of these.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    match dice.below(3) {
        0 => volumes(dice),
        1 => classes(dice),
        _ => pods(dice),
    }
}

fn volumes(dice: &Dice) -> Vec<String> {
    let name = format!("volume-{}", dice.below(3));
    let is = |phase: &str| {
        format!("> patch status pv/{name} '{{\"status\":{{\"phase\":\"{phase}\"}}}}'\n")
    };
    match dice.below(8) {
        0..=1 => vec![volume(dice, &name), is(dice.pick(&PHASES))],
        2 => vec![is(dice.pick(&PHASES))],
        3 => vec![format!("> delete pv/{name}\n")],
        4..=6 => {
            // One that is bound, and perhaps no longer when it is deleted.
            let wait = tick(dice.pick(&[1, 100, 3000]));
            vec![
                volume(dice, &name),
                is("Bound"),
                wait.clone(),
                format!("> delete pv/{name}\n"),
                wait,
                is(dice.pick(&PHASES)),
            ]
        }
        _ => vec![finalizers(dice, &format!("pv/{name}"))],
    }
}

fn classes(dice: &Dice) -> Vec<String> {
    let (class, number) = (dice.pick(&CLASSES), dice.below(2));
    let claim = format!("pvc/classy-{number}");
    let make = applied(&format!(
        "apiVersion: storage.k8s.io/v1\nkind: VolumeAttributesClass\n\
        metadata: {{name: {class}}}\ndriverName: csi.example.com\nparameters: {{iops: '500'}}"
    ));
    let ask = applied(&format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: classy-{number}}}\n\
        spec: {{{CLAIM}, volumeAttributesClassName: {class}}}"
    ));
    match dice.below(10) {
        0 => vec![make],
        1 => vec![ask],
        2..=4 => {
            // One that a claim has asked for just now, or a while ago.
            let wait = tick(dice.pick(&[1, 100, 3000]));
            vec![make, wait.clone(), ask, wait, format!("> delete vac/{class}\n")]
        }
        5 => {
            // It has another one than it asks for, or is about to get one.
            let status = dice.pick(&[
                format!(r#"{{"currentVolumeAttributesClassName":"{class}"}}"#),
                format!(
                    r#"{{"modifyVolumeStatus":{{"status":"InProgress","targetVolumeAttributesClassName":"{class}"}}}}"#
                ),
                r#"{"currentVolumeAttributesClassName":null,"modifyVolumeStatus":null}"#.to_owned(),
            ]);
            vec![format!("> patch status {claim} '{{\"status\":{status}}}'\n")]
        }
        6 => vec![format!("> delete {claim}\n")],
        7..=8 => vec![format!("> delete vac/{class}\n")],
        _ => vec![finalizers(dice, &format!("vac/{class}"))],
    }
}

/// Pods of the same name follow each other, and so do their claims.
fn pods(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES[..2]);
    let name = format!("own-{}", dice.below(2));
    let claim = format!("{name}-{}", dice.pick(&["a", "b"]));
    let grace = dice.pick(&["", " --grace 0"]);
    match dice.below(9) {
        0..=3 => vec![pod(dice, namespace, &name)],
        4 => vec![format!("> delete pod/{name} -n {namespace}{grace}\n")],
        5 => {
            let wait = tick(dice.pick(&[1, 100, 2000, 20_000]));
            vec![
                format!("> delete pod/{name} -n {namespace}{grace}\n"),
                wait,
                pod(dice, namespace, &name),
            ]
        }
        6..=7 => vec![format!("> delete pvc/{claim} -n {namespace}\n")],
        // Somebody else's, in its way.
        _ => vec![applied(&format!(
            "apiVersion: v1\nkind: PersistentVolumeClaim\n\
            metadata: {{name: {claim}, namespace: {namespace}}}\nspec: {{{CLAIM}}}"
        ))],
    }
}

fn volume(dice: &Dice, name: &str) -> String {
    let (source, class) = if dice.below(3) == 0 {
        ("hostPath: {path: /tmp/data}", String::new())
    } else {
        let class = format!(", volumeAttributesClassName: {}", dice.pick(&CLASSES));
        ("csi: {driver: csi.example.com, volumeHandle: '1'}", class)
    };
    applied(&format!(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}}}\n\
        spec: {{capacity: {{storage: 1Gi}}, accessModes: [ReadWriteOnce], {source}{class}}}"
    ))
}

fn pod(dice: &Dice, namespace: &str, name: &str) -> String {
    let place = dice.pick(&["nodeName: node-0, ", "nodeName: node-1, ", "schedulerName: x, "]);
    let ends = dice.pick(&["", "", ", annotations: {sandbox/run-for: 2s}"]);
    let volume = |volume: &str| {
        format!(
            "{{name: {volume}, ephemeral: {{volumeClaimTemplate: \
            {{metadata: {{labels: {{of: {name}}}}}, spec: {{{CLAIM}}}}}}}}}"
        )
    };
    let volumes = if dice.chance(0.5) {
        format!("{}, {}", volume("a"), volume("b"))
    } else {
        volume(dice.pick(&["a", "b"]))
    };
    let lines = applied(&format!(
        "apiVersion: v1\nkind: Pod\n\
        metadata: {{name: {name}, namespace: {namespace}{ends}}}\n\
        spec: {{restartPolicy: Never, {place}containers: [{{name: main, image: 'img:0'}}],\n  \
        volumes: [{volumes}]}}"
    ));
    lines.replacen("> apply", "> create", 1)
}

/// As a user would have them.
fn finalizers(dice: &Dice, target: &str) -> String {
    let finalizers = dice.pick(&["null", r#"["example.com/wait"]"#]);
    format!("> patch {target} '{{\"metadata\":{{\"finalizers\":{finalizers}}}}}'\n")
}
