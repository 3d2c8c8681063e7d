//! The task that contends, and a handle on its state.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use api::{InvalidName, Key};
use bytes::Bytes;
use client::{ApiError, Client};
use controller::{Event, EventType, ObjectRef};
use mutant::Mutant;
use runtime::{Cancel, Clock, Instant, Latest, Random, Runtime};
use tokio::sync::mpsc;

use crate::candidate::{self, Candidate};
use crate::election::{Action, Election, Input, Now};
use crate::lease::{LEASES, Lease, Record};
use crate::watch::Seen;
use crate::{Fence, InvalidTiming, Metrics, Timing};

/// How often writing the Lease is tried to release it; it is read again in between.
const RELEASE_TRIES_MAX: u32 = 3;

/// The parameters of an election.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Our name in the record; it must be unique among the contenders. See [`identity`].
    pub identity: String,
    /// Namespace and name of the Lease.
    pub lease: Key,
    /// The durations.
    pub timing: Timing,
    /// Nothing is sent before this is cancelled; none: contends at once.
    pub begin: Option<Cancel>,
    /// In a coordinated election the API server names the holder among candidates, and this is
    /// what it knows of this one. None: contenders settle it among themselves.
    pub candidate: Option<Candidate>,
}

/// A handle on an election. Cheap to clone; clones are the same contender. Dropping it ends
/// nothing.
#[derive(Clone)]
pub struct Leadership {
    fence: Fence,
    pub(crate) phase: Latest<Phase>,
    pub(crate) release: Cancel,
    /// Whether the API server knows it as a candidate; none: it need not.
    candidacy: Option<Latest<bool>>,
    runtime: Runtime,
}

/// How an election ended.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Ended {
    /// We have lost the lease, for this reason. The process must exit at once.
    #[error("leaderelection lost: {0}")]
    Lost(String),
    /// The lease was released.
    #[error("the leader election lease was released")]
    Released,
    /// The process is shutting down and did not lead.
    #[error("leader election stopped")]
    Stopped,
}

#[derive(Clone, Debug)]
pub(crate) enum Phase {
    Standby,
    Leading {
        /// The moment before the last renewal was sent.
        renewed: Duration,
    },
    Ended(Ended),
}

/// Publishes the phase. Its drop reports that the task has ended.
struct Published(Latest<Phase>);

/// Boxed, since the client's future is large.
type Request = Pin<Box<dyn Future<Output = Result<Bytes, ApiError>> + Send>>;

type OnEvent = Box<dyn Fn(Event) + Send + Sync>;

/// The task of a contender.
struct Elector {
    client: Client,
    settings: Settings,
    metrics: Metrics,
    on_event: OnEvent,
    runtime: Runtime,
    /// The origin of [`Now::mono`].
    started: Instant,
    election: Election,
    /// The last Lease seen, which updates are based on.
    lease: Option<Lease>,
    phase: Published,
    fence: Fence,
    release: Cancel,
}

/// The object in the response to a request, which may take this long.
pub(crate) async fn answer(
    clock: &Clock,
    limit: Duration,
    request: impl Future<Output = Result<Bytes, ApiError>>,
) -> Result<Lease, ApiError> {
    let answer = clock.timeout(limit, request).await;
    let body = answer.map_err(|_| ApiError::Timeout(format!("no answer within {limit:?}")))??;
    Lease::parse(&body).map_err(|error| ApiError::Decode(error.0))
}

/// `<host name>_<random UUID>`, as upstream's manager calls itself.
pub fn identity(random: &Random) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = host.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let (high, low) = (random.bits(), random.bits());
    // RFC 9562: version 4 and the variant have fixed positions, the rest is random.
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    let id = format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    );
    format!("{}_{id}", host.trim())
}

// === impl Leadership ===

impl Leadership {
    /// Starts to contend. `client` must have neither a guard nor a rate limit that delays it.
    /// `on_event` gets the Events that upstream records on the Lease. A standby ends with
    /// `runtime.cancel`; a leader continues until [`Leadership::release`]. An error if the
    /// durations do not fit together.
    pub fn contend(
        client: Client,
        settings: Settings,
        metrics: &Metrics,
        on_event: impl Fn(Event) + Send + Sync + 'static,
        runtime: &Runtime,
    ) -> Result<Self, InvalidTiming> {
        settings.timing.validate()?;
        let phase = Latest::new(Phase::Standby);
        let fence = Fence::closed(runtime.clock.clone());
        let release = Cancel::new();
        let candidacy = settings
            .candidate
            .as_ref()
            .map(|candidate| candidate::start(client.clone(), candidate, &settings, runtime));
        let leadership = Self {
            fence: fence.clone(),
            phase: phase.clone(),
            release: release.clone(),
            candidacy,
            runtime: runtime.clone(),
        };
        let is_coordinated = settings.candidate.is_some();
        let elector = Elector {
            client,
            election: Election::new(&settings.identity, settings.timing, is_coordinated),
            settings,
            metrics: metrics.clone(),
            on_event: Box::new(on_event),
            runtime: runtime.clone(),
            started: runtime.clock.instant(),
            lease: None,
            phase: Published(phase),
            fence,
            release,
        };
        runtime::spawn("leader-election", elector.run());
        Ok(leadership)
    }

    /// The fence for the writes of the leader; closed while we do not lead.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Whether we certainly lead at this moment.
    pub fn is_leader(&self) -> bool {
        self.phase.with(|phase| matches!(phase, Phase::Leading { .. }))
            && self.fence.check().is_ok()
    }

    /// Whether the API server knows it as a candidate; none: the election is not coordinated.
    pub fn is_candidate(&self) -> Option<bool> {
        self.candidacy.as_ref().map(Latest::get)
    }

    /// How long ago the lease was last renewed, on a clock that counts suspended time; none while
    /// we do not lead. Upstream's health check fails when this exceeds the lease duration by 20 s.
    pub fn since_renewal(&self) -> Option<Duration> {
        match self.phase.get() {
            Phase::Leading { renewed } => {
                Some(self.runtime.clock.boottime().saturating_sub(renewed))
            }
            Phase::Standby | Phase::Ended(_) => None,
        }
    }

    /// Waits until we lead. An error if the election ended instead.
    pub async fn elected(&self) -> Result<(), Ended> {
        let outcome = |phase: &Phase| match phase {
            Phase::Standby => None,
            Phase::Leading { .. } => Some(Ok(())),
            Phase::Ended(ended) => Some(Err(ended.clone())),
        };
        self.phase.wait_for(outcome).await
    }

    /// Waits until the election has ended, and returns how. The fence is closed then.
    pub async fn lost(&self) -> Ended {
        let outcome = |phase: &Phase| match phase {
            Phase::Standby | Phase::Leading { .. } => None,
            Phase::Ended(Ended::Lost(_)) if mutant::is(Mutant::StaysAfterLoss) => None,
            Phase::Ended(ended) => Some(ended.clone()),
        };
        self.phase.wait_for(outcome).await
    }

    /// Closes the fence, releases the lease so that another contender can take it at once, and ends
    /// the election. The caller must have stopped all writes: a request in progress is not
    /// recalled. Takes at most the renew deadline and one request.
    pub async fn release(&self) -> Ended {
        self.fence.seal();
        self.release.cancel();
        self.lost().await
    }
}

// === impl Published ===

impl Drop for Published {
    fn drop(&mut self) {
        let has_ended = self.0.with(|phase| matches!(phase, Phase::Ended(_)));
        // Only a panic ends the task without reporting it; the fence then closes by itself.
        if !has_ended {
            self.0.set(Phase::Ended(Ended::Lost("its task ended".to_owned())));
        }
    }
}

// === impl Elector ===

impl Elector {
    async fn run(mut self) {
        let lock = self.settings.lease.to_string();
        if !self.may_begin().await {
            self.fence.seal();
            self.phase.0.set(Phase::Ended(Ended::Stopped));
            return;
        }
        tracing::info!(lock, "Attempting to acquire leader lease...");
        self.status_gauge(0);
        let ended = self.contend().await;
        self.fence.seal();
        self.metrics.held.with_label_values(&[&*self.settings.lease.name]).set(0);
        if !matches!(ended, Ended::Stopped) {
            self.status_gauge(0);
            self.record("stopped leading");
        }
        tracing::info!(lock, %ended, "leader election ended");
        self.phase.0.set(Phase::Ended(ended));
    }

    /// Waits until it may contend; false: the process shuts down before.
    async fn may_begin(&self) -> bool {
        let Some(begin) = &self.settings.begin else { return true };
        tokio::select! {
            biased;
            () = self.runtime.cancel.cancelled() => false,
            () = self.release.cancelled() => false,
            () = begin.cancelled() => true,
        }
    }

    async fn contend(&mut self) -> Ended {
        let (client, retry) = (self.client.clone(), self.settings.timing.retry_period);
        let watch =
            crate::watch::start(client, &LEASES, &self.settings.lease, retry, &self.runtime);
        let mut watch = Some(watch);
        let mut input = Input::Tick;
        loop {
            let action = self.step(input);
            if self.election.renewed().is_some() {
                watch = None;
            }
            input = match action {
                Action::Get => self.get().await,
                Action::Create(record) => self.write(self.create(&record)).await,
                Action::Update(record) => match self.update(&record) {
                    Some(request) => self.write(request).await,
                    None => Input::Failed,
                },
                Action::Wait(until) => match self.wait(until, watch.as_mut()).await {
                    Ok(input) => input,
                    Err(ended) => return ended,
                },
                Action::Lost(why) => {
                    let lock = &self.settings.lease;
                    tracing::warn!(%lock, err = %why, "Failed to renew lease");
                    return Ended::Lost(why.to_string());
                }
            };
        }
    }

    /// Runs the rules, and publishes what has changed.
    fn step(&mut self, input: Input) -> Action {
        let led = self.election.renewed();
        if led.is_some() && matches!(input, Input::Found(_)) {
            self.metrics.slowpath.with_label_values(&[&*self.settings.lease.name]).inc();
        }
        let now = self.now();
        let action = self.election.step(input, now);
        let held = self.metrics.held.with_label_values(&[&*self.settings.lease.name]);
        held.set(self.election.is_held(now).into());
        let renewed = self.election.renewed();
        if let Some(until) = self.election.deadline() {
            self.fence.extend(until);
        }
        if let Some(renewed) = renewed.filter(|_| renewed != led) {
            self.phase.0.set(Phase::Leading { renewed });
        }
        if led.is_none() && renewed.is_some() {
            tracing::info!(lock = %self.settings.lease, "Successfully acquired lease");
            self.status_gauge(1);
            self.record("became leader");
        }
        action
    }

    /// Waits until that moment, a change of the Lease, or the end.
    async fn wait(
        &mut self,
        until: Duration,
        watch: Option<&mut mpsc::Receiver<Seen>>,
    ) -> Result<Input, Ended> {
        let Runtime { clock, cancel, .. } = self.runtime.clone();
        let (release, until) = (self.release.clone(), self.started + until);
        let standby = self.election.renewed().is_none();
        let seen = async {
            match watch {
                Some(watch) => watch.recv().await,
                None => None,
            }
        };
        tokio::select! {
            biased;
            () = release.cancelled() => Err(self.give_back().await),
            () = cancel.cancelled(), if standby => Err(Ended::Stopped),
            Some(seen) = seen => Ok(self.take_in(seen)),
            () = clock.sleep_until(until) => Ok(Input::Tick),
        }
    }

    /// Handles a change seen by the watch. The watch may lag behind our reads and writes; an older
    /// state is ignored.
    fn take_in(&mut self, seen: Seen) -> Input {
        let known = self.lease.as_ref().map_or(0, |lease| lease.version);
        match seen {
            Seen::Changed(lease) if lease.version > known => self.found(lease),
            Seen::Deleted(version) if version > known => {
                self.lease = None;
                Input::Absent
            }
            Seen::Changed(_) | Seen::Deleted(_) => Input::Tick,
        }
    }

    fn found(&mut self, lease: Lease) -> Input {
        let record = lease.record();
        self.lease = Some(lease);
        Input::Found(record)
    }

    async fn get(&mut self) -> Input {
        let (client, path) = (self.client.clone(), self.path());
        match self.limited(Box::pin(async move { client.get(&path?).await })).await {
            Ok(lease) => self.found(lease),
            Err(error) if error.is_not_found() => {
                self.lease = None;
                Input::Absent
            }
            Err(error) => {
                tracing::warn!(lock = %self.settings.lease, %error, "Error retrieving lease lock");
                Input::Failed
            }
        }
    }

    async fn write(&mut self, request: Request) -> Input {
        // Taken before the request: other contenders see its effect later than this.
        let sent = self.runtime.clock.boottime();
        match self.limited(request).await {
            Ok(lease) => {
                let record = lease.record();
                self.lease = Some(lease);
                let came = self.runtime.clock.boottime();
                let sent = if mutant::is(Mutant::FenceFromAnswer) { came } else { sent };
                Input::Written { record, sent }
            }
            Err(error) if error.is_conflict() => {
                tracing::debug!(lock = %self.settings.lease, %error, "Failed to update lease");
                Input::Failed
            }
            Err(error) => {
                tracing::warn!(lock = %self.settings.lease, %error, "Failed to update lease");
                Input::Failed
            }
        }
    }

    /// The Lease in the response to a request. A leader waits no longer than it may lead.
    async fn limited(&self, request: Request) -> Result<Lease, ApiError> {
        let clock = &self.runtime.clock;
        let left = self.election.deadline().map(|at| at.saturating_sub(clock.boottime()));
        let limit = self.settings.timing.request_limit();
        let limit = left.map_or(limit, |left| left.min(limit));
        answer(clock, limit, request).await
    }

    /// As upstream's `release`, but the known version is tried before the Lease is read.
    async fn give_back(&mut self) -> Ended {
        if self.election.renewed().is_none() {
            return Ended::Stopped;
        }
        let limit = self.settings.timing.renew_deadline;
        let clock = self.runtime.clock.clone();
        let given_back = clock.timeout(limit, self.try_to_give_back()).await;
        match given_back.unwrap_or_else(|_| Err(format!("no answer within {limit:?}"))) {
            Ok(()) => Ended::Released,
            Err(text) => {
                let lock = &self.settings.lease;
                tracing::error!(%lock, error = text, "Failed to release lease");
                Ended::Lost(text)
            }
        }
    }

    async fn try_to_give_back(&mut self) -> Result<(), String> {
        for _ in 0..RELEASE_TRIES_MAX {
            let now = self.now();
            let record = self.election.release(now.wall);
            let request = record.and_then(|record| self.update(&record));
            let Some(request) = request else { return Err("it is no longer ours".to_owned()) };
            if let Input::Written { .. } = self.write(request).await {
                return Ok(());
            }
            if let Input::Found(record) = self.get().await {
                self.election.observe(record, now);
            }
        }
        Err("it could not be written".to_owned())
    }

    fn create(&self, record: &Record) -> Request {
        let (client, lease) = (self.client.clone(), &self.settings.lease);
        let (path, body) = (LEASES.collection_path(&lease.namespace), record.new_lease(lease));
        Box::pin(async move { client.create(&path, body).await })
    }

    /// None: there is no version to update.
    fn update(&self, record: &Record) -> Option<Request> {
        let body = self.lease.as_ref()?.with_record(record);
        let (client, path) = (self.client.clone(), self.path());
        Some(Box::pin(async move { client.update(&path?, body).await }))
    }

    fn path(&self) -> Result<String, InvalidName> {
        LEASES.object_path(&self.settings.lease)
    }

    fn now(&self) -> Now {
        let Runtime { clock, random, .. } = &self.runtime;
        let mono = clock.instant() - self.started;
        Now { boot: clock.boottime(), mono, wall: clock.now(), luck: random.unit() }
    }

    fn status_gauge(&self, value: i64) {
        self.metrics.master_status.with_label_values(&[&*self.settings.lease.name]).set(value);
    }

    /// As upstream's `LeaseLock.RecordEvent`.
    fn record(&self, what: &str) {
        let Some(lease) = &self.lease else { return };
        let about = ObjectRef {
            resource: LEASES,
            key: self.settings.lease.clone(),
            uid: lease.uid(),
            resource_version: lease.version,
        };
        (self.on_event)(Event {
            about: Arc::new(about),
            r#type: EventType::Normal,
            reason: "LeaderElection".into(),
            message: format!("{} {what}", self.settings.identity),
        });
    }
}
