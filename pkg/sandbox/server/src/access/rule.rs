//! A rule of a role, and what it allows (kubernetes' pkg/apis/rbac/v1/evaluation_helpers.go).

use serde_json::{Map, Value};

use super::{Attributes, Resource, To};
use crate::write::fields::texts;

/// A rule of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(super) verbs: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) resources: Vec<String>,
    /// None: all.
    pub(super) names: Vec<String>,
    /// Paths that name no resource.
    pub(super) paths: Vec<String>,
}

impl Rule {
    /// A PolicyRule.
    pub(super) fn read(rule: &Value) -> Self {
        Self {
            verbs: texts(rule, "/verbs"),
            groups: texts(rule, "/apiGroups"),
            resources: texts(rule, "/resources"),
            names: texts(rule, "/resourceNames"),
            paths: texts(rule, "/nonResourceURLs"),
        }
    }

    /// Whether it allows something.
    pub(super) fn allows(&self, what: &Attributes<'_>) -> bool {
        if !has_or_all(&self.verbs, what.verb) {
            return false;
        }
        match what.to {
            To::Resource(resource) => {
                let named = self.names.is_empty() || has(&self.names, resource.name);
                named && has_or_all(&self.groups, resource.group) && self.has_resource(&resource)
            }
            To::Path(path) => self.paths.iter().any(|known| path_covers(known, path)),
        }
    }

    fn has_resource(&self, resource: &Resource<'_>) -> bool {
        let Resource { plural, subresource, .. } = *resource;
        let below = |known: &str, of: &str| {
            known.strip_prefix(of).and_then(|it| it.strip_prefix('/')) == Some(subresource)
        };
        self.resources.iter().any(|known| match subresource {
            "" => known == "*" || known == plural,
            _ => known == "*" || below(known, plural) || below(known, "*"),
        })
    }

    /// As rules of reviews show it: fields that are empty are left out.
    pub(crate) fn json(&self) -> Value {
        let fields = [
            ("verbs", &self.verbs),
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
            ("nonResourceURLs", &self.paths),
        ];
        let said = fields.into_iter().filter(|(_, values)| !values.is_empty());
        let said = said.map(|(field, values)| (field.to_owned(), values.clone().into()));
        Value::Object(said.collect::<Map<_, _>>())
    }
}

/// Whether a path, which may end with `*`, names another one.
pub(super) fn path_covers(known: &str, path: &str) -> bool {
    known == path || (known.ends_with('*') && path.starts_with(known.trim_end_matches('*')))
}

pub(super) fn has(all: &[String], one: &str) -> bool {
    all.iter().any(|it| it == one)
}

pub(super) fn has_or_all(all: &[String], one: &str) -> bool {
    all.iter().any(|it| it == "*" || it == one)
}
