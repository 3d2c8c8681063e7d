//! The objects of one resource, as a client that lists and watches is shown them.

use crate::objects::{Objects, status_code};
use crate::wait::pass;
use anyhow::{Context, bail};
use futures::StreamExt;
use futures::stream::BoxStream;
use kube::api::WatchEvent;
use serde_json::Value;
use std::time::Duration;

/// Before a list or a watch that has failed is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// What a client that watches is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// All objects that there are, in place of all before.
    Listed(Vec<Value>),
    /// An object that was made or changed.
    Put(Value),
    /// An object that was deleted, as it was last.
    Deleted(Value),
}

/// A list and a watch of one resource.
pub struct Watched {
    objects: Objects,
    resource: String,
    /// Up to which version all was shown; empty: all is to be listed.
    version: String,
    watch: Option<BoxStream<'static, kube::Result<WatchEvent<Value>>>>,
}

// === impl Watched ===

impl Watched {
    /// Nothing is listed yet.
    pub fn of(objects: &Objects, resource: &str) -> Self {
        let (objects, resource) = (objects.clone(), resource.to_owned());
        Self { objects, resource, version: String::new(), watch: None }
    }

    /// Lists all objects, and opens the watch.
    pub async fn list(&mut self) -> anyhow::Result<Vec<Value>> {
        let (items, version) = self.objects.list_at(&self.resource).await?;
        self.watch = Some(self.objects.watch(&self.resource, &version).await?);
        self.version = version;
        Ok(items)
    }

    /// The next change, after all that fails has been tried again. Nothing is lost if it is
    /// dropped.
    pub async fn next(&mut self) -> Change {
        loop {
            match self.step().await {
                Ok(Some(change)) => return change,
                Ok(None) => {}
                Err(_) => pass(PAUSE).await,
            }
        }
    }

    /// Up to which version all was shown.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Takes in the next event, or opens the watch anew.
    async fn step(&mut self) -> anyhow::Result<Option<Change>> {
        let Some(watch) = &mut self.watch else { return self.reopen().await };
        match watch.next().await {
            Some(Ok(event)) => match shown(event) {
                Ok((change, version)) => {
                    self.version = version;
                    return Ok(change);
                }
                Err(_) => self.expire(),
            },
            Some(Err(_)) | None => self.watch = None,
        }
        Ok(None)
    }

    async fn reopen(&mut self) -> anyhow::Result<Option<Change>> {
        if self.version.is_empty() {
            return Ok(Some(Change::Listed(self.list().await?)));
        }
        match self.objects.watch(&self.resource, &self.version).await {
            Ok(watch) => self.watch = Some(watch),
            Err(error) => {
                if status_code(&error) == Some(410) {
                    self.expire();
                }
                return Err(error);
            }
        }
        Ok(None)
    }

    fn expire(&mut self) {
        self.watch = None;
        self.version.clear();
    }
}

/// What an event shows, if anything, and of which version it is. An error ends the watch, and what
/// came after the last version is unknown.
fn shown(event: WatchEvent<Value>) -> anyhow::Result<(Option<Change>, String)> {
    let version = |object: &Value| {
        let version = object["metadata"]["resourceVersion"].as_str();
        version.map(str::to_owned).context("an object has a version")
    };
    Ok(match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) => {
            let version = version(&object)?;
            (Some(Change::Put(object)), version)
        }
        WatchEvent::Deleted(object) => {
            let version = version(&object)?;
            (Some(Change::Deleted(object)), version)
        }
        WatchEvent::Bookmark(bookmark) => (None, bookmark.metadata.resource_version),
        WatchEvent::Error(status) => bail!("{}: {}", status.code, status.message),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_shows_its_object_and_its_version() {
        let object = json!({"metadata": {"resourceVersion": "7"}});
        let rows = [
            ("ADDED", Some(Change::Put(object.clone()))),
            ("MODIFIED", Some(Change::Put(object.clone()))),
            ("DELETED", Some(Change::Deleted(object.clone()))),
            ("BOOKMARK", None),
        ];
        for (kind, change) in rows {
            let mut event = json!({"type": kind, "object": object});
            event["object"]["kind"] = "Pod".into();
            event["object"]["apiVersion"] = "v1".into();
            let (mut found, version) = shown(serde_json::from_value(event).unwrap()).unwrap();
            if let Some(Change::Put(object) | Change::Deleted(object)) = &mut found {
                object.as_object_mut().unwrap().retain(|key, _| key == "metadata");
            }
            assert_eq!((found, version.as_str()), (change, "7"), "{kind}");
        }
    }

    #[test]
    fn an_expired_watch_is_an_error() {
        let event = json!({"type": "ERROR", "object": {"status": "Failure", "message": "too old",
            "reason": "Expired", "code": 410}});
        assert!(shown(serde_json::from_value(event).unwrap()).is_err());
    }
}
