//! RBAC: the sandbox against the real API server.

use anyhow::{Context, ensure};
use cluster_tests::{Cluster, Options, Sandbox, User, ours};
use http::Method;
use kube::Client;
use runtime::Runtime;
use sandbox::Server;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::{Child, Command};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";
/// What differs between any two objects.
const OWN: [&str; 4] = ["creationTimestamp", "managedFields", "resourceVersion", "uid"];
/// The controller whose requests are refused.
const CONTROLLER: &str = "ttl-controller";

/// A request, as which user it is sent, and what it carries.
struct Ask {
    user: User,
    method: Method,
    path: String,
    body: Value,
}

/// The code, and the document.
type Answer = (u16, Value);

impl Ask {
    fn new(user: User, request: &str, body: Value) -> anyhow::Result<Self> {
        let (method, path) = request.split_once(' ').context("a method and a path")?;
        Ok(Self { user, method: method.parse()?, path: path.to_owned(), body })
    }

    async fn really(&self, cluster: &Cluster) -> anyhow::Result<Answer> {
        let request = http::Request::builder().method(self.method.clone()).uri(&self.path);
        let request = request.header("content-type", "application/json");
        let client: Client = cluster.client(self.user)?;
        let answer = client.request::<Value>(request.body(self.text())?).await;
        match answer {
            Ok(document) => Ok((200, document)),
            Err(kube::Error::Api(status)) => Ok((status.code, serde_json::to_value(&*status)?)),
            Err(error) => Err(error.into()),
        }
    }

    fn sandboxed(&self, server: &Server) -> anyhow::Result<Answer> {
        let user = match self.user {
            User::Admin => sandbox::User::admin(),
            user => sandbox::User::named(&user.name()),
        };
        let (path, query) = self.path.split_once('?').unwrap_or((&self.path, ""));
        let request = sandbox::Request::new(self.method.clone(), path, query);
        let answer = server.call(request.with_json(self.text()).by(user));
        let code = answer.status().as_u16();
        let document = serde_json::from_slice(answer.body())?;
        Ok((if code < 300 { 200 } else { code }, document))
    }

    fn text(&self) -> Vec<u8> {
        if self.body.is_null() { Vec::new() } else { self.body.to_string().into() }
    }
}

/// Objects by their names, without what is their own.
fn objects(list: &Value) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut objects = BTreeMap::new();
    for item in list["items"].as_array().context("no items")? {
        let mut object = item.clone();
        let metadata = object["metadata"].as_object_mut().context("no metadata")?;
        for field in OWN {
            metadata.remove(field);
        }
        let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default();
        objects.insert(format!("{}/{}", text("namespace"), text("name")), object.clone());
    }
    Ok(objects)
}

/// Rule: the sandbox makes the roles and bindings that kube-apiserver makes, all and no more.
#[tokio::test]
async fn roles_and_bindings_are_those_of_the_real_one() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let server = Server::new(&Runtime::system(), sandbox::Options::default());
    for plural in ["clusterroles", "clusterrolebindings", "roles", "rolebindings"] {
        let path = format!(
            "GET {RBAC}/{plural}?labelSelector=kubernetes.io%2Fbootstrapping%3Drbac-defaults"
        );
        let ask = Ask::new(User::Admin, &path, Value::Null)?;
        let real = objects(&ask.really(&cluster).await?.1)?;
        let ours = objects(&ask.sandboxed(&server)?.1)?;
        ensure!(real.len() > 5, "{} {plural}", real.len());
        let names = |of: &BTreeMap<String, Value>| of.keys().cloned().collect::<Vec<_>>();
        ensure!(names(&real) == names(&ours), "{:?}\n{:?}", names(&real), names(&ours));
        for (name, real) in &real {
            let ours = ours.get(name);
            ensure!(ours == Some(real), "{plural} {name}\nreal: {real}\nours: {ours:?}");
        }
    }
    Ok(())
}

/// Rule: a refusal has the same text, and so has a review of a user's own rights.
#[tokio::test]
async fn answers_are_those_of_the_real_one() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let server = Server::new(&Runtime::system(), sandbox::Options::default());
    let mut wrong = Vec::new();
    for ask in requests()? {
        let (real, ours) = (ask.really(&cluster).await?, ask.sandboxed(&server)?);
        let shown = |(code, document): &Answer| {
            let status = document.get("status").filter(|it| it.is_object());
            (*code, document["message"].clone(), status.map(sorted))
        };
        if shown(&real) != shown(&ours) {
            let (user, method, path, body) = (ask.user.name(), ask.method, ask.path, ask.body);
            wrong.push(format!(
                "{user} {method} {path} {body}\nreal: {:?}\nours: {:?}",
                shown(&real),
                shown(&ours)
            ));
        }
    }
    ensure!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
    Ok(())
}

/// The rules of a review are in no order.
fn sorted(status: &Value) -> Value {
    let mut status = status.clone();
    for rules in ["resourceRules", "nonResourceRules"] {
        if let Some(rules) = status.get_mut(rules).and_then(Value::as_array_mut) {
            rules.sort_by_key(Value::to_string);
        }
    }
    status
}

fn requests() -> anyhow::Result<Vec<Ask>> {
    let controller = User::ServiceAccount(CONTROLLER);
    let refused = [
        "GET /api/v1/pods",
        "GET /api/v1/namespaces/default/pods?watch=1",
        "GET /api/v1/namespaces/default",
        "GET /api/v1/secrets?fieldSelector=metadata.name%3Da",
        "DELETE /api/v1/nodes/node-0",
        "DELETE /api/v1/namespaces/default/pods",
        "POST /api/v1/namespaces/default/pods/web/eviction",
        "PUT /apis/apps/v1/namespaces/default/deployments/web/scale",
        "GET /apis/odd.example.com/v1/things",
        "GET /metrics",
        "GET /logs/%3Cb%3E",
        "POST /apis/authorization.k8s.io/v1/subjectaccessreviews",
    ];
    let mut asks = Vec::new();
    for request in refused {
        asks.push(Ask::new(controller, request, Value::Null)?);
    }
    let account = format!("system:serviceaccount:kube-system:{CONTROLLER}");
    let (accesses, own) =
        (format!("POST {REVIEWS}/subjectaccessreviews"), format!("POST {REVIEWS}/self"));
    let specs = [
        json!({"user": account, "resourceAttributes": {"verb": "patch", "resource": "nodes"}}),
        json!({"user": account, "resourceAttributes": {"verb": "delete", "resource": "nodes"}}),
        json!({"user": "x", "nonResourceAttributes": {"verb": "get", "path": "/healthz"}}),
        json!({"user": "x", "groups": ["system:authenticated"],
            "nonResourceAttributes": {"verb": "get", "path": "/openapi/v3"}}),
        json!({"user": "system:kube-scheduler", "resourceAttributes": {"verb": "create",
            "resource": "pods", "subresource": "binding", "namespace": "a", "name": "b"}}),
        json!({"user": "system:kube-controller-manager", "resourceAttributes": {"verb": "update",
            "group": "coordination.k8s.io", "resource": "leases", "namespace": "kube-system",
            "name": "kube-controller-manager"}}),
        json!({"user": "system:kube-controller-manager", "resourceAttributes": {"verb": "update",
            "group": "coordination.k8s.io", "resource": "leases", "namespace": "kube-system",
            "name": "other"}}),
        json!({"groups": ["system:masters"], "resourceAttributes": {"verb": "*"}}),
        json!({"resourceAttributes": {"verb": "get"}}),
        json!({"user": "x"}),
    ];
    for spec in specs {
        asks.push(Ask::new(User::Admin, &accesses, review("SubjectAccessReview", &spec))?);
    }
    let spec = json!({"resourceAttributes": {"verb": "get", "resource": "nodes"}});
    let review_own = review("SelfSubjectAccessReview", &spec);
    asks.push(Ask::new(controller, &format!("{own}subjectaccessreviews"), review_own)?);
    let rules = review("SelfSubjectRulesReview", &json!({"namespace": "kube-system"}));
    for user in [controller, User::ControllerManager, User::Admin] {
        asks.push(Ask::new(user, &format!("{own}subjectrulesreviews"), rules.clone())?);
    }
    Ok(asks)
}

fn review(kind: &str, spec: &Value) -> Value {
    json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec})
}

/// A manager of its own, until it is dropped.
struct Beside(Child);

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// README: the sandbox as an API server for a manager that is another process, with an account for
/// each controller.
#[tokio::test]
async fn a_manager_of_its_own_has_its_accounts() -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("sandbox-rbac-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let kubeconfig = folder.join("kubeconfig");
    let sandbox = Sandbox::start_with(2, &["--controllers=-ttl".to_owned()]).await?;
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": sandbox.url()}}],
        "users": [{"name": "it", "user": {"as": "system:kube-controller-manager"}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    });
    std::fs::write(&kubeconfig, config.to_string())?;
    let log = std::fs::File::create(folder.join("log"))?;
    let manager = Command::new(ours()?)
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .args(["--use-service-account-credentials=true", "--leader-elect=true"])
        .args(["--secure-port=0", "--controller-start-interval=0s"])
        .stderr(log)
        .spawn()?;
    let manager = Beside(manager);
    sandbox.must("create deployment web --image=any --replicas=2").await?;
    sandbox.must("rollout status deployment/web --timeout=60s").await?;
    let accounts = sandbox.must("-n kube-system get serviceaccounts -o name").await?;
    ensure!(accounts.contains("serviceaccount/replicaset-controller"), "{accounts}");
    let said = sandbox.kubectl("--as=jane auth can-i create pods").await?;
    ensure!(said.out.trim() == "no", "{said:?}");
    let said = sandbox.kubectl("--as=jane get pods").await?;
    ensure!(said.err.contains("User \"jane\" cannot list resource \"pods\""), "{said:?}");
    drop(manager);
    let said = std::fs::read_to_string(folder.join("log"))?;
    ensure!(!said.contains("cannot"), "{said}");
    ensure!(!said.contains("is forbidden"), "{said}");
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
