//! Reviews: who asks, and what they may. Everybody may do everything.

use serde_json::{Value, json};

use super::token::read_token;
use crate::request::{Call, User, Verb};
use crate::status::Status;

/// Why something is allowed.
const REASON: &str = "the sandbox allows everything";
/// Whom tokens are for that say nothing else.
const AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";

/// Fills in the status of a review (`SelfSubjectAccessReview`, `TokenReview`, …), which is never
/// stored; none: the call is about something else.
pub(crate) fn review(call: &Call, object: &Value) -> Result<Option<Value>, Status> {
    let resource = &call.served.resource;
    let here = call.verb == Verb::Create && call.subresource.is_empty();
    if !here || call.served.custom {
        return Ok(None);
    }
    let status = match (&*resource.group, &*resource.kind) {
        (
            "authorization.k8s.io",
            "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview",
        ) => json!({"allowed": true, "reason": REASON}),
        ("authorization.k8s.io", "SelfSubjectRulesReview") => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
        ("authentication.k8s.io", "SelfSubjectReview") => {
            json!({"userInfo": user(&call.user)})
        }
        ("authentication.k8s.io", "TokenReview") => authenticate(call, object)?,
        _ => return Ok(None),
    };
    let mut answer = object.clone();
    if let Some(answer) = answer.as_object_mut() {
        answer.insert("status".to_owned(), status);
    }
    Ok(Some(answer))
}

fn user(user: &User) -> Value {
    json!({"username": user.name, "groups": user.groups})
}

fn authenticate(call: &Call, object: &Value) -> Result<Value, Status> {
    let text = schema::at(object, "/spec/token").and_then(Value::as_str).unwrap_or_default();
    if text.is_empty() {
        let message = "token is required for TokenReview in authentication";
        return Err(Status::bad_request(message));
    }
    let wanted = schema::at(object, "/spec/audiences").and_then(Value::as_array);
    let wanted: Vec<_> = wanted.into_iter().flatten().filter_map(Value::as_str).collect();
    let wanted = if wanted.is_empty() { vec![AUDIENCE] } else { wanted };
    let Some(token) = read_token(text).filter(|token| call.now < token.expires) else {
        return Ok(json!({"user": {}, "error": "invalid bearer token"}));
    };
    let for_whom = match token.audiences.as_slice() {
        [] => vec![AUDIENCE],
        audiences => audiences.iter().map(String::as_str).collect(),
    };
    let both: Vec<_> = wanted.into_iter().filter(|it| for_whom.contains(it)).collect();
    if both.is_empty() {
        return Ok(json!({"user": {}, "error": "invalid bearer token"}));
    }
    let mut user = user(&token.user());
    user["uid"] = token.uid.into();
    Ok(json!({"authenticated": true, "user": user, "audiences": both}))
}
