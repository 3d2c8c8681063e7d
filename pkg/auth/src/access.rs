//! What a user may see.

use std::time::Duration;

use http::request::Parts;
use serde::{Deserialize, Serialize};

use crate::lookup::Lookup;
use crate::review::{Kind, Reviewer};
use crate::{Error, User, percent};

/// Where SubjectAccessReviews are made.
pub(crate) const PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const KIND: Kind = ("SubjectAccessReview", "authorization.k8s.io/v1");
/// How long the API server may take, all tries together: more than they take one by one.
pub(crate) const LIMIT: Duration = Duration::from_mins(1);
/// Answers that are remembered, as plugin/pkg/authorizer/webhook.
const KEPT_MAX: usize = 8192;
/// Questions whose verb and path are longer are not remembered, as there.
const QUESTION_BYTES_MAX: usize = 10_000;
/// May do everything.
const MASTERS: &str = "system:masters";

/// What somebody wants to see.
pub(crate) struct Question<'a> {
    pub(crate) user: &'a User,
    /// The HTTP method in lower case.
    pub(crate) verb: String,
    /// The path without escapes.
    pub(crate) path: String,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Allowed,
    /// Refused, and why.
    Denied(String),
    /// Nobody allowed it, and why.
    NoOpinion(String),
}

/// Says who may see what.
pub(crate) struct Access {
    open: OpenPaths,
    reviews: Option<Reviews>,
}

/// Paths that everybody may see, as pkg/authorization/path.
struct OpenPaths {
    exact: Vec<String>,
    prefixes: Vec<String>,
}

/// Asks the API server, and remembers for a while.
pub(crate) struct Reviews {
    reviewer: Reviewer,
    lookup: Lookup<Result<Status, String>>,
    allowed_ttl: Duration,
    refused_ttl: Duration,
}

// === Wire ===

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    non_resource_attributes: Attributes<'a>,
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

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Status {
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

    /// An error if nobody could say.
    pub(crate) async fn decide(&self, question: &Question<'_>) -> Result<Decision, String> {
        if question.user.is_in(MASTERS) || self.open.has(&question.path) {
            return Ok(Decision::Allowed);
        }
        match &self.reviews {
            Some(reviews) => reviews.decide(question).await,
            None => Ok(Decision::NoOpinion(String::new())),
        }
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

    async fn decide(&self, question: &Question<'_>) -> Result<Decision, String> {
        let Question { user, verb, path } = question;
        let spec = Spec {
            non_resource_attributes: Attributes { path, verb },
            user: &user.name,
            groups: &user.groups,
            extra: &user.extra,
            uid: &user.uid,
        };
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

    /// The API server's answer, and how long it holds: errors are not kept.
    async fn review(&self, spec: Spec<'_>) -> (Result<Status, String>, Duration) {
        let Attributes { path, verb } = spec.non_resource_attributes;
        let small = path.len() + verb.len() < QUESTION_BYTES_MAX;
        match self.reviewer.ask::<Status>(KIND, spec).await {
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
