//! The five conditions. As upstream's `deletion/status_condition_utils.go`.

use std::collections::BTreeMap;

use api::{Condition, Kind, Pod, Status, Time};

use super::content::{Left, name};

const DISCOVERY: &str = "NamespaceDeletionDiscoveryFailure";
const CONTENT: &str = "NamespaceDeletionContentFailure";
const REMAINING: &str = "NamespaceContentRemaining";
const FINALIZERS: &str = "NamespaceFinalizersRemaining";

/// Their types, and reason and message when all is well, in their order. What the second one is
/// about cannot fail here: versions of groups are read where discovery is.
const WELL: [(&str, &str, &str); 5] = [
    (DISCOVERY, "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (CONTENT, "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    (REMAINING, "ContentRemoved", "All content successfully removed"),
    (FINALIZERS, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];

/// What discovery did not find.
pub(super) struct Failure<'a> {
    pub(super) error: String,
    /// The versions of groups that failed; none: nothing could be discovered.
    pub(super) groups: Option<Vec<&'a str>>,
}

/// What is not well: a condition that is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) r#type: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// The conditions that follow on `known`. Those that stay the same keep their time, and so does
/// one of which the text alone changes. As `updateConditions`.
pub(super) fn updated(known: &[Condition], troubles: &[Trouble], now: Time) -> Vec<Condition> {
    let mut conditions = known.to_vec();
    for (r#type, reason, message) in WELL {
        let trouble = troubles.iter().find(|trouble| trouble.r#type == r#type);
        let (status, reason, message) = match trouble {
            Some(trouble) => (Status::True, trouble.reason, trouble.message.as_str()),
            None => (Status::False, reason, message),
        };
        let condition = Condition {
            r#type: r#type.to_owned(),
            status,
            last_update_time: None,
            last_transition_time: Some(now),
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        match conditions.iter_mut().find(|known| known.r#type == r#type) {
            None => conditions.push(condition),
            Some(known) if known.status == status => {
                *known = Condition {
                    last_transition_time: known.last_transition_time,
                    last_update_time: known.last_update_time,
                    ..condition
                };
            }
            Some(known) => *known = condition,
        }
    }
    conditions
}

/// All that is not well. As upstream, what is left is not reported while it is pods.
pub(super) fn troubles(failure: Option<&Failure<'_>>, left: &[Left<'_>]) -> Vec<Trouble> {
    let are_pods = |left: &Left<'_>| *left.resource == Pod::RESOURCE && !left.is_gone;
    let totals = if left.iter().any(are_pods) { Vec::new() } else { totals(left) };
    failure.map(discovery).into_iter().chain(content(left)).chain(totals).collect()
}

/// As `ProcessDiscoverResourcesErr`.
fn discovery(failure: &Failure<'_>) -> Trouble {
    let error = &failure.error;
    let message = match failure.groups.as_ref().map(Vec::len) {
        Some(count) => format!("Discovery failed for some groups, {count} failing: {error}"),
        None => error.clone(),
    };
    Trouble { r#type: DISCOVERY, reason: "DiscoveryFailed", message }
}

/// As `makeDeleteContentCondition`.
fn content(left: &[Left<'_>]) -> Option<Trouble> {
    let mut errors: Vec<_> = left.iter().filter_map(|left| left.error.as_deref()).collect();
    errors.sort_unstable();
    let (count, errors) = (errors.len(), errors.join(", "));
    (count > 0).then(|| Trouble {
        r#type: CONTENT,
        reason: "ContentDeletionFailed",
        message: format!("Failed to delete all resource types, {count} remaining: {errors}"),
    })
}

/// As `ProcessContentTotals`.
pub(super) fn totals(left: &[Left<'_>]) -> Vec<Trouble> {
    let mut by_finalizer = BTreeMap::<&str, usize>::new();
    for (finalizer, count) in left.iter().flat_map(|left| &left.finalizers) {
        *by_finalizer.entry(finalizer).or_default() += count;
    }
    let kinds = left.iter().filter(|left| left.count > 0);
    let kinds =
        kinds.map(|it| format!("{} has {} resource instances", name(it.resource), it.count));
    let finalizers = by_finalizer.iter();
    let finalizers =
        finalizers.map(|(finalizer, count)| format!("{finalizer} in {count} resource instances"));
    let rows = [
        (REMAINING, "SomeResourcesRemain", "Some resources are remaining: ", sorted(kinds)),
        (
            FINALIZERS,
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: ",
            sorted(finalizers),
        ),
    ];
    let rows = rows.into_iter().filter(|(.., list)| !list.is_empty());
    let trouble = |(r#type, reason, start, list): (_, _, &str, Vec<String>)| {
        let message = format!("{start}{}", list.join(", "));
        Trouble { r#type, reason, message }
    };
    rows.map(trouble).collect()
}

/// Sorted as whole texts, which need not be the order of the names.
fn sorted(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<_> = texts.collect();
    texts.sort();
    texts
}
