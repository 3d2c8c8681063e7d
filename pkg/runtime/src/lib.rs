//! Time, randomness and tasks: the only crate that touches the real ones.
//!
//! Everything else takes a [`Clock`], a [`Random`] and spawns through [`spawn`], so that one test
//! can replace all three and the same seed gives the same run. Clippy refuses the originals
//! elsewhere (`.clippy.toml`).

mod clock;
mod latest;
mod process;
mod random;
mod task;
mod zone;

use std::num::NonZeroU32;

pub use clock::{Clock, Elapsed};
pub use latest::{Latest, Reader};
pub use process::{Process, outside};
pub use random::Random;
pub use task::{Fenced, Task, fenced, fenced_async, spawn};
pub use tokio::time::Instant;
pub use tokio_util::sync::CancellationToken as Cancel;
pub use zone::Zone;

/// What a part of the program needs from its environment besides the network.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// The time, wall and monotonic.
    pub clock: Clock,
    /// The one source of randomness.
    pub random: Random,
    /// Cancelled when the process shuts down.
    pub cancel: Cancel,
}

impl Runtime {
    /// The real clock and randomness from the operating system.
    pub fn system() -> Self {
        Self { clock: Clock::system(), random: Random::from_os(), cancel: Cancel::new() }
    }

    /// A run that depends only on its arguments: the wall clock starts at `start` and follows
    /// tokio's (pausable) clock, randomness comes from `seed`.
    pub fn simulated(start: api::Time, seed: u64) -> Self {
        Self { clock: Clock::simulated(start), random: Random::seeded(seed), cancel: Cancel::new() }
    }

    /// The same as the system's, but the wall clock shows `start` now, and time runs `speed` times
    /// as fast.
    pub fn faster(start: api::Time, speed: NonZeroU32) -> Self {
        Self { clock: Clock::faster(start, speed), ..Self::system() }
    }
}
