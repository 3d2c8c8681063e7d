//! `leader_election_*`, as upstream's component-base/metrics/prometheus/clientgo/leaderelection.

use prometheus::{IntCounterVec, IntGaugeVec, Opts, Registry};

/// The metrics of all elections of a process; the label `name` is the name of the Lease.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// 1 while we lead.
    pub(crate) master_status: IntGaugeVec,
    /// Renewals for which the Lease had to be read.
    pub(crate) slowpath: IntCounterVec,
}

impl Metrics {
    /// Registers the families. An error if the registry has them already.
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let master_status = IntGaugeVec::new(
            Opts::new(
                "leader_election_master_status",
                "[ALPHA] Whether this process holds the lease of that name: 1 if it leads, 0 if it \
                 stands by.",
            ),
            &["name"],
        )?;
        let slowpath = IntCounterVec::new(
            Opts::new(
                "leader_election_slowpath_total",
                "[ALPHA] Renewals of the lease of that name that had to read it first.",
            ),
            &["name"],
        )?;
        registry.register(Box::new(master_status.clone()))?;
        registry.register(Box::new(slowpath.clone()))?;
        Ok(Self { master_status, slowpath })
    }
}
