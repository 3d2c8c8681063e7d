//! What the API server serves.
//!
//! [`Discovery::served`] asks as client-go does (discovery/discovery_client.go): for both documents
//! of aggregated discovery, and where a server has none, for each version of each group. Who asks
//! often costs little: a document that has not changed is not sent again.
//!
//! # Parts
//! - `document`: what the documents hold, and which version of a resource is the preferred one.

mod document;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use api::{Served, ServedKind};
use bytes::Bytes;
use client::{ApiError, Client, Document};
use futures::{StreamExt, stream};
use tokio::sync::Mutex;

use crate::document::{AGGREGATED, Form, Group, Page};

/// The forms of a document, best first, as client-go asks for them.
const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                      application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                      application/json";
/// Where the core group is described, and where all others are.
const CORE: &str = "/api";
const GROUPS: &str = "/apis";
/// How many group versions are asked for at once, where each has its own document.
const TOGETHER_MAX: usize = 16;

/// Asks the API server what it serves.
pub struct Discovery {
    client: Client,
    /// How many calls have begun.
    calls: AtomicU64,
    known: Mutex<Known>,
}

/// What was learnt last.
#[derive(Default)]
struct Known {
    /// The calls with a lower number had begun when `answer` was asked for.
    covers: u64,
    answer: Option<Result<Arc<Served>, ApiError>>,
    /// The last answer that was no error.
    served: Arc<Served>,
    /// What the documents were called that `served` was made of; none for what has no name.
    etags: Etags,
}

#[derive(Clone, Default)]
struct Etags {
    core: Option<String>,
    groups: Option<String>,
}

/// The kinds of a group version, or why they could not be had.
type Listed = Result<Vec<ServedKind>, String>;

// === impl Discovery ===

impl Discovery {
    /// Asks with this client, whose limits hold for each request.
    pub fn new(client: Client) -> Self {
        Self { client, calls: AtomicU64::default(), known: Mutex::default() }
    }

    /// What is served now: asked for after this call began, so two calls share one answer only if
    /// both wait for it. The same `Arc` as before if nothing has changed. An error if the list of
    /// groups cannot be had; a group version that cannot is in [`Served::failed`].
    pub async fn served(&self) -> Result<Arc<Served>, ApiError> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let mut known = self.known.lock().await;
        if let Some(answer) = known.answer.as_ref().filter(|_| call < known.covers) {
            return answer.clone();
        }
        let covers = self.calls.load(Ordering::SeqCst);
        let answer = self.ask(&mut known).await;
        known.covers = covers;
        known.answer = Some(answer.clone());
        answer
    }

    async fn ask(&self, known: &mut Known) -> Result<Arc<Served>, ApiError> {
        let Some((core, groups)) = self.changed(&known.etags).await? else {
            return Ok(Arc::clone(&known.served));
        };
        let pages = [Page::parse(CORE, &core)?, Page::parse(GROUPS, &groups)?];
        let (served, etags) = if pages.iter().all(|page| page.form == Form::Aggregated) {
            let etags = Etags { core: core.etag, groups: groups.etag };
            (document::aggregated(pages), etags)
        } else {
            (self.plain(pages).await?, Etags::default())
        };
        known.etags = etags;
        // Another API server may give the same state another name.
        if *known.served != served {
            known.served = Arc::new(served);
        }
        Ok(Arc::clone(&known.served))
    }

    /// Both documents; none if neither is other than what `etags` names. Where only one is, the
    /// other one is asked for again: it would cost more to keep what it says twice.
    async fn changed(&self, etags: &Etags) -> Result<Option<(Document, Document)>, ApiError> {
        let Some(groups) = self.groups(etags.groups.as_deref()).await? else {
            let Some(core) = self.core(etags.core.as_deref()).await? else {
                return Ok(None);
            };
            return Ok(self.groups(None).await?.map(|groups| (core, groups)));
        };
        Ok(self.core(None).await?.map(|core| (core, groups)))
    }

    async fn groups(&self, etag: Option<&str>) -> Result<Option<Document>, ApiError> {
        self.client.get_as(GROUPS, ACCEPT, etag).await
    }

    /// A server that has no core group, as aggregated ones may be, has an empty one.
    async fn core(&self, etag: Option<&str>) -> Result<Option<Document>, ApiError> {
        match self.client.get_as(CORE, ACCEPT, etag).await {
            Err(error) if error.is_not_found() => {
                let (content_type, body) = (AGGREGATED.to_owned(), Bytes::from_static(b"{}"));
                Ok(Some(Document { content_type, etag: None, body }))
            }
            answer => answer,
        }
    }

    /// What the groups of `pages` have in their versions. If one fails, all is asked for once more,
    /// as client-go does: its group may have gone after the list was made.
    async fn plain(&self, pages: [Page; 2]) -> Result<Served, ApiError> {
        let served = self.each_version(&pages).await;
        if served.failed.is_empty() {
            return Ok(served);
        }
        let Some((core, groups)) = self.changed(&Etags::default()).await? else {
            return Ok(served);
        };
        let pages = [Page::parse(CORE, &core)?, Page::parse(GROUPS, &groups)?];
        Ok(self.each_version(&pages).await)
    }

    async fn each_version(&self, pages: &[Page]) -> Served {
        let groups: Vec<&Group> = pages.iter().flat_map(|page| &page.groups).collect();
        let versions = groups.iter().flat_map(|group| {
            group.versions.iter().map(|version| (group.name.clone(), version.clone()))
        });
        let versions: Vec<(String, String)> = versions.collect();
        let listed = versions.into_iter().map(|(group, version)| async move {
            let group_version = document::group_version(&group, &version);
            let listed = self.listed(&group_version, &group, &version).await;
            (group_version, listed)
        });
        let listed: Vec<(String, Listed)> =
            stream::iter(listed).buffered(TOGETHER_MAX).collect().await;
        let (mut kinds, mut failed) = (Vec::new(), BTreeMap::new());
        for (group_version, listed) in listed {
            match listed {
                Ok(listed) => kinds.extend(listed),
                Err(error) => drop(failed.insert(group_version, error)),
            }
        }
        document::prefer(&mut kinds, groups);
        Served::new(kinds, failed)
    }

    async fn listed(&self, group_version: &str, group: &str, version: &str) -> Listed {
        if group_version.is_empty() {
            return Err("groupVersion shouldn't be empty".to_owned());
        }
        let root = if group_version == "v1" { CORE } else { GROUPS };
        let path = format!("{root}/{group_version}");
        let listed = match self.client.get(&path).await {
            Err(error) if group_version == "v1" && error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error),
            Ok(body) => document::resources(&path, group, version, &body),
        };
        listed.map_err(|error| error.to_string())
    }
}
