//! Many pods: what does not fit, how slices are packed, and what a rolling restart costs.
//! `ENDPOINT_PODS=5000` is the long form, with `--nocapture` for times and requests.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use cluster_tests::{Cluster, Manager, Objects, Requests, quiet, since, wait_until};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use super::consumer::{Consumer, Told};
use super::{
    CALM, LIMIT, SLICES, addresses, endpoints, is_placeholder, pod, run, say, service, slices,
    status, that_are,
};

/// How many pods are behind the Services, in total.
const PODS: usize = 300;
/// How many pods each of them has, but for the large ones.
const OF_A_SERVICE: usize = 8;
const AT_ONCE: usize = 32;
/// How long a pod may be ready without being listed, if there were no other Services.
const UNLISTED_MAX: Duration = Duration::from_secs(15);
/// Upstream's `maxCapacity`.
const CAPACITY: usize = 1000;

pub(super) async fn play(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    what_does_not_fit_is_left_out(cluster, manager).await?;
    a_rolling_restart_ends_exact(cluster, manager).await
}

/// An address of its own for each number.
fn ip(number: usize) -> String {
    format!("10.{}.{}.{}", 100 + number / 62_500, number / 250 % 250, number % 250 + 1)
}

/// TestEndpointTruncate.
async fn what_does_not_fit_is_left_out(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "truncate").await?;
    let name = |number: usize| format!("test-pod-{number}");
    many(0..=CAPACITY, |number| {
        let objects = &objects;
        async move { run(objects, &pod(&name(number)), &[&ip(number)], "True").await }
    })
    .await?;
    objects.create("services", &service("web", &json!({}))).await?;
    let annotation =
        |it: &Value| it["metadata"]["annotations"]["endpoints.kubernetes.io/over-capacity"].clone();
    let is_full =
        |it: &Value| addresses(it, "addresses").len() == CAPACITY && annotation(it) == "truncated";
    let full = endpoints(&objects, "web", "to be truncated", is_full).await?;
    let all: BTreeSet<_> = (0..=CAPACITY).map(ip).collect();
    wait_until("slices with all addresses", LIMIT, async || {
        let slices = slices(&objects, "web").await?;
        ensure!(that_are(&slices, "ready") == all, "{} slices", slices.len());
        ensure!(slices.len() == 11, "{} slices", slices.len());
        Ok(Some(()))
    })
    .await?;
    // What is left out may change: which it is stays.
    let kept = addresses(&full, "addresses");
    let left_out = (0..=CAPACITY).find(|it| !kept.contains(&ip(*it))).context("one is left out")?;
    for _ in 0..3 {
        for ready in ["False", "True"] {
            say(&objects, &name(left_out), &[&ip(left_out)], ready).await?;
        }
    }
    quiet(cluster, manager, CALM).await?;
    let later = objects.get("endpoints", "web").await?;
    ensure!(addresses(&later, "addresses") == kept, "others are left out");
    // One that is not ready makes room.
    let gone = (left_out + 1) % CAPACITY;
    say(&objects, &name(gone), &[&ip(gone)], "False").await?;
    let has_both = |it: &Value| {
        addresses(it, "addresses").contains(&ip(left_out)) && annotation(it) == "truncated"
    };
    endpoints(&objects, "web", "to have the one that was left out", has_both).await?;
    let grace = json!({"gracePeriodSeconds": 0});
    objects.delete_with("pods", &name(gone), &grace).await?;
    let fits =
        |it: &Value| addresses(it, "addresses").len() == CAPACITY && annotation(it).is_null();
    endpoints(&objects, "web", "to fit", fits).await?;
    many(0..=CAPACITY, |number| {
        let (objects, grace) = (&objects, &grace);
        async move {
            if number != gone {
                objects.delete_with("pods", &name(number), grace).await?;
            }
            Ok(())
        }
    })
    .await?;
    endpoints(&objects, "web", "to be empty", |it| it["subsets"].is_null()).await?;
    let one = |it: &[Value]| it.len() == 1 && is_placeholder(&it[0]);
    super::sliced(&objects, "web", "to be one empty one", one).await.map(drop)
}

/// All pods of many Services are replaced, one after the other in each of them. A consumer of the
/// slices knows each pod soon after it is ready, loses none before it is unready, and never all of
/// a Service; in the end all is exact.
async fn a_rolling_restart_ends_exact(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let pods = std::env::var("ENDPOINT_PODS").map_or(Ok(PODS), |it| it.parse())?;
    let services = pods / OF_A_SERVICE;
    let objects = Objects::in_new(cluster, "restart").await?;
    let begin = now();
    let restart = Restart { objects: &objects, services };
    let selecting = |selector: Value| json!({ "selector": selector });
    let all = (0..services)
        .map(|it| service(&format!("s-{it}"), &selecting(json!({"app": format!("s-{it}")}))));
    objects.create_all("services", all).await?;
    objects.create("services", &service("large", &selecting(json!({"all": "yes"})))).await?;
    many(0..services, |service| {
        let restart = &restart;
        async move {
            for number in 0..OF_A_SERVICE {
                restart.start(service, number, 0).await?;
            }
            Ok(())
        }
    })
    .await?;
    restart.exact(0).await?;
    quiet(cluster, manager, CALM).await?;
    let (made, before) = (begin.elapsed(), cluster.request_counts().await?);
    let begin = now();
    let mut consumer = Consumer::start(&objects).await?;
    let work = async {
        restart.replace_all().await?;
        restart.exact(1).await?;
        quiet(cluster, manager, CALM).await
    };
    let follow = async {
        loop {
            consumer.step().await;
        }
    };
    tokio::select! {
        biased;
        done = work => done?,
        () = follow => {}
    }
    let restarted = begin.elapsed();
    consumer.until("the consumer to know all", |told| restart.is_exact(told, 1)).await?;
    let slowest = consumer.judge(unlisted_max(services))?;
    let made_by = since(&before, &cluster.request_counts().await?);
    println!(
        "{pods} pods, {services} Services: made in {:.1} s, restarted in {:.1} s, listed after \
         {:.1} s at most; {}",
        made.as_secs_f64(),
        restarted.as_secs_f64(),
        slowest.as_secs_f64(),
        summary(&made_by)
    );
    Ok(())
}

/// Pods of many Services that are replaced: each by one of the next round.
struct Restart<'a> {
    objects: &'a Objects,
    services: usize,
}

impl Restart<'_> {
    fn name(service: usize, number: usize, round: usize) -> String {
        format!("p-{service}-{number}-{round}")
    }

    fn ip(&self, service: usize, number: usize, round: usize) -> String {
        ip(10_000 + (round * self.services + service) * OF_A_SERVICE + number)
    }

    async fn start(&self, service: usize, number: usize, round: usize) -> anyhow::Result<()> {
        let mut pod = pod(&Self::name(service, number, round));
        pod["metadata"]["labels"] = json!({"app": format!("s-{service}"), "all": "yes"});
        run(self.objects, &pod, &[&self.ip(service, number, round)], "True").await
    }

    /// In each Service a pod of the next round starts, and one of this round is deleted.
    async fn replace_all(&self) -> anyhow::Result<()> {
        let grace = json!({"gracePeriodSeconds": 0});
        many(0..self.services, |service| {
            let (objects, grace) = (self.objects, &grace);
            async move {
                for number in 0..OF_A_SERVICE {
                    self.start(service, number, 1).await?;
                    let old = Self::name(service, number, 0);
                    let unready = status(&[&self.ip(service, number, 0)], "False");
                    objects.merge("pods", &format!("{old}/status"), &unready).await?;
                    objects.delete_with("pods", &old, grace).await?;
                }
                Ok(())
            }
        })
        .await
    }

    /// Waits until the slices name the pods of a round and no others.
    async fn exact(&self, round: usize) -> anyhow::Result<()> {
        let what = format!("all that is said of {} Services in round {round}", self.services);
        wait_until(&what, LIMIT * 5, async || {
            self.is_exact(&told(self.objects).await?, round)?;
            Ok(Some(()))
        })
        .await
    }

    fn is_exact(&self, told: &Told, round: usize) -> anyhow::Result<()> {
        for service in 0..self.services {
            let wanted = (0..OF_A_SERVICE).map(|it| self.ip(service, it, round)).collect();
            let found = told.get(&format!("s-{service}"));
            ensure!(found == Some(&wanted), "s-{service}: {found:?}, not {wanted:?}");
        }
        let large = told.get("large").map_or(0, BTreeSet::len);
        ensure!(large == self.services * OF_A_SERVICE, "large has {large}");
        Ok(())
    }
}

/// How long a pod may be ready without being listed. Changes are not batched here, but each
/// controller sends 20 requests per second at most, which two writes for each Service wait for; and
/// a sync that has failed is tried again after 1, 2 and 4 s.
fn unlisted_max(services: usize) -> Duration {
    let services = u32::try_from(services).unwrap_or(u32::MAX);
    UNLISTED_MAX + Duration::from_millis(100) * services
}

/// The ready addresses of each Service, by its slices.
async fn told(objects: &Objects) -> anyhow::Result<Told> {
    let mut told = Told::new();
    for slice in objects.list(SLICES).await? {
        let name = slice["metadata"]["labels"]["kubernetes.io/service-name"].as_str();
        let addresses = that_are(std::slice::from_ref(&slice), "ready");
        told.entry(name.unwrap_or_default().to_owned()).or_default().extend(addresses);
    }
    Ok(told)
}

fn summary(requests: &Requests) -> String {
    let of = |resource: &str| -> u64 {
        let these = requests.iter().filter(|(it, _)| it.is_write() && it.resource == resource);
        these.map(|(_, count)| count).sum()
    };
    format!("{} writes of Endpoints, {} of slices", of("endpoints"), of("endpointslices"))
}

async fn many<F: Future<Output = anyhow::Result<()>>>(
    numbers: impl IntoIterator<Item = usize>,
    each: impl Fn(usize) -> F,
) -> anyhow::Result<()> {
    stream::iter(numbers).map(each).buffer_unordered(AT_ONCE).try_collect().await
}

#[expect(clippy::disallowed_methods, reason = "real processes keep real time")]
fn now() -> Instant {
    Instant::now()
}
