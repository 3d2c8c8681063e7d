//! What the API server serves: the result of discovery.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::Resource;

/// All kinds that the API server serves, and the groups of which that is not known. Made by
/// [`Served::new`]; [`Served::find`] knows nothing of what is done to `kinds` afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Every version of every kind, subresources left out; in the order of discovery.
    pub kinds: Vec<ServedKind>,
    /// `group/version` (or `v1`) to why its kinds could not be had, sorted. What `kinds` holds of
    /// them may be old, or nothing.
    pub failed: BTreeMap<String, String>,
    /// Places in `kinds`, sorted by [`by_name`] and then as they are.
    index: Box<[u32]>,
}

/// A kind in one of its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedKind {
    /// Its place in the API.
    pub resource: Resource,
    /// What can be done with it, sorted.
    pub verbs: Box<[Verb]>,
    /// Whether this is the version that the API server prefers for the kind.
    pub preferred: bool,
}

/// What can be done with a kind; the verbs that somebody here asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// `delete`.
    Delete,
    /// `deletecollection`.
    DeleteCollection,
    /// `list`.
    List,
    /// `watch`.
    Watch,
}

impl Served {
    /// These kinds, and what is not known.
    pub fn new(kinds: Vec<ServedKind>, failed: BTreeMap<String, String>) -> Self {
        let end = u32::try_from(kinds.len()).unwrap_or(u32::MAX);
        let mut index: Vec<(u32, &Resource)> =
            (0..end).zip(kinds.iter().map(|kind| &kind.resource)).collect();
        index.sort_by(|(_, a), (_, b)| by_name(a, &b.kind, &b.group, &b.version));
        let index = index.into_iter().map(|(place, _)| place).collect();
        Self { kinds, failed, index }
    }

    /// Where objects live that call themselves so, such as an owner reference does: as upstream's
    /// `RESTMapping` (client-go's restmapper/discovery.go). So the kind may also be all lower case,
    /// and the last of several resources of a kind counts.
    pub fn find(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let at = |place: &u32| {
            let place = usize::try_from(*place).ok()?;
            self.kinds.get(place).map(|kind| &kind.resource)
        };
        let order =
            |place: &u32| at(place).map_or(Ordering::Less, |it| by_name(it, kind, group, version));
        let start = self.index.partition_point(|place| order(place).is_lt());
        let alike = self.index.get(start..)?.iter().take_while(|place| order(place).is_eq());
        let mut lower = None;
        let mut exact = None;
        for resource in alike.filter_map(at) {
            if resource.kind == kind {
                exact = Some(resource);
            } else if lower_case(&resource.kind).eq(kind.bytes()) {
                lower = Some(resource);
            }
        }
        exact.or(lower)
    }

    /// The kinds in the version that the API server prefers, of those that admit all of `verbs`.
    pub fn preferred(&self, verbs: &[Verb]) -> impl Iterator<Item = &Resource> {
        let admits = |kind: &&ServedKind| verbs.iter().all(|verb| kind.verbs.contains(verb));
        let preferred = self.kinds.iter().filter(|kind| kind.preferred);
        preferred.filter(admits).map(|kind| &kind.resource)
    }

    /// What is not known, as client-go's `ErrGroupDiscoveryFailed` prints it; none if all is.
    pub fn failure(&self) -> Option<String> {
        if self.failed.is_empty() {
            return None;
        }
        let groups = self.failed.iter().map(|(group, error)| format!("{group}: {error}"));
        // Sorted as whole texts, which need not be the order of the names.
        let groups: Vec<String> = groups.collect::<BTreeSet<_>>().into_iter().collect();
        let start = "unable to retrieve the complete list of server APIs";
        Some(format!("{start}: {}", groups.join(", ")))
    }

    /// This answer, and of the groups that failed in it what an older one knew of them. A resource
    /// whose preferred version is known now keeps that one.
    pub fn keeping(&self, older: &Self) -> Self {
        let here: BTreeSet<_> = self.kinds.iter().map(|kind| name(&kind.resource)).collect();
        let preferred: BTreeSet<_> =
            self.preferred(&[]).map(|it| (&it.group, &it.plural)).collect();
        let lost = |kind: &&ServedKind| {
            !here.contains(&name(&kind.resource))
                && self.failed.contains_key(&kind.resource.api_version())
        };
        let kept = older.kinds.iter().filter(lost).map(|kind| {
            let resource = &kind.resource;
            let newer = preferred.contains(&(&resource.group, &resource.plural));
            ServedKind { preferred: kind.preferred && !newer, ..kind.clone() }
        });
        let kinds = self.kinds.iter().cloned().chain(kept).collect();
        Self::new(kinds, self.failed.clone())
    }
}

/// What tells a resource from all others.
fn name(resource: &Resource) -> (&str, &str, &str) {
    (&resource.group, &resource.version, &resource.plural)
}

/// How a resource stands to that of a kind, whatever the case of the kind.
fn by_name(resource: &Resource, kind: &str, group: &str, version: &str) -> Ordering {
    let kinds = lower_case(&resource.kind).cmp(lower_case(kind));
    kinds.then_with(|| (&*resource.group, &*resource.version).cmp(&(group, version)))
}

fn lower_case(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().map(|byte| byte.to_ascii_lowercase())
}
