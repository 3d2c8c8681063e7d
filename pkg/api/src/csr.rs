//! CertificateSigningRequest: a view beside the whole object.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};

use crate::certificate;
use crate::certificate_request::{CertificateRequest, RequestError};
use crate::wire::{self, null_is_empty};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, Text, Time, intern};

/// What controllers read of a wish for a certificate, and the whole of it.
#[derive(Clone, Debug)]
pub struct CertificateSigningRequest {
    /// Name and so on.
    pub meta: Meta,
    /// `spec.signerName`: the signer that should sign it.
    pub signer_name: Text,
    /// `spec.usages`: what the certificate is for.
    pub usages: Box<[Text]>,
    /// `spec.expirationSeconds`: how long the certificate should be valid.
    pub expiration_seconds: Option<i32>,
    /// Who made the object, as the API server noted it.
    pub requestor: Requestor,
    /// The types of its conditions, whatever their status.
    pub conditions: BTreeSet<Text>,
    /// The same in their order, and when each was last updated, if it says so.
    pub condition_updates: Box<[(Text, Option<Time>)]>,
    /// Whether a signer has given it up: it has the condition Failed, which is true.
    pub failed: bool,
    /// Whether the certificate is there.
    pub issued: bool,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// A user, as the fields of a `SubjectAccessReview` name them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Requestor {
    /// `spec.username`.
    pub username: String,
    /// `spec.uid`.
    pub uid: String,
    /// `spec.groups`.
    #[serde(deserialize_with = "null_is_empty")]
    pub groups: Vec<String>,
    /// `spec.extra`.
    #[serde(deserialize_with = "from_extra")]
    pub extra: BTreeMap<String, Vec<String>>,
}

impl CertificateSigningRequest {
    /// Whether it has an Approved condition. A denied one may have it too.
    pub fn is_approved(&self) -> bool {
        self.conditions.contains("Approved")
    }

    /// Whether it has a Denied condition.
    pub fn is_denied(&self) -> bool {
        self.conditions.contains("Denied")
    }

    /// What the certificate should say: `spec.request`, read anew each time. As `ParseCSR` in
    /// upstream's pkg/apis/certificates/v1.
    pub fn request(&self) -> Result<CertificateRequest, RequestError> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Spec<'a> {
            #[serde(borrow)]
            request: std::borrow::Cow<'a, str>,
        }
        let spec = self.raw.field("spec").map_or("{}", |spec| spec.get());
        let spec: Spec<'_> =
            serde_json::from_str(spec).map_err(|error| RequestError(error.to_string()))?;
        CertificateRequest::from_base64(&spec.request)
    }

    /// After when the first certificate that was issued is no longer valid, read anew each time;
    /// none: there is none, or it cannot be read.
    pub fn not_after(&self) -> Option<Time> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Status<'a> {
            #[serde(borrow)]
            certificate: Option<std::borrow::Cow<'a, str>>,
        }
        let status = self.raw.field("status").map_or("{}", |status| status.get());
        let status: Status<'_> = serde_json::from_str(status).ok()?;
        certificate::not_after(&status.certificate?)
    }
}

impl Kind for CertificateSigningRequest {
    const RESOURCE: Resource = Resource::cluster_scoped(
        "certificates.k8s.io",
        "v1",
        "certificatesigningrequests",
        "CertificateSigningRequest",
    );
}

impl Object for CertificateSigningRequest {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireRequest>(codec, bytes)?;
        let conditions = wire.status.conditions.iter();
        let condition_updates = conditions.clone().map(|condition| {
            let at = condition.last_update_time.and_then(wire::Time::view);
            (intern(&condition.r#type), at)
        });
        Ok(Self {
            meta: wire.metadata.meta()?,
            signer_name: intern(&wire.spec.signer_name),
            usages: wire.spec.usages.iter().map(|usage| intern(usage)).collect(),
            expiration_seconds: wire.spec.expiration_seconds,
            requestor: wire.spec.requestor,
            failed: conditions.clone().any(WireCondition::is_true_failure),
            conditions: conditions.map(|condition| intern(&condition.r#type)).collect(),
            condition_updates: condition_updates.collect(),
            issued: !wire.status.certificate.is_empty(),
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            signer_name: intern(""),
            usages: Box::default(),
            expiration_seconds: None,
            requestor: Requestor::default(),
            conditions: BTreeSet::new(),
            condition_updates: Box::default(),
            failed: false,
            issued: false,
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct WireRequest {
    metadata: wire::ObjectMeta,
    #[serde(default)]
    spec: WireSpec,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    signer_name: String,
    #[serde(deserialize_with = "null_is_empty")]
    usages: Vec<String>,
    expiration_seconds: Option<i32>,
    #[serde(flatten)]
    requestor: Requestor,
}

/// The lists in it may be `null`, too: an empty list from the authenticator becomes null once it
/// was stored as protobuf.
fn from_extra<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    let extra: BTreeMap<String, Option<Vec<String>>> = null_is_empty(deserializer)?;
    Ok(extra.into_iter().map(|(key, values)| (key, values.unwrap_or_default())).collect())
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
    #[serde(deserialize_with = "null_is_empty")]
    certificate: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireCondition {
    r#type: String,
    #[serde(deserialize_with = "null_is_empty")]
    status: String,
    last_update_time: Option<wire::Time>,
}

impl WireCondition {
    /// As `HasTrueCondition` of upstream's pkg/controller/certificates: one without a status is of
    /// an API version that knew none.
    fn is_true_failure(&self) -> bool {
        self.r#type == "Failed" && matches!(&*self.status, "" | "True")
    }
}
