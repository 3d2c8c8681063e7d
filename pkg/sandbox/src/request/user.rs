//! Who asks.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::Value;

use super::User;
use crate::surface::token::read_token;

/// Who a request says that it comes from: whom it impersonates, or whose token it has, or else the
/// administrator.
pub(crate) fn user_of(headers: &HeaderMap) -> User {
    let texts = |name| headers.get_all(name).iter().filter_map(|it| it.to_str().ok());
    let name = texts("impersonate-user").next().unwrap_or_default();
    if !name.is_empty() {
        return User::named(name, texts("impersonate-group").collect());
    }
    let token = texts(AUTHORIZATION.as_str()).find_map(|it| it.strip_prefix("Bearer "));
    let own = token.and_then(|token| read_token(token.trim())).map(|token| token.user());
    let other = || Some(User::named(&subject(token?)?, Vec::new()));
    own.or_else(other).unwrap_or_else(|| User::new("kubernetes-admin", &["system:masters"]))
}

/// The `sub` of a bearer token, which is believed: nothing here is worth a forged signature.
fn subject(token: &str) -> Option<String> {
    let claims = URL_SAFE_NO_PAD.decode(token.trim().split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    claims.get("sub")?.as_str().map(str::to_owned)
}

// === impl User ===

impl User {
    /// A user of these groups; a service account is of its own unless others are named.
    fn named(name: &str, groups: Vec<&str>) -> Self {
        let account = name.strip_prefix("system:serviceaccount:");
        let namespace = account.and_then(|it| it.split_once(':')).map(|(namespace, _)| namespace);
        let of_namespace = format!("system:serviceaccounts:{}", namespace.unwrap_or_default());
        let mut groups = groups;
        if namespace.is_some() && groups.is_empty() {
            groups.extend(["system:serviceaccounts", &of_namespace]);
        }
        Self::new(name, &groups)
    }

    /// A user of these groups, and of that of everybody who said who they are.
    pub(crate) fn new(name: &str, groups: &[&str]) -> Self {
        let mut groups: Vec<_> = groups.iter().map(|group| (*group).to_owned()).collect();
        let everybody = match name {
            "system:anonymous" => "system:unauthenticated",
            _ => "system:authenticated",
        };
        if !groups.iter().any(|group| group == everybody) {
            groups.push(everybody.to_owned());
        }
        Self { name: name.to_owned(), groups }
    }
}
