//! The task that keeps a LeaseCandidate: the API server chooses the holder of a Lease among them,
//! and asks them whether they are still there. As client-go's `LeaseCandidate`
//! (`tools/leaderelection/leasecandidate.go`).

use std::time::Duration;

use api::{Key, Resource, Time};
use bytes::Bytes;
use client::{ApiError, Client};
use runtime::{Latest, Runtime};
use serde_json::{Map, Value, json};

use crate::Settings;
use crate::elector::answer;
use crate::lease::{Lease, micro_time};
use crate::watch::{self, Seen};

/// The resource of LeaseCandidates, in the version that upstream's manager of this release uses.
pub const CANDIDATES: Resource =
    Resource::namespaced("coordination.k8s.io", "v1beta1", "leasecandidates", "LeaseCandidate");

/// How often a candidate says unasked that it is there. The API server asks those that were silent
/// for 15 minutes, and deletes them after 30.
const RENEW_EVERY: Duration = Duration::from_mins(5);
/// The timeout of a request.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);

/// What the API server knows of a contender besides its identity, which is the name of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The version of the binary, `1.36.0`.
    pub binary_version: String,
    /// The version that it emulates. Whose version is the oldest is preferred.
    pub emulation_version: String,
}

/// The task of a candidate.
struct Candidacy {
    client: Client,
    candidate: Candidate,
    /// Namespace and name of the object.
    key: Key,
    /// The name of the Lease.
    lease: String,
    runtime: Runtime,
    /// The object as it was last seen.
    known: Option<Lease>,
    /// Whether the object was written once.
    is_there: Latest<bool>,
}

/// Keeps the object of this contender until the process shuts down, and says then that it is no
/// candidate any more: the API server would elect one that has just answered, and wait for it.
/// Whether the object was written once can be read from what is returned.
pub(crate) fn start(
    client: Client,
    candidate: &Candidate,
    settings: &Settings,
    runtime: &Runtime,
) -> Latest<bool> {
    let is_there = Latest::new(false);
    let candidacy = Candidacy {
        client,
        candidate: candidate.clone(),
        key: Key::new(&settings.lease.namespace, &settings.identity),
        lease: settings.lease.name.to_string(),
        runtime: runtime.clone(),
        known: None,
        is_there: is_there.clone(),
    };
    runtime::spawn("lease-candidate", candidacy.run(settings.timing.retry_period));
    is_there
}

// === impl Candidacy ===

impl Candidacy {
    async fn run(mut self, retry: Duration) {
        let Runtime { clock, cancel, .. } = self.runtime.clone();
        let mut watch =
            watch::start(self.client.clone(), &CANDIDATES, &self.key, retry, &self.runtime);
        loop {
            let pause = match self.renew(clock.now()).await {
                Ok(()) => {
                    self.is_there.set_if_changed(true);
                    RENEW_EVERY
                }
                Err(error) => {
                    let (candidate, lease) = (&self.key, &self.lease);
                    tracing::warn!(%candidate, lease, %error, "Ensuring lease candidate failed");
                    retry
                }
            };
            let until = clock.instant() + pause;
            loop {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return self.withdraw().await,
                    Some(seen) = watch.recv() => if self.is_due(seen) { break },
                    () = clock.sleep_until(until) => break,
                }
            }
        }
    }

    /// Takes in what was seen. Whether the API server asks, or the object is gone.
    fn is_due(&mut self, seen: Seen) -> bool {
        let known = self.known.as_ref().map_or(0, |known| known.version);
        match seen {
            Seen::Changed(object) if object.version > known => {
                let is_asked = object.time("pingTime") > object.time("renewTime");
                self.known = Some(object);
                is_asked
            }
            Seen::Deleted(version) if version > known => {
                self.known = None;
                true
            }
            Seen::Changed(_) | Seen::Deleted(_) => false,
        }
    }

    /// Makes the object, or says in it that this contender was there at this time. If another
    /// version is there, or none, what is there is read and tried once more: the API server waits
    /// for five seconds.
    async fn renew(&mut self, time: Time) -> Result<(), ApiError> {
        match self.write(time).await {
            Err(error) if error.is_conflict() || (error.is_not_found() && self.known.is_some()) => {
                self.known = self.read().await?;
                self.write(time).await
            }
            written => written,
        }
    }

    /// Says that it was there long ago: the API server then leaves it out.
    async fn withdraw(self) {
        if let Some(known) = &self.known {
            let long_ago = Map::from_iter([
                ("pingTime".to_owned(), Value::Null),
                ("renewTime".to_owned(), micro_time(Time::EPOCH).into()),
            ]);
            let body = known.with_spec(&CANDIDATES, long_ago);
            if let Err(error) = self.update(body).await {
                tracing::debug!(candidate = %self.key, %error, "the candidate stays");
            }
        }
    }

    async fn write(&mut self, time: Time) -> Result<(), ApiError> {
        // The API server compares what its clock says with what this one says: an answer that is
        // older than the question would be none.
        let asked = self.known.as_ref().and_then(|known| known.time("pingTime"));
        let time = micro_time(asked.map_or(time, |asked| asked.max(time)));
        let now = Map::from_iter([("renewTime".to_owned(), time.into())]);
        let written = if let Some(known) = &self.known {
            let body = known.with_spec(&CANDIDATES, now);
            self.update(body).await
        } else {
            let body = self.new_object(now).to_string();
            let path = CANDIDATES.collection_path(&self.key.namespace);
            self.limited(self.client.create(&path, body.into())).await
        };
        self.known = Some(written?);
        Ok(())
    }

    async fn update(&self, body: Bytes) -> Result<Lease, ApiError> {
        let path = CANDIDATES.object_path(&self.key)?;
        self.limited(self.client.update(&path, body)).await
    }

    async fn read(&self) -> Result<Option<Lease>, ApiError> {
        let path = CANDIDATES.object_path(&self.key)?;
        match self.limited(self.client.get(&path)).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn limited(
        &self,
        request: impl Future<Output = Result<Bytes, ApiError>>,
    ) -> Result<Lease, ApiError> {
        answer(&self.runtime.clock, REQUEST_LIMIT, Box::pin(request)).await
    }

    fn new_object(&self, now: Map<String, Value>) -> Value {
        let mut object = json!({
            "apiVersion": CANDIDATES.api_version(),
            "kind": CANDIDATES.kind,
            "metadata": {"name": &*self.key.name, "namespace": &*self.key.namespace},
            "spec": {
                "leaseName": self.lease,
                "binaryVersion": self.candidate.binary_version,
                "emulationVersion": self.candidate.emulation_version,
                "strategy": "OldestEmulationVersion",
            },
        });
        if let Some(spec) = object["spec"].as_object_mut() {
            spec.extend(now);
        }
        object
    }
}
