//! Which Secrets are labelled or deleted. As `evaluateSATokens` of upstream's
//! `pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go`.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{Key, Kind, Raw, Resource, Time, TokenSecret};
use controller::{
    Action, Answer, Delete, Facts, Guard, ObjectRef, PatchKind, Plan, Query, Step, Tolerated, Write,
};
use mutant::Mutant;
use serde_json::json;

use super::PERIOD;
use super::snapshot::{Candidate, Snapshot};

/// How many Secrets a pass writes. At upstream's default of 20 requests a second that takes 25
/// seconds, so that no pass acts on what was true long ago.
pub(super) const WRITES_MAX: usize = 500;
/// When a pass that had more to write is followed by the next one.
const SOON: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_hours(24);
/// The label with the day of the last use. Upstream's `LastUsedLabelKey`.
const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
/// The label with the day from which on the token is refused. Upstream's `InvalidSinceLabelKey`.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
/// The key of the day in the ConfigMap.
const SINCE: &str = "since";

/// What becomes of a Secret.
enum Fate {
    /// It stays as it is.
    Stay,
    /// Its token is invalid from today on.
    Invalidate,
    /// It is deleted.
    Delete,
}

pub(super) fn decide(s: &Snapshot, facts: &Facts, period: Duration) -> Plan {
    let query = tracking();
    let Some(answer) = facts.get(&query) else {
        return Plan::fetch("since when is the use of tokens noted?", vec![query]);
    };
    let noted_since = match noted_since(answer) {
        Ok(since) => since,
        Err(error) => {
            let error = format!("cannot read since when the use of tokens is noted: {error}");
            return Plan::failed("nothing is known of the use of tokens", error);
        }
    };
    if s.now < noted_since + period && !mutant::is(Mutant::NotedSinceEver) {
        let why = "the use of tokens is not noted for the clean-up period yet";
        return Plan::rest(why).again_after(Some(PERIOD));
    }
    let (mut invalid, mut expired) = (0, 0);
    let mut writes: Vec<_> = Vec::new();
    for Candidate { secret, used } in &s.candidates {
        match if *used { Fate::Stay } else { fate(secret, s.now, period) } {
            Fate::Stay => {}
            Fate::Invalidate => {
                invalid += 1;
                writes.push(invalidate(secret, s.now));
            }
            Fate::Delete => {
                expired += 1;
                writes.push(delete(secret));
            }
        }
    }
    if writes.is_empty() {
        return Plan::rest("nothing to clean").again_after(Some(PERIOD));
    }
    let again = if writes.len() > WRITES_MAX { SOON } else { PERIOD };
    let why = format!("{invalid} unused, {expired} unused and invalid for the clean-up period");
    Plan::one(why, Step::Together(window(writes, s.now))).again_after(Some(again))
}

/// What becomes of a Secret that no pod names.
fn fate(secret: &TokenSecret, now: Time, period: Duration) -> Fate {
    let cutoff = now - period;
    let cutoff_day = day(cutoff);
    // As upstream, one without a time is older than any.
    let is_young = secret.meta.creation_timestamp.is_some_and(|created| created >= cutoff);
    if is_young || secret.meta.is_terminating() {
        return Fate::Stay;
    }
    // Without the label it has not been used since uses are noted.
    if let Some(used) = secret.meta.labels.get(LAST_USED)
        && (start_of(used).is_none() || *used >= *cutoff_day)
    {
        return Fate::Stay;
    }
    match secret.meta.labels.get(INVALID_SINCE).filter(|since| start_of(since).is_some()) {
        None => Fate::Invalidate,
        Some(since) if *since >= *cutoff_day => Fate::Stay,
        Some(_) => Fate::Delete,
    }
}

/// At most [`WRITES_MAX`] of them. If there are more, from a place on that moves with the time:
/// Secrets that cannot be written must not keep the others from their turn.
fn window(mut writes: Vec<Action>, now: Time) -> Vec<Action> {
    if writes.len() > WRITES_MAX {
        let seconds = usize::try_from(now.unix_nanos() / 1_000_000_000).unwrap_or(0);
        let start = seconds % writes.len();
        writes.rotate_left(start);
        writes.truncate(WRITES_MAX);
    }
    writes
}

// === Since when uses are noted ===

fn tracking() -> Query {
    const CONFIG_MAP: Resource = Resource::namespaced("", "v1", "configmaps", "ConfigMap");
    let name = "kube-apiserver-legacy-service-account-token-tracking";
    Query::object(CONFIG_MAP, Key::new("kube-system", name))
}

/// The start of the first whole day on which uses are noted. As `latestPossibleTrackedSinceTime`.
fn noted_since(answer: &Answer) -> Result<Time, String> {
    let query = tracking();
    let Some((_, raw)) = answer.object().map_err(ToString::to_string)? else {
        return Err(format!("there is no {query}"));
    };
    let since = text_of(raw, SINCE).ok_or_else(|| format!("{query} has no {SINCE:?}"))?;
    let start = start_of(&since);
    let start = start.ok_or_else(|| format!("{SINCE:?} of {query} is no day: {since:?}"))?;
    Ok(start + DAY)
}

fn text_of(config_map: &Raw, key: &str) -> Option<String> {
    let data: BTreeMap<String, String> =
        serde_json::from_str(config_map.field("data")?.get()).ok()?;
    data.get(key).cloned()
}

/// The start of a day, such as `2024-05-01`, in UTC; none if it is not exactly one.
fn start_of(day: &str) -> Option<Time> {
    let is_shaped = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    if day.bytes().enumerate().all(is_shaped) {
        Time::parse(&format!("{day}T00:00:00Z")).ok()
    } else {
        None
    }
}

/// The day of a moment, in UTC.
fn day(moment: Time) -> String {
    moment.to_string().chars().take(10).collect()
}

// === Writes ===

/// The same patch as upstream's, which is an apply configuration sent as a merge patch.
fn invalidate(secret: &TokenSecret, now: Time) -> Action {
    let resource = TokenSecret::RESOURCE;
    let Key { namespace, name } = &secret.meta.key;
    let body = json!({
        "kind": resource.kind,
        "apiVersion": resource.api_version(),
        "metadata": {
            "name": &**name,
            "namespace": &**namespace,
            "uid": &*secret.meta.uid,
            "labels": { INVALID_SINCE: day(now) },
        },
    });
    let object = ObjectRef::new(&resource, &secret.meta);
    let patch = Write::patch(object, PatchKind::Merge, body.to_string());
    patch.tolerating(&[Tolerated::Missing]).into()
}

fn delete(secret: &TokenSecret) -> Action {
    let object = ObjectRef::new(&TokenSecret::RESOURCE, &secret.meta);
    let how = Delete { guard: Guard::Version, ..Delete::default() };
    Write::delete_so(object, how).into()
}
