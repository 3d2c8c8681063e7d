//! Which resources are served: the built-in ones, and those of CustomResourceDefinitions.

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use api::Resource;
use schema::{Schema, TypeId};
use serde_json::Value;
use strategies::{Builtin, Strategy, Subresource, builtin};

use crate::store::Table;

/// The built-in resources: the same for all servers of a process.
static BUILTIN: LazyLock<Arc<Vec<Arc<Served>>>> = LazyLock::new(|| {
    let served = builtin().iter().map(|row| Arc::new(Served::builtin(row)));
    let mut served: Vec<_> = served.collect();
    served.sort_by(|one, other| one.compare(other.place()));
    Arc::new(served)
});

/// All that is served.
pub(crate) struct Registry {
    /// By group, version and plural.
    served: Arc<Vec<Arc<Served>>>,
}

/// A resource at one version.
pub(crate) struct Served {
    /// Its names and its place.
    pub(crate) resource: Resource,
    /// Such as `pod`.
    pub(crate) singular: String,
    /// Such as `po`.
    pub(crate) short_names: Vec<String>,
    /// Such as `all`.
    pub(crate) categories: Vec<String>,
    /// As discovery names them.
    pub(crate) verbs: Vec<&'static str>,
    /// What is below an object.
    pub(crate) subresources: Vec<Subresource>,
    /// Where its objects are, whatever the version.
    pub(crate) table: Table,
    /// What its objects hold.
    pub(crate) ty: TypeId,
    /// What is done with its objects.
    pub(crate) strategy: Rules,
    /// Whether a CustomResourceDefinition made it.
    pub(crate) custom: bool,
    /// Where the documents of `/scale` come from, if a CustomResourceDefinition says it.
    pub(crate) scale: Option<ScalePaths>,
    /// The CustomResourceDefinition that made it, and which of its versions it is.
    pub(crate) definition: Option<(Arc<Value>, usize)>,
}

/// What is done with objects: the rules of a built-in kind, or of a definition.
#[derive(Clone)]
pub(crate) enum Rules {
    Builtin(&'static dyn Strategy),
    Custom(Arc<dyn Strategy>),
}

/// Where a custom object keeps what `/scale` shows, as JSON pointers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScalePaths {
    /// How many are wanted: `/spec/replicas`.
    pub(crate) wanted: String,
    /// How many there are: `/status/replicas`.
    pub(crate) present: String,
    /// The selector as text, if it is kept.
    pub(crate) selector: Option<String>,
}

impl Registry {
    /// The built-in resources.
    pub(crate) fn new() -> Self {
        Self { served: BUILTIN.clone() }
    }

    /// Whether nothing but the built-in resources is served.
    pub(crate) fn is_builtin(&self) -> bool {
        Arc::ptr_eq(&self.served, &BUILTIN)
    }

    /// What is served at a place.
    pub(crate) fn get(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        self.served.get(self.find((group, version, plural)).ok()?)
    }

    /// All, by group, version and plural.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.served.iter()
    }

    /// Serves a resource.
    pub(crate) fn add(&mut self, served: Served) {
        let found = self.find(served.place());
        let all = Arc::make_mut(&mut self.served);
        match found {
            Ok(at) => all[at] = Arc::new(served),
            Err(at) => all.insert(at, Arc::new(served)),
        }
    }

    /// Serves a resource no longer.
    pub(crate) fn remove(&mut self, group: &str, version: &str, plural: &str) {
        if let Ok(at) = self.find((group, version, plural)) {
            Arc::make_mut(&mut self.served).remove(at);
        }
    }

    fn find(&self, place: (&str, &str, &str)) -> Result<usize, usize> {
        self.served.binary_search_by(|it| it.compare(place))
    }
}

impl Deref for Rules {
    type Target = dyn Strategy;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Builtin(rules) => *rules,
            Self::Custom(rules) => &**rules,
        }
    }
}

impl Served {
    /// Group, version and plural.
    fn place(&self) -> (&str, &str, &str) {
        (&self.resource.group, &self.resource.version, &self.resource.plural)
    }

    fn compare(&self, place: (&str, &str, &str)) -> Ordering {
        self.place().cmp(&place)
    }

    fn builtin(row: &'static Builtin) -> Self {
        let Builtin { group, version, kind, .. } = *row;
        let schema = Schema::builtin();
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self {
            resource: row.resource(),
            singular: row.singular.to_owned(),
            short_names: texts(row.short_names),
            categories: texts(row.categories),
            verbs: row.verbs.to_vec(),
            subresources: row.subresources.to_vec(),
            table: row.resource().to_string().into(),
            ty: schema.kind(group, version, kind).unwrap_or_else(|| schema.custom()),
            strategy: Rules::Builtin(row.strategy),
            custom: false,
            scale: None,
            definition: None,
        }
    }
}
