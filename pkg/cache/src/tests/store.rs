//! The store: what it shows, and which changes it returns for handlers.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{AnyObject, Codec, DecodeError, Index, Key, Meta, Object, Pod, Shape, Text};
use controller::{Change, Lister};

use super::{json, on_node, pods, text};
use crate::store::Store;

fn pod(name: &str, uid: &str, version: u64) -> Arc<Pod> {
    decode(&json(name, uid, version))
}

fn decode(json: &str) -> Arc<Pod> {
    Arc::new(Pod::decode(Codec::Json, json.as_bytes()).unwrap())
}

fn list(pods: &[Arc<Pod>]) -> BTreeMap<Key, Arc<dyn AnyObject>> {
    let entry = |pod: &Arc<Pod>| (pod.meta.key.clone(), Arc::clone(pod) as _);
    pods.iter().map(entry).collect()
}

fn texts(changes: &[Change<dyn AnyObject>]) -> Vec<String> {
    changes.iter().map(|change| text(&change.typed())).collect()
}

fn names(pods: &[Arc<Pod>]) -> Vec<&str> {
    pods.iter().map(|pod| &*pod.meta.key.name).collect()
}

/// A store with a@5 and c@7, of a list at version 10.
fn store() -> Store {
    let mut store = Store::new(Shape::of::<Pod>());
    let changes = store.replace(list(&[pod("c", "c1", 7), pod("a", "a1", 5)]), 10);
    assert_eq!(texts(&changes), ["+ default/a@5", "+ default/c@7"]);
    store
}

#[test]
fn events() {
    type Row = (&'static str, (&'static str, &'static str, u64), &'static [&'static str], u64);
    let rows: &[Row] = &[
        ("a new object", ("b", "b1", 11), &["+ default/b@11"], 11),
        ("a change", ("a", "a1", 11), &["~ default/a@5>11"], 11),
        ("the version that is held", ("a", "a1", 5), &[], 10),
        ("an older version than is held", ("c", "c1", 6), &[], 10),
        ("a change that the list should have had", ("a", "a1", 8), &["~ default/a@5>8"], 10),
        ("an older object that is deleted by now", ("b", "b1", 9), &[], 10),
        // reflector_test.go and shared_informer.go: a missed deletion.
        ("another uid", ("a", "a2", 12), &["- default/a@5", "+ default/a@12"], 12),
        ("another uid, older", ("a", "a0", 4), &[], 10),
    ];
    for &(row, (name, uid, version), changes, after) in rows {
        let mut store = store();
        assert_eq!(texts(&store.apply(pod(name, uid, version))), changes, "{row}");
        assert_eq!(store.version(), after, "{row}");
        let held = store.get(&Key::new("default", name)).map(|pod| pod.metadata().resource_version);
        assert!(changes.is_empty() || held == Some(version), "{row}: holds {held:?}");
    }
}

#[test]
fn deletions() {
    type Row =
        (&'static str, (&'static str, &'static str, u64), &'static [&'static str], u64, bool);
    let rows: &[Row] = &[
        ("comes with the final state", ("a", "a1", 11), &["- default/a@11"], 11, false),
        ("of the version that is held", ("c", "c1", 7), &["- default/c@7"], 10, false),
        ("older than what is held", ("c", "c0", 6), &[], 10, true),
        ("of a later object with the same name", ("a", "a2", 12), &["- default/a@5"], 12, false),
        ("of an object that is not held", ("b", "b1", 11), &[], 11, false),
    ];
    for &(row, (name, uid, version), changes, after, held) in rows {
        let mut store = store();
        let last = pod(name, uid, version);
        assert_eq!(
            texts(&store.delete(&last.meta, Some(Arc::clone(&last) as _))),
            changes,
            "{row}"
        );
        assert_eq!(store.version(), after, "{row}");
        assert_eq!(store.get(&last.meta.key).is_some(), held, "{row}");
    }
    // The final state is unreadable: handlers get the cached state.
    let mut store = store();
    assert_eq!(texts(&store.delete(&pod("a", "a1", 11).meta, None)), ["- default/a@5"]);
}

/// machinery.md, Queue and store: deletes are emitted before adds and updates.
#[test]
fn a_list_gives_deletions_first() {
    let mut store = store();
    let held = Arc::clone(store.get(&Key::new("default", "c")).unwrap());
    store.apply(pod("d", "d1", 11));
    store.apply(pod("e", "e1", 12));
    let new = [pod("a", "a2", 13), pod("b", "b1", 14), pod("c", "c1", 7), pod("e", "e1", 15)];
    let changes = store.replace(list(&new), 15);
    let expected = [
        "- default/a@5",
        "- default/d@11",
        "+ default/a@13",
        "+ default/b@14",
        "~ default/e@12>15",
    ];
    assert_eq!(texts(&changes), expected);
    assert_eq!(names(&pods(&store).all()), ["a", "b", "c", "e"]);
    assert!(
        Arc::ptr_eq(&held, store.get(&held.metadata().key).unwrap()),
        "an equal object is kept"
    );
    assert_eq!(store.version(), 15);
}

#[test]
fn indexes_follow() {
    let mut store = Store::new(Shape::of::<Pod>());
    let on = |name, uid, version, node| decode(&on_node(name, uid, version, node));
    store.replace(list(&[on("c", "c", 1, "n1"), on("a", "a", 2, "n1"), pod("x", "x", 3)]), 3);
    assert_eq!(names(&pods(&store).by(Pod::BY_NODE, "n1")), ["a", "c"]);
    store.apply(on("b", "b", 4, "n1"));
    assert_eq!(names(&pods(&store).by(Pod::BY_NODE, "n1")), ["a", "b", "c"]);
    store.apply(on("a", "a", 5, "n2"));
    assert_eq!(names(&pods(&store).by(Pod::BY_NODE, "n1")), ["b", "c"]);
    assert_eq!(names(&pods(&store).by(Pod::BY_NODE, "n2")), ["a"]);
    // In place: the index returns the new state.
    store.apply(on("b", "b", 6, "n1"));
    assert_eq!(pods(&store).by(Pod::BY_NODE, "n1")[0].meta.resource_version, 6);
    // The final state of a deleted pod may differ from the one in the index.
    let last = on("a", "a", 7, "n3");
    store.delete(&last.meta, Some(Arc::clone(&last) as _));
    assert!(pods(&store).by(Pod::BY_NODE, "n2").is_empty());
    // Another uid under the same key, on another node.
    store.apply(on("b", "b2", 8, "n2"));
    assert_eq!(names(&pods(&store).by(Pod::BY_NODE, "n1")), ["c"]);
    store.replace(list(&[on("c", "c", 9, "n2")]), 9);
    assert!(pods(&store).by(Pod::BY_NODE, "n1").is_empty());
    assert_eq!(names(&pods(&store).by(Pod::BY_NODE, "n2")), ["c"]);
    assert_eq!(names(&pods(&store).by(Pod::ORPHANS_BY_NAMESPACE, "default")), ["c"]);
}

/// An object that an index has under several values.
struct Tagged {
    meta: Meta,
    tags: Vec<Text>,
}

impl Object for Tagged {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[Index::several("by tag", |it| it.tags.clone())];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        Meta::decode(codec, bytes).map(|meta| Self { meta, tags: Vec::new() })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self { meta, tags: Vec::new() }
    }
}

/// As client-go's thread_safe_store_test.go: an object is found under all its values, and under no
/// value that it had before.
#[test]
fn an_object_is_found_under_each_of_its_values() {
    let tagged = |version, tags: &[&str]| {
        let object = Tagged::decode(Codec::Json, json("a", "a1", version).as_bytes()).unwrap();
        Arc::new(Tagged { tags: tags.iter().map(|&tag| tag.into()).collect(), ..object })
    };
    let mut store = Store::new(Shape::of::<Tagged>());
    let found = |store: &Store| {
        let versions = |tag: &str| -> Vec<u64> {
            Lister::<Tagged>::new(store)
                .by("by tag", tag)
                .iter()
                .map(|it| it.meta.resource_version)
                .collect()
        };
        ["x", "y", "z"].map(versions)
    };
    let nowhere: [Vec<u64>; 3] = Default::default();
    store.apply(tagged(1, &["x", "y", "y"]));
    assert_eq!(found(&store), [vec![1], vec![1], vec![]]);
    store.apply(tagged(2, &["y", "z"]));
    assert_eq!(found(&store), [vec![], vec![2], vec![2]]);
    store.apply(tagged(3, &[]));
    assert_eq!(found(&store), nowhere);
    store.apply(tagged(4, &["z"]));
    let deleted = tagged(5, &[]);
    store.delete(&deleted.meta, None);
    assert_eq!(found(&store), nowhere);
}
