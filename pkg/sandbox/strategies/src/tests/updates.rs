//! What updates keep, count and refuse.

use serde_json::{Value, json};

use crate::fixture::{NOW, environment, lines, updated};
use crate::*;

/// Every kind of this part of the crate.
pub(super) const KINDS: &[&dyn Strategy] = &[
    &APIService,
    &CSIDriver,
    &CSINode,
    &CertificateSigningRequest,
    &ClusterRole,
    &Binding::OF_CLUSTER_ROLE,
    &ConfigMap,
    &CustomResourceDefinition,
    &DeviceClass,
    &EndpointSlice,
    &Endpoints,
    &Event,
    &IPAddress,
    &Lease,
    &LimitRange,
    &Namespace,
    &Node,
    &PersistentVolume,
    &PersistentVolumeClaim,
    &PodTemplate,
    &PriorityClass,
    &ResourceClaim,
    &ResourceClaimTemplate,
    &ResourceQuota,
    &ResourceSlice,
    &Role,
    &Binding::OF_ROLE,
    &Secret,
    &Service,
    &ServiceAccount,
    &ServiceCIDR,
    &StorageClass,
    &ValidatingAdmissionPolicy,
    &ValidatingAdmissionPolicyBinding,
    &VolumeAttachment,
    &VolumeAttributesClass,
];

/// What each row stands for: a kind, an object, what it was, its faults.
type Change<'a> = (&'a str, &'a dyn Strategy, Value, Value, Vec<String>);

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn what_is_fixed_stays() {
    let frozen = "field is immutable when `immutable` is set";
    let spec = "spec forbidden: spec is immutable after creation except resources.requests \
                and volumeAttributesClassName for bound claims";
    let claim = |storage: &str, phase: &str, name: &str| {
        json!({ "spec": { "accessModes": ["ReadWriteOnce"], "volumeName": name,
            "resources": { "requests": { "storage": storage } } },
            "status": { "phase": phase, "capacity": { "storage": "1Gi" } } })
    };
    let role = |name: &str| {
        json!({ "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
            "name": name } })
    };
    let class = |policy: &str| {
        json!({ "provisioner": "p", "reclaimPolicy": policy,
            "volumeBindingMode": "Immediate" })
    };
    let service = |ip: &str| {
        json!({ "spec": { "type": "ClusterIP", "clusterIP": ip, "clusterIPs": [ip],
            "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
            "ports": [{ "port": 1, "targetPort": 1, "protocol": "TCP" }] } })
    };
    let rows: Vec<Change<'_>> = vec![
        (
            "TestValidateSecretUpdate",
            &Secret,
            json!({ "type": "Opaque", "data": { "a": "eA==" } }),
            json!({ "type": "Opaque", "immutable": true }),
            vec![format!("immutable forbidden: {frozen}"), format!("data forbidden: {frozen}")],
        ),
        (
            "TestValidateSecretUpdate: type",
            &Secret,
            json!({ "type": "a" }),
            json!({ "type": "b" }),
            vec!["type invalid \"a\": field is immutable".to_owned()],
        ),
        (
            "TestValidateConfigMapUpdate",
            &ConfigMap,
            json!({ "immutable": true, "binaryData": { "a": "" } }),
            json!({ "immutable": true, "data": {} }),
            vec![format!("binaryData forbidden: {frozen}")],
        ),
        (
            "TestValidatePersistentVolumeClaimUpdate: bound claims may grow",
            &PersistentVolumeClaim,
            claim("2Gi", "Bound", "v"),
            claim("1Gi", "Bound", "v"),
            vec![],
        ),
        (
            "TestValidatePersistentVolumeClaimUpdate: pending claims may not",
            &PersistentVolumeClaim,
            claim("2Gi", "Pending", "v"),
            claim("1Gi", "Pending", ""),
            vec![spec.to_owned()],
        ),
        (
            "TestValidatePersistentVolumeClaimUpdate: below capacity",
            &PersistentVolumeClaim,
            claim("512Mi", "Bound", "v"),
            claim("2Gi", "Bound", "v"),
            vec![
                "spec.resources.requests.storage forbidden: field can not be less than \
                 status.capacity"
                    .to_owned(),
            ],
        ),
        (
            "TestValidateRoleBindingUpdate",
            &Binding::OF_ROLE,
            role("a"),
            role("b"),
            vec![
                "roleRef invalid \
                  {\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"a\"}: \
                  cannot change roleRef"
                    .to_owned(),
            ],
        ),
        (
            "TestValidateUpdateStorageClass",
            &StorageClass,
            class("Retain"),
            class("Delete"),
            vec!["reclaimPolicy invalid \"Retain\": field is immutable".to_owned()],
        ),
        (
            "TestValidatePriorityClassUpdate",
            &PriorityClass,
            json!({ "value": 1 }),
            json!({ "value": 2 }),
            vec!["value forbidden: may not be changed in an update.".to_owned()],
        ),
        (
            "TestValidateServiceUpdate: cluster IP",
            &Service,
            service("10.0.0.2"),
            service("10.0.0.1"),
            vec!["spec.clusterIPs[0] invalid [\"10.0.0.2\"]: may not change once set".to_owned()],
        ),
        (
            "TestValidateNodeUpdate: provider",
            &Node,
            json!({ "spec": { "providerID": "b", "podCIDRs": ["10.0.0.0/24"] } }),
            json!({ "spec": { "providerID": "a", "podCIDRs": ["10.0.1.0/24"] } }),
            vec![
                "spec.podCIDRs forbidden: node updates may not change podCIDR except from \
                 \"\" to valid"
                    .to_owned(),
                "spec.providerID forbidden: node updates may not change providerID except \
                 from \"\" to valid"
                    .to_owned(),
            ],
        ),
        (
            "ValidateResourceClaimUpdate",
            &ResourceClaim,
            json!({ "spec": { "devices": { "requests": [{}, { "name": "a" }] } } }),
            json!({ "spec": {} }),
            vec![
                "spec invalid {\"devices\":{\"requests\":[{},{\"name\":\"a\"}]}}: field is \
                  immutable"
                    .to_owned(),
            ],
        ),
    ];
    for (row, kind, new, old, expected) in rows {
        assert_eq!(lines(&kind.validate_update(&new, &old)), expected, "{row}");
        assert!(kind.validate_update(&old, &old).is_empty(), "{row}: nothing changes");
    }
}

#[test]
fn generations_count_and_statuses_stay() {
    let object = |spec: &str, status: &str| {
        json!({ "metadata": { "generation": 3 }, "spec": { "x": spec }, "status": { "s": status },
            "webhooks": [{ "name": spec }] })
    };
    let counted: &[&dyn Strategy] =
        &[&CSIDriver, &CustomResourceDefinition, &ResourceSlice, &ValidatingAdmissionPolicy];
    let generation = |it: &Value| it.pointer("/metadata/generation").and_then(Value::as_i64);
    for kind in counted {
        let mut old = object("a", "a");
        kind.default(&mut old);
        assert_eq!(generation(&updated(*kind, &object("a", "b"), &old)), Some(3));
        assert_eq!(generation(&updated(*kind, &object("b", "b"), &old)), Some(4));
    }
    let kept: &[&dyn Strategy] =
        &[&Namespace, &Node, &PersistentVolume, &PersistentVolumeClaim, &ResourceQuota, &Plain];
    for kind in kept {
        let new = updated(*kind, &object("b", "b"), &object("a", "a"));
        assert_eq!(new.pointer("/status/s"), Some(&json!("a")), "an update keeps the status");
        let mut new = object("b", "b");
        kind.prepare_status(&mut new, &object("a", "a"), &environment());
        assert_eq!(new.pointer("/spec/x"), Some(&json!("a")), "an update of it keeps the rest");
        assert_eq!(new.pointer("/status/s"), Some(&json!("b")));
    }
}

#[test]
fn services_keep_what_they_were_given() {
    let old = json!({ "spec": { "type": "NodePort", "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
        "externalTrafficPolicy": "Cluster",
        "ports": [{ "name": "a", "port": 1, "nodePort": 30001 }] } });
    let new = json!({ "spec": { "type": "NodePort", "ports": [{ "name": "a", "port": 2 }] } });
    let kept = updated(&Service, &new, &old);
    assert_eq!(kept.pointer("/spec/clusterIPs"), Some(&json!(["10.0.0.1"])));
    assert_eq!(kept.pointer("/spec/clusterIP"), Some(&json!("10.0.0.1")));
    assert_eq!(kept.pointer("/spec/ports/0/nodePort"), Some(&json!(30001)));

    let mut inner = old.clone();
    inner["spec"]["type"] = "ClusterIP".into();
    let inner = updated(&Service, &inner, &old);
    assert_eq!(inner.pointer("/spec/ports/0/nodePort"), None, "dropTypeDependentFields");
    assert_eq!(inner.pointer("/spec/externalTrafficPolicy"), None, "dropTypeDependentFields");

    let mut named = old.clone();
    named["spec"]["type"] = "ExternalName".into();
    let named = updated(&Service, &named, &old);
    assert_eq!(named.pointer("/spec/clusterIP"), None, "dropTypeDependentFields");
    assert_eq!(named.pointer("/spec/ipFamilies"), None, "dropTypeDependentFields");
}

#[test]
fn requests_are_approved_where_they_can_be() {
    let request = |kinds: &[&str], certificate: &str| {
        let conditions: Vec<_> =
            kinds.iter().map(|it| json!({ "type": it, "status": "True" })).collect();
        json!({ "status": { "conditions": conditions, "certificate": certificate } })
    };
    let (none, approved) = (request(&[], ""), request(&["Approved"], ""));
    let csr = CertificateSigningRequest::validate_approval;
    assert!(csr(&approved, &none).is_empty());
    let both = "status.conditions invalid \"Denied\": Approved and Denied conditions are \
                mutually exclusive";
    assert_eq!(lines(&csr(&request(&["Approved", "Denied"], ""), &none)), [both]);
    let sneaked = CertificateSigningRequest.validate_status(&approved, &none);
    let add = "status.conditions forbidden: updates may not add a condition of type \
               \"Approved\"";
    assert_eq!(lines(&sneaked), [add]);
    let issued = request(&["Approved"], "eA==");
    assert!(CertificateSigningRequest.validate_status(&issued, &approved).is_empty());
    let mut dated = approved;
    CertificateSigningRequest::prepare_approval(&mut dated, &none, &environment());
    assert_eq!(dated.pointer("/status/conditions/0/lastTransitionTime"), Some(&json!(NOW)));
}

#[test]
fn kinds_that_are_created_by_update_or_need_a_version() {
    let names = |ask: fn(&dyn Strategy) -> bool| KINDS.iter().filter(|it| ask(**it)).count();
    // Service, Event, Endpoints, LimitRange, four of RBAC, Lease.
    assert_eq!(names(|it| it.allows_create_on_update()), 9, "AllowCreateOnUpdate");
    // Lease, three of storage, two of admission, definitions and APIServices.
    assert_eq!(names(|it| it.needs_version_on_update()), 8, "AllowUnconditionalUpdate");
}
