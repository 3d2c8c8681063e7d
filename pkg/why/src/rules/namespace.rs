//! Namespaces that are being deleted, and what holds them.

use api::Resource;
use serde_json::Value;

use super::deletion::finalizers;
use crate::json::{condition_is, list, since, text, time};
use crate::look::{Look, Thing};

/// The finalizer of namespaces that the namespace-controller removes.
const KUBERNETES: &str = "kubernetes";
/// What is wrong, worst first.
const TROUBLES: [&str; 3] = [
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
];
/// Objects of a kind that are named.
const SHOWN_MAX: usize = 3;

pub(super) fn namespace(look: &mut Look<'_>, it: &Thing) {
    let Some(asked) = time(&it.json, "/metadata/deletionTimestamp") else {
        look.note(it, "is active");
        return;
    };
    for kind in TROUBLES {
        if let Some(trouble) = condition_is(&it.json, kind, "True") {
            let words = text(trouble, "/message").to_owned();
            look.stuck(it, format!("is being deleted, and cannot be emptied: {words}"))
                .since(since(trouble).or(Some(asked)))
                .waiting_for(match kind {
                    "NamespaceDeletionDiscoveryFailure" => {
                        "the API group, to answer, or its APIService, to be deleted"
                    }
                    _ => "the API server, to delete these",
                })
                .next("namespace-controller tries again");
        }
    }
    let held = condition_is(&it.json, "NamespaceFinalizersRemaining", "True").map(since);
    let remaining = condition_is(&it.json, "NamespaceContentRemaining", "True");
    if let Some(remaining) = remaining {
        let words = text(remaining, "/message").to_owned();
        look.waits(it, format!("is being deleted, and not empty: {words}"))
            .since(since(remaining))
            .next("namespace-controller looks again until it is");
    }
    let found = contents(look, it);
    own(look, it, asked, found || held.is_some() || remaining.is_some());
}

/// The finalizers of the namespace itself.
fn own(look: &mut Look<'_>, it: &Thing, asked: api::Time, has_content: bool) {
    let of_spec = list(&it.json, "/spec/finalizers").iter().filter_map(Value::as_str);
    let of_spec: Vec<_> = of_spec.map(str::to_owned).collect();
    let others = of_spec.iter().filter(|name| *name != KUBERNETES).cloned();
    let others: Vec<_> = others.chain(finalizers(it)).collect();
    if !others.is_empty() && !has_content {
        let names = others.join(", ");
        look.stuck(it, format!("is being deleted, and held by its finalizer {names}"))
            .since(Some(asked))
            .waiting_for(format!("whoever set {names}, to do its work and remove it"));
    } else if !has_content && of_spec.iter().any(|name| name == KUBERNETES) {
        look.waits(it, "is being deleted")
            .since(Some(asked))
            .next("namespace-controller empties it");
    }
}

/// The objects that are left, and their finalizers.
fn contents(look: &mut Look<'_>, it: &Thing) -> bool {
    let mut any = false;
    for kind in left(look, it) {
        let things = look.list(&kind, it.name());
        any |= !things.is_empty();
        let held: Vec<_> = things
            .into_iter()
            .filter(|thing| time(&thing.json, "/metadata/deletionTimestamp").is_some())
            .filter(|thing| kind.plural == "pods" || !finalizers(thing).is_empty())
            .collect();
        let more = held.len().saturating_sub(SHOWN_MAX);
        held.iter().take(SHOWN_MAX).for_each(|thing| look.follow(thing));
        if more > 0 {
            look.note(it, format!("has {more} more {} that are held", kind.plural));
        }
    }
    any
}

/// The kinds of which objects are left, by what the namespace's condition says of them: `Some
/// resources are remaining: pods. has 1 resource instances, …`.
fn left(look: &Look<'_>, it: &Thing) -> Vec<Resource> {
    let Some(remaining) = condition_is(&it.json, "NamespaceContentRemaining", "True") else {
        return Vec::new();
    };
    let message = text(remaining, "/message");
    let list = message.split_once(": ").map_or("", |(_, list)| list);
    let kinds = list.split(", ").filter_map(|part| part.split_once(" has ")).map(|(kind, _)| kind);
    kinds.filter_map(|kind| look.names.find(kind.trim_end_matches('.'))).cloned().collect()
}
