//! The kinds that the expressions of a policy are checked over. As `typesToCheck` of
//! k8s.io/apiserver's pkg/admission/plugin/policy/validating/typechecking.go.

use std::collections::BTreeSet;
use std::fmt;

use api::{NamedResources, PolicyExpressions, Served};
use controller::Query;

/// The most kinds that one rule adds.
const KINDS_MAX: usize = 10;
/// The most resources, each in a group and version, that a policy may name: lists of all three
/// multiply. One that names more is not checked.
const NAMES_MAX: usize = 10_000;

/// A kind in a version, sorted as upstream's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct VersionedKind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

/// The kinds that a policy names; none: some of them cannot be known, as discovery fails, or it
/// names too many resources.
pub(super) fn named(policy: &PolicyExpressions, served: &Served) -> Option<Vec<VersionedKind>> {
    let mut kinds = BTreeSet::new();
    let mut names_left = NAMES_MAX;
    for rule in &policy.rules {
        let mut count = 0;
        let names = resources(rule, names_left)?;
        names_left -= names.len();
        for (group, version, resource) in names {
            let place = match group {
                "" => version.to_owned(),
                group => format!("{group}/{version}"),
            };
            if served.failed.contains_key(&place) {
                return None;
            }
            for kind in of_resource(served, group, version, resource) {
                kinds.insert(kind);
                count += 1;
                if count == KINDS_MAX {
                    return Some(kinds.into_iter().collect());
                }
            }
        }
    }
    Some(kinds.into_iter().collect())
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

/// The kinds of a resource, in the order of discovery: those of any group if none is named. As
/// `KindsFor` of client-go's restmapper/discovery.go, whose mappers know singular names, too.
fn of_resource(served: &Served, group: &str, version: &str, resource: &str) -> Vec<VersionedKind> {
    let resource = resource.to_lowercase();
    let mut kinds = Vec::new();
    for it in served.kinds.iter().map(|it| &it.resource) {
        let is_here = it.version == version && (group.is_empty() || it.group == group);
        if !is_here || !(it.plural == *resource || it.kind.eq_ignore_ascii_case(&resource)) {
            continue;
        }
        let kind = VersionedKind {
            group: it.group.to_string(),
            version: it.version.to_string(),
            kind: it.kind.to_string(),
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

// === impl VersionedKind ===

impl VersionedKind {
    /// For the OpenAPI document of its group and version; none: no group or version is called so.
    pub(super) fn document(&self) -> Option<Query> {
        let Self { group, version, kind: _ } = self;
        let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '.');
        let is_name = |name: &str| !name.starts_with('.') && name.chars().all(is_part);
        if version.is_empty() || !is_name(group) || !is_name(version) {
            return None;
        }
        Some(Query::document(match &**group {
            "" => format!("/openapi/v3/api/{version}"),
            group => format!("/openapi/v3/apis/{group}/{version}"),
        }))
    }
}

impl fmt::Display for VersionedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}
