//! CronJobs: no run is started twice, and none while the CronJob is suspended.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::{at, controller, count, list, number, text, uid};
use super::{Judged, Oracle};

pub(super) const ACCOUNT: &str = "cronjob-controller";

/// By the uid of a CronJob and the name of a Job: when its controller last wrote the status after
/// it had made that Job; none: it has not.
pub(super) type Runs = BTreeMap<(String, String), Option<u64>>;

impl Oracle {
    /// The CronJob for which its controller makes a Job, if it does.
    fn cron_job_of(&self, it: &Judged<'_>) -> Option<&Value> {
        let makes = it.method == "POST" && it.account == ACCOUNT && it.target.plural == "jobs";
        let (_, cron_job) = self.objects.find(controller(it.got).filter(|_| makes)?)?;
        Some(cron_job)
    }

    /// A CronJob that is suspended starts nothing.
    pub(super) fn starts_suspended(&self, it: &Judged<'_>) -> Option<String> {
        let cron_job = self.cron_job_of(it)?;
        let edited = self.touched.get(uid(cron_job)).copied().unwrap_or(0);
        let is_known = self.knows("CronJob", edited);
        (is_known && *at(cron_job, "/spec/suspend") == true)
            .then(|| format!("{it} {}: it is suspended", text(it.got, "/metadata/name")))
    }

    /// A run is started once: once the status has said so, what becomes of its Job starts no other.
    pub(super) fn starts_again(&self, it: &Judged<'_>) -> Option<String> {
        let cron_job = self.cron_job_of(it)?;
        let name = text(it.got, "/metadata/name");
        let said = self.runs.get(&(uid(cron_job).to_owned(), name.to_owned())).copied().flatten();
        let is_known = said.is_some_and(|said| self.knows("CronJob", said));
        is_known.then(|| format!("{it}: {name} was started before"))
    }

    /// What a write of the controller is remembered for.
    pub(super) fn learn_run(&mut self, it: &Judged<'_>) {
        if it.account != ACCOUNT || it.code >= 300 {
            return;
        }
        if it.method == "POST" && it.target.plural == "jobs" {
            let owner = controller(it.got).unwrap_or_default().to_owned();
            let name = text(it.got, "/metadata/name").to_owned();
            self.runs.entry((owner, name)).or_insert(None);
        } else if it.target.plural == "cronjobs" {
            let written = text(it.got, "/metadata/resourceVersion").parse().ok();
            let of = uid(it.got).to_owned();
            for (_, said) in self.runs.iter_mut().filter(|((owner, _), _)| *owner == of) {
                *said = said.or(written);
            }
        }
    }

    /// What a CronJob still lacks.
    pub(super) fn cron_lacks(&self, cron_job: &Value) -> Option<String> {
        if *at(cron_job, "/spec/suspend") != true {
            return Some("is not suspended".to_owned());
        }
        if !list(cron_job, "/status/active").is_empty() {
            return Some(format!("status {}", at(cron_job, "/status")));
        }
        let mut limits = [("Complete", "successful"), ("Failed", "failed")].into_iter();
        limits.find_map(|(condition, word)| {
            let limit = number(cron_job, &format!("/spec/{word}JobsHistoryLimit"));
            let jobs = self.objects.children("Job", uid(cron_job));
            let has = |job: &Value| super::batch::has(job, condition);
            let kept = count(jobs.filter(|job| has(job)).count());
            (kept > limit).then(|| format!("has {kept} {word} Jobs, {limit} are kept"))
        })
    }
}
