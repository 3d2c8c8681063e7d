//! The queue of keys between the caches and the workers, and the rate limits around it.
//!
//! - [`Core`] decides: which key comes next, which waits, which is being worked on. It is pure;
//!   every call is told the time.
//! - [`Limiter`] decides how long a failed key stays away. [`TokenBucket`] is of use by itself.
//! - [`Queue`] puts both behind a lock and lets workers wait: the only part that is asynchronous.
//! - [`WorkqueueMetrics`] shows what upstream shows of its queues.
//!
//! **Invariant:** a key is never worked on twice at once, and an add is never lost: after it, the
//! key is taken at least once more, unless the queue is shut down.
//!
//! Upstream: `k8s.io/client-go/util/workqueue`.

mod limiter;
mod metrics;
mod queue;
mod shell;
#[cfg(test)]
mod tests;

pub use limiter::{ItemBackoff, Limiter, TokenBucket};
pub use metrics::{QueueMetrics, WorkqueueMetrics};
pub use queue::{Backlog, Core, Load, Priority, Taken, Whereabouts};
pub use shell::{NotDrained, Processing, Queue};
