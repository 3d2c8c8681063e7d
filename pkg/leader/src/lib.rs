//! Leader election on a Lease, and the fence that keeps a leader of yesterday from writing.
//!
//! [`Leadership::contend`] starts to contend; [`Leadership::elected`] returns once we lead, and
//! [`Leadership::lost`] once we no longer do. The rules are client-go's
//! (`tools/leaderelection/leaderelection.go`), so that upstream's manager can be among the
//! contenders. What differs is in decision 0008: a standby also watches the Lease, the renew
//! deadline counts from the last renewal, and a [`Fence`] stands before each write.
//!
//! # Parts
//! - `election`: the rules, as a state machine without I/O.
//! - `lease`: the object that is fought for.
//! - `elector`: the task that does what the rules say.
//! - `watch`: the watch on the Lease.
//! - `fence`: until when we may write.
//! - `timing`: the three durations, and which of them go together.

mod election;
mod elector;
mod fence;
mod lease;
mod metrics;
mod timing;
mod watch;

#[cfg(test)]
mod tests;

pub use elector::{Ended, Leadership, Settings, identity};
pub use fence::{Fence, Fenced};
pub use lease::LEASES;
pub use metrics::Metrics;
pub use timing::{InvalidTiming, Timing};
