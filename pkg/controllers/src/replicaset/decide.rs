//! What should be done for a ReplicaSet. As `syncReplicaSet` and `manageReplicas` in upstream's
//! `pkg/controller/replicaset/replica_set.go`.

use std::time::Duration;

use api::{Kind, ReplicaSet};
use controller::{Facts, Plan, Step, pods, victims};

use super::snapshot::{self, Scale, Snapshot};

pub(super) fn decide(s: &Snapshot, facts: &Facts, burst: usize) -> Plan {
    if let Err(why) = snapshot::selector(&s.set) {
        return Plan::rest(why);
    }
    if let Some(plan) = s.claim.plan(&ReplicaSet::RESOURCE, &s.set.meta, facts) {
        return plan;
    }
    let plan = match s.scale() {
        _ if s.set.meta.is_terminating() => Plan::rest("the set is being deleted"),
        Scale::Keep => Plan::rest("as many pods as asked for"),
        Scale::Up(missing) => scale_up(s, missing, burst),
        Scale::Down(surplus) => scale_down(s, surplus, burst),
    };
    plan.again_after(next_check(s))
}

fn scale_up(s: &Snapshot, missing: usize, burst: usize) -> Plan {
    let (set, count) = (&s.set, missing.min(burst));
    let why = format!("{missing} pods missing of {}, creating {count}", set.replicas);
    let creates = if set.template_labels.is_empty() {
        Err("unable to create pods, no labels".to_owned())
    } else {
        pods::creates(&ReplicaSet::RESOURCE, &set.meta, set.raw.field("spec"), count)
    };
    match creates {
        Ok(creates) => Plan::one(why, Step::SlowStart(creates)),
        Err(error) => Plan { error: Some(error), ..Plan::rest(why) },
    }
}

fn scale_down(s: &Snapshot, surplus: usize, burst: usize) -> Plan {
    let count = surplus.min(burst);
    let why = format!("{surplus} pods more than {}, deleting {count}", s.set.replicas);
    let victims = victims(&s.claim.mine, &s.related, count, s.now);
    let deletes = pods::deletes(&ReplicaSet::RESOURCE, &s.set.meta, &victims);
    Plan::one(why, Step::Together(deletes))
}

/// When to count again: once the next pod has been ready for long enough. At the latest after
/// `minReadySeconds`, as long as not all ready pods are available.
fn next_check(s: &Snapshot) -> Option<Duration> {
    let (pods, min_ready_seconds) = (&s.claim.mine, s.set.min_ready_seconds);
    let longest = Duration::from_secs(u64::try_from(min_ready_seconds).ok()?);
    let waits =
        |pod: &api::Pod| pod.is_ready() && !pods::is_available(pod, min_ready_seconds, s.now);
    let any_waits = pods.iter().any(|pod| waits(pod));
    any_waits.then(|| pods::next_available(pods, min_ready_seconds, s.now).unwrap_or(longest))
}
