//! What a sync of an account or of a Secret looks at.

use std::sync::Arc;

use api::{Key, ServiceAccount, Text, TokenSecret};
use controller::View;

use super::content::{Authority, Lacks};
use super::reference::Reference;

/// An account, and the Secrets that were made for another one with its name.
#[derive(Clone, Debug)]
pub struct AccountSnapshot {
    /// The account's key.
    pub key: Key,
    /// The account.
    pub account: Option<Arc<ServiceAccount>>,
    /// The Secrets that name it with another uid, sorted by key; if there is no account, all that
    /// name it.
    pub stale: Vec<Arc<TokenSecret>>,
}

/// A Secret and its account; or the reference to a deleted Secret.
#[derive(Clone, Debug)]
pub enum SecretSnapshot {
    /// The Secret is there.
    There {
        /// The Secret.
        secret: Arc<TokenSecret>,
        /// Its account, if the cache shows it with the right uid.
        account: Option<Arc<ServiceAccount>>,
    },
    /// The Secret is deleted, its account is not.
    Gone {
        /// The Secret's key.
        secret: Key,
        /// Its account.
        account: Arc<ServiceAccount>,
    },
}

pub(super) fn observe_account(key: &Key, view: &View<'_>) -> Option<AccountSnapshot> {
    let account = view.of::<ServiceAccount>().get(key);
    let mut stale = view.of::<TokenSecret>().by(TokenSecret::BY_ACCOUNT, &key.to_string());
    stale.retain(|secret| account.as_ref().is_none_or(|it| !secret.is_for(&it.meta.uid)));
    let is_gone = account.is_none() && stale.is_empty();
    (!is_gone).then(|| AccountSnapshot { key: key.clone(), account, stale })
}

pub(super) fn observe_secret(key: &Key, view: &View<'_>) -> Option<SecretSnapshot> {
    let secrets = view.of::<TokenSecret>();
    if let Some(Reference { secret, account, account_uid }) = Reference::parse(key) {
        let account = named(&account, &account_uid, view)?;
        let is_gone = secrets.get(&secret).is_none();
        return is_gone.then_some(SecretSnapshot::Gone { secret, account });
    }
    let secret = secrets.get(key)?;
    let account = Key::new(&key.namespace, &secret.account);
    let account = named(&account, &secret.account_uid, view);
    Some(SecretSnapshot::There { secret, account })
}

/// The account with this key and uid, an empty one being any, as the cache shows it.
fn named(key: &Key, uid: &Text, view: &View<'_>) -> Option<Arc<ServiceAccount>> {
    let account = view.of::<ServiceAccount>().get(key)?;
    (uid.is_empty() || account.meta.uid == *uid).then_some(account)
}

// === impl AccountSnapshot ===

impl AccountSnapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let uid = self.account.as_ref().map_or("gone", |account| &account.meta.uid);
        vec![
            ("uid", uid.to_owned()),
            ("secrets of other accounts with its name", self.stale.len().to_string()),
        ]
    }
}

// === impl SecretSnapshot ===

impl SecretSnapshot {
    pub(super) fn summary(&self, authority: &Authority) -> Vec<(&'static str, String)> {
        match self {
            Self::There { secret, account } => {
                let cached = if account.is_some() { "there" } else { "not in the cache" };
                vec![
                    ("account", format!("{:?}", secret.account)),
                    ("account uid", format!("{:?}", secret.account_uid)),
                    ("the account is", cached.to_owned()),
                    ("lacks", Lacks::of(secret, authority).words()),
                ]
            }
            Self::Gone { secret, account } => {
                let lists = account.lists(&secret.name);
                vec![("account", account.meta.key.name.to_string()), ("lists", lists.to_string())]
            }
        }
    }
}
