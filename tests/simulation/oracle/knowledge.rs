//! What a manager can know: which revision each of its caches had been shown when it began to work
//! on a key. The site stands on the wire and records what passes. Of what a manager says of itself
//! only one thing counts: which keys it has in work. What comes at the very moment at which a sync
//! begins may be known to it or not, and counts as not known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::Time;
use engine::Inspect;
use manager::debug::Source;
use manager::registry::REGISTRY;
use serde_json::Value;

use super::fields::text;
use super::objects::{is_of_group, plural_of, plurals_of};
use crate::fault::Fault;

/// A kind with several versions.
const WIDGETS: &str = "widgets";
/// Marks the end of what there was when a watch began.
const LISTED: &[u8] = b"\"k8s.io/initial-events-end\":";
/// Before the version of an object. In a text it would be escaped.
const VERSION: &[u8] = b"\"resourceVersion\":\"";

/// What is known of the managers that run.
#[derive(Default)]
pub(crate) struct Knowledge(BTreeMap<String, Lived>);

/// What a watch is of: whose it is, and what it asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stream {
    pub(crate) life: String,
    pub(crate) plural: String,
    /// Whether selectors choose among all of its objects.
    pub(crate) is_part: bool,
    /// Its account, its path and its selectors.
    pub(crate) asks: String,
    /// Whether it still delivers what there was when it began.
    pub(crate) listing: bool,
}

/// The sync that decides on a write, and since when it is under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Decider {
    pub(super) life: String,
    /// When its sync began; nothing that came then or later is known to it.
    pub(super) begun: Duration,
}

/// Of the syncs of a key: the one that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sync {
    since: Time,
    /// How often the key had failed before. A sync that fails at the very moment at which it began
    /// is followed by another one.
    failures: u32,
    /// How many syncs its controller had begun. If that is the same, it is the same sync.
    begun: u64,
}

impl Sync {
    /// Whether it is the same one, as far as can be seen.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.since, self.failures) == (other.since, other.failures)
    }
}

struct Lived {
    /// By account.
    engines: BTreeMap<&'static str, Vec<Arc<dyn Inspect>>>,
    /// By resource.
    shown: BTreeMap<String, Streams>,
    /// By account, key, and when the manager says that it began: when its first request was seen.
    syncs: BTreeMap<(String, String, Time), Duration>,
    /// By account: the last discovery documents, as long as each of them lacked a group.
    lacks: BTreeMap<String, Lacks>,
}

/// Discovery documents in a row that lack a group.
struct Lacks {
    group: &'static str,
    first: Duration,
    last: Duration,
}

/// How long the collector keeps a kind that discovery lacks (`LACKED_MAX` of the cache). Upstream's
/// forgets it at once (`syncMonitors` in garbagecollector/graph_builder.go).
const LACKED_MAX: Duration = Duration::from_mins(1);

/// What was shown of a resource, by whether that is a part of it, and by what was asked for.
type Streams = BTreeMap<(bool, String), Shown>;

/// Up to which revision something was shown, and when.
#[derive(Default)]
struct Shown(Vec<(Duration, u64)>);

// === impl Knowledge ===

impl Knowledge {
    /// A life begins.
    pub(crate) fn join(&mut self, life: &str, source: &dyn Source) {
        let mut engines: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for row in source.controllers() {
            let entry = REGISTRY.iter().find(|entry| entry.name == row.name);
            if let (Some(entry), Ok(engine)) = (entry, row.engine) {
                engines.entry(entry.account).or_default().push(engine);
            }
        }
        let lived = Lived {
            engines,
            shown: BTreeMap::new(),
            syncs: BTreeMap::new(),
            lacks: BTreeMap::new(),
        };
        self.0.insert(life.to_owned(), lived);
    }

    /// A life has ended.
    pub(crate) fn leave(&mut self, life: &str) {
        self.0.remove(life);
    }

    /// A watch begins, of what is after a revision.
    pub(crate) fn watched(&mut self, stream: &Stream, revision: u64, now: Duration) {
        if let Some(lived) = self.0.get_mut(&stream.life) {
            let of = lived.shown.entry(stream.plural.clone()).or_default();
            of.entry((stream.is_part, stream.asks.clone())).or_default().until(revision, now);
        }
    }

    /// What is watched was listed. A client that lists and does not watch has no cache.
    pub(crate) fn listed(&mut self, stream: &Stream, body: &[u8], now: Duration) {
        let Some(shown) = self.shown(stream) else { return };
        let list: Value = serde_json::from_slice(body).unwrap_or_default();
        let goes_on = !text(&list, "/metadata/continue").is_empty();
        if let Ok(revision) = text(&list, "/metadata/resourceVersion").parse()
            && !goes_on
        {
            shown.until(revision, now);
        }
    }

    /// A watch has brought these lines.
    pub(crate) fn brought(&mut self, stream: &mut Stream, lines: &[u8], now: Duration) {
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            stream.listing &= after(line, LISTED).is_none();
            if let Some(revision) = after(line, VERSION).filter(|_| !stream.listing) {
                self.watched(stream, digits(revision), now);
            }
        }
    }

    /// An account gets the list of groups.
    pub(crate) fn discovered(
        &mut self,
        life: &str,
        account: &str,
        fault: Option<Fault>,
        now: Duration,
    ) {
        let Some(lived) = self.0.get_mut(life) else { return };
        let Some(Fault::Lacks(group)) = fault else {
            lived.lacks.remove(account);
            return;
        };
        let lacks =
            lived.lacks.entry(account.to_owned()).or_insert(Lacks { group, first: now, last: now });
        if lacks.group != group {
            *lacks = Lacks { group, first: now, last: now };
        }
        lacks.last = now;
        if now >= lacks.first + LACKED_MAX {
            for plural in plurals_of(group) {
                lived.shown.remove(&plural);
            }
        }
    }

    /// Whether the discovery that a decider got may have lacked a kind.
    pub(super) fn may_lack(&self, decider: &Decider, account: &str, kind: &str) -> bool {
        let lacks = self.0.get(&decider.life).and_then(|lived| lived.lacks.get(account));
        lacks.is_some_and(|it| it.last >= decider.begun && is_of_group(kind, it.group))
    }

    fn shown(&mut self, stream: &Stream) -> Option<&mut Shown> {
        let of = self.0.get_mut(&stream.life)?.shown.get_mut(&stream.plural)?;
        of.get_mut(&(stream.is_part, stream.asks.clone()))
    }

    /// A controller asks for something: its syncs that were not seen before begin now.
    pub(crate) fn asks(&mut self, life: &str, account: &str, now: Duration) {
        let Some(lived) = self.0.get_mut(life) else { return };
        let working = lived.working(account);
        lived.syncs.retain(|sync, _| sync.0 != account || working.contains(sync));
        for sync in working {
            lived.syncs.entry(sync).or_insert(now);
        }
    }

    /// The sync that decided on what an account sends now: of one of these keys, or the oldest.
    pub(super) fn decider(
        &self,
        life: &str,
        account: &str,
        keys: &[String],
        now: Duration,
    ) -> Decider {
        let syncs = self.0.get(life).map(|lived| &lived.syncs).into_iter().flatten();
        let mine: Vec<_> = syncs.filter(|((of, ..), _)| of == account).collect();
        let of_key = mine.iter().filter(|((_, key, _), _)| keys.contains(key));
        let begun = of_key.map(|(_, begun)| **begun).min();
        let oldest = || mine.iter().map(|(_, begun)| **begun).min();
        Decider { life: life.to_owned(), begun: begun.or_else(oldest).unwrap_or(now) }
    }

    /// The sync that an account has in work for a key; none: the manager says of none.
    pub(super) fn sync(&self, life: &str, account: &str, key: &str) -> Option<Sync> {
        let engines = self.0.get(life)?.engines.get(account)?;
        engines.iter().find_map(|engine| {
            let status = engine.status();
            let work = status.in_work.iter().find(|work| work.key == key)?;
            let failing = status.failing.iter().find(|failure| failure.key == key);
            let failures = failing.map_or(0, |failure| failure.failures);
            Some(Sync { since: work.since, failures, begun: status.syncs })
        })
    }

    /// Up to which revision a decider knows a resource; 0: nothing of it.
    pub(super) fn seen(&self, decider: &Decider, plural: &str) -> u64 {
        let lived = self.0.get(&decider.life);
        let streams = lived.into_iter().flat_map(|lived| lived.caches(plural));
        let shown = streams.map(|shown| shown.before(decider.begun));
        // Of a kind with several versions there is one cache, now in one version, now in another.
        let known = if plural == WIDGETS { shown.max() } else { shown.min() };
        known.unwrap_or(0)
    }

    /// Up to which revision all caches of a decider know a resource, those of a part too.
    pub(super) fn seen_of_parts(&self, decider: &Decider, plural: &str) -> u64 {
        let lived = self.0.get(&decider.life).and_then(|lived| lived.shown.get(plural));
        let known = lived.into_iter().flatten().map(|(_, shown)| shown.before(decider.begun));
        known.min().unwrap_or(0)
    }

    /// Up to which revision a life has been shown a resource at most.
    pub(super) fn told(&self, life: &str, plural: &str) -> u64 {
        let caches = self.0.get(life).into_iter().flat_map(|lived| lived.caches(plural));
        caches.map(Shown::most).max().unwrap_or(0)
    }

    /// The same of each life.
    pub(super) fn told_all(&self, plural: &str) -> BTreeMap<String, u64> {
        self.0.keys().map(|life| (life.clone(), self.told(life, plural))).collect()
    }

    /// Whether all managers know all that there is, by what last changed of each kind, and have
    /// nothing to do.
    pub(super) fn is_idle(&self, changed: &BTreeMap<String, u64>) -> bool {
        let knows = |lived: &Lived, kind: &str, revision: u64| {
            let last = lived.caches(&plural_of(kind)).map(Shown::last).min();
            last.is_some_and(|last| last >= revision)
        };
        let idles = |lived: &Lived| {
            lived.engines.values().flatten().all(|engine| {
                let it = engine.status();
                it.in_work.is_empty() && it.queued == 0 && it.unsettled == 0
            })
        };
        let knows_all = |lived: &Lived| changed.iter().all(|(it, last)| knows(lived, it, *last));
        !self.0.is_empty() && self.0.values().all(|lived| knows_all(lived) && idles(lived))
    }

    /// What a manager still tries again; none: nothing.
    pub(super) fn fails(&self) -> Option<String> {
        self.engines().find_map(|(account, engine)| {
            let failing = engine.status().failing;
            let failure = failing.iter().find(|it| !fails_for_ever(account, &it.error))?;
            Some(format!("{account} fails with {}: {}", failure.key, failure.error))
        })
    }

    /// The keys that a manager has given up, by account.
    pub(super) fn given_up(&self) -> BTreeSet<(String, String)> {
        let keys = self.engines().flat_map(|(account, engine)| {
            let failures = engine.status().given_up.into_iter();
            failures.map(move |failure| (account.to_owned(), failure.key))
        });
        keys.collect()
    }

    /// The controllers of all managers, with their accounts.
    fn engines(&self) -> impl Iterator<Item = (&'static str, &dyn Inspect)> {
        let by_account = self.0.values().flat_map(|lived| &lived.engines);
        by_account.flat_map(|(account, engines)| engines.iter().map(move |it| (*account, &**it)))
    }

    /// Whether a controller of an account runs in any manager.
    pub(super) fn has(&self, account: &str) -> bool {
        self.engines().any(|(of, _)| of == account)
    }

    /// Whether the life of a decider continues.
    pub(super) fn runs(&self, decider: &Decider) -> bool {
        self.0.contains_key(&decider.life)
    }

    /// Whether the syncs that an account had in work then are over.
    pub(super) fn is_over(&self, decider: &Decider, account: &str) -> bool {
        let Some(lived) = self.0.get(&decider.life) else { return true };
        let is_old = |sync: &_| lived.syncs.get(sync).is_some_and(|it| *it <= decider.begun);
        !lived.working(account).iter().any(is_old)
    }
}

/// Whether a key fails again and again for as long as what people made stays as it is. Upstream's
/// do, too: `attemptToDeleteItem` (`garbagecollector.go`) for an owner of a kind that is not
/// served, or whose name cannot be asked for, `sync` (`certificates/certificate_controller.go`) for
/// a request that nobody may have or that cannot be read, `handleVolume` (`volume/ephemeral`) for a
/// pod that finds somebody else's claim, `syncPod` (`volume/selinuxwarning`) for a pod whose
/// containers mount a volume with several labels.
fn fails_for_ever(account: &str, error: &str) -> bool {
    match account {
        "generic-garbage-collector" => {
            error.contains("unable to get REST mapping") || error.contains("invalid resource name")
        }
        "certificate-controller" => {
            error.contains("unable to parse csr") || error.ends_with("review was not approved")
        }
        super::volumes::OF_PODS => error.contains("pod is not owner"),
        super::selinux::ACCOUNT => error.contains("multiple SELinux labels found"),
        _ => false,
    }
}

/// What follows a word in a line.
fn after<'a>(line: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let at = line.windows(word.len()).position(|it| it == word)?;
    Some(&line[at + word.len()..])
}

/// The number that bytes begin with.
fn digits(bytes: &[u8]) -> u64 {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0'))
}

// === impl Lived ===

impl Lived {
    /// The syncs that controllers of an account have in work.
    fn working(&self, account: &str) -> BTreeSet<(String, String, Time)> {
        let engines = self.engines.get(account).into_iter().flatten();
        let work = engines.flat_map(|engine| engine.in_work());
        work.map(|work| (account.to_owned(), work.key, work.since)).collect()
    }

    /// The caches of a resource: of those that hold a part only if there are no others, since what
    /// concerns none of their objects does not get them on.
    fn caches(&self, plural: &str) -> impl Iterator<Item = &Shown> {
        let streams = || self.shown.get(plural).into_iter().flatten();
        let is_whole = streams().any(|((is_part, _), _)| !is_part);
        streams().filter(move |((is_part, _), _)| !(is_whole && *is_part)).map(|(_, shown)| shown)
    }
}

// === impl Shown ===

impl Shown {
    fn until(&mut self, revision: u64, now: Duration) {
        match self.0.last_mut() {
            Some((then, last)) if *then == now => *last = revision,
            _ => self.0.push((now, revision)),
        }
    }

    fn last(&self) -> u64 {
        self.0.last().map_or(0, |(_, revision)| *revision)
    }

    fn most(&self) -> u64 {
        self.0.iter().map(|(_, revision)| *revision).max().unwrap_or(0)
    }

    fn before(&self, time: Duration) -> u64 {
        let known = self.0.partition_point(|(then, _)| *then < time);
        known.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}
