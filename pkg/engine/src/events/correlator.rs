//! Decides about each event: a new Event, a higher count of a known one, or nothing. No I/O.
//!
//! Upstream: client-go, `tools/record/events_cache.go`. It also remembers the API server's
//! responses; nothing that it sends depends on them, so we do not.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use api::{InvalidName, Key, Resource, Text, Time};
use bytes::Bytes;
use controller::{Event, EventType, ObjectRef};
use runtime::Random;
use serde_json::{Value, json};

/// Keys that each of the three memories holds.
pub(super) const KEYS_MAX: usize = 4096;
/// From this many distinct messages on, similar events are combined.
pub(super) const DISTINCT_MAX: usize = 10;
/// Similar events further apart than this are not counted together.
pub(super) const SIMILAR_WITHIN: Duration = Duration::from_mins(10);
/// Events of one type about one object that pass at once.
pub(super) const SPAM_BURST: u32 = 25;
/// The time until one more of them passes.
pub(super) const SPAM_REFILL: Duration = Duration::from_mins(5);
/// What the message of a combined event starts with.
pub(super) const COMBINED: &str = "(combined from similar events): ";
/// Longest name of an object.
const NAME_LEN_MAX: usize = 253;

const EVENTS: Resource = Resource::namespaced("", "v1", "events", "Event");

/// An event and when it happened.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    /// The event.
    pub(super) event: Event,
    /// When it was recorded; it may have waited in the queue since.
    pub(super) at: Time,
}

/// A core/v1 Event. One with a count above 1 is known to the API server, unless it expired there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventObject {
    /// Its own namespace and name.
    pub(super) key: Key,
    /// Its `involvedObject`.
    pub(super) about: Arc<ObjectRef>,
    /// Normal or Warning.
    pub(super) r#type: EventType,
    /// One word.
    pub(super) reason: Cow<'static, str>,
    /// A sentence.
    pub(super) message: String,
    /// Its `source.component`.
    pub(super) source: &'static str,
    /// Its `reportingComponent`: the source, or empty where events were combined.
    pub(super) reporting: &'static str,
    /// How often it happened.
    pub(super) count: i32,
    /// When it happened first.
    pub(super) first: Time,
    /// When it happened last.
    pub(super) last: Time,
}

/// Remembers the events of one source.
pub(super) struct Correlator {
    component: &'static str,
    names: Names,
    similar: Lru<Similar>,
    seen: Lru<Option<Seen>>,
    /// When the token bucket of an object and type is full again. That one moment is the whole
    /// state of the bucket: each token taken moves it one refill further.
    full_at: Lru<Option<Time>>,
}

/// The state of events that differ only by their message.
#[derive(Default)]
struct Similar {
    /// The digests of their messages, oldest first, fewer than [`DISTINCT_MAX`].
    messages: Vec<u64>,
    last: Option<Time>,
}

/// The state of equal events.
struct Seen {
    name: Text,
    first: Time,
    count: i32,
}

/// Generates names of Events.
struct Names {
    /// The last one's nanoseconds: two events in the same nanosecond must not share a name.
    nanos: i64,
    random: Random,
}

/// Values for the [`KEYS_MAX`] most recently used keys.
struct Lru<V> {
    /// The number of uses: the clock that ages are measured by.
    uses: u64,
    by_key: BTreeMap<u64, (u64, V)>,
    by_use: BTreeMap<u64, u64>,
}

// === impl Correlator ===

impl Correlator {
    /// A correlator that has seen nothing yet from `component`.
    pub(super) fn new(component: &'static str, random: Random) -> Self {
        Self {
            component,
            names: Names { nanos: i64::MIN, random },
            similar: Lru::default(),
            seen: Lru::default(),
            full_at: Lru::default(),
        }
    }

    /// What to send; none if it is spam. Spam is counted too, so the next event that passes reports
    /// it. As upstream's `EventCorrelate`.
    pub(super) fn correlate(&mut self, recorded: Recorded, now: Time) -> Option<EventObject> {
        let Recorded { event, at } = recorded;
        let Event { about, r#type, reason, message } = event;
        let bucket = digest((&about.resource, &about.key, &about.uid, r#type));
        let similar = digest((bucket, &reason));
        let text = digest(&message);
        let (key, message, reporting, last) = if self.is_one_of_many(similar, text, now) {
            (similar, format!("{COMBINED}{message}"), "", now)
        } else {
            (digest((similar, text)), message, self.component, at)
        };

        let first = || Seen { name: self.names.next(&about.key.name, last), first: last, count: 0 };
        let seen = self.seen.touch(key).get_or_insert_with(first);
        seen.count = seen.count.saturating_add(1);
        let Seen { ref name, first, count } = *seen;
        let namespace = match &*about.key.namespace {
            "" => "default",
            namespace => namespace,
        };
        let key = Key { namespace: api::intern(namespace), name: Text::clone(name) };
        let source = self.component;
        let object = EventObject {
            key,
            about,
            r#type,
            reason,
            message,
            source,
            reporting,
            count,
            first,
            last,
        };
        self.passes(bucket, now).then_some(object)
    }

    /// Notes a message. Returns whether there were so many different ones that they are to be
    /// combined. As upstream's `EventAggregate`, except that the oldest message is forgotten to
    /// bound their number, not any.
    fn is_one_of_many(&mut self, similar: u64, message: u64, now: Time) -> bool {
        let known = self.similar.touch(similar);
        if known.last.is_some_and(|last| now.since(last) > SIMILAR_WITHIN) {
            known.messages.clear();
        }
        known.last = Some(now);
        if !known.messages.contains(&message) {
            known.messages.push(message);
        }
        if known.messages.len() < DISTINCT_MAX {
            return false;
        }
        known.messages.remove(0);
        true
    }

    /// Takes a token of an object and type, if there is one. As upstream's
    /// `EventSourceObjectSpamFilter`, whose clock never goes back: here a clock that is set back
    /// costs the tokens, but never more than all of them.
    fn passes(&mut self, bucket: u64, now: Time) -> bool {
        let known = self.full_at.touch(bucket);
        let empty = now + SPAM_REFILL * SPAM_BURST;
        let full_at = known.map_or(now, |at| at.clamp(now, empty));
        let passes = full_at + SPAM_REFILL <= empty;
        *known = Some(if passes { full_at + SPAM_REFILL } else { full_at });
        passes
    }
}

/// Keys are stored as digests: a few bytes instead of a long text. The hasher has no random seed,
/// so that runs are reproducible.
fn digest(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

// === impl EventObject ===

impl EventObject {
    /// Whether it was sent before, so that a PATCH is enough.
    pub(super) fn is_known(&self) -> bool {
        self.count > 1
    }

    /// The path to create it.
    pub(super) fn collection_path(&self) -> String {
        EVENTS.collection_path(&self.key.namespace)
    }

    /// Its own path.
    pub(super) fn path(&self) -> Result<String, InvalidName> {
        EVENTS.object_path(&self.key)
    }

    /// All of it, without a resource version.
    pub(super) fn body(&self) -> Bytes {
        let about = &*self.about;
        let version = match about.resource_version {
            0 => String::new(),
            version => version.to_string(),
        };
        let mut involved = json!({
            "apiVersion": about.resource.api_version(),
            "kind": about.resource.kind,
            "name": &*about.key.name,
            "namespace": &*about.key.namespace,
            "resourceVersion": version,
            "uid": &*about.uid,
        });
        if let Value::Object(fields) = &mut involved {
            fields.retain(|_, value| value != "");
        }
        let r#type = match self.r#type {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        };
        let object = json!({
            "apiVersion": EVENTS.api_version(),
            "kind": EVENTS.kind,
            "metadata": {"name": &*self.key.name, "namespace": &*self.key.namespace},
            "involvedObject": involved,
            "type": r#type,
            "reason": self.reason,
            "message": self.message,
            "source": {"component": self.source},
            "reportingComponent": self.reporting,
            "reportingInstance": "",
            "count": self.count,
            "firstTimestamp": self.first.to_string(),
            "lastTimestamp": self.last.to_string(),
            "eventTime": null,
        });
        Bytes::from(object.to_string())
    }

    /// The strategic merge patch for an Event that was sent before.
    pub(super) fn patch(&self) -> Bytes {
        let patch = json!({
            "count": self.count,
            "lastTimestamp": self.last.to_string(),
            "message": self.message,
        });
        Bytes::from(patch.to_string())
    }
}

// === impl Names ===

impl Names {
    /// A name for an Event about the object called `about`: with the time in hexadecimal
    /// nanoseconds, or a random one if the object's name is not a valid part of it. As upstream's
    /// `GenerateEventName` in `tools/record/util/util.go`; upstream does not check the names of
    /// combined events, which the API server may then refuse.
    fn next(&mut self, about: &str, at: Time) -> Text {
        self.nanos = at.unix_nanos().max(self.nanos.saturating_add(1));
        let name = format!("{about}.{:x}", self.nanos);
        Text::from(if is_dns_subdomain(&name) { name } else { self.uuid() })
    }

    /// A random uuid, version 4.
    fn uuid(&self) -> String {
        let (high, low) = (self.random.bits(), self.random.bits());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            (low >> 48) & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff,
        )
    }
}

/// As `IsDNS1123Subdomain` of k8s.io/apimachinery.
fn is_dns_subdomain(name: &str) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= NAME_LEN_MAX
        && name.split('.').map(str::as_bytes).all(|label| {
            label.iter().all(|byte| is_word(byte) || *byte == b'-')
                && label.first().is_some_and(is_word)
                && label.last().is_some_and(is_word)
        })
}

// === impl Lru ===

impl<V> Default for Lru<V> {
    fn default() -> Self {
        Self { uses: 0, by_key: BTreeMap::new(), by_use: BTreeMap::new() }
    }
}

impl<V: Default> Lru<V> {
    /// The value of a key, which becomes the most recently used one. A new key starts with the
    /// default and may evict the least recently used one.
    fn touch(&mut self, key: u64) -> &mut V {
        self.uses += 1;
        if let Some((used, _)) = self.by_key.get(&key) {
            self.by_use.remove(used);
        } else if self.by_key.len() >= KEYS_MAX
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.by_key.remove(&oldest);
        }
        self.by_use.insert(self.uses, key);
        let (used, value) = self.by_key.entry(key).or_default();
        *used = self.uses;
        value
    }
}
