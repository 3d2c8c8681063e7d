//! Tokens of service accounts. They are not signed: the sandbox believes that it made them.

use api::Time;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// What each token starts with.
const PREFIX: &str = "sandbox.";

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// Of the service account.
    pub(crate) namespace: String,
    /// Of the service account.
    pub(crate) name: String,
    /// Of the service account.
    pub(crate) uid: String,
    /// Its audience.
    pub(crate) audiences: Vec<String>,
    /// When it ends.
    pub(crate) expires: Time,
}

/// A token of a service account.
pub(crate) fn issue_token(
    namespace: &str,
    name: &str,
    uid: &str,
    audiences: &[String],
    expires: Time,
) -> String {
    let claims = json!({
        "namespace": namespace,
        "name": name,
        "uid": uid,
        "audiences": audiences,
        "expires": expires.unix_nanos() / 1_000_000_000,
    });
    format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// What a token says, also if it has ended; none: the sandbox did not issue it.
pub(crate) fn read_token(token: &str) -> Option<Token> {
    let claims = URL_SAFE_NO_PAD.decode(token.strip_prefix(PREFIX)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    let text = |name: &str| claims.get(name)?.as_str().map(str::to_owned);
    let audiences = claims.get("audiences")?.as_array()?.iter();
    Some(Token {
        namespace: text("namespace")?,
        name: text("name")?,
        uid: text("uid")?,
        audiences: audiences.filter_map(|it| it.as_str().map(str::to_owned)).collect(),
        expires: Time::from_unix(claims.get("expires")?.as_i64()?, 0),
    })
}
