//! Leader election on a Lease, and the fence that keeps a former leader from writing.
//!
//! [`Leadership::contend`] starts to contend; [`Leadership::elected`] returns once we lead, and
//! [`Leadership::lost`] once we no longer do. The rules are client-go's
//! (`tools/leaderelection/leaderelection.go`), so that upstream's manager can be among the
//! contenders. The differences are in decision 0008: a standby also watches the Lease, the renew
//! deadline counts from the last renewal, and a [`Fence`] is checked before each write.
//!
//! # Parts
//! - `election`: the rules, as a state machine without I/O.
//! - `lease`: the object of the election.
//! - `elector`: the task that carries out the rules.
//! - `watch`: the watch on the Lease.
//! - `fence`: how long the leader may write.
//! - `timing`: the three durations, and their constraints.

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
