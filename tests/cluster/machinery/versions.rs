//! Kinds whose preferred version changes.
