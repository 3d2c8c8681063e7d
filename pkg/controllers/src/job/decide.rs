//! What should be done for a Job. As `syncJob` in upstream's `job_controller.go`.

use std::sync::Arc;
use std::time::Duration;

use api::{CompletionMode, Job, JobStatus, Kind, Pod};
use controller::{Action, Event, EventType, Facts, ObjectRef, Plan, Step, Tolerated, Write};

use super::backoff::Record;
use super::finish::{self, Ending};
use super::manage::{self, Work};
use super::report::{self, After};
use super::snapshot::{self, Snapshot};
use super::standing::Standing;
use super::tracking::{self, Tracked};
use super::{Options, metrics, template};

/// What was decided, as far as it is needed later.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What the sync is counted as; none: it is not counted.
    pub(super) action: Option<&'static str>,
    /// The status to write at the end, if all goes well.
    pub(super) done: Option<JobStatus>,
    /// The status to write if this step fails.
    pub(super) failed: Option<(usize, JobStatus)>,
    /// The status to write while the caches do not show what was written.
    pub(super) unsettled: Option<JobStatus>,
    /// How the pods fared, once this step is done.
    pub(super) record: Option<(usize, Record)>,
    /// Nothing of the Job needs to be remembered any more.
    pub(super) is_over: bool,
}

/// What a sync amounts to, before the claim is put before it.
struct Course {
    plan: Plan,
    verdict: Verdict,
}

pub(super) fn decide(s: &Snapshot, facts: &Facts, options: Options) -> (Plan, Verdict) {
    if let Some(plan) = left_alone(s) {
        let is_over = s.job.finish.is_some();
        return (plan, Verdict { is_over, ..Verdict::default() });
    }
    let mut verdict = Verdict { action: Some("reconciling"), ..Verdict::default() };
    let claims = s.claim.steps();
    let rest = || {
        let course = course(s, options);
        verdict = course.verdict.after(claims);
        course.plan
    };
    let plan = s.claim.before(&Job::RESOURCE, &s.job.meta, facts, rest);
    (plan, verdict)
}

/// None: the Job is to be looked after.
fn left_alone(s: &Snapshot) -> Option<Plan> {
    let job = &s.job;
    if let Some(error) = &job.unreadable {
        return Some(Plan::rest(format!("the Job cannot be read: {error}")));
    }
    if let Some(manager) = job.external_manager() {
        return Some(Plan::rest(format!("another controller manages the Job: {manager}")));
    }
    if let Some(finish) = &job.finish {
        return Some(Plan::rest(format!("the Job has finished: {}", finish.r#type)));
    }
    if job.spec.completion_mode == CompletionMode::Unknown {
        let message = "Skipped Job sync because completion mode is unknown".to_owned();
        let event = event(s, EventType::Warning, "UnknownCompletionMode", message);
        return Some(Plan::one("the completion mode is unknown", Step::InOrder(vec![event])));
    }
    snapshot::selector(job).err().map(Plan::rest)
}

fn course(s: &Snapshot, options: Options) -> Course {
    let standing = Standing::of(s);
    if let Some(ending) = finish::ending(&standing) {
        let doomed = standing.active.clone();
        let deletes = controller::pods::deletes(&Job::RESOURCE, &s.job.meta, &doomed);
        let step = (!deletes.is_empty()).then_some(Step::Together(deletes));
        return end(&standing, &ending, (step, &doomed), "reconciling");
    }
    let is_terminating = s.job.meta.is_terminating();
    let work = if is_terminating { Work::Keep } else { manage::work(&standing) };
    let action = action(&standing, &work);
    let doomed = match &work {
        Work::Delete(pods) => pods.as_slice(),
        Work::Keep | Work::Create(_) | Work::CreateIndexes(_) | Work::Wait(..) => &[],
    };
    if is_complete(&standing, &work) {
        return end(&standing, &finish::completed(), (delete_step(s, doomed), doomed), action);
    }
    let course = go_on(&standing, &work, options);
    Course { verdict: Verdict { action: Some(action), ..course.verdict }, ..course }
}

/// What the sync counts as. As `manageJob`, which says so also where it finds nothing to delete of
/// a suspended Job, or no index to create a pod for.
fn action(standing: &Standing<'_>, work: &Work) -> &'static str {
    match work {
        _ if standing.job.meta.is_terminating() => "reconciling",
        Work::Delete(_) => "pods_deleted",
        Work::Keep if standing.job.spec.suspend => "pods_deleted",
        Work::Create(_) | Work::CreateIndexes(_) | Work::Wait(..) => "pods_created",
        Work::Keep if manage::missing(standing) > 0 => "pods_created",
        Work::Keep => "tracking",
    }
}

/// Whether enough pods have succeeded, and none will be active.
fn is_complete(standing: &Standing<'_>, work: &Work) -> bool {
    let doomed = match work {
        Work::Delete(pods) => pods.len(),
        Work::Keep | Work::Wait(..) => 0,
        Work::Create(_) | Work::CreateIndexes(_) => return false,
    };
    let enough = match standing.job.spec.completions {
        None => standing.succeeded > 0,
        Some(completions) => standing.succeeded >= i64::from(completions),
    };
    enough && standing.active.len() == doomed
}

// === The end ===

/// Active pods are deleted; the interim condition is written; pods lose their finalizers. Once all
/// have ended and are counted, the Job has finished.
fn end(
    standing: &Standing<'_>,
    ending: &Ending,
    (deletes, doomed): (Option<Step>, &[Arc<Pod>]),
    action: &'static str,
) -> Course {
    let tracked = tracking::track(standing, Some(ending));
    let after = report::after(standing, tracked.status.clone(), After::Deleting(doomed));
    let is_terminal = is_terminal(standing, ending, &tracked, &after);
    let status = report::ending(standing, after, ending, is_terminal);
    let mut why = format!("{}: {}", ending.reason, ending.message);
    if !is_terminal {
        why = format!("{why}; {}", waits_for(&tracked, &status));
    }
    let mut steps: Vec<_> = deletes.into_iter().collect();
    let failed = (!steps.is_empty()).then(|| {
        let unchanged = tracking::track(standing, None).status;
        (0, report::after(standing, unchanged, After::Nothing))
    });
    let put = put(standing, &tracked, &status, if is_terminal { Some(ending) } else { None });
    let record = put.is_some().then_some((steps.len(), standing.record));
    let counts = if put.is_none() { metrics::judged(tracked.judged.iter()) } else { Vec::new() };
    steps.extend(put.map(Step::InOrder));
    steps.extend(release(&tracked.release));
    let plan = Plan { why: why.into(), steps, counts, ..Plan::default() };
    let verdict = Verdict { action: Some(action), failed, record, ..Verdict::default() };
    Course { plan, verdict }
}

/// Whether the last condition can be written: all pods have ended and are counted, and the status
/// says already how the Job will end.
fn is_terminal(
    standing: &Standing<'_>,
    ending: &Ending,
    tracked: &Tracked,
    after: &JobStatus,
) -> bool {
    let uncounted = after.uncounted_terminated_pods.as_ref();
    let all_counted = uncounted.is_none_or(|it| it.succeeded.is_empty() && it.failed.is_empty());
    let none_left = tracked.release.is_empty() && after.terminating.unwrap_or(0) == 0;
    ending.is_said && all_counted && none_left && standing.active.is_empty()
}

fn waits_for(tracked: &Tracked, status: &JobStatus) -> String {
    let terminating = status.terminating.unwrap_or(0);
    if terminating > 0 {
        return format!("waiting for {terminating} pods to end");
    }
    format!("{} pods are being counted", tracked.release.len())
}

// === Going on ===

fn go_on(standing: &Standing<'_>, work: &Work, options: Options) -> Course {
    let tracked = tracking::track(standing, None);
    let mut verdict = Verdict::default();
    let mut steps = Vec::new();
    let (step, error) = match step(standing, work) {
        Ok(step) => (step, None),
        Err(error) => (None, Some(error)),
    };
    let mut counts = Vec::new();
    if tracked.release.is_empty() {
        let is_managed = !standing.job.meta.is_terminating();
        let status = tracked.status.clone();
        let does = if error.is_some() { After::Nothing } else { After::of(work) };
        let done = report::after(standing, status.clone(), does);
        let turn = |status| {
            if is_managed { report::suspension(standing, status, options) } else { (status, None) }
        };
        let unchanged = report::after(standing, status, After::Nothing);
        let (done, said) = turn(done);
        let said = said.map(|(reason, message)| {
            event(standing.s, EventType::Normal, reason, message.to_owned())
        });
        // Before the pods: whether the Job is suspended is said also if they are refused, as
        // upstream goes on with `manageJobErr` (`syncJob` in job_controller.go).
        steps.extend(said.map(|event| Step::InOrder(vec![event])));
        verdict.failed = Some((steps.len(), turn(unchanged.clone()).0));
        verdict.unsettled = Some(unchanged);
        verdict.done = Some(done);
        steps.extend(step);
    } else {
        let status = report::after(standing, tracked.status.clone(), After::Nothing);
        let put = put(standing, &tracked, &status, None);
        verdict.record = put.is_some().then_some((0, standing.record));
        if put.is_none() {
            counts = metrics::judged(tracked.judged.iter());
        }
        steps.extend(put.map(Step::InOrder));
        steps.extend(release(&tracked.release));
        steps.extend(step);
    }
    let again = [wait(work), report::until_deadline(standing)].into_iter().flatten().min();
    let why = report::why(standing, work, &tracked).into();
    let plan = Plan { why, steps, again, error, counts, ..Plan::default() };
    Course { plan, verdict }
}

fn wait(work: &Work) -> Option<Duration> {
    match work {
        Work::Wait(delay, _) => Some(*delay),
        Work::Keep | Work::Delete(_) | Work::Create(_) | Work::CreateIndexes(_) => None,
    }
}

fn step(standing: &Standing<'_>, work: &Work) -> Result<Option<Step>, String> {
    let creates = match work {
        Work::Keep | Work::Wait(..) => return Ok(None),
        Work::Delete(pods) => return Ok(delete_step(standing.s, pods)),
        Work::Create(count) => template::creates(standing, *count)?,
        Work::CreateIndexes(indexes) => template::creates_indexes(standing, indexes)?,
    };
    let counted = creates.into_iter().map(|action| match action {
        Action::Write(write) => write.counted(metrics::creation(standing)).into(),
        other @ (Action::Event(_) | Action::Cloud(_)) => other,
    });
    Ok(Some(Step::SlowStart(counted.collect())))
}

// === Writes ===

/// The status, and what is said once it is written; none: it is right already.
fn put(
    standing: &Standing<'_>,
    tracked: &Tracked,
    status: &JobStatus,
    finished: Option<&Ending>,
) -> Option<Vec<Action>> {
    let (s, job) = (standing.s, standing.job);
    let write = report::write(s, status)?;
    let mut counts = metrics::written(job, status);
    counts.extend(metrics::judged(tracked.judged.iter()));
    counts.extend(finished.map(|ending| metrics::finished(job, ending)));
    let mut actions = vec![write.counted(counts).into()];
    if let Some(ending) = finished {
        actions.extend(
            report::finished_events(standing, status, ending)
                .into_iter()
                .map(|(r#type, reason, message)| event(s, r#type, &reason, message)),
        );
    }
    Some(actions)
}

/// Removes the finalizers of pods that the status names.
fn release(pods: &[Arc<Pod>]) -> Option<Step> {
    (!pods.is_empty()).then(|| Step::Together(pods.iter().map(|pod| untrack(pod)).collect()))
}

/// Removes the finalizer of a pod; that the pod was deleted is no failure.
pub(super) fn untrack(pod: &Pod) -> Action {
    let body = serde_json::json!({ "metadata": {
        "$deleteFromPrimitiveList/finalizers": [Job::TRACKING_FINALIZER],
        "uid": &*pod.meta.uid,
    }});
    let object = ObjectRef::new(&Pod::RESOURCE, &pod.meta);
    Write::strategic(object, body.to_string()).tolerating(&[Tolerated::Missing]).into()
}

/// Pods that are not to be counted lose their finalizer before they are deleted.
fn delete_step(s: &Snapshot, pods: &[Arc<Pod>]) -> Option<Step> {
    let deletes = controller::pods::deletes(&Job::RESOURCE, &s.job.meta, pods);
    let chain = |(pod, delete): (&Arc<Pod>, Action)| {
        let untracked = s.is_tracked(pod).then(|| untrack(pod));
        untracked.into_iter().chain([delete]).collect()
    };
    let chains: Vec<Vec<Action>> = pods.iter().zip(deletes).map(chain).collect();
    (!chains.is_empty()).then_some(Step::Chains(chains))
}

fn event(s: &Snapshot, r#type: EventType, reason: &str, message: String) -> Action {
    let about = Arc::new(ObjectRef::new(&Job::RESOURCE, &s.job.meta));
    Action::Event(Event { about, r#type, reason: reason.to_owned().into(), message })
}

// === impl Verdict ===

impl Verdict {
    /// The same, with so many steps before its own.
    fn after(mut self, steps: usize) -> Self {
        if let Some((step, _)) = &mut self.failed {
            *step += steps;
        }
        if let Some((step, _)) = &mut self.record {
            *step += steps;
        }
        self
    }
}
