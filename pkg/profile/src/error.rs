//! Why there is no profile.

use crate::SECONDS_MAX;

/// Why there is no profile. Where Go has a text for it, it is Go's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Somebody else is recording: there is one timer per process.
    #[error("Could not enable CPU profiling: cpu profiling already in use")]
    InUse,
    /// The sampler did not start.
    #[error("Could not enable CPU profiling: {0}")]
    Cpu(String),
    /// The allocator of this process counts nothing.
    #[error("the heap is not profiled: jemalloc was not built or not started with prof:true")]
    HeapOff,
    /// What was recorded could not be read or written down.
    #[error("failed to collect profile: {0}")]
    Collect(String),
    /// The profile would take no time, or more than [`SECONDS_MAX`].
    #[error("invalid value for \"seconds\" - must be from 1 to {SECONDS_MAX}, not {0}")]
    Seconds(u64),
}
