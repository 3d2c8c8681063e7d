//! What the manager asked the API server for, by the audit log: the same count for both managers,
//! and nothing that they are asked for. It also says when a manager wrote last.

use anyhow::Context;
use cluster_tests::{AuditLog, Cluster};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// In `tests/cluster/`.
pub(crate) const POLICY: &str = "audit-bench.yaml";

/// How often there was which request, as `update deployments.apps/status`; what was refused with
/// its code behind it.
pub(crate) type Counts = BTreeMap<String, u64>;

/// The requests of all processes of one manager.
pub(crate) struct Tally {
    log: AuditLog,
    counts: Counts,
    last_write: Option<Timestamp>,
}

/// One request that has been answered.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    name: String,
    /// When it arrived, if it asked for a change; renewing the Lease is none.
    write: Option<Timestamp>,
}

// === impl Tally ===

impl Tally {
    /// Of a cluster whose API server writes its log by [`POLICY`].
    pub(crate) fn of(cluster: &Cluster) -> Self {
        Self { log: AuditLog::of(cluster), counts: Counts::new(), last_write: None }
    }

    /// Takes in what has been written since; when the last write arrived, of all so far.
    pub(crate) fn last_write(&mut self) -> anyhow::Result<Option<Timestamp>> {
        for line in self.log.lines()? {
            let Some(request) = parse(&line)? else { continue };
            *self.counts.entry(request.name).or_default() += 1;
            self.last_write = self.last_write.max(request.write);
        }
        Ok(self.last_write)
    }

    /// What was counted since the last call.
    pub(crate) fn counted(&mut self) -> anyhow::Result<Counts> {
        self.last_write()?;
        Ok(std::mem::take(&mut self.counts))
    }
}

/// How many by verb.
pub(crate) fn by_verb(counts: &Counts) -> Counts {
    let mut sums = Counts::new();
    for (name, count) in counts {
        let verb = name.split(' ').next().unwrap_or_default();
        *sums.entry(verb.to_owned()).or_default() += count;
    }
    sums
}

/// Whether it asked for a change, renewing the Lease included.
pub(crate) fn is_write(verb: &str) -> bool {
    matches!(verb, "create" | "update" | "patch" | "delete" | "deletecollection")
}

/// None for a line that says nothing new: the end of a watch.
fn parse(line: &[u8]) -> anyhow::Result<Option<Request>> {
    let event: Value = serde_json::from_slice(line)?;
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    let verb = text("verb");
    // A watch is counted by its begin; a request that is long for another reason has none here.
    if (verb == "watch") != (text("stage") == "ResponseStarted") {
        return Ok(None);
    }
    let about = &event["objectRef"];
    let part = |key: &str| about[key].as_str().filter(|part| !part.is_empty());
    let mut name = match part("resource") {
        Some(resource) => format!("{verb} {resource}"),
        None => format!("{verb} (no resource)"),
    };
    for (sign, key) in [('.', "apiGroup"), ('/', "subresource")] {
        if let Some(part) = part(key) {
            name.push(sign);
            name.push_str(part);
        }
    }
    let code = event["responseStatus"]["code"].as_u64().unwrap_or_default();
    if code >= 400 {
        let _ = write!(name, " {code}");
    }
    let arrived = || text("requestReceivedTimestamp").parse().context("an audit event's time");
    let is_write = is_write(verb) && part("resource") != Some("leases");
    Ok(Some(Request { name, write: is_write.then(arrived).transpose()? }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(verb: &str, resource: &str, stage: &str, code: u64) -> Vec<u8> {
        let about = json!({"resource": resource, "apiGroup": "apps", "subresource": "status"});
        let time = "2026-01-02T03:04:05.000006Z";
        json!({"verb": verb, "stage": stage, "objectRef": about,
            "responseStatus": {"code": code}, "requestReceivedTimestamp": time})
        .to_string()
        .into_bytes()
    }

    fn name(line: &[u8]) -> Option<String> {
        parse(line).unwrap().map(|request| request.name)
    }

    #[test]
    fn a_request_has_its_verb_group_and_subresource_and_its_code_if_refused() {
        let cases = [
            (event("update", "deployments", "ResponseComplete", 200), "update deployments.apps"),
            (event("patch", "x", "ResponseComplete", 409), "patch x.apps"),
        ];
        let [updated, refused] = cases.map(|(line, start)| (name(&line).unwrap(), start));
        assert_eq!(updated.0, format!("{}/status", updated.1));
        assert_eq!(refused.0, format!("{}/status 409", refused.1));
        let plain = br#"{"verb": "get", "stage": "ResponseComplete", "requestURI": "/apis"}"#;
        assert_eq!(name(plain).unwrap(), "get (no resource)");
    }

    #[test]
    fn a_watch_counts_once_when_it_begins() {
        assert!(name(&event("watch", "x", "ResponseStarted", 200)).is_some());
        assert!(name(&event("watch", "x", "ResponseComplete", 200)).is_none());
    }

    #[test]
    fn reads_and_the_lease_are_no_writes() {
        let is_write = |verb, resource| {
            let line = event(verb, resource, "ResponseComplete", 200);
            parse(&line).unwrap().unwrap().write.is_some()
        };
        assert!(is_write("create", "events"));
        assert!(!is_write("update", "leases"));
        assert!(!is_write("list", "pods"));
    }

    #[test]
    fn verbs_are_summed() {
        let counts = [("get a", 1), ("get b 404", 2), ("list a", 3)];
        let counts = counts.map(|(name, count)| (name.to_owned(), count)).into();
        let expected = [("get", 3), ("list", 3)].map(|(verb, count)| (verb.to_owned(), count));
        assert_eq!(by_verb(&counts), expected.into());
    }
}
