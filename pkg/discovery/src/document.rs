//! The documents of discovery: both forms, and what follows from them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use api::wire::{decode_json, null_is_empty};
use api::{Resource, Served, ServedKind, Subresource, Verb, intern};
use client::{ApiError, Document};
use serde::Deserialize;

/// A content type of the aggregated form.
pub(crate) const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// Versions that most kinds have, held once instead of once per kind.
const VERSIONS: [&str; 9] =
    ["v1", "v1beta1", "v1alpha1", "v2", "v1beta2", "v1alpha2", "v2beta1", "v1beta3", "v1alpha3"];

/// The content of one document.
pub(crate) struct Page {
    pub(crate) form: Form,
    /// In the order of discovery.
    pub(crate) groups: Vec<Group>,
    kinds: Vec<ServedKind>,
    failed: BTreeMap<String, String>,
}

/// The two forms of a document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// With the kinds of each version.
    Aggregated,
    /// Only the names of groups and versions.
    Plain,
}

/// A group, and its versions that can be requested.
pub(crate) struct Group {
    /// Empty for the core group.
    pub(crate) name: String,
    preferred: String,
    pub(crate) versions: Vec<String>,
}

// === impl Page ===

impl Page {
    /// Reads the document at `path`, `/api` or `/apis`. An error names the path and the field.
    pub(crate) fn parse(path: &str, document: &Document) -> Result<Self, ApiError> {
        let body = &document.body;
        if is_aggregated(&document.content_type) {
            return Ok(Self::aggregated(decode(path, body)?));
        }
        let groups = if path == crate::CORE {
            let CoreVersions { versions } = decode(path, body)?;
            let preferred = versions.first().cloned().unwrap_or_default();
            vec![Group { name: String::new(), preferred, versions }]
        } else {
            let GroupList { groups } = decode(path, body)?;
            groups.into_iter().map(WireGroup::view).collect()
        };
        Ok(Self { form: Form::Plain, groups, kinds: Vec::new(), failed: BTreeMap::new() })
    }

    /// client-go's SplitGroupsAndResources: a stale version counts as failed, and the first version
    /// that is not stale is preferred.
    fn aggregated(list: DiscoveryList<'_>) -> Self {
        let (mut groups, mut kinds) = (Vec::new(), Vec::new());
        let mut failed = BTreeMap::new();
        for group in list.items {
            let name = group.metadata.name.into_owned();
            let mut versions = Vec::new();
            for found in group.versions {
                let version = found.version.into_owned();
                if found.freshness == "Stale" {
                    let group_version = group_version(&name, &version);
                    let error = format!("stale GroupVersion discovery: {group_version}");
                    failed.insert(group_version, error);
                    continue;
                }
                let found = found.resources.into_iter();
                kinds.extend(found.filter_map(|resource| resource.view(&name, &version)));
                versions.push(version);
            }
            let preferred = versions.first().cloned().unwrap_or_default();
            groups.push(Group { name, preferred, versions });
        }
        Self { form: Form::Aggregated, groups, kinds, failed }
    }
}

/// The kinds in aggregated documents.
pub(crate) fn aggregated(pages: [Page; 2]) -> Served {
    let (mut groups, mut kinds, mut failed) = (Vec::new(), Vec::new(), BTreeMap::new());
    for page in pages {
        groups.extend(page.groups);
        kinds.extend(page.kinds);
        failed.extend(page.failed);
    }
    prefer(&mut kinds, &groups);
    kinds.shrink_to_fit();
    Served::new(kinds, failed)
}

/// The kinds of a group version, from its own document at `path`.
pub(crate) fn resources(
    path: &str,
    group: &str,
    version: &str,
    body: &[u8],
) -> Result<Vec<ServedKind>, ApiError> {
    let ResourceList { resources } = decode(path, body)?;
    let mut parts: BTreeMap<String, Vec<Subresource>> = BTreeMap::new();
    for resource in &resources {
        if let Some((whole, name)) = resource.name.split_once('/') {
            let part = subresource(name, &resource.verbs);
            parts.entry(whole.to_owned()).or_default().extend(part);
        }
    }
    let kinds = resources.into_iter().filter_map(|resource| {
        let parts = parts.get(&*resource.name).cloned().unwrap_or_default();
        Some(ServedKind { subresources: parts.into(), ..resource.view(group, version)? })
    });
    Ok(kinds.collect())
}

/// Marks the preferred version of each resource: that of its group if it has the resource, else the
/// first that does (client-go's ServerPreferredResources).
pub(crate) fn prefer<'a>(kinds: &mut [ServedKind], groups: impl IntoIterator<Item = &'a Group>) {
    let groups = groups.into_iter().map(|group| (&*group.name, &*group.preferred));
    let versions: BTreeMap<&str, &str> = groups.collect();
    let mut chosen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (place, kind) in kinds.iter().enumerate() {
        let Resource { group, version, plural, .. } = &kind.resource;
        match chosen.entry((group, plural)) {
            Entry::Vacant(entry) => drop(entry.insert(place)),
            Entry::Occupied(mut entry) => {
                if versions.get(&**group).is_some_and(|preferred| preferred == version) {
                    entry.insert(place);
                }
            }
        }
    }
    let chosen: Vec<usize> = chosen.into_values().collect();
    for place in chosen {
        if let Some(kind) = kinds.get_mut(place) {
            kind.preferred = true;
        }
    }
}

/// As apimachinery's GroupVersion prints.
pub(crate) fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// client-go's ContentTypeIsGVK: the parameters of a content type are in any order, with others
/// among them.
fn is_aggregated(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    let pairs = parts.filter_map(|part| part.split_once('='));
    let parameters: BTreeMap<String, &str> =
        pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.trim_matches('"'))).collect();
    let has = |name: &str, value: &str| parameters.get(name).is_some_and(|it| *it == value);
    is_json
        && has("g", "apidiscovery.k8s.io")
        && (has("v", "v2") || has("v", "v2beta1"))
        && has("as", "APIGroupDiscoveryList")
}

fn decode<'de, T: Deserialize<'de>>(path: &str, body: &'de [u8]) -> Result<T, ApiError> {
    decode_json(body).map_err(|error| ApiError::Decode(format!("{path}: {error}")))
}

fn served_kind(resource: Resource, verbs: &[WireVerb]) -> Option<ServedKind> {
    // A slash means a subresource.
    if resource.plural.is_empty() || resource.plural.contains('/') {
        return None;
    }
    let verbs = sorted(verbs);
    Some(ServedKind { resource, verbs, preferred: false, subresources: Box::default() })
}

/// None: it has no name.
fn subresource(name: &str, verbs: &[WireVerb]) -> Option<Subresource> {
    (!name.is_empty()).then(|| Subresource { name: intern(name), verbs: sorted(verbs) })
}

fn sorted(verbs: &[WireVerb]) -> Box<[Verb]> {
    let mut verbs: Vec<Verb> = verbs.iter().filter_map(WireVerb::view).collect();
    verbs.sort_unstable();
    verbs.dedup();
    verbs.into()
}

fn version_name(version: &str) -> Cow<'static, str> {
    let usual = VERSIONS.into_iter().find(|usual| *usual == version);
    usual.map_or_else(|| version.to_owned().into(), Cow::Borrowed)
}

// === Wire: the aggregated form, apidiscovery.k8s.io v2 and v2beta1 ===

#[derive(Default, Deserialize)]
#[serde(default)]
struct DiscoveryList<'a> {
    #[serde(borrow, deserialize_with = "null_is_empty")]
    items: Vec<DiscoveryGroup<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DiscoveryGroup<'a> {
    #[serde(borrow, deserialize_with = "null_is_empty")]
    metadata: Metadata<'a>,
    #[serde(borrow, deserialize_with = "null_is_empty")]
    versions: Vec<DiscoveryVersion<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DiscoveryVersion<'a> {
    #[serde(borrow)]
    version: Cow<'a, str>,
    #[serde(borrow)]
    freshness: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "null_is_empty")]
    resources: Vec<DiscoveryResource<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DiscoveryResource<'a> {
    #[serde(borrow)]
    resource: Cow<'a, str>,
    #[serde(borrow)]
    response_kind: Option<ResponseKind<'a>>,
    #[serde(borrow)]
    scope: Cow<'a, str>,
    #[serde(deserialize_with = "null_is_empty")]
    verbs: Vec<WireVerb>,
    #[serde(borrow, deserialize_with = "null_is_empty")]
    subresources: Vec<DiscoverySubresource<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DiscoverySubresource<'a> {
    #[serde(borrow)]
    subresource: Cow<'a, str>,
    #[serde(deserialize_with = "null_is_empty")]
    verbs: Vec<WireVerb>,
}

#[derive(Default, Deserialize, PartialEq)]
#[serde(default)]
struct ResponseKind<'a> {
    #[serde(borrow)]
    group: Cow<'a, str>,
    #[serde(borrow)]
    version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

impl DiscoveryResource<'_> {
    /// None if it is listed only because of its subresources: then it says nothing about its kind.
    /// The group and version of its kind do not matter.
    fn view(self, group: &str, version: &str) -> Option<ServedKind> {
        let kind = self.response_kind.filter(|kind| *kind != ResponseKind::default())?.kind;
        let resource = Resource {
            group: group.to_owned().into(),
            version: version_name(version),
            plural: self.resource.into_owned().into(),
            kind: kind.into_owned().into(),
            namespaced: self.scope == "Namespaced",
        };
        let parts = self.subresources.iter();
        let parts = parts.filter_map(|part| subresource(&part.subresource, &part.verbs));
        let kind = served_kind(resource, &self.verbs)?;
        Some(ServedKind { subresources: parts.collect(), ..kind })
    }
}

// === Wire: the plain form, metav1 ===

/// `APIVersions`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CoreVersions {
    #[serde(deserialize_with = "null_is_empty")]
    versions: Vec<String>,
}

/// `APIGroupList`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct GroupList {
    #[serde(deserialize_with = "null_is_empty")]
    groups: Vec<WireGroup>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireGroup {
    name: String,
    #[serde(deserialize_with = "null_is_empty")]
    versions: Vec<WireVersion>,
    #[serde(deserialize_with = "null_is_empty")]
    preferred_version: WireVersion,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireVersion {
    version: String,
}

/// `APIResourceList`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ResourceList<'a> {
    #[serde(borrow, deserialize_with = "null_is_empty")]
    resources: Vec<WireResource<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireResource<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    namespaced: bool,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(deserialize_with = "null_is_empty")]
    verbs: Vec<WireVerb>,
}

/// The verbs that [`Verb`] knows, in both forms.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum WireVerb {
    Create,
    Delete,
    DeleteCollection,
    Get,
    List,
    Patch,
    Update,
    Watch,
    #[serde(other)]
    Other,
}

impl WireGroup {
    fn view(self) -> Group {
        let versions = self.versions.into_iter().map(|version| version.version).collect();
        Group { name: self.name, preferred: self.preferred_version.version, versions }
    }
}

impl WireResource<'_> {
    fn view(self, group: &str, version: &str) -> Option<ServedKind> {
        let resource = Resource {
            group: group.to_owned().into(),
            version: version_name(version),
            plural: self.name.into_owned().into(),
            kind: self.kind.into_owned().into(),
            namespaced: self.namespaced,
        };
        served_kind(resource, &self.verbs)
    }
}

impl WireVerb {
    fn view(&self) -> Option<Verb> {
        match self {
            Self::Create => Some(Verb::Create),
            Self::Delete => Some(Verb::Delete),
            Self::DeleteCollection => Some(Verb::DeleteCollection),
            Self::Get => Some(Verb::Get),
            Self::List => Some(Verb::List),
            Self::Patch => Some(Verb::Patch),
            Self::Update => Some(Verb::Update),
            Self::Watch => Some(Verb::Watch),
            Self::Other => None,
        }
    }
}
