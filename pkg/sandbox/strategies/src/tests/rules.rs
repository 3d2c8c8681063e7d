//! What new objects may not say: pkg/apis/*/validation/validation_test.go.

use serde_json::{Value, json};

use crate::fixture::{created, lines};
use crate::{
    ConfigMap, CustomResourceDefinition, EndpointSlice, Event, Lease, LimitRange,
    PersistentVolumeClaim, PriorityClass, ResourceQuota, Role, Secret, Service, Strategy,
};

/// What each row stands for: a kind, an object, its faults.
type Row<'a> = (&'a str, &'a dyn Strategy, Value, Vec<&'a str>);

fn check(rows: &[Row<'_>]) {
    for (row, kind, object, expected) in rows {
        assert_eq!(lines(&kind.validate_create(&created(*kind, object))), *expected, "{row}");
    }
}

#[test]
fn secrets_and_config_maps() {
    let big = "A".repeat(1_398_104);
    let bad = "data[a b] invalid \"a b\": a valid config key must consist of alphanumeric \
               characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', \
               regex used for validation is '[-._a-zA-Z0-9]+')";
    check(&[
        ("TestValidateSecret: data", &Secret, json!({ "data": { "a b": "" } }), vec![bad]),
        (
            "TestValidateSecret: size",
            &Secret,
            json!({ "data": { "a": big, "b": "eA==" } }),
            vec!["data too long: 1048576"],
        ),
        (
            "TestValidateServiceAccountTokenSecret",
            &Secret,
            json!({ "type": "kubernetes.io/service-account-token" }),
            vec!["metadata.annotations[kubernetes.io/service-account.name] required: "],
        ),
        (
            "TestValidateTLSSecret",
            &Secret,
            json!({ "type": "kubernetes.io/tls", "data": { "tls.crt": "" } }),
            vec!["data[tls.key] required: "],
        ),
        (
            "TestValidateBasicAuthSecret",
            &Secret,
            json!({ "type": "kubernetes.io/basic-auth" }),
            vec!["data[username] required: ", "data[password] required: "],
        ),
        (
            "TestValidateConfigMap: both",
            &ConfigMap,
            json!({ "data": { "a": "" }, "binaryData": { "a": "" } }),
            vec!["data[a] invalid \"a\": duplicate of key present in binaryData"],
        ),
    ]);
}

#[test]
fn services_and_endpoints() {
    let service = |spec: Value| json!({ "spec": spec });
    let slice =
        |address: &str| json!({ "addressType": "IPv4", "endpoints": [{ "addresses": [address] }] });
    let many: Vec<_> = (0..1001).map(|_| json!({ "addresses": ["10.0.0.1"] })).collect();
    check(&[
        (
            "TestValidateServiceCreate: no ports",
            &Service,
            service(json!({})),
            vec!["spec.ports required: "],
        ),
        (
            "TestValidateServiceCreate: ports",
            &Service,
            service(json!({ "ports": [{ "port": 0, "targetPort": 1 },
                { "port": 80, "name": "p", "nodePort": 1, "protocol": "X" },
                { "port": 80, "name": "p", "targetPort": "a--b", "protocol": "X" }] })),
            vec![
                "spec.ports[0].name required: ",
                "spec.ports[0].port invalid 0: must be between 1 and 65535, inclusive",
                "spec.ports[1].protocol unsupported \"X\": SCTP TCP UDP",
                "spec.ports[2].name duplicate \"p\"",
                "spec.ports[2].protocol unsupported \"X\": SCTP TCP UDP",
                "spec.ports[2].targetPort invalid \"a--b\": must not contain consecutive \
                 hyphens",
                "spec.ports[1].nodePort forbidden: may not be used when `type` is 'ClusterIP'",
                "spec.ports[2] duplicate {\"port\":80,\"protocol\":\"X\"}",
            ],
        ),
        (
            "TestValidateServiceCreate: headless load balancer",
            &Service,
            service(
                json!({ "type": "LoadBalancer", "clusterIP": "None", "selector": { "a": "b" } }),
            ),
            vec![
                "spec.clusterIPs[0] invalid \"None\": may not be set to 'None' for \
                  LoadBalancer services",
            ],
        ),
        (
            "TestValidateServiceCreate: external name",
            &Service,
            service(json!({ "type": "ExternalName" })),
            vec!["spec.externalName required: "],
        ),
        (
            "TestValidateEndpointSlice: address",
            &EndpointSlice,
            slice("127.0.0.1"),
            vec![
                "endpoints[0].addresses[0] invalid \"127.0.0.1\": may not be in the loopback \
                 range (127.0.0.0/8, ::1/128)",
            ],
        ),
        (
            "TestValidateEndpointSlice: family",
            &EndpointSlice,
            slice("2001:db8::1"),
            vec!["endpoints[0].addresses invalid \"2001:db8::1\": must be an IPv4 address"],
        ),
        (
            "TestValidateEndpointSlice: endpoints",
            &EndpointSlice,
            json!({ "addressType": "IPv4", "endpoints": many }),
            vec!["endpoints too many: 1001 of 1000"],
        ),
    ]);
}

#[test]
fn quotas_claims_and_limits() {
    let claim = |storage: &str, modes: Value| {
        json!({ "spec": { "accessModes": modes,
            "resources": { "requests": { "storage": storage } } } })
    };
    let limit = json!({ "spec": { "limits": [{ "type": "Container", "min": { "cpu": "2" },
        "max": { "cpu": "1" }, "default": { "cpu": "1" }, "defaultRequest": { "cpu": "2" } }] } });
    check(&[
        (
            "TestValidateResourceQuota",
            &ResourceQuota,
            json!({ "spec": { "hard": { "cpu": "-1", "pods": "1.5", "storage": "1",
                "count/x.y": "1" } } }),
            vec![
                "spec.hard[cpu] invalid \"-1\": must be greater than or equal to 0",
                "spec.hard[pods] invalid \"1500m\": must be an integer",
                "spec.hard[storage] invalid \"storage\": must be a standard resource for quota",
            ],
        ),
        (
            "TestValidateResourceQuota: scopes",
            &ResourceQuota,
            json!({ "spec": { "hard": { "services": "1" },
                "scopes": ["BestEffort", "NotBestEffort"] } }),
            vec![
                "spec.scopes invalid [\"BestEffort\",\"NotBestEffort\"]: unsupported scope \
                 applied to resource",
                "spec.scopes invalid [\"BestEffort\",\"NotBestEffort\"]: unsupported scope \
                 applied to resource",
                "spec.scopes invalid [\"BestEffort\",\"NotBestEffort\"]: conflicting scopes",
            ],
        ),
        (
            "TestValidatePersistentVolumeClaim: no size, no mode",
            &PersistentVolumeClaim,
            json!({}),
            vec![
                "spec.accessModes required: at least 1 access mode is required",
                "spec.resources[storage] required: ",
            ],
        ),
        (
            "TestValidatePersistentVolumeClaim: alone",
            &PersistentVolumeClaim,
            claim("0", json!(["ReadWriteOncePod", "ReadWriteOnce"])),
            vec![
                "spec.accessModes forbidden: may not use ReadWriteOncePod with other access \
                 modes",
                "spec.resources[storage] invalid \"0\": must be greater than zero",
            ],
        ),
        (
            "TestValidateLimitRange",
            &LimitRange,
            limit,
            vec![
                "spec.limits[0].min[cpu] invalid \"2\": min value 2 is greater than max value \
                 1",
                "spec.limits[0].defaultRequest[cpu] invalid \"2\": default request value 2 is \
                 greater than max value 1",
                "spec.limits[0].defaultRequest[cpu] invalid \"2\": default request value 2 is \
                 greater than default limit value 1",
                "spec.limits[0].default[cpu] invalid \"2\": min value 2 is greater than \
                 default value 1",
            ],
        ),
    ]);
}

#[test]
fn access_and_priorities() {
    let system = "metadata.name forbidden: priority class names with 'system-' prefix are \
                  reserved for system use only. error: system-x is not a known system \
                  priority class";
    check(&[
        (
            "TestValidateRoleNonResourceURL",
            &Role,
            json!({ "rules": [{ "verbs": ["get"], "nonResourceURLs": ["/*"] }, {}] }),
            vec![
                "rules[0].nonResourceURLs invalid [\"/*\"]: namespaced rules cannot apply to \
                 non-resource URLs",
                "rules[1].verbs required: verbs must contain at least one value",
                "rules[1].apiGroups required: resource rules must supply at least one api \
                 group",
                "rules[1].resources required: resource rules must supply at least one resource",
            ],
        ),
        (
            "TestValidatePriorityClass: system",
            &PriorityClass,
            json!({ "metadata": { "name": "system-x" } }),
            vec![system],
        ),
        (
            "TestValidatePriorityClass: known",
            &PriorityClass,
            json!({ "metadata": { "name": "system-node-critical" }, "value": 2_000_001_000 }),
            vec![],
        ),
        (
            "TestValidatePriorityClass: too high",
            &PriorityClass,
            json!({ "metadata": { "name": "x" }, "value": 1_000_000_001 }),
            vec![
                "value forbidden: maximum allowed value of a user defined priority is \
                  1000000000",
            ],
        ),
        (
            "TestValidateLeaseSpec",
            &Lease,
            json!({ "spec": { "leaseDurationSeconds": 0, "leaseTransitions": -1 } }),
            vec![
                "spec.leaseDurationSeconds invalid 0: must be greater than 0",
                "spec.leaseTransitions invalid -1: must be greater than or equal to 0",
            ],
        ),
        (
            "TestValidateEventForCoreV1: namespaces",
            &Event,
            json!({ "metadata": { "namespace": "a" }, "involvedObject": { "namespace": "b" } }),
            vec!["involvedObject.namespace invalid \"b\": does not match event.namespace"],
        ),
        (
            "TestValidateEventForCoreV1: cluster-scoped",
            &Event,
            json!({ "metadata": { "namespace": "default" }, "involvedObject": {} }),
            vec![],
        ),
    ]);
}

#[test]
fn networks_webhooks_and_definitions() {
    let definition = |name: &str, version: Value| {
        json!({ "metadata": { "name": name }, "spec": { "group": "a.b", "scope": "Cluster",
            "names": { "plural": "foos", "kind": "Foo" }, "versions": [version] } })
    };
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    check(&[
        (
            "TestValidateCustomResourceDefinition: good",
            &CustomResourceDefinition,
            definition("foos.a.b", json!({ "name": "v1", "storage": true, "schema": schema })),
            vec![],
        ),
        (
            "TestValidateCustomResourceDefinition: name, schema, storage",
            &CustomResourceDefinition,
            definition("foo.a.b", json!({ "name": "v1" })),
            vec![
                "metadata.name invalid \"foo.a.b\": must be spec.names.plural+\".\"+spec.group",
                "spec.versions[0].schema.openAPIV3Schema required: ",
                "spec.versions invalid [{\"name\":\"v1\"}]: must have exactly one version \
                 marked as storage version",
            ],
        ),
    ]);
}
