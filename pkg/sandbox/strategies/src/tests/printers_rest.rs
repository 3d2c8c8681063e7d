//! pkg/printers/internalversion/printers_test.go, of the other groups.

use serde_json::{Value, json};

use super::EARLIER;
use super::printers::check;
use crate::fixture::now;
use crate::{
    APIService, Binding, CSIDriver, CSINode, CertificateSigningRequest, EndpointSlice, IPAddress,
    Lease, PriorityClass, ResourceClaim, ResourceSlice, StorageClass, Strategy as _,
    ValidatingAdmissionPolicyBinding, VolumeAttachment,
};

/// An object with a name, five minutes old.
#[expect(clippy::needless_pass_by_value, reason = "tables read better so")]
fn named(part: Value) -> Value {
    let mut object = json!({ "metadata": { "name": "n", "creationTimestamp": EARLIER } });
    for (key, value) in part.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}

#[test]
fn networking() {
    let slice = json!({ "addressType": "IPv4",
        "ports": [{ "name": "http", "port": 80 }, { "name": "x" }, {}, { "port": 1 }],
        "endpoints": [{ "addresses": ["10.1.2.3", "10.1.2.4"] }, { "addresses": ["10.1.2.5"] },
            { "addresses": ["10.1.2.6"] }] });
    check(&[
        (
            "TestPrintEndpointSlice",
            &EndpointSlice,
            named(slice),
            json!([
                "n",
                "IPv4",
                "80,x,* + 1 more...",
                "10.1.2.3,10.1.2.4,10.1.2.5 + 1 more...",
                "5m"
            ]),
        ),
        (
            "TestPrintEndpointSlice: unset",
            &EndpointSlice,
            named(json!({ "addressType": "IPv4" })),
            json!(["n", "IPv4", "<unset>", "<unset>", "5m"]),
        ),
    ]);
    let address = named(json!({ "spec": { "parentRef": { "group": "mygroup",
        "resource": "myresource", "namespace": "mynamespace", "name": "myname" } } }));
    let row = json!(["n", "myresource.mygroup/mynamespace/myname", "5m"]);
    assert_eq!(json!(IPAddress.row(&address, now())), row, "TestPrintIPAddress");
    assert_eq!(IPAddress.columns().len(), 2, "upstream's age has no heading");
}

#[test]
fn access_and_certificates() {
    let bound = json!({ "roleRef": { "kind": "ClusterRole", "name": "admin" }, "subjects": [
        { "kind": "User", "name": "user1" }, { "kind": "User", "name": "user2" },
        { "kind": "Group", "name": "group1" },
        { "kind": "ServiceAccount", "name": "sa", "namespace": "ns" }] });
    let request = |conditions: &[&str], certificate: &str| {
        let conditions: Vec<_> = conditions.iter().map(|it| json!({ "type": it })).collect();
        named(json!({ "spec": { "username": "CSR Requestor", "expirationSeconds": 608_400 },
            "status": { "conditions": conditions, "certificate": certificate } }))
    };
    let cells = |status: &str| json!(["n", "5m", "<none>", "CSR Requestor", "7d1h", status]);
    let csr = &CertificateSigningRequest;
    check(&[
        (
            "TestPrintClusterRoleBinding: wide",
            &Binding::OF_CLUSTER_ROLE,
            named(bound),
            json!(["n", "ClusterRole/admin", "5m", "user1, user2", "group1", "ns/sa"]),
        ),
        ("TestPrintCertificateSigningRequest", csr, request(&[], ""), cells("Pending")),
        (
            "TestPrintCertificateSigningRequest: issued",
            csr,
            request(&["Approved"], "Y2VydA=="),
            cells("Approved,Issued"),
        ),
        (
            "TestPrintCertificateSigningRequest: denied wins",
            csr,
            request(&["Approved", "Denied", "Failed"], ""),
            cells("Denied,Failed"),
        ),
        (
            "TestPrintLease",
            &Lease,
            named(json!({ "spec": { "holderIdentity": "holder" } })),
            json!(["n", "holder", "5m"]),
        ),
        (
            "TestPrintPriorityClass: wide",
            &PriorityClass,
            named(json!({ "value": 1, "globalDefault": true, "preemptionPolicy": "Never" })),
            json!(["n", 1, true, "5m", "Never"]),
        ),
    ]);
}

#[test]
fn storage_and_devices() {
    let attached = json!({ "spec": { "attacher": "a", "nodeName": "node",
        "source": { "persistentVolumeName": "pv" } }, "status": { "attached": true } });
    let mut default = named(json!({ "provisioner": "kubernetes.io/nfs" }));
    default["metadata"]["annotations"] =
        json!({ "storageclass.kubernetes.io/is-default-class": "true" });
    let claimed = json!({ "status": { "allocation": {}, "reservedFor": [{}] } });
    let slice = json!({ "spec": { "nodeName": "node", "driver": "d", "pool": { "name": "p" } } });
    check(&[
        (
            "TestPrintStorageClass, IsDefaultAnnotation",
            &StorageClass,
            default,
            json!(["n (default)", "kubernetes.io/nfs", "Delete", "Immediate", false, "5m"]),
        ),
        (
            "printVolumeAttachment",
            &VolumeAttachment,
            named(attached),
            json!(["n", "a", "pv", "node", true, "5m"]),
        ),
        (
            "printCSINode",
            &CSINode,
            named(json!({ "spec": { "drivers": [{}] } })),
            json!(["n", 1, "5m"]),
        ),
        (
            "printCSIDriver",
            &CSIDriver,
            named(
                json!({ "spec": { "tokenRequests": [{ "audience": "a" }, { "audience": "b" }] } }),
            ),
            json!(["n", true, false, false, "a,b", false, "<none>", "5m"]),
        ),
        (
            "TestPrintResourceClaim: pending",
            &ResourceClaim,
            named(json!({})),
            json!(["n", "pending", "5m"]),
        ),
        (
            "TestPrintResourceClaim: reserved",
            &ResourceClaim,
            named(claimed),
            json!(["n", "allocated,reserved", "5m"]),
        ),
        (
            "TestPrintResourceSlice",
            &ResourceSlice,
            named(slice),
            json!(["n", "node", "d", "p", "5m"]),
        ),
    ]);
}

#[test]
fn the_server_itself() {
    let service = json!({ "spec": { "service": { "namespace": "ns", "name": "api" } },
        "status": { "conditions": [{ "type": "Available", "status": "False",
            "reason": "MissingEndpoints" }] } });
    let bound = json!({ "spec": { "policyName": "p", "paramRef": { "selector": {
        "matchLabels": { "a": "b" } } } } });
    let shown = "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:\
                 []LabelSelectorRequirement{},}";
    check(&[
        (
            "APIService ConvertToTable",
            &APIService,
            named(service),
            json!(["n", "ns/api", "False (MissingEndpoints)", "5m"]),
        ),
        (
            "TestPrintValidatingAdmissionPolicyBinding",
            &ValidatingAdmissionPolicyBinding,
            named(bound),
            json!(["n", "p", shown, "5m"]),
        ),
    ]);
}
