//! The resources that the process uses: the families that Prometheus' Go library gives every
//! program, read from `/proc` at each scrape.
//!
//! Of the families about the Go runtime two have a counterpart here, `go_goroutines` and
//! `go_threads`, which alerts and dashboards of control planes use. The others would be false here:
//! `go_info`, `go_build_info`, `go_gc_*`, `go_memstats_*`, `go_memory_*`, `go_sched_*`, `go_cpu_*`,
//! `go_cgo_*`, `go_sync_*` and `go_godebug_*` are left out.

use std::collections::HashMap;
use std::fs;

use prometheus::core::{Collector, Desc};
use prometheus::proto::{Counter, Gauge, Metric, MetricFamily, MetricType};
use tokio::runtime::Handle;

use crate::registry::{Error, Registry};

/// Linux reports times to user space in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

/// The families, in the order of [`Process::values`].
const FAMILIES: [(&str, &str, MetricType); 11] = [
    (
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds.",
        MetricType::COUNTER,
    ),
    ("process_open_fds", "Number of open file descriptors.", MetricType::GAUGE),
    ("process_max_fds", "Maximum number of open file descriptors.", MetricType::GAUGE),
    ("process_virtual_memory_bytes", "Virtual memory size in bytes.", MetricType::GAUGE),
    (
        "process_virtual_memory_max_bytes",
        "Maximum amount of virtual memory available in bytes.",
        MetricType::GAUGE,
    ),
    ("process_resident_memory_bytes", "Resident memory size in bytes.", MetricType::GAUGE),
    (
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
        MetricType::GAUGE,
    ),
    (
        "process_network_receive_bytes_total",
        "Number of bytes received by the process over the network.",
        MetricType::COUNTER,
    ),
    (
        "process_network_transmit_bytes_total",
        "Number of bytes sent by the process over the network.",
        MetricType::COUNTER,
    ),
    (
        "go_goroutines",
        "Number of tasks that currently exist. This program has tasks where others have \
         goroutines.",
        MetricType::GAUGE,
    ),
    ("go_threads", "Number of OS threads created.", MetricType::GAUGE),
];

/// Registers the families. `tasks` is the runtime whose tasks are counted.
pub fn register(registry: &Registry, tasks: Handle) -> Result<(), Error> {
    registry.raw(Box::new(Process::new(tasks)))
}

/// Seconds since the epoch; none if `/proc` does not have it.
pub(crate) fn start_time_seconds() -> Option<f64> {
    let stat = Stat::parse(&fs::read_to_string("/proc/self/stat").ok()?)?;
    Some(boot_time(&fs::read_to_string("/proc/stat").ok()?)? + stat.start_seconds)
}

struct Process {
    descs: Vec<Desc>,
    tasks: Handle,
    /// See [`start_time_seconds`].
    started: Option<f64>,
}

/// The used fields of `/proc/self/stat`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stat {
    pub(crate) cpu_seconds: f64,
    pub(crate) threads: f64,
    /// Since the machine was started.
    pub(crate) start_seconds: f64,
    pub(crate) virtual_bytes: f64,
}

// === impl Process ===

impl Process {
    fn new(tasks: Handle) -> Self {
        let desc = |(name, help, _): &(&str, &str, MetricType)| {
            Desc::new((*name).to_owned(), (*help).to_owned(), Vec::new(), HashMap::new())
        };
        let descs = FAMILIES.iter().map(desc).collect::<Result<_, _>>();
        let descs = descs.expect("the names above are good");
        Self { descs, tasks, started: start_time_seconds() }
    }

    /// None if `/proc` does not have it.
    fn values(&self) -> [Option<f64>; FAMILIES.len()] {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let stat = Stat::parse(&read("/proc/self/stat"));
        let (limits, netstat) = (read("/proc/self/limits"), read("/proc/self/net/netstat"));
        let fds = fs::read_dir("/proc/self/fd").map(Iterator::count).ok();
        let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        [
            stat.map(|stat| stat.cpu_seconds),
            fds.map(number),
            limit(&limits, "Max open files"),
            stat.map(|stat| stat.virtual_bytes),
            limit(&limits, "Max address space"),
            resident_bytes(&read("/proc/self/status")),
            self.started,
            octets(&netstat, "InOctets"),
            octets(&netstat, "OutOctets"),
            Some(number(self.tasks.metrics().num_alive_tasks())),
            stat.map(|stat| stat.threads),
        ]
    }
}

impl Collector for Process {
    fn desc(&self) -> Vec<&Desc> {
        self.descs.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let known = FAMILIES.iter().zip(self.values());
        known.filter_map(|(row, value)| Some(family(row, value?))).collect()
    }
}

fn family(&(name, help, kind): &(&str, &str, MetricType), value: f64) -> MetricFamily {
    let mut metric = Metric::default();
    if kind == MetricType::COUNTER {
        let mut counter = Counter::default();
        counter.set_value(value);
        metric.set_counter(counter);
    } else {
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        metric.set_gauge(gauge);
    }
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(kind);
    family.set_metric(vec![metric]);
    family
}

// === impl Stat ===

impl Stat {
    /// See proc_pid_stat(5). The command may contain spaces and brackets.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(") ")?;
        let fields: Vec<_> = rest.split_ascii_whitespace().collect();
        // The manual counts from 1, and two fields precede the bracket.
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self {
            cpu_seconds: (field(14)? + field(15)?) / TICKS_PER_SECOND,
            threads: field(20)?,
            start_seconds: field(22)? / TICKS_PER_SECOND,
            virtual_bytes: field(23)?,
        })
    }
}

/// The start time of the machine, from `/proc/stat`.
pub(crate) fn boot_time(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())
}

/// A soft limit from `/proc/self/limits`; no limit is the greatest number.
#[expect(clippy::cast_precision_loss, reason = "the sample's type is a float")]
pub(crate) fn limit(limits: &str, name: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_ascii_whitespace().next()? {
        "unlimited" => Some(u64::MAX as f64),
        soft => soft.parse().ok(),
    }
}

/// The resident set, from `/proc/self/status`.
pub(crate) fn resident_bytes(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes * 1024.0)
}

/// A field of the lines `IpExt:` of netstat: names first, then values.
pub(crate) fn octets(netstat: &str, name: &str) -> Option<f64> {
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("IpExt: "));
    let at = lines.next()?.split(' ').position(|field| field == name)?;
    lines.next()?.split(' ').nth(at)?.parse().ok()
}
