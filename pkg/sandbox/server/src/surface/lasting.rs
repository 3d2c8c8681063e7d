//! Texts and tables that last as long as the process. The tables of kinds are made of constants;
//! what a CustomResourceDefinition adds to them is kept for good, each different one once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use strategies::Column;

static TEXTS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
static COLUMNS: Mutex<BTreeMap<String, &'static [Column]>> = Mutex::new(BTreeMap::new());

/// A text.
pub(super) fn text(text: &str) -> &'static str {
    let mut known = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(text) {
        return known;
    }
    let new: &'static str = Box::leak(text.into());
    known.insert(new);
    new
}

/// The columns of a table.
pub(super) fn columns(columns: Vec<Column>) -> &'static [Column] {
    let mut known = COLUMNS.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(format!("{columns:?}")).or_insert_with(|| Box::leak(columns.into_boxed_slice()))
}
