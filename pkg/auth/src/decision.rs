//! What an authorizer says.

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Allowed,
    /// Refused, and why.
    Denied(String),
    /// Nobody allowed it, and why.
    NoOpinion(String),
}
