//! A controller with several views of one resource: two that select by fields, and two of all.

use std::sync::Arc;
use std::time::Duration;

use api::{Codec, DecodeError, Index, Key, Kind, Meta, Object, Resource, RootCa};
use cache::Selection;
use cache::fixture::{Call, Server, Stream, bookmark, event, run};
use controller::{Change, Controller, Deletion, Facts, ObjectRef, Plan, View, Watches};
use serde_json::json;

use super::world::{Cold, DRAIN_LIMIT};
use crate::{Engine, Inspect, Phase};

const CONFIG_MAPS: Resource = RootCa::RESOURCE;
const ROOT_CA: &str = "configmaps with metadata.name=kube-root-ca.crt";
const SETTINGS: &str = "configmaps with metadata.name=settings";

/// The ConfigMaps with the name `settings`.
struct Settings(Meta);

/// A view of all ConfigMaps, and another one.
struct All<const VIEW: usize>(Meta);

impl Object for Settings {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.0
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        Meta::decode(codec, bytes).map(Self)
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self(meta)
    }
}

impl Kind for Settings {
    const RESOURCE: Resource = CONFIG_MAPS;
    const FIELD_SELECTOR: &'static str = "metadata.name=settings";
}

impl<const VIEW: usize> Object for All<VIEW> {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.0
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        Meta::decode(codec, bytes).map(Self)
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self(meta)
    }
}

impl<const VIEW: usize> Kind for All<VIEW> {
    const RESOURCE: Resource = CONFIG_MAPS;
}

/// Reads the settings of a namespace, and its root CA.
struct Selected;

/// Reads two views of the same objects.
struct Doubled;

impl Controller for Selected {
    type Snapshot = ();
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.reads::<RootCa>();
        table.on::<Settings>(|_, change: &Change<Settings>, _, queue| queue.own(change));
        table.reads::<Settings>();
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<()> {
        let root_ca = view.of::<RootCa>().get(&Key::new(&key.namespace, RootCa::NAME));
        root_ca.and(view.of::<Settings>().get(key)).map(drop)
    }

    fn decide(&self, (): &(), _: &Facts) -> (Plan, ()) {
        (Plan::rest("well"), ())
    }

    fn summary(&self, (): &()) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

impl Controller for Doubled {
    type Snapshot = ();
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.reads::<All<1>>();
        table.reads::<All<2>>();
    }

    fn observe(&self, _: &Key, _: &View<'_>, (): &()) -> Option<()> {
        None
    }

    fn decide(&self, (): &(), _: &Facts) -> (Plan, ()) {
        (Plan::rest("well"), ())
    }

    fn summary(&self, (): &()) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

fn config_map(name: &str, version: u64) -> String {
    let meta = json!({"namespace": "shop", "name": name, "uid": format!("uid-{name}"),
        "resourceVersion": version.to_string()});
    json!({"metadata": meta}).to_string()
}

fn settings(version: u64) -> ObjectRef {
    let (resource, key, uid) = (CONFIG_MAPS, Key::new("shop", "settings"), "uid-settings".into());
    ObjectRef { resource, key, uid, resource_version: version }
}

/// The two requested lists, in the order of their selections.
async fn asked(server: &mut Server) -> [Call; 2] {
    let mut calls = server.under_way().await;
    calls.sort_by_key(Call::without_timeout);
    calls.try_into().ok().expect("two lists")
}

/// Answers a list with one object of this name.
async fn list(call: Call, name: &str) -> Stream {
    assert!(call.path.starts_with("/api/v1/configmaps?"), "{}", call.path);
    let mut stream = call.answer(200, "application/json");
    stream.send(event("ADDED", &config_map(name, 5))).await;
    stream.send(bookmark(10, true)).await;
    stream
}

async fn settle(server: &Server) {
    server.runtime.clock.sleep(Duration::from_millis(1)).await;
}

/// The expectations of a key, one a line.
fn awaited(engine: &Engine, key: &Key) -> Vec<String> {
    let Some(awaits) = engine.act.expectations().awaits(key) else { return Vec::new() };
    let versions = awaits.versions.iter().map(|(of, version)| format!("{of}: {version}"));
    let deletions = awaits.deletions.iter().map(|(of, uid, _)| format!("{of}: without {uid}"));
    versions.chain(deletions).collect()
}

/// A running engine, and the watches of root CAs and settings.
async fn started() -> (Cold, Arc<Engine>, Stream, Stream) {
    let mut cold = Cold::new(Selected, 1, DRAIN_LIMIT);
    let _task = cold.run();
    let [root_ca, settings] = asked(&mut cold.server).await;
    let root_ca = list(root_ca, RootCa::NAME).await;
    let settings = list(settings, "settings").await;
    settle(&cold.server).await;
    let engine = Arc::clone(&cold.engine);
    assert_eq!(engine.status().phase, Phase::Running);
    (cold, engine, root_ca, settings)
}

#[test]
fn both_are_read_and_waited_for() {
    run(async {
        let mut cold = Cold::new(Selected, 1, DRAIN_LIMIT);
        let _task = cold.run();
        let waiting = |cold: &Cold| {
            let status = cold.engine.status();
            status.waiting_for.into_iter().map(|kind| kind.resource).collect::<Vec<_>>()
        };
        let [root_ca, settings] = asked(&mut cold.server).await;
        assert_eq!(waiting(&cold), [ROOT_CA, SETTINGS]);
        assert_eq!(cold.engine.status().reads, [ROOT_CA, SETTINGS]);
        let _settings = list(settings, "settings").await;
        settle(&cold.server).await;
        assert_eq!(waiting(&cold), [ROOT_CA]);
        assert_eq!(cold.engine.status().phase, Phase::WaitingForCaches);
        let _root_ca = list(root_ca, RootCa::NAME).await;
        settle(&cold.server).await;
        let status = cold.engine.status();
        assert_eq!((status.phase, status.syncs, status.failures), (Phase::Running, 1, 0));
    });
}

/// Watches that select by fields reach a version independently, and the one that does not select
/// the object may take a minute.
#[test]
fn a_write_is_awaited_of_the_cache_that_selects_its_object() {
    run(async {
        let (cold, engine, mut root_ca, mut stream) = started().await;
        let key = Key::new("shop", "settings");
        engine.act.remember_version(&key, &CONFIG_MAPS, &key, 15);
        assert_eq!(awaited(&engine, &key), [format!("{SETTINGS}: 15")]);
        root_ca.send(bookmark(20, false)).await;
        settle(&cold.server).await;
        assert_eq!(awaited(&engine, &key), [format!("{SETTINGS}: 15")]);
        stream.send(event("MODIFIED", &config_map("settings", 15))).await;
        settle(&cold.server).await;
        assert_eq!(awaited(&engine, &key), Vec::<String>::new());
    });
}

/// No cache will ever show it.
#[test]
fn a_write_that_no_cache_selects_is_not_awaited() {
    run(async {
        let (_cold, engine, _root_ca, _settings) = started().await;
        let (key, other) = (Key::new("shop", "settings"), Key::new("shop", "other"));
        engine.act.remember_version(&key, &CONFIG_MAPS, &other, 15);
        let object = ObjectRef { key: other, ..settings(5) };
        engine.act.remember_deleted(&key, &object, Deletion::Marked);
        assert_eq!(awaited(&engine, &key), Vec::<String>::new());
    });
}

/// Each cache may show it.
#[test]
fn a_write_under_a_name_that_is_not_known_is_awaited_of_all() {
    run(async {
        let (cold, engine, mut root_ca, mut stream) = started().await;
        let key = Key::new("shop", "settings");
        engine.act.remember_version(&key, &CONFIG_MAPS, &Key::new("shop", ""), 15);
        assert_eq!(awaited(&engine, &key), [format!("{ROOT_CA}: 15"), format!("{SETTINGS}: 15")]);
        stream.send(bookmark(15, false)).await;
        settle(&cold.server).await;
        assert_eq!(awaited(&engine, &key), [format!("{ROOT_CA}: 15")]);
        root_ca.send(bookmark(16, false)).await;
        settle(&cold.server).await;
        assert_eq!(awaited(&engine, &key), Vec::<String>::new());
    });
}

#[test]
fn a_deletion_is_awaited_of_the_cache_that_holds_the_object() {
    run(async {
        let (cold, engine, mut root_ca, mut stream) = started().await;
        let key = Key::new("shop", "settings");
        engine.act.remember_deleted(&key, &settings(5), Deletion::Marked);
        assert_eq!(awaited(&engine, &key), [format!("{SETTINGS}: without uid-settings")]);
        root_ca.send(event("DELETED", &config_map(RootCa::NAME, 11))).await;
        settle(&cold.server).await;
        assert_eq!(awaited(&engine, &key).len(), 1);
        stream.send(event("DELETED", &config_map("settings", 12))).await;
        settle(&cold.server).await;
        assert_eq!(awaited(&engine, &key), Vec::<String>::new());
    });
}

/// Two views of all ConfigMaps are two watches of the same objects.
#[test]
fn a_version_is_reached_once_each_view_has_come_to_it() {
    run(async {
        let mut cold = Cold::new(Doubled, 1, DRAIN_LIMIT);
        let _task = cold.run();
        let [first, second] = asked(&mut cold.server).await;
        let (mut first, mut second) = (list(first, "a").await, list(second, "a").await);
        settle(&cold.server).await;
        let status = cold.engine.status();
        assert_eq!(
            (status.phase, &*status.reads),
            (Phase::Running, &["configmaps".to_owned()][..])
        );
        let (key, engine) = (Key::new("shop", "a"), Arc::clone(&cold.engine));
        engine.act.remember_version(&key, &CONFIG_MAPS, &key, 15);
        first.send(bookmark(15, false)).await;
        settle(&cold.server).await;
        assert_eq!(awaited(&engine, &key), ["configmaps: 15"]);
        second.send(bookmark(16, false)).await;
        settle(&cold.server).await;
        assert_eq!(awaited(&engine, &key), Vec::<String>::new());
        assert_eq!(engine.act.kinds.version_of(&Selection::of::<All<1>>()), Some(15));
    });
}
