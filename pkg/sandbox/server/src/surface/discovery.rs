//! Discovery: which groups, versions and resources there are, in both forms.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderMap, header};
use serde_json::{Map, Value, json};

use super::{Page, hash};
use crate::registry::{Registry, Served};
use crate::server::State;

/// The groups of a real API server, as it orders them; core stands alone.
const ORDER: [&str; 20] = [
    "",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];
/// Content types of the aggregated form: what stands in `Accept`, and what is answered.
const AGGREGATED: [&str; 2] = ["v2", "v2beta1"];

/// A group that is served.
pub(super) struct Group {
    /// Empty for core.
    pub(super) name: String,
    /// The preferred one first.
    pub(super) versions: Vec<String>,
}

/// The pages of servers that serve the built-in resources alone: all that there are, for all users.
/// Clients read them all when they start, and making them takes a while.
static BUILTIN: Mutex<BTreeMap<Place, Page>> = Mutex::new(BTreeMap::new());

/// A path, and which aggregated form is wanted.
type Place = (String, Option<&'static str>);

/// The documents of discovery; none: there is none at this path.
pub(super) fn page(state: &State, path: &str, headers: &HeaderMap) -> Option<Page> {
    let form = Some(path).filter(|path| matches!(*path, "/api" | "/apis"));
    let form = form.and_then(|_| aggregated(headers));
    if !state.registry.is_builtin() {
        return make(&state.registry, path, form);
    }
    let known = || BUILTIN.lock().unwrap_or_else(PoisonError::into_inner);
    let place = (path.to_owned(), form);
    if let Some(page) = known().get(&place) {
        return Some(page.clone());
    }
    let page = make(&state.registry, path, form)?;
    known().insert(place, page.clone());
    Some(page)
}

fn make(registry: &Registry, path: &str, form: Option<&'static str>) -> Option<Page> {
    let parts: Vec<_> = path.split('/').skip(1).collect();
    match parts.as_slice() {
        [root @ ("api" | "apis")] => {
            let groups = groups(registry).into_iter();
            let groups = groups.filter(|group| group.name.is_empty() == (*root == "api"));
            let groups: Vec<_> = groups.collect();
            Some(match form {
                Some(version) => aggregated_page(registry, &groups, version),
                None if *root == "api" => Page::json(&core(&groups)),
                None => Page::json(&group_list(&groups)),
            })
        }
        ["api", version] => resources(registry, "", version),
        ["apis", group] => {
            let group = groups(registry).into_iter().find(|it| it.name == **group)?;
            let mut document = group.json();
            document.insert("kind".to_owned(), "APIGroup".into());
            document.insert("apiVersion".to_owned(), "v1".into());
            Some(Page::json(&document.into()))
        }
        ["apis", group, version] => resources(registry, group, version),
        _ => None,
    }
}

/// The groups in the order of discovery: as a real API server has them, then those of
/// definitions by name.
pub(super) fn groups(registry: &Registry) -> Vec<Group> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for served in registry.all() {
        let versions = found.entry(served.resource.group.to_string()).or_default();
        if !versions.iter().any(|it| *it == served.resource.version) {
            versions.push(served.resource.version.to_string());
        }
    }
    let groups = found.into_iter().map(|(name, mut versions)| {
        versions.sort_by_key(|version| Reverse(precedence(version)));
        Group { name, versions }
    });
    let mut groups: Vec<_> = groups.collect();
    let place = |name: &str| ORDER.iter().position(|it| *it == name);
    groups.sort_by_key(|group| place(&group.name).unwrap_or(ORDER.len()));
    groups
}

/// Which of two versions is preferred (apimachinery's CompareKubeAwareVersionStrings): `v2`, `v1`,
/// `v1beta2`, `v1beta1`, `v1alpha1`; others last, by name backwards.
fn precedence(version: &str) -> (u8, u64, u64, Reverse<String>) {
    let number = |text: &str| text.parse::<u64>().ok().filter(|it| *it > 0);
    let other = (0, 0, 0, Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else { return other };
    for (word, stage) in [("alpha", 1), ("beta", 2)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return match (number(major), number(minor)) {
                (Some(major), Some(minor)) => (stage, major, minor, Reverse(String::new())),
                _ => other,
            };
        }
    }
    match number(rest) {
        Some(major) => (3, major, 0, Reverse(String::new())),
        None => other,
    }
}

/// The version of the aggregated form that the client wants first; none: it wants the other form.
fn aggregated(headers: &HeaderMap) -> Option<&'static str> {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|it| it.to_str().ok());
    for kind in accepted.flat_map(|it| it.split(',')) {
        let mut words = kind.split(';').map(str::trim);
        if !matches!(words.next(), Some("application/json" | "*/*" | "application/*")) {
            continue;
        }
        let words: Vec<_> = words.collect();
        let wants = |name: &str, value: &str| {
            words.iter().any(|it| it.split_once('=') == Some((name, value)))
        };
        if !words.iter().any(|it| it.starts_with("as=")) {
            return None;
        }
        let known = wants("as", "APIGroupDiscoveryList") && wants("g", "apidiscovery.k8s.io");
        let version = AGGREGATED.into_iter().find(|version| wants("v", version));
        if let Some(version) = version.filter(|_| known) {
            return Some(version);
        }
    }
    None
}

fn core(groups: &[Group]) -> Value {
    let versions = groups.first().map(|group| group.versions.clone()).unwrap_or_default();
    // A client of the server knows its address already.
    json!({"kind": "APIVersions", "versions": versions, "serverAddressByClientCIDRs": []})
}

fn group_list(groups: &[Group]) -> Value {
    let groups: Vec<_> = groups.iter().map(Group::json).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// What is served of a version, by plural.
fn of_version<'a>(registry: &'a Registry, group: &str, version: &str) -> Vec<&'a Arc<Served>> {
    let here = |served: &&Arc<Served>| {
        (&*served.resource.group, &*served.resource.version) == (group, version)
    };
    registry.all().filter(here).collect()
}

fn resources(registry: &Registry, group: &str, version: &str) -> Option<Page> {
    let served = of_version(registry, group, version);
    let api_version = served.first()?.resource.api_version();
    let resources: Vec<_> = served.iter().flat_map(|served| plain(served)).collect();
    let mut document = json!({
        "kind": "APIResourceList",
        "groupVersion": api_version,
        "resources": resources,
    });
    if !group.is_empty() {
        document["apiVersion"] = "v1".into();
    }
    Some(Page::json(&document))
}

/// A resource and what is below it, in the plain form.
fn plain(served: &Served) -> Vec<Value> {
    let resource = &served.resource;
    let mut this = json!({
        "name": resource.plural,
        "singularName": served.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": served.verbs,
    });
    add_names(served, &mut this);
    let mut all = vec![this];
    for below in &served.subresources {
        let (group, version, kind) = below.kind;
        let mut this = json!({
            "name": format!("{}/{}", resource.plural, below.name),
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": kind,
            "verbs": below.verbs,
        });
        if (group, version) != (&resource.group, &resource.version) {
            this["group"] = group.into();
            this["version"] = version.into();
        }
        all.push(this);
    }
    all
}

fn add_names(served: &Served, document: &mut Value) {
    if !served.short_names.is_empty() {
        document["shortNames"] = served.short_names.clone().into();
    }
    if !served.categories.is_empty() {
        document["categories"] = served.categories.clone().into();
    }
}

fn aggregated_page(registry: &Registry, groups: &[Group], version: &str) -> Page {
    let items: Vec<_> = groups
        .iter()
        .map(|group| {
            let versions: Vec<_> = group
                .versions
                .iter()
                .map(|version| {
                    let served = of_version(registry, &group.name, version);
                    let resources: Vec<_> = served.iter().map(|it| aggregate(it)).collect();
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            let metadata = match group.name.as_str() {
                "" => json!({}),
                name => json!({"name": name}),
            };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    let page = Page::json(&json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    }));
    let content_type =
        format!("application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList");
    let etag = Some(format!("\"{}\"", hash(&page.body)));
    Page { content_type, etag, ..page }
}

/// A resource in the aggregated form. Upstream leaves the group and version of a built-in kind
/// empty where they are those of the list.
fn aggregate(served: &Served) -> Value {
    let resource = &served.resource;
    let kind = |(group, version, kind): (&str, &str, &str)| {
        let same = (group, version) == (&*resource.group, &*resource.version);
        let (group, version) = if same && !served.custom { ("", "") } else { (group, version) };
        json!({"group": group, "version": version, "kind": kind})
    };
    let scope = if resource.namespaced { "Namespaced" } else { "Cluster" };
    let mut this = json!({
        "resource": resource.plural,
        "responseKind": kind((&resource.group, &resource.version, &resource.kind)),
        "scope": scope,
        "singularResource": served.singular,
        "verbs": served.verbs,
    });
    add_names(served, &mut this);
    let below: Vec<_> = served
        .subresources
        .iter()
        .map(|below| {
            let kind = kind(below.kind);
            json!({"subresource": below.name, "responseKind": kind, "verbs": below.verbs})
        })
        .collect();
    if !below.is_empty() {
        this["subresources"] = below.into();
    }
    this
}

// === impl Group ===

impl Group {
    /// Where a version of it is.
    pub(super) fn path(&self, version: &str) -> String {
        match self.name.as_str() {
            "" => format!("/api/{version}"),
            name => format!("/apis/{name}/{version}"),
        }
    }

    fn json(&self) -> Map<String, Value> {
        let version = |version: &String| {
            let group_version = format!("{}/{version}", self.name);
            json!({"groupVersion": group_version, "version": version})
        };
        let versions: Vec<_> = self.versions.iter().map(version).collect();
        let mut group = Map::new();
        group.insert("name".to_owned(), self.name.as_str().into());
        group.insert("preferredVersion".to_owned(), versions.first().cloned().unwrap_or_default());
        group.insert("versions".to_owned(), versions.into());
        group
    }
}
