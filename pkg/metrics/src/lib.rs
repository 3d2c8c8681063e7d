//! Metric families: their registration, and the page that Prometheus scrapes.
//!
//! A [`Registry`] makes families from descriptions ([`Family`]) and writes them as a [`Page`], byte
//! for byte as upstream's does. The families of every process are in [`identity`] and [`process`],
//! the results of health checks in [`Slis`], the command line in [`Flags`].
//!
//! Upstream: k8s.io/component-base/metrics, and expfmt of github.com/prometheus/common.

mod accept;
mod allow_list;
mod family;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod identity;
mod number;
mod page;
pub mod process;
mod registry;
mod settings;
mod slis;
mod version;

#[cfg(test)]
mod tests;

pub use family::{Family, Metric, Stability};
pub use page::Page;
pub use prometheus::{
    Counter, CounterVec, Gauge, GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec,
    IntGauge, IntGaugeVec,
};
pub use registry::{Error, Registry};
pub use settings::{Flags, Settings};
pub use slis::Slis;
pub use version::{VERSION, Version};
