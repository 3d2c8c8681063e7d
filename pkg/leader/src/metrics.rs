//! `leader_election_*`, as upstream's component-base/metrics/prometheus/clientgo/leaderelection.

use metrics::{Error, Family, IntCounterVec, IntGaugeVec, Registry};

const LABELS: &[&str] = &["name"];

/// The metrics of all elections of a process; the label `name` is the name of the Lease.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// 1 while we lead.
    pub(crate) master_status: IntGaugeVec,
    /// Renewals that had to read the Lease.
    pub(crate) slowpath: IntCounterVec,
    /// 1 while we or another contender hold the Lease, as far as this process knows.
    pub(crate) held: IntGaugeVec,
}

impl Metrics {
    /// Registers the families. An error if the registry has them already.
    pub fn new(registry: &Registry) -> Result<Self, Error> {
        let master_status = Family::alpha(
            "leader_election_master_status",
            "Gauge of if the reporting system is master of the relevant lease, 0 indicates \
             backup, 1 indicates master. 'name' is the string used to identify the lease. Please \
             make sure to group by name.",
        );
        let slowpath = Family::alpha(
            "leader_election_slowpath_total",
            "Total number of slow path exercised in renewing leader leases. 'name' is the string \
             used to identify the lease. Please make sure to group by name.",
        );
        let held = Family::alpha(
            "kcm_lease_held",
            "1 while this process leads or sees that another one does, since it renews the lease. \
             0: nobody is seen to lead, or the lease cannot be read.",
        );
        Ok(Self {
            master_status: registry.family(&master_status.labels(LABELS))?,
            slowpath: registry.family(&slowpath.labels(LABELS))?,
            held: registry.family(&held.labels(LABELS))?,
        })
    }
}
