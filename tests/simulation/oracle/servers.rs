//! What API servers that are gone have said of how they store kinds.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::fields::{at, list, text};
use super::{Judged, Oracle, Target};
use crate::servers::IDENTITY;

pub(super) const ACCOUNT: &str = "storage-version-garbage-collector";

/// By life, and by API server: when the manager last heard that it is gone.
pub(super) type Missed = BTreeMap<(String, String), Duration>;

impl Oracle {
    /// The collector has asked for the Lease of an API server.
    pub(crate) fn heard_lease(
        &mut self,
        (life, account): (&str, &str),
        path: &str,
        lease: Option<&[u8]>,
        now: Duration,
    ) {
        let target = Target::of(path);
        if account != ACCOUNT || target.plural != "leases" || target.name.is_empty() {
            return;
        }
        let lease = lease.map(|lease| serde_json::from_slice(lease).unwrap_or_default());
        if !lease.is_some_and(|lease| is_identity(&lease)) {
            self.missed.insert((life.to_owned(), target.name), now);
        }
    }

    /// How an entry is removed whose API server may be there.
    pub(super) fn forgets_server(&self, it: &Judged<'_>) -> Option<String> {
        let before = it.before.as_deref().filter(|_| it.account == ACCOUNT)?;
        let entries = |object: &Value| list(object, "/status/storageVersions").to_vec();
        let rest = if it.method == "DELETE" { Vec::new() } else { entries(it.sent) };
        let was = entries(before);
        if let Some(other) = rest.iter().find(|entry| !was.contains(entry)) {
            return Some(format!("{it}: adds {other}"));
        }
        let gone: Vec<_> = was.iter().filter(|entry| !rest.contains(entry)).collect();
        let is_missed = |entry: &&&Value| {
            let server = text(entry, "/apiServerID").to_owned();
            let missed = self.missed.get(&(it.life.to_owned(), server));
            missed.is_some_and(|at| *at >= self.decider.begun)
        };
        if let Some(entry) = gone.iter().find(|entry| !is_missed(entry)) {
            return Some(format!("{it}: no read said that {} is gone", at(entry, "/apiServerID")));
        }
        gone.is_empty().then(|| format!("{it}: no API server is gone"))
    }

    /// At the end no entry is of an API server that is gone.
    pub(super) fn storage_version_lacks(&self, object: &Value) -> Option<String> {
        let servers = list(object, "/status/storageVersions").iter();
        let mut servers = servers.map(|entry| text(entry, "/apiServerID"));
        let gone = servers.find(|it| self.objects.get("Lease", "kube-system", it).is_none())?;
        Some(format!("names {gone}, which is gone"))
    }
}

/// Whether a Lease is the identity of an API server. All others do not matter here.
pub(super) fn is_identity(lease: &Value) -> bool {
    let labels = at(lease, "/metadata/labels");
    labels.get(IDENTITY).and_then(Value::as_str) == Some("kube-apiserver")
}
