//! The group batch: Job, CronJob.

mod cronjob;
mod failure_policy;
mod indexes;
mod job;
mod spec;
mod status;
mod timezone;
mod transition;

#[cfg(test)]
mod tests;

pub use cronjob::CronJob;
pub use job::Job;
