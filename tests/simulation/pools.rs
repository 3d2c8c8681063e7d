//! Questions about pools of devices, drawn from a seed.

use crate::devices;
use crate::dice::Dice;
use crate::workload::{applied, tick};

/// The kind, which the API server serves only if it is asked to; here a user defines it. What
/// answers runs only in cases that have it.
pub(crate) const REQUESTS: &str = "resourcepoolstatusrequests";
const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: resourcepoolstatusrequests.resource.k8s.io, annotations: \
    {api-approved.kubernetes.io: unapproved}}
spec:
  group: resource.k8s.io
  names: {kind: ResourcePoolStatusRequest, plural: resourcepoolstatusrequests, \
    singular: resourcepoolstatusrequest, listKind: ResourcePoolStatusRequestList}
  scope: Cluster
  versions:
  - {name: v1alpha3, served: true, storage: true, subresources: {status: {}}, \
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: 'system:controller:resourcepoolstatusrequest-controller'}
rules:
- {apiGroups: [resource.k8s.io], resources: [resourcepoolstatusrequests], \
  verbs: [get, list, watch, delete]}
- {apiGroups: [resource.k8s.io], resources: [resourcepoolstatusrequests/status], \
  verbs: [update, patch]}
- {apiGroups: [resource.k8s.io], resources: [resourceslices, resourceclaims], \
  verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: 'system:controller:resourcepoolstatusrequest-controller'}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, \
  name: 'system:controller:resourcepoolstatusrequest-controller'}
subjects: [{kind: ServiceAccount, name: resourcepoolstatusrequest-controller, \
  namespace: kube-system}]";

/// From now on they can be asked.
pub(crate) fn defined() -> Vec<String> {
    vec![applied(DEFINITION)]
}

/// A question, or what it is about.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let name = format!("ask-{}", dice.below(4));
    match dice.below(10) {
        0 => defined(),
        1..=4 => vec![asked(dice, &name)],
        5 => devices::taints(dice),
        6 => vec![slice(dice), asked(dice, &name)],
        7 => vec![slice(dice)],
        8 => vec![format!("> delete resourcepoolstatusrequest/{name}\n")],
        _ => vec![tick(dice.pick(&[60_000, 300_000]))],
    }
}

fn asked(dice: &Dice, name: &str) -> String {
    let driver = devices::DRIVER;
    let more = dice.pick(&["", "", ", poolName: pool-0", ", limit: 1"]);
    let lines = applied(&format!(
        "apiVersion: resource.k8s.io/v1alpha3\nkind: ResourcePoolStatusRequest\n\
        metadata: {{name: {name}}}\nspec: {{driver: {driver}{more}}}"
    ));
    lines.replacen("> apply", "> create", 1)
}

/// A pool that all nodes can use.
fn slice(dice: &Dice) -> String {
    let (kind, driver, number) = (devices::SLICE, devices::DRIVER, dice.below(2));
    let generation = 1 + dice.below(2);
    applied(&format!(
        "apiVersion: resource.k8s.io/v1\nkind: {kind}\nmetadata: {{name: pool-{number}}}\n\
        spec: {{driver: {driver}, allNodes: true, pool: {{name: pool-{number}, \
        generation: {generation}, resourceSliceCount: 1}}, devices: [{{name: gpu-0}}]}}"
    ))
}
