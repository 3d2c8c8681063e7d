//! Kubernetes versions.

use std::fmt;

/// The release that this program behaves as.
pub const VERSION: Version = Version { major: 1, minor: 36, patch: 3 };

/// A release of Kubernetes. Prints as `1.36.3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Such as 1.
    pub major: u32,
    /// Such as 36.
    pub minor: u32,
    /// Such as 3.
    pub patch: u32,
}

// === impl Version ===

impl Version {
    /// The release before this one, of which only major and minor count: `1.35`.
    pub(crate) fn previous(self) -> String {
        format!("{}.{}", self.major, self.minor.saturating_sub(1))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}
