//! The API server's audit log: which contender wrote what, and when it arrived.

use crate::cluster::Cluster;
use crate::components::path_flag;
use anyhow::Context;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// In the cluster's folder, which is the API server's working folder.
const LOG: &str = "audit.log";
/// More than any contest writes, in MB: a log that is rotated cannot be followed.
const LOG_MB_MAX: u32 = 10_000;

/// A request of a [`crate::User::Contender`] that asked for a change, accepted or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The name of the user, which is another one for each life of a contender.
    pub user: String,
    /// When the API server had read the request's head, by its wall clock.
    pub received: Timestamp,
    /// `update replicasets/status default/web`.
    pub what: String,
    /// The HTTP status of the response.
    pub code: u64,
    /// The id of this request in the API server's log and its own.
    pub audit_id: String,
    /// What it was for.
    pub purpose: Purpose,
}

/// What a write was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// The Lease: what it says since then, or none if the write was refused.
    Election(Option<Claim>),
    /// An Event, which may report an end that has come.
    Event,
    /// What only the leader may do.
    Work,
}

/// A record of leader election that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The version of the Lease, which puts claims in order.
    pub version: u64,
    /// The identity in the record; empty: given back.
    pub holder: String,
    /// How long the record is to be believed.
    pub duration: SignedDuration,
    /// The time of the renewal by the wall clock of its writer.
    pub renewed: Timestamp,
}

/// The audit log of a cluster, followed to its end again and again.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    read: u64,
    /// The beginning of a line whose end is not written yet.
    begun: Vec<u8>,
}

// === impl AuditLog ===

impl AuditLog {
    /// The flags with which an API server writes this log: what contenders write.
    pub fn apiserver_args() -> Vec<String> {
        Self::apiserver_args_by("audit.yaml")
    }

    /// The same by another policy, a file in `cluster/`: for [`AuditLog::lines`].
    pub fn apiserver_args_by(policy: &str) -> Vec<String> {
        let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster").join(policy);
        vec![
            path_flag("audit-policy-file", &policy),
            format!("--audit-log-path={LOG}"),
            format!("--audit-log-maxsize={LOG_MB_MAX}"),
        ]
    }

    /// The log of this cluster, which was started with [`AuditLog::apiserver_args`].
    pub fn of(cluster: &Cluster) -> Self {
        Self { path: cluster.dir().join(LOG), read: 0, begun: Vec::new() }
    }

    /// The writes that got a response since the last call.
    pub fn news(&mut self) -> anyhow::Result<Vec<Write>> {
        self.lines()?.iter().map(|line| parse(line)).collect()
    }

    /// The whole lines that were written since the last call, each an event in JSON.
    pub fn lines(&mut self) -> anyhow::Result<Vec<Vec<u8>>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read))?;
        self.read += u64::try_from(file.read_to_end(&mut self.begun)?)?;
        let whole = self.begun.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines: Vec<u8> = self.begun.drain(..whole).collect();
        let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.map(<[u8]>::to_vec).collect())
    }
}

/// Reads one line. All that a contender writes counts, so what is not understood is an error.
pub(crate) fn parse(line: &[u8]) -> anyhow::Result<Write> {
    let event: Value = serde_json::from_slice(line)?;
    write(&event).with_context(|| format!("an audit event: {event}"))
}

fn write(event: &Value) -> anyhow::Result<Write> {
    let about = &event["objectRef"];
    let resource = match (text(about, "resource")?, about["subresource"].as_str()) {
        (resource, None) => resource.to_owned(),
        (resource, Some(part)) => format!("{resource}/{part}"),
    };
    let code = event["responseStatus"]["code"].as_u64().context("responseStatus.code")?;
    let purpose = match resource.as_str() {
        "leases" if code < 300 => Purpose::Election(Some(claim(&event["responseObject"])?)),
        "leases" => Purpose::Election(None),
        "events" => Purpose::Event,
        _ => Purpose::Work,
    };
    let verb = text(event, "verb")?;
    let name = [&about["namespace"], &about["name"]].map(|part| part.as_str().unwrap_or_default());
    Ok(Write {
        user: text(&event["user"], "username")?.to_owned(),
        received: text(event, "requestReceivedTimestamp")?.parse()?,
        what: format!("{verb} {resource} {}", name.join("/")),
        code,
        audit_id: text(event, "auditID")?.to_owned(),
        purpose,
    })
}

fn claim(lease: &Value) -> anyhow::Result<Claim> {
    let spec = &lease["spec"];
    let seconds = spec["leaseDurationSeconds"].as_i64().context("spec.leaseDurationSeconds")?;
    Ok(Claim {
        version: text(&lease["metadata"], "resourceVersion")?.parse()?,
        holder: spec["holderIdentity"].as_str().unwrap_or_default().to_owned(),
        duration: SignedDuration::from_secs(seconds),
        renewed: text(spec, "renewTime")?.parse()?,
    })
}

fn text<'a>(object: &'a Value, field: &str) -> anyhow::Result<&'a str> {
    object[field].as_str().with_context(|| format!("no {field}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    // As a 1.36.3 API server writes them, without the fields that are not read.
    const LEASE: &str = r#"{"kind":"Event","level":"RequestResponse","auditID":"5a","stage":"ResponseComplete","verb":"update","user":{"username":"contender-1-2","groups":["contenders"]},"objectRef":{"resource":"leases","namespace":"kube-system","name":"contest","apiGroup":"coordination.k8s.io"},"responseStatus":{"metadata":{},"code":200},"responseObject":{"kind":"Lease","metadata":{"name":"contest","resourceVersion":"266"},"spec":{"holderIdentity":"host_1","leaseDurationSeconds":3,"renewTime":"2026-01-02T04:04:05.000007Z"}},"requestReceivedTimestamp":"2026-01-02T03:04:05.123456Z","stageTimestamp":"2026-01-02T03:04:05.130000Z"}"#;
    const POD: &str = r#"{"level":"Metadata","auditID":"5b","verb":"create","user":{"username":"contender-0-0"},"objectRef":{"resource":"pods","namespace":"default","apiVersion":"v1"},"responseStatus":{"code":201},"requestReceivedTimestamp":"2026-01-02T03:04:05.000000Z"}"#;
    const STATUS: &str = r#"{"auditID":"5c","verb":"update","user":{"username":"contender-0-0"},"objectRef":{"resource":"replicasets","namespace":"default","name":"web","subresource":"status"},"responseStatus":{"code":409},"requestReceivedTimestamp":"2026-01-02T03:04:05.000000Z"}"#;

    #[test]
    fn a_claim_has_the_record_and_the_time_of_arrival() {
        let write = parse(LEASE.as_bytes()).unwrap();
        assert_eq!(write.user, "contender-1-2");
        assert_eq!(write.received.to_string(), "2026-01-02T03:04:05.123456Z");
        let Purpose::Election(Some(claim)) = write.purpose else { panic!("{write:?}") };
        assert_eq!((claim.version, claim.holder.as_str()), (266, "host_1"));
        assert_eq!(claim.duration, SignedDuration::from_secs(3));
        assert_eq!(claim.renewed.to_string(), "2026-01-02T04:04:05.000007Z");
    }

    #[test]
    fn a_refused_claim_claims_nothing() {
        let refused = LEASE.replace(r#""code":200"#, r#""code":409"#);
        assert_eq!(parse(refused.as_bytes()).unwrap().purpose, Purpose::Election(None));
    }

    #[test]
    fn work_and_events_are_distinguished() {
        let write = parse(POD.as_bytes()).unwrap();
        assert_eq!((write.what.as_str(), write.code), ("create pods default/", 201));
        assert_eq!(write.purpose, Purpose::Work);
        let write = parse(STATUS.as_bytes()).unwrap();
        assert_eq!(write.what, "update replicasets/status default/web");
        let event = POD.replace("pods", "events");
        assert_eq!(parse(event.as_bytes()).unwrap().purpose, Purpose::Event);
    }

    #[test]
    fn a_line_that_is_not_understood_is_an_error_that_shows_it() {
        let error = parse(POD.replace("auditID", "id").as_bytes()).unwrap_err();
        assert!(format!("{error:#}").contains("contender-0-0"), "{error:#}");
    }

    #[test]
    fn a_line_counts_once_it_is_whole() {
        let path = std::env::temp_dir().join(format!("audit-{}", std::process::id()));
        let mut log = AuditLog { path: path.clone(), read: 0, begun: Vec::new() };
        let users = |news: Vec<Write>| news.into_iter().map(|write| write.user).collect::<Vec<_>>();
        let (head, tail) = POD.split_at(40);
        fs::write(&path, format!("{LEASE}\n{head}")).unwrap();
        assert_eq!(users(log.news().unwrap()), ["contender-1-2"]);
        fs::write(&path, format!("{LEASE}\n{head}{tail}\n")).unwrap();
        assert_eq!(users(log.news().unwrap()), ["contender-0-0"]);
        assert!(log.news().unwrap().is_empty());
        fs::remove_file(path).unwrap();
    }
}
