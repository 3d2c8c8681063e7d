//! The annotations of ReplicaSets: revisions, sizes, and what they have of their Deployment. From
//! upstream's `pkg/controller/deployment/util/deployment_util.go`.

use api::Deployment;

use super::limits;
use super::snapshot::{Annotations, Set, Snapshot};

/// Which of the templates it is, counted from 1.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
/// Which ones it was before, separated by commas.
pub(super) const HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// The Deployment's size when the set was last scaled.
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// The most pods that the Deployment might have then.
pub(super) const MOST: &str = "deployment.kubernetes.io/max-replicas";
/// Asks for a rollback.
pub(super) const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How long a history of revisions may be.
const HISTORY_CHARS_MAX: usize = 2000;

/// Whether an annotation belongs to its object alone: it is never copied between a Deployment and
/// its sets.
pub(super) fn is_own(name: &str) -> bool {
    [LAST_APPLIED, REVISION, HISTORY, DESIRED, MOST, ROLLBACK_TO].contains(&name)
}

/// The revision of an object: 0 if it has none, none if it is no number.
pub(super) fn revision(annotations: &Annotations) -> Option<i64> {
    annotations.get(REVISION).map_or(Some(0), |text| text.parse().ok())
}

/// The highest revision of some sets. As `MaxRevision`.
pub(super) fn highest<'a>(sets: impl Iterator<Item = &'a Set>) -> i64 {
    sets.filter_map(|set| revision(&set.annotations)).fold(0, i64::max)
}

/// The second highest revision in the annotations of some sets, or 0. As `LastRevision`.
pub(super) fn last<'a>(sets: impl Iterator<Item = &'a Annotations>) -> i64 {
    let revisions = sets.filter_map(revision);
    let (_, second) = revisions.fold((0, 0), |(first, second), revision| {
        if revision >= first { (revision, first) } else { (first, second.max(revision)) }
    });
    second
}

/// The revision that the new set must have at least.
pub(super) fn next(s: &Snapshot) -> i64 {
    highest(s.old.iter()).saturating_add(1)
}

/// The annotations that the new set should have, if there is one.
pub(super) fn of_new(s: &Snapshot) -> Option<Annotations> {
    s.new.as_ref().map(|new| synced(&s.annotations, &new.annotations, next(s)))
}

/// The annotations that a new set is made with.
pub(super) fn at_creation(s: &Snapshot) -> Annotations {
    let mut annotations = synced(&s.annotations, &Annotations::new(), next(s));
    annotations.extend(sizes(&s.deployment));
    annotations
}

/// What says of a set how large its Deployment is. As `SetReplicasAnnotations`.
pub(super) fn sizes(deployment: &Deployment) -> [(String, String); 2] {
    [(DESIRED, deployment.replicas), (MOST, limits::max_replicas(deployment))]
        .map(|(name, size)| (name.to_owned(), size.to_string()))
}

/// A number of pods in an annotation; none if it is absent or no such number.
pub(super) fn size(annotations: &Annotations, name: &str) -> Option<i32> {
    let text = annotations.get(name)?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// The annotations that the new set should have: those of the Deployment, and a revision that is
/// higher than that of all others; the one that it had becomes history. As
/// `SetNewReplicaSetAnnotations`.
pub(super) fn synced(of_deployment: &Annotations, of_set: &Annotations, next: i64) -> Annotations {
    let known = of_set.get(REVISION);
    let revision = match known.map(String::as_str) {
        None | Some("") => 0,
        Some(text) => match text.parse::<i64>() {
            Ok(revision) => revision,
            // Another client wrote it: such a set keeps all that it has, as upstream.
            Err(_) => return of_set.clone(),
        },
    };
    let copied = of_deployment.iter().filter(|(name, _)| !is_own(name));
    let mut annotations = of_set.clone();
    annotations.extend(copied.map(|(name, value)| (name.clone(), value.clone())));
    if revision >= next {
        return annotations;
    }
    annotations.insert(REVISION.to_owned(), next.to_string());
    if let Some(known) = known {
        let history = of_set.get(HISTORY).map_or("", String::as_str);
        if let Some(history) = appended(history, known, HISTORY_CHARS_MAX) {
            annotations.insert(HISTORY.to_owned(), history);
        }
    }
    annotations
}

/// A history with one revision more; the oldest ones are dropped if it would be too long. None if
/// the revision alone is too long.
pub(super) fn appended(history: &str, revision: &str, chars_max: usize) -> Option<String> {
    if history.is_empty() || history.starts_with(',') {
        return Some(revision.to_owned());
    }
    let mut length = history.len() + 1 + revision.len();
    let mut kept: Vec<&str> = history.split(',').collect();
    let mut dropped = 0;
    for oldest in &kept {
        if length <= chars_max {
            break;
        }
        length -= oldest.len() + 1;
        dropped += 1;
    }
    kept.drain(..dropped);
    kept.push(revision);
    (length <= chars_max).then(|| kept.join(","))
}
