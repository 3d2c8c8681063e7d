//! Admission, as upstream's tests of the plug-ins have it.

use serde_json::{Value, json};

use super::account::{self, Accounts};
use super::{Attributes, Operation, bootstrap};
use crate::server::State;
use crate::status::Status;
use crate::write::fields::{items, number, text, texts};
use crate::write::tests::{call, have, pod, refused, send, state, stored};

fn create(state: &mut State, request: &str, body: &Value) -> Value {
    let written = send(state, request, body);
    let written = written.unwrap_or_else(|error| panic!("{request}: {error:?}"));
    Value::clone(&written.document)
}

/// TestAdmissionNamespaceDoesNotExist, TestAdmissionNamespaceTerminating.
#[test]
fn namespaces() {
    let mut state = state();
    let ending = json!({"metadata": {"name": "default"}, "status": {"phase": "Terminating"}});
    have(&mut state, "v1/configmaps", &json!({"metadata": {"name": "a"}}));
    have(&mut state, "v1/namespaces", &ending);
    let body = json!({"metadata": {"name": "b"}});
    let status = send(&mut state, "POST v1/configmaps", &body).unwrap_err();
    let message = "configmaps \"b\" is forbidden: unable to create new content in namespace \
                   default because it is being terminated";
    assert_eq!((status.code, status.message.as_str()), (403, message));
    let cause = json!([{
        "reason": "NamespaceTerminating", "field": "metadata.namespace",
        "message": "namespace default is being terminated",
    }]);
    assert_eq!(status.details["causes"], cause);
    // Updates and deletions are still admitted.
    let mut body = stored(&state, "v1/configmaps", "a");
    body["data"] = json!({"a": "b"});
    send(&mut state, "PUT v1/configmaps/a", &body).unwrap();
    send(&mut state, "DELETE v1/configmaps/a", &Value::Null).unwrap();
    let mut elsewhere = call(&state, "POST v1/configmaps", &json!({"metadata": {"name": "b"}}));
    elsewhere.namespace = "nowhere".to_owned();
    let status = crate::write::write(&mut state, &elsewhere).unwrap_err();
    let expected = (404, "namespaces \"nowhere\" not found");
    assert_eq!((status.code, status.message.as_str()), expected);
}

fn admit_account(state: &State, pod: &mut Value, accounts: Accounts) -> Result<(), Status> {
    let call = call(state, "POST v1/pods", pod);
    account::admit(state, &Attributes::of(&call, Operation::Create), pod, accounts)
}

/// TestAssignsDefaultServiceAccountAndBoundTokenWithNoSecretTokens,
/// TestDeniesInvalidServiceAccount.
#[test]
fn every_pod_has_an_account() {
    let mut state = state();
    let status = admit_account(&state, &mut pod("web"), Accounts::Required).unwrap_err();
    let message = "pods \"web\" is forbidden: error looking up service account default/default: \
                   serviceaccount \"default\" not found";
    assert_eq!((status.code, status.message.as_str()), (403, message));
    let account = json!({
        "metadata": {"name": "default"}, "imagePullSecrets": [{"name": "registry"}],
    });
    have(&mut state, "v1/serviceaccounts", &account);
    let mut web = pod("web");
    web["spec"]["initContainers"] = json!([{"name": "i", "volumeMounts": [
        {"name": "own", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
    ]}]);
    admit_account(&state, &mut web, Accounts::Required).unwrap();
    assert_eq!(text(&web, "/spec/serviceAccountName"), "default");
    assert_eq!(text(&web, "/spec/imagePullSecrets/0/name"), "registry");
    let volume = &web["spec"]["volumes"][0];
    let name = text(volume, "/name");
    assert_eq!((&name[..16], name.len()), ("kube-api-access-", 21));
    let mount = json!({
        "name": name, "readOnly": true,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    });
    assert_eq!(web["spec"]["containers"][0]["volumeMounts"], json!([mount]));
    assert_eq!(items(&web, "/spec/initContainers/0/volumeMounts").len(), 1);
    let sources = items(volume, "/projected/sources");
    assert_eq!(number(&sources[0], "/serviceAccountToken/expirationSeconds"), Some(3607));
    assert_eq!(text(&sources[1], "/configMap/name"), "kube-root-ca.crt");
    let path = "/downwardAPI/items/0/fieldRef/fieldPath";
    assert_eq!(text(&sources[2], path), "metadata.namespace");
}

/// TestAutomountsAPIToken's and TestAutomountIsBackwardsCompatible's rows.
#[test]
fn pods_without_a_token() {
    let rows = [
        (json!(null), json!(null), true),
        (json!(null), json!(false), false),
        (json!(true), json!(false), true),
        (json!(false), json!(true), false),
    ];
    for (of_pod, of_account, mounts) in rows {
        let mut state = state();
        let account = json!({
            "metadata": {"name": "default"}, "automountServiceAccountToken": of_account,
        });
        have(&mut state, "v1/serviceaccounts", &account);
        let mut web = pod("web");
        web["spec"]["automountServiceAccountToken"] = of_pod.clone();
        admit_account(&state, &mut web, Accounts::Required).unwrap();
        assert_eq!(!items(&web, "/spec/volumes").is_empty(), mounts, "{of_pod}, {of_account}");
    }
}

/// TestIgnoresMirrorPod, TestRejectsMirrorPodWithServiceAccount,
/// TestDisallowsNonReferencedSecretVolumes.
#[test]
fn mirrors_and_secrets() {
    let mut state = state();
    let mut mirror = pod("web");
    mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "true"});
    admit_account(&state, &mut mirror, Accounts::Required).unwrap();
    assert_eq!(text(&mirror, "/spec/serviceAccountName"), "");
    mirror["spec"]["serviceAccountName"] = "default".into();
    let status = admit_account(&state, &mut mirror, Accounts::Required).unwrap_err();
    assert!(status.message.ends_with("a mirror pod may not reference service accounts"));
    let annotations = json!({"kubernetes.io/enforce-mountable-secrets": "true"});
    let account = json!({
        "metadata": {"name": "default", "annotations": annotations}, "secrets": [{"name": "s"}],
    });
    have(&mut state, "v1/serviceaccounts", &account);
    for (secret, passes) in [("s", true), ("t", false)] {
        let mut web = pod("web");
        web["spec"]["volumes"] = json!([{"name": "v", "secret": {"secretName": secret}}]);
        let result = admit_account(&state, &mut web, Accounts::Required);
        assert_eq!(result.is_ok(), passes, "{secret}");
    }
}

/// TestPodAdmission of the priority plug-in.
#[test]
fn priorities() {
    type Row<'a> = (&'a str, Value, Value, Result<(&'a str, i64), &'a str>);
    let class = |name: &str, value: i64, default: bool| {
        let metadata = json!({"name": name});
        json!({"metadata": metadata, "value": value, "globalDefault": default})
    };
    // Class, priority of the pod; class, priority, or the refusal.
    let rows: [Row<'_>; 6] = [
        ("named", json!("high"), json!(null), Ok(("high", 100))),
        (
            "built in",
            json!("system-node-critical"),
            json!(null),
            Ok(("system-node-critical", 2_000_001_000)),
        ),
        ("the default", json!(null), json!(null), Ok(("usual", 7))),
        ("the same number", json!("high"), json!(100), Ok(("high", 100))),
        ("unknown", json!("low"), json!(null), Err("no PriorityClass with name low was found")),
        (
            "another number",
            json!("high"),
            json!(5),
            Err("the integer value of priority (5) must not be provided in pod spec; priority \
                 admission controller computed 100 from the given PriorityClass name"),
        ),
    ];
    for (rule, name, priority, expected) in rows {
        let mut state = state();
        bootstrap(&mut state);
        for class in [class("high", 100, false), class("usual", 7, true)] {
            have(&mut state, "scheduling.k8s.io/v1/priorityclasses", &class);
        }
        let mut web = pod("web");
        web["spec"]["priorityClassName"] = name;
        web["spec"]["priority"] = priority;
        match (send(&mut state, "POST v1/pods", &web), expected) {
            (Ok(written), Ok((name, value))) => {
                assert_eq!(text(&written.document, "/spec/priorityClassName"), name, "{rule}");
                assert_eq!(number(&written.document, "/spec/priority"), Some(value), "{rule}");
            }
            (Err(status), Err(why)) => {
                let expected = format!("pods \"web\" is forbidden: {why}");
                assert_eq!((status.code, status.message), (403, expected), "{rule}");
            }
            (got, _) => panic!("{rule}: {got:?}"),
        }
    }
    let mut state = state();
    let written = create(&mut state, "POST v1/pods", &pod("web"));
    assert_eq!(number(&written, "/spec/priority"), Some(0));
    assert_eq!(text(&written, "/spec/preemptionPolicy"), "PreemptLowerPriority");
    have(&mut state, "scheduling.k8s.io/v1/priorityclasses", &class("usual", 7, true));
    let request = "POST scheduling.k8s.io/v1/priorityclasses";
    let refused = refused(&mut state, request, &class("other", 8, true));
    let why = "PriorityClass usual is already marked as default. Only one default can exist";
    assert!(refused.ends_with(why), "{refused}");
}

/// TestForgivenessAdmission, TestTaintNodes, TestAdmit of the storage plug-in.
#[test]
fn what_is_filled_in() {
    let mut state = state();
    let toleration = |key: &str| {
        json!({
            "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
        })
    };
    let (not_ready, unreachable) =
        ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable");
    let made = create(&mut state, "POST v1/pods", &pod("a"));
    let both = json!([toleration(not_ready), toleration(unreachable)]);
    assert_eq!(made["spec"]["tolerations"], both);
    let mut own = pod("b");
    own["spec"]["tolerations"] = json!([{"key": not_ready, "operator": "Exists"}]);
    let made = create(&mut state, "POST v1/pods", &own);
    assert_eq!(text(&made, "/spec/tolerations/1/key"), unreachable);
    assert_eq!(items(&made, "/spec/tolerations").len(), 2);
    let made = create(&mut state, "POST v1/nodes", &json!({"metadata": {"name": "n"}}));
    let taint = json!([{"key": not_ready, "effect": "NoSchedule"}]);
    assert_eq!(made["spec"]["taints"], taint);
    for (name, created) in [("old", "2025"), ("new", "2026")] {
        let annotations = json!({"storageclass.kubernetes.io/is-default-class": "true"});
        let mut class = json!({"metadata": {"name": name, "annotations": annotations}});
        have(&mut state, "storage.k8s.io/v1/storageclasses", &class);
        class["metadata"]["creationTimestamp"] = format!("{created}-01-01T00:00:00Z").into();
        let key = api::Key::new("", name);
        state.store.put(&"storageclasses.storage.k8s.io".into(), &key, class);
    }
    let request = "POST v1/persistentvolumeclaims";
    let spec = json!({
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    });
    let mut body = json!({"metadata": {"name": "c"}, "spec": spec});
    let made = create(&mut state, request, &body);
    assert_eq!(texts(&made, "/metadata/finalizers"), ["kubernetes.io/pvc-protection"]);
    assert_eq!(text(&made, "/spec/storageClassName"), "new");
    body["metadata"]["name"] = "d".into();
    body["spec"]["storageClassName"] = "".into();
    assert_eq!(text(&create(&mut state, request, &body), "/spec/storageClassName"), "");
}

fn with_resources(name: &str, requests: &Value, limits: &Value) -> Value {
    let mut pod = pod(name);
    pod["spec"]["containers"][0]["resources"] = json!({"requests": requests, "limits": limits});
    pod
}

/// TestLimitRangerIgnoresSubresource's setting, TestPodLimitFunc, TestPodLimitFuncApplyDefault,
/// TestPersistentVolumeClaimLimitFunc.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn limits() {
    let container = |part: &str, value: Value| json!({"type": "Container", part: value});
    // Containers that say nothing get the bounds (SetDefaults_LimitRangeItem), pods get nothing.
    let whole = |part: &str, value: Value| json!({"type": "Pod", part: value});
    let cases: [(&str, Value, Value, &str); 9] = [
        (
            "in range",
            container("min", json!({"cpu": "50m"})),
            with_resources("web", &json!({"cpu": "50m"}), &json!({})),
            "",
        ),
        (
            "min: no request of a container",
            container("min", json!({"memory": "1Gi"})),
            pod("web"),
            "",
        ),
        (
            "min: no request",
            whole("min", json!({"memory": "1Gi"})),
            pod("web"),
            "minimum memory usage per Pod is 1Gi.  No request is specified",
        ),
        (
            "min: too little",
            container("min", json!({"cpu": "50m"})),
            with_resources("web", &json!({"cpu": "40m"}), &json!({})),
            "minimum cpu usage per Container is 50m, but request is 40m",
        ),
        (
            "max: no limit",
            whole("max", json!({"cpu": "1"})),
            pod("web"),
            "maximum cpu usage per Pod is 1.  No limit is specified",
        ),
        (
            "max: too much",
            container("max", json!({"cpu": "1"})),
            with_resources("web", &json!({}), &json!({"cpu": "1500m"})),
            "maximum cpu usage per Container is 1, but limit is 1500m",
        ),
        (
            "ratio",
            container("maxLimitRequestRatio", json!({"cpu": "1.5"})),
            with_resources("web", &json!({"cpu": "1"}), &json!({"cpu": "2"})),
            "cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000",
        ),
        (
            "a pod as a whole",
            whole("max", json!({"memory": "100Mi"})),
            with_resources("web", &json!({}), &json!({"memory": "200Mi"})),
            "maximum memory usage per Pod is 100Mi, but limit is 200Mi",
        ),
        (
            "two faults",
            whole("min", json!({"cpu": "1", "memory": "1Gi"})),
            pod("web"),
            "[minimum cpu usage per Pod is 1.  No request is specified, minimum memory usage per \
             Pod is 1Gi.  No request is specified]",
        ),
    ];
    for (rule, limit, body, why) in cases {
        let mut state = state();
        let range = json!({"metadata": {"name": "l"}, "spec": {"limits": [limit]}});
        have(&mut state, "v1/limitranges", &range);
        let got = match send(&mut state, "POST v1/pods", &body) {
            Ok(_) => String::new(),
            Err(status) => status.message,
        };
        let forbidden = format!("pods \"web\" is forbidden: {why}");
        assert_eq!(got, if why.is_empty() { String::new() } else { forbidden }, "{rule}");
    }
    let mut state = state();
    let limit = json!({
        "type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"},
    });
    let range = json!({"metadata": {"name": "l"}, "spec": {"limits": [limit]}});
    have(&mut state, "v1/limitranges", &range);
    let made = create(&mut state, "POST v1/pods", &pod("web"));
    let resources = json!({"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}});
    assert_eq!(made["spec"]["containers"][0]["resources"], resources);
    let note = made.pointer("/metadata/annotations/kubernetes.io~1limit-ranger");
    let expected =
        "LimitRanger plugin set: cpu request for container main; cpu limit for container main";
    assert_eq!(note, Some(&json!(expected)));
}

fn quota(hard: &Value, used: &Value) -> Value {
    json!({
        "metadata": {"name": "q"}, "spec": {"hard": hard}, "status": {"hard": hard, "used": used},
    })
}

/// TestAdmissionIgnoresSubresources' setting, TestAdmitBelowQuotaLimit, TestAdmitExceedQuotaLimit,
/// TestAdmitEnforceQuotaConstraints, TestAdmitHandlesCreatingUpdates, TestHasUsageStats.
#[test]
fn quotas() {
    let mut state = state();
    let hard = json!({"pods": "3", "requests.cpu": "1", "count/configmaps": "1"});
    let used = json!({"pods": "2", "requests.cpu": "500m", "count/configmaps": "0"});
    have(&mut state, "v1/resourcequotas", &quota(&hard, &used));
    let small = |name: &str| with_resources(name, &json!({"cpu": "100m"}), &json!({}));
    let silent = refused(&mut state, "POST v1/pods", &pod("web"));
    let expected = "403 Forbidden: pods \"web\" is forbidden: failed quota: q: must specify \
                    requests.cpu for: main";
    assert_eq!(silent, expected);
    let large = with_resources("web", &json!({"cpu": "700m"}), &json!({}));
    let large = refused(&mut state, "POST v1/pods", &large);
    let expected = "403 Forbidden: pods \"web\" is forbidden: exceeded quota: q, requested: \
                    requests.cpu=700m, used: requests.cpu=500m, limited: requests.cpu=1";
    assert_eq!(large, expected);
    create(&mut state, "POST v1/pods?dryRun=All", &small("a"));
    create(&mut state, "POST v1/pods", &small("a"));
    let used = stored(&state, "v1/resourcequotas", "q")["status"]["used"].clone();
    assert_eq!(used, json!({"pods": "3", "requests.cpu": "600m", "count/configmaps": "0"}));
    // What is refused for another reason costs nothing.
    let again = refused(&mut state, "POST v1/pods", &small("a"));
    assert!(again.contains("exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3"));
    create(&mut state, "POST v1/configmaps", &json!({"metadata": {"name": "a"}}));
    let second = refused(&mut state, "POST v1/configmaps", &json!({"metadata": {"name": "b"}}));
    assert!(second.contains("requested: count/configmaps=1, used: count/configmaps=1"));
    let unknown = quota(&json!({"secrets": "1"}), &json!({}));
    have(&mut state, "v1/resourcequotas", &unknown);
    let secret = json!({"metadata": {"name": "s"}});
    let unknown = refused(&mut state, "POST v1/secrets", &secret);
    assert!(unknown.ends_with("status unknown for quota: q, resources: secrets"), "{unknown}");
}

/// TestAdmitEnforceQuotaConstraints' scopes, and what services and claims use.
#[test]
fn quotas_of_other_things() {
    let mut state = state();
    let best_effort = json!({
        "metadata": {"name": "q"}, "spec": {"scopes": ["BestEffort"]},
        "status": {"hard": {"pods": "0"}, "used": {"pods": "0"}},
    });
    have(&mut state, "v1/resourcequotas", &best_effort);
    create(&mut state, "POST v1/pods", &with_resources("a", &json!({"cpu": "1"}), &json!({})));
    refused(&mut state, "POST v1/pods", &pod("b"));
    let hard = json!({
        "services.nodeports": "2", "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
    });
    let used = json!({
        "services.nodeports": "0", "gold.storageclass.storage.k8s.io/requests.storage": "0",
    });
    have(&mut state, "v1/resourcequotas", &quota(&hard, &used));
    let service = |name: &str, kind: &str| {
        let spec = json!({"type": kind, "ports": [{"port": 80}]});
        json!({"metadata": {"name": name}, "spec": spec})
    };
    let made = create(&mut state, "POST v1/services", &service("a", "ClusterIP"));
    create(&mut state, "POST v1/services", &service("b", "NodePort"));
    let mut changed = made;
    changed["spec"]["type"] = "NodePort".into();
    create(&mut state, "PUT v1/services/a", &changed);
    // An update is only charged for what it adds.
    let mut labelled = stored(&state, "v1/services", "b");
    labelled["metadata"]["labels"] = json!({"a": "b"});
    create(&mut state, "PUT v1/services/b", &labelled);
    refused(&mut state, "POST v1/services", &service("c", "NodePort"));
    let claim = |name: &str, class: &str| {
        let resources = json!({"requests": {"storage": "2Gi"}});
        let mut spec = json!({"accessModes": ["ReadWriteOnce"], "resources": resources});
        spec["storageClassName"] = class.into();
        json!({"metadata": {"name": name}, "spec": spec})
    };
    create(&mut state, "POST v1/persistentvolumeclaims", &claim("a", "silver"));
    let refused = refused(&mut state, "POST v1/persistentvolumeclaims", &claim("b", "gold"));
    assert!(refused.contains("requests.storage=2Gi, used: gold"), "{refused}");
}

/// TestServiceRegistryCreate and TestAllocate's rows.
#[test]
fn addresses_and_ports() {
    let mut state = state();
    bootstrap(&mut state);
    let service = |name: &str, spec: Value| json!({"metadata": {"name": name}, "spec": spec});
    let made =
        create(&mut state, "POST v1/services", &service("a", json!({"ports": [{"port": 80}]})));
    let address = text(&made, "/spec/clusterIP");
    assert!(address.starts_with("10."), "{address}");
    assert_eq!(made["spec"]["clusterIPs"], json!([address]));
    assert_eq!(made["spec"]["ipFamilies"], json!(["IPv4"]));
    let rows: [(&str, Value, &str); 5] = [
        ("taken", json!({"clusterIP": "10.96.0.1"}), "spec.clusterIPs"),
        ("outside", json!({"clusterIP": "192.0.2.1"}), "spec.clusterIPs"),
        ("dual stack", json!({"ipFamilyPolicy": "RequireDualStack"}), "spec.ipFamilyPolicy"),
        (
            "port outside",
            json!({"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]}),
            "spec.ports[0].nodePort",
        ),
        (
            "port taken",
            json!({"type": "NodePort", "ports": [{"port": 1, "nodePort": 30_001}]}),
            "spec.ports[0].nodePort",
        ),
    ];
    let ports = json!([
        {"name": "dns", "port": 53, "protocol": "UDP", "nodePort": 30_001},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
        {"name": "web", "port": 80},
    ]);
    let spec = json!({"type": "NodePort", "ports": ports});
    let made = create(&mut state, "POST v1/services", &service("b", spec));
    let port = |at: usize| number(&made, &format!("/spec/ports/{at}/nodePort")).unwrap();
    assert_eq!((port(0), port(1)), (30_001, 30_001));
    assert!((30_086..=32_767).contains(&port(2)), "{}", port(2));
    for (rule, spec, field) in rows {
        let status = send(&mut state, "POST v1/services", &service("c", spec)).unwrap_err();
        assert_eq!(status.code, 422, "{rule}");
        assert_eq!(status.details["causes"][0]["field"], field, "{rule}");
    }
    // What an update leaves out stays, and what is deleted is free again.
    let body = service(
        "b",
        json!({"type": "NodePort", "ports": [
            {"port": 53, "protocol": "UDP", "nodePort": 30_001},
        ]}),
    );
    let updated = create(&mut state, "PUT v1/services/b", &body);
    assert_eq!(updated["spec"]["clusterIP"], made["spec"]["clusterIP"]);
    send(&mut state, "DELETE v1/services/b", &Value::Null).unwrap();
    create(&mut state, "POST v1/services", &body);
    let headless = service("h", json!({"clusterIP": "None"}));
    let made = create(&mut state, "POST v1/services", &headless);
    assert_eq!(made["spec"]["clusterIPs"], json!(["None"]));
    let external = service("e", json!({"type": "ExternalName", "externalName": "example.com"}));
    let made = create(&mut state, "POST v1/services", &external);
    assert_eq!(made["spec"].get("clusterIP"), None);
}

/// What a fresh server has, made once.
#[test]
fn a_fresh_server() {
    let mut state = state();
    bootstrap(&mut state);
    let revision = state.store.revision();
    bootstrap(&mut state);
    assert_eq!(state.store.revision(), revision);
    let rows = [
        ("v1/namespaces", "kube-node-lease"),
        ("v1/services", "kubernetes"),
        ("v1/endpoints", "kubernetes"),
        ("discovery.k8s.io/v1/endpointslices", "kubernetes"),
        ("scheduling.k8s.io/v1/priorityclasses", "system-cluster-critical"),
        ("rbac.authorization.k8s.io/v1/clusterroles", "system:aggregate-to-edit"),
        ("flowcontrol.apiserver.k8s.io/v1/flowschemas", "catch-all"),
        ("networking.k8s.io/v1/servicecidrs", "kubernetes"),
    ];
    for (place, name) in rows {
        let object = stored(&state, place, name);
        assert_eq!(text(&object, "/metadata/name"), name, "{place}");
        assert_eq!(text(&object, "/metadata/creationTimestamp"), "2026-01-01T00:00:00Z");
    }
    let role = stored(&state, "rbac.authorization.k8s.io/v1/clusterroles", "edit");
    let mark = "rbac.authorization.k8s.io~1aggregate-to-admin";
    assert_eq!(text(&role, &format!("/metadata/labels/{mark}")), "true");
}
