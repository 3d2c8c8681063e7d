//! The kinds that are only counted.

use std::collections::{BTreeMap, BTreeSet};

use api::{Resource, Served, Text, Verb, intern};

/// How many names are remembered. Beyond, those that are no longer served are forgotten.
const NAMES_MAX: usize = 10_000;
/// What a kind must admit to be counted.
const VERBS: &[Verb] = &[Verb::Create, Verb::Delete, Verb::List, Verb::Watch];
/// Kinds that are not counted, as `ignoredResources` of upstream's pkg/quota/v1/install; what is
/// not stored lacks verbs too.
const IGNORED: [(&str, &str); 2] = [("", "events"), ("events.k8s.io", "events")];
/// Kinds that are counted by their name alone, too, and whether they are served or not.
static ALIASES: [Resource; 4] = [
    Resource::namespaced("", "v1", "configmaps", "ConfigMap"),
    Resource::namespaced("", "v1", "replicationcontrollers", "ReplicationController"),
    Resource::namespaced("", "v1", "resourcequotas", "ResourceQuota"),
    Resource::namespaced("", "v1", "secrets", "Secret"),
];

/// The kinds that the API server served since the start. As upstream, which never drops an
/// evaluator: of a kind that is no longer served there is nothing.
#[derive(Debug, Default)]
pub struct Kinds {
    by_name: BTreeMap<Text, Resource>,
    served: BTreeSet<Text>,
}

/// What quotas call the count of a kind, and by another name, too.
pub(super) fn names(resource: &Resource) -> impl Iterator<Item = String> {
    let is_it = |it: &&Resource| (&it.group, &it.plural) == (&resource.group, &resource.plural);
    let alias = ALIASES.iter().find(is_it).map(|it| it.plural.to_string());
    [format!("count/{resource}")].into_iter().chain(alias)
}

impl Kinds {
    /// The kind that a name counts.
    pub(super) fn find(&self, name: &str) -> Option<Resource> {
        let plural = name.strip_prefix("count/").unwrap_or(name);
        let alias = ALIASES.iter().find(|it| it.plural == plural);
        alias.or_else(|| self.by_name.get(name)).cloned()
    }

    /// Whether a kind was served when that was last asked. Those with an alias always count as
    /// served.
    pub(super) fn is_served(&self, resource: &Resource) -> bool {
        let is_alias = || names(resource).nth(1).is_some();
        names(resource).any(|name| self.served.contains(&*name)) || is_alias()
    }

    pub(super) fn serve(&mut self, served: &Served) {
        self.served.clear();
        for resource in served.preferred(VERBS).filter(|it| it.namespaced) {
            if !IGNORED.contains(&(&*resource.group, &*resource.plural)) {
                let name = intern(&format!("count/{resource}"));
                self.served.insert(name.clone());
                self.by_name.insert(name, resource.clone());
            }
        }
        if self.by_name.len() > NAMES_MAX {
            self.by_name.retain(|name, _| self.served.contains(name));
        }
    }
}
