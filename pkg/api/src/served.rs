//! What the API server serves: the result of discovery.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use crate::{Resource, Text};

/// All kinds that the API server serves, and the groups of which that is not known. Made by
/// [`Served::new`]; [`Served::find`] knows nothing of what is done to `kinds` afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Every version of every kind, in the order of discovery.
    pub kinds: Vec<ServedKind>,
    /// `group/version` (or `v1`) to why its kinds could not be had, sorted. What `kinds` holds of
    /// them may be old, or nothing.
    pub failed: BTreeMap<String, String>,
    /// Places in `kinds`, sorted by [`by_group`], then by version, and then as they are.
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
    /// Its parts that are served on their own, such as `status`, in the order of discovery.
    pub subresources: Box<[Subresource]>,
}

/// A part of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Such as `scale`.
    pub name: Text,
    /// What can be done with it, sorted.
    pub verbs: Box<[Verb]>,
}

/// What can be done with a kind. Other verbs than upstream's generic ones are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// `create`.
    Create,
    /// `delete`.
    Delete,
    /// `deletecollection`.
    DeleteCollection,
    /// `get`.
    Get,
    /// `list`.
    List,
    /// `patch`.
    Patch,
    /// `update`.
    Update,
    /// `watch`.
    Watch,
}

impl Served {
    /// These kinds, and what is not known.
    pub fn new(kinds: Vec<ServedKind>, failed: BTreeMap<String, String>) -> Self {
        let end = u32::try_from(kinds.len()).unwrap_or(u32::MAX);
        let mut index: Vec<(u32, &Resource)> =
            (0..end).zip(kinds.iter().map(|kind| &kind.resource)).collect();
        index.sort_by(|(_, a), (_, b)| {
            by_group(a, &b.kind, &b.group).then_with(|| a.version.cmp(&b.version))
        });
        let index = index.into_iter().map(|(place, _)| place).collect();
        Self { kinds, failed, index }
    }

    /// Where objects live that call themselves so, such as an owner reference does: as upstream's
    /// `RESTMapping` (client-go's restmapper/discovery.go). So the kind may also be all lower case,
    /// and the last of several resources of a kind counts.
    pub fn find(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let alike = self.of_kind(group, kind).filter(|it| it.resource.version == version);
        last_named(alike, kind).map(|it| &it.resource)
    }

    /// The kind in the version that the API server prefers, for references without a version, such
    /// as an autoscaler's target. As for [`Served::find`], the last of several resources counts.
    pub fn find_kind(&self, group: &str, kind: &str) -> Option<&ServedKind> {
        last_named(self.of_kind(group, kind).filter(|it| it.preferred), kind)
    }

    /// All versions of a kind, whatever the case of its name.
    fn of_kind(&self, group: &str, kind: &str) -> impl Iterator<Item = &ServedKind> {
        let at = |place: &u32| self.kinds.get(usize::try_from(*place).ok()?);
        let order = move |place: &u32| {
            at(place).map_or(Ordering::Less, |it| by_group(&it.resource, kind, group))
        };
        let start = self.index.partition_point(|place| order(place).is_lt());
        let alike = self.index.iter().skip(start).take_while(move |place| order(place).is_eq());
        alike.filter_map(at)
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

    /// This result, with the older content of the groups that failed in it. A resource whose
    /// preferred version is known now keeps that one.
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

impl ServedKind {
    /// What can be done with a part of it; none: it has no such part.
    pub fn subresource(&self, name: &str) -> Option<&[Verb]> {
        let found = self.subresources.iter().find(|part| &*part.name == name);
        found.map(|part| &*part.verbs)
    }
}

/// The last one of this name; or else the last one that is called so in lower case.
fn last_named<'a>(
    kinds: impl Iterator<Item = &'a ServedKind>,
    name: &str,
) -> Option<&'a ServedKind> {
    let (mut exact, mut lower) = (None, None);
    for kind in kinds {
        if kind.resource.kind == name {
            exact = Some(kind);
        } else if lower_case(&kind.resource.kind).eq(name.bytes()) {
            lower = Some(kind);
        }
    }
    exact.or(lower)
}

/// What identifies a resource.
fn name(resource: &Resource) -> (&str, &str, &str) {
    (&resource.group, &resource.version, &resource.plural)
}

/// How a resource stands to those of a kind, whatever the case of the kind.
fn by_group(resource: &Resource, kind: &str, group: &str) -> Ordering {
    let kinds = lower_case(&resource.kind).cmp(lower_case(kind));
    kinds.then_with(|| (*resource.group).cmp(group))
}

fn lower_case(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().map(|byte| byte.to_ascii_lowercase())
}
