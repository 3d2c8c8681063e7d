//! Claims for storage and pods that use them, drawn from a seed.

use crate::dice::Dice;
use crate::workload::{NAMESPACES, applied, tick};

/// Something about claims.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES[..2]);
    let name = format!("data-{}", dice.below(3));
    let pods = format!("pods -l app=user --first {} -n {namespace}", 1 + dice.below(2));
    match dice.below(12) {
        0..=2 => vec![claim(namespace, &name)],
        3..=4 => vec![claim(namespace, &name), user(dice, namespace, &name)],
        5 => vec![user(dice, namespace, &name)],
        6..=7 => vec![format!("> delete pvc/{name} -n {namespace}\n")],
        8 => {
            // A pod that the cache may not show yet.
            let mut acts = vec![claim(namespace, &name), user(dice, namespace, &name)];
            acts.push(tick(dice.pick(&[1, 100, 1000])));
            acts.push(format!("> delete pvc/{name} -n {namespace}\n"));
            acts
        }
        9..=10 => vec![format!("> delete {pods}{}\n", dice.pick(&["", " --grace 0"]))],
        _ => {
            let finalizers = dice.pick(&["null", r#"["example.com/wait"]"#]);
            let patch = format!(r#"{{"metadata":{{"finalizers":{finalizers}}}}}"#);
            vec![format!("> patch pvc/{name} -n {namespace} '{patch}'\n")]
        }
    }
}

fn claim(namespace: &str, name: &str) -> String {
    applied(&format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\n\
        metadata: {{name: {name}, namespace: {namespace}}}\n\
        spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}"
    ))
}

/// A pod that uses a claim: on a node, or wherever there is room for it, or nowhere; now and then
/// it ends.
fn user(dice: &Dice, namespace: &str, claim: &str) -> String {
    let place = dice.pick(&["nodeName: node-0, ", "nodeName: node-1, ", "", "schedulerName: x, "]);
    let ends = dice.pick(&["", "", ", annotations: {sandbox/run-for: 2s}"]);
    let lines = applied(&format!(
        "apiVersion: v1\nkind: Pod\n\
        metadata: {{generateName: user-, namespace: {namespace}, labels: {{app: user}}{ends}}}\n\
        spec: {{restartPolicy: Never, {place}containers: [{{name: main, image: 'img:0'}}],\n  \
        volumes: [{{name: data, persistentVolumeClaim: {{claimName: {claim}}}}}]}}"
    ));
    lines.replacen("> apply", "> create", 1)
}
