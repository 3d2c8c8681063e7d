//! What a user may see.

use std::time::Duration;

use http::request::Parts;
use serde::{Deserialize, Serialize};

use crate::decision::Decision;
use crate::lookup::Lookup;
use crate::review::{Kind, Reviewer};
use crate::{Error, User, percent};

/// The path of SubjectAccessReviews.
pub(crate) const PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const KIND: Kind = ("SubjectAccessReview", "authorization.k8s.io/v1");
/// The time limit of a decision, with all tries: more than the tries take one by one.
pub(crate) const LIMIT: Duration = Duration::from_mins(1);
/// The number of cached responses, as plugin/pkg/authorizer/webhook.
const KEPT_MAX: usize = 8192;
/// Requests with more text than this are not cached, as there.
const QUESTION_BYTES_MAX: usize = 10_000;
/// The group that may do everything.
const MASTERS: &str = "system:masters";

/// A request for a page.
pub(crate) struct Question<'a> {
    pub(crate) user: &'a User,
    /// The HTTP method in lower case.
    pub(crate) verb: String,
    /// The path without escapes.
    pub(crate) path: String,
}

/// An object that a user wants to read, or all objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object<'a> {
    /// Empty: the core group.
    pub group: &'a str,
    /// The version of the group.
    pub version: &'a str,
    /// The plural.
    pub resource: &'a str,
    /// Empty for kinds without namespaces.
    pub namespace: &'a str,
    /// Empty: all objects in the namespace.
    pub name: &'a str,
}

/// Decides what users may see.
pub(crate) struct Access {
    open: OpenPaths,
    reviews: Option<Reviews>,
}

/// Paths that are open to all users, as pkg/authorization/path.
struct OpenPaths {
    exact: Vec<String>,
    prefixes: Vec<String>,
}

/// Asks the API server, and caches its responses.
pub(crate) struct Reviews {
    reviewer: Reviewer,
    lookup: Lookup<Result<AccessReviewStatus, String>>,
    allowed_ttl: Duration,
    refused_ttl: Duration,
}

// === Wire ===

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    non_resource_attributes: Option<Attributes<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_attributes: Option<ResourceAttributes<'a>>,
    user: &'a str,
    groups: &'a [String],
    extra: &'a std::collections::BTreeMap<String, Vec<String>>,
    uid: &'a str,
}

#[derive(Serialize)]
struct Attributes<'a> {
    path: &'a str,
    verb: &'a str,
}

#[derive(Serialize)]
struct ResourceAttributes<'a> {
    verb: &'static str,
    group: &'a str,
    version: &'a str,
    resource: &'a str,
    namespace: &'a str,
    name: &'a str,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct AccessReviewStatus {
    allowed: bool,
    denied: bool,
    reason: String,
}

// === impl Question ===

impl<'a> Question<'a> {
    pub(crate) fn new(user: &'a User, request: &Parts) -> Self {
        let path = request.uri.path();
        Self {
            user,
            verb: request.method.as_str().to_ascii_lowercase(),
            path: percent::decoded(path).unwrap_or_else(|| path.to_owned()),
        }
    }
}

// === impl Access ===

impl Access {
    /// Without `reviews`, only `system:masters` and open paths are allowed. An error if a path has
    /// a `*` elsewhere than at its end.
    pub(crate) fn new(open: &[String], reviews: Option<Reviews>) -> Result<Self, Error> {
        Ok(Self { open: OpenPaths::new(open)?, reviews })
    }

    /// The decision, or an error if the API server could not be asked.
    pub(crate) async fn decide(&self, question: &Question<'_>) -> Result<Decision, String> {
        if question.user.is_in(MASTERS) || self.open.has(&question.path) {
            return Ok(Decision::Allowed);
        }
        let Question { user, verb, path } = question;
        let asked = Attributes { path, verb };
        self.ask(Spec { non_resource_attributes: Some(asked), ..Spec::of(user) }).await
    }

    /// Whether a user may `get` an object. An error if the API server could not be asked.
    pub(crate) async fn may_get(&self, user: &User, object: &Object<'_>) -> Result<bool, String> {
        if user.is_in(MASTERS) {
            return Ok(true);
        }
        let &Object { group, version, resource, namespace, name } = object;
        let verb = "get";
        let asked = ResourceAttributes { verb, group, version, resource, namespace, name };
        let spec = Spec { resource_attributes: Some(asked), ..Spec::of(user) };
        Ok(self.ask(spec).await? == Decision::Allowed)
    }

    async fn ask(&self, spec: Spec<'_>) -> Result<Decision, String> {
        match &self.reviews {
            Some(reviews) => reviews.decide(spec).await,
            None => Ok(Decision::NoOpinion(String::new())),
        }
    }
}

// === impl Spec ===

impl<'a> Spec<'a> {
    /// A review without attributes.
    fn of(user: &'a User) -> Self {
        Self {
            non_resource_attributes: None,
            resource_attributes: None,
            user: &user.name,
            groups: &user.groups,
            extra: &user.extra,
            uid: &user.uid,
        }
    }

    /// The length of the attributes, without the user.
    fn question_bytes(&self) -> usize {
        let path = self.non_resource_attributes.as_ref();
        let object = self.resource_attributes.as_ref();
        let parts = |it: &ResourceAttributes<'_>| {
            [it.group, it.version, it.resource, it.namespace, it.name].map(str::len).iter().sum()
        };
        path.map_or(0, |it| it.path.len() + it.verb.len()) + object.map_or(0, parts)
    }
}

impl OpenPaths {
    fn new(paths: &[String]) -> Result<Self, Error> {
        let (mut exact, mut prefixes) = (Vec::new(), Vec::new());
        for whole in paths {
            let path = without_slash(whole);
            let (target, path) = match path.strip_suffix('*') {
                Some(prefix) => (&mut prefixes, prefix),
                None => (&mut exact, path),
            };
            if path.contains('*') {
                return Err(Error::AlwaysAllowPath(without_slash(whole).to_owned()));
            }
            target.push(path.to_owned());
        }
        Ok(Self { exact, prefixes })
    }

    fn has(&self, path: &str) -> bool {
        let path = without_slash(path);
        self.exact.iter().any(|open| open == path)
            || self.prefixes.iter().any(|prefix| path.starts_with(&**prefix))
    }
}

fn without_slash(path: &str) -> &str {
    path.strip_prefix('/').unwrap_or(path)
}

// === impl Reviews ===

impl Reviews {
    pub(crate) fn new(reviewer: Reviewer, allowed_ttl: Duration, refused_ttl: Duration) -> Self {
        let lookup = Lookup::new(KEPT_MAX, &reviewer.runtime);
        Self { reviewer, lookup, allowed_ttl, refused_ttl }
    }

    async fn decide(&self, spec: Spec<'_>) -> Result<Decision, String> {
        let digest = self.lookup.digest(&serde_json::to_vec(&spec).expect("a review is JSON"));
        let status = match self.lookup.kept(digest) {
            Some(kept) => kept,
            None => self.lookup.ask(digest, self.review(spec)).await,
        }?;
        match (status.denied, status.allowed) {
            (true, true) => {
                Err("webhook subject access review returned both allow and deny response"
                    .to_owned())
            }
            (true, false) => Ok(Decision::Denied(status.reason)),
            (false, true) => Ok(Decision::Allowed),
            (false, false) => Ok(Decision::NoOpinion(status.reason)),
        }
    }

    /// The API server's response, and how long to cache it: errors are not cached.
    async fn review(&self, spec: Spec<'_>) -> (Result<AccessReviewStatus, String>, Duration) {
        let small = spec.question_bytes() < QUESTION_BYTES_MAX;
        match self.reviewer.ask::<AccessReviewStatus>(KIND, spec).await {
            Ok(status) => {
                let ttl = if status.allowed { self.allowed_ttl } else { self.refused_ttl };
                (Ok(status), if small { ttl } else { Duration::ZERO })
            }
            Err(error) => {
                tracing::warn!(%error, path = PATH, "cannot ask the API server what a user may do");
                (Err(error.to_string()), Duration::ZERO)
            }
        }
    }
}
