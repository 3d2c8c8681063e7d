//! The secure port on the real API server, beside upstream's manager.

use anyhow::{Context, ensure};
use cluster_tests::{
    Binary, Caller, Cluster, Manager, Options, PageResponse, User, since, wait_until,
};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(40);

/// kubeadm's flags, unchanged but for the places of the files and the port.
fn kubeadm_flags(cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/kubeadm.flags");
    let pki = cluster.dir().display().to_string();
    let text = std::fs::read_to_string(file)?;
    let flags = text.lines().filter(|line| line.starts_with("--"));
    let ours = flags.filter(|flag| !flag.contains("/etc/kubernetes/controller-manager.conf"));
    let ours = ours.map(|flag| {
        flag.replace("/etc/kubernetes/pki/front-proxy-ca.crt", &format!("{pki}/ca.crt"))
            .replace("/etc/kubernetes/pki", &pki)
    });
    Ok(ours.collect())
}

/// Issue: kubeadm's default flag set starts ours unchanged against the real API server with RBAC;
/// with `--use-service-account-credentials=true` no request gets 403.
#[tokio::test]
async fn kubeadms_flags_start_it_and_nothing_is_forbidden() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let flags = kubeadm_flags(&cluster)?;
    ensure!(flags.len() > 10, "{flags:?}");
    let before = cluster.request_counts().await?;
    let args: Vec<_> = flags.iter().map(String::as_str).collect();
    let mut manager = Manager::start(&cluster, Binary::Ours, User::ControllerManager, &args)?;
    manager.healthy().await?;

    let sets: Api<ReplicaSet> = Api::namespaced(cluster.admin()?, "default");
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "example.com/image"}]}}}});
    sets.create(&PostParams::default(), &serde_json::from_value(set)?).await?;
    for replicas in [3, 0] {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        sets.patch("web", &PatchParams::default(), &patch).await?;
        wait_until(&format!("{replicas} pods"), LIMIT, async || {
            let status = sets.get("web").await?.status;
            Ok(status.filter(|status| status.replicas == replicas).map(drop))
        })
        .await?;
    }
    let health = manager.get("/healthz?verbose").await?;
    ensure!(health.contains("[+]replicaset-controller ok"), "{health}");
    let sent = since(&before, &cluster.request_counts().await?);
    let forbidden: Vec<_> = sent.keys().filter(|request| request.code == 403).collect();
    ensure!(forbidden.is_empty(), "{forbidden:?}");
    Ok(())
}

/// Issue: every endpoint: 200, 401, 403, 404 cases as upstream's serving test has them
/// (test/integration/serving/serving_test.go), and the whole responses as upstream's manager gives
/// them to the same callers.
#[tokio::test]
async fn the_secure_port_answers_as_upstreams() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let user = User::ControllerManager;
    let args = ["--controllers=replicaset", "--leader-elect=true"];
    let mut ours = Manager::start(&cluster, Binary::Ours, user, &args)?;
    let other = [&args[..], &["--leader-elect-resource-name=upstreams"]].concat();
    let mut upstreams = Manager::start(&cluster, Binary::Upstream, user, &other)?;
    ours.healthy().await?;
    upstreams.healthy().await?;

    let powerless = Caller::Token(token(&cluster).await?);
    let callers = [
        ("nobody", Caller::Nobody),
        ("an admin", Caller::User(User::Admin)),
        ("a user without rights", powerless),
        ("a client with a wrong token", Caller::Token("wrong".to_owned())),
    ];
    // The pages that are equal byte for byte, and what differs from run to run.
    let same = [
        "/healthz",
        "/healthz/ping",
        "/healthz/leaderElection",
        "/livez",
        "/readyz",
        "/",
        "/nope",
        "/version",
        "/debug/flags/v",
        "/debug/pprof",
        "/debug/pprof/nope",
        "/metrics/",
        "/configz/",
    ];
    let alike = ["/metrics", "/metrics/slis", "/configz", "/flagz", "/statusz", "/debug/pprof/"];
    let mut wrong = Vec::new();
    for (name, caller) in &callers {
        for path in same.iter().chain(&alike) {
            let [ours, theirs] = [
                ours.ask(&cluster, caller, path).await?,
                upstreams.ask(&cluster, caller, path).await?,
            ];
            let is_page = alike.contains(path) && theirs.code == 200;
            let ours =
                if is_page { PageResponse { body: theirs.body.clone(), ..ours } } else { ours };
            if ours != theirs {
                wrong.push(format!("{path} for {name}:\n  {ours:?}\n  {theirs:?}"));
            }
        }
    }
    ensure!(wrong.is_empty(), "ours and upstream's differ:\n{}", wrong.join("\n"));
    let codes = |caller: usize| (&callers[caller].1, "/metrics");
    for (caller, code) in [(0, 403), (1, 200), (2, 403), (3, 401)] {
        let (caller, path) = codes(caller);
        ensure!(ours.ask(&cluster, caller, path).await?.code == code, "{caller:?}");
    }
    the_debug_pages_explain(&cluster, &ours).await
}

/// Issue: /debug/controllers, and explain for a key, with curl and as JSON.
async fn the_debug_pages_explain(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let nobody = manager.ask(cluster, &Caller::Nobody, "/debug/controllers").await?;
    ensure!(nobody.code == 403, "{nobody:?}");
    let page = manager.get("/debug/controllers").await?;
    let runs =
        |line: &str| line.split_whitespace().take(2).eq(["replicaset-controller", "running"]);
    ensure!(page.lines().any(runs), "{page}");
    ensure!(page.contains("--controllers does not switch it on"), "{page}");
    let sets: Api<ReplicaSet> = Api::namespaced(cluster.admin()?, "default");
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "example.com/image"}]}}}});
    sets.create(&PostParams::default(), &serde_json::from_value(set)?).await?;
    let path = "/debug/controllers/replicaset/explain?key=default/web";
    wait_until("an explanation of a set that is at rest", LIMIT, async || {
        let page = manager.get(path).await?;
        Ok((page.contains("web") && page.contains("why: ")).then_some(()))
    })
    .await?;
    let missing = manager.get("/debug/controllers/nope").await;
    ensure!(missing.is_err(), "{missing:?}");
    Ok(())
}

/// A user of the debug pages sees no more of objects there than the API server would show. There is
/// no such priority class, so no pod can be made, and the plan goes on to hold its body.
#[tokio::test]
async fn an_explanation_shows_bodies_to_users_that_may_get_their_objects() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 0, ..Options::default() }).await?;
    let args = ["--controllers=replicaset"];
    let mut manager = Manager::start(&cluster, Binary::Ours, User::ControllerManager, &args)?;
    manager.healthy().await?;
    let pages = json!([{"nonResourceURLs": ["/debug/controllers/*"], "verbs": ["get"]}]);
    let pods = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    grant(&cluster, "pages", &["looks", "reads"], &pages).await?;
    grant(&cluster, "pods", &["reads"], &pods).await?;
    let looks = Caller::Token(token_of(&cluster, "looks").await?);
    let reads = Caller::Token(token_of(&cluster, "reads").await?);
    let sets: Api<ReplicaSet> = Api::namespaced(cluster.admin()?, "default");
    let set = json!({"metadata": {"name": "web"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"priorityClassName": "none", "containers": [{"name": "main", "image": "main",
                "env": [{"name": "PASSWORD", "value": "hunter2"}]}]}}}});
    sets.create(&PostParams::default(), &serde_json::from_value(set)?).await?;
    let path = "/debug/controllers/replicaset/explain?key=default/web";
    for (caller, is_seen) in [(&looks, false), (&reads, true)] {
        wait_until(&format!("{caller:?}"), LIMIT, async || {
            let answer = manager.ask_for(&cluster, caller, path, "application/json").await?;
            let PageResponse { code, body, .. } = answer;
            let is_planned = code == 200 && body.contains("create pods in default");
            let why = body.contains("… (you may not get all pods in default)");
            ensure!(!is_planned || body.contains("hunter2") == is_seen && why != is_seen, body);
            Ok(is_planned.then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// TestKubeControllerManagerInformerMetrics (test/integration/serving): the garbage collector alone
/// has informers, and they are counted under upstream's labels.
#[tokio::test]
async fn informers_of_the_garbage_collector_are_counted_as_upstreams() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 0, ..Options::default() }).await?;
    let (user, args) = (User::ControllerManager, ["--controllers=garbagecollector"]);
    let mut ours = Manager::start(&cluster, Binary::Ours, user, &args)?;
    let mut upstreams = Manager::start(&cluster, Binary::Upstream, user, &args)?;
    ours.healthy().await?;
    upstreams.healthy().await?;
    wait_until("the same informers", LIMIT, async || {
        let (ours, theirs) = (informers(&ours).await?, informers(&upstreams).await?);
        ensure!(theirs.len() > 30, "{theirs:?}");
        ensure!(ours == theirs, "ours: {ours:#?}\nupstream's: {theirs:#?}");
        Ok(Some(()))
    })
    .await
}

/// The labels of all that is counted of informers.
async fn informers(manager: &Manager) -> anyhow::Result<BTreeSet<String>> {
    let page = manager.get("/metrics").await?;
    let start = "informer_queued_items{";
    let queued = page.lines().filter_map(|line| line.strip_prefix(start)?.split_once('}'));
    Ok(queued.map(|(labels, _)| labels.to_owned()).collect())
}

/// Grants service accounts of the default namespace what these rules say.
async fn grant(
    cluster: &Cluster,
    name: &str,
    accounts: &[&str],
    rules: &Value,
) -> anyhow::Result<()> {
    let (client, post) = (cluster.admin()?, PostParams::default());
    let role = json!({"metadata": {"name": name}, "rules": rules});
    let roles: Api<ClusterRole> = Api::all(client.clone());
    roles.create(&post, &serde_json::from_value(role)?).await?;
    let subject = |name| json!({"kind": "ServiceAccount", "namespace": "default", "name": name});
    let subjects: Vec<_> = accounts.iter().map(subject).collect();
    let role =
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
    let binding = json!({"metadata": {"name": name}, "subjects": subjects, "roleRef": role});
    let bindings: Api<ClusterRoleBinding> = Api::all(client);
    bindings.create(&post, &serde_json::from_value(binding)?).await?;
    Ok(())
}

/// A token of a service account without any rights.
async fn token(cluster: &Cluster) -> anyhow::Result<String> {
    token_of(cluster, "it").await
}

/// A token of a new service account.
async fn token_of(cluster: &Cluster, name: &str) -> anyhow::Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.admin()?, "default");
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
    accounts.create(&PostParams::default(), &serde_json::from_value(account)?).await?;
    let asked: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}}))?;
    let made = accounts.create_token_request(name, &PostParams::default(), &asked).await?;
    made.status.and_then(|status| status.token).context("a token")
}
