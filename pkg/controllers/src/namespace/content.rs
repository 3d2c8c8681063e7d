//! What is done with each kind, and what is left of it then. As
//! `deleteAllContentForGroupVersionResource` upstream.

use std::collections::BTreeMap;

use api::{Key, Kind, Listed, Namespace, Pod, Resource, ServedKind, Text, Time, Verb};
use controller::{
    Action, Answer, Collection, Delete, Facts, Form, ObjectRef, Plan, Propagation, Query, Refused,
    Step, Write,
};
use mutant::Mutant;

/// How long objects with finalizers may take. Upstream's `finalizerEstimateSeconds`.
const FINALIZERS_SECONDS: u64 = 15;

/// A namespace that is emptied.
pub(super) struct Place<'a> {
    pub(super) key: &'a Key,
    /// Since when it is being deleted, and now.
    pub(super) deleted: Option<Time>,
    pub(super) now: Time,
}

/// What is left of a kind.
#[derive(Debug)]
pub(super) struct Left<'a> {
    pub(super) resource: &'a Resource,
    /// How many objects there are, if that is known and deleting them did not fail.
    pub(super) count: usize,
    /// How many of them have each finalizer.
    pub(super) finalizers: BTreeMap<Text, usize>,
    /// How long they may take; zero: it is an error that they are there.
    pub(super) seconds: u64,
    pub(super) error: Option<String>,
    /// Whether it is known that there are none, or cannot be known.
    pub(super) is_gone: bool,
}

/// How far the deletion of some kinds has come.
pub(super) enum Progress<'a> {
    /// This comes next.
    Next(Plan),
    /// All is known.
    Over(Vec<Left<'a>>),
}

/// How far the deletion of one kind has come.
enum State<'a> {
    /// Not read yet.
    Unlisted,
    /// DELETE of all of them comes next.
    Full,
    /// DELETE of each of these comes next.
    OneByOne(&'a [Listed]),
    /// All is known.
    Over(Left<'a>),
}

/// The objects of a kind, as they were last seen.
enum Listing<'a> {
    Items(&'a [Listed]),
    /// They cannot be listed.
    Unsupported,
    Failed(&'a Refused),
}

/// Empties `kinds`, all at once.
pub(super) fn empty<'a>(
    kinds: &[&'a ServedKind],
    place: &Place<'_>,
    facts: &'a Facts,
) -> Progress<'a> {
    let (mut unlisted, mut full, mut lists) = (vec![], vec![], vec![]);
    let (mut singles, mut marks, mut left) = (vec![], vec![], vec![]);
    for kind in kinds {
        let resource = &kind.resource;
        match state(kind, place, facts) {
            State::Unlisted => unlisted.push(place.all(resource)),
            State::Full => {
                full.push(Write::delete_all(place.collection(resource)).into());
                lists.extend(kind.verbs.contains(&Verb::List).then(|| place.all(resource)));
            }
            State::OneByOne(items) => {
                singles.extend(items.iter().map(|item| delete(resource, item)));
                marks.extend(items.first().map(|item| mark(resource, item)));
                marks.push(place.all(resource));
            }
            State::Over(it) => left.push(it),
        }
    }
    // Read again after writes: they may take long, and the next write needs its version.
    let namespace = Query::object(Namespace::RESOURCE, place.key.clone());
    if !unlisted.is_empty() {
        return Progress::Next(Plan::fetch("what is in the namespace?", unlisted));
    }
    if !full.is_empty() {
        lists.push(namespace);
        return Progress::Next(then("deletes the content", full, lists));
    }
    if !singles.is_empty() {
        marks.push(namespace);
        return Progress::Next(then("deletes the content one by one", singles, marks));
    }
    Progress::Over(left)
}

/// The kind in the words of the conditions, with a dot at the end if it is in the core group.
pub(super) fn name(resource: &Resource) -> String {
    format!("{}.{}", resource.plural, resource.group)
}

pub(super) fn is_pods(kind: &ServedKind) -> bool {
    kind.resource == Pod::RESOURCE
}

fn then(why: &'static str, actions: Vec<Action>, queries: Vec<Query>) -> Plan {
    let steps = vec![Step::Together(actions), Step::Fetch(queries)];
    Plan { why: why.into(), steps, ..Plan::default() }
}

// === One kind ===

fn state<'a>(kind: &'a ServedKind, place: &Place<'_>, facts: &'a Facts) -> State<'a> {
    let resource = &kind.resource;
    let listing = match facts.get(&place.all(resource)) {
        Some(answer) => listing(answer),
        None if kind.verbs.contains(&Verb::List) => return State::Unlisted,
        None => Listing::Unsupported,
    };
    let one_by_one = match (&listing, facts.emptied.get(&place.collection(resource))) {
        // There is nothing; or the list came after a DELETE.
        (Listing::Items([]), None) | (_, Some(None)) => false,
        (_, None) if kind.verbs.contains(&Verb::DeleteCollection) => return State::Full,
        (_, None) => true,
        (_, Some(Some(refused))) if is_unsupported(refused) => true,
        (_, Some(Some(refused))) => {
            let is_gone = matches!(listing, Listing::Items([]));
            let left = Left { is_gone, ..Left::failed(resource, refused) };
            return State::Over(left);
        }
    };
    match listing {
        Listing::Items(items @ [_, ..]) if one_by_one && !were_deleted(resource, facts) => {
            State::OneByOne(items)
        }
        Listing::Items(items) => State::Over(Left::of(resource, items, place)),
        // It cannot be verified that all are deleted.
        Listing::Unsupported => State::Over(Left::none(resource)),
        Listing::Failed(refused) => State::Over(Left::failed(resource, refused)),
    }
}

fn listing(answer: &Answer) -> Listing<'_> {
    match answer.all() {
        Ok(Some(items)) => Listing::Items(items),
        Ok(None) => Listing::Unsupported,
        Err(refused) if is_unsupported(refused) => Listing::Unsupported,
        Err(refused) => Listing::Failed(refused),
    }
}

/// Discovery may promise what the API server does not keep: some kinds have no verbs (404).
fn is_unsupported(refused: &Refused) -> bool {
    matches!(refused.code, Some(404 | 405))
}

fn delete(resource: &Resource, item: &Listed) -> Action {
    let object = ObjectRef::new(resource, &item.meta);
    let how = Delete { propagation: Some(Propagation::Background), ..Delete::default() };
    Write::delete_so(object, how).into()
}

/// A read of one of the objects of a kind. Its presence in the facts shows that they were deleted
/// one by one: only then is such a read planned.
fn mark(resource: &Resource, item: &Listed) -> Query {
    Query::metadata(resource.clone(), item.meta.key.clone())
}

fn were_deleted(resource: &Resource, facts: &Facts) -> bool {
    facts.answers.keys().any(|query| match query {
        Query::Get { resource: marked, form: Form::Metadata, .. } => marked == resource,
        Query::Get { .. }
        | Query::Path(_)
        | Query::Document(_)
        | Query::List { .. }
        | Query::Review { .. }
        | Query::Served
        | Query::Cloud(_) => false,
    })
}

// === impl Place ===

impl Place<'_> {
    pub(super) fn all(&self, resource: &Resource) -> Query {
        Query::all(resource.clone(), self.key.name.clone())
    }

    fn collection(&self, resource: &Resource) -> Collection {
        Collection { resource: resource.clone(), namespace: self.key.name.clone() }
    }

    /// How long pods may still take; zero once they have had that long. As
    /// `estimateGracefulTermination`.
    fn pods_seconds(&self, pods: &[Listed]) -> u64 {
        let grace = pods.iter().filter_map(|pod| pod.deletion_grace_period_seconds).max();
        let grace = grace.and_then(|grace| u64::try_from(grace).ok()).unwrap_or(0);
        let passed = self.deleted.map_or(0, |deleted| self.now.since(deleted).as_secs());
        if passed >= grace { 0 } else { grace }
    }
}

// === impl Left ===

impl<'a> Left<'a> {
    fn none(resource: &'a Resource) -> Self {
        let (finalizers, error) = (BTreeMap::new(), None);
        Self { resource, count: 0, finalizers, seconds: 0, error, is_gone: true }
    }

    fn failed(resource: &'a Resource, refused: &Refused) -> Self {
        if mutant::is(Mutant::UnlistedIsEmpty) {
            return Self::none(resource);
        }
        Self { error: Some(refused.text.clone()), is_gone: false, ..Self::none(resource) }
    }

    /// These objects.
    pub(super) fn of(resource: &'a Resource, items: &[Listed], place: &Place<'_>) -> Self {
        if items.is_empty() {
            return Self::none(resource);
        }
        let mut finalizers = BTreeMap::<Text, usize>::new();
        for finalizer in items.iter().flat_map(|item| &item.meta.finalizers) {
            *finalizers.entry(finalizer.clone()).or_default() += 1;
        }
        let grace = if *resource == Pod::RESOURCE { place.pods_seconds(items) } else { 0 };
        let seconds = match grace {
            0 if !finalizers.is_empty() => FINALIZERS_SECONDS,
            grace => grace,
        };
        let error = (seconds == 0).then(|| {
            let Resource { group, version, plural, .. } = resource;
            let gvr = format!("{group}/{version}, Resource={plural}");
            let namespace = &place.key.name;
            format!("unexpected items still remain in namespace: {namespace} for gvr: {gvr}")
        });
        Self { resource, count: items.len(), finalizers, seconds, error, is_gone: false }
    }
}
