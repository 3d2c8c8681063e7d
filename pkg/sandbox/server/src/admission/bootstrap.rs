//! What a fresh API server makes by itself.

use api::Time;
use serde_json::{Value, json};

use crate::access;
use crate::server::{Options, Policy, State};
use crate::write::insert_quietly;

/// The namespaces that are always there.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];
/// Where the API server is said to be. Nothing in the sandbox connects to it by that.
const ADDRESS: &str = "10.0.0.1";
const PORT: u16 = 6443;
/// `2026-01-31`
const DAY_LENGTH: usize = 10;

/// Makes what is not there yet.
pub(super) fn make(state: &mut State) {
    for (place, objects) in all(state.runtime.clock.now(), &state.options) {
        let (group, version, plural) = place;
        let Some(served) = state.registry.get(group, version, plural).cloned() else { continue };
        for mut object in objects {
            let resource = &served.resource;
            let fields =
                [("apiVersion", resource.api_version()), ("kind", resource.kind.to_string())];
            for (field, value) in fields {
                crate::write::fields::map(&mut object, &[]).insert(field.to_owned(), value.into());
            }
            insert_quietly(state, &served, object);
        }
    }
}

/// Group, version and plural.
type Place = (&'static str, &'static str, &'static str);

fn all(now: Time, options: &Options) -> Vec<(Place, Vec<Value>)> {
    let rbac = "rbac.authorization.k8s.io";
    let roles = |plural: &str| policy(&format!("{plural}.{rbac}"), options);
    let flow = "flowcontrol.apiserver.k8s.io";
    vec![
        (("", "v1", "namespaces"), NAMESPACES.iter().map(|name| namespace(name)).collect()),
        (("scheduling.k8s.io", "v1", "priorityclasses"), priority_classes()),
        (("", "v1", "configmaps"), vec![authentication(), token_tracking(now)]),
        (
            ("networking.k8s.io", "v1", "servicecidrs"),
            vec![json!({
                "metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.96.0.0/12"]},
            })],
        ),
        (("", "v1", "services"), vec![service()]),
        (("", "v1", "endpoints"), vec![endpoints()]),
        (("discovery.k8s.io", "v1", "endpointslices"), vec![endpoint_slice()]),
        ((rbac, "v1", "clusterroles"), roles("clusterroles")),
        ((rbac, "v1", "clusterrolebindings"), roles("clusterrolebindings")),
        ((rbac, "v1", "roles"), roles("roles")),
        ((rbac, "v1", "rolebindings"), roles("rolebindings")),
        ((flow, "v1", "prioritylevelconfigurations"), priority_levels()),
        ((flow, "v1", "flowschemas"), flow_schemas()),
    ]
}

fn namespace(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    })
}

fn priority_classes() -> Vec<Value> {
    let class = |name: &str, value: i64, description: &str| {
        json!({
            "metadata": {"name": name, "generation": 1},
            "value": value,
            "description": description,
            "preemptionPolicy": "PreemptLowerPriority",
        })
    };
    let node = "Used for system critical pods that must not be moved from their current node.";
    let cluster = "Used for system critical pods that must run in the cluster, but can be moved \
                   to another node if necessary.";
    vec![
        class("system-node-critical", 2_000_001_000, node),
        class("system-cluster-critical", 2_000_000_000, cluster),
    ]
}

fn authentication() -> Value {
    let name = "extension-apiserver-authentication";
    json!({"metadata": {"name": name, "namespace": "kube-system"}})
}

/// Since when the use of tokens in Secrets is noted (legacytokentracking).
fn token_tracking(now: Time) -> Value {
    let name = "kube-apiserver-legacy-service-account-token-tracking";
    let day = now.to_string().chars().take(DAY_LENGTH).collect::<String>();
    json!({"metadata": {"name": name, "namespace": "kube-system"}, "data": {"since": day}})
}

fn service() -> Value {
    let labels = json!({"component": "apiserver", "provider": "kubernetes"});
    let port = json!({"name": "https", "port": 443, "protocol": "TCP", "targetPort": PORT});
    json!({
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {
            "clusterIP": "10.96.0.1",
            "clusterIPs": ["10.96.0.1"],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [port],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    })
}

fn endpoints() -> Value {
    let labels = json!({"endpointslice.kubernetes.io/skip-mirror": "true"});
    json!({
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "subsets": [{
            "addresses": [{"ip": ADDRESS}],
            "ports": [{"name": "https", "port": PORT, "protocol": "TCP"}],
        }],
    })
}

fn endpoint_slice() -> Value {
    let labels = json!({"kubernetes.io/service-name": "kubernetes"});
    json!({
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [ADDRESS], "conditions": {"ready": true}}],
        "ports": [{"name": "https", "port": PORT, "protocol": "TCP"}],
    })
}

/// Roles and bindings of a table.
fn policy(table: &str, options: &Options) -> Vec<Value> {
    let of = access::policy().iter().filter(|(of, _)| *of == table);
    let shown =
        of.filter(|(_, object)| options.policy == Policy::Shown || access::is_basic(object));
    shown.map(|(_, object)| object.clone()).collect()
}

/// The two that the API server cannot do without.
fn priority_levels() -> Vec<Value> {
    vec![
        json!({
            "metadata": {"name": "exempt", "generation": 1},
            "spec": {
                "type": "Exempt",
                "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
            },
        }),
        json!({
            "metadata": {"name": "catch-all", "generation": 1},
            "spec": {"type": "Limited", "limited": {
                "nominalConcurrencyShares": 5,
                "lendablePercent": 0,
                "limitResponse": {"type": "Reject"},
            }},
        }),
    ]
}

fn flow_schemas() -> Vec<Value> {
    let schema = |name: &str, precedence: i64, groups: &[&str]| {
        let subject = |group: &&str| json!({"kind": "Group", "group": {"name": group}});
        let subjects: Vec<_> = groups.iter().map(subject).collect();
        let resources = json!([{
            "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"],
            "clusterScope": true,
        }]);
        let others = json!([{"verbs": ["*"], "nonResourceURLs": ["*"]}]);
        let rule = json!({
            "subjects": subjects, "resourceRules": resources, "nonResourceRules": others,
        });
        json!({
            "metadata": {"name": name, "generation": 1},
            "spec": {
                "priorityLevelConfiguration": {"name": name},
                "matchingPrecedence": precedence,
                "rules": [rule],
            },
        })
    };
    vec![
        schema("exempt", 1, &["system:masters"]),
        schema("catch-all", 10_000, &["system:unauthenticated", "system:authenticated"]),
    ]
}
