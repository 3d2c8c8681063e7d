//! Kubelets that want certificates, drawn from a seed.

use crate::dice::Dice;
use crate::workload::applied;

/// The role without which no kubelet gets a certificate. In the sandbox everybody may do
/// everything; [`crate::oracle::Oracle::reviewed`] says which response the manager gets.
pub(crate) const GRANT: &str = "kubelets-join";
pub(crate) const SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
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

/// Something about certificates.
pub(crate) fn acts(dice: &Dice) -> Vec<String> {
    let name = format!("csr-{}", dice.below(4));
    vec![match dice.below(8) {
        0..=3 => wish(dice, &name),
        4..=5 => applied(&format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n\
            metadata: {{name: {GRANT}}}\nrules: []"
        )),
        6 => format!("> delete clusterrole/{GRANT}\n"),
        _ => format!("> delete csr/{name}\n"),
    }]
}

fn wish(dice: &Dice, name: &str) -> String {
    let request = dice.pick(&[KUBELET, KUBELET, KUBELET, OTHER, "bm8gUEVN"]);
    let signer = dice.pick(&[SIGNER, SIGNER, SIGNER, "kubernetes.io/kubelet-serving"]);
    let usages = dice.pick(&["digital signature, client auth", "client auth"]);
    applied(&format!(
        "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\n\
        metadata: {{name: {name}}}\n\
        spec: {{signerName: {signer}, usages: [{usages}], request: {request}}}"
    ))
    .replacen("> apply", "> create", 1)
}
