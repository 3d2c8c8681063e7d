//! Requests that fail, or whose response says that they did.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use super::fields::{controller, controlling, text};
use super::knowledge::Sync;
use super::{Check, Judged, Oracle, Target};

/// A write, and the response that the manager gets.
pub(crate) struct Tried<'a> {
    /// The sync that makes a pod by it.
    pub(crate) sync: Option<Sync>,
    pub(crate) account: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) body: &'a [u8],
    /// Whether the response says that it was done.
    pub(crate) is_told: bool,
    /// Whether the response asks to retry later, as the client then does.
    pub(crate) is_later: bool,
    /// Whether the response says that the object is not what was sent for.
    pub(crate) is_conflict: bool,
    pub(crate) at: Duration,
}

/// What was tried.
#[derive(Default)]
pub(super) struct Tries {
    /// By the uid of the owner: the creations of pods of the last sync that made any.
    creations: BTreeMap<String, Creations>,
    /// By path: when its deletion was last tried.
    deletions: BTreeMap<String, Duration>,
    /// Method and path of writes that did not come through when they were last tried.
    undone: BTreeSet<(String, String)>,
    /// Paths of all writes that ever did not come through, or of which the manager knows nothing:
    /// they may be done later than others.
    lost: BTreeSet<String>,
}

/// The pods that were made, and those that were not.
struct Creations {
    /// In which sync.
    sync: Sync,
    done: usize,
    failed: usize,
}

impl Tries {
    /// Whether all writes there came through.
    pub(super) fn none_was_lost(&self, path: &str) -> bool {
        !self.lost.contains(path)
    }

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
            self.tries.lost.insert(it.path.to_owned());
            self.tries.undone.insert(write);
        }
        self.learn_creation(it);
        self.learn_conflict(it);
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

    /// The sync of a life and an account that sends this, if it makes a pod by it.
    pub(crate) fn making(
        &self,
        (life, account): (&str, &str),
        (method, path): (&str, &str),
        body: &[u8],
    ) -> Option<Sync> {
        let namespace = Target::of(path).namespace;
        let pod = creation(method, path, body)?;
        let key = format!("{namespace}/{}", text(controlling(&pod)?, "/name"));
        self.knowledge.sync(life, account, &key)
    }

    /// A creation of a pod has come to its end.
    fn learn_creation(&mut self, it: &Tried<'_>) {
        let pod = creation(it.method, it.path, it.body).filter(|_| !it.is_later);
        let (Some(pod), Some(sync)) = (pod, &it.sync) else { return };
        let Some(owner) = controller(&pod) else { return };
        let none = || Creations { sync: sync.clone(), done: 0, failed: 0 };
        let creations = self.tries.creations.entry(owner.to_owned()).or_insert_with(none);
        if !creations.sync.is_same(sync) {
            *creations = none();
        }
        // All that fail of a sync are sent at once.
        if creations.sync != *sync {
            (creations.sync, creations.failed) = (sync.clone(), 0);
        }
        if it.is_told {
            creations.done += 1;
        } else {
            creations.failed += 1;
        }
    }

    /// A controller creates one pod, then two, then four, and stops when some of these fail. So in
    /// one sync one more may fail than have come through.
    pub(super) fn slow_start(&self, it: &Tried<'_>) -> Option<String> {
        let is_end = it.sync.is_some() && !it.is_told && !it.is_later;
        let pod = creation(it.method, it.path, it.body).filter(|_| is_end)?;
        let Creations { done, failed, .. } = self.tries.creations.get(controller(&pod)?)?;
        let name = text(&pod, "/metadata/generateName");
        (failed > &(done + 1)).then(|| {
            format!("{name}: {failed} creations failed in one sync, after {done} good ones")
        })
    }
}

/// The pod that is to be made, if one is.
fn creation(method: &str, path: &str, body: &[u8]) -> Option<Value> {
    let makes = method == "POST" && path.ends_with("/pods");
    makes.then(|| serde_json::from_slice(body).unwrap_or_default())
}
