//! Which nodes there are, and what is the same for all of them.

use std::time::Duration;

/// How often a kubelet renews its lease.
const BEAT: Duration = Duration::from_secs(10);

/// Which nodes there are at the start, and how they are made.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// How many; they are called `node-0`, `node-1`, …
    pub count: usize,
    /// What their names start with.
    pub prefix: String,
    /// How many zones they lie in, in turn: `zone-a`, `zone-b`, … At most 26.
    pub zones: usize,
    /// `cpu` of each, such as `4`.
    pub cpu: String,
    /// `memory` of each, such as `8Gi`.
    pub memory: String,
    /// How many pods each takes.
    pub pods: usize,
    /// Whether each has a range of addresses from the start.
    pub ranges: bool,
    /// Whether kubelets write events.
    pub events: bool,
    /// How often each renews its lease, and looks whether its status is to be reported.
    pub beat: Duration,
}

impl Nodes {
    /// So many nodes, each with 4 CPUs, 8 GiB and room for 110 pods, in three zones.
    pub fn new(count: usize) -> Self {
        Self {
            count,
            prefix: "node-".to_owned(),
            zones: 3,
            cpu: "4".to_owned(),
            memory: "8Gi".to_owned(),
            pods: 110,
            ranges: true,
            events: true,
            beat: BEAT,
        }
    }

    /// With names that start so.
    pub fn prefix(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// In so many zones.
    pub fn zones(mut self, zones: usize) -> Self {
        self.zones = zones;
        self
    }

    /// Each of this size.
    pub fn size(mut self, cpu: &str, memory: &str, pods: usize) -> Self {
        cpu.clone_into(&mut self.cpu);
        memory.clone_into(&mut self.memory);
        self.pods = pods;
        self
    }

    /// Nodes with rare heartbeats. For tests that do not look at leases: they are most of the
    /// writes of a quiet cluster.
    pub fn beat(mut self, beat: Duration) -> Self {
        self.beat = beat.max(Duration::from_secs(1));
        self
    }

    /// With nodes that wait for a controller to give them ranges.
    pub fn without_ranges(mut self) -> Self {
        self.ranges = false;
        self
    }

    /// Whose kubelets write no events.
    pub fn quiet(mut self) -> Self {
        self.events = false;
        self
    }
}
