//! Pods that are scheduled together, drawn from a seed.

use crate::dice::Dice;
use crate::workload::{NAMESPACES, applied, tick};

/// The kind, which the API server serves only if it is asked to; here a user defines it. What keeps
/// groups runs only in cases that have it.
pub(crate) const GROUPS: &str = "podgroups";
/// What a group has from its creation on; on a real API server admission adds it.
const FINALIZER: &str = "scheduling.k8s.io/podgroup-protection";
const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: podgroups.scheduling.k8s.io, annotations: \
    {api-approved.kubernetes.io: unapproved}}
spec:
  group: scheduling.k8s.io
  names: {kind: PodGroup, plural: podgroups, singular: podgroup, listKind: PodGroupList}
  scope: Namespaced
  versions:
  - {name: v1alpha2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, \
    x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: 'system:controller:podgroup-protection-controller'}
rules:
- {apiGroups: [scheduling.k8s.io], resources: [podgroups], verbs: [get, list, watch, update]}
- {apiGroups: [''], resources: [pods], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: 'system:controller:podgroup-protection-controller'}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, \
  name: 'system:controller:podgroup-protection-controller'}
subjects: [{kind: ServiceAccount, name: podgroup-protection-controller, namespace: kube-system}]";

/// From now on there can be groups.
pub(crate) fn defined() -> Vec<String> {
    vec![applied(DEFINITION)]
}

/// Something about groups and their pods.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES[..2]);
    let (group, name) = (format!("gang-{}", dice.below(2)), format!("ganged-{}", dice.below(3)));
    let grace = dice.pick(&["", " --grace 0"]);
    let wait = tick(dice.pick(&[1, 100, 2000, 20_000]));
    match dice.below(10) {
        0 => defined(),
        1 => vec![made(namespace, &group)],
        2..=4 => vec![made(namespace, &group), pod(dice, namespace, &name, &group)],
        5..=7 => vec![
            made(namespace, &group),
            pod(dice, namespace, &name, &group),
            wait,
            format!("> delete podgroup/{group} -n {namespace}\n"),
        ],
        8 => vec![format!("> delete podgroup/{group} -n {namespace}\n")],
        _ => vec![format!("> delete pod/{name} -n {namespace}{grace}\n")],
    }
}

fn made(namespace: &str, name: &str) -> String {
    let lines = applied(&format!(
        "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\n\
        metadata: {{name: {name}, namespace: {namespace}, finalizers: [{FINALIZER}]}}\n\
        spec: {{schedulingPolicy: {{basic: {{}}}}}}"
    ));
    lines.replacen("> apply", "> create", 1)
}

fn pod(dice: &Dice, namespace: &str, name: &str, group: &str) -> String {
    let place = dice.pick(&["nodeName: node-0, ", "schedulerName: x, "]);
    let ends = dice.pick(&["", "", ", annotations: {sandbox/run-for: 2s}"]);
    let lines = applied(&format!(
        "apiVersion: v1\nkind: Pod\n\
        metadata: {{name: {name}, namespace: {namespace}{ends}}}\n\
        spec: {{restartPolicy: Never, {place}containers: [{{name: main, image: 'img:0'}}],\n  \
        schedulingGroup: {{podGroupName: {group}}}}}"
    ));
    lines.replacen("> apply", "> create", 1)
}
