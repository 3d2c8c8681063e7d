//! From credentials to users.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::*;

/// The user of a request with these headers.
fn who(server: &Server, pairs: &[(&str, &str)]) -> String {
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let mut request = Request::new(Method::POST, path, "").with_json("{}");
    request.headers.extend(headers(pairs));
    let answer = server.call(request);
    let body: Value = serde_json::from_slice(answer.body()).unwrap();
    if answer.status() != 201 {
        return format!("{} {}", answer.status().as_u16(), message(&body));
    }
    let user = &body["status"]["userInfo"];
    let groups = user["groups"].as_array().unwrap().iter().filter_map(Value::as_str);
    let groups: Vec<_> = groups.collect();
    format!("{}: {}", user["username"].as_str().unwrap(), groups.join(" "))
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, HeaderValue::from_str(value).unwrap());
    }
    headers
}

#[test]
fn users_are_as_their_credentials_say() {
    within(|| {
        let tokens = [("secret".to_owned(), User::new("jane", &["devs"]))].into();
        let server = server_with(Options { tokens, ..Options::default() });
        let rows: [(&[(&str, &str)], &str); 7] = [
            (&[], "kubernetes-admin: system:masters system:authenticated"),
            (&[("authorization", "Bearer secret")], "jane: devs system:authenticated"),
            (&[("authorization", "bearer  secret")], "jane: devs system:authenticated"),
            (&[("authorization", "Bearer odd")], "401 Unauthorized"),
            (
                &[("impersonate-user", "joe"), ("impersonate-group", "a")],
                "joe: a system:authenticated",
            ),
            (
                &[("impersonate-user", "system:serviceaccount:ns:sa")],
                "system:serviceaccount:ns:sa: system:serviceaccounts system:serviceaccounts:ns \
                 system:authenticated",
            ),
            (
                &[("authorization", "Bearer secret"), ("impersonate-user", "joe")],
                "403 users \"joe\" is forbidden: User \"jane\" cannot impersonate resource \
                 \"users\" in API group \"\" at the cluster scope",
            ),
        ];
        for (pairs, want) in rows {
            assert_eq!(who(&server, pairs), want, "{pairs:?}");
        }
    });
}

/// Rule: without credentials one sees what everybody may, and no more.
#[test]
fn strangers() {
    within(|| {
        let options = Options { stranger: User::anonymous(), ..Options::default() };
        let server = server_with(options);
        let code = |path: &str| server.call(Request::new(Method::GET, path, "")).status().as_u16();
        assert_eq!([code("/version"), code("/healthz"), code("/readyz")], [200; 3]);
        assert_eq!([code("/apis"), code("/api/v1/pods"), code("/api/v1")], [403; 3]);
        let refused = server.refusals();
        assert!(refused.iter().all(|it| it.user == "system:anonymous"), "{refused:?}");
        assert_eq!(refused.len(), 3);
        let jane = User::new("jane", &[]);
        assert_eq!(ask(&server, &jane, "GET /apis", None).0, 200);
    });
}

fn token(server: &Server, audiences: &Value) -> String {
    let path = "POST /api/v1/namespaces/default/serviceaccounts/robot/token";
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"audiences": audiences, "expirationSeconds": 600},
    });
    make(server, path, &request)["status"]["token"].as_str().unwrap().to_owned()
}

/// Rule: a token is good for its account alone: not for another one of the same name, not for
/// another audience, not for ever.
#[tokio::test(start_paused = true)]
async fn tokens_of_accounts() {
    let server = server();
    let robot = json!({"metadata": {"name": "robot"}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    make(&server, &format!("POST {accounts}"), &robot);
    let bearer = |token: &str| format!("Bearer {token}");
    let good = bearer(&token(&server, &json!(null)));
    let other = bearer(&token(&server, &json!(["vault"])));
    let who = |token: &str| who(&server, &[("authorization", token)]);
    let robot_is = "system:serviceaccount:default:robot: system:serviceaccounts \
                    system:serviceaccounts:default system:authenticated";
    assert_eq!((who(&good).as_str(), who(&other).as_str()), (robot_is, "401 Unauthorized"));
    make(&server, &format!("DELETE {accounts}/robot"), &json!({}));
    assert_eq!(who(&good), "401 Unauthorized", "the account is deleted");
    make(&server, &format!("POST {accounts}"), &robot);
    assert_eq!(who(&good), "401 Unauthorized", "it is another account");
    let good = bearer(&token(&server, &json!(null)));
    assert_eq!(who(&good), robot_is);
    server.runtime().clock.sleep(std::time::Duration::from_secs(601)).await;
    assert_eq!(who(&good), "401 Unauthorized", "it has ended");
}

/// Rule: a token in a Secret is good as long as that Secret holds it and its account is there.
#[test]
fn tokens_in_secrets() {
    within(|| {
        use base64::Engine;
        use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
        let server = server();
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        let robot = json!({"metadata": {"name": "robot"}});
        let made = make(&server, &format!("POST {accounts}"), &robot);
        let uid = made["metadata"]["uid"].as_str().unwrap();
        let claims = json!({
            "kubernetes.io/serviceaccount/namespace": "default",
            "kubernetes.io/serviceaccount/secret.name": "robot-token",
            "kubernetes.io/serviceaccount/service-account.name": "robot",
            "kubernetes.io/serviceaccount/service-account.uid": uid,
        });
        let token = format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let bearer = format!("Bearer {token}");
        let who = || who(&server, &[("authorization", &bearer)]);
        assert_eq!(who(), "401 Unauthorized", "no Secret holds it");
        let secret = json!({
            "metadata": {"name": "robot-token"}, "data": {"token": STANDARD.encode(&token)},
        });
        make(&server, "POST /api/v1/namespaces/default/secrets", &secret);
        assert!(who().starts_with("system:serviceaccount:default:robot: "));
        make(&server, &format!("DELETE {accounts}/robot"), &json!({}));
        assert_eq!(who(), "401 Unauthorized", "its account is deleted");
    });
}
