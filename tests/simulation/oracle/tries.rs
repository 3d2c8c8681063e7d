//! Requests that do not come through, or of which the manager is told that they did not.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::Oracle;
use super::fields::{controller, text};

/// For how long creations that came through count as of the same sync.
const SYNC: Duration = Duration::from_mins(1);

/// A request, and what the manager is told of it.
pub(crate) struct Tried<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) body: &'a [u8],
    /// Whether the manager is told that it was done.
    pub(crate) is_told: bool,
    pub(crate) at: Duration,
}

/// How many syncs of a key there may be at one moment.
const SYNCS: usize = 2;

/// What was tried.
#[derive(Default)]
pub(super) struct Tries {
    /// By the uid of the owner: creations of pods.
    creations: BTreeMap<String, Creations>,
    /// By path: when its deletion was last tried.
    deletions: BTreeMap<String, Duration>,
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
    /// A request has come to its end.
    pub(crate) fn tried(&mut self, it: &Tried<'_>) {
        if it.method == "DELETE" {
            self.tries.deletions.insert(it.path.to_owned(), it.at);
        }
        if it.method == "POST" && it.path.ends_with("/pods") {
            self.judge_slow_start(it);
        }
    }

    /// Who makes pods makes one, then two, then four, and stops when some of these fail. So in one
    /// sync one more may fail than have come through; and there may be two syncs at one moment,
    /// since the status that the first one has written wakes its key.
    fn judge_slow_start(&mut self, it: &Tried<'_>) {
        let pod: Value = serde_json::from_slice(it.body).unwrap_or_default();
        let Some(owner) = controller(&pod) else { return };
        let creations = self.tries.creations.entry(owner.to_owned()).or_default();
        creations.done.retain(|done| *done + SYNC >= it.at);
        if it.is_told {
            creations.done.push(it.at);
            return;
        }
        let (at, failed) = creations.failed;
        creations.failed = (it.at, if at == it.at { failed + 1 } else { 1 });
        let (failed, done) = (creations.failed.1, creations.done.len());
        if failed > SYNCS * (done + 1) {
            let name = text(&pod, "/metadata/generateName");
            let text = format!("{name}: {failed} creations failed at once, after {done} good ones");
            self.blame("slow-start", text);
        }
    }
}
