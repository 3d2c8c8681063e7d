//! Discovery: which kinds the API server serves.
//!
//! [`Discovery::served`] works as client-go (discovery/discovery_client.go): it requests both
//! documents of aggregated discovery or, if a server does not have them, each version of each
//! group. Repeated calls are cheap: an unchanged document is not sent again.
//!
//! # Parts
//! - `document`: the content of the documents, and the preferred version of a resource.

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
/// The document of the core group, and that of all others.
const CORE: &str = "/api";
const GROUPS: &str = "/apis";
/// How many group versions are requested at once, if each has its own document.
const TOGETHER_MAX: usize = 16;

/// Finds out what the API server serves.
pub struct Discovery {
    client: Client,
    /// The number of calls that have begun.
    calls: AtomicU64,
    known: Mutex<Known>,
}

/// The last result.
#[derive(Default)]
struct Known {
    /// Calls with a lower number had begun when this result was requested.
    covers: u64,
    answer: Option<Result<Arc<Served>, ApiError>>,
    /// The last successful result.
    served: Arc<Served>,
    /// The etags of the documents that `served` was made from; none for a document without one.
    etags: Etags,
}

#[derive(Clone, Default)]
struct Etags {
    core: Option<String>,
    groups: Option<String>,
}

/// The kinds of a group version, or the error.
type Listed = Result<Vec<ServedKind>, String>;

// === impl Discovery ===

impl Discovery {
    /// Sends requests with this client, whose limits hold for each request.
    pub fn new(client: Client) -> Self {
        Self { client, calls: AtomicU64::default(), known: Mutex::default() }
    }

    /// What is served now. It is requested after this call began, so two calls share a result only
    /// if both wait for it. Returns the same `Arc` as before if nothing has changed. An error if
    /// the list of groups cannot be read; a group version that cannot be read is in
    /// [`Served::failed`].
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
        // Another API server may have another etag for the same state.
        if *known.served != served {
            known.served = Arc::new(served);
        }
        Ok(Arc::clone(&known.served))
    }

    /// Both documents; none if neither has changed since `etags`. If only one has changed, the
    /// other one is requested again: keeping a copy would cost more.
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

    /// A server without a core group, such as an aggregated one, has an empty one.
    async fn core(&self, etag: Option<&str>) -> Result<Option<Document>, ApiError> {
        match self.client.get_as(CORE, ACCEPT, etag).await {
            Err(error) if error.is_not_found() => {
                let (content_type, body) = (AGGREGATED.to_owned(), Bytes::from_static(b"{}"));
                Ok(Some(Document { content_type, etag: None, body }))
            }
            answer => answer,
        }
    }

    /// The kinds in the versions of the groups of `pages`. If one fails, all are requested once
    /// more, as client-go does: its group may have been removed after the list was made.
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
