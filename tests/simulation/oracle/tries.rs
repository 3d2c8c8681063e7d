//! Requests that do not come through, or of which the manager is told that they did not.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::Oracle;
use super::fields::{controlling, text};

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

/// How many syncs of a key there may be at one moment that no write has woken.
const SYNCS: usize = 2;

/// What was tried.
#[derive(Default)]
pub(super) struct Tries {
    /// By the path of the owner: creations of pods.
    creations: BTreeMap<String, Creations>,
    /// By path: when its deletion was last tried.
    deletions: BTreeMap<String, Duration>,
}

#[derive(Default)]
struct Creations {
    /// When those came through that came through lately.
    done: Vec<Duration>,
    /// The last moment at which there was something.
    at: Duration,
    /// How many failed then.
    failed: usize,
    /// How many writes came through then that wake the owner's key.
    woken: usize,
}

impl Creations {
    /// At another moment counting begins anew.
    fn now(&mut self, at: Duration) -> &mut Self {
        if self.at != at {
            *self = Self { at, done: std::mem::take(&mut self.done), ..Self::default() };
        }
        self
    }
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
        let of = it.path.strip_suffix("/status").filter(|_| it.is_told);
        if let Some(creations) = of.and_then(|of| self.tries.creations.get_mut(of)) {
            creations.now(it.at).woken += 1;
        }
    }

    /// Who makes pods makes one, then two, then four, and stops when some of these fail. So in one
    /// sync one more may fail than have come through; and there may be several syncs at one moment,
    /// since a pod or a status that was written wakes the key.
    fn judge_slow_start(&mut self, it: &Tried<'_>) {
        let pod: Value = serde_json::from_slice(it.body).unwrap_or_default();
        let Some(owner) = controlling(&pod) else { return };
        let plural = if text(owner, "/kind") == "DaemonSet" { "daemonsets" } else { "replicasets" };
        let namespace = it.path.strip_prefix("/api/v1").and_then(|it| it.strip_suffix("/pods"));
        let (namespace, name) = (namespace.unwrap_or_default(), text(owner, "/name"));
        let path = format!("/apis/apps/v1{namespace}/{plural}/{name}");
        let creations = self.tries.creations.entry(path).or_default().now(it.at);
        creations.done.retain(|done| *done + SYNC >= it.at);
        if it.is_told {
            creations.done.push(it.at);
            creations.woken += 1;
            return;
        }
        creations.failed += 1;
        let (failed, done) = (creations.failed, creations.done.len());
        if failed > (SYNCS + creations.woken) * (done + 1) {
            let name = text(&pod, "/metadata/generateName");
            let text = format!("{name}: {failed} creations failed at once, after {done} good ones");
            self.blame("slow-start", text);
        }
    }
}
