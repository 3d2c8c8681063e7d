//! The kinds that the expressions of a policy are checked over. As `typesToCheck` of
//! k8s.io/apiserver's pkg/admission/plugin/policy/validating/typechecking.go.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use api::{NamedResources, PolicyExpressions, Resource, Served};
use controller::{Excerpt, Query};

/// The most kinds that one rule adds.
const KINDS_MAX: usize = 10;
/// The most resources, each in a group and version, that a policy may name: lists of all three
/// multiply. One that names more is not checked.
const NAMES_MAX: usize = 10_000;

/// The groups of upstream's own kinds, whose schemas always are there.
const BUILT_IN: [&str; 22] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// A kind in a version, sorted as upstream's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct VersionedKind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

/// The kinds that a policy names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// Those that are served.
    pub(super) kinds: BTreeSet<VersionedKind>,
    /// The groups and versions that are named and whose kinds are unknown, as discovery of them
    /// fails. Upstream's mapper has none of their kinds either, old ones included.
    pub(super) failing: BTreeSet<String>,
}

/// Finds them; none: the policy names too many resources.
pub(super) fn named(policy: &PolicyExpressions, served: &Served) -> Option<Named> {
    let mut found = Named::default();
    let (index, mut names_left) = (Index::new(served), NAMES_MAX);
    for rule in &policy.rules {
        let mut count = 0;
        let names = resources(rule, names_left)?;
        names_left -= names.len();
        for (group, version, resource) in names {
            if !group.is_empty() {
                let place = place(group, version);
                found.failing.extend(served.failed.contains_key(&place).then_some(place));
            }
            for kind in index.of_resource(group, version, resource) {
                let place = place(&kind.group, &kind.version);
                if served.failed.contains_key(&place) {
                    found.failing.insert(place);
                    continue;
                }
                found.kinds.insert(kind);
                count += 1;
                if count == KINDS_MAX {
                    return Some(found);
                }
            }
        }
    }
    Some(found)
}

/// Whether a group and version is upstream's own.
pub(super) fn is_built_in(place: &str) -> bool {
    let (group, _) = place.split_once('/').unwrap_or(("", place));
    BUILT_IN.contains(&group)
}

fn place(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Groups and versions, and the query for what is needed of the OpenAPI document of each.
pub(super) type Documents = BTreeMap<(String, String), Query>;

/// The queries for these kinds.
pub(super) fn documents<'a>(kinds: impl IntoIterator<Item = &'a VersionedKind>) -> Documents {
    let mut places: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for it in kinds {
        let place = (it.group.clone(), it.version.clone());
        places.entry(place).or_default().insert(it.kind.clone());
    }
    let query = |(place, kinds): ((String, String), BTreeSet<String>)| {
        let (group, version) = &place;
        let path = path(group, version)?;
        let words: Vec<_> = [group, version].into_iter().cloned().chain(kinds).collect();
        Some((place, Query::Document(Excerpt::new(path, words, excerpt))))
    };
    places.into_iter().filter_map(query).collect()
}

fn excerpt(document: &[u8], words: &[String]) -> String {
    let [group, version, kinds @ ..] = words else { return String::new() };
    cel::excerpt(document, group, version, kinds)
}

/// Where the document of a group and version is; none: none is called so.
fn path(group: &str, version: &str) -> Option<String> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '.');
    let is_name = |name: &str| !name.starts_with('.') && name.chars().all(is_part);
    if version.is_empty() || !is_name(group) || !is_name(version) {
        return None;
    }
    Some(match group {
        "" => format!("/openapi/v3/api/{version}"),
        group => format!("/openapi/v3/apis/{group}/{version}"),
    })
}

/// The kind of a policy's parameters. `paramsGVK`.
pub(super) fn of_params(policy: &PolicyExpressions) -> Option<VersionedKind> {
    let (version, kind) = policy.param_kind.as_ref()?;
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let is_empty = group.is_empty() && version.is_empty() && kind.is_empty();
    let of = |text: &str| text.to_owned();
    let found = VersionedKind { group: of(group), version: of(version), kind: of(kind) };
    (!version.contains('/') && !is_empty).then_some(found)
}

/// The resources that a rule names, sorted: without wildcards and subresources; none: there are
/// more than so many.
fn resources(rule: &NamedResources, count_max: usize) -> Option<Vec<(&str, &str, &str)>> {
    let groups = sorted(&rule.groups, |_| true);
    let versions = sorted(&rule.versions, |_| true);
    let names = sorted(&rule.resources, |name| !name.contains(['*', '/']));
    if groups.iter().chain(&versions).any(|name| name.contains('*')) {
        return Some(Vec::new());
    }
    let count = groups.len().saturating_mul(versions.len()).saturating_mul(names.len());
    if count > count_max {
        return None;
    }
    let mut all = Vec::with_capacity(count);
    for group in groups {
        for version in &versions {
            all.extend(names.iter().map(|name| (group, *version, *name)));
        }
    }
    Some(all)
}

fn sorted(names: &[String], is_kept: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut names: Vec<_> = names.iter().map(|name| &**name).filter(|name| is_kept(name)).collect();
    names.sort_unstable();
    names
}

/// What is served, by version and name in small letters: rules name up to ten thousand.
struct Index<'a>(BTreeMap<(&'a str, String), Vec<&'a Resource>>);

// === impl Index ===

impl<'a> Index<'a> {
    /// Plural names, and singular ones, which the mappings of upstream's know, too.
    fn new(served: &'a Served) -> Self {
        let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for resource in served.kinds.iter().map(|it| &it.resource) {
            for name in BTreeSet::from([resource.plural.to_string(), resource.kind.to_lowercase()])
            {
                all.entry((&*resource.version, name)).or_default().push(resource);
            }
        }
        Self(all)
    }

    /// The kinds of a resource, in the order of discovery: those of any group if none is named. As
    /// `KindsFor` of client-go's restmapper/discovery.go.
    fn of_resource(&self, group: &str, version: &str, resource: &str) -> Vec<VersionedKind> {
        let mut kinds = Vec::new();
        for it in self.0.get(&(version, resource.to_lowercase())).into_iter().flatten() {
            let kind = VersionedKind {
                group: it.group.to_string(),
                version: it.version.to_string(),
                kind: it.kind.to_string(),
            };
            if (group.is_empty() || it.group == group) && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }
}

// === impl VersionedKind ===

impl VersionedKind {
    /// Whether upstream's has the schemas of its group in its binary.
    pub(super) fn is_built_in(&self) -> bool {
        BUILT_IN.contains(&&*self.group)
    }
}

impl fmt::Display for VersionedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}
