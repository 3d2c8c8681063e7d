//! How many replicas the target should have. As `reconcileAutoscaler` in upstream's horizontal.go.

use std::sync::Arc;
use std::time::Duration;

use api::{HorizontalPodAutoscaler as Autoscaler, Kind, Pod, SelectorText, Status};
use controller::{
    Action, Announce, Count, Event, EventType, Facts, Message, ObjectRef, Outcome, Plan, Query,
    Step, Write,
};
use serde_json::{Value, json};

use super::behavior::{self, Sizes};
use super::metric::{self, Failure, Proposal, Silent, Target};
use super::scale::{self, NoScale, Scale};
use super::snapshot::Snapshot;
use super::telemetry;

/// How often in a row a write is tried again at once whose target had changed. As
/// `retry.DefaultRetry`, the first try included.
const TRIES_MAX: u32 = 5;

/// What was decided.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Nothing yet.
    Unread,
    /// This.
    Decided(Box<Decision>),
}

/// What `report` and the memory must know.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// Changes of conditions, one after the other.
    pub(super) conditions: Vec<ConditionChange>,
    /// The numbers of the status; none: they stay.
    pub(super) numbers: Option<Numbers>,
    /// The change of size that is written.
    pub(super) rescale: Option<Rescale>,
    /// The size of the target, which is the first recommendation.
    pub(super) seed: Option<i32>,
    /// What the metrics ask for, and for how long that counts.
    pub(super) recommended: Option<(i32, Duration)>,
    /// The size that it wants in the end.
    pub(super) desired: Option<i32>,
    /// The selector of the target.
    pub(super) selector: Option<Arc<SelectorText>>,
    /// The error of the sync.
    pub(super) error: Option<String>,
    /// Whether the spec is to blame for it.
    pub(super) is_spec_error: bool,
}

/// A change of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionChange {
    /// It is so.
    Set {
        /// Which.
        r#type: &'static str,
        /// Whether it holds.
        status: Status,
        /// One word.
        reason: &'static str,
        /// A sentence.
        message: String,
    },
    /// It is not there.
    Remove(&'static str),
}

/// The numbers of a status.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// `currentReplicas`.
    pub(super) current: i32,
    /// `desiredReplicas`; none: it stays.
    pub(super) desired: Option<i32>,
    /// `currentMetrics`.
    pub(super) metrics: Vec<Value>,
}

/// A change of size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rescale {
    /// From.
    pub(super) from: i32,
    /// To.
    pub(super) to: i32,
}

/// A decision while it is made.
struct Course<'a> {
    s: &'a Snapshot,
    about: Arc<ObjectRef>,
    events: Vec<Action>,
    counts: Vec<Count>,
    decision: Decision,
}

/// How a sync goes on.
enum Stop {
    /// These must be read first.
    Unread(Vec<Query>),
    /// It ends, for this reason.
    Ended(String),
}

/// What all metrics together ask for.
struct Asked {
    replicas: i32,
    /// The metric that asks for most.
    metric: String,
    /// What it measured.
    measured: String,
    statuses: Vec<Value>,
    /// The first error; the others ask for enough.
    error: Option<String>,
}

/// A size, and how it came about.
struct Wanted {
    replicas: i32,
    /// Why it differs from the present one, in upstream's words.
    reason: String,
    metrics: Vec<Value>,
    /// In words for an operator.
    why: String,
    error: Option<String>,
}

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
    if let Some(error) = &s.autoscaler.unreadable {
        let why = format!("does not scale: the autoscaler cannot be read: {error}");
        return (Plan::rest(why).again_after(Some(s.options.sync_period)), Verdict::Unread);
    }
    let about = Arc::new(ObjectRef::new(&Autoscaler::RESOURCE, &s.autoscaler.meta));
    let (events, counts, decision) = (Vec::new(), Vec::new(), Decision::default());
    let mut course = Course { s, about, events, counts, decision };
    match course.run(facts) {
        Ok((why, write)) => course.plan(why, write),
        Err(Stop::Ended(why)) => course.plan(format!("does not scale: {why}"), None),
        Err(Stop::Unread(queries)) => (
            Plan::fetch("how large is the target, and what do the metrics say?", queries),
            Verdict::Unread,
        ),
    }
}

// === impl Course ===

impl Course<'_> {
    fn run(&mut self, facts: &Facts) -> Result<(String, Option<Write>), Stop> {
        let scale = self.scale(facts)?;
        let current = scale.replicas();
        self.decision.seed = Some(current);
        let wanted = self.wanted(&scale, facts)?;
        self.decision.error.clone_from(&wanted.error);
        self.decision.desired = Some(wanted.replicas);
        self.decision.numbers = Some(Numbers {
            current,
            desired: Some(wanted.replicas),
            metrics: wanted.metrics.clone(),
        });
        if wanted.replicas == current {
            return Ok((format!("does not scale: {}", wanted.why), None));
        }
        self.decision.rescale = Some(Rescale { from: current, to: wanted.replicas });
        let why = format!("scales from {current} to {}: {}", wanted.replicas, wanted.why);
        let write = scale.resized(wanted.replicas).announced(self.announced(&wanted));
        Ok((why, Some(write)))
    }

    fn plan(self, why: String, write: Option<Write>) -> (Plan, Verdict) {
        let Self { s, events, counts, decision, .. } = self;
        let actions: Vec<_> = events.into_iter().chain(write.map(Action::from)).collect();
        let plan = Plan {
            steps: if actions.is_empty() { Vec::new() } else { vec![Step::InOrder(actions)] },
            error: decision.error.clone(),
            quiet: true,
            counts,
            ..Plan::rest(why)
        };
        (plan.again_after(Some(s.options.sync_period)), Verdict::Decided(Box::new(decision)))
    }

    /// The scale of the target.
    fn scale<'a>(&mut self, facts: &'a Facts) -> Result<Scale<'a>, Stop> {
        match scale::read(self.s, facts) {
            Ok(scale) => {
                let message = "the HPA controller was able to get the target's current scale";
                self.able("SucceededGetScale", message);
                Ok(scale)
            }
            Err(NoScale::Unread(query)) => Err(Stop::Unread(vec![*query])),
            Err(NoScale::Failed { message, error, is_spec }) => {
                self.warn("FailedGetScale", message.clone());
                let words = "the HPA controller was unable to get the target's current scale: ";
                self.set(
                    Autoscaler::ABLE_TO_SCALE,
                    Status::False,
                    "FailedGetScale",
                    format!("{words}{message}"),
                );
                self.decision.error = Some(error);
                self.decision.is_spec_error = is_spec;
                Err(Stop::Ended(format!("the size of the target is not known: {message}")))
            }
        }
    }

    /// The size that the target should have.
    fn wanted(&mut self, scale: &Scale<'_>, facts: &Facts) -> Result<Wanted, Stop> {
        let current = scale.replicas();
        let Autoscaler { min_replicas: min, max_replicas: max, .. } = *self.s.autoscaler;
        if current == 0 && !self.may_leave_zero(min) {
            let message = "scaling is disabled since the replica count of the target is zero";
            self.inactive("ScalingDisabled", message.to_owned());
            if !self.s.options.scales_to_zero {
                self.decision.conditions.push(ConditionChange::Remove(Autoscaler::SCALED_TO_ZERO));
            }
            let why = "the target has 0 replicas, which disables autoscaling";
            return Ok(Wanted::without_metrics(0, "", why.to_owned()));
        }
        if current > max {
            let why = format!("there may be at most {max}");
            let reason = "Current number of replicas above Spec.MaxReplicas";
            return Ok(Wanted::without_metrics(max, reason, why));
        }
        if current < min && current != 0 {
            let why = format!("there must be at least {min}");
            return Ok(Wanted::without_metrics(min, BELOW_MIN, why));
        }
        let asked = self.asked(scale, facts)?;
        Ok(self.normalized(current, asked))
    }

    /// Whether a target without replicas is scaled up. As `shouldComputeMetricsForZeroReplicas`.
    fn may_leave_zero(&self, min: i32) -> bool {
        self.was_scaled_to_zero() && (min != 0 || has_outside_metric(&self.s.autoscaler))
    }

    fn was_scaled_to_zero(&self) -> bool {
        self.s.options.scales_to_zero && self.s.autoscaler.status.scaled_to_zero
    }

    /// What the metrics ask for. As `computeReplicasForMetrics`.
    fn asked(&mut self, scale: &Scale<'_>, facts: &Facts) -> Result<Asked, Stop> {
        let current = scale.replicas();
        let pods = self.pods(scale)?;
        let target = Target {
            current,
            status: scale.status_replicas(),
            selector: scale.selector(),
            pods: &pods,
        };
        let metrics = &self.s.autoscaler.metrics;
        let proposals = metrics.iter().map(|spec| metric::propose(self.s, spec, &target, facts));
        let proposals: Vec<_> = proposals.collect();
        let unread = proposals.iter().filter_map(|it| match it {
            Err(Silent::Unread(query)) => Some(Query::clone(query)),
            Ok(_) | Err(Silent::Failed(_)) => None,
        });
        let mut unread: Vec<_> = unread.collect();
        if !unread.is_empty() {
            unread.sort();
            unread.dedup();
            return Err(Stop::Unread(unread));
        }
        let (mut best, mut first): (Option<Proposal>, Option<Failure>) = (None, None);
        let (mut invalid, mut statuses) = (0_usize, Vec::new());
        for (spec, proposal) in metrics.iter().zip(proposals) {
            let replicas = proposal.as_ref().ok().map(|it| it.replicas);
            let is_spec = matches!(&proposal, Err(Silent::Failed(failure)) if failure.is_spec);
            self.counts.extend(telemetry::computed(self.s, &spec.r#type, replicas, is_spec));
            match proposal {
                Ok(proposal) => {
                    statuses.push(proposal.status.clone());
                    let most = best.as_ref().map_or(0, |it| it.replicas);
                    if most == 0 || proposal.replicas > most {
                        best = Some(proposal);
                    }
                }
                Err(Silent::Failed(failure)) => {
                    statuses.push(json!({ "type": "" }));
                    self.warn(failure.reason, failure.message.clone());
                    invalid += 1;
                    first.get_or_insert(failure);
                }
                Err(Silent::Unread(_)) => {}
            }
        }
        let error = first.as_ref().map(|failure| {
            let all = metrics.len();
            let first = &failure.error;
            format!("invalid metrics ({invalid} invalid out of {all}), first error is: {first}")
        });
        let replicas = best.as_ref().map_or(0, |it| it.replicas);
        if let (Some(failure), Some(error)) = (&first, &error)
            && (best.is_none() || replicas < current)
        {
            let words = "the HPA was unable to compute the replica count: ";
            self.inactive(failure.reason, format!("{words}{}", failure.message));
            return Err(self.without_metrics(current, statuses, error));
        }
        let Proposal { name, measured, .. } = best.unwrap_or_else(Proposal::none);
        let words = "the HPA was able to successfully calculate a replica count from ";
        let message = format!("{words}{name}");
        self.set(Autoscaler::SCALING_ACTIVE, Status::True, "ValidMetricFound", message);
        Ok(Asked { replicas, metric: name, measured, statuses, error })
    }

    /// The pods of the target, if its selector is fine. As `validateAndParseSelector`.
    fn pods(&mut self, scale: &Scale<'_>) -> Result<Vec<Arc<Pod>>, Stop> {
        let (s, text) = (self.s, scale.selector());
        let current = scale.replicas();
        if text.is_empty() {
            let error = "selector is required";
            self.warn("SelectorRequired", error.to_owned());
            let message = "the HPA target's scale is missing a selector";
            self.inactive("InvalidSelector", message.to_owned());
            return Err(self.without_metrics(current, Vec::new(), error));
        }
        let selector = match SelectorText::parse(text) {
            Ok(selector) => Arc::new(selector),
            Err(error) => {
                let words =
                    "couldn't convert selector into a corresponding internal selector object: ";
                let error = format!("{words}{error}");
                self.warn("InvalidSelector", error.clone());
                self.inactive("InvalidSelector", error.clone());
                return Err(self.without_metrics(current, Vec::new(), &error));
            }
        };
        self.decision.selector = Some(Arc::clone(&selector));
        let pods = s.pods.iter().filter(|pod| selector.matches(&pod.meta.labels));
        let pods: Vec<_> = pods.cloned().collect();
        let own = &s.autoscaler.meta.key;
        let others = s.selectors.iter().filter(|(name, _)| **name != own.name);
        let others =
            others.filter(|(_, other)| pods.iter().any(|pod| other.matches(&pod.meta.labels)));
        let mut names: Vec<_> = others.map(|(name, _)| name).collect();
        if names.is_empty() || pods.is_empty() {
            return Ok(pods);
        }
        names.push(&own.name);
        names.sort();
        let keys = names.iter().map(|name| format!("{{{name} {}}}", own.namespace));
        let keys = keys.collect::<Vec<_>>().join(" ");
        let error = format!("pods by selector {text} are controlled by multiple HPAs: [{keys}]");
        self.warn("AmbiguousSelector", error.clone());
        self.inactive("AmbiguousSelector", error.clone());
        Err(self.without_metrics(current, Vec::new(), &error))
    }

    /// Nothing can be said of the size.
    fn without_metrics(&mut self, current: i32, metrics: Vec<Value>, error: &str) -> Stop {
        self.decision.numbers = Some(Numbers { current, desired: None, metrics });
        self.warn("FailedComputeMetricsReplicas", error.to_owned());
        let target = &self.s.autoscaler.target;
        let (kind, name) = (&target.kind, &target.name);
        let namespace = &self.s.autoscaler.meta.key.namespace;
        self.decision.error = Some(format!(
            "failed to compute desired number of replicas based on listed metrics for \
             {kind}/{namespace}/{name}: {error}"
        ));
        Stop::Ended(error.to_owned())
    }

    /// Within the windows and limits. As `normalizeDesiredReplicas` and
    /// `normalizeDesiredReplicasWithBehaviors`.
    fn normalized(&mut self, current: i32, asked: Asked) -> Wanted {
        let (s, autoscaler) = (self.s, &self.s.autoscaler);
        let (min, max) = (autoscaler.min_replicas, autoscaler.max_replicas);
        let desired = asked.replicas.max(0);
        let mut reason = match desired.cmp(&current) {
            std::cmp::Ordering::Greater => format!("{} above target", asked.metric),
            std::cmp::Ordering::Less => "All metrics below target".to_owned(),
            std::cmp::Ordering::Equal => String::new(),
        };
        let sizes = Sizes { current, desired, min, max };
        let past = s.past.seeded(current, s.uptime);
        let moments = (s.options.downscale_stabilization, s.uptime);
        let behavior = autoscaler.behavior.as_ref();
        let stabilized = match behavior {
            None => behavior::stabilize(&past, desired, moments),
            Some(rules) => behavior::stabilize_with(rules, &past, sizes, moments),
        };
        self.decision.recommended = Some((desired, stabilized.window));
        if stabilized.replicas == desired {
            self.able("ReadyForNewScale", "recommended size matches current size");
        } else {
            self.able(stabilized.reason, stabilized.message);
        }
        let sizes = Sizes { desired: stabilized.replicas, ..sizes };
        let limited = match behavior {
            None => behavior::limit(sizes),
            Some(rules) => {
                behavior::limit_with(rules, (&s.past.ups, &s.past.downs), sizes, s.uptime)
            }
        };
        let is_limited = limited.replicas != stabilized.replicas;
        let status = if is_limited { Status::True } else { Status::False };
        let message = limited.message.to_owned();
        self.set(Autoscaler::SCALING_LIMITED, status, limited.reason, message);
        let mut replicas = limited.replicas;
        if current == 0 && min != 0 && self.was_scaled_to_zero() && replicas < min {
            replicas = min;
            if reason.is_empty() {
                BELOW_MIN.clone_into(&mut reason);
            }
        }
        let asks = if desired == current {
            ", which is within the tolerance or asks for as many".to_owned()
        } else {
            format!(", which asks for {desired}")
        };
        let mut why = vec![format!("{} is at {}{asks}", asked.metric, asked.measured)];
        if stabilized.replicas != desired {
            why.push(format!("{}: {}", stabilized.message, stabilized.replicas));
        }
        if is_limited {
            why.push(format!("{}: {}", limited.message, limited.replicas));
        }
        why.extend(asked.error.clone());
        let why = why.join("; ");
        Wanted { replicas, reason, metrics: asked.statuses, why, error: asked.error }
    }

    /// The Events that tell of the new size.
    fn announced(&self, wanted: &Wanted) -> Announce {
        let Wanted { replicas, reason, .. } = wanted;
        let message = format!("New size: {replicas}; reason: {reason}");
        let tries_again = self.s.past.conflicts + 1 < TRIES_MAX;
        Announce {
            about: Arc::clone(&self.about),
            failed: ("FailedRescale", format!("{message}; error: ").into()),
            done: Some(("SuccessfulRescale", Message::Whole(message))),
            silent: if tries_again { &["Conflict"] } else { &[] },
        }
    }

    fn warn(&mut self, reason: &'static str, message: String) {
        let (about, r#type) = (Arc::clone(&self.about), EventType::Warning);
        self.events.push(Action::Event(Event { about, r#type, reason: reason.into(), message }));
    }

    fn able(&mut self, reason: &'static str, message: &str) {
        self.set(Autoscaler::ABLE_TO_SCALE, Status::True, reason, message.to_owned());
    }

    fn inactive(&mut self, reason: &'static str, message: String) {
        self.set(Autoscaler::SCALING_ACTIVE, Status::False, reason, message);
    }

    fn set(&mut self, r#type: &'static str, status: Status, reason: &'static str, message: String) {
        self.decision.conditions.push(ConditionChange::Set { r#type, status, reason, message });
    }
}

/// The reason for more replicas without a metric that asks for them.
const BELOW_MIN: &str = "Current number of replicas below Spec.MinReplicas";

/// As `hasObjectOrExternalMetrics`.
pub(super) fn has_outside_metric(autoscaler: &Autoscaler) -> bool {
    autoscaler.metrics.iter().any(|spec| matches!(spec.r#type.as_str(), "Object" | "External"))
}

/// Whether the write failed since the target had changed, and is tried again at once, with what the
/// target and the metrics are by then. Upstream writes the same size again.
pub(super) fn is_tried_again(s: &Snapshot, outcome: &Outcome) -> bool {
    let is_conflict = outcome.step.is_some() && outcome.code == Some(409);
    is_conflict && s.past.conflicts + 1 < TRIES_MAX
}

impl Wanted {
    fn without_metrics(replicas: i32, reason: &str, why: String) -> Self {
        let (reason, metrics, error) = (reason.to_owned(), Vec::new(), None);
        Self { replicas, reason, metrics, why, error }
    }
}

impl Proposal {
    /// What no metric asks for.
    fn none() -> Self {
        let (name, measured) = (String::new(), String::new());
        Self { replicas: 0, name, status: Value::Null, measured }
    }
}
