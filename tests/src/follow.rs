//! Waiting for many objects by one watch: what a measurement waits by, since lists would load the
//! API server that is being measured with.

use crate::objects::Objects;
use crate::wait::now;
use crate::watched::{Change, Watched};
use anyhow::{bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::timeout_at;

/// What one object counts for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight {
    /// How much of what is waited for it has.
    pub good: u64,
    /// How much of it must not be there at the end.
    pub bad: u64,
}

/// Objects of one resource, followed by a watch and weighed one by one.
pub struct Follow<F> {
    watched: Watched,
    weigh: F,
    seen: Seen,
}

/// The weights of the objects there are, and their sum.
#[derive(Debug, Default)]
struct Seen {
    by_object: BTreeMap<String, Weight>,
    sum: Weight,
}

// === impl Weight ===

impl Weight {
    /// One of those that are waited for if `is_good`, otherwise one that is not yet.
    pub fn one(is_good: bool) -> Self {
        Self { good: u64::from(is_good), bad: u64::from(!is_good) }
    }
}

// === impl Follow ===

impl<F: Fn(&Value) -> Weight> Follow<F> {
    /// Weighs what is there, and opens the watch.
    pub async fn start(objects: &Objects, resource: &str, weigh: F) -> anyhow::Result<Self> {
        let mut watched = Watched::of(objects, resource);
        let mut seen = Seen::default();
        seen.take(Change::Listed(watched.list().await?), &weigh);
        Ok(Self { watched, weigh, seen })
    }

    /// Waits until the sum of all weights is `good` and nothing bad is left. The error says what
    /// the sum is.
    pub async fn until(&mut self, what: &str, limit: Duration, good: u64) -> anyhow::Result<()> {
        let (wanted, deadline) = (Weight { good, bad: 0 }, now() + limit);
        while self.seen.sum != wanted {
            let Ok(change) = timeout_at(deadline, self.watched.next()).await else {
                let Weight { good: have, bad } = self.seen.sum;
                bail!("waited {limit:?} for {what}: {have} of {good} are, {bad} must not be");
            };
            self.seen.take(change, &self.weigh);
        }
        Ok(())
    }

    /// As [`Follow::until`], for what is not so yet when the watch begins.
    pub async fn becomes(&mut self, what: &str, limit: Duration, good: u64) -> anyhow::Result<()> {
        let wanted = Weight { good, bad: 0 };
        ensure!(self.seen.sum != wanted, "nothing is to be waited for: {what}");
        self.until(what, limit, good).await
    }
}

// === impl Seen ===

impl Seen {
    fn take(&mut self, change: Change, weigh: impl Fn(&Value) -> Weight) {
        match change {
            Change::Listed(items) => {
                *self = Self::default();
                for item in &items {
                    self.put(item, weigh(item));
                }
            }
            Change::Put(object) => self.put(&object, weigh(&object)),
            Change::Deleted(object) => self.remove(&uid(&object)),
        }
    }

    fn put(&mut self, object: &Value, weight: Weight) {
        let uid = uid(object);
        self.remove(&uid);
        self.sum.good += weight.good;
        self.sum.bad += weight.bad;
        self.by_object.insert(uid, weight);
    }

    fn remove(&mut self, uid: &str) {
        if let Some(before) = self.by_object.remove(uid) {
            self.sum.good -= before.good;
            self.sum.bad -= before.bad;
        }
    }
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(uid: &str, ready: bool) -> Value {
        json!({"metadata": {"uid": uid}, "ready": ready})
    }

    #[test]
    fn the_sum_is_of_the_last_state_of_each_object() {
        let mut seen = Seen::default();
        let rows = [
            (Change::Put(object("a", false)), (0, 1)),
            (Change::Put(object("b", true)), (1, 1)),
            (Change::Put(object("a", true)), (2, 0)),
            (Change::Deleted(object("b", true)), (1, 0)),
            (Change::Deleted(object("never seen", true)), (1, 0)),
            (Change::Listed(vec![object("c", false)]), (0, 1)),
        ];
        for (change, (good, bad)) in rows {
            seen.take(change, |object| Weight::one(object["ready"] == true));
            assert_eq!(seen.sum, Weight { good, bad });
        }
    }
}
