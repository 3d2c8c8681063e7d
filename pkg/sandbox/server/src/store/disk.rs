//! The store as one JSON document, to save and to continue from.

use std::collections::BTreeMap;

use api::Key;
use apimachinery::fields;
use serde_json::Value;

use super::{Limits, Store, Stored, Table};

impl Store {
    /// The revision and all objects; not what was before.
    pub(crate) fn save(&self) -> Vec<u8> {
        let mut out = format!("{{\"revision\":{},\"objects\":{{", self.revision).into_bytes();
        let tables = self.tables.iter().filter(|(_, objects)| !objects.by_path.is_empty());
        for (index, (table, objects)) in tables.enumerate() {
            let comma = if index == 0 { "" } else { "," };
            out.extend_from_slice(format!("{comma}{}:[", Value::from(&**table)).as_bytes());
            for (index, stored) in objects.by_path.values().enumerate() {
                out.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
                // Not from the cache of JSON: JSON that is not read must not stay in it.
                let _ = serde_json::to_writer(&mut out, &stored.object);
            }
            out.push(b']');
        }
        out.extend_from_slice(b"}}\n");
        out
    }

    /// The store that was saved. What was before is compacted. Says what is wrong with a document
    /// that is not whole.
    pub(crate) fn load(document: &[u8], limits: impl Into<Limits>) -> Result<Self, String> {
        let mut document: BTreeMap<String, Value> =
            serde_json::from_slice(document).map_err(|error| error.to_string())?;
        let revision = document.get("revision").and_then(Value::as_u64);
        let revision =
            revision.filter(|it| *it > 0).ok_or("revision: expected a number above 0")?;
        let Some(Value::Object(tables)) = document.remove("objects") else {
            return Err("objects: expected a map".to_owned());
        };
        let mut store = Self { revision, floor: revision, ..Self::new(limits) };
        for (table, objects) in tables {
            let Value::Array(objects) = objects else {
                return Err(format!("objects: {table}: expected a list"));
            };
            let table = Table::from(table);
            for object in objects {
                store.restore(&table, object)?;
            }
        }
        Ok(store)
    }

    fn restore(&mut self, table: &Table, object: Value) -> Result<(), String> {
        let text = |field| fields::at(&object, field).and_then(Value::as_str).unwrap_or_default();
        let name = text("/metadata/name");
        if name.is_empty() {
            return Err(format!("objects: {table}: an object has no name"));
        }
        let key = Key::new(text("/metadata/namespace"), name);
        let revision = text("/metadata/resourceVersion").parse().ok();
        let revision = revision.filter(|revision| (1..=self.revision).contains(revision));
        let wrong = || format!("objects: {table}: {key}: its resourceVersion is no past revision");
        let stored = Stored::new(revision.ok_or_else(wrong)?, object).into();
        let objects = self.tables.entry(table.clone()).or_default();
        match objects.by_path.insert(key.to_string().into(), stored) {
            Some(_) => Err(format!("objects: {table}: {key} is there twice")),
            None => Ok(()),
        }
    }
}
