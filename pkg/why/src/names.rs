//! From what people call a kind to the kind, by discovery.

use std::collections::BTreeSet;

use api::Resource;
use serde_json::Value;

use crate::json::{list, text};

/// The kinds that an API server serves, in the versions that it prefers.
#[derive(Clone, Debug, Default)]
pub struct Names(Vec<Named>);

#[derive(Clone, Debug)]
struct Named {
    resource: Resource,
    singular: String,
    short: Vec<String>,
}

impl Names {
    /// From both documents of aggregated discovery, that of the core group first.
    pub fn read(documents: &[Value]) -> Self {
        let mut named: Vec<Named> = Vec::new();
        let mut known: BTreeSet<(String, String)> = BTreeSet::new();
        for group in documents.iter().flat_map(|document| list(document, "/items")) {
            let name = text(group, "/metadata/name");
            // Versions come in the order of preference.
            for version in list(group, "/versions") {
                for it in list(version, "/resources") {
                    let plural = text(it, "/resource").to_owned();
                    if known.insert((name.to_owned(), plural)) {
                        named.push(Named::read(name, text(version, "/version"), it));
                    }
                }
            }
        }
        Self(named)
    }

    /// By plural, singular, short name or kind, alone or with the group or the version and the
    /// group: `deploy`, `deployments.apps`, `Deployment.v1.apps`. As kubectl, the core group comes
    /// first.
    pub fn find(&self, word: &str) -> Option<&Resource> {
        let (name, rest) = word.split_once('.').map_or((word, ""), |(name, rest)| (name, rest));
        let name = name.to_lowercase();
        let fits = |it: &&Named| {
            let resource = &it.resource;
            let is_named = *resource.plural == *name
                || it.singular == name
                || it.short.contains(&name)
                || resource.kind.to_lowercase() == name;
            let (group, version) = (&*resource.group, &*resource.version);
            let is_there = rest.is_empty()
                || rest == group
                || rest == format!("{version}.{group}").trim_end_matches('.');
            is_named && is_there
        };
        self.0.iter().find(fits).map(|it| &it.resource)
    }

    /// The kind that a reference names.
    pub fn of(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
        let fits = |it: &&Named| it.resource.group == group && it.resource.kind == kind;
        self.0.iter().find(fits).map(|it| &it.resource)
    }

    /// Whether nothing is served, which is no answer of a cluster.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Named {
    fn read(group: &str, version: &str, it: &Value) -> Self {
        let own = |field: &str, default: &str| match text(it, field) {
            "" => default.to_owned(),
            said => said.to_owned(),
        };
        let short = list(it, "/shortNames").iter().filter_map(Value::as_str);
        Self {
            resource: Resource {
                group: own("/responseKind/group", group).into(),
                version: own("/responseKind/version", version).into(),
                plural: text(it, "/resource").to_owned().into(),
                kind: text(it, "/responseKind/kind").to_owned().into(),
                namespaced: text(it, "/scope") == "Namespaced",
            },
            singular: text(it, "/singularResource").to_owned(),
            short: short.map(str::to_owned).collect(),
        }
    }
}
