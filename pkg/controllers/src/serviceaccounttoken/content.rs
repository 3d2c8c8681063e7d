//! What a Secret lacks, and the edits that give it that. As `secretUpdateNeeded` and
//! `generateTokenIfNeeded` of upstream's tokens_controller.go.

use std::collections::BTreeMap;

use api::{Edit, Raw, Text, TokenSecret, intern};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use mutant::Mutant;
use serde_json::json;

/// What pods trust the API server by; may be empty.
#[derive(Clone, Debug)]
pub(super) struct Authority {
    pem: Text,
    /// The same as Secrets have it in JSON.
    base64: String,
}

/// What is missing, or is not as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lacks {
    pub(super) root_ca: bool,
    pub(super) namespace: bool,
    pub(super) token: bool,
}

// === impl Authority ===

impl Authority {
    pub(super) fn new(pem: &str) -> Self {
        Self { pem: intern(pem), base64: BASE64_STANDARD.encode(pem) }
    }
}

// === impl Lacks ===

impl Lacks {
    /// What the cache shows.
    pub(super) fn of(secret: &TokenSecret, authority: &Authority) -> Self {
        Self {
            root_ca: !authority.pem.is_empty() && secret.root_ca != authority.pem,
            namespace: !secret.has_namespace,
            token: !secret.has_token,
        }
    }

    /// What the Secret itself shows.
    pub(super) fn of_live(secret: &Raw, authority: &Authority) -> Self {
        let data = secret.field("data").map_or("null", |data| data.get());
        let data: Option<BTreeMap<&str, Option<&str>>> =
            serde_json::from_str(data).unwrap_or_default();
        let data = data.unwrap_or_default();
        let has = |key| data.get(key).copied().flatten().unwrap_or_default();
        Self {
            root_ca: !authority.pem.is_empty() && has(TokenSecret::ROOT_CA) != authority.base64,
            namespace: has(TokenSecret::NAMESPACE).is_empty(),
            token: has(TokenSecret::TOKEN).is_empty() && !mutant::is(Mutant::TokenForgotten),
        }
    }

    pub(super) fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// In words.
    pub(super) fn words(self) -> String {
        let Self { root_ca, namespace, token } = self;
        let words = [(token, "token"), (namespace, "namespace"), (root_ca, "authority")];
        let lacking = words.into_iter().filter(|(lacks, _)| *lacks).map(|(_, word)| word);
        lacking.collect::<Vec<_>>().join(", ")
    }

    /// The edits that give a Secret what it lacks. `sign` is called if that is a token.
    pub(super) fn fill(
        self,
        namespace: &str,
        authority: &Authority,
        sign: impl FnOnce() -> Result<String, String>,
    ) -> Result<Vec<Edit>, String> {
        let data = |key, value: &str| Edit::new(["data", key], json!(value));
        let encoded = |text: &str| BASE64_STANDARD.encode(text);
        let mut edits = Vec::new();
        if self.root_ca {
            edits.push(data(TokenSecret::ROOT_CA, &authority.base64));
        }
        if self.namespace {
            edits.push(data(TokenSecret::NAMESPACE, &encoded(namespace)));
        }
        if self.token {
            edits.push(data(TokenSecret::TOKEN, &encoded(&sign()?)));
        }
        Ok(edits)
    }
}
