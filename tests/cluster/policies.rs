//! What is said of ValidatingAdmissionPolicies on the real API server. Upstream's:
//! test/integration/apiserver/cel/typeresolution_test.go and test/e2e/apimachinery's "should type
//! check a ValidatingAdmissionPolicy".

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, silent, since, wait_until,
};
use http::Request;
use serde_json::{Value, json};

const POLICIES: &str = "validatingadmissionpolicies.v1.admissionregistration.k8s.io";
const DEFINITIONS: &str = "customresourcedefinitions.v1.apiextensions.k8s.io";
const WIDGETS: &str = "widgets.example.com";
const ARGS: [&str; 1] = ["--controllers=validatingadmissionpolicy-status-controller"];
/// How long the API server may take until it describes a kind.
const LIMIT: Duration = Duration::from_mins(1);
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn each_generation_of_a_policy_is_looked_at() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 0, ..Options::default() }).await?;
    let manager = start(&cluster, Binary::under_test()?).await?;
    let requests = cluster.request_counts().await?;
    let all = Objects::of(&cluster, "default")?.of_all();
    let run = async {
        all.create(POLICIES, &policy("anything", "*", "*")).await?;
        seen(&all, "anything", 1).await?;
        let is_checked = is_checked(&all.get(POLICIES, "anything").await?);
        ensure!(is_checked, "there is nothing to check");
        all.create(POLICIES, &policy("limits", "apps", "deployments")).await?;
        seen(&all, "limits", 1).await?;
        let message = json!({"spec": {"validations": [
            {"expression": "object.spec.replicas > 3", "message": "too few"},
        ]}});
        all.merge(POLICIES, "limits", &message).await?;
        seen(&all, "limits", 2).await?;
        all.delete(POLICIES, "anything").await?;
        all.gone(POLICIES, "anything").await?;
        silent(&cluster, &manager, [CALM; 2], |it| it.resource == "validatingadmissionpolicies")
            .await?;
        none_forbidden(&since(&requests, &cluster.request_counts().await?))
    };
    run.await.with_context(|| manager.log())
}

/// Ours says of a policy what upstream's says of it, and neither looks at what the other one has
/// looked at.
#[tokio::test]
async fn both_managers_say_the_same() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 0, ..Options::default() }).await?;
    let all = Objects::of(&cluster, "default")?.of_all();
    all.create(DEFINITIONS, &definition()).await?;
    let is_established =
        |it: &Value| it["status"]["conditions"].to_string().contains("the initial names have been");
    all.wait(DEFINITIONS, WIDGETS, "to be served", is_established).await?;
    wait_until("a description of widgets", LIMIT, async || is_described(&cluster).await).await?;
    let policies = policies();
    let mut by_upstream = Vec::new();
    for (name, binary) in [("first", Binary::Upstream), ("second", Binary::Ours)] {
        let manager = start(&cluster, binary).await?;
        let run = async {
            for (place, spec) in policies.iter().enumerate() {
                all.create(POLICIES, &named(&format!("{name}-{place}"), spec)).await?;
            }
            for place in 0..policies.len() {
                seen(&all, &format!("{name}-{place}"), 1).await?;
            }
            silent(&cluster, &manager, [CALM; 2], |it| {
                it.resource == "validatingadmissionpolicies"
            })
            .await?;
            for (place, spec) in policies.iter().enumerate() {
                let said = all.get(POLICIES, &format!("first-{place}")).await?;
                if binary == Binary::Upstream {
                    by_upstream.push(said);
                    continue;
                }
                ensure!(Some(&said) == by_upstream.get(place), "{said}");
                let ours = all.get(POLICIES, &format!("second-{place}")).await?;
                ensure!(is_checked(&ours), "{ours}");
                ensure!(ours["status"] == said["status"], "{spec}: {ours}, upstream: {said}");
            }
            anyhow::Ok(())
        };
        run.await.with_context(|| manager.log())?;
    }
    let warned = by_upstream.iter().filter(|it| it.to_string().contains("expressionWarnings"));
    ensure!(warned.count() > 10, "most of these are wrong: {by_upstream:?}");
    let ours = all.get(POLICIES, "second-0").await?;
    let manager = start(&cluster, Binary::Upstream).await?;
    silent(&cluster, &manager, [CALM; 2], |it| it.resource == "validatingadmissionpolicies")
        .await?;
    let said = all.get(POLICIES, "second-0").await?;
    ensure!(said == ours, "{said}, was {ours}");
    Ok(())
}

/// What policies say, over built-in and custom kinds: no warning has the name of a type in it.
fn policies() -> Vec<Value> {
    let of = |group: &str, resource: &str, expressions: &[&str]| {
        let validations: Vec<_> = expressions.iter().map(|it| json!({"expression": it})).collect();
        json!({
            "matchConstraints": {"resourceRules": [{"apiGroups": [group], "apiVersions": ["v1"],
                "operations": ["CREATE"], "resources": [resource]}]},
            "validations": validations,
        })
    };
    let with = |mut spec: Value, more: Value| {
        for (name, value) in more.as_object().into_iter().flatten() {
            spec[name] = value.clone();
        }
        spec
    };
    let containers = "object.spec.template.spec.containers";
    let params = |kind: &str| json!({"paramKind": {"apiVersion": "v1", "kind": kind}});
    vec![
        of("apps", "deployments", &["object.spec.replicaz > 1"]),
        of("apps", "deployments", &["object.spec.replicas > 1", "object.spec.replicas > '1'"]),
        of("apps", "deployments", &["object.spec.replicas > '1' && object.spec.nonExisting == 1"]),
        of("apps", "deployments", &[&format!("{containers}.all(c, c.image == 1 || c.imagez)")]),
        of("apps", "deployments", &[&format!("{containers}.exists(i, c, c.ports[i] == null)")]),
        of(
            "apps",
            "deployments",
            &[&format!("{containers}.map(c, c.resources.limits['cpu']) == ['a']")],
        ),
        of("apps", "deployments", &[&format!("{containers}[0].livenessProbe.httpGet.port == 'a'")]),
        of("apps", "deployments", &["object.spec.strategy.rollingUpdate.maxSurge > object.kind"]),
        of("apps", "daemonsets", &["object.metadata.labels.all(k, v, v == 1)"]),
        of("apps", "statefulsets", &["object.metadata.creationTimestamp > object.metadata.name"]),
        of("", "pods", &["object.spec.containers.exists(c, c.env.exists(e, e.value == 1))"]),
        of(
            "",
            "pods",
            &["object.spec.volumes[0].emptyDir.sizeLimit == 1", "object.?spec.?foo.hasValue()"],
        ),
        of("", "configmaps", &["object.data.a == 1", "object.binaryData.a == object.data.a"]),
        of("", "secrets", &["object.data['a'] == 'b'", "object.immutable + 1 == 2"]),
        of("", "events", &["object.reason == 1"]),
        of(
            "",
            "services",
            &["object.spec.ports.map(p, p.targetPort)[0].foo == object.spec.ports[0].port.foo"],
        ),
        of("rbac.authorization.k8s.io", "roles", &["object.rules.all(r, r.verbs == 'a')"]),
        of(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            &["object.spec.versions.all(v, v.schema.openAPIV3Schema.properties.a.type == 'a')"],
        ),
        of("example.com", "widgets", &["object.spec.size == 'a'", "object.spec.free.a == 1"]),
        of("example.com", "widgets", &["object.metadata.name == 1", "object.spec.port == 1"]),
        of("example.com", "widgets", &["object.metadata.ownerReferences[0].uid == 1"]),
        with(of("", "pods", &["params.data.a == 1"]), params("ConfigMap")),
        with(of("", "pods", &["params.a.b.c == 1"]), params("Missing")),
        with(
            of("apps", "deployments", &["variables.small", "variables.replicas > 'a'"]),
            json!({"variables": [
                {"name": "replicas", "expression": "object.spec.replicas"},
                {"name": "small", "expression": "variables.replicas < 5"},
            ]}),
        ),
    ]
}

/// The API server serves a kind before it describes it, and whoever looks in between takes it for
/// one that cannot be checked.
async fn is_described(cluster: &Cluster) -> anyhow::Result<Option<()>> {
    let path = "/openapi/v3/apis/example.com/v1";
    let text = cluster.admin()?.request_text(Request::get(path).body(Vec::new())?).await;
    Ok(text.is_ok_and(|text| text.contains("\"Widget\"")).then_some(()))
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": WIDGETS},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {"spec": {
                    "type": "object", "properties": {
                        "size": {"type": "integer"},
                        "port": {"x-kubernetes-int-or-string": true},
                        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    },
                }}},
            }}],
        },
    })
}

async fn start(cluster: &Cluster, binary: Binary) -> anyhow::Result<Manager> {
    let mut manager = Manager::start(cluster, binary, User::ControllerManager, &ARGS)?;
    manager.healthy().await?;
    Ok(manager)
}

/// Waits until a generation was looked at.
async fn seen(all: &Objects, name: &str, generation: u64) -> anyhow::Result<()> {
    let is_seen = |policy: &Value| policy["status"]["observedGeneration"] == generation;
    all.wait(POLICIES, name, "to be looked at", is_seen).await.map(drop)
}

fn is_checked(policy: &Value) -> bool {
    policy["status"]["typeChecking"].is_object()
}

/// A policy with a field that there is not.
fn policy(name: &str, group: &str, resource: &str) -> Value {
    let spec = json!({
        "matchConstraints": {"resourceRules": [{"apiGroups": [group], "apiVersions": ["v1"],
            "operations": ["CREATE"], "resources": [resource]}]},
        "validations": [{"expression": "object.spec.replicaz > 1"}],
    });
    named(name, &spec)
}

fn named(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name}, "spec": spec,
    })
}
