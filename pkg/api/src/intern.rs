//! One copy of each repeating text.
//!
//! Label keys and values, namespaces, node and owner names, and whole label sets repeat over
//! thousands of pods. The tables hold each once. Unused entries are swept when a table has doubled,
//! so a table is never larger than twice its live entries, or [`SWEEP_MIN`].

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::{OwnerRef, PodQuota, Toleration};

/// A shared, immutable text.
pub type Text = Arc<str>;

/// Below this many entries a table is not swept.
const SWEEP_MIN: usize = 1024;

/// The label sets and owner lists of pods of one owner are equal: they are shared as a whole.
type Pairs = [(Text, Text)];
type Owners = [OwnerRef];
/// Most pods tolerate the same.
type Tolerations = [Toleration];

struct Table<T: ?Sized> {
    entries: HashSet<Arc<T>>,
    sweep_at: usize,
}

static TEXTS: LazyLock<Mutex<Table<str>>> = LazyLock::new(Mutex::default);
static PAIRS: LazyLock<Mutex<Table<Pairs>>> = LazyLock::new(Mutex::default);
static OWNERS: LazyLock<Mutex<Table<Owners>>> = LazyLock::new(Mutex::default);
static QUOTAS: LazyLock<Mutex<Table<PodQuota>>> = LazyLock::new(Mutex::default);
static TOLERATIONS: LazyLock<Mutex<Table<Tolerations>>> = LazyLock::new(Mutex::default);

/// The shared copy of `text`.
pub fn intern(text: &str) -> Text {
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner).intern(text, |text| Arc::from(text))
}

pub(crate) fn intern_pairs(pairs: &Pairs) -> Arc<Pairs> {
    PAIRS.lock().unwrap_or_else(PoisonError::into_inner).intern(pairs, |pairs| Arc::from(pairs))
}

pub(crate) fn intern_owners(owners: &Owners) -> Arc<Owners> {
    OWNERS.lock().unwrap_or_else(PoisonError::into_inner).intern(owners, |owners| Arc::from(owners))
}

pub(crate) fn intern_quota(quota: &PodQuota) -> Arc<PodQuota> {
    let mut quotas = QUOTAS.lock().unwrap_or_else(PoisonError::into_inner);
    quotas.intern(quota, |quota| Arc::new(quota.clone()))
}

pub(crate) fn intern_tolerations(tolerations: &Tolerations) -> Arc<Tolerations> {
    let mut table = TOLERATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    table.intern(tolerations, |tolerations| Arc::from(tolerations))
}

impl<T: ?Sized> Default for Table<T> {
    fn default() -> Self {
        Self { entries: HashSet::new(), sweep_at: SWEEP_MIN }
    }
}

impl<T: ?Sized + Hash + Eq> Table<T> {
    fn intern(&mut self, value: &T, make: impl FnOnce(&T) -> Arc<T>) -> Arc<T> {
        if let Some(known) = self.entries.get(value) {
            return Arc::clone(known);
        }
        if self.entries.len() >= self.sweep_at {
            self.entries.retain(|entry| Arc::strong_count(entry) > 1);
            self.sweep_at = SWEEP_MIN.max(2 * self.entries.len());
        }
        let shared = make(value);
        self.entries.insert(Arc::clone(&shared));
        shared
    }
}

#[cfg(test)]
pub(crate) fn texts_held() -> usize {
    TEXTS.lock().unwrap().entries.len()
}
