//! Caches for one decision, filled from what was read.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use api::{AnyObject, Codec, Key, Kind, Meta, Resource, Shape};
use controller::{Cache, Caches, Controller, Everything, Handler, Show, Watches};
use serde_json::Value;

/// A row of a watch table.
#[derive(Clone)]
pub(crate) struct Row {
    kind: TypeId,
    pub(crate) resource: Resource,
    pub(crate) fields: &'static str,
    pub(crate) optional: bool,
    shape: Shape,
}

/// The rows of a watch table.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Row>,
    /// It asks for the metadata of everything, which is too much to read.
    pub(crate) everything: bool,
}

/// The caches of the kinds of a watch table.
#[derive(Default)]
pub(crate) struct Held(BTreeMap<TypeId, Objects>);

struct Objects {
    shape: Shape,
    by_key: BTreeMap<Key, Arc<dyn AnyObject>>,
    /// When they were read; none: the kind is not served.
    heard: Option<Duration>,
}

impl Table {
    /// The kinds that a controller reads.
    pub(crate) fn of<C: Controller>(controller: &C) -> Self {
        let mut table = Self::default();
        controller.watches(&mut table);
        table
    }

    fn add<T: Kind>(&mut self, optional: bool) {
        self.rows.push(Row {
            kind: TypeId::of::<T>(),
            resource: T::RESOURCE,
            fields: T::FIELD_SELECTOR,
            optional,
            shape: Shape::of::<T>(),
        });
    }
}

impl<C: Controller> Watches<C> for Table {
    fn row<T: Kind>(&mut self, _: Handler<C, T>) {
        self.add::<T>(false);
    }

    fn optional<T: Kind>(&mut self, _: Handler<C, T>) {
        self.add::<T>(true);
    }

    fn everything(&mut self, _: Everything<C>) {
        self.everything = true;
    }
}

// === impl Held ===

impl Held {
    /// The objects of a row; an object of which only the metadata can be read counts, too. Without
    /// objects the kind is not served.
    pub(crate) fn fill(&mut self, row: &Row, objects: Option<&[Arc<Value>]>, uptime: Duration) {
        let mut by_key = BTreeMap::new();
        for json in objects.unwrap_or_default() {
            let bytes = json.to_string();
            let object = (row.shape.decode)(Codec::Json, bytes.as_bytes()).or_else(|error| {
                let meta = Meta::decode(Codec::Json, bytes.as_bytes())?;
                Ok::<_, api::DecodeError>((row.shape.unreadable)(meta, &error))
            });
            if let Ok(object) = object {
                by_key.insert(object.metadata().key.clone(), object);
            }
        }
        let heard = objects.map(|_| uptime);
        self.0.insert(row.kind, Objects { shape: row.shape, by_key, heard });
    }
}

impl Caches for Held {
    fn cache(&self, kind: TypeId) -> Option<&dyn Cache> {
        self.0.get(&kind).map(|objects| objects as &dyn Cache)
    }

    fn metadata(&self, _: &Resource) -> Option<Arc<dyn Cache>> {
        None
    }
}

impl Cache for Objects {
    fn get(&self, key: &Key) -> Option<Arc<dyn AnyObject>> {
        self.by_key.get(key).cloned()
    }

    fn by(&self, index: &str, value: &str, show: &mut Show<'_>) {
        let Some(at) = self.shape.indexes().position(|known| known == index) else { return };
        let is_found = |object: &&Arc<dyn AnyObject>| {
            object.values(at).as_slice().iter().any(|it| **it == *value)
        };
        self.by_key.values().filter(is_found).for_each(|it| show(from_ref(it)));
    }

    fn all(&self, show: &mut Show<'_>) {
        self.by_key.values().for_each(|it| show(from_ref(it)));
    }

    fn of_namespace(&self, namespace: &str, show: &mut Show<'_>) {
        let is_there = |(key, _): &(&Key, _)| *key.namespace == *namespace;
        self.by_key.iter().filter(is_there).for_each(|(_, it)| show(from_ref(it)));
    }

    fn heard(&self) -> Option<Duration> {
        self.heard
    }
}
