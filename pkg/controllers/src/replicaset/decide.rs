//! What should be done for a set. As `syncReplicaSet` and `manageReplicas` in upstream's
//! `pkg/controller/replicaset/replica_set.go`.

use std::sync::Arc;

use api::{Pod, Time};
use controller::{Count, Facts, Family, Plan, Step, pods, victims};
use mutant::Mutant;

use super::Options;
use super::snapshot::{self, Scale, Snapshot};

/// Upstream's pkg/controller/replicaset/metrics.
pub(super) const SORTING_DELETION_AGE_RATIO: Family = Family::histogram(
    "replicaset_controller_sorting_deletion_age_ratio",
    "[ALPHA] The ratio of chosen deleted pod's ages to the current youngest pod's age (at \
           the time). Should be <2. The intent of this metric is to measure the rough efficacy of \
           the LogarithmicScaleDown feature gate's effect on the sorting (and deletion) of pods \
           when a replicaset scales down. This only considers Ready pods when calculating and \
           reporting.",
    &[0.25, 0.5, 1.0, 2.0, 4.0, 8.0],
);

pub(super) fn decide(s: &Snapshot, facts: &Facts, options: &Options) -> Plan {
    if let Err(why) = snapshot::selector(&s.set) {
        return Plan::rest(why);
    }
    s.claim.before(&s.resource, &s.set.meta, facts, || manage(s, options))
}

fn manage(s: &Snapshot, options: &Options) -> Plan {
    let plan = match s.scale() {
        _ if s.set.meta.is_terminating() && !mutant::is(Mutant::DyingSetScales) => {
            Plan::rest("the set is being deleted")
        }
        Scale::Keep => Plan::rest("as many pods as asked for"),
        Scale::Up(missing) => scale_up(s, missing, options.burst_replicas),
        Scale::Down(surplus) => scale_down(s, surplus, options),
    };
    plan.again_after(pods::next_check(&s.claim.mine, s.set.min_ready_seconds, s.now))
}

fn scale_up(s: &Snapshot, missing: usize, burst: usize) -> Plan {
    let (set, count) = (&s.set, missing.min(burst));
    let why = format!("{missing} pods missing of {}, creating {count}", set.replicas);
    let creates = if set.template_labels.is_empty() {
        Err("unable to create pods, no labels".to_owned())
    } else {
        pods::creates(&s.resource, &set.meta, set.raw.field("spec"), count)
    };
    match creates {
        Ok(creates) => Plan::one(why, Step::SlowStart(creates)),
        Err(error) => Plan::failed(why, error),
    }
}

fn scale_down(s: &Snapshot, surplus: usize, options: &Options) -> Plan {
    let count = surplus.min(options.burst_replicas);
    let why = format!("{surplus} pods more than {}, deleting {count}", s.set.replicas);
    let victims = victims(&s.claim.mine, &s.related, count, options.costs, s.now);
    let deletes = pods::deletes(&s.resource, &s.set.meta, &victims);
    // If all go, nothing was ranked.
    let ranked = count < s.claim.mine.len();
    let counts = if ranked { age_ratios(s, &victims) } else { Vec::new() };
    Plan { counts, ..Plan::one(why, Step::Together(deletes)) }
}

/// How old each ready victim is, as a whole multiple of the youngest ready pod's age. As
/// `reportSortingDeletionAgeRatioMetric`, but nothing while that age is below a millisecond.
fn age_ratios(s: &Snapshot, victims: &[Arc<Pod>]) -> Vec<Count> {
    let created = |pod: &Arc<Pod>| pod.meta.creation_timestamp.filter(|_| pod.is_ready());
    let age_ms = |at: Time| s.now.since(at).as_millis();
    let youngest_ms = s.claim.mine.iter().filter_map(created).max().map_or(0, age_ms);
    let ratios = victims.iter().filter_map(created).filter_map(|at| {
        let ratio = age_ms(at).checked_div(youngest_ms)?;
        Some(f64::from(u32::try_from(ratio).unwrap_or(u32::MAX)))
    });
    ratios.map(|value| Count::of(&SORTING_DELETION_AGE_RATIO, value)).collect()
}
