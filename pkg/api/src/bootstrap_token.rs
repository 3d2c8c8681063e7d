//! Secrets that hold a token with which nodes join the cluster. No other Secret is read for it.

use std::fmt;

use crate::token_secret::WireSecret;
use crate::{
    Codec, DecodeError, Index, Kind, Meta, Object, Resource, Text, Time, go, intern, wire,
};

/// What controllers read of a Secret of type `bootstrap.kubernetes.io/token` in `kube-system`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootstrapToken {
    /// Name and so on.
    pub meta: Meta,
    /// `token-id`, if the name of the Secret says the same; none: it is no good token.
    pub id: Option<Text>,
    /// `token-secret`; empty: it has none.
    pub secret: TokenSecretValue,
    /// Whether `usage-bootstrap-signing` is `true`.
    pub signs: bool,
    /// When it ends.
    pub expiration: Expiration,
    /// Whether nothing but its metadata could be read. Then its id is what its name says.
    pub unreadable: bool,
}

/// The secret part of a token. Prints as an ellipsis.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TokenSecretValue(pub Box<[u8]>);

/// `expiration` of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiration {
    /// It says none.
    Never,
    /// Then.
    At(Time),
    /// It says something else, which counts as over.
    Unparsable,
}

impl BootstrapToken {
    /// What the name of each begins with; its id follows.
    pub const PREFIX: &'static str = "bootstrap-token-";

    /// Whether it has ended. As `HasExpired` in cluster-bootstrap's util/secrets.
    pub fn has_expired(&self, now: Time) -> bool {
        match self.expiration {
            Expiration::Never => false,
            Expiration::At(at) => at <= now,
            Expiration::Unparsable => true,
        }
    }
}

impl Kind for BootstrapToken {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "secrets", "Secret");
    const FIELD_SELECTOR: &'static str =
        "metadata.namespace=kube-system,type=bootstrap.kubernetes.io/token";
}

impl Object for BootstrapToken {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireSecret>(codec, bytes)?;
        let data = |key| wire.data.get(key).map_or(&[][..], Vec::as_slice);
        let meta = wire.metadata.meta()?;
        let id = id(&meta.key.name).filter(|id| id.as_bytes() == data("token-id"));
        let expiration = match data("expiration") {
            [] => Expiration::Never,
            text => go::parse_rfc3339(text).map_or(Expiration::Unparsable, Expiration::At),
        };
        Ok(Self {
            id,
            meta,
            secret: TokenSecretValue(data("token-secret").into()),
            signs: data("usage-bootstrap-signing") == b"true",
            expiration,
            unreadable: false,
        })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        let (secret, expiration) = (TokenSecretValue::default(), Expiration::Never);
        Self { id: id(&meta.key.name), meta, secret, signs: false, expiration, unreadable: true }
    }
}

/// The id in the name of a Secret. As `ParseName` in cluster-bootstrap's util/secrets.
fn id(name: &str) -> Option<Text> {
    let id = name.strip_prefix(BootstrapToken::PREFIX)?;
    let is_id = id.len() == 6 && id.bytes().all(|it| matches!(it, b'a'..=b'z' | b'0'..=b'9'));
    is_id.then(|| intern(id))
}

// === impl TokenSecretValue ===

impl fmt::Debug for TokenSecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
