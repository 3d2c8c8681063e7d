//! Profiles of the running process in pprof's format, and the pages under /debug/pprof/ that serve
//! them to `go tool pprof`.
//!
//! Names of functions are in the profiles, so reading one needs no binary. Without a request the
//! CPU is not sampled at all; the heap always is, once per 512 KiB (decision 0009).

mod cpu;
mod error;
mod heap;
mod pages;
mod scratch;
mod stacks;
mod tasks;
#[cfg(test)]
mod tests;

pub use cpu::cpu;
pub use error::Error;
pub use heap::heap;
pub use pages::router;

/// The longest recording, in seconds.
pub const SECONDS_MAX: u64 = 300;
