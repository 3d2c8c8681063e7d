//! Services, drawn from a seed, and Endpoints that people make.

use crate::dice::Dice;
use crate::workload::{NAMESPACES, applied, tick};

/// By the label of pods that workloads have; the last one selects nothing, and people make its
/// Endpoints.
const NAMES: [&str; 4] = ["web", "plain", "agent", CUSTOM];
pub(crate) const CUSTOM: &str = "custom";
/// What else a Service may say.
const MORE: [&str; 5] = [
    "",
    "",
    ", publishNotReadyAddresses: true",
    ", trafficDistribution: PreferSameNode",
    ", sessionAffinity: ClientIP",
];
const PORTS: [&str; 3] = [
    "[{port: 80}]",
    "[{port: 80, targetPort: 8080}]",
    "[{name: a, port: 80}, {name: b, port: 81, protocol: UDP}]",
];

/// Something about Services.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let (namespace, name) = (dice.pick(&NAMESPACES[..2]), dice.pick(&NAMES));
    let service = format!("service/{name} -n {namespace}");
    let slices = format!("endpointslices -l kubernetes.io/service-name={name} -n {namespace}");
    let mut acts = vec![match dice.below(14) {
        0..=3 => apply(dice, namespace, name),
        4 => format!("> label {service} {}\n", dice.pick(&["team=a", "team=b", "team-"])),
        5 => {
            let publishes = dice.pick(&["true", "false"]);
            format!(
                "> patch {service} '{{\"spec\":{{\"publishNotReadyAddresses\":{publishes}}}}}'\n"
            )
        }
        6..=7 => format!("> delete {service}\n"),
        8 => return again(dice, namespace, name),
        9 => custom(dice, namespace),
        10 => {
            let label = dice.pick(&["=true", "=false", "-"]);
            let skip = format!("endpointslice.kubernetes.io/skip-mirror{label}");
            format!("> label endpoints/{CUSTOM} -n {namespace} {skip}\n")
        }
        11 => format!("> delete endpoints/{name} -n {namespace}\n"),
        12 => format!("> delete {slices}\n"),
        _ => {
            let selector = dice.pick(&["null", r#"{"app":"web"}"#]);
            let patch = format!("{{\"spec\":{{\"selector\":{selector}}}}}");
            format!("> patch service/{CUSTOM} -n {namespace} '{patch}'\n")
        }
    }];
    acts.extend(dice.chance(0.2).then(|| custom(dice, namespace)));
    acts
}

/// A Service that is deleted and made again, with the Endpoints that people have made for it.
pub(crate) fn again(dice: &Dice, namespace: &str, name: &str) -> Vec<String> {
    let mut acts = vec![apply(dice, namespace, name)];
    acts.extend((name == CUSTOM).then(|| custom(dice, namespace)));
    acts.push(tick(dice.pick(&[300, 5000, 30_000])));
    acts.push(format!("> delete service/{name} -n {namespace}\n"));
    acts.push(tick(dice.pick(&[1, 20, 300])));
    acts.push(apply(dice, namespace, name));
    acts
}

fn apply(dice: &Dice, namespace: &str, name: &str) -> String {
    let (ports, more) = (dice.pick(&PORTS), dice.pick(&MORE));
    let selector = match name {
        CUSTOM => String::new(),
        app => format!("selector: {{app: {app}}}, "),
    };
    applied(&format!(
        "apiVersion: v1\nkind: Service\n\
        metadata: {{name: {name}, namespace: {namespace}}}\n\
        spec: {{{selector}ports: {ports}{more}}}"
    ))
}

fn custom(dice: &Dice, namespace: &str) -> String {
    let (one, two) = (1 + dice.below(3), 1 + dice.below(3));
    let other = dice.pick(&["", "notReadyAddresses: [{ip: 192.0.2.77}], "]);
    let ready = format!("{{addresses: [{{ip: 192.0.2.{one}}}], {other}ports: [{{port: 5432}}]}}");
    let more = format!("{{addresses: [{{ip: 'fd00::{two}'}}], ports: [{{port: 5433}}]}}");
    let subsets = dice.pick(&[format!("[{ready}]"), format!("[{ready}, {more}]"), "[]".to_owned()]);
    applied(&format!(
        "apiVersion: v1\nkind: Endpoints\n\
        metadata: {{name: {CUSTOM}, namespace: {namespace}}}\nsubsets: {subsets}"
    ))
}
