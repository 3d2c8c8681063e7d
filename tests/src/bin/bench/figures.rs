//! What is measured of a scenario, in one run and over several.

use crate::requests::{Counts, by_verb, is_write};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// Of one manager in one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Figures {
    /// From the first change to the end of the scenario, as the tool's watch saw it.
    pub(crate) took_s: f64,
    /// From the first change to the manager's last write, if it wrote.
    pub(crate) settled_s: Option<f64>,
    /// Processor time from the first change until the manager was quiet.
    pub(crate) user_s: f64,
    /// In the kernel.
    pub(crate) system_s: f64,
    /// Resident memory when it was quiet.
    pub(crate) rss_kib: u64,
    /// The most that it was.
    pub(crate) peak_kib: u64,
    /// By all its connections.
    pub(crate) received_bytes: Option<u64>,
    /// What it asked for.
    pub(crate) requests: Counts,
    /// What only some scenarios have, in seconds.
    pub(crate) more: BTreeMap<&'static str, f64>,
}

/// The medians over several runs of what the table shows; none where no run says it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Medians {
    pub(crate) took_s: Option<f64>,
    pub(crate) settled_s: Option<f64>,
    pub(crate) cpu_s: Option<f64>,
    pub(crate) rss_mib: Option<f64>,
    pub(crate) peak_mib: Option<f64>,
    pub(crate) received_mib: Option<f64>,
    pub(crate) requests: Option<f64>,
    pub(crate) writes: Option<f64>,
    pub(crate) more: BTreeMap<&'static str, f64>,
}

// === impl Figures ===

impl Figures {
    pub(crate) fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }

    fn count(&self, is_counted: impl Fn(&str) -> bool) -> f64 {
        let counted = by_verb(&self.requests).into_iter().filter(|(verb, _)| is_counted(verb));
        float(counted.map(|(_, count)| count).sum())
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "tookSeconds": round(self.took_s),
            "settledSeconds": self.settled_s.map(round),
            "cpuSeconds": round(self.cpu_s()),
            "userSeconds": round(self.user_s),
            "systemSeconds": round(self.system_s),
            "rssKiB": self.rss_kib,
            "peakKiB": self.peak_kib,
            "receivedBytes": self.received_bytes,
            "requestsByVerb": by_verb(&self.requests),
            "requests": self.requests,
            "moreSeconds": self.more,
        })
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (took, cpu) = (self.took_s, self.cpu_s());
        let [rss, peak] = [self.rss_kib, self.peak_kib].map(|kib| kib / 1024);
        let requests = self.count(|_| true);
        write!(
            f,
            "took {took:.2} s, CPU {cpu:.2} s, {rss} MiB, at most {peak} MiB, {requests} requests"
        )?;
        self.more.iter().try_for_each(|(name, seconds)| write!(f, ", {name} {seconds:.2} s"))
    }
}

// === impl Medians ===

impl Medians {
    pub(crate) fn of(runs: &[&Figures]) -> Self {
        let over = |value: &dyn Fn(&Figures) -> Option<f64>| {
            median(runs.iter().filter_map(|figures| value(figures)).collect())
        };
        let names = runs.iter().flat_map(|figures| figures.more.keys().copied());
        let more = names
            .filter_map(|name| Some((name, over(&|it| it.more.get(name).copied())?)))
            .collect();
        Self {
            took_s: over(&|it| Some(it.took_s)),
            settled_s: over(&|it| it.settled_s),
            cpu_s: over(&|it| Some(it.cpu_s())),
            rss_mib: over(&|it| Some(float(it.rss_kib) / 1024.0)),
            peak_mib: over(&|it| Some(float(it.peak_kib) / 1024.0)),
            received_mib: over(&|it| Some(float(it.received_bytes?) / 1024.0 / 1024.0)),
            requests: over(&|it| Some(it.count(|_| true))),
            writes: over(&|it| Some(it.count(is_write))),
            more,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let rounded = |value: Option<f64>| value.map(round);
        json!({
            "tookSeconds": rounded(self.took_s),
            "settledSeconds": rounded(self.settled_s),
            "cpuSeconds": rounded(self.cpu_s),
            "rssMiB": rounded(self.rss_mib),
            "peakMiB": rounded(self.peak_mib),
            "receivedMiB": rounded(self.received_mib),
            "requests": self.requests,
            "writes": self.writes,
            "moreSeconds": self.more,
        })
    }
}

/// The middle one, or the mean of the two in the middle; none of nothing.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(values[middle - 1], upper))
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Three places: no clock here is better.
fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![7.0]), Some(7.0));
        assert_eq!(median(vec![]), None);
    }

    #[test]
    fn each_figure_has_its_own_median() {
        let figures = |took_s: f64, rss_kib: u64, settled_s| {
            let requests = [("get pods", 1), ("create pods", rss_kib)];
            let requests = requests.map(|(name, count)| (name.to_owned(), count)).into();
            let more = [("lease", took_s)].into();
            Figures { took_s, settled_s, rss_kib, requests, more, ..Figures::default() }
        };
        let runs =
            [figures(1.0, 3072, Some(5.0)), figures(2.0, 1024, None), figures(3.0, 2048, None)];
        let medians = Medians::of(&runs.each_ref());
        assert_eq!(medians.took_s, Some(2.0));
        assert_eq!(medians.rss_mib, Some(2.0));
        assert_eq!(medians.settled_s, Some(5.0));
        assert_eq!((medians.requests, medians.writes), (Some(2049.0), Some(2048.0)));
        assert_eq!(medians.received_mib, None);
        assert_eq!(medians.more, [("lease", 2.0)].into());
    }
}
