//! A Kubernetes API server in memory, as a library.
//!
//! [`Server::answer`] is a function: a request in, a response out, at once and without I/O. Around
//! it are two shells: [`Server::service`], a tower service to put under `kube::Client`, and
//! [`Server::serve`], HTTP for `kubectl`.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), kube::Error> {
//! use k8s_openapi::api::core::v1::Node;
//! use kube::api::{Api, ListParams};
//! use sandbox::{Cluster, Nodes, Options, Server};
//!
//! let runtime = runtime::Runtime::system();
//! let server = Server::new(&runtime, Options::default());
//! let cluster = Cluster::start(server.clone(), &Nodes::new(3), 42);
//! let nodes: Api<Node> = Api::all(kube::Client::new(server.service(), "default"));
//! while nodes.list(&ListParams::default()).await?.items.len() < 3 {
//!     server.changed(server.revision()).await;
//! }
//! # drop(cluster);
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//!
//! What differs from a real API server stands in `pkg/sandbox/README.md`.

mod access;
mod admission;
mod cluster;
mod follow;
mod keys;
mod read;
mod registry;
mod request;
mod server;
mod shell;
mod status;
mod store;
mod surface;
mod write;

pub use access::{Refusal, User};
pub use cluster::Cluster;
pub use follow::Follower;
pub use hollow::{Change, Nodes};
pub use read::Watch;
pub use request::Request;
pub use server::{Expired, Options, Policy, Reply, Server};
pub use shell::{Body, Service};
pub use status::Status;
pub use store::Counts;
