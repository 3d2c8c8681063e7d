//! What is kept of a long document.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Makes the text that is kept, of the document and the words.
type Make = fn(&[u8], &[String]) -> String;

/// The part of a long document that a decision needs. The document itself is not kept: several of
/// them together would take more memory than all else. Equal if the paths and the words are.
#[derive(Clone)]
pub struct Excerpt {
    pub(super) path: Arc<str>,
    words: Arc<[String]>,
    make: Make,
}

// === impl Excerpt ===

impl Excerpt {
    /// Of the JSON at this path, as for [`super::Query::path`], what `make` makes of it and of
    /// these words. That has to end soon, and to be short.
    pub fn new(path: impl Into<Arc<str>>, words: impl Into<Arc<[String]>>, make: Make) -> Self {
        Self { path: path.into(), words: words.into(), make }
    }

    /// Where the document is.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is kept of it.
    pub fn of(&self, document: &[u8]) -> String {
        (self.make)(document, &self.words)
    }

    fn key(&self) -> (&str, &[String]) {
        (&self.path, &self.words)
    }
}

impl PartialEq for Excerpt {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Excerpt {}

impl PartialOrd for Excerpt {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Excerpt {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.words.join(", "), self.path)
    }
}
