//! Zones of nodes: how many of them are ready, and how fast their nodes may get taints that evict.
//! Stands for upstream's `RateLimitedTimedQueue` of each zone and for `handleDisruption`.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{Node, Status, Text};

/// How many of a zone's nodes are ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZoneState {
    /// Not looked at yet.
    Initial,
    /// Most of them.
    Normal,
    /// Few of them.
    PartialDisruption,
    /// None.
    FullDisruption,
}

/// The rates and limits of the flags.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// `--node-eviction-rate`: nodes a second.
    pub eviction: f32,
    /// `--secondary-node-eviction-rate`
    pub secondary: f32,
    /// `--large-cluster-size-threshold`
    pub large_cluster: i32,
    /// `--unhealthy-zone-threshold`
    pub unhealthy_zone: f32,
}

/// A token bucket that holds one token at most. As client-go's with a burst of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limiter {
    /// Tokens a second; none come at zero.
    rate: f32,
    /// What it held at `at`.
    tokens: f64,
    at: Duration,
}

/// What is remembered of a zone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Zone {
    pub(super) state: ZoneState,
    pub(super) limiter: Limiter,
}

/// How many nodes of a zone there are, and how many of them are not ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) all: usize,
    pub(super) unready: usize,
}

/// What changes for the nodes when the zones are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing.
    Stays,
    /// No node is ready any more: none may have a taint that evicts.
    IntoMasterDisruption,
    /// Some node is ready again: all get a new grace period.
    OutOfMasterDisruption,
}

/// As `GetZoneKey` of component-helpers.
pub(super) fn zone_of(node: &Node) -> Text {
    let label = |old: &str, new: &str| {
        let labels = &node.meta.labels;
        labels.get(old).or_else(|| labels.get(new)).map_or("", |value| value)
    };
    let zone = label("failure-domain.beta.kubernetes.io/zone", Node::ZONE);
    let region = label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
    if zone.is_empty() && region.is_empty() {
        return "".into();
    }
    format!("{region}:\0:{zone}").into()
}

/// Whether a node counts when a zone's state is computed. As
/// `isNodeExcludedFromDisruptionChecks`.
pub(super) fn counts(node: &Node) -> bool {
    node.meta.labels.get("node.kubernetes.io/exclude-disruption").is_none()
}

/// The zones with nodes that count.
pub(super) fn sizes<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> BTreeMap<Text, Size> {
    let mut sizes: BTreeMap<Text, Size> = BTreeMap::new();
    for node in nodes.into_iter().filter(|node| counts(node)) {
        let size = sizes.entry(zone_of(node)).or_default();
        size.all += 1;
        size.unready += usize::from(node.ready != Some(Status::True));
    }
    sizes
}

/// As `handleDisruption`, on the zones as they were.
pub(super) fn turn(
    zones: &mut BTreeMap<Text, Zone>,
    sizes: &BTreeMap<Text, Size>,
    rates: &Rates,
    now: Duration,
) -> Turn {
    let states: BTreeMap<&Text, ZoneState> =
        sizes.iter().map(|(zone, size)| (zone, size.state(rates))).collect();
    for zone in sizes.keys() {
        zones.entry(zone.clone()).or_insert_with(|| Zone::new(rates, now));
    }
    // A zone whose nodes are all gone, or no longer count.
    zones.retain(|zone, _| sizes.contains_key(zone));
    let is_full = |state: ZoneState| state == ZoneState::FullDisruption;
    let all_are = states.values().all(|state| is_full(*state));
    let all_were = zones.values().all(|zone| is_full(zone.state));
    if all_are && all_were {
        return Turn::Stays;
    }
    for (name, zone) in zones.iter_mut() {
        let state = states[name];
        if all_are {
            (zone.state, zone.limiter) = (state, zone.limiter.swapped(0.0, now));
        } else if zone.state != state || all_were {
            let rate = rates.of(state, sizes[name].all);
            (zone.state, zone.limiter) = (state, zone.limiter.swapped(rate, now));
        }
    }
    match (all_are, all_were) {
        (true, _) => Turn::IntoMasterDisruption,
        (false, true) => Turn::OutOfMasterDisruption,
        (false, false) => Turn::Stays,
    }
}

// === impl Rates ===

impl Rates {
    /// As `setLimiterInZone`, `HealthyQPSFunc` and `ReducedQPSFunc`.
    fn of(&self, state: ZoneState, nodes: usize) -> f32 {
        let is_large = i32::try_from(nodes).unwrap_or(i32::MAX) > self.large_cluster;
        match state {
            ZoneState::Initial | ZoneState::Normal | ZoneState::FullDisruption => self.eviction,
            ZoneState::PartialDisruption if is_large => self.secondary,
            ZoneState::PartialDisruption => 0.0,
        }
    }
}

// === impl Zone ===

impl Zone {
    /// As `addPodEvictorForNewZone`.
    pub(super) fn new(rates: &Rates, now: Duration) -> Self {
        let limiter = Limiter::new(rates.eviction, now);
        Self { state: ZoneState::Initial, limiter }
    }
}

// === impl Size ===

impl Size {
    /// As `ComputeZoneState`.
    #[expect(clippy::cast_precision_loss, reason = "as upstream computes it")]
    pub(super) fn state(self, rates: &Rates) -> ZoneState {
        let part = self.unready as f32 / self.all as f32;
        if self.unready == self.all && self.all > 0 {
            ZoneState::FullDisruption
        } else if self.unready > 2 && part >= rates.unhealthy_zone {
            ZoneState::PartialDisruption
        } else {
            ZoneState::Normal
        }
    }
}

// === impl Limiter ===

impl Limiter {
    pub(super) fn new(rate: f32, now: Duration) -> Self {
        Self { rate, tokens: if rate > 0.0 { 1.0 } else { 0.0 }, at: now }
    }

    /// As `TryAccept`.
    pub(super) fn try_accept(&mut self, now: Duration) -> bool {
        self.tokens = self.tokens_at(now);
        self.at = now;
        let accepts = self.tokens >= 1.0;
        if accepts {
            self.tokens -= 1.0;
        }
        accepts
    }

    /// How long until there is a token; none: there never is.
    pub(super) fn wait(&self, now: Duration) -> Option<Duration> {
        if self.rate <= 0.0 {
            return None;
        }
        let missing = (1.0 - self.tokens_at(now)).max(0.0);
        // Rounded up: a moment earlier there is none.
        Some(Duration::from_secs_f64(missing / f64::from(self.rate)) + Duration::from_millis(1))
    }

    /// Its successor with another rate. As `SwapLimiter`: one without a token has one without.
    fn swapped(mut self, rate: f32, now: Duration) -> Self {
        #[expect(clippy::float_cmp, reason = "as upstream compares them: both come from flags")]
        if self.rate == rate {
            return self;
        }
        let mut next = Self::new(rate, now);
        if rate > 0.0 && !self.try_accept(now) {
            next.try_accept(now);
        }
        next
    }

    fn tokens_at(&self, now: Duration) -> f64 {
        if self.rate <= 0.0 {
            return 0.0;
        }
        let passed = now.saturating_sub(self.at).as_secs_f64();
        (self.tokens + passed * f64::from(self.rate)).min(1.0)
    }
}
