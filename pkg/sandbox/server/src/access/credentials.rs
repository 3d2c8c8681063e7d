//! Authentication: from credentials to a user.
//!
//! In this order, as apiserver's authenticators: the client certificate, the token, anonymous. A
//! request with an invalid token is refused (401), even where anonymous requests are admitted.

use api::{Key, Time};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::Value;

use super::{Attributes, Resource, To, User, Verdict, forbidden};
use crate::request::Request;
use crate::server::State;
use crate::status::Status;
use crate::surface::token::read_token;
use crate::write::fields::{has, text};

/// The audience of the tokens that the API server accepts.
pub(crate) const AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";

/// What a good token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// Whose it is.
    pub(crate) user: User,
    /// The uid of the service account; empty: it is of none.
    pub(crate) uid: String,
    /// Its audience.
    pub(crate) audiences: Vec<String>,
}

/// The user of a request, or the one that it impersonates.
pub(crate) fn authenticate(state: &State, request: &Request) -> Result<User, Status> {
    let own = own(state, request)?;
    impersonated(state, &request.headers, own)
}

fn own(state: &State, request: &Request) -> Result<User, Status> {
    let is_known = |user: &&User| !user.is_anonymous();
    if let Some(user) = request.user.as_ref().filter(is_known) {
        return Ok(user.clone());
    }
    if let Some(token) = bearer(&request.headers) {
        let token = known(state, token, state.runtime.clock.now());
        let token = token.filter(|it| it.audiences.iter().any(|it| it == AUDIENCE));
        return token.map(|token| token.user).ok_or_else(unauthorized);
    }
    Ok(match &request.user {
        Some(anonymous) => anonymous.clone(),
        None => state.options.stranger.clone(),
    })
}

/// The token of a request; none: it has none, or other credentials.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.trim().split_once(' ')?;
    let token = Some(token.trim()).filter(|token| !token.is_empty());
    token.filter(|_| scheme.eq_ignore_ascii_case("bearer"))
}

/// 401.
fn unauthorized() -> Status {
    Status::new(401, "Unauthorized", "Unauthorized")
}

/// A token that is good now; none: it is not.
pub(crate) fn known(state: &State, token: &str, now: Time) -> Option<Token> {
    let own = || vec![AUDIENCE.to_owned()];
    if let Some(user) = state.options.tokens.get(token) {
        let user = user.clone();
        return Some(Token { user, uid: String::new(), audiences: own() });
    }
    if let Some(token) = read_token(token) {
        let is_good =
            now < token.expires && is_of(state, &token.namespace, &token.name, &token.uid);
        let user = User::account(&token.namespace, &token.name);
        let audiences = if token.audiences.is_empty() { own() } else { token.audiences };
        return is_good.then_some(Token { user, uid: token.uid, audiences });
    }
    let (user, uid) = of_secret(state, token)?;
    Some(Token { user, uid, audiences: own() })
}

/// The account of a token that is in a Secret. Nothing here knows the key that it is signed with:
/// it is good as long as the Secret that it names holds it.
fn of_secret(state: &State, token: &str) -> Option<(User, String)> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let claim = |name: &str| claims.get(format!("kubernetes.io/serviceaccount/{name}"))?.as_str();
    let (namespace, secret) = (claim("namespace")?, claim("secret.name")?);
    let (name, uid) = (claim("service-account.name")?, claim("service-account.uid")?);
    let secret = state.store.get("secrets", &Key::new(namespace, secret))?;
    let is_there = !has(&secret.object, "/metadata/deletionTimestamp");
    let holds = text(&secret.object, "/data/token") == STANDARD.encode(token);
    let is_good = is_there && holds && is_of(state, namespace, name, uid);
    is_good.then(|| (User::account(namespace, name), uid.to_owned()))
}

/// Whether a service account is there with this uid.
fn is_of(state: &State, namespace: &str, name: &str, uid: &str) -> bool {
    let account = state.store.get("serviceaccounts", &Key::new(namespace, name));
    account.is_some_and(|account| text(&account.object, "/metadata/uid") == uid)
}

/// The user that a request impersonates, if its sender may (`WithImpersonation`).
fn impersonated(state: &State, headers: &HeaderMap, own: User) -> Result<User, Status> {
    let texts = |name| headers.get_all(name).iter().filter_map(|it| it.to_str().ok());
    let name = texts("impersonate-user").next().unwrap_or_default();
    let groups: Vec<_> = texts("impersonate-group").collect();
    if name.is_empty() {
        return Ok(own);
    }
    let account = name.strip_prefix("system:serviceaccount:").and_then(|it| it.split_once(':'));
    let whom = match account {
        Some((namespace, name)) => {
            Resource { plural: "serviceaccounts", namespace, name, ..Resource::default() }
        }
        None => Resource { plural: "users", name, ..Resource::default() },
    };
    let group = |name| Resource { plural: "groups", name, ..Resource::default() };
    for resource in std::iter::once(whom).chain(groups.iter().map(|it| group(it))) {
        let what = Attributes { verb: "impersonate", to: To::Resource(resource) };
        let verdict = state.access.judge(&own, &what);
        if let Verdict::Refused(_) = verdict {
            return Err(forbidden(&own, &what, &verdict.reason()));
        }
    }
    Ok(if groups.is_empty() { User::named(name) } else { User::new(name, &groups) })
}
