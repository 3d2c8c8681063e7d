//! The harness of the real-cluster tests: etcd, kube-apiserver, kube-scheduler and kwok nodes as
//! child processes on loopback, and a kube-controller-manager (ours or upstream's) beside them.
//!
//! ```no_run
//! # use cluster_tests::{Binary, Cluster, Manager, Options, User};
//! # async fn example() -> anyhow::Result<()> {
//! let cluster = Cluster::start(Options { nodes: 3, ..Options::default() }).await?;
//! let user = User::ServiceAccount("replicaset-controller");
//! let manager = Manager::start(&cluster, Binary::Ours, user, &["--controllers=replicaset"])?;
//! println!("{}", manager.log());
//! # Ok(())
//! # }
//! ```
//!
//! Everything ends with the [`Cluster`]: the processes, the ports and the folder. A guard process
//! does the same when the test process itself is killed, so nothing outlives a run.
//!
//! The components are built from Go modules with `make cluster-tools`; see `tests/README.md`.

mod audit;
mod cases;
mod cluster;
mod components;
mod contest;
mod custom;
mod follow;
mod kubectl;
mod manager;
mod normal;
mod objects;
mod pki;
mod process;
mod quiet;
mod requests;
mod sandbox;
pub mod scripts;
mod wait;
mod watched;

pub use audit::{AuditLog, Claim, Purpose, Write};
pub use cases::{Case, play_all};
pub use cluster::{Caller, Cluster, Options};
pub use components::tool;
pub use contest::{Claimed, Contest, Counts, Done, Fault, Takeover, Verdict};
pub use custom::{CustomKind, NoServer};
pub use follow::{Follow, Weight};
pub use kubectl::kubectl;
pub use manager::{Binary, Manager, PageResponse, WrongClock, build, ours};
pub use normal::Normal;
pub use objects::{Objects, WORKLOADS, rolled_out, status_code};
pub use pki::{User, certificate_request, pod_certificate_request};
pub use quiet::{Queues, quiet, silent};
pub use requests::{Request, Requests, none_forbidden, since, writes};
pub use sandbox::{Said, Sandbox};
pub use wait::{now, pass, wait_until};
pub use watched::{Change, Watched};
