//! Secrets that hold the token of a service account: a view without the token. No other Secret is
//! read for it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prost::Message;
use serde::{Deserialize, Deserializer};

use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Resource, Text, intern};
use crate::{fault, wire};

/// What controllers read of a Secret of type `kubernetes.io/service-account-token`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSecret {
    /// Name, labels and so on.
    pub meta: Meta,
    /// The account that it names; empty: none.
    pub account: Text,
    /// The uid of that account; empty: none.
    pub account_uid: Text,
    /// Whether it holds a token.
    pub has_token: bool,
    /// Whether it holds a namespace.
    pub has_namespace: bool,
    /// Its `ca.crt`, empty if it has none. Equal texts share their memory, and those of nearly all
    /// are equal. What is no UTF-8 reads as U+FFFD.
    pub root_ca: Text,
}

impl TokenSecret {
    /// The annotation that names the account.
    pub const ACCOUNT: &'static str = "kubernetes.io/service-account.name";
    /// The annotation with the uid of the account.
    pub const ACCOUNT_UID: &'static str = "kubernetes.io/service-account.uid";
    /// The key of the token in the data.
    pub const TOKEN: &'static str = "token";
    /// The key of the namespace in the data.
    pub const NAMESPACE: &'static str = "namespace";
    /// The key of the authority in the data.
    pub const ROOT_CA: &'static str = "ca.crt";
    /// Secrets by the namespace and the name of their account, as [`crate::Key`] prints them.
    pub const BY_ACCOUNT: &'static str = "account";

    /// Whether it belongs to the account of that name with this uid; a token without a uid belongs
    /// to any.
    pub fn is_for(&self, uid: &str) -> bool {
        self.account_uid.is_empty() || *self.account_uid == *uid
    }
}

impl Kind for TokenSecret {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "secrets", "Secret");
    const FIELD_SELECTOR: &'static str = "type=kubernetes.io/service-account-token";
}

impl Object for TokenSecret {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[Index::one(Self::BY_ACCOUNT, |secret| {
        let (namespace, account) = (&secret.meta.key.namespace, &secret.account);
        (!account.is_empty()).then(|| format!("{namespace}/{account}").into())
    })];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireSecret>(codec, bytes)?;
        let annotation = |name| wire.metadata.annotation(name).unwrap_or_default();
        let data = |key| wire.data.get(key).map_or(&[][..], Vec::as_slice);
        Ok(Self {
            meta: wire.metadata.meta()?,
            account: intern(&annotation(Self::ACCOUNT)),
            account_uid: intern(&annotation(Self::ACCOUNT_UID)),
            has_token: !data(Self::TOKEN).is_empty(),
            has_namespace: !data(Self::NAMESPACE).is_empty(),
            root_ca: intern(&String::from_utf8_lossy(data(Self::ROOT_CA))),
        })
    }

    /// It names no account, so controllers ignore it.
    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        let none = intern("");
        Self {
            meta,
            account: none.clone(),
            account_uid: none.clone(),
            has_token: false,
            has_namespace: false,
            root_ca: none,
        }
    }
}

// === Wire ===

/// `v1.Secret`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(crate) struct WireSecret {
    #[prost(message, required, tag = "1")]
    pub(crate) metadata: wire::ObjectMeta,
    #[prost(btree_map = "string, bytes", tag = "2")]
    #[serde(deserialize_with = "from_base64")]
    pub(crate) data: BTreeMap<String, Vec<u8>>,
}

/// Bytes travel as base64 in JSON; none as `null`.
fn from_base64<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<u8>>, D::Error> {
    let data = Option::<BTreeMap<String, Option<Base64>>>::deserialize(deserializer)?;
    let bytes = |bytes: Option<Base64>| bytes.map(|Base64(bytes)| bytes).unwrap_or_default();
    Ok(data.unwrap_or_default().into_iter().map(|(key, value)| (key, bytes(value))).collect())
}

struct Base64(Vec<u8>);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The decoder's error would quote a byte of the value.
        let decode = |text: &str| BASE64_STANDARD.decode(text).map_err(|_| "not base64".to_owned());
        fault::parsed(deserializer, decode).map(Self)
    }
}
