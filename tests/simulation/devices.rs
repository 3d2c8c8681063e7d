//! Claims of devices, and the pods that have them, drawn from a seed. The user is the scheduler and
//! the driver: nobody else says what is allocated.

use crate::dice::Dice;
use crate::workload::{NAMESPACES, applied, tick};

/// The driver and the class of all devices. The controller of claims runs in cases that name it.
pub(crate) const DRIVER: &str = "gpu.example.com";
/// What pods say of their claims; it runs in cases that have this, too.
pub(crate) const ENTRIES: &str = "resourceClaims";
/// What keeps a claim that is allocated.
const FINALIZER: &str = "resource.kubernetes.io/delete-protection";
const TEMPLATES: [&str; 2] = ["gpu", "tpu"];
/// What has devices, and taints of them. What evicts pods runs in cases that have it.
pub(crate) const SLICE: &str = "ResourceSlice";

/// Something about claims. Pods of the same name follow each other.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES[..2]);
    let name = format!("dev-{}", dice.below(3));
    let shared = format!("shared-{}", dice.below(2));
    let of = dice.pick(&TEMPLATES);
    let grace = dice.pick(&["", "", " --grace 0"]);
    let wait = tick(dice.pick(&[1, 100, 2000, 20_000]));
    let made = format!("resourceclaims -l of={of} --first 1 -n {namespace}");
    let given = format!("resourceclaim/{shared} -n {namespace}");
    match dice.below(14) {
        0 => vec![template(namespace, of)],
        1..=3 => vec![template(namespace, of), pod(dice, namespace, &name)],
        4..=5 => vec![claim(namespace, &shared), pod(dice, namespace, &name)],
        6 => vec![
            format!("> delete pod/{name} -n {namespace}{grace}\n"),
            wait,
            pod(dice, namespace, &name),
        ],
        7 => vec![format!("> delete pod/{name} -n {namespace}{grace}\n")],
        8 => vec![format!("> delete {made}\n")],
        9 => vec![format!("> delete {given}\n")],
        10 => [vec![claim(namespace, &shared)], allocated(dice, &given, namespace, &name)].concat(),
        11 => allocated(dice, &made, namespace, &name),
        12 => vec![format!("> delete {given}\n"), wait, claim(namespace, &shared)],
        _ => vec![format!("> delete resourceclaimtemplate/{of} -n {namespace}\n")],
    }
}

/// Devices of which some are tainted, and pods that have them or had them before.
pub(crate) fn taints(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES[..2]);
    let name = format!("dev-{}", dice.below(3));
    let shared = format!("shared-{}", dice.below(2));
    let given = format!("resourceclaim/{shared} -n {namespace}");
    let wait = tick(dice.pick(&[1, 100, 2000, 20_000]));
    let uses = || {
        let made = vec![claim(namespace, &shared), user(dice, namespace, &name, &shared)];
        [made, allocated(dice, &given, namespace, &name)].concat()
    };
    match dice.below(8) {
        0..=1 => vec![slice(dice)],
        2..=3 => [vec![slice(dice)], uses()].concat(),
        4..=6 => [uses(), vec![wait, slice(dice)]].concat(),
        _ => vec!["> delete resourceslice/node-0\n".to_owned()],
    }
}

/// The devices of a node, which may be tainted, and may have been so for a while.
fn slice(dice: &Dice) -> String {
    let taint = || {
        let effect = dice.pick(&["NoExecute", "NoExecute", "NoSchedule"]);
        let (key, value) = (dice.pick(&["bad", "worse"]), dice.pick(&["", "x"]));
        // It may have been added before it is shown, or after.
        let added = dice.pick(&["", "", ", timeAdded: '2026-01-01T00:02:00Z'"]);
        let taint =
            format!("{{key: example.com/{key}, value: '{value}', effect: {effect}{added}}}");
        if dice.chance(0.5) { taint } else { String::new() }
    };
    let devices =
        format!("{{name: gpu-0, taints: [{}]}}, {{name: gpu-1, taints: [{}]}}", taint(), taint());
    applied(&format!(
        "apiVersion: resource.k8s.io/v1\nkind: {SLICE}\nmetadata: {{name: node-0}}\n\
        spec: {{driver: {DRIVER}, nodeName: node-0, \
        pool: {{name: node-0, generation: 1, resourceSliceCount: 1}},\n  devices: [{devices}]}}"
    ))
}

/// A pod of a node with a claim.
fn user(dice: &Dice, namespace: &str, name: &str, claim: &str) -> String {
    let grace = dice.pick(&["", "terminationGracePeriodSeconds: 1, "]);
    let lines = applied(&format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
        spec: {{nodeName: node-0, {grace}containers: [{{name: main, image: 'img:0'}}],\n  \
        resourceClaims: [{{name: a, resourceClaimName: {claim}}}]}}"
    ));
    lines.replacen("> apply", "> create", 1)
}

/// What claims are made of.
pub(crate) fn template(namespace: &str, name: &str) -> String {
    applied(&format!(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\n\
        metadata: {{name: {name}, namespace: {namespace}}}\n\
        spec: {{metadata: {{labels: {{of: {name}}}}}, spec: {{devices: {{requests: \
        [{{name: a, exactly: {{deviceClassName: {DRIVER}}}}}]}}}}}}"
    ))
}

fn claim(namespace: &str, name: &str) -> String {
    applied(&format!(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n\
        metadata: {{name: {name}, namespace: {namespace}}}\n\
        spec: {{devices: {{requests: [{{name: a, exactly: {{deviceClassName: {DRIVER}}}}}]}}}}"
    ))
}

/// As the scheduler does it, for a pod or for one that gets its node otherwise.
fn allocated(dice: &Dice, claim: &str, namespace: &str, pod: &str) -> Vec<String> {
    let device = format!("gpu-{}", dice.below(2));
    let tolerations = dice.pick(&[
        "",
        "",
        r#","tolerations":[{"operator":"Exists","effect":"NoExecute"}]"#,
        r#","tolerations":[{"key":"example.com/bad","operator":"Exists"}]"#,
        r#","tolerations":[{"key":"example.com/bad","value":"x","operator":"Equal","effect":"NoExecute","tolerationSeconds":20}]"#,
    ]);
    let results = format!(
        r#"[{{"request":"a","driver":"{DRIVER}","pool":"node-0","device":"{device}"{tolerations}}}]"#
    );
    let uid = format!("<<pod/{pod} -n {namespace} .metadata.uid or 0-0-0>>");
    let user = format!(r#","reservedFor":[{{"resource":"pods","name":"{pod}","uid":"{uid}"}}]"#);
    let user = if dice.chance(0.5) { user.as_str() } else { "" };
    vec![
        format!("> patch {claim} '{{\"metadata\":{{\"finalizers\":[\"{FINALIZER}\"]}}}}'\n"),
        format!(
            "> patch status {claim} '{{\"status\":{{\"allocation\":{{\"devices\":\
            {{\"results\":{results}}}}}{user}}}}}'\n"
        ),
    ]
}

fn pod(dice: &Dice, namespace: &str, name: &str) -> String {
    let place = dice.pick(&["nodeName: node-0, ", "nodeName: node-1, ", "schedulerName: x, ", ""]);
    let ends = dice.pick(&["", "", ", annotations: {sandbox/run-for: 2s}"]);
    let entry = |name: &str| {
        let from = dice.pick(&[
            "resourceClaimTemplateName: gpu",
            "resourceClaimTemplateName: tpu",
            "resourceClaimName: shared-0",
            "resourceClaimName: shared-1",
        ]);
        format!("{{name: {name}, {from}}}")
    };
    let entries =
        if dice.chance(0.4) { format!("{}, {}", entry("a"), entry("b")) } else { entry("a") };
    let lines = applied(&format!(
        "apiVersion: v1\nkind: Pod\n\
        metadata: {{name: {name}, namespace: {namespace}{ends}}}\n\
        spec: {{restartPolicy: Never, {place}containers: [{{name: main, image: 'img:0'}}],\n  \
        resourceClaims: [{entries}]}}"
    ));
    lines.replacen("> apply", "> create", 1)
}
