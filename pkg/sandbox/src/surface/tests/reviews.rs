//! Who may do what, and whose tokens are known.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::registry::Served;
use crate::request::{Call, User, Verb};
use crate::surface::token::{issue_token, read_token};

fn ask(state: &State, place: (&str, &str), body: &Value) -> Option<Value> {
    let (group, plural) = place;
    let served = state.registry.get(group, "v1", plural)?;
    review(&create(state, served), body).unwrap()
}

/// A call that creates something of a resource.
fn create(state: &State, served: &Arc<Served>) -> Call {
    Call {
        verb: Verb::Create,
        served: Arc::clone(served),
        namespace: String::new(),
        name: String::new(),
        subresource: String::new(),
        parameters: Vec::new(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
        user: User { name: "jane".to_owned(), groups: vec!["devs".to_owned()] },
        now: state.runtime.clock.now(),
    }
}

#[test]
fn everything_is_allowed() {
    within(|| {
        let state = state();
        for plural in
            ["selfsubjectaccessreviews", "subjectaccessreviews", "localsubjectaccessreviews"]
        {
            let body = json!({"spec": {"resourceAttributes": {"verb": "delete"}}});
            let answer = ask(&state, ("authorization.k8s.io", plural), &body).unwrap();
            assert_eq!(answer["status"]["allowed"], true);
            assert_eq!(answer["spec"], body["spec"]);
        }
        let rules =
            ask(&state, ("authorization.k8s.io", "selfsubjectrulesreviews"), &json!({})).unwrap();
        assert_eq!(rules["status"]["resourceRules"][0]["verbs"], json!(["*"]));
        let who = ask(&state, ("authentication.k8s.io", "selfsubjectreviews"), &json!({})).unwrap();
        assert_eq!(who["status"]["userInfo"], json!({"username": "jane", "groups": ["devs"]}));
        assert!(ask(&state, ("", "pods"), &json!({})).is_none());
    });
}

#[test]
fn tokens_are_those_of_the_sandbox() {
    within(|| {
        let state = state();
        let now = api::Time::parse(NOW).unwrap();
        let later = now + std::time::Duration::from_mins(1);
        let audience = vec!["vault".to_owned()];
        let token = issue_token("default", "builder", "u-1", &audience, later);
        assert_eq!(read_token(&token).unwrap().audiences, audience);
        let review = |token: &str, audiences: Value| {
            let body = json!({"spec": {"token": token, "audiences": audiences}});
            let answer = ask(&state, ("authentication.k8s.io", "tokenreviews"), &body);
            answer.unwrap()["status"].clone()
        };
        let known = review(&token, json!(["vault", "other"]));
        assert_eq!(known["authenticated"], true);
        assert_eq!(known["audiences"], json!(["vault"]));
        assert_eq!(known["user"]["username"], "system:serviceaccount:default:builder");
        assert_eq!(known["user"]["uid"], "u-1");
        let past = issue_token("default", "builder", "u-1", &audience, now);
        for (token, audiences) in [
            (token.as_str(), json!([])),
            (past.as_str(), json!(["vault"])),
            ("sandbox.x", json!(["vault"])),
            ("abc", json!([])),
        ] {
            assert_eq!(review(token, audiences).get("authenticated"), None, "{token}");
        }
        let plain = issue_token("default", "builder", "u-1", &[], later);
        assert_eq!(review(&plain, json!([]))["authenticated"], true);
        let served = state.registry.get("authentication.k8s.io", "v1", "tokenreviews").unwrap();
        let empty = super::super::review(&create(&state, served), &json!({"spec": {}}));
        let error = empty.unwrap_err();
        let message = "token is required for TokenReview in authentication";
        assert_eq!((error.code, error.message.as_str()), (400, message));
    });
}
