//! The key of the work after the deletion of a Secret: its name must be removed from the `secrets`
//! of its account, and once it is deleted nothing else names that account.

use api::{Key, Text, TokenSecret, intern};

/// A name in the `secrets` of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    /// The Secret that is deleted.
    pub(super) secret: Key,
    /// The account.
    pub(super) account: Key,
    /// The uid of that account; empty: any will do.
    pub(super) account_uid: Text,
}

impl Reference {
    /// To this Secret, from the account that it says it is for.
    pub(super) fn to(secret: &TokenSecret) -> Option<Self> {
        let key = &secret.meta.key;
        (!secret.account.is_empty()).then(|| Self {
            secret: key.clone(),
            account: Key::new(&key.namespace, &secret.account),
            account_uid: secret.account_uid.clone(),
        })
    }

    /// `<namespace>/<secret>/<account>/<uid>`: no Secret has that key, since names hold no slash.
    pub(super) fn key(&self) -> Key {
        let Self { secret, account, account_uid } = self;
        let name = format!("{}/{}/{account_uid}", secret.name, account.name);
        Key::new(&secret.namespace, &name)
    }

    /// What [`Self::key`] was made from; none if it is the key of a Secret.
    pub(super) fn parse(key: &Key) -> Option<Self> {
        let (secret, rest) = key.name.split_once('/')?;
        let (account, uid) = rest.split_once('/')?;
        let key = |name| Key::new(&key.namespace, name);
        Some(Self { secret: key(secret), account: key(account), account_uid: intern(uid) })
    }
}
