//! Where a kind lives on the API server.

use std::borrow::Cow;
use std::fmt;

use crate::Key;

/// A kind and its place in the API. Constants for the built-in kinds stand with their views; custom
/// kinds are made while running. Prints as upstream's `GroupResource`: `pods`, `replicasets.apps`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// Empty for the core group.
    pub group: Cow<'static, str>,
    /// Such as `v1`.
    pub version: Cow<'static, str>,
    /// Plural, as in paths: `pods`.
    pub plural: Cow<'static, str>,
    /// Such as `Pod`.
    pub kind: Cow<'static, str>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

impl Resource {
    /// A built-in, namespaced kind.
    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        Self {
            group: Cow::Borrowed(group),
            version: Cow::Borrowed(version),
            plural: Cow::Borrowed(plural),
            kind: Cow::Borrowed(kind),
            namespaced: true,
        }
    }

    /// A built-in kind outside namespaces.
    pub const fn cluster_scoped(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        let mut resource = Self::namespaced(group, version, plural, kind);
        resource.namespaced = false;
        resource
    }

    /// `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            return self.version.clone().into_owned();
        }
        format!("{}/{}", self.group, self.version)
    }

    /// The path of all objects, over all namespaces if `namespace` is empty.
    pub fn collection_path(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() { "/api/" } else { "/apis/" };
        let within = if namespace.is_empty() { "" } else { "/namespaces/" };
        format!("{root}{}{within}{namespace}/{}", self.api_version(), self.plural)
    }

    /// The path of one object. Names are valid path segments, since the API server checks that.
    pub fn object_path(&self, key: &Key) -> String {
        format!("{}/{}", self.collection_path(&key.namespace), key.name)
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            return f.write_str(&self.plural);
        }
        write!(f, "{}.{}", self.plural, self.group)
    }
}
