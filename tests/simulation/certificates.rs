//! Kubelets and pods that want certificates, drawn from a seed.

use crate::dice::Dice;
use crate::workload::{NAMESPACES, applied, tick};

/// The role without which no kubelet gets a certificate. In the sandbox everybody may do
/// everything; [`crate::oracle::Oracle::reviewed`] says which response the manager gets.
pub(crate) const GRANT: &str = "kubelets-join";
pub(crate) const SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
pub(crate) const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
pub(crate) const SERVING: &str = "kubernetes.io/kubelet-serving";
/// In cases with a request of such a name the signers run.
pub(crate) const SIGNED: &str = "signed-";
/// What a kubelet asks for: the name `system:node:n`, of `system:nodes`.
pub(crate) const KUBELET: &str = "\
    LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlHdU1HSUNBUUF3THpFVk1CTUdBMVVFQ2hNTWMz\
    bHpkR1Z0T201dlpHVnpNUll3RkFZRFZRUURFdzF6ZVhOMApaVzA2Ym05a1pUcHVNQ293QlFZREsyVndBeUVBaWgr\
    TzFRdk1WUjJJMGgzTXUvYVZNNEJnWHR6cnpMUmViMExICnA2NmpVVmFnQURBRkJnTXJaWEFEUVFCVEIxQll4VzNX\
    KytkMklnOEZWbWxlaHZXV2kvTEdRSG5IZHhFS0xoZisKODJTT2ZITmZYUzhGbWtVMEhKdEppZWRybmdxMjVPc3J2\
    eFhuM08wVUYxY00KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
/// A request of another user: the name `jane`.
const OTHER: &str = "\
    LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlHT01FSUNBUUF3RHpFTk1Bc0dBMVVFQXhNRWFt\
    RnVaVEFxTUFVR0F5dGxjQU1oQUlvZmp0VUx6RlVkaU5JZAp6THYybFRPQVlGN2M2OHkwWG05Q3g2ZXVvMUZXb0FB\
    d0JRWURLMlZ3QTBFQWpXaDFLdFFVQmlTOHlJdytEbmtrCmxNZG1acGFMQUFCV1BXcnBUU1ZBS1YyK3hCcmRvcUNx\
    UGwxS1BiNEw3aGtPb1JWNnNzUkprN2k2bUFZeVJ4MmwKRHc9PQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNU\
    LS0tLS0K";

/// A certificate that has long ended: as much of one as the manager reads.
const ENDED: &str = "\
    LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1Da3dKd0lCQVRBQU1BQXdIaGNOTWpBd01UQXhNREF3TURBd1do\
    Y05NakV3TVRBeE1EQXdNREF3V2c9PQotLS0tLUVORCBDRVJUSUZJQ0FURS0tLS0tCg==";
/// The kind of the requests of pods, which the API server serves only if it is asked to; here a
/// user defines it. What cleans up after them runs only in cases that have it.
pub(crate) const OF_PODS: &str = "podcertificaterequests";
const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: podcertificaterequests.certificates.k8s.io, annotations: \
    {api-approved.kubernetes.io: unapproved}}
spec:
  group: certificates.k8s.io
  names: {kind: PodCertificateRequest, plural: podcertificaterequests, \
    singular: podcertificaterequest, listKind: PodCertificateRequestList}
  scope: Namespaced
  versions:
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, \
    x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: 'system:controller:podcertificaterequestcleaner'}
rules:
- {apiGroups: [certificates.k8s.io], resources: [podcertificaterequests], \
  verbs: [get, list, watch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: 'system:controller:podcertificaterequestcleaner'}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, \
  name: 'system:controller:podcertificaterequestcleaner'}
subjects: [{kind: ServiceAccount, name: podcertificaterequestcleaner, namespace: kube-system}]";

/// Something about certificates.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let name = format!("csr-{}", dice.below(4));
    vec![match dice.below(10) {
        0..=3 => wish(dice, &name),
        4..=5 => applied(&format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n\
            metadata: {{name: {GRANT}}}\nrules: []"
        )),
        6 => format!("> delete clusterrole/{GRANT}\n"),
        7 => {
            format!("> patch status csr/{name} '{{\"status\":{{\"certificate\":\"{ENDED}\"}}}}'\n")
        }
        8 => {
            let at = dice.pick(&["2025-12-31T00:00:00Z", "2026-01-01T00:00:00Z"]);
            let failed = format!(r#"{{"type":"Failed","status":"True","lastUpdateTime":"{at}"}}"#);
            format!("> patch status csr/{name} '{{\"status\":{{\"conditions\":[{failed}]}}}}'\n")
        }
        _ => format!("> delete csr/{name}\n"),
    }]
}

/// Somebody asks for certificates, and people decide on that.
pub(crate) fn signing(dice: &Dice) -> Vec<String> {
    let name = format!("{SIGNED}{}", dice.below(4));
    let decided = |word: &str| {
        let condition = format!(r#"{{"type":"{word}","status":"True","reason":"User"}}"#);
        format!("> patch approval csr/{name} '{{\"status\":{{\"conditions\":[{condition}]}}}}'\n")
    };
    let asked = asked(dice, &name);
    match dice.below(8) {
        0..=1 => vec![asked],
        2..=4 => {
            let wait = tick(dice.pick(&[1, 100, 3000]));
            vec![asked, wait, decided("Approved")]
        }
        5 => vec![decided(dice.pick(&["Approved", "Approved", "Denied"]))],
        6 => vec![format!("> delete csr/{name}\n")],
        _ => vec![format!("> delete csr/{name}\n"), asked, decided("Approved")],
    }
}

fn asked(dice: &Dice, name: &str) -> String {
    let (signer, request, usages) = dice.pick(&[
        (CLIENT, OTHER, "client auth"),
        (CLIENT, OTHER, "digital signature, client auth"),
        (CLIENT, KUBELET, "key encipherment, client auth"),
        (SIGNER, KUBELET, "digital signature, client auth"),
        // These are not signed.
        (CLIENT, OTHER, "client auth, server auth"),
        (SERVING, KUBELET, "digital signature, server auth"),
        ("example.com/signer", OTHER, "client auth"),
    ]);
    let lasts = dice.pick(&["", ", expirationSeconds: 600", ", expirationSeconds: 7200"]);
    let lasts = if dice.chance(0.2) { ", expirationSeconds: 99999999" } else { lasts };
    applied(&format!(
        "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\n\
        metadata: {{name: {name}}}\n\
        spec: {{signerName: {signer}, usages: [{usages}], request: {request}{lasts}}}"
    ))
    .replacen("> apply", "> create", 1)
}

/// Pods want certificates.
pub(crate) fn of_pods(dice: &Dice) -> Vec<String> {
    let (namespace, name) = (dice.pick(&NAMESPACES[..2]), format!("pcr-{}", dice.below(4)));
    match dice.below(10) {
        8..=9 => defined(),
        0..=4 => vec![wish_of_pod(namespace, &name)],
        5 => vec![format!("> delete podcertificaterequest/{name} -n {namespace}\n")],
        _ => vec![tick(dice.pick(&[60_000, 300_000]))],
    }
}

/// From now on they can.
pub(crate) fn defined() -> Vec<String> {
    vec![applied(DEFINITION)]
}

fn wish_of_pod(namespace: &str, name: &str) -> String {
    applied(&format!(
        "apiVersion: certificates.k8s.io/v1beta1\nkind: PodCertificateRequest\n\
        metadata: {{name: {name}, namespace: {namespace}}}\n\
        spec: {{signerName: example.com/signer, podName: web}}"
    ))
}

fn wish(dice: &Dice, name: &str) -> String {
    let request = dice.pick(&[KUBELET, KUBELET, KUBELET, OTHER, "bm8gUEVN"]);
    let signer = dice.pick(&[SIGNER, SIGNER, SIGNER, SERVING]);
    let usages = dice.pick(&["digital signature, client auth", "client auth"]);
    applied(&format!(
        "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\n\
        metadata: {{name: {name}}}\n\
        spec: {{signerName: {signer}, usages: [{usages}], request: {request}}}"
    ))
    .replacen("> apply", "> create", 1)
}
