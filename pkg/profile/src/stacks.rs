//! Weighted call stacks, before they become a profile.

use std::collections::BTreeMap;

use jemalloc_pprof::{StackProfile, WeightedStack};

/// The type and unit of a profile's values, in pprof's terms.
pub(crate) type SampleType = (&'static str, &'static str);

/// Stacks of return addresses, the outermost call first, and the weight of each.
#[derive(Default)]
pub(crate) struct Stacks(BTreeMap<Vec<usize>, f64>);

// === impl Stacks ===

impl Stacks {
    pub(crate) fn add(&mut self, addresses: Vec<usize>, weight: f64) {
        *self.0.entry(addresses).or_default() += weight;
    }

    /// The difference since `before`. An unchanged stack is left out.
    pub(crate) fn since(mut self, before: Self) -> Self {
        for (addresses, weight) in before.0 {
            self.add(addresses, -weight);
        }
        // Weights become integers in the end.
        self.0.retain(|_, weight| weight.abs() >= 1.0);
        self
    }

    /// A gzipped profile with the names of the functions. Looks them up in the binary's debug
    /// information, which takes fractions of a second and must not run on a worker thread.
    pub(crate) fn encode(self, kind: SampleType, period: SampleType) -> Vec<u8> {
        let stacks = self.0.into_iter();
        let stacks = stacks.map(|(addrs, weight)| (WeightedStack { addrs, weight }, None));
        let profile = StackProfile {
            stacks: stacks.collect(),
            mappings: mappings::MAPPINGS.clone().unwrap_or_default(),
            ..StackProfile::default()
        };
        let bytes = profile.to_pprof(kind, period, None);
        // The cache holds megabytes, and the next profile may never come.
        backtrace::clear_symbol_cache();
        bytes
    }
}
