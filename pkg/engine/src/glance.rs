//! One decision without an engine: for programs that look at a cluster from outside.

use api::Key;
use client::Client;
use controller::{Controller, Facts, Shared, View};
use discovery::Discovery;
use runtime::fenced_async;

use crate::Fact;
use crate::door::{Door, Typed};
use crate::explain::{EXPLAIN_LIMIT, read};
use crate::provider::Provider;
use crate::read::Doors;
use crate::worker::{TOO_MANY_FETCHES, decided};

/// What a controller would do for a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Whether the caches hold the object.
    pub found: bool,
    /// What the controller sees, in short.
    pub summary: Vec<Fact>,
    /// The live reads for the plan, and their results.
    pub live_reads: Vec<String>,
    /// What it would do, an action a line.
    pub plan: Option<String>,
    /// Why there is no plan although the object was found.
    pub error: Option<String>,
}

/// Observes and decides once, as [`crate::Inspect::explain`] does, from caches that the caller has
/// filled. The controller's memory is empty, as right after a start. A plan that asks for live
/// reads gets them from `client`, at most for ten seconds in all; there is no cloud. Nothing is
/// written, and a panic inside becomes the error.
pub async fn glance<C: Controller>(
    controller: C,
    key: &Key,
    view: &View<'_>,
    client: &Client,
) -> Glance {
    let door = Typed { controller, memory: std::sync::Arc::<Shared<C::Memory>>::default() };
    let clock = client.clock();
    let (discovery, provider) =
        (Discovery::new(client.clone()), Provider::new(None, clock.clone()));
    let doors = Doors { discovery: &discovery, provider: &provider };
    let (mut glance, mut facts) = (Glance::default(), Facts::default());
    let looked = fenced_async(async {
        let named = door.named(key);
        let Some(snapshot) = door.observe(named.as_ref().unwrap_or(key), view) else { return };
        glance.found = true;
        let summary = door.summary(&snapshot).into_iter();
        glance.summary = summary.map(|(name, value)| Fact { name, value }).collect();
        match decided(&door, client, &doors, &snapshot, &mut facts).await {
            Some(plan) => glance.plan = Some(plan.to_string()),
            None => glance.error = Some(TOO_MANY_FETCHES.to_owned()),
        }
    });
    let error = match clock.timeout(EXPLAIN_LIMIT, looked).await {
        Ok(Ok(())) => None,
        Ok(Err(panic)) => Some(format!("panic: {}", panic.0)),
        Err(_) => Some(format!("no plan within {EXPLAIN_LIMIT:?}")),
    };
    glance.error = glance.error.or(error);
    glance.live_reads = facts.answers.iter().map(|(query, answer)| read(query, answer)).collect();
    glance
}
