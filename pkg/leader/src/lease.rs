//! The Lease, kept whole, and the record of an election in its `spec`.

use api::{DecodeError, Key, Resource, Text, Time};
use bytes::Bytes;
use mutant::Mutant;
use serde_json::{Map, Value, json};

/// The resource of Leases.
pub const LEASES: Resource = Resource::namespaced("coordination.k8s.io", "v1", "leases", "Lease");

/// The holder, since when and for how long: client-go's `LeaderElectionRecord`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// Empty: no holder.
    pub(crate) holder: String,
    /// How long other contenders leave the lease alone after its last change.
    pub(crate) duration_seconds: u64,
    /// When the holder acquired it, by the holder's wall clock.
    pub(crate) acquired: Option<Time>,
    /// When the holder wrote last, by the holder's wall clock.
    pub(crate) renewed: Option<Time>,
    /// How often the holder has changed.
    pub(crate) transitions: i32,
    /// Whom the API server prefers to the holder, in a coordinated election; it alone writes this.
    pub(crate) preferred: String,
}

/// A Lease as the API server returned it. Labels, annotations and unknown fields are written back
/// unchanged.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    object: Map<String, Value>,
    /// `metadata.resourceVersion`, the precondition of every update.
    pub(crate) version: u64,
}

// === impl Lease ===

impl Lease {
    /// Reads a Lease. An error if it has no version, since then it could not be updated safely.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, DecodeError> {
        let failed = |text: String| DecodeError(format!("a Lease: {text}"));
        let mut object: Map<String, Value> =
            serde_json::from_slice(json).map_err(|error| failed(error.to_string()))?;
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        let metadata = metadata.ok_or_else(|| failed("no metadata".to_owned()))?;
        metadata.remove("managedFields");
        let version = metadata.get("resourceVersion").and_then(Value::as_str).unwrap_or_default();
        let version = version.parse().map_err(|_| {
            failed(format!("metadata.resourceVersion: {version:?} is not a number"))
        })?;
        Ok(Self { object, version })
    }

    /// A field of its `spec` that is a time.
    pub(crate) fn time(&self, name: &str) -> Option<Time> {
        let text = self.object.get("spec")?.get(name)?.as_str()?;
        Time::parse(text).ok()
    }

    /// The record in its `spec`. A field that is missing or of another type counts as empty, as
    /// upstream's `LeaseSpecToLeaderElectionRecord`; so a broken Lease is free.
    pub(crate) fn record(&self) -> Record {
        let field = |name: &str| self.object.get("spec").and_then(|spec| spec.get(name));
        let text = |name: &str| field(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Record {
            holder: text("holderIdentity"),
            duration_seconds: field("leaseDurationSeconds").and_then(Value::as_u64).unwrap_or(0),
            acquired: self.time("acquireTime"),
            renewed: self.time("renewTime"),
            transitions: field("leaseTransitions")
                .and_then(Value::as_i64)
                .and_then(|count| i32::try_from(count).ok())
                .unwrap_or(0),
            preferred: text("preferredHolder"),
        }
    }

    /// The body that updates this very version with `record`.
    pub(crate) fn with_record(&self, record: &Record) -> Bytes {
        self.with_spec(&LEASES, record.fields())
    }

    /// The body that updates this very version with these fields of its `spec`.
    pub(crate) fn with_spec(&self, resource: &Resource, fields: Map<String, Value>) -> Bytes {
        let mut object = self.object.clone();
        if mutant::is(Mutant::LeaseWithoutVersion) {
            object.entry("metadata").or_insert(Value::Null)["resourceVersion"] = Value::Null;
        }
        let spec = object.entry("spec").or_insert(Value::Null);
        match spec.as_object_mut() {
            Some(spec) => spec.extend(fields),
            None => *spec = Value::Object(fields),
        }
        object.insert("apiVersion".to_owned(), resource.api_version().into());
        object.insert("kind".to_owned(), resource.kind.as_ref().into());
        Value::Object(object).to_string().into()
    }

    /// `metadata.uid`.
    pub(crate) fn uid(&self) -> Text {
        let uid = self.object.get("metadata").and_then(|metadata| metadata.get("uid"));
        uid.and_then(Value::as_str).unwrap_or_default().into()
    }
}

// === impl Record ===

impl Record {
    /// The body that creates the Lease of this name with this record.
    pub(crate) fn new_lease(&self, key: &Key) -> Bytes {
        let object = json!({
            "apiVersion": LEASES.api_version(),
            "kind": LEASES.kind,
            "metadata": {"name": &*key.name, "namespace": &*key.namespace},
            "spec": self.fields(),
        });
        object.to_string().into()
    }

    fn fields(&self) -> Map<String, Value> {
        let time = |time: Option<Time>| time.map_or(Value::Null, |time| micro_time(time).into());
        let fields = [
            ("holderIdentity", self.holder.as_str().into()),
            ("leaseDurationSeconds", self.duration_seconds.into()),
            ("acquireTime", time(self.acquired)),
            ("renewTime", time(self.renewed)),
            ("leaseTransitions", self.transitions.into()),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// As upstream's `metav1.MicroTime`: always six digits, always UTC.
pub(crate) fn micro_time(time: Time) -> String {
    let micros = time.unix_nanos().rem_euclid(1_000_000_000) / 1000;
    let seconds = time.whole_seconds().to_string();
    format!("{}.{micros:06}Z", seconds.trim_end_matches('Z'))
}
