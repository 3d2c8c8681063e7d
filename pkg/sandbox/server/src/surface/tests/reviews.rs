//! Reviews of access and of tokens.

use serde_json::{Value, json};

use super::*;
use crate::access::User;
use crate::server::{Options, Server};

const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";

/// The response to a review: the code and the document.
fn ask(server: &Server, user: User, path: &str, body: &Value) -> (u16, Value) {
    let request = Request::new(Method::POST, path, "").with_json(body.to_string()).by(user);
    let answer = server.call(request);
    (answer.status().as_u16(), serde_json::from_slice(answer.body()).unwrap())
}

fn server() -> Server {
    let start = api::Time::parse(NOW).unwrap();
    Server::new(&Runtime::simulated(start, 1), Options::default())
}

fn jane() -> User {
    User::new("jane", &["devs"])
}

/// TestSubjectAccessReview and its like: the response is what a request would meet.
#[test]
fn access_is_reviewed() {
    within(|| {
        let server = server();
        let resource = json!({"verb": "update", "resource": "nodes", "subresource": "status"});
        let own = format!("{AUTHORIZATION}/selfsubjectaccessreviews");
        let asked = json!({"spec": {"resourceAttributes": resource}});
        let (code, answer) = ask(&server, jane(), &own, &asked);
        assert_eq!((code, &answer["status"]), (201, &json!({"allowed": false})));
        assert_eq!(answer["spec"], asked["spec"]);
        let (_, answer) = ask(&server, User::admin(), &own, &asked);
        assert_eq!(answer["status"], json!({"allowed": true}));
        let path = json!({"spec": {"nonResourceAttributes": {"verb": "get", "path": "/healthz"}}});
        let reason = "RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \
                      \"system:discovery\" to Group \"system:authenticated\"";
        let (_, answer) = ask(&server, jane(), &own, &path);
        assert_eq!(answer["status"], json!({"allowed": true, "reason": reason}));

        let other = format!("{AUTHORIZATION}/subjectaccessreviews");
        let user = "system:serviceaccount:kube-system:node-controller";
        let asked = json!({"spec": {"user": user, "resourceAttributes":
            {"verb": "patch", "resource": "nodes", "subresource": "status"}}});
        assert_eq!(ask(&server, jane(), &other, &asked).0, 403, "not everybody may ask");
        let (_, answer) = ask(&server, User::admin(), &other, &asked);
        let reason = "RBAC: allowed by ClusterRoleBinding \
                      \"system:controller:node-controller\" of ClusterRole \
                      \"system:controller:node-controller\" to ServiceAccount \
                      \"node-controller/kube-system\"";
        assert_eq!(answer["status"], json!({"allowed": true, "reason": reason}));
        let groups = json!({"spec": {"groups": ["system:masters"], "resourceAttributes":
            {"verb": "*", "group": "*", "resource": "*"}}});
        let (_, answer) = ask(&server, User::admin(), &other, &groups);
        assert_eq!(answer["status"]["allowed"], true);

        let here = format!("{AUTHORIZATION}/namespaces/a/localsubjectaccessreviews");
        let asked = |namespace: &str| {
            let resource = json!({"verb": "get", "resource": "pods", "namespace": namespace});
            json!({"metadata": {"namespace": "a"},
                "spec": {"user": "x", "resourceAttributes": resource}})
        };
        let (_, answer) = ask(&server, User::admin(), &here, &asked("a"));
        assert_eq!(answer["status"], json!({"allowed": false}));
        assert_eq!(ask(&server, User::admin(), &here, &asked("b")).0, 422);
    });
}

/// TestValidateSARSpec.
#[test]
fn reviews_about_nothing_are_refused() {
    within(|| {
        let server = server();
        let other = format!("{AUTHORIZATION}/subjectaccessreviews");
        let rows = [
            (
                json!({"user": "x"}),
                "spec.resourceAttributes: Invalid value: null: exactly one of \
                                    nonResourceAttributes or resourceAttributes must be specified",
            ),
            (
                json!({"resourceAttributes": {"verb": "get"}}),
                "spec.user: Invalid value: \"\": at least one of user or group must be specified",
            ),
        ];
        for (spec, want) in rows {
            let (code, answer) = ask(&server, User::admin(), &other, &json!({"spec": spec}));
            let message = answer["message"].as_str().unwrap();
            assert_eq!(code, 422);
            assert!(message.ends_with(want), "{message}");
        }
    });
}

/// `kubectl auth can-i --list`, `kubectl auth whoami`.
#[test]
fn rules_are_listed() {
    within(|| {
        let server = server();
        let path = format!("{AUTHORIZATION}/selfsubjectrulesreviews");
        let asked = json!({"spec": {"namespace": "default"}});
        let (_, answer) = ask(&server, User::admin(), &path, &asked);
        let all = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
        assert_eq!(answer["status"]["resourceRules"][0], all);
        let (_, answer) = ask(&server, jane(), &path, &asked);
        let rules = answer["status"]["resourceRules"].as_array().unwrap();
        assert_eq!(
            rules[0]["resources"],
            json!(["selfsubjectaccessreviews", "selfsubjectrulesreviews"]),
            "{rules:?}"
        );
        assert_eq!(answer["status"]["incomplete"], false);
        assert_eq!(ask(&server, jane(), &path, &json!({"spec": {}})).0, 400);
        let who = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let (_, answer) = ask(&server, jane(), who, &json!({}));
        let groups = ["devs", "system:authenticated"];
        assert_eq!(answer["status"]["userInfo"], json!({"username": "jane", "groups": groups}));
    });
}

/// TokenReview: tokens that the server issued, their audience and their validity.
#[test]
fn tokens_are_those_of_the_sandbox() {
    within(|| {
        let server = server();
        let made = |path: &str, body: Value| {
            let path = format!("/api/v1/namespaces/default/serviceaccounts{path}");
            ask(&server, User::admin(), &path, &body).1
        };
        let account = made("", json!({"metadata": {"name": "builder"}}));
        let token = |audiences: Value| {
            let request = json!({"spec": {"audiences": audiences, "expirationSeconds": 600}});
            made("/builder/token", request)["status"]["token"].as_str().unwrap().to_owned()
        };
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let review = |token: &str, audiences: Value| {
            let body = json!({"spec": {"token": token, "audiences": audiences}});
            ask(&server, User::admin(), path, &body).1["status"].clone()
        };
        let vault = token(json!(["vault"]));
        let known = review(&vault, json!(["vault", "other"]));
        assert_eq!(known["authenticated"], true);
        assert_eq!(known["audiences"], json!(["vault"]));
        assert_eq!(known["user"]["username"], "system:serviceaccount:default:builder");
        assert_eq!(known["user"]["uid"], account["metadata"]["uid"]);
        assert_eq!(review(&token(json!([])), json!([]))["authenticated"], true);
        for (token, audiences) in
            [(vault.as_str(), json!([])), ("sandbox.x", json!(["vault"])), ("abc", json!([]))]
        {
            assert_eq!(review(token, audiences).get("authenticated"), None, "{token}");
        }
        let (code, empty) = ask(&server, User::admin(), path, &json!({"spec": {}}));
        let message = "token is required for TokenReview in authentication";
        assert_eq!((code, empty["message"].as_str().unwrap()), (400, message));
    });
}
