//! The kind that nothing is special about.

use crate::Strategy;

/// A kind without rules of its own.
pub struct Plain;

impl Strategy for Plain {}
