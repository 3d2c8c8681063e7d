//! Under which Leases controllers run: the main one, and for those that migrate a second one, too.
//! Each has an election of its own, and connections for writes that are closed unless this process
//! holds that Lease.

use std::sync::Arc;

use anyhow::Context as _;
use client::{Client, Connection, GatedUser, Settings};
use leader::{Candidate, Ended, Fence};
use metrics::Registry;
use runtime::{Cancel, Runtime};

use crate::election::{Candidacy, Race};
use crate::gates::features;
use crate::migration::{Migration, Side};
use crate::options::Options;
use crate::start::{gated_user, settings};

/// The controllers of one Lease.
pub(crate) struct Wing {
    pub(crate) candidacy: Arc<Candidacy>,
    /// The connection for controllers' writes.
    pub(crate) gated: Connection,
    /// The same with the kubeconfig's user, if `gated` has no user.
    pub(crate) gated_root: Option<Connection>,
}

/// All controllers.
pub(crate) struct Wings {
    pub(crate) main: Wing,
    /// None: nothing migrates.
    pub(crate) migrated: Option<Wing>,
    migration: Option<Migration>,
}

impl Wings {
    /// Contends for the main Lease; for the second one only once that is held.
    pub(crate) fn new(
        options: &Options,
        migration: Option<Migration>,
        connection: &Connection,
        client_metrics: &client::Metrics,
        (runtime, registry): (&Runtime, &Registry),
    ) -> anyhow::Result<Self> {
        let leader_metrics = leader::Metrics::new(registry).context("leader election metrics")?;
        // Without an election nothing random is drawn: the same seed gives the same run.
        let has_election = options.election.leader_elect;
        let identity = if has_election { leader::identity(&runtime.random) } else { String::new() };
        let candidate = options.gates.is_on(features::COORDINATED_ELECTION).then(|| Candidate {
            binary_version: options.gates.versions.binary_release().to_owned(),
            emulation_version: format!("{}.0", options.gates.versions.emulation),
        });
        let wing = |lease: &str, begin: Option<Cancel>| {
            let election = &options.election;
            let unlimited = |connection: &Connection, name: &str| {
                let settings = Settings { qps: 0.0, ..settings(options, &connection.host, name) };
                Client::new(connection.transport.clone(), settings, client_metrics, runtime)
            };
            if has_election {
                // The connection of the lease.
                client_metrics.count_transport();
            }
            // The API server knows of no candidates for the second Lease.
            let candidate = candidate.clone().filter(|_| begin.is_none());
            let race = Race { flags: election, lease, identity: &identity, begin, candidate };
            let candidacy = match options.shadow {
                Some(_) => Candidacy::Shadow,
                None => Candidacy::contend(&race, connection, unlimited, &leader_metrics, runtime)?,
            };
            let user = gated_user(options);
            let unacknowledged_max = has_election.then(|| election.timing().undelivered_max());
            let guard = candidacy.fence().guard();
            let gated = connection.gated(&guard, user, unacknowledged_max);
            client_metrics.count_transport();
            let gated_root = match user {
                GatedUser::Nobody => {
                    client_metrics.count_transport();
                    Some(connection.gated(&guard, GatedUser::Same, unacknowledged_max))
                }
                GatedUser::Same => None,
            };
            anyhow::Ok(Wing { candidacy: Arc::new(candidacy), gated, gated_root })
        };
        let main = wing(&options.election.resource_name, None)?;
        let migrated = migration.as_ref().map(|it| wing(&it.lease, Some(Cancel::new())));
        Ok(Self { main, migrated: migrated.transpose()?, migration })
    }

    /// The wing of the controller with this canonical name.
    pub(crate) fn of(&self, name: &str) -> &Wing {
        self.migrated.as_ref().filter(|_| self.is_migrated(name)).unwrap_or(&self.main)
    }

    /// Whether the controller runs under the second Lease.
    pub(crate) fn is_migrated(&self, name: &str) -> bool {
        self.migration.as_ref().is_some_and(|it| it.side(name) == Side::Migrated)
    }

    /// Waits until one of the Leases is lost. That the process shuts down while it waits for the
    /// second one is no loss: the controllers of the first one finish their work.
    pub(crate) async fn lost(&self) -> Ended {
        let second = async {
            let Some(wing) = &self.migrated else { return std::future::pending().await };
            match wing.candidacy.lost().await {
                Ended::Stopped => std::future::pending().await,
                ended @ (Ended::Lost(_) | Ended::Released) => ended,
            }
        };
        tokio::select! {
            biased;
            ended = self.main.candidacy.lost() => ended,
            ended = second => ended,
        }
    }

    /// Ends all leadership. The caller must have stopped all writes.
    pub(crate) async fn end(&self, release: bool) {
        let wings = self.migrated.iter().chain([&self.main]);
        futures::future::join_all(wings.map(|wing| wing.candidacy.end(release))).await;
    }

    /// The health check `leaderElection`; none without an election.
    pub(crate) fn renewal_check(&self) -> Option<Result<(), String>> {
        let second = self.migrated.as_ref().and_then(|wing| wing.candidacy.renewal_check());
        let main = self.main.candidacy.renewal_check()?;
        Some(main.and_then(|()| second.unwrap_or(Ok(()))))
    }
}

impl Wing {
    /// The fence of its writes.
    pub(crate) fn fence(&self) -> Fence {
        self.candidacy.fence()
    }
}
