//! Requests that do not come through, or of which the manager is told that they did not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::fields::{controller, text};
use super::{Oracle, Written};

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
        if it.method == "POST" && it.path.ends_with("/pods") {
            self.judge_slow_start(it);
        }
    }

    /// A status that is what it was is not written: not even by a key that is enqueued for nothing.
    /// A manager that did not learn what came of its last try may find that it was done.
    pub(super) fn judge_news(&mut self, it: &Written<'_>, before: &Value) {
        let Written { account, method, path, got, .. } = it;
        let version = |of: &Value| text(of, "/metadata/resourceVersion").to_owned();
        let is_status = *method == "PUT" && path.ends_with("/status");
        let last = ((*method).to_owned(), (*path).to_owned());
        if is_status && version(before) == version(got) && !self.tries.undone.contains(&last) {
            self.blame("status-has-news", format!("{account} {method} {path} changes nothing"));
        }
    }

    /// Who makes pods makes one, then two, then four, and stops when some of these fail. So in one
    /// sync one more may fail than have come through; and there may be several syncs at one moment,
    /// since what was written may wake the key.
    fn judge_slow_start(&mut self, it: &Tried<'_>) {
        let pod: Value = serde_json::from_slice(it.body).unwrap_or_default();
        let Some(owner) = controller(&pod) else { return };
        let creations = self.tries.creations.entry(owner.to_owned()).or_default();
        creations.done.retain(|done| *done + SYNC >= it.at);
        if it.is_told {
            creations.done.push(it.at);
            return;
        }
        creations.failed = (it.at, one_more(creations.failed, it.at));
        let (failed, done) = (creations.failed.1, creations.done.len());
        let woken = one_more(self.tries.written, it.at) - 1;
        if failed > (SYNCS + woken) * (done + 1) {
            let name = text(&pod, "/metadata/generateName");
            let text = format!("{name}: {failed} creations failed at once, after {done} good ones");
            self.blame("slow-start", text);
        }
    }
}

/// One more than there were at this moment.
fn one_more((then, count): (Duration, usize), now: Duration) -> usize {
    if then == now { count + 1 } else { 1 }
}
