//! Which keys a change enqueues, and what it costs.

use std::any::TypeId;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use api::{AnyObject, Resource};
use controller::{Cache, Caches, Show};

use super::*;

const NOW: &str = "2016-05-19T10:00:30Z";

fn fixture() -> Fixture {
    holding(NOW, &cron_job(json!({})), &[])
}

/// TestControllerV2UpdateCronJob: another schedule is waited for, all else is looked at now.
#[test]
fn another_schedule_begins_with_its_next_time() {
    let last = json!({"status": {"lastScheduleTime": TOP}});
    let was = with(cron_job(json!({})), last);
    let soon = |seconds: u64| {
        let delay = Duration::from_secs(seconds) + Duration::from_millis(100);
        format!("after {delay:?} snazzycats/mycronjob\n")
    };
    let now = "now snazzycats/mycronjob\n".to_owned();
    for (name, patch, expected) in [
        ("template", json!({"jobTemplate": {"metadata": {"labels": {"a": "foo"}}}}), now.clone()),
        ("minutely", json!({"schedule": "*/1 * * * *"}), soon(30)),
        ("later", json!({"schedule": "0 11 * * *"}), soon(3570)),
        ("zone", json!({"timeZone": "Asia/Kolkata"}), soon(1770)),
        (
            "never due",
            json!({"schedule": "59 23 31 2 *"}),
            "after 0ns snazzycats/mycronjob\n".into(),
        ),
        ("unreadable", json!({"schedule": "no"}), now),
    ] {
        let new = decode::<CronJob>(&with(was.clone(), json!({"spec": patch})));
        let change = Change::Updated { old: decode::<CronJob>(&was), new };
        assert_eq!(enqueued(&controller(), &change, &fixture()), expected, "{name}");
    }
    let cron = decode::<CronJob>(&was);
    let own = |change| enqueued(&controller(), &change, &fixture());
    assert_eq!(own(Change::Added(cron.clone())), "now snazzycats/mycronjob\n");
    assert_eq!(own(Change::Deleted(cron)), "forget snazzycats/mycronjob\n");
}

/// TestControllerV2GetJobsToBeReconciled, `resolveControllerRef`: kind, name and uid of the owner.
#[test]
fn a_job_enqueues_its_owner() {
    let enqueues = |change: &Change<Job>| enqueued(&controller(), change, &fixture());
    let owner = |patch: Value| {
        let owners = with(job("a", json!({}))["metadata"]["ownerReferences"][0].clone(), patch);
        json!({"metadata": {"ownerReferences": [owners], "resourceVersion": "4"}})
    };
    let ours = decode::<Job>(&job("a", json!({})));
    let now = "now snazzycats/mycronjob\n";
    for (name, patch, expected) in [
        ("ours", json!({}), now),
        ("terminating", json!({"metadata": {"deletionTimestamp": NOW}}), now),
        ("of another kind", owner(json!({"kind": "Farm"})), ""),
        ("of another name", owner(json!({"name": "other"})), ""),
        ("of another uid", owner(json!({"uid": "other"})), ""),
        ("not managed", owner(json!({"controller": false})), ""),
        ("orphaned", json!({"metadata": {"ownerReferences": null}}), ""),
    ] {
        let other = decode::<Job>(&job("a", patch));
        assert_eq!(enqueues(&Change::Added(other.clone())), expected, "{name}");
        assert_eq!(enqueues(&Change::Deleted(other.clone())), expected, "{name}");
        let both = if expected.is_empty() { now } else { expected };
        if other.meta.resource_version != ours.meta.resource_version {
            let change = Change::Updated { old: ours.clone(), new: other };
            assert_eq!(enqueues(&change), both, "{name}: the former owner is enqueued");
        }
    }
    let resync = Change::Updated { old: ours.clone(), new: ours };
    assert_eq!(enqueues(&resync), "");
}

/// Caches that count what is read of them.
struct Counting<'a> {
    caches: &'a Fixture,
    jobs: Reads<'a>,
    cron_jobs: Reads<'a>,
}

struct Reads<'a>(&'a dyn Cache, &'a AtomicUsize);

impl Caches for Counting<'_> {
    fn cache(&self, kind: TypeId) -> Option<&dyn Cache> {
        let is_job = kind == TypeId::of::<Job>();
        self.caches.cache(kind)?;
        Some(if is_job { &self.jobs } else { &self.cron_jobs })
    }

    fn metadata(&self, _: &Resource) -> Option<std::sync::Arc<dyn Cache>> {
        None
    }
}

impl Cache for Reads<'_> {
    fn get(&self, key: &Key) -> Option<std::sync::Arc<dyn AnyObject>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.get(key)
    }

    fn by(&self, index: &str, value: &str, show: &mut Show<'_>) {
        self.0.by(index, value, &mut |objects| {
            self.1.fetch_add(objects.len(), Ordering::Relaxed);
            show(objects);
        });
    }

    fn all(&self, show: &mut Show<'_>) {
        self.of_namespace("", show);
    }

    fn of_namespace(&self, _: &str, _: &mut Show<'_>) {
        panic!("whole caches are not looked at");
    }

    fn heard(&self) -> Option<Duration> {
        self.0.heard()
    }
}

/// kubernetes issue 126510: with thousands of CronJobs, each event and each sync looked at all.
#[test]
fn ten_thousand_cron_jobs_make_nothing_dearer() {
    let name = |number: usize| format!("minutely-{number}");
    let crons: Vec<_> = (0..10_000)
        .map(|number| {
            cron_job(json!({
                "metadata": {"name": name(number), "uid": format!("uid-{number}")},
                "spec": {"schedule": "* * * * *"},
            }))
        })
        .collect();
    let jobs: Vec<_> = (0..10_000)
        .map(|number| {
            let owners = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": name(number),
                "uid": format!("uid-{number}"), "controller": true}]);
            let patch = json!({"metadata": {"ownerReferences": owners}});
            job(&format!("{}-1", name(number)), patch)
        })
        .collect();
    let mut fixture = Fixture::default().holding::<CronJob>(&crons).holding::<Job>(&jobs);
    fixture.now = at(NOW);
    let reads = AtomicUsize::new(0);
    let cache = |kind| fixture.cache(kind).unwrap();
    let counting = Counting {
        caches: &fixture,
        jobs: Reads(cache(TypeId::of::<Job>()), &reads),
        cron_jobs: Reads(cache(TypeId::of::<CronJob>()), &reads),
    };
    let view = View::new(fixture.now, Duration::ZERO, &counting);

    let mut queue = Enqueue::default();
    job_changed(&Change::Added(decode(&jobs[5_000])), &view, &mut queue);
    assert_eq!((queue.calls.len(), reads.swap(0, Ordering::Relaxed)), (1, 1), "an event of a Job");
    cron_job_changed(&Zone::UTC, &Change::Added(decode(&crons[5_000])), &view, &mut queue);
    assert_eq!((queue.calls.len(), reads.swap(0, Ordering::Relaxed)), (2, 0), "of a CronJob");
    let key = Key::new("snazzycats", &name(5_000));
    let snapshot = controller().observe(&key, &view, &()).unwrap();
    assert_eq!((snapshot.jobs.len(), reads.swap(0, Ordering::Relaxed)), (1, 2), "a sync");
}
