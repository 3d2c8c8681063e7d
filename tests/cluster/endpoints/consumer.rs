//! A consumer of slices: like kube-proxy's `endpointslicecache.go` it watches them, and for each
//! Service it has the union of what its slices list, by their names. It watches the pods, too, and
//! judges in the end what it was shown, in the order in which it came about: all resources share
//! their versions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{Change, Objects, Watched, now};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{LIMIT, SLICES, that_are};

/// Addresses by Service.
pub(super) type Told = BTreeMap<String, BTreeSet<String>>;

pub(super) struct Consumer {
    slices: Watched,
    pods: Watched,
    /// The label that a Service selects, and its value, by the Service.
    selectors: BTreeMap<String, (String, String)>,
    /// What slices list now, by Service and their names.
    listed: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// The addresses of pods that are ready now, the same way.
    ready: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    log: Vec<Entry>,
}

/// What the consumer was shown.
#[derive(Clone, Debug)]
struct Entry {
    /// When it came about, as the API server counts.
    revision: u64,
    /// When it was shown.
    at: Instant,
    service: String,
    /// Of the slice, or of the pod.
    name: String,
    fact: Fact,
}

#[derive(Clone, Debug)]
enum Fact {
    /// A slice lists these addresses as ready. One that was deleted lists none.
    Lists(BTreeSet<String>),
    /// A pod is ready and not terminating, and has these addresses; or none.
    Ready(BTreeSet<String>),
}

/// The Services, as the entries come.
struct Judge {
    /// How long a pod may be ready and not be listed.
    unlisted_max: Duration,
    services: BTreeMap<String, Backends>,
    longest: Duration,
}

#[derive(Default)]
struct Backends {
    slices: BTreeMap<String, BTreeSet<String>>,
    /// Those that are ready.
    pods: BTreeMap<String, Backend>,
    /// Whether any pod was listed, and since then there has always been one that was ready.
    has_served: bool,
}

struct Backend {
    ips: BTreeSet<String>,
    since: Instant,
    /// Whether it has been listed since it is ready. No pod here is ready twice, so that no slice
    /// can list it for its past.
    is_listed: bool,
}

// === impl Consumer ===

impl Consumer {
    /// Lists what there is, and begins to watch it.
    pub(super) async fn start(objects: &Objects) -> anyhow::Result<Self> {
        let services = objects.list("services").await?;
        let selectors = services.iter().filter_map(|it| {
            let (label, value) = it["spec"]["selector"].as_object()?.iter().next()?;
            Some((text(&it["metadata"]["name"]), (label.clone(), text(value))))
        });
        let mut consumer = Self {
            slices: Watched::of(objects, SLICES),
            pods: Watched::of(objects, "pods"),
            selectors: selectors.collect(),
            listed: BTreeMap::new(),
            ready: BTreeMap::new(),
            log: Vec::new(),
        };
        let pods = consumer.pods.list().await?;
        consumer.take_pods(Change::Listed(pods), 0);
        let slices = consumer.slices.list().await?;
        consumer.take_slices(Change::Listed(slices));
        Ok(consumer)
    }

    /// Takes in the next change.
    pub(super) async fn step(&mut self) {
        let before = revision(&self.pods);
        tokio::select! {
            biased;
            change = self.pods.next() => self.take_pods(change, before),
            change = self.slices.next() => self.take_slices(change),
        }
    }

    /// Follows until what the slices list is as wanted, and the same pods are ready.
    pub(super) async fn until(
        &mut self,
        what: &str,
        wanted: impl Fn(&Told) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let deadline = now() + LIMIT;
        let is_so = |it: &Self| wanted(&union(&it.listed)).and(wanted(&union(&it.ready)));
        while let Err(error) = is_so(self) {
            let step = timeout_at(deadline, self.step()).await;
            step.ok().with_context(|| format!("waited {LIMIT:?} for {what}: {error:#}"))?;
        }
        Ok(())
    }

    /// Whether each pod was listed soon after it was ready, and for as long as it was, in all of
    /// its Services; and how long the slowest one took.
    pub(super) fn judge(&self, unlisted_max: Duration) -> anyhow::Result<Duration> {
        let mut log: Vec<_> = self.log.iter().collect();
        log.sort_by_key(|entry| entry.revision);
        let mut judge = Judge::new(unlisted_max);
        log.into_iter().try_for_each(|entry| judge.take(entry))?;
        Ok(judge.longest)
    }

    /// What a list of pods says instead of changes was so since the last change before it: nobody
    /// is blamed for what the consumer was not shown.
    fn take_pods(&mut self, change: Change, before: u64) {
        let selectors = &self.selectors;
        let facts = |pod: &Value| -> Vec<(String, BTreeSet<String>)> {
            let is_of = |(_, (label, value)): &(&String, &(String, String))| {
                pod["metadata"]["labels"][label.as_str()] == value.as_str()
            };
            let services = selectors.iter().filter(is_of);
            services.map(|(name, _)| (name.clone(), ready_ips(pod))).collect()
        };
        let is_list = matches!(change, Change::Listed(_));
        let revision = if is_list { before } else { revision(&self.pods) };
        self.log.extend(take(&mut self.ready, change, facts, |service, name, ips| Entry {
            revision,
            at: now(),
            service,
            name,
            fact: Fact::Ready(ips),
        }));
    }

    fn take_slices(&mut self, change: Change) {
        let facts = |slice: &Value| {
            let service = text(&slice["metadata"]["labels"]["kubernetes.io/service-name"]);
            vec![(service, that_are(std::slice::from_ref(slice), "ready"))]
        };
        let revision = revision(&self.slices);
        self.log.extend(take(&mut self.listed, change, facts, |service, name, ips| Entry {
            revision,
            at: now(),
            service,
            name,
            fact: Fact::Lists(ips),
        }));
    }
}

/// Takes a change into what is known, and says what it is for each Service.
fn take(
    known: &mut BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    change: Change,
    facts: impl Fn(&Value) -> Vec<(String, BTreeSet<String>)>,
    entry: impl Fn(String, String, BTreeSet<String>) -> Entry,
) -> Vec<Entry> {
    let mut found = Vec::new();
    let of = |object: &Value| {
        let name = text(&object["metadata"]["name"]);
        let facts = facts(object).into_iter();
        facts.map(move |(service, ips)| (service, name.clone(), ips)).collect::<Vec<_>>()
    };
    match change {
        Change::Listed(items) => {
            for (service, names) in &*known {
                let none = names.keys().map(|it| (service.clone(), it.clone(), BTreeSet::new()));
                found.extend(none);
            }
            let items: Vec<_> = items.iter().flat_map(of).collect();
            let is_there = |it: &(String, String, _)| {
                items.iter().any(|(service, name, _)| *service == it.0 && *name == it.1)
            };
            found.retain(|it| !is_there(it));
            found.extend(items);
        }
        Change::Put(object) => found = of(&object),
        Change::Deleted(object) => {
            found = of(&object);
            for (.., ips) in &mut found {
                ips.clear();
            }
        }
    }
    for (service, name, ips) in &found {
        known.entry(service.clone()).or_default().insert(name.clone(), ips.clone());
    }
    found.into_iter().map(|(service, name, ips)| entry(service, name, ips)).collect()
}

fn union(known: &BTreeMap<String, BTreeMap<String, BTreeSet<String>>>) -> Told {
    let all = |names: &BTreeMap<_, BTreeSet<String>>| names.values().flatten().cloned().collect();
    known.iter().map(|(service, names)| (service.clone(), all(names))).collect()
}

/// The addresses of a pod that is ready and not terminating.
fn ready_ips(pod: &Value) -> BTreeSet<String> {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let is_ready = conditions.into_iter().any(|it| it["type"] == "Ready" && it["status"] == "True");
    if !is_ready || pod["metadata"]["deletionTimestamp"].is_string() {
        return BTreeSet::new();
    }
    let ips = pod["status"]["podIPs"].as_array().into_iter().flatten();
    ips.map(|it| text(&it["ip"])).collect()
}

fn revision(watched: &Watched) -> u64 {
    watched.version().parse().unwrap_or(0)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

// === impl Judge ===

impl Judge {
    fn new(unlisted_max: Duration) -> Self {
        Self { unlisted_max, services: BTreeMap::new(), longest: Duration::ZERO }
    }

    fn take(&mut self, entry: &Entry) -> anyhow::Result<()> {
        let Entry { at, service, name, fact, .. } = entry;
        let (max, longest) = (self.unlisted_max, &mut self.longest);
        let backends = self.services.entry(service.clone()).or_default();
        let mut waited = |pod: &str, backend: &Backend| {
            let waited = at.saturating_duration_since(backend.since);
            *longest = (*longest).max(waited);
            ensure!(waited <= max, "{service} lacks {pod}, which is ready, for {waited:?}");
            Ok(())
        };
        match fact {
            Fact::Ready(ips) => {
                if backends.pods.get(name).map_or(ips.is_empty(), |it| it.ips == *ips) {
                    return Ok(());
                }
                let before = backends.pods.remove(name);
                if let Some(before) = before.filter(|it| !it.is_listed) {
                    waited(name, &before)?;
                }
                if !ips.is_empty() {
                    let backend = Backend { ips: ips.clone(), since: *at, is_listed: false };
                    backends.pods.insert(name.clone(), backend);
                }
                backends.has_served &= !backends.pods.is_empty();
            }
            Fact::Lists(ips) => {
                backends.slices.insert(name.clone(), ips.clone());
                let union: BTreeSet<_> = backends.slices.values().flatten().collect();
                for (pod, backend) in &mut backends.pods {
                    let is_listed = backend.ips.iter().all(|ip| union.contains(ip));
                    ensure!(is_listed || !backend.is_listed, "{service} has lost {pod}: {entry:?}");
                    if is_listed && !backend.is_listed {
                        waited(pod, backend)?;
                        (backend.is_listed, backends.has_served) = (true, true);
                    }
                }
                let is_empty = backends.has_served && union.is_empty();
                ensure!(!is_empty, "{service} has no backend: {entry:?}");
            }
        }
        Ok(())
    }
}

/// A name, of a pod or a slice, and addresses.
type Said = (&'static str, &'static [&'static str]);

/// Each line is a second: a pod `p` or `q` is ready with the address of its name or is not any
/// more, or a slice `a` or `b` lists addresses.
#[test]
fn a_consumer_sees_what_is_lost() {
    const P: Said = ("p", &["p"]);
    const Q: Said = ("q", &["q"]);
    const A: Said = ("a", &["p"]);
    const B: Said = ("b", &["p"]);
    const EMPTY: Said = ("a", &[]);
    const UNREADY: Said = ("p", &[]);
    let rows: [(&str, &[Said], &str); 8] = [
        ("listed", &[P, Q, A, ("a", &["p", "q"])], ""),
        ("late", &[P, EMPTY, EMPTY, EMPTY, A], "s lacks p, which is ready, for 4s"),
        ("of two one is late", &[P, Q, A, A, A, ("a", &["p", "q"])], "s lacks q"),
        ("lost", &[P, A, ("a", &["q"])], "s has lost p"),
        ("moved", &[P, A, B, EMPTY], ""),
        ("moved the other way round", &[P, A, EMPTY, B], "s has lost p"),
        ("removed once it is unready", &[P, A, UNREADY, EMPTY], ""),
        ("removed before another one is there", &[P, A, Q, UNREADY, EMPTY], "s has no backend"),
    ];
    for (what, entries, wrong) in rows {
        let (mut judge, mut at) = (Judge::new(Duration::from_secs(3)), now());
        let result = entries.iter().try_for_each(|(name, ips)| {
            at += Duration::from_secs(1);
            let ips = ips.iter().map(|ip| (*ip).to_owned()).collect();
            let is_pod = ["p", "q"].contains(name);
            let fact = if is_pod { Fact::Ready(ips) } else { Fact::Lists(ips) };
            let (service, name) = ("s".to_owned(), (*name).to_owned());
            judge.take(&Entry { revision: 0, at, service, name, fact })
        });
        let error = result.err().map(|it| it.to_string()).unwrap_or_default();
        assert!(
            error.starts_with(wrong) && error.is_empty() == wrong.is_empty(),
            "{what}: {error}"
        );
    }
}
