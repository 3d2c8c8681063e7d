//! Wishes that all objects of a kind are stored anew, drawn from a seed.

use crate::dice::Dice;
use crate::workload::{NAMESPACES, applied, tick};

/// The kind, which the API server serves only if it is asked to; here a user defines it. The
/// migrator runs in cases that have it.
pub(crate) const MIGRATIONS: &str = "storageversionmigrations";
const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: storageversionmigrations.storagemigration.k8s.io, annotations: \
    {api-approved.kubernetes.io: unapproved}}
spec:
  group: storagemigration.k8s.io
  names: {kind: StorageVersionMigration, plural: storageversionmigrations, singular: \
    storageversionmigration, listKind: StorageVersionMigrationList}
  scope: Cluster
  versions:
  - {name: v1beta1, served: true, storage: true, subresources: {status: {}}, \
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: 'system:controller:storage-version-migrator-controller'}
rules:
- {apiGroups: ['*'], resources: ['*'], verbs: [list, create, patch]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions/status], \
  verbs: [patch]}
- {apiGroups: [storagemigration.k8s.io], resources: [storageversionmigrations/status], \
  verbs: [update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: 'system:controller:storage-version-migrator-controller'}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, \
  name: 'system:controller:storage-version-migrator-controller'}
subjects: [{kind: ServiceAccount, name: storage-version-migrator-controller, \
  namespace: kube-system}]";

/// Something about migrations, and about what they store.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let namespace = dice.pick(&NAMESPACES[..2]);
    let name = format!("stored-{}", dice.below(4));
    let wait = || tick(dice.pick(&[1, 1, 100, 2000, 20_000]));
    match dice.below(8) {
        0..=1 => vec![object(namespace, &name, dice.below(9))],
        2 => vec![format!("> delete configmap/{name} -n {namespace}\n")],
        3 => vec![defined(), format!("> delete storageversionmigration/m-{}\n", dice.below(2))],
        4..=5 => {
            let more = object(namespace, &name, dice.below(9));
            vec![more, defined(), migration(dice), wait(), object(namespace, &name, dice.below(9))]
        }
        _ => {
            let gone = format!("> delete configmap/{name} -n {namespace}\n");
            vec![defined(), migration(dice), wait(), gone, object(namespace, &name, 1)]
        }
    }
}

fn defined() -> String {
    applied(DEFINITION)
}

fn object(namespace: &str, name: &str, value: u64) -> String {
    applied(&format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\n\
        data: {{value: '{value}'}}"
    ))
}

fn migration(dice: &Dice) -> String {
    let resource = dice.pick(&[
        "group: '', resource: configmaps",
        "group: '', resource: configmaps",
        "group: apps, resource: deployments",
        "group: example.com, resource: gadgets",
    ]);
    let lines = applied(&format!(
        "apiVersion: storagemigration.k8s.io/v1beta1\nkind: StorageVersionMigration\n\
        metadata: {{name: m-{}}}\nspec: {{resource: {{{resource}}}}}",
        dice.below(2)
    ));
    // What it is of cannot change.
    lines.replacen("> apply", "> create", 1)
}
