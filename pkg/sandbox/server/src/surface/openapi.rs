//! OpenAPI, version 3. There is no version 2: kubectl asks for it where version 3 fails, and
//! nowhere else.

use std::sync::Arc;

use apimachinery::fields;
use schema::Schema;
use schema::openapi::{Described, v3, v3_index};

use super::discovery::groups;
use super::{Page, hash};
use crate::registry::{Registry, Served};
use crate::server::State;

/// The documents below `/openapi/v3`; none: there is none at this path.
pub(super) fn page(state: &State, path: &str) -> Option<Page> {
    let registry = &state.registry;
    if path == "/openapi/v3" {
        let versions = groups(registry).into_iter().flat_map(|group| {
            let paths = group.versions.iter().map(|version| group.path(version));
            let paths = paths.map(|path| path.trim_start_matches('/').to_owned());
            paths.collect::<Vec<_>>()
        });
        let versions = versions.filter_map(|path| {
            let served = served(registry, &path)?;
            Some((path, fingerprint(&served)))
        });
        let versions: Vec<_> = versions.collect();
        let index = versions.iter().map(|(path, hash)| (path.as_str(), hash.as_str()));
        return Some(Page::json(&v3_index(index)));
    }
    let served = served(registry, path.strip_prefix("/openapi/v3/")?)?;
    let resources: Vec<_> = served.iter().map(|it| described(it)).collect();
    let page = Page::json(&v3(Schema::builtin(), &resources));
    Some(Page { etag: Some(format!("\"{}\"", fingerprint(&served))), ..page })
}

/// What is served below `api/v1` or `apis/apps/v1`; none: nothing.
fn served<'a>(registry: &'a Registry, path: &str) -> Option<Vec<&'a Arc<Served>>> {
    let parts: Vec<_> = path.split('/').collect();
    let place = match parts.as_slice() {
        ["api", version] => ("", *version),
        ["apis", group, version] => (*group, *version),
        _ => return None,
    };
    let here = |it: &&Arc<Served>| (&*it.resource.group, &*it.resource.version) == place;
    Some(registry.all().filter(here).collect()).filter(|served: &Vec<_>| !served.is_empty())
}

/// What a document depends on, short.
fn fingerprint(served: &[&Arc<Served>]) -> String {
    let resources = served.iter().map(|it| {
        let version =
            it.definition.as_ref().and_then(|it| it.0.pointer("/metadata/resourceVersion"));
        (Described { custom: None, ..described(it) }, version)
    });
    let resources: Vec<_> = resources.collect();
    hash(format!("{resources:?}").as_bytes())
}

fn described(served: &Served) -> Described<'_> {
    let resource = &served.resource;
    Described {
        group: &resource.group,
        version: &resource.version,
        kind: &resource.kind,
        plural: &resource.plural,
        namespaced: resource.namespaced,
        verbs: &served.verbs,
        ty: served.ty,
        custom: served.definition.as_ref().and_then(|(definition, at)| {
            fields::at(definition, &format!("/spec/versions/{at}/schema/openAPIV3Schema"))
        }),
    }
}
