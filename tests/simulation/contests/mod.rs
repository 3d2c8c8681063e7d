//! Two managers, and what happens to them: one story each, in virtual time.

mod stories;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use anyhow::{bail, ensure};
use api::Resource;
use runtime::Runtime;
use script::{Player, Script};

use crate::case::Case;
use crate::life::Life;
use crate::lives;
use crate::site::{START, Site};

/// How often is looked.
const LOOK: Duration = Duration::from_millis(20);
/// How long a standby may take to lead after the last renewal of the leader: the lease and a
/// moment.
const TAKEOVER: Duration = Duration::from_millis(15_500);

const PODS: Resource = Resource::namespaced("", "v1", "pods", "Pod");
const LEASE: &str = "lease/kube-controller-manager -n kube-system";

/// Two managers over a cluster, and the player.
struct Stage<'a> {
    site: &'a Site,
    player: Player<'a, Site>,
}

type Story =
    for<'a, 'b> fn(&'a mut Stage<'b>) -> Pin<Box<dyn Future<Output = anyhow::Result<()>> + 'a>>;

/// Makes a Deployment with so many pods.
fn deployment(replicas: u64) -> String {
    format!(
        "> apply\n| apiVersion: apps/v1\n| kind: Deployment\n| metadata: {{name: web}}\n\
        | spec:\n|   {{replicas: {replicas}, selector: {{matchLabels: {{app: web}}}},\n\
        |   template: {{metadata: {{labels: {{app: web}}}},\n\
        |   spec: {{containers: [{{name: main, image: 'img:1'}}]}}}}}}\n"
    )
}

/// Plays a story from the moment on at which one manager leads. No promise may be broken, and in
/// the end one leads.
fn play(story: Story) -> anyhow::Result<()> {
    play_with("", story)
}

/// The same, where this goes wrong.
fn play_with(faults: &str, story: Story) -> anyhow::Result<()> {
    let case = Case::parse(&format!("@nodes 3\n# seed 7\n# managers 2\n{faults}\n"))?;
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let tokio = builder.enable_all().start_paused(true).build()?;
    tokio.block_on(async {
        let runtime = Runtime::simulated(START, case.seed);
        let site = Site::new(&runtime, &case);
        lives::start(&site, &case);
        let mut stage = Stage { site: &site, player: Player::new(&site, "default").await? };
        stage.until("one leads", Duration::from_secs(5), |it| it.leader().is_some()).await?;
        let told = story(&mut stage).await;
        let ends = match told {
            Ok(()) => stage.until("one leads", 3 * TAKEOVER, |it| it.lacks().is_none()).await,
            Err(error) => Err(error),
        };
        runtime.cancel.cancel();
        let log = site.log();
        let lines: Vec<_> = log.trace.iter().filter(|it| !it.contains(" GET ")).cloned().collect();
        let trace = lines[lines.len().saturating_sub(60)..].join("\n");
        ends.map_err(|error| anyhow::anyhow!("{trace}\n{error:#}"))?;
        let broken: Vec<_> = log.oracle.broken.iter().map(ToString::to_string).collect();
        ensure!(broken.is_empty(), "{trace}\n{}", broken.join("\n"));
        Ok(())
    })
}

impl Stage<'_> {
    async fn act(&mut self, script: &str) -> anyhow::Result<String> {
        self.site.trace(script);
        let played = self.player.play(&Script::parse(script)?).await?;
        let lines: Vec<_> =
            played.script.steps().flat_map(|step| &step.output).map(ToString::to_string).collect();
        Ok(lines.join("\n"))
    }

    /// Makes a Deployment with so many pods, and waits until they are there.
    async fn deploy(&mut self, replicas: u64) -> anyhow::Result<()> {
        self.act(&deployment(replicas)).await?;
        self.complete().await
    }

    /// Waits until all is as the specs ask for.
    async fn complete(&self) -> anyhow::Result<()> {
        let is_complete = |it: &Self| {
            it.site.look();
            it.site.log().oracle.lacks(3).is_none()
        };
        self.until("all is as it should be", Duration::from_mins(3), is_complete).await
    }

    async fn tick(&self, millis: u64) {
        self.site.runtime.clock.sleep(Duration::from_millis(millis)).await;
    }

    fn now(&self) -> Duration {
        self.site.now()
    }

    /// The life that leads, as far as it knows.
    fn leader(&self) -> Option<Life> {
        let log = self.site.log();
        let leaders = log.contest.leaders();
        let life = log.running.values().find(|life| leaders == [life.name.as_str()])?;
        Some(life.clone())
    }

    /// The one that leads, and the one that does not.
    fn both(&self) -> anyhow::Result<(Life, Life)> {
        let Some(leader) = self.leader() else { bail!("no manager leads") };
        let log = self.site.log();
        let other = log.running.values().find(|life| life.name != leader.name);
        let Some(other) = other else { bail!("{} is alone", leader.name) };
        Ok((leader, other.clone()))
    }

    fn lacks(&self) -> Option<String> {
        self.site.log().contest.lacks()
    }

    fn leads(&self, life: &Life) -> bool {
        self.site.log().contest.leaders() == [life.name.as_str()]
    }

    /// Waits until the other one leads, which must be within so long.
    async fn until_leads(&self, life: &Life, limit: Duration) -> anyhow::Result<()> {
        let what = format!("{} leads", life.name);
        self.until(&what, limit, |it| it.leads(life)).await
    }

    async fn until(
        &self,
        what: &str,
        limit: Duration,
        is: impl Fn(&Self) -> bool,
    ) -> anyhow::Result<()> {
        let begun = self.now();
        while !is(self) {
            ensure!(self.now() < begun + limit, "not within {limit:?}: {what}");
            self.site.runtime.clock.sleep(LOOK).await;
        }
        Ok(())
    }

    /// Waits until the leader has renewed its lease just now.
    async fn until_renewal(&self) -> anyhow::Result<()> {
        let renewals = |it: &Self| {
            let log = it.site.log();
            log.trace.iter().filter(|line| line.contains(" leader-election PUT ")).count()
        };
        let before = renewals(self);
        self.until("a renewal", Duration::from_secs(5), |it| renewals(it) > before).await
    }

    /// What a life has written, but for its lease and the Events of that.
    fn writes(&self, life: &Life) -> Vec<String> {
        let is_write = |line: &&String| {
            let mut words = line.split_whitespace().skip(1);
            words.next() == Some(life.name.as_str())
                && !["leader-election", "kube-controller-manager"]
                    .contains(&words.next().unwrap_or_default())
                && ["POST", "PUT", "PATCH", "DELETE"].contains(&words.next().unwrap_or_default())
        };
        self.site.log().trace.iter().filter(is_write).cloned().collect()
    }

    /// How many pods there are.
    fn pods(&self) -> usize {
        let changes = self.site.cluster.server().changes_since(0, &[PODS]);
        changes.map_or(0, |(pods, _)| pods.len())
    }

    /// How many pods were ever created, counted by the responses that managers got.
    fn pods_made(&self) -> usize {
        let log = self.site.log();
        log.trace.iter().filter(|it| it.contains("/pods 201")).count()
    }

    /// Whether a life continues.
    fn is_running(&self, life: &Life) -> bool {
        self.site.log().running.values().any(|it| it.name == life.name && !it.has_ended())
    }
}
