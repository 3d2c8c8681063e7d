//! What a sync of a request looks at.

use std::sync::Arc;
use std::time::Duration;

use api::{Answered, Key, ResourcePoolStatusRequest, ResourceSlice, Time};
use controller::View;
use mutant::Mutant;

use super::pools::{self, Pool};

/// How long a request stays that has its answer. Upstream's `completedRequestTTL`.
const ANSWERED_STAYS: Duration = Duration::from_hours(1);
/// How long a request stays that has none. Upstream's `pendingRequestTTL`.
const PENDING_STAYS: Duration = Duration::from_hours(24);

/// A request and the pools that it asks for at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The request.
    pub request: Arc<ResourcePoolStatusRequest>,
    /// The pools, sorted by name; none is looked up for a request that has its answer.
    pub pools: Vec<Pool>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let request = view.of::<ResourcePoolStatusRequest>().get(key)?;
    let pools = if request.answered.is_none() && request.unreadable.is_none() {
        let slices = view.of::<ResourceSlice>().all();
        pools::of(&request, &slices, view)
    } else {
        Vec::new()
    };
    Some(Snapshot { now: view.now, request, pools })
}

/// When the request is deleted; none: never. As `shouldDeleteRequest`.
pub(super) fn ends(request: &ResourcePoolStatusRequest) -> Option<Time> {
    let made = request.meta.creation_timestamp;
    match request.answered {
        None => Some(made? + PENDING_STAYS),
        Some(Answered { at, .. }) if mutant::is(Mutant::AnswerGoesEarly) => at,
        Some(Answered { at, is_concluded: true }) => Some(at? + ANSWERED_STAYS),
        Some(Answered { is_concluded: false, .. }) => Some(made? + ANSWERED_STAYS),
    }
}

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let request = &*self.request;
        let pool = request.pool.as_deref().unwrap_or("all");
        let ends = ends(request).map_or_else(|| "never".to_owned(), |at| at.to_string());
        let mut facts = vec![
            ("driver", request.driver.to_string()),
            ("pools", pool.to_owned()),
            ("answered", request.answered.is_some().to_string()),
            ("deleted", ends),
        ];
        facts.extend(self.pools.iter().map(|pool| ("pool", pool.to_string())));
        facts
    }
}
