//! The roles and bindings of a fresh API server.

use hollow::Nodes;

use super::*;
use crate::Cluster;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

fn count(server: &Server, plural: &str) -> usize {
    let (_, list) = ask(server, &User::admin(), &format!("GET {RBAC}/{plural}"), None);
    list["items"].as_array().unwrap().len()
}

/// Rule: all that upstream has (`tests/cluster/sandbox/rbac.rs` holds each against the real one).
#[test]
fn everything_is_there() {
    within(|| {
        let server = server();
        let plurals = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];
        assert_eq!(plurals.map(|plural| count(&server, plural)), [69, 50, 7, 7]);
        let get = |path: &str| ask(&server, &User::admin(), &format!("GET {RBAC}/{path}"), None).1;
        let edit = get("clusterroles/edit");
        assert_eq!(edit["rules"], Value::Null, "a controller sums it up");
        let labels = &edit["metadata"]["labels"];
        assert_eq!(labels["rbac.authorization.k8s.io/aggregate-to-admin"], "true");
        assert_eq!(labels["kubernetes.io/bootstrapping"], "rbac-defaults");
        let selector = &edit["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"];
        assert_eq!(selector["rbac.authorization.k8s.io/aggregate-to-edit"], "true");
        let controller = get("clusterroles/system:controller:ttl-controller");
        let rule = &controller["rules"][0];
        assert_eq!(rule["resources"], json!(["nodes"]));
        assert_eq!(rule["apiGroups"], json!([""]));
    });
}

/// Rule: where they are not shown they hold all the same, also for a server that is behind.
#[test]
fn hidden_roles_hold() {
    within(|| {
        let server = server_with(Options { policy: Policy::Hidden, ..Options::default() });
        let plurals = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];
        assert_eq!(plurals.map(|plural| count(&server, plural)), [7, 1, 0, 0]);
        let past = server.revision();
        let ttl = User::account("kube-system", "ttl-controller");
        let rules = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
        grant(&server, "reader", &rules, "jane");
        let past = server.as_of(past).unwrap_or_else(|error| panic!("{error}"));
        for server in [&server, &past] {
            assert_eq!(ask(server, &ttl, "GET /api/v1/nodes", None).0, 200);
            assert_eq!(ask(server, &ttl, "GET /api/v1/pods", None).0, 403);
        }
        let jane = User::new("jane", &[]);
        let get = "GET /api/v1/namespaces/default/pods/web";
        assert_eq!(ask(&server, &jane, get, None).0, 404);
        assert_eq!(ask(&past, &jane, get, None).0, 403);
    });
}

/// TestNodeRules, roughly: kubelets may what the role system:node says, which has no binding.
#[test]
fn nodes_and_the_scheduler() {
    within(|| {
        let server = server();
        let node = User::node("node-1");
        let scheduler = User::new("system:kube-scheduler", &[]);
        let rows = [
            (&node, "GET /api/v1/nodes", 200),
            (&node, "DELETE /api/v1/nodes/node-1", 403),
            (&node, "DELETE /apis/apps/v1/namespaces/a/deployments/b", 403),
            (&User::new("system:node:node-1", &[]), "GET /api/v1/nodes", 403),
            (&scheduler, "GET /api/v1/nodes", 200),
            (&scheduler, "DELETE /api/v1/nodes/node-1", 403),
        ];
        for (user, request, code) in rows {
            assert_eq!(ask(&server, user, request, None).0, code, "{} {request}", user.name);
        }
    });
}

/// Rule: what kubelets and the scheduler do is what theirs may do.
#[tokio::test(start_paused = true)]
async fn hollow_parts_ask_for_what_they_may() {
    let server = server();
    let cluster = Cluster::start(server.clone(), &Nodes::new(2), 1);
    let container = json!({"name": "main", "image": "img:1"});
    let pod = json!({"metadata": {"name": "web"}, "spec": {"containers": [container]}});
    make(&server, "POST /api/v1/namespaces/default/pods", &pod);
    let path = "GET /api/v1/namespaces/default/pods/web";
    let phase = || ask(&server, &User::admin(), path, None).1["status"]["phase"].clone();
    let wait = async {
        let mut seen = 0;
        while phase() != "Running" {
            seen = server.changed(seen).await;
        }
        make(&server, &path.replace("GET", "DELETE"), &json!({}));
        while phase() != Value::Null {
            seen = server.changed(seen).await;
        }
        cluster.kubelets(|kubelets| kubelets.remove("node-0"));
        let nodes = |server: &Server| ask(server, &User::admin(), "GET /api/v1/nodes", None).1;
        while nodes(&server)["items"].as_array().unwrap().len() > 1 {
            seen = server.changed(seen).await;
        }
    };
    let limit = std::time::Duration::from_mins(5);
    server.runtime().clock.timeout(limit, wait).await.unwrap();
    assert_eq!(server.refusals(), []);
}
