//! Answers questions about an engine. Nothing here writes.

use std::time::Duration;

use api::{Key, Time};
use controller::{Answer, Deletion, Facts, Plan, Query, View};
use futures::FutureExt;
use futures::future::BoxFuture;
use runtime::{Instant, fenced, fenced_async};

use crate::expectations::{Awaits, LIMIT, NEVER};
use crate::inspect::{Fact, InWork, Phase, Place, Planned, Unsettled, WaitingFor};
use crate::shadow::Shadow;
use crate::worker::TOO_MANY_FETCHES;
use crate::{Engine, EngineStatus, Explanation, Inspect, ShadowStatus, Viewer};

/// The time limit of an explanation, which waits for live reads.
pub(crate) const EXPLAIN_LIMIT: Duration = Duration::from_secs(10);

/// The reason for an incomplete cache of a kind that the API server does not serve.
const UNSERVED: &str = "the API server does not serve this kind, since a feature gate or an API \
                        version is off there or it is older; work goes on by itself once it does";

/// Converts instants to wall clock times, from the present value of both clocks.
#[derive(Clone, Copy)]
struct Wall {
    now: Time,
    instant: Instant,
}

impl Inspect for Engine {
    fn status(&self) -> EngineStatus {
        let backlog = self.queue.backlog();
        let unsettled = self.act.expectations().len();
        let waiting = self.incomplete();
        let state = self.act.record.state();
        EngineStatus {
            phase: state.phase,
            cannot_start: state.cannot_start.clone(),
            waiting_for: match state.phase {
                Phase::WaitingForCaches | Phase::Running => waiting,
                Phase::NotStarted | Phase::Stopped => Vec::new(),
            },
            reads: self.act.kinds.names(),
            workers: self.workers,
            workers_alive: state.alive,
            queued: backlog.depth,
            delayed: backlog.delayed,
            unsettled,
            in_work: state.in_work(),
            failing: state.failing.values().cloned().collect(),
            given_up: state.given_up.values().cloned().collect(),
            last_error: state.last_error.clone(),
            plans: state.plans.iter().cloned().collect(),
            syncs: state.syncs,
            failures: state.failures,
            panics: state.panics,
        }
    }

    fn in_work(&self) -> Vec<InWork> {
        self.act.record.state().in_work()
    }

    fn shadow(&self) -> Option<ShadowStatus> {
        self.shadow.as_ref().map(Shadow::status)
    }

    fn explain<'a>(&'a self, key: &'a Key, viewer: &'a dyn Viewer) -> BoxFuture<'a, Explanation> {
        self.explained(key, viewer).boxed()
    }

    fn cannot_start(&self, why: &str) {
        self.act.record.cannot_start(why);
    }

    fn stalled(&self, now: Instant) -> Option<String> {
        let backlog = self.queue.backlog();
        let mut state = self.act.record.state();
        let asked = self.act.runtime.cancel.is_cancelled();
        let proof = match state.phase {
            Phase::Running if !asked => state.watched(self.workers, backlog).proof(now),
            Phase::NotStarted | Phase::WaitingForCaches | Phase::Running | Phase::Stopped => None,
        };
        let proof = state.suspicion.confirm(proof, now)?;
        Some(proof.words(self.workers, now).to_string())
    }
}

impl Engine {
    async fn explained(&self, asked: &Key, viewer: &dyn Viewer) -> Explanation {
        let named = fenced(|| self.controller.named(asked)).unwrap_or_default();
        let key = named.as_ref().unwrap_or(asked);
        let clock = &self.act.runtime.clock;
        let wall = Wall { now: clock.now(), instant: clock.instant() };
        let place = self.queue.whereabouts(key);
        let mut explanation = Explanation {
            key: key.to_string(),
            at: wall.now,
            found: false,
            incomplete: self.incomplete().into_iter().map(|kind| kind.resource).collect(),
            summary: Vec::new(),
            live_reads: Vec::new(),
            plan: None,
            error: None,
            unsettled: self.unsettled(key, wall),
            ambiguous_writes: self.act.ambiguous_writes_of(key),
            place: Place {
                queued_since: place.queued_since.map(|at| wall.time(at)),
                in_work_since: place.working_since.map(|at| wall.time(at)),
                delayed_until: place.delayed_until.map(|at| wall.time(at)),
            },
            retries: self.queue.num_requeues(key),
            last_error: self.act.record.state().last_error_of(key),
        };
        let mut facts = Facts::default();
        let looked = fenced_async(async {
            let plan = self.look(key, wall.now, &mut facts, &mut explanation).await?;
            let sight = viewer.sight(plan.subjects()).await;
            let plan = plan.as_seen(&sight);
            explanation.plan = Some(Planned { text: plan.to_string(), json: plan.to_json() });
            Ok(())
        });
        let error = match clock.timeout(EXPLAIN_LIMIT, looked).await {
            Ok(Ok(looked)) => looked.err().flatten(),
            Ok(Err(panic)) => Some(format!("panic: {}", panic.0)),
            Err(_) => Some(format!("no plan within {EXPLAIN_LIMIT:?}")),
        };
        explanation.error = error;
        explanation.live_reads =
            facts.answers.iter().map(|(query, answer)| read(query, answer)).collect();
        explanation
    }

    /// Observes and decides as a sync does. An error says why there is no plan; none: there is no
    /// such object.
    async fn look(
        &self,
        key: &Key,
        now: Time,
        facts: &mut Facts,
        found: &mut Explanation,
    ) -> Result<Plan, Option<String>> {
        let uptime = self.act.runtime.clock.uptime();
        let view = View::new(now, uptime, &self.act.kinds.listers);
        let view = view.after(self.queue.num_requeues(key));
        let snapshot = self.controller.observe(key, &view);
        let snapshot = snapshot.ok_or(None)?;
        found.found = true;
        let summary = self.controller.summary(&snapshot);
        found.summary = summary.into_iter().map(|(name, value)| Fact { name, value }).collect();
        let plan = self.decide(&self.act.client, &snapshot, facts).await;
        plan.ok_or_else(|| Some(TOO_MANY_FETCHES.to_owned()))
    }

    /// The kinds with incomplete caches.
    pub(crate) fn incomplete(&self) -> Vec<WaitingFor> {
        let everything = self.act.kinds.everything.as_ref();
        let missing = everything.map(|all| all.missing()).unwrap_or_default().into_iter();
        let missing = missing.map(|(group, error)| WaitingFor {
            resource: format!("all kinds of {group}"),
            error: Some(error),
            since: None,
        });
        let everything = everything.map(|all| all.status()).unwrap_or_default();
        let informers = self.act.kinds.informers.iter().map(|informer| informer.status());
        let informers = informers.chain(everything);
        let waiting = informers.filter(|status| !status.synced).map(|status| WaitingFor {
            resource: status.selection.to_string(),
            error: if status.unserved {
                Some(UNSERVED.to_owned())
            } else {
                status.failing.as_ref().map(|failing| failing.error.clone())
            },
            since: status.failing.as_ref().map(|failing| failing.since),
        });
        waiting.chain(missing).collect()
    }

    fn unsettled(&self, key: &Key, wall: Wall) -> Option<Unsettled> {
        let Awaits { versions, deletions, since } = self.act.expectations().awaits(key)?;
        let own = versions.iter().any(|(it, _)| Some(&it.resource) == self.own.as_ref());
        let is_limited = versions.iter().all(|(_, version)| *version == NEVER);
        let versions = versions.iter().map(|(selection, version)| match *version {
            NEVER => format!(
                "{selection}: none can be created, since the namespace is being deleted; waits for \
                 the end of {key} itself"
            ),
            version => {
                let at = self.act.kinds.version_of(selection).unwrap_or(0);
                format!("{selection}: the cache must reach version {version}, it is at {at}")
            }
        });
        let deletions = deletions.iter().map(|(selection, uid, deletion)| match deletion {
            Deletion::Marked => {
                format!("{selection}: the cache must show the deletion of uid {uid}")
            }
            Deletion::Removed => format!("{selection}: the cache must no longer show uid {uid}"),
        });
        Some(Unsettled {
            meanwhile: if own {
                "nothing is written for it: its own object was, and the cache does not show that"
            } else {
                "only its status is written"
            },
            awaits: versions.chain(deletions).collect(),
            since: wall.time(since),
            until: is_limited.then(|| wall.time(since + LIMIT)),
        })
    }
}

/// A live read and its result, in a line.
pub(crate) fn read(query: &Query, answer: &Answer) -> String {
    match answer {
        Answer::Found(found) => format!("{query}: found, version {}", found.0.resource_version),
        Answer::Metadata(found) => {
            format!("{query}: found, version {}", found.meta.resource_version)
        }
        // The JSON stays inside the controller, as bodies do.
        Answer::Json(_) | Answer::Document(_) => format!("{query}: answered"),
        Answer::Views(found) => format!("{query}: {} found", found.len()),
        Answer::All(found) => format!("{query}: {} found", found.len()),
        Answer::Served(served) => match served.failed.len() {
            0 => format!("{query}: {} kinds", served.kinds.len()),
            failed => format!("{query}: {} kinds, {failed} groups fail", served.kinds.len()),
        },
        Answer::Cloud(cloud::Reply::Balancer(found)) => match found {
            Some(addresses) => format!("{query}: {} addresses", addresses.len()),
            None => format!("{query}: not found"),
        },
        Answer::Cloud(cloud::Reply::Routes(found)) => format!("{query}: {} found", found.len()),
        Answer::Cloud(cloud::Reply::Is(yes)) => format!("{query}: {yes}"),
        Answer::NotFound => format!("{query}: not found"),
        Answer::Failed(error) => format!("{query}: {error}"),
    }
}

// === impl Wall ===

impl Wall {
    fn time(self, at: Instant) -> Time {
        match at.checked_duration_since(self.instant) {
            Some(ahead) => self.now + ahead,
            None => self.now - self.instant.duration_since(at),
        }
    }
}
