//! Requests that do not come through, or of which the manager is told that they did not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::fields::{controller, text};
use super::{Check, Judged, Oracle};

/// For how long creations that came through count as of the same sync.
const SYNC: Duration = Duration::from_mins(1);

/// A write, and what the manager is told of it.
pub(crate) struct Tried<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) body: &'a [u8],
    /// Whether the manager is told that it was done.
    pub(crate) is_told: bool,
    /// Whether it was done, whatever the manager is told: what it changed may wake a key.
    pub(crate) is_done: bool,
    pub(crate) at: Duration,
}

/// How many syncs of a key there may be at one moment that no write has woken.
const SYNCS: usize = 2;

/// What was tried.
#[derive(Default)]
pub(super) struct Tries {
    /// By the uid of the owner: creations of pods.
    creations: BTreeMap<String, Creations>,
    /// How many writes were done at one moment, and when.
    written: (Duration, usize),
    /// By path: when its deletion was last tried.
    deletions: BTreeMap<String, Duration>,
    /// Method and path of writes that did not come through when they were last tried.
    undone: BTreeSet<(String, String)>,
}

#[derive(Default)]
struct Creations {
    /// When those came through that came through lately.
    done: Vec<Duration>,
    /// How many failed at one moment, and when.
    failed: (Duration, usize),
}

impl Tries {
    /// Whether a deletion was tried since then.
    pub(super) fn has_deleted(&self, path: &str, since: Duration) -> bool {
        self.deletions.get(path).is_some_and(|last| *last >= since)
    }
}

impl Oracle {
    /// A write has come to its end.
    pub(crate) fn tried(&mut self, it: &Tried<'_>) {
        if it.method == "DELETE" {
            self.tries.deletions.insert(it.path.to_owned(), it.at);
        }
        let write = (it.method.to_owned(), it.path.to_owned());
        if it.is_told {
            self.tries.undone.remove(&write);
        } else {
            self.tries.undone.insert(write);
        }
        if it.is_done {
            self.tries.written = (it.at, one_more(self.tries.written, it.at));
        }
        self.learn_creation(it);
        self.ask(|oracle, check| match check {
            Check::Tried(check) => check(oracle, it),
            _ => None,
        });
    }

    /// A status that is what it was is not written: not even by a key that is enqueued for nothing.
    /// A manager that did not learn what came of its last try may find that it was done.
    pub(super) fn status_has_news(&self, it: &Judged<'_>) -> Option<String> {
        let before = it.changed().filter(|_| it.method == "PUT" && it.path.ends_with("/status"))?;
        let [was, is] = [before, it.got].map(|of| text(of, "/metadata/resourceVersion"));
        let last = (it.method.to_owned(), it.path.to_owned());
        let is_equal = was == is && !self.tries.undone.contains(&last);
        is_equal.then(|| format!("{it} changes nothing"))
    }

    /// A creation of a pod has come to its end.
    fn learn_creation(&mut self, it: &Tried<'_>) {
        let Some((owner, _)) = creation(it) else { return };
        let creations = self.tries.creations.entry(owner).or_default();
        creations.done.retain(|done| *done + SYNC >= it.at);
        if it.is_told {
            creations.done.push(it.at);
        } else {
            creations.failed = (it.at, one_more(creations.failed, it.at));
        }
    }

    /// Who makes pods makes one, then two, then four, and stops when some of these fail. So in one
    /// sync one more may fail than have come through; and there may be several syncs at one moment,
    /// since what was written may wake the key.
    pub(super) fn slow_start(&self, it: &Tried<'_>) -> Option<String> {
        let (owner, name) = creation(it).filter(|_| !it.is_told)?;
        let creations = self.tries.creations.get(&owner)?;
        let (failed, done) = (creations.failed.1, creations.done.len());
        let woken = one_more(self.tries.written, it.at) - 1;
        (failed > (SYNCS + woken) * (done + 1))
            .then(|| format!("{name}: {failed} creations failed at once, after {done} good ones"))
    }
}

/// The owner of the pod that is to be made, and what the pod is to be called, if one is.
fn creation(it: &Tried<'_>) -> Option<(String, String)> {
    if it.method != "POST" || !it.path.ends_with("/pods") {
        return None;
    }
    let pod: Value = serde_json::from_slice(it.body).unwrap_or_default();
    let owner = controller(&pod)?.to_owned();
    Some((owner, text(&pod, "/metadata/generateName").to_owned()))
}

/// One more than there were at this moment.
fn one_more((then, count): (Duration, usize), now: Duration) -> usize {
    if then == now { count + 1 } else { 1 }
}
