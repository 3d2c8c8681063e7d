//! Waiting for many objects by one watch: what a measurement waits by, since lists would load the
//! API server that is being measured with.

use crate::objects::{Objects, status_code};
use crate::wait::{now, pass};
use anyhow::{Context, bail, ensure};
use futures::StreamExt;
use futures::stream::BoxStream;
use kube::api::WatchEvent;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::timeout_at;

/// Before a watch that could not be opened is tried again.
const PAUSE: Duration = Duration::from_millis(50);

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
    objects: Objects,
    resource: String,
    weigh: F,
    seen: Seen,
    watch: Option<BoxStream<'static, kube::Result<WatchEvent<Value>>>>,
}

/// The weights of the objects there are, and their sum.
#[derive(Debug, Default)]
struct Seen {
    by_object: BTreeMap<String, Weight>,
    sum: Weight,
    version: String,
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
        let (objects, resource) = (objects.clone(), resource.to_owned());
        let seen = Seen::default();
        let mut follow = Self { objects, resource, weigh, seen, watch: None };
        follow.list().await?;
        Ok(follow)
    }

    /// Waits until the sum of all weights is `good` and nothing bad is left. The error says what
    /// the sum is.
    pub async fn until(&mut self, what: &str, limit: Duration, good: u64) -> anyhow::Result<()> {
        let (wanted, deadline) = (Weight { good, bad: 0 }, now() + limit);
        while self.seen.sum != wanted {
            if timeout_at(deadline, self.step()).await.is_err() {
                let Weight { good: have, bad } = self.seen.sum;
                bail!("waited {limit:?} for {what}: {have} of {good} are, {bad} must not be");
            }
        }
        Ok(())
    }

    /// As [`Follow::until`], for what is not so yet when the watch begins.
    pub async fn becomes(&mut self, what: &str, limit: Duration, good: u64) -> anyhow::Result<()> {
        let wanted = Weight { good, bad: 0 };
        ensure!(self.seen.sum != wanted, "nothing is to be waited for: {what}");
        self.until(what, limit, good).await
    }

    /// Takes in the next event, or opens the watch anew.
    async fn step(&mut self) {
        let Some(watch) = &mut self.watch else {
            if self.reopen().await.is_err() {
                pass(PAUSE).await;
            }
            return;
        };
        match watch.next().await {
            Some(Ok(event)) => {
                if self.seen.take(event, &self.weigh).is_err() {
                    self.expire();
                }
            }
            Some(Err(_)) | None => self.watch = None,
        }
    }

    async fn reopen(&mut self) -> anyhow::Result<()> {
        if self.seen.version.is_empty() {
            return self.list().await;
        }
        match self.objects.watch(&self.resource, &self.seen.version).await {
            Ok(watch) => self.watch = Some(watch),
            Err(error) => {
                if status_code(&error) == Some(410) {
                    self.expire();
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn expire(&mut self) {
        self.watch = None;
        self.seen.version.clear();
    }

    async fn list(&mut self) -> anyhow::Result<()> {
        let (items, version) = self.objects.list_at(&self.resource).await?;
        self.seen = Seen { version, ..Seen::default() };
        for item in &items {
            self.seen.put(item, (self.weigh)(item));
        }
        let watch = self.objects.watch(&self.resource, &self.seen.version).await?;
        self.watch = Some(watch);
        Ok(())
    }
}

// === impl Seen ===

impl Seen {
    fn take(
        &mut self,
        event: WatchEvent<Value>,
        weigh: impl Fn(&Value) -> Weight,
    ) -> anyhow::Result<()> {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                self.put(&object, weigh(&object));
                self.version = version(&object)?;
            }
            WatchEvent::Deleted(object) => {
                self.remove(&uid(&object));
                self.version = version(&object)?;
            }
            WatchEvent::Bookmark(bookmark) => self.version = bookmark.metadata.resource_version,
            WatchEvent::Error(status) => bail!("{}: {}", status.code, status.message),
        }
        Ok(())
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

fn version(object: &Value) -> anyhow::Result<String> {
    let version = object["metadata"]["resourceVersion"].as_str();
    Ok(version.context("an object has a version")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(uid: &str, ready: bool, version: &str) -> Value {
        json!({"metadata": {"uid": uid, "resourceVersion": version}, "ready": ready})
    }

    fn weigh(object: &Value) -> Weight {
        Weight::one(object["ready"] == true)
    }

    #[test]
    fn the_sum_is_of_the_last_state_of_each_object() {
        let mut seen = Seen::default();
        let events = [
            WatchEvent::Added(object("a", false, "1")),
            WatchEvent::Added(object("b", true, "2")),
            WatchEvent::Modified(object("a", true, "3")),
            WatchEvent::Deleted(object("b", true, "4")),
            WatchEvent::Deleted(object("never seen", true, "5")),
        ];
        let sums = [(0, 1), (1, 1), (2, 0), (1, 0), (1, 0)];
        for (event, (good, bad)) in events.into_iter().zip(sums) {
            seen.take(event, weigh).unwrap();
            assert_eq!(seen.sum, Weight { good, bad });
        }
        assert_eq!(seen.version, "5");
    }

    #[test]
    fn an_expired_watch_is_an_error() {
        let mut seen = Seen::default();
        let event = json!({"type": "ERROR", "object": {"status": "Failure", "message": "too old",
            "reason": "Expired", "code": 410}});
        let event = serde_json::from_value(event).unwrap();
        assert!(seen.take(event, weigh).is_err());
    }
}
