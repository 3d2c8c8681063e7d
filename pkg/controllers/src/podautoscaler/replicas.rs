//! From samples to a number of replicas. As upstream's `replica_calculator.go` and
//! `metrics/utilization.go`: the operations on floating-point numbers, and their order, are
//! upstream's, so that results are equal to the last digit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Phase, Pod, ResourceList, Status, Time};
use apimachinery::Quantity;

use super::Options;
use super::samples::{Sample, Samples};

/// Deviations from the target, as shares, that change nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerances {
    /// Below it.
    pub(super) down: f64,
    /// Above it.
    pub(super) up: f64,
}

/// What is computed with.
pub(super) struct Calculator<'a> {
    /// The moment.
    pub(super) now: Time,
    /// The flags and gates.
    pub(super) options: &'a Options,
    /// The pods of the target, sorted by name.
    pub(super) pods: &'a [Arc<Pod>],
    /// The tolerances.
    pub(super) tolerances: Tolerances,
    /// The size of the target.
    pub(super) current: i32,
}

/// A number of replicas, and what it was computed from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Computed {
    /// How many.
    pub(super) replicas: i32,
    /// The average value, in thousandths.
    pub(super) usage: i64,
    /// The average share of what is asked for, in percent; 0 if that does not count.
    pub(super) utilization: i32,
    /// Usage over target.
    pub(super) ratio: f64,
}

/// Pods by what their samples are worth.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    /// How many count.
    pub(super) ready: usize,
    /// Those that do not run well yet.
    pub(super) unready: BTreeSet<String>,
    /// Those without a sample.
    pub(super) missing: BTreeSet<String>,
    /// Those that end.
    pub(super) ignored: BTreeSet<String>,
}

/// What a missing sample is worth where there is less to do than the target says.
enum Fallback<'a> {
    /// This share of what the pod asks for, in percent.
    Utilization(i32, &'a BTreeMap<String, i64>),
    /// The target.
    Usage(i64),
}

const NO_PODS: &str = "no pods returned by selector while calculating replica count";
const NO_SAMPLES: &str = "did not receive metrics for targeted pods (pods might be unready)";

impl Tolerances {
    /// Whether a ratio is near enough to the target.
    pub(super) fn admit(self, ratio: f64) -> bool {
        (1.0 - self.down) <= ratio && ratio <= (1.0 + self.up)
    }
}

impl Calculator<'_> {
    /// By the share of what the pods ask for, in percent. As `GetResourceReplicas`.
    pub(super) fn utilization(
        &self,
        (resource, container): (&str, &str),
        samples: Samples,
        target: i32,
    ) -> Result<Computed, String> {
        let (groups, samples) = self.sort(samples, resource)?;
        let requests = requests(self.pods, container, resource, self.options)?;
        let ratio = |samples: &Samples| utilization_ratio(samples, &requests, target);
        let fallback = Fallback::Utilization(target, &requests);
        self.fill_in(&groups, samples, ratio, &fallback)
    }

    /// By the average value, in thousandths. As `calcPlainMetricReplicas`; `resource` is empty for
    /// what is no resource.
    pub(super) fn average(
        &self,
        resource: &str,
        samples: Samples,
        target: i64,
    ) -> Result<Computed, String> {
        let (groups, samples) = self.sort(samples, resource)?;
        let ratio = |samples: &Samples| Ok(usage_ratio(samples, target));
        self.fill_in(&groups, samples, ratio, &Fallback::Usage(target))
    }

    /// By one value for all of them. As `getUsageRatioReplicaCount`.
    pub(super) fn total(&self, usage: i64, target: i64) -> Result<Computed, String> {
        let ratio = float(usage) / float(target);
        let computed = |replicas| Computed { replicas, usage, utilization: 0, ratio };
        if self.current == 0 {
            return Ok(computed(whole(ratio.ceil())));
        }
        if self.tolerances.admit(ratio) {
            return Ok(computed(self.current));
        }
        if self.pods.is_empty() {
            return Err(format!("unable to calculate ready pods: {NO_PODS}"));
        }
        let is_ready = |pod: &&Arc<Pod>| pod.phase == Phase::Running && pod.is_ready();
        let ready = self.pods.iter().filter(is_ready).count();
        Ok(computed(whole((ratio * count(ready)).ceil())))
    }

    /// By one value that is shared by so many replicas. As `GetObjectPerPodMetricReplicas` and
    /// `GetExternalPerPodMetricReplicas`.
    pub(super) fn shared(&self, usage: i64, target: i64, replicas: i32) -> Computed {
        let ratio = float(usage) / (float(target) * f64::from(replicas));
        let wanted = if self.tolerances.admit(ratio) {
            replicas
        } else {
            whole((float(usage) / float(target)).ceil())
        };
        let is_capped = float(usage) >= float(i64::MAX);
        let usage = if is_capped { i64::MAX } else { share(usage, replicas) };
        Computed { replicas: wanted, usage, utilization: 0, ratio }
    }

    /// Sorts the pods, and drops the samples of those that do not count.
    fn sort(&self, mut samples: Samples, resource: &str) -> Result<(Groups, Samples), String> {
        if self.pods.is_empty() {
            return Err(NO_PODS.to_owned());
        }
        let groups = group(self.pods, &samples, resource, (self.options, self.now));
        samples.retain(|name, _| !groups.ignored.contains(name) && !groups.unready.contains(name));
        if samples.is_empty() {
            return Err(NO_SAMPLES.to_owned());
        }
        Ok((groups, samples))
    }

    /// What is missing counts against a change, in either direction.
    fn fill_in(
        &self,
        groups: &Groups,
        mut samples: Samples,
        ratio_of: impl Fn(&Samples) -> Result<Computed, String>,
        fallback: &Fallback<'_>,
    ) -> Result<Computed, String> {
        let first = ratio_of(&samples)?;
        let (ratio, current) = (first.ratio, self.current);
        let stays = Computed { replicas: current, ..first };
        let up_with_unready = !groups.unready.is_empty() && ratio > 1.0;
        if !up_with_unready && groups.missing.is_empty() {
            if self.tolerances.admit(ratio) {
                return Ok(stays);
            }
            let replicas = whole((ratio * count(groups.ready)).ceil());
            return Ok(Computed { replicas, ..first });
        }
        let mut add = |names: &BTreeSet<String>, value: &dyn Fn(&str) -> i64| {
            samples.extend(names.iter().map(|name| (name.clone(), Sample::of(value(name)))));
        };
        if ratio < 1.0 {
            add(&groups.missing, &|name| fallback.of(name));
        } else if ratio > 1.0 {
            add(&groups.missing, &|_| 0);
        }
        if up_with_unready {
            add(&groups.unready, &|_| 0);
        }
        let new = ratio_of(&samples)?.ratio;
        let turned = ratio < 1.0 && new > 1.0 || ratio > 1.0 && new < 1.0;
        if self.tolerances.admit(new) || turned {
            return Ok(stays);
        }
        let replicas = whole((new * count(samples.len())).ceil());
        let turned = new < 1.0 && replicas > current || new > 1.0 && replicas < current;
        Ok(if turned { stays } else { Computed { replicas, ..first } })
    }
}

impl Fallback<'_> {
    fn of(&self, name: &str) -> i64 {
        match self {
            Self::Utilization(target, requests) => {
                let request = requests.get(name).copied().unwrap_or(0);
                request.wrapping_mul(i64::from(*target.max(&100))) / 100
            }
            Self::Usage(target) => *target,
        }
    }
}

impl Sample {
    /// A value that nobody measured.
    fn of(value: i64) -> Self {
        let (timestamp, window) = (Time::EPOCH, std::time::Duration::ZERO);
        Self { timestamp, window, value }
    }
}

/// As `groupPods`.
pub(super) fn group(
    pods: &[Arc<Pod>],
    samples: &Samples,
    resource: &str,
    (options, now): (&Options, Time),
) -> Groups {
    let mut groups = Groups::default();
    for pod in pods {
        let name = String::from(&*pod.meta.key.name);
        if pod.meta.is_terminating() || pod.phase == Phase::Failed {
            groups.ignored.insert(name);
        } else if pod.phase == Phase::Pending {
            groups.unready.insert(name);
        } else if let Some(sample) = samples.get(&name) {
            if resource == "cpu" && is_unready(pod, sample, options, now) {
                groups.unready.insert(name);
            } else {
                groups.ready += 1;
            }
        } else {
            groups.missing.insert(name);
        }
    }
    groups
}

/// Whether what a pod uses says nothing yet: it starts, or is not ready and never was.
fn is_unready(pod: &Pod, sample: &Sample, options: &Options, now: Time) -> bool {
    let (Some((status, since)), Some(start)) = (pod.ready, pod.start_time) else { return true };
    let since = since.unwrap_or(Time::from_unix(i64::MIN, 0));
    let is_false = status == Status::False;
    if start + options.cpu_initialization_period > now {
        is_false || sample.timestamp < since + sample.window
    } else {
        is_false && start + options.initial_readiness_delay > since
    }
}

/// What each pod asks for, in thousandths. As `calculateRequests`.
pub(super) fn requests(
    pods: &[Arc<Pod>],
    container: &str,
    resource: &str,
    options: &Options,
) -> Result<BTreeMap<String, i64>, String> {
    let of = |pod: &Arc<Pod>| {
        let name = String::from(&*pod.meta.key.name);
        let whole = pod.quota.whole.as_ref();
        let whole = whole.filter(|_| options.counts_pod_level && container.is_empty());
        let request = match whole {
            Some(whole) => whole_request(whole, resource, &name),
            None => containers_request(pod, container, resource, &name),
        };
        request.map(|request| (name, request))
    };
    pods.iter().map(of).collect()
}

/// As `calculatePodLevelRequests`.
fn whole_request(whole: &ResourceList, resource: &str, pod: &str) -> Result<i64, String> {
    let missing = || format!("missing pod-level request for {resource} in Pod {pod}");
    whole.get(resource).map(Quantity::milli_value).ok_or_else(missing)
}

/// As `calculatePodRequestsFromContainers`.
fn containers_request(
    pod: &Pod,
    container: &str,
    resource: &str,
    name: &str,
) -> Result<i64, String> {
    let mut sum = 0_i64;
    for (known, requests) in &pod.quota.containers {
        if container.is_empty() || **known == *container {
            let Some(request) = requests.get(resource) else {
                return Err(format!(
                    "missing request for {resource} in container {known} of Pod {name}"
                ));
            };
            sum = sum.wrapping_add(request.milli_value());
        }
        if **known == *container {
            return Ok(sum);
        }
    }
    if container.is_empty() {
        return Ok(sum);
    }
    Err(format!("container {container} not found in Pod {name}"))
}

/// As `GetResourceUtilizationRatio`: the share in whole percent comes first.
fn utilization_ratio(
    samples: &Samples,
    requests: &BTreeMap<String, i64>,
    target: i32,
) -> Result<Computed, String> {
    let (mut used, mut asked, mut entries) = (0_i64, 0_i64, 0_i64);
    for (name, sample) in samples {
        let Some(request) = requests.get(name) else { continue };
        used = used.wrapping_add(sample.value);
        asked = asked.wrapping_add(*request);
        entries += 1;
    }
    if asked == 0 {
        return Err("no metrics returned matched known pods".to_owned());
    }
    let share = used.wrapping_mul(100) / asked;
    let utilization = i32::try_from(share).unwrap_or(i32::MAX);
    let ratio = f64::from(utilization) / f64::from(target);
    Ok(Computed { replicas: 0, usage: used / entries, utilization, ratio })
}

/// As `GetMetricUsageRatio`.
fn usage_ratio(samples: &Samples, target: i64) -> Computed {
    let total = samples.values().fold(0_i64, |sum, sample| sum.wrapping_add(sample.value));
    let usage = total / i64::try_from(samples.len()).unwrap_or(i64::MAX).max(1);
    Computed { replicas: 0, usage, utilization: 0, ratio: float(usage) / float(target) }
}

/// The sum of all series; more than there can be is the most. As `GetExternalMetricReplicas`.
pub(super) fn sum(values: impl IntoIterator<Item = i64>) -> i64 {
    let mut sum = 0_i64;
    for value in values {
        match sum.checked_add(value) {
            Some(more) => sum = more,
            None if value > 0 => return i64::MAX,
            None => sum = sum.wrapping_add(value),
        }
    }
    sum
}

/// The same for a value that replicas share, where upstream takes less than nothing for too much.
/// As `GetExternalPerPodMetricReplicas`.
pub(super) fn sum_shared(values: impl IntoIterator<Item = i64>) -> i64 {
    let mut sum = 0_i64;
    for value in values {
        sum = sum.wrapping_add(value);
        if sum < 0 {
            return i64::MAX;
        }
    }
    sum
}

#[expect(clippy::cast_precision_loss, reason = "as upstream")]
fn float(value: i64) -> f64 {
    value as f64
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer pods")]
fn count(pods: usize) -> f64 {
    pods as f64
}

/// A number of replicas; what no number of replicas can be is the nearest that can.
#[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
fn whole(replicas: f64) -> i32 {
    replicas as i32
}

/// The share of each replica, rounded up.
#[expect(clippy::cast_possible_truncation, reason = "a cast saturates")]
fn share(usage: i64, replicas: i32) -> i64 {
    (float(usage) / f64::from(replicas)).ceil() as i64
}
