//! The state of the cluster as the API server reported it: one cache for each kind, kept up to date
//! by a watch.
//!
//! [`SharedInformerFactory`] makes one [`Informer`] for each kind. An informer drives a
//! [`reflector::Reflector`] (every decision, no I/O) over the bytes that [`frames`] cuts into
//! objects, keeps the objects in a `Store` and notifies handlers of changes. [`Everything`] has one
//! informer for each kind that the API server serves, of the metadata alone.
//!
//! **Invariant:** a cache never shows an older state than it has shown before.

mod drive;
mod everything;
mod factory;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod frames;
mod health;
mod informer;
mod metrics;
pub mod reflector;
mod selection;
mod store;

#[cfg(test)]
mod tests;

pub use everything::{Everything, MetadataHandler, MetadataVersionHook, ServedHook};
pub use factory::{Listers, SharedInformerFactory};
pub use health::{Failing, InformerStatus};
pub use informer::{Handler, Informer, Rewound, VersionHook, handler};
pub use metrics::Metrics;
pub use selection::Selection;
