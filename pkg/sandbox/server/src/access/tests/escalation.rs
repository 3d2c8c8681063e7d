//! No user grants what it does not hold (test/integration/auth/rbac_test.go and pkg/registry/rbac's
//! tests).

use super::*;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

fn role(name: &str, verbs: &[&str]) -> Value {
    let rules = json!([
        {"verbs": verbs, "apiGroups": [""], "resources": ["pods"]},
        {"verbs": ["get"], "nonResourceURLs": ["/metrics"]},
    ]);
    json!({"metadata": {"name": name}, "rules": rules})
}

#[test]
fn rules_are_held_by_the_user_that_writes_them() {
    within(|| {
        let server = server();
        let jane = User::new("jane", &["devs"]);
        let rules = json!([
            {"verbs": ["*"], "apiGroups": ["rbac.authorization.k8s.io"], "resources":
                ["clusterroles", "clusterrolebindings"], "resourceNames": []},
            {"verbs": ["get"], "apiGroups": ["*"], "resources": ["*"]},
            {"verbs": ["get"], "nonResourceURLs": ["/m*"]},
        ]);
        grant(&server, "writer", &rules, "jane");
        // With all verbs she may escalate, too.
        let create = format!("POST {RBAC}/clusterroles");
        let wide = role("wide", &["get", "list", "watch"]);
        assert_eq!(ask(&server, &jane, &create, Some(&wide)).0, 201);
        let mut rules = rules;
        rules[0]["verbs"] = json!(["create", "update"]);
        let changed = json!({"metadata": {"name": "writer"}, "rules": rules});
        make(&server, &format!("PUT {RBAC}/clusterroles/writer"), &changed);
        assert_eq!(ask(&server, &jane, &create, Some(&role("narrow", &["get"]))).0, 201);
        let (code, answer) = ask(&server, &jane, &create, Some(&role("other", &["list", "watch"])));
        let want = "clusterroles.rbac.authorization.k8s.io \"other\" is forbidden: user \"jane\" \
                    (groups=[\"devs\" \"system:authenticated\"]) is attempting to grant RBAC \
                    permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], \
                    Verbs:[\"list\" \"watch\"]}";
        assert_eq!((code, message(&answer)), (403, want));
        let binding = |role: &str| {
            let group = "rbac.authorization.k8s.io";
            json!({
                "metadata": {"name": role},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": group, "kind": "User", "name": "joe"}],
            })
        };
        let bind = format!("POST {RBAC}/clusterrolebindings");
        assert_eq!(ask(&server, &jane, &bind, Some(&binding("narrow"))).0, 201);
        assert_eq!(ask(&server, &jane, &bind, Some(&binding("wide"))).0, 403);
        assert_eq!(ask(&server, &jane, &bind, Some(&binding("none"))).0, 404);
        let sum = json!({
            "metadata": {"name": "sum"},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
        });
        let (code, answer) = ask(&server, &jane, &create, Some(&sum));
        let want = "clusterroles.rbac.authorization.k8s.io \"sum\" is forbidden: must have \
                    cluster-admin privileges to use the aggregationRule";
        assert_eq!((code, message(&answer)), (403, want));
    });
}
