//! The names of resources, from discovery.

use anyhow::{Context as _, bail};
use api::Resource;
use serde_json::Value;

use crate::{Ask, Cluster};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The resources of a cluster.
pub(crate) struct Resources(Vec<Known>);

struct Known {
    resource: Resource,
    singular: String,
    short: Vec<String>,
}

impl Resources {
    /// Asks the server.
    pub(crate) async fn discover(cluster: &impl Cluster) -> anyhow::Result<Self> {
        let mut known = Vec::new();
        for path in ["/api", "/apis"] {
            let reply = cluster.ask(Ask { accept: AGGREGATED, ..Ask::get(path) }).await?;
            let groups = items(&reply.body, "items");
            for group in groups {
                let name = text(group.get("metadata").unwrap_or(&Value::Null), "name");
                for version in items(group, "versions") {
                    let found = items(version, "resources").iter();
                    known.extend(found.map(|it| Known::read(&name, &text(version, "version"), it)));
                }
            }
        }
        if known.is_empty() {
            bail!("the server serves no resources");
        }
        Ok(Self(known))
    }

    /// By plural, singular, short name or kind, with or without the group.
    pub(crate) fn named(&self, name: &str) -> anyhow::Result<&Resource> {
        let (name, group) = name.split_once('.').map_or((name, None), |(name, g)| (name, Some(g)));
        let name = name.to_lowercase();
        let fits = |known: &&Known| {
            let it = &known.resource;
            let names = [&*it.plural, known.singular.as_str()];
            let is_named = names.contains(&name.as_str())
                || known.short.contains(&name)
                || it.kind.to_lowercase() == name;
            is_named && group.is_none_or(|group| it.group == group)
        };
        let found = self.0.iter().find(fits).map(|known| &known.resource);
        found.with_context(|| format!("the server doesn't have a resource type {name:?}"))
    }

    /// The resource of a document.
    pub(crate) fn of(&self, document: &Value) -> anyhow::Result<&Resource> {
        let (version, kind) = (text(document, "apiVersion"), text(document, "kind"));
        let fits =
            |known: &&Known| known.resource.api_version() == version && known.resource.kind == kind;
        let found = self.0.iter().find(fits).map(|known| &known.resource);
        found.with_context(|| format!("no matches for kind {kind:?} in version {version:?}"))
    }
}

impl Known {
    fn read(group: &str, version: &str, it: &Value) -> Self {
        let kind = it.get("responseKind").unwrap_or(&Value::Null);
        let own = |field: &str, default: &str| match text(kind, field) {
            said if said.is_empty() => default.to_owned(),
            said => said,
        };
        Self {
            resource: Resource {
                group: own("group", group).into(),
                version: own("version", version).into(),
                plural: text(it, "resource").into(),
                kind: text(kind, "kind").into(),
                namespaced: text(it, "scope") == "Namespaced",
            },
            singular: text(it, "singularResource"),
            short: items(it, "shortNames")
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        }
    }
}

/// A list; empty: there is none.
pub(crate) fn items<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A text; empty: there is none.
pub(crate) fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}
