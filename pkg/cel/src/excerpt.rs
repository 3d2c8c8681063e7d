//! What is needed of a long OpenAPI document.

use std::collections::BTreeMap;

use serde_json::json;

use crate::schema::{Document, Missing};

/// A document, for [`Document::parse`], with nothing but the schemas of these kinds and those that
/// they refer to. It has the kinds that the document has, and what cannot be read of it cannot be
/// read here, for the same reason.
pub fn excerpt(text: &[u8], group: &str, version: &str, kinds: &[String]) -> String {
    let mut document = match Document::parse(text) {
        Ok(document) => document,
        Err(Missing::Schema(why)) => return json!({ "x-unreadable": why }).to_string(),
        Err(Missing::Kind | Missing::TooDeep) => return "{}".to_owned(),
    };
    let mut asked = Vec::new();
    for kind in kinds {
        let key = (group.to_owned(), version.to_owned(), kind.clone());
        asked.extend(document.kinds.get(&key).map(ToString::to_string));
    }
    let mut found = BTreeMap::new();
    while let Some(name) = asked.pop() {
        if found.contains_key(&name) {
            continue;
        }
        // What is missing here is missing there.
        let Some(schema) = document.schemas.get(&*name).copied() else { continue };
        document.references(&name, &mut asked);
        found.insert(name, schema);
    }
    let components = BTreeMap::from([("schemas", found)]);
    let text = serde_json::to_string(&BTreeMap::from([("components", components)]));
    text.unwrap_or_else(|error| json!({ "x-unreadable": error.to_string() }).to_string())
}
