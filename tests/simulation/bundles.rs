//! Bundles of authorities, drawn from a seed.

use crate::dice::Dice;
use crate::workload::applied;

/// The kind, which the API server serves only if it is asked to; here a user defines it. What
/// publishes the authority of the API server runs only in cases that have it, and there alone the
/// managers know of an authority.
pub(crate) const BUNDLES: &str = "clustertrustbundles";
pub(crate) const SIGNER: &str = "kubernetes.io/kube-apiserver-serving";
/// Of the authority, by its hash.
pub(crate) const NAME: &str = "kubernetes.io:kube-apiserver-serving:f30e835d39bdab8e3a31b560";
pub(crate) const AUTHORITY: &str = include_str!("../../pkg/manager/testdata/ca.crt");
const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clustertrustbundles.certificates.k8s.io, annotations: \
    {api-approved.kubernetes.io: unapproved}}
spec:
  group: certificates.k8s.io
  names: {kind: ClusterTrustBundle, plural: clustertrustbundles, singular: clustertrustbundle, \
    listKind: ClusterTrustBundleList}
  scope: Cluster
  versions:
  - name: v1beta1
    served: true
    storage: true
    selectableFields: [{jsonPath: .spec.signerName}]
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: \
      {signerName: {type: string}, trustBundle: {type: string}}}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: 'system:controller:kube-apiserver-serving-clustertrustbundle-publisher'}
rules:
- {apiGroups: [certificates.k8s.io], resources: [signers], \
  resourceNames: [kubernetes.io/kube-apiserver-serving], verbs: [attest]}
- {apiGroups: [certificates.k8s.io], resources: [clustertrustbundles], \
  verbs: [create, update, delete, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: 'system:controller:kube-apiserver-serving-clustertrustbundle-publisher'}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, \
  name: 'system:controller:kube-apiserver-serving-clustertrustbundle-publisher'}
subjects: [{kind: ServiceAccount, name: kube-apiserver-serving-clustertrustbundle-publisher, \
  namespace: kube-system}]";

/// Something about bundles.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let right = format!("clustertrustbundle/{NAME}");
    let other = format!("kubernetes.io:kube-apiserver-serving:{}", dice.pick(&["a", "b"]));
    let bundle = |name: &str, signer: &str, content: &str| {
        applied(&format!(
            "apiVersion: certificates.k8s.io/v1beta1\nkind: ClusterTrustBundle\n\
            metadata: {{name: '{name}'}}\n\
            spec: {{signerName: {signer}, trustBundle: {content}}}"
        ))
    };
    match dice.below(9) {
        0..=2 => vec![applied(DEFINITION)],
        3 => vec![format!("> delete {right}\n")],
        4 => vec![format!("> patch {right} '{{\"spec\":{{\"trustBundle\":\"odd\"}}}}'\n")],
        5..=6 => vec![bundle(&other, SIGNER, "old")],
        7 => vec![format!("> delete {right}\n"), bundle(&other, SIGNER, "old")],
        _ => vec![bundle("test.test:unrelated:0", "test.test/unrelated", "other")],
    }
}
