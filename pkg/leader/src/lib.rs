//! Leader election on a Lease, and the fence that keeps a former leader from writing.
//!
//! [`Leadership::contend`] starts to contend; [`Leadership::elected`] returns once we lead, and
//! [`Leadership::lost`] once we no longer do. The rules are client-go's
//! (`tools/leaderelection/leaderelection.go`), so that upstream's manager can be among the
//! contenders. The differences are in decision 0008: a standby also watches the Lease, the renew
//! deadline counts from the last renewal, and a [`Fence`] is checked before each write.
//!
//! In a coordinated election (KEP 4355) each contender is a [`Candidate`], and the API server names
//! the holder of the Lease.
//!
//! # Parts
//! - `candidate`: the task that keeps the LeaseCandidate.
//! - `election`: the rules, as a state machine without I/O.
//! - `lease`: the object of the election.
//! - `elector`: the task that carries out the rules.
//! - `watch`: the watch on one of these objects.
//! - `fence`: how long the leader may write.
//! - `timing`: the three durations, and their constraints.

mod candidate;
mod election;
mod elector;
mod fence;
mod lease;
mod metrics;
mod timing;
mod watch;

#[cfg(test)]
mod tests;

pub use candidate::{CANDIDATES, Candidate};
pub use elector::{Ended, Leadership, Settings, identity};
pub use fence::{Fence, Fenced};
pub use lease::LEASES;
pub use metrics::Metrics;
pub use timing::{InvalidTiming, Timing};
