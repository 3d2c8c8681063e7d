//! Reviews: of tokens, of a client's own user, and of access (kubernetes'
//! pkg/registry/authorization and pkg/registry/authentication).

use apimachinery::fields;
use serde_json::{Value, json};
use strategies::{Invalid, Path};

use crate::access::{self, AUDIENCE, Attributes, Resource, To, User};
use crate::request::{Call, Verb};
use crate::server::State;
use crate::status::{About, Status};
use crate::write::fields::{has, items, text, texts};

const AUTHORIZATION: &str = "authorization.k8s.io";

/// Fills in the status of a review (`SelfSubjectAccessReview`, `TokenReview`, …), which is never
/// stored; none: the call is about something else.
pub(crate) fn review(state: &State, call: &Call, object: &Value) -> Result<Option<Value>, Status> {
    let resource = &call.served.resource;
    let here = call.verb == Verb::Create && call.subresource.is_empty();
    if !here || call.served.custom {
        return Ok(None);
    }
    let status = match (&*resource.group, &*resource.kind) {
        (AUTHORIZATION, "SelfSubjectAccessReview") => judge(state, &call.user, object, Vec::new())?,
        (AUTHORIZATION, "SubjectAccessReview") => {
            judge(state, &subject(object), object, nobody(object))?
        }
        (AUTHORIZATION, "LocalSubjectAccessReview") => {
            if text(object, "/metadata/namespace") != call.namespace {
                let message = "spec.resourceAttributes.namespace must match namespace: ";
                return Err(Status::bad_request(format!("{message}{}", call.namespace)));
            }
            let mut faults = nobody(object);
            faults.extend(elsewhere(call, object));
            judge(state, &subject(object), object, faults)?
        }
        (AUTHORIZATION, "SelfSubjectRulesReview") => rules(state, call, object)?,
        ("authentication.k8s.io", "SelfSubjectReview") => {
            json!({"userInfo": user(&call.user)})
        }
        ("authentication.k8s.io", "TokenReview") => authenticate(state, call, object)?,
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

// === access ===

/// The user that a review is about.
fn subject(object: &Value) -> User {
    User { name: text(object, "/spec/user").to_owned(), groups: texts(object, "/spec/groups") }
}

/// A review without a user.
fn nobody(object: &Value) -> Vec<Invalid> {
    let is_about = has(object, "/spec/groups") || !text(object, "/spec/user").is_empty();
    let path = Path::new("spec").child("user");
    let fault = || path.invalid("", "at least one of user or group must be specified");
    if is_about { Vec::new() } else { vec![fault()] }
}

/// A review in a namespace that is about something else.
fn elsewhere(call: &Call, object: &Value) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let (spec, asked) = (Path::new("spec"), text(object, "/spec/resourceAttributes/namespace"));
    if has(object, RESOURCE) && asked != call.namespace {
        let path = spec.child("resourceAttributes").child("namespace");
        faults.push(path.invalid(asked, "must match metadata.namespace"));
    }
    if let Some(said) = fields::at(object, PATH).filter(|it| !it.is_null()) {
        let path = spec.child("nonResourceAttributes");
        faults.push(path.invalid(said.clone(), "disallowed on this kind of request"));
    }
    faults
}

const RESOURCE: &str = "/spec/resourceAttributes";
const PATH: &str = "/spec/nonResourceAttributes";

/// The status of a review that asks for one thing.
fn judge(state: &State, user: &User, object: &Value, more: Vec<Invalid>) -> Result<Value, Status> {
    let (resource, path) = (has(object, RESOURCE), has(object, PATH));
    let spec = Path::new("spec");
    let mut faults = Vec::new();
    if resource && path {
        let said = fields::at(object, PATH).cloned().unwrap_or_default();
        let why = "cannot be specified in combination with resourceAttributes";
        faults.push(spec.child("nonResourceAttributes").invalid(said, why));
    }
    if !resource && !path {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        faults.push(spec.child("resourceAttributes").invalid(Value::Null, why));
    }
    faults.extend(more);
    if !faults.is_empty() {
        // Upstream's message names the kind of an object that has lost it.
        let about = About { group: AUTHORIZATION, resource: "", name: "" };
        return Err(Status::invalid(about, &faults));
    }
    let verdict = state.access.judge(user, &attributes(object));
    let (mut status, reason) = (json!({"allowed": verdict.is_allowed()}), verdict.reason());
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    Ok(status)
}

fn attributes(object: &Value) -> Attributes<'_> {
    if has(object, PATH) {
        let verb = text(object, "/spec/nonResourceAttributes/verb");
        return Attributes { verb, to: To::Path(text(object, "/spec/nonResourceAttributes/path")) };
    }
    let resource = Resource {
        group: text(object, "/spec/resourceAttributes/group"),
        plural: text(object, "/spec/resourceAttributes/resource"),
        subresource: text(object, "/spec/resourceAttributes/subresource"),
        namespace: text(object, "/spec/resourceAttributes/namespace"),
        name: text(object, "/spec/resourceAttributes/name"),
    };
    Attributes { verb: text(object, "/spec/resourceAttributes/verb"), to: To::Resource(resource) }
}

/// The status of a SelfSubjectRulesReview.
fn rules(state: &State, call: &Call, object: &Value) -> Result<Value, Status> {
    let namespace = text(object, "/spec/namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    let (rules, mut faults) = state.access.rules_of(&call.user, namespace);
    let rules: Vec<_> = rules.iter().map(|rule| rule.json()).collect();
    let of = |field: &str| {
        let of = rules.iter().filter(|rule| !items(rule, &format!("/{field}")).is_empty());
        of.cloned().collect::<Vec<_>>()
    };
    let is_node = call.user.is_node();
    if is_node {
        faults.push("node authorizer does not support user rule resolution".to_owned());
    }
    let mut status = json!({
        "resourceRules": of("resources"),
        "nonResourceRules": of("nonResourceURLs"),
        "incomplete": is_node,
    });
    if let Some(faults) = access::aggregate(&faults) {
        status["evaluationError"] = faults.into();
    }
    Ok(status)
}

// === the client's user ===

fn authenticate(state: &State, call: &Call, object: &Value) -> Result<Value, Status> {
    let token = text(object, "/spec/token");
    if token.is_empty() {
        let message = "token is required for TokenReview in authentication";
        return Err(Status::bad_request(message));
    }
    let wanted = texts(object, "/spec/audiences");
    let wanted = if wanted.is_empty() { vec![AUDIENCE.to_owned()] } else { wanted };
    let known = access::known(state, token, call.now);
    let both = known.map(|token| {
        let both = wanted.iter().filter(|it| token.audiences.contains(it));
        (both.cloned().collect::<Vec<_>>(), token)
    });
    let Some((both, token)) = both.filter(|(both, _)| !both.is_empty()) else {
        return Ok(json!({"user": {}, "error": "invalid bearer token"}));
    };
    let mut user = user(&token.user);
    if !token.uid.is_empty() {
        user["uid"] = token.uid.into();
    }
    Ok(json!({"authenticated": true, "user": user, "audiences": both}))
}
