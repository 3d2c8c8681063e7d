//! Bootstrap tokens: those that have expired are deleted, and the others sign what nodes that join
//! are to trust.

use std::collections::{BTreeMap, BTreeSet};

use api::{Time, go};
use k8s_openapi::ByteString;
use serde_json::Value;

use super::fields::{at, text, uid};
use super::{Judged, Oracle};
use crate::bootstrap::{FAR, TYPE};
use crate::site::START;

pub(super) const CLEANER: &str = "token-cleaner";
pub(super) const SIGNER: &str = "bootstrap-signer";
const SIGNATURE: &str = "jws-kubeconfig-";

/// By signature: which text it was made of.
pub(super) type Signed = BTreeMap<String, String>;

impl Oracle {
    /// Why a Secret is to stay, as far as can be known.
    pub(super) fn token_stays(&self, secret: &Value, it: &Judged<'_>) -> Option<&'static str> {
        if !is_token(secret) {
            return Some("it is no bootstrap token");
        }
        // A user may have changed it just now.
        let edited = self.touched.get(uid(secret));
        if edited.is_some_and(|edited| !self.knows_in_part("Secret", *edited)) {
            return None;
        }
        let ahead = self.clocks.ahead(it.life, self.decider.begun);
        let is_over = match expiration(secret) {
            Expiration::Never => false,
            Expiration::At(at) => at <= START + it.at + ahead,
            Expiration::Odd => true,
        };
        (!is_over).then_some("it has not expired")
    }

    /// Why the signer writes what it is not to.
    pub(super) fn signs_more(before: &Value, it: &Judged<'_>) -> Option<&'static str> {
        if it.method != "PUT" || !is_info(before) {
            return Some("it signs one ConfigMap alone");
        }
        let others = |object: &Value| {
            let data = at(object, "/data").as_object().cloned().unwrap_or_default();
            let others = data.into_iter().filter(|(key, _)| !key.starts_with(SIGNATURE));
            others.collect::<BTreeMap<_, _>>()
        };
        (others(before) != others(it.sent)).then_some("it changes more than signatures")
    }

    /// What the signer has signed is remembered.
    pub(super) fn learn_signed(&mut self, it: &Judged<'_>) {
        if it.account != SIGNER {
            return;
        }
        let content = text(it.sent, "/data/kubeconfig");
        let made = signatures(it.sent).into_iter().map(|(_, it)| (it, content.to_owned()));
        let made = made.filter(|(signature, _)| !self.signed.contains_key(signature));
        let made: Vec<_> = made.collect();
        self.signed.extend(made);
    }

    /// A token that ends is deleted then, which is near in all cases here but one.
    pub(super) fn token_is_over(secret: &Value) -> Option<String> {
        if !is_token(secret) {
            return None;
        }
        match expiration(secret) {
            Expiration::Never => None,
            Expiration::At(at) if go::parse_rfc3339(FAR.as_bytes()) == Some(at) => None,
            Expiration::At(at) => Some(format!("is to go at {at}")),
            Expiration::Odd => Some("is to go: its expiration is no time".to_owned()),
        }
    }

    /// Whether the manager may look at it too late: by a clock that was set since.
    pub(super) fn token_sleeps_too_long(&self, secret: &Value) -> bool {
        self.clocks.were_behind() && Self::token_is_over(secret).is_some()
    }

    /// The kubeconfig has the signatures of all good tokens, of its present text, and no others.
    pub(super) fn info_lacks(&self, info: &Value) -> Option<String> {
        let content = at(info, "/data/kubeconfig").as_str().filter(|_| is_info(info))?;
        let tokens = self.objects.of_kind("Secret").filter(|secret| signs(secret));
        let wanted: BTreeSet<_> = tokens.map(|secret| data(secret, "token-id")).collect();
        let signatures = signatures(info);
        let has: BTreeSet<_> = signatures.iter().map(|(id, _)| id.clone()).collect();
        if wanted != has {
            return Some(format!("is signed by {has:?}, should be by {wanted:?}"));
        }
        let is_of = |signature: &String| self.signed.get(signature).is_some_and(|it| it == content);
        let wrong = signatures.into_iter().find(|(_, signature)| !is_of(signature))?;
        Some(format!("the signature of {} is of another text", wrong.0))
    }
}

enum Expiration {
    Never,
    At(Time),
    Odd,
}

fn is_token(secret: &Value) -> bool {
    text(secret, "/type") == TYPE && text(secret, "/metadata/namespace") == "kube-system"
}

fn is_info(info: &Value) -> bool {
    text(info, "/metadata/name") == "cluster-info"
        && text(info, "/metadata/namespace") == "kube-public"
}

fn data(secret: &Value, key: &str) -> String {
    let bytes = serde_json::from_value::<ByteString>(at(secret, &format!("/data/{key}")).clone());
    bytes.map(|it| String::from_utf8_lossy(&it.0).into_owned()).unwrap_or_default()
}

fn expiration(secret: &Value) -> Expiration {
    let text = data(secret, "expiration");
    if text.is_empty() {
        return Expiration::Never;
    }
    go::parse_rfc3339(text.as_bytes()).map_or(Expiration::Odd, Expiration::At)
}

/// Whether a token signs, as long as it has not expired.
fn signs(secret: &Value) -> bool {
    let is_of_its_name =
        text(secret, "/metadata/name") == format!("bootstrap-token-{}", data(secret, "token-id"));
    is_token(secret)
        && is_of_its_name
        && !data(secret, "token-secret").is_empty()
        && data(secret, "usage-bootstrap-signing") == "true"
}

/// The signatures of a ConfigMap, by token.
fn signatures(info: &Value) -> Vec<(String, String)> {
    let data = at(info, "/data").as_object().into_iter().flatten();
    let signatures = data.filter_map(|(key, value)| {
        Some((key.strip_prefix(SIGNATURE)?.to_owned(), value.as_str()?.to_owned()))
    });
    signatures.collect()
}
