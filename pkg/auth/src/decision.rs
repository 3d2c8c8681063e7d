//! The decision of an authorizer.

/// The decision about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Allowed,
    /// Denied, and why.
    Denied(String),
    /// No authorizer allowed it, and why.
    NoOpinion(String),
}
