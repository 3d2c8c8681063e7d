//! Why there is no profile.

use crate::SECONDS_MAX;

/// Why there is no profile. Texts are Go's where it has them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Another recording is in progress: there is one timer per process.
    #[error("Could not enable CPU profiling: cpu profiling already in use")]
    InUse,
    /// The sampler did not start.
    #[error("Could not enable CPU profiling: {0}")]
    Cpu(String),
    /// The allocator of this process records nothing.
    #[error("the heap is not profiled: jemalloc was not built or not started with prof:true")]
    HeapOff,
    /// The recorded data could not be read or encoded.
    #[error("failed to collect profile: {0}")]
    Collect(String),
    /// The time is zero, or more than [`SECONDS_MAX`].
    #[error("invalid value for \"seconds\" - must be from 1 to {SECONDS_MAX}, not {0}")]
    Seconds(u64),
}
