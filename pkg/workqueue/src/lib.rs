//! The queue of keys between the caches and the workers, and its rate limits.
//!
//! - [`Core`] decides which key is next, which ones are delayed, and which ones workers have. It is
//!   pure; the caller passes in the time.
//! - [`Limiter`] decides how long a failed key is delayed. [`TokenBucket`] can be used on its own.
//! - [`Queue`] puts both behind a lock and lets workers wait: the only asynchronous part.
//! - [`WorkqueueMetrics`] shows upstream's metrics of queues.
//!
//! **Invariant:** two workers never have the same key, and no add is lost: after it, the key is
//! taken at least once more, unless the queue is shut down.
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
