//! API servers that come and go, and what they say of how they store kinds, drawn from a seed.

use crate::dice::Dice;
use crate::workload::{applied, tick};

/// The kind of what they say, which is served only if the API server is asked to; here a user
/// defines it. What cleans up after them runs only in cases that have it.
pub(crate) const VERSIONS: &str = "storageversions";
/// Marks their Leases.
pub(crate) const IDENTITY: &str = "apiserver.kubernetes.io/identity";
const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: storageversions.internal.apiserver.k8s.io, annotations: \
    {api-approved.kubernetes.io: unapproved}}
spec:
  group: internal.apiserver.k8s.io
  names: {kind: StorageVersion, plural: storageversions, singular: storageversion, \
    listKind: StorageVersionList}
  scope: Cluster
  versions:
  - {name: v1alpha1, served: true, storage: true, subresources: {status: {}}, schema: \
    {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: 'system:controller:storage-version-garbage-collector'}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, watch]}
- {apiGroups: [internal.apiserver.k8s.io], resources: [storageversions], \
  verbs: [get, list, watch, patch, update, delete]}
- {apiGroups: [internal.apiserver.k8s.io], resources: [storageversions/status], \
  verbs: [get, patch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: 'system:controller:storage-version-garbage-collector'}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, \
  name: 'system:controller:storage-version-garbage-collector'}
subjects: [{kind: ServiceAccount, name: storage-version-garbage-collector, \
  namespace: kube-system}]";

/// Something about API servers.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let server = dice.pick(&["server-a", "server-b", "server-c"]);
    let name = dice.pick(&["core.pods", "apps.deployments"]);
    let lease = applied(&format!(
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\n\
        metadata: {{name: {server}, namespace: kube-system, labels: \
        {{{IDENTITY}: kube-apiserver}}}}\n\
        spec: {{holderIdentity: {server}, leaseDurationSeconds: 3600}}"
    ));
    let gone = format!("> delete lease/{server} -n kube-system\n");
    match dice.below(10) {
        0..=1 => vec![applied(DEFINITION)],
        2..=3 => vec![lease],
        4 => vec![gone],
        5..=7 => said(dice, name, server),
        8 => {
            // It comes back, perhaps before it was missed.
            let wait = tick(dice.pick(&[1, 20, 300]));
            vec![gone, wait, lease]
        }
        _ => {
            let wait = tick(dice.pick(&[1, 20, 300]));
            [said(dice, name, server), vec![wait, lease]].concat()
        }
    }
}

/// What one API server says alone, or with another one.
fn said(dice: &Dice, name: &str, server: &str) -> Vec<String> {
    let entry = |server: &str, version: &str| {
        format!(
            r#"{{"apiServerID":"{server}","encodingVersion":"{version}","decodableVersions":["{version}"]}}"#
        )
    };
    let mut entries = vec![entry(server, dice.pick(&["v1", "v2"]))];
    if server != "server-c" && dice.chance(0.5) {
        entries.push(entry("server-c", dice.pick(&["v1", "v2"])));
    }
    let entries = entries.join(",");
    let make = applied(&format!(
        "apiVersion: internal.apiserver.k8s.io/v1alpha1\nkind: StorageVersion\n\
        metadata: {{name: {name}}}\nspec: {{}}"
    ));
    let status = format!(r#"{{"status":{{"storageVersions":[{entries}]}}}}"#);
    vec![make, format!("> patch status storageversion/{name} '{status}'\n")]
}
