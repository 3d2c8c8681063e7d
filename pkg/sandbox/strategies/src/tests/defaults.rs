//! What is filled in: pkg/apis/*/v1/defaults_test.go and the strategies' PrepareForCreate.

use serde_json::{Value, json};

use crate::fixture::{NOW, created, now, updated};
use crate::{
    APIService, Binding, CSIDriver, CertificateSigningRequest, CustomResourceDefinition,
    EndpointSlice, LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim,
    PriorityClass, Secret, Service, ServiceAccount, StorageClass, Strategy,
};

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn objects_are_filled_in() {
    let port = json!({ "port": 80, "protocol": "TCP", "targetPort": 80 });
    let rows: Vec<(&str, &dyn Strategy, Value, Value)> = vec![
        (
            "TestSetDefaultNamespace, PrepareForCreate",
            &Namespace,
            json!({ "metadata": { "name": "a" } }),
            json!({
                "metadata": { "name": "a", "labels": { "kubernetes.io/metadata.name": "a" } },
                "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" },
            }),
        ),
        (
            "TestSetDefaultService, initIPFamilyFields",
            &Service,
            json!({ "spec": { "ports": [{ "port": 80 }], "clusterIP": "10.0.0.1" } }),
            json!({ "status": { "loadBalancer": {} }, "spec": {
                "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
                "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack", "ports": [port], "sessionAffinity": "None",
                "type": "ClusterIP" } }),
        ),
        (
            "initIPFamilyFields: headless without selector",
            &Service,
            json!({ "spec": { "clusterIP": "None", "sessionAffinity": "ClientIP" } }),
            json!({ "status": { "loadBalancer": {} }, "spec": {
                "clusterIP": "None", "clusterIPs": ["None"], "internalTrafficPolicy": "Cluster",
                "ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "RequireDualStack",
                "sessionAffinity": "ClientIP", "type": "ClusterIP",
                "sessionAffinityConfig": { "clientIP": { "timeoutSeconds": 10800 } } } }),
        ),
        (
            "TestSetDefaultSecret, stringData",
            &Secret,
            json!({ "stringData": { "a": "hi" }, "data": { "a": "", "b": "eA==" } }),
            json!({ "type": "Opaque", "data": { "a": "aGk=", "b": "eA==" } }),
        ),
        (
            "cleanSecretReferences",
            &ServiceAccount,
            json!({ "secrets": [{ "name": "s", "uid": "1" }] }),
            json!({ "secrets": [{ "name": "s" }] }),
        ),
        (
            "TestSetDefaultPersistentVolume",
            &PersistentVolume,
            json!({ "status": { "phase": "Bound" } }),
            json!({
                "spec": { "persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem" },
                "status": { "phase": "Pending", "lastPhaseTransitionTime": NOW },
            }),
        ),
        (
            "TestSetDefaultPersistentVolumeClaim, NormalizeDataSources",
            &PersistentVolumeClaim,
            json!({ "spec": { "dataSource": { "kind": "PersistentVolumeClaim", "name": "a" } } }),
            json!({ "status": { "phase": "Pending" }, "spec": {
                "dataSource": { "kind": "PersistentVolumeClaim", "name": "a" },
                "dataSourceRef": { "kind": "PersistentVolumeClaim", "name": "a" },
                "resources": {}, "volumeMode": "Filesystem" } }),
        ),
        (
            "TestSetDefaultLimitRangeItem",
            &LimitRange,
            json!({ "spec": { "limits": [{ "type": "Container", "max": { "cpu": "2" },
                "min": { "memory": "1" } }] } }),
            json!({ "spec": { "limits": [{ "type": "Container", "max": { "cpu": "2" },
                "min": { "memory": "1" }, "default": { "cpu": "2" },
                "defaultRequest": { "cpu": "2", "memory": "1" } }] } }),
        ),
        (
            "SetDefaults_RoleBinding, SetDefaults_Subject",
            &Binding::OF_ROLE,
            json!({ "roleRef": {},
                "subjects": [{ "kind": "User" }, { "kind": "ServiceAccount" }] }),
            json!({ "roleRef": { "apiGroup": "rbac.authorization.k8s.io" }, "subjects": [
                { "kind": "User", "apiGroup": "rbac.authorization.k8s.io" },
                { "kind": "ServiceAccount" }] }),
        ),
        (
            "SetDefaults_StorageClass",
            &StorageClass,
            json!({}),
            json!({ "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate" }),
        ),
        (
            "SetDefaults_CSIDriver",
            &CSIDriver,
            json!({}),
            json!({ "spec": { "attachRequired": true, "podInfoOnMount": false,
                "storageCapacity": false, "requiresRepublish": false, "seLinuxMount": false,
                "fsGroupPolicy": "ReadWriteOnceWithFSType",
                "volumeLifecycleModes": ["Persistent"] } }),
        ),
        (
            "SetDefaults_EndpointPort",
            &EndpointSlice,
            json!({ "metadata": {}, "ports": [{ "port": 1 }], "endpoints": [] }),
            json!({ "metadata": { "generation": 1 }, "endpoints": [],
                "ports": [{ "port": 1, "name": "", "protocol": "TCP" }] }),
        ),
        (
            "SetDefaults_PriorityClass",
            &PriorityClass,
            json!({ "metadata": {} }),
            json!({ "metadata": { "generation": 1 }, "value": 0,
                "preemptionPolicy": "PreemptLowerPriority" }),
        ),
        (
            "csrStrategy.PrepareForCreate",
            &CertificateSigningRequest,
            json!({ "spec": { "username": "me", "groups": ["x"], "usages": ["any"] },
                "status": { "certificate": "x" } }),
            json!({ "spec": { "usages": ["any"] }, "status": {} }),
        ),
        (
            "APIService: local ones are there",
            &APIService,
            json!({ "spec": {} }),
            json!({ "spec": {}, "status": { "conditions": [{ "type": "Available",
                "status": "True", "lastTransitionTime": NOW, "reason": "Local",
                "message": "Local APIServices are always available" }] } }),
        ),
    ];
    for (row, kind, object, expected) in rows {
        assert_eq!(created(kind, &object), expected, "{row}");
    }
}

#[test]
fn definitions_and_nodes_are_filled_in() {
    let definition = json!({ "metadata": {}, "spec": { "names": { "kind": "Foo" },
        "versions": [{ "name": "v1" }, { "name": "v2", "storage": true }] } });
    let made_one = created(&CustomResourceDefinition, &definition);
    let names = json!({ "kind": "Foo", "listKind": "FooList", "singular": "foo" });
    assert_eq!(made_one.pointer("/spec/names"), Some(&names));
    assert_eq!(made_one.pointer("/spec/conversion"), Some(&json!({ "strategy": "None" })));
    assert_eq!(made_one.pointer("/status/storedVersions"), Some(&json!(["v2"])));

    let node = created(
        &Node,
        &json!({ "spec": { "podCIDR": "10.0.0.0/24" },
        "status": { "capacity": { "cpu": "1" } } }),
    );
    assert_eq!(node.pointer("/spec/podCIDRs"), Some(&json!(["10.0.0.0/24"])));
    assert_eq!(node.pointer("/status/allocatable"), Some(&json!({ "cpu": "1" })));
    let port = node.pointer("/status/daemonEndpoints/kubeletEndpoint/Port");
    assert_eq!(port, Some(&json!(0)), "written by upstream, too");
}

#[test]
fn nothing_panics_on_what_is_null_or_absent() {
    let nulls = json!({ "metadata": null, "spec": null, "status": null, "webhooks": null,
        "ports": null, "roleRef": null, "subjects": [null], "subsets": [null] });
    for kind in super::updates::KINDS {
        for object in [json!({}), nulls.clone()] {
            let object = created(*kind, &object);
            let _ = updated(*kind, &object, &json!({}));
            kind.validate_create(&object);
            kind.validate_update(&object, &json!({}));
            kind.validate_status(&json!({}), &object);
            assert!(kind.row(&json!({}), now()).len() >= kind.columns().len());
            for field in kind.selectable_fields() {
                assert!(kind.selectable(&json!({}), field).is_some(), "{field}");
            }
            assert!(kind.selectable(&object, "no.such").is_none());
        }
    }
}
