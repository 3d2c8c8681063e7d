//! What the controllers of an object would do now, by the functions that the manager runs.

use std::time::Duration;

use api::{Key, ReplicaSet, ReplicationController, Resource};
use controller::{Controller, Costs, View};
use controllers::statefulset::{Comparison, MaxUnavailable};
use controllers::{cronjob, daemonset, deployment, disruption, job, podautoscaler};
use controllers::{persistentvolume, replicaset, statefulset};
use engine::{Glance, glance};

use crate::caches::{Held, Table};
use crate::look::Thing;
use crate::{Decision, Facts, Line, Need, Reader, Seen};

/// How long this process counts as running: a controller that waits after its start does not.
const UPTIME: Duration = Duration::from_hours(24);
/// Facts that say nothing to a person.
const HIDDEN: [&str; 1] = ["resource version"];

/// One for each controller whose keys are objects of this kind, with upstream's default options.
pub(crate) async fn of(reader: &Reader, facts: &mut Facts, thing: &Thing) -> Vec<Decision> {
    let made = match (&*thing.resource.group, &*thing.resource.plural) {
        ("apps", "deployments") => {
            let controller = deployment::Controller { counts_terminating: true };
            by(reader, facts, thing, "deployment-controller", controller).await
        }
        ("apps", "replicasets") => {
            let controller = replicaset::Controller::<ReplicaSet>::with(sets(true));
            by(reader, facts, thing, "replicaset-controller", controller).await
        }
        ("", "replicationcontrollers") => {
            let controller = replicaset::Controller::<ReplicationController>::with(sets(false));
            by(reader, facts, thing, "replicationcontroller-controller", controller).await
        }
        ("apps", "daemonsets") => {
            let controller = daemonset::Controller::new(250);
            by(reader, facts, thing, "daemonset-controller", controller).await
        }
        ("apps", "statefulsets") => {
            let (comparison, max_unavailable) = (Comparison::Semantic, MaxUnavailable::One);
            let controller = statefulset::Controller { comparison, max_unavailable };
            by(reader, facts, thing, "statefulset-controller", controller).await
        }
        ("batch", "jobs") => {
            let controller = job::Controller::new(job::Options { resets_start_time: true });
            by(reader, facts, thing, "job-controller", controller).await
        }
        ("batch", "cronjobs") => {
            let controller = cronjob::Controller { local: api::cron::Zone::UTC };
            by(reader, facts, thing, "cronjob-controller", controller).await
        }
        ("policy", "poddisruptionbudgets") => {
            by(reader, facts, thing, "disruption-controller", disruption::Controller).await
        }
        ("autoscaling", "horizontalpodautoscalers") => {
            let controller = podautoscaler::Controller(autoscaling());
            by(reader, facts, thing, "horizontal-pod-autoscaler-controller", controller).await
        }
        ("", "persistentvolumeclaims") => {
            let sync_period = Duration::from_secs(15);
            let controller = persistentvolume::Claims { sync_period, provisions: true };
            by(reader, facts, thing, "persistentvolume-binder-controller", controller).await
        }
        _ => return Vec::new(),
    };
    vec![made]
}

async fn by<C: Controller>(
    reader: &Reader,
    facts: &mut Facts,
    thing: &Thing,
    name: &'static str,
    controller: C,
) -> Decision {
    let table = Table::of(&controller);
    let namespace = thing.namespace().to_owned();
    let need = |resource: &Resource, fields: &str| {
        let namespace = if resource.namespaced { namespace.clone() } else { String::new() };
        Need::List(resource.clone(), namespace, fields.to_owned())
    };
    let needs = table.rows.iter().map(|row| need(&row.resource, row.fields));
    let needs = needs.filter(|need| facts.get(need).is_none()).collect();
    reader.read(facts, needs).await;
    let (mut held, mut missing) = (Held::default(), Vec::new());
    for row in &table.rows {
        match facts.get(&need(&row.resource, row.fields)) {
            Some(Seen::Objects(objects)) => held.fill(row, Some(objects), UPTIME),
            Some(Seen::Absent) if row.optional => held.fill(row, None, UPTIME),
            _ => missing.push(row.resource.to_string()),
        }
    }
    let decision = |glance: Glance| {
        let shown = glance.summary.into_iter().filter(|fact| !HIDDEN.contains(&fact.name));
        let summary = shown.map(|it| Line { name: it.name.to_owned(), value: it.value });
        let plan = glance.plan.iter().flat_map(|plan| plan.lines()).map(str::to_owned);
        Decision {
            controller: name,
            subject: thing.subject(),
            summary: summary.collect(),
            live_reads: glance.live_reads,
            plan: plan.collect(),
            error: glance.error,
        }
    };
    if !missing.is_empty() || table.everything {
        let what = if table.everything { "every kind".to_owned() } else { missing.join(", ") };
        let error = Some(format!("it reads what is not seen here: {what}"));
        return decision(Glance { error, ..Glance::default() });
    }
    let clock = reader.client.clock();
    let view = View::new(clock.now(), UPTIME, &held);
    let key = Key::new(thing.namespace(), thing.name());
    decision(glance(controller, &key, &view, &reader.client).await)
}

fn sets(counts_terminating: bool) -> replicaset::Options {
    let options = replicaset::Options::new(500);
    replicaset::Options { costs: Costs::Count, counts_terminating, ..options }
}

fn autoscaling() -> podautoscaler::Options {
    podautoscaler::Options {
        sync_period: Duration::from_secs(15),
        downscale_stabilization: Duration::from_mins(5),
        tolerance: 0.1,
        cpu_initialization_period: Duration::from_mins(5),
        initial_readiness_delay: Duration::from_secs(30),
        admits_tolerances: true,
        scales_to_zero: false,
        counts_pod_level: true,
    }
}
