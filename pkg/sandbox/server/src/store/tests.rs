//! Any sequence of writes against a store that remembers everything by copying it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const LIMITS: usize = 1000;

type Copy = BTreeMap<String, Value>;

/// What is done in a property: to which of a few objects.
#[derive(Clone, Debug)]
enum Write {
    Put(usize, usize, u8),
    Remove(usize, usize),
    /// Of another table.
    Other,
}

fn write() -> impl Strategy<Value = Write> {
    prop_oneof![
        4 => (0..4_usize, 0..5_usize, any::<u8>())
            .prop_map(|(ns, name, x)| Write::Put(ns, name, x)),
        2 => (0..4_usize, 0..5_usize).prop_map(|(ns, name)| Write::Remove(ns, name)),
        1 => Just(Write::Other),
    ]
}

fn key(namespace: usize, name: usize) -> Key {
    Key::new(["a", "a-b", "a0", "b"][namespace], ["x", "x-y", "y", "z.z", "z"][name])
}

fn object(key: &Key, x: u8) -> Value {
    json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": &*key.name, "namespace": &*key.namespace},
        "x": x,
    })
}

fn apply(store: &mut Store, write: &Write) {
    match *write {
        Write::Put(namespace, name, x) => {
            let key = key(namespace, name);
            store.put(&"pods".into(), &key, object(&key, x));
        }
        Write::Remove(namespace, name) => drop(store.remove("pods", &key(namespace, name))),
        Write::Other => {
            let node = json!({"metadata": {"name": "n"}});
            store.put(&"nodes".into(), &Key::new("", "n"), node);
        }
    }
}

fn copy<'a>(objects: impl Iterator<Item = (&'a str, &'a Arc<Stored>)>) -> Copy {
    objects.map(|(path, it)| (path.to_owned(), Value::clone(&it.object))).collect()
}

fn now(store: &Store) -> Copy {
    copy(store.at("pods", store.revision()).unwrap().objects(None, None))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The past is as it was, and events lead from each moment to each later one.
    #[test]
    fn the_past_is_as_it_was(writes in prop::collection::vec(write(), 0..60)) {
        let mut store = Store::new(LIMITS);
        let mut past = BTreeMap::from([(store.revision(), now(&store))]);
        for write in &writes {
            apply(&mut store, write);
            past.insert(store.revision(), now(&store));
        }
        for (revision, then) in &past {
            let snapshot = store.at("pods", *revision).unwrap();
            prop_assert_eq!(&copy(snapshot.objects(None, None)), then);
            for namespace in ["a", "a-b", "a0", "b", "none"] {
                let part = copy(snapshot.objects(Some(namespace), None));
                let prefix = format!("{namespace}/");
                let want = then.iter().filter(|(path, _)| path.starts_with(&prefix));
                prop_assert_eq!(part, want.map(|(p, o)| (p.clone(), o.clone())).collect::<Copy>());
            }
            for from in ["", "a/x\0", "a-b/y", "zzz"] {
                let part = copy(snapshot.objects(None, Some(from)));
                let want = then.range(from.to_owned()..).map(|(p, o)| (p.clone(), o.clone()));
                prop_assert_eq!(part, want.collect::<Copy>());
            }
            let mut replayed = then.clone();
            for event in store.after("pods", *revision).unwrap() {
                let path = event.key.to_string();
                let before = event.before.as_ref().map(|it| Value::clone(&it.object));
                prop_assert_eq!(replayed.remove(&path), before);
                if let Some(after) = &event.after {
                    prop_assert_eq!(after.revision, event.revision);
                    replayed.insert(path, Value::clone(&after.object));
                }
            }
            prop_assert_eq!(&replayed, &now(&store));
            // A store that stopped there has the same history until then.
            let old = store.as_of(*revision).unwrap();
            prop_assert_eq!(old.revision(), *revision);
            prop_assert_eq!(&now(&old), then);
            for (earlier, state) in past.range(..=revision) {
                let snapshot = old.at("pods", *earlier).unwrap();
                prop_assert_eq!(&copy(snapshot.objects(None, None)), state);
                let events = old.after("pods", *earlier).unwrap().map(|event| event.revision);
                let whole = store.after("pods", *earlier).unwrap().map(|event| event.revision);
                let want = whole.filter(|it| it <= revision);
                prop_assert_eq!(events.collect::<Vec<_>>(), want.collect::<Vec<_>>());
            }
        }
    }

    /// A store that has compacted returns an error, not half of the history.
    #[test]
    fn what_is_forgotten_is_said(
        writes in prop::collection::vec(write(), 0..60),
        (changes, bytes, compacted) in (0..10_usize, 0..20_000_usize, 0..30_u64),
    ) {
        let (mut whole, mut store) = (Store::new(LIMITS), Store::new(Limits { changes, bytes }));
        for write in &writes {
            apply(&mut whole, write);
            apply(&mut store, write);
            let counts = store.counts();
            prop_assert!(counts.changes <= 2 * changes);
            prop_assert!(counts.history_bytes <= 2 * bytes);
        }
        store.compact(compacted);
        prop_assert_eq!(now(&whole), now(&store));
        let mut known = 0;
        for revision in 0..=whole.revision() {
            let all = whole.after("pods", revision).unwrap().map(|event| event.revision);
            match store.after("pods", revision) {
                Ok(events) => {
                    known += 1;
                    prop_assert!(revision >= compacted.min(store.revision()));
                    let events: Vec<_> = events.map(|event| event.revision).collect();
                    prop_assert_eq!(events, all.collect::<Vec<_>>());
                    let (one, two) = (store.at("pods", revision), whole.at("pods", revision));
                    let (one, two) = (one.unwrap(), two.unwrap());
                    prop_assert_eq!(copy(one.objects(None, None)), copy(two.objects(None, None)));
                }
                Err(missed) => {
                    prop_assert!(revision < missed.oldest);
                    prop_assert!(store.after("pods", missed.oldest).is_ok());
                    prop_assert!(store.at("pods", revision).is_err());
                    prop_assert!(store.as_of(revision).is_err());
                }
            }
        }
        prop_assert!(known > 0, "the newest is always known");
    }

    /// Saved and loaded, a store has the same objects at the same versions, and no past.
    #[test]
    fn a_loaded_store_goes_on(writes in prop::collection::vec(write(), 0..40)) {
        let mut store = Store::new(LIMITS);
        for write in &writes {
            apply(&mut store, write);
        }
        let mut loaded = Store::load(&store.save(), LIMITS).unwrap();
        prop_assert_eq!(loaded.revision(), store.revision());
        prop_assert_eq!(now(&loaded), now(&store));
        prop_assert_eq!(loaded.counts().objects, store.counts().objects);
        prop_assert!(loaded.after("pods", store.revision() - 1).is_err());
        apply(&mut loaded, &Write::Put(0, 0, 1));
        prop_assert_eq!(loaded.revision(), store.revision() + 1);
        prop_assert_eq!(loaded.after("pods", store.revision()).unwrap().count(), 1);
    }
}

/// What etcd orders as text is ordered so here: `a-b/` comes before `a/`.
#[test]
fn paths_are_ordered_as_text() {
    let mut store = Store::new(LIMITS);
    for (namespace, name) in [("a", "x"), ("a-b", "x"), ("a0", "x"), ("a", "w")] {
        store.put(&"pods".into(), &Key::new(namespace, name), json!({}));
    }
    let snapshot = store.at("pods", store.revision()).unwrap();
    let paths: Vec<_> = snapshot.objects(None, None).map(|(path, _)| path).collect();
    assert_eq!(paths, ["a-b/x", "a/w", "a/x", "a0/x"]);
    assert_eq!(store.list("pods", Some("a")).len(), 2);
    assert_eq!(store.counts().objects, 4);
}

/// A watch that has seen everything is not too old because others would be.
#[test]
fn followers_survive_a_compaction_that_takes_nothing_from_them() {
    let mut store = Store::new(LIMITS);
    apply(&mut store, &Write::Put(0, 0, 1));
    let seen = store.revision();
    apply(&mut store, &Write::Other);
    store.compact(store.revision());
    assert_eq!(store.after("pods", seen).err(), Some(Compacted { oldest: seen + 1 }));
    assert_eq!(store.follow("pods", seen).unwrap().count(), 0);
    assert!(store.follow("pods", seen - 1).is_err());
    assert!(store.at("unknown", seen).is_err());
}

/// The bytes of the history are those of objects that were replaced, and leave with them.
#[test]
fn the_history_is_limited_by_its_bytes() {
    let mut store = Store::new(Limits { changes: 1000, bytes: 100_000 });
    let key = Key::new("a", "x");
    let big = "x".repeat(10_000);
    for _ in 0..20 {
        store.put(&"pods".into(), &key, json!({"data": big}));
    }
    let counts = store.counts();
    assert!((3..=5).contains(&counts.changes), "{counts:?}");
    assert!((60_000..=100_000).contains(&counts.history_bytes), "{counts:?}");
}

#[test]
fn the_json_is_written_with_any_type() {
    let rows = [
        (json!({"kind": "A", "apiVersion": "g/v1", "b": 1}), r#""b":1}"#),
        (
            json!({"a": 1, "apiVersion": "g/v1", "kind": "A", "z": {"kind": 2}}),
            r#""a":1,"z":{"kind":2}}"#,
        ),
        (json!({"kind": "A", "apiVersion": "g/v1"}), "}"),
    ];
    for (object, rest) in rows {
        let stored = Stored::new(1, object);
        let write = |ty| {
            let mut out = Vec::new();
            stored.write(&mut out, ty);
            String::from_utf8(out).unwrap()
        };
        let comma = if rest == "}" { "" } else { "," };
        let whole = format!(r#"{{"kind":"A","apiVersion":"g/v1"{comma}{rest}"#);
        assert_eq!(write(TypeMeta::Stored), whole);
        assert_eq!(write(TypeMeta::Version("g/v2")), whole.replace("v1", "v2"));
        assert_eq!(write(TypeMeta::Absent), format!("{{{rest}"));
    }
    assert_eq!(Stored::new(1, json!({"a": 1})).json(), r#"{"a":1}"#);
    assert_eq!(Stored::new(1, Value::Null).json(), "{}");
}

/// A document that is not what was saved is refused with the reason.
#[test]
fn broken_documents_are_refused() {
    let rows = [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{}", "revision: expected a number above 0"),
        (r#"{"revision":0,"objects":{}}"#, "revision: expected a number above 0"),
        (r#"{"revision":5}"#, "objects: expected a map"),
        (r#"{"revision":5,"objects":{"pods":1}}"#, "objects: pods: expected a list"),
        (r#"{"revision":5,"objects":{"pods":[1]}}"#, "objects: pods: an object has no name"),
        (
            r#"{"revision":5,
                "objects":{"pods":[{"metadata":{"name":"a","resourceVersion":"6"}}]}}"#,
            "objects: pods: a: its resourceVersion is no past revision",
        ),
    ];
    for (document, want) in rows {
        assert_eq!(Store::load(document.as_bytes(), LIMITS).err().as_deref(), Some(want));
    }
    let twice = r#"{"metadata":{"name":"a","resourceVersion":"5"}}"#;
    let twice = format!(r#"{{"revision":5,"objects":{{"pods":[{twice},{twice}]}}}}"#);
    let error = Store::load(twice.as_bytes(), LIMITS).err();
    assert_eq!(error.as_deref(), Some("objects: pods: a is there twice"));
}

/// A table whose last object is deleted remembers what it has forgotten, compacted or not: a watch
/// from before would otherwise go on without the deletion.
#[test]
fn an_empty_table_says_what_is_forgotten() {
    let mut store = Store::new(0);
    let key = key(0, 0);
    store.put(&"pods".into(), &key, object(&key, 0));
    store.remove("pods", &key);
    let forgotten = store.revision();
    for floor in [0, forgotten - 1] {
        store.compact(floor);
        let missed = store.after("pods", forgotten - 1).err();
        assert_eq!(missed, Some(Compacted { oldest: forgotten }), "compacted to {floor}");
    }
    store.compact(forgotten);
    assert_eq!(store.counts().tables, 0, "the floor says it for all tables");
    assert!(store.after("pods", forgotten - 1).is_err());
}
