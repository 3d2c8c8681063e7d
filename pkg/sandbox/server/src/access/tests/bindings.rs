//! Bindings of roles (kubernetes' pkg/registry/rbac/validation/rule_test.go), and the text of
//! refusals.

use serde_json::{Value, json};

use super::*;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

fn binding(name: &str, role: &str, subject: &Value) -> Value {
    let (kind, role) = role.split_once('/').unwrap();
    let role_ref = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role});
    json!({"metadata": {"name": name}, "roleRef": role_ref, "subjects": [subject]})
}

/// TestAppliesTo: users, groups, and service accounts, of the binding's namespace by default.
#[test]
fn subjects() {
    within(|| {
        let server = server();
        let rules = json!([{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}]);
        let role = json!({"metadata": {"name": "lister"}, "rules": rules});
        make(&server, &format!("POST {RBAC}/namespaces/default/roles"), &role);
        let subjects = [
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}),
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "devs"}),
            json!({"kind": "ServiceAccount", "name": "robot", "namespace": "default"}),
            json!({"kind": "ServiceAccount", "name": "robot", "namespace": "kube-system"}),
        ];
        for (at, subject) in subjects.iter().enumerate() {
            let binding = binding(&format!("list-{at}"), "Role/lister", subject);
            make(&server, &format!("POST {RBAC}/namespaces/default/rolebindings"), &binding);
        }
        let rows = [
            (User::new("jane", &[]), 200),
            (User::new("joe", &["devs"]), 200),
            (User::new("joe", &[]), 403),
            (User::account("default", "robot"), 200),
            (User::account("kube-system", "robot"), 200),
            (User::account("kube-public", "robot"), 403),
            (User::new("jane", &[]), 200),
        ];
        for (user, code) in rows {
            let answer = ask(&server, &user, "GET /api/v1/namespaces/default/pods", None);
            assert_eq!(answer.0, code, "{user:?}");
            let other = ask(&server, &user, "GET /api/v1/namespaces/kube-system/pods", None);
            assert_eq!(other.0, 403, "{user:?}");
        }
    });
}

/// A role that is deleted, or whose binding is deleted, grants nothing from then on; one that is
/// missing is named.
#[test]
fn changes_count_at_once() {
    within(|| {
        let server = server();
        let jane = User::new("jane", &[]);
        let list = |server: &Server| ask(server, &jane, "GET /api/v1/pods", None);
        let denied = "pods is forbidden: User \"jane\" cannot list resource \"pods\" in API group \
                      \"\" at the cluster scope";
        assert_eq!(message(&list(&server).1), denied);
        let rules = json!([{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}]);
        grant(&server, "reader", &rules, "jane");
        let before = server.revision();
        assert_eq!(list(&server).0, 200);
        let role = make(&server, &format!("DELETE {RBAC}/clusterroles/reader"), &json!({}));
        assert_eq!(role["status"], "Success");
        let missing =
            format!("{denied}: RBAC: clusterrole.rbac.authorization.k8s.io \"reader\" not found");
        assert_eq!(message(&list(&server).1), missing);
        make(&server, &format!("DELETE {RBAC}/clusterrolebindings/reader"), &json!({}));
        assert_eq!(message(&list(&server).1), denied);
        // A server that is behind believes what it has seen.
        assert_eq!(list(&server.as_of(before).unwrap_or_else(|error| panic!("{error}"))).0, 200);
        let again = Server::load(server.runtime(), Options::default(), &server.save()).unwrap();
        assert_eq!(list(&again).0, 403);
    });
}

/// responsewriters' TestForbidden: what the response says, and the refused user is known
/// afterwards.
#[test]
fn refusals_name_all() {
    within(|| {
        let server = server();
        let jane = User::new("jane", &[]);
        let rows = [
            (
                "DELETE /apis/apps/v1/namespaces/a/deployments/web",
                "deployments.apps \"web\" is forbidden: User \"jane\" cannot delete resource \
                 \"deployments\" in API group \"apps\" in the namespace \"a\"",
                json!({"name": "web", "group": "apps", "kind": "deployments"}),
            ),
            (
                "POST /api/v1/namespaces/a/pods/web/eviction",
                "pods \"web\" is forbidden: User \"jane\" cannot create resource \
                 \"pods/eviction\" in API group \"\" in the namespace \"a\"",
                json!({"name": "web", "kind": "pods"}),
            ),
            (
                "DELETE /api/v1/nodes",
                "nodes is forbidden: User \"jane\" cannot deletecollection resource \"nodes\" in \
                 API group \"\" at the cluster scope",
                json!({"kind": "nodes"}),
            ),
            (
                "GET /api/v1/namespaces/a",
                "namespaces \"a\" is forbidden: User \"jane\" cannot get resource \"namespaces\" \
                 in API group \"\" in the namespace \"a\"",
                json!({"name": "a", "kind": "namespaces"}),
            ),
            (
                "GET /api/v1/secrets?watch=1&fieldSelector=metadata.name%3Da",
                "secrets \"a\" is forbidden: User \"jane\" cannot watch resource \"secrets\" in \
                 API group \"\" at the cluster scope",
                json!({"name": "a", "kind": "secrets"}),
            ),
            (
                "GET /apis/odd.example.com/v1/things",
                "things.odd.example.com is forbidden: User \"jane\" cannot list resource \
                 \"things\" in API group \"odd.example.com\" at the cluster scope",
                json!({"group": "odd.example.com", "kind": "things"}),
            ),
            (
                "GET /metrics/<b>",
                "forbidden: User \"jane\" cannot get path \"/metrics/&lt;b&gt;\"",
                json!({}),
            ),
        ];
        for (request, want, details) in rows {
            let (code, answer) = ask(&server, &jane, request, None);
            assert_eq!((code, message(&answer)), (403, want), "{request}");
            assert_eq!((&answer["reason"], &answer["details"]), (&json!("Forbidden"), &details));
            let refused = server.refusals();
            assert!(refused.iter().any(|it| it.user == "jane" && it.message == want), "{want}");
        }
    });
}
