//! The delay before a retry: per key, and for all keys together.

use std::collections::BTreeMap;
use std::time::Duration;

use runtime::Instant;

/// A delay per key that doubles with each failure.
///
/// Holds one counter for each key that has failed since it was last forgotten, so its size is
/// bounded by the number of keys. A key that will not come back must be forgotten. Upstream:
/// `ItemExponentialFailureRateLimiter` of `default_rate_limiters.go`.
#[derive(Clone, Debug)]
pub struct ItemBackoff<K> {
    first: Duration,
    max: Duration,
    /// Invariant: no counter is zero.
    failures: BTreeMap<K, u32>,
}

/// A limit on how often something happens: `burst` times at once, and `qps` times a second in the
/// long run.
///
/// A clock that goes back neither adds nor removes tokens. Upstream: `golang.org/x/time/rate`.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    /// Tokens a second. None: no limit. Invariant: finite and positive.
    qps: Option<f64>,
    burst: f64,
    /// The tokens left at `last`; negative by what callers wait for. Invariant: at most `burst`.
    tokens: f64,
    /// The latest time seen. None: nothing was taken yet.
    last: Option<Instant>,
}

/// The delay before a failed key is retried: the longer one of the key's own back-off and the
/// common rate limit.
///
/// The default is upstream's `DefaultTypedControllerRateLimiter`.
#[derive(Clone, Debug)]
pub struct Limiter<K> {
    backoff: ItemBackoff<K>,
    bucket: TokenBucket,
}

// === impl ItemBackoff ===

impl<K> Default for ItemBackoff<K> {
    /// Upstream's default for controllers: 5 ms, doubled up to 1000 s.
    fn default() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_secs(1000))
    }
}

impl<K> ItemBackoff<K> {
    /// Delays of `first`, twice `first`, four times `first` and so on, none longer than `max`.
    /// With both equal the delay is fixed.
    pub fn new(first: Duration, max: Duration) -> Self {
        Self { first, max, failures: BTreeMap::new() }
    }
}

impl<K: Clone + Ord> ItemBackoff<K> {
    /// Counts a failure of `key` and returns how long to wait after it.
    pub fn delay(&mut self, key: &K) -> Duration {
        let failures = match self.failures.get_mut(key) {
            Some(failures) => failures,
            None => self.failures.entry(key.clone()).or_default(),
        };
        // A larger exponent gives infinity, and infinity times a first delay of zero is not a
        // number.
        let factor = 2_f64.powi((*failures).min(1023).cast_signed());
        *failures = failures.saturating_add(1);
        let delay = Duration::try_from_secs_f64(self.first.as_secs_f64() * factor);
        delay.unwrap_or(self.max).min(self.max)
    }

    /// The number of failures since `key` was last forgotten.
    pub fn failures(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or_default()
    }

    /// Sets the failures of `key` to none.
    pub fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }
}

// === impl TokenBucket ===

impl TokenBucket {
    /// A full bucket of `burst` tokens (at least one, or nothing could ever be taken) that gains
    /// `qps` tokens a second. A `qps` of zero or less means no limit, as in client-go's REST
    /// configuration.
    pub fn new(qps: f64, burst: u32) -> Self {
        let qps = (qps.is_finite() && qps > 0.0).then_some(qps);
        let burst = f64::from(burst.max(1));
        Self { qps, burst, tokens: burst, last: None }
    }

    /// A bucket that never runs out.
    pub fn unlimited() -> Self {
        Self::new(0.0, 1)
    }

    /// Takes a token, possibly a future one, and returns how long the caller must wait for it. If
    /// callers do not limit how many of them wait, the delays grow without bound.
    pub fn reserve(&mut self, now: Instant) -> Duration {
        let Some(qps) = self.qps else { return Duration::ZERO };
        self.refill(now, qps);
        self.tokens -= 1.0;
        delay(self.tokens, qps)
    }

    /// Takes a token if there is one. If not, nothing changes.
    pub fn try_take(&mut self, now: Instant) -> bool {
        let Some(qps) = self.qps else { return true };
        self.refill(now, qps);
        // Not `tokens >= 1`: rounding may leave a token that is due exactly now slightly
        // incomplete.
        let enough = delay(self.tokens - 1.0, qps).is_zero();
        if enough {
            self.tokens -= 1.0;
        }
        enough
    }

    fn refill(&mut self, now: Instant, qps: f64) {
        let last = self.last.map_or(now, |last| last.max(now));
        let elapsed = self.last.map_or(Duration::ZERO, |before| last - before);
        self.tokens = (self.tokens + elapsed.as_secs_f64() * qps).min(self.burst);
        self.last = Some(last);
    }
}

/// How long until `tokens` are at least zero, to the nearest nanosecond.
fn delay(tokens: f64, qps: f64) -> Duration {
    Duration::try_from_secs_f64((-tokens).max(0.0) / qps).unwrap_or(Duration::MAX)
}

// === impl Limiter ===

impl<K> Default for Limiter<K> {
    /// 5 ms to 1000 s for each key; for all, 10 tries a second after a burst of 100.
    fn default() -> Self {
        Self::new(ItemBackoff::default(), TokenBucket::new(10.0, 100))
    }
}

impl<K> Limiter<K> {
    /// The longer of both delays. For no common limit pass [`TokenBucket::unlimited`].
    pub fn new(backoff: ItemBackoff<K>, bucket: TokenBucket) -> Self {
        Self { backoff, bucket }
    }
}

impl<K: Clone + Ord> Limiter<K> {
    /// Counts a failure of `key` and returns how long to wait after it. A token is taken even if
    /// the key's own delay is the longer one.
    pub fn delay(&mut self, key: &K, now: Instant) -> Duration {
        self.backoff.delay(key).max(self.bucket.reserve(now))
    }

    /// The number of failures since `key` was last forgotten.
    pub fn failures(&self, key: &K) -> u32 {
        self.backoff.failures(key)
    }

    /// Sets the failures of `key` to none. Tokens are not given back.
    pub fn forget(&mut self, key: &K) {
        self.backoff.forget(key);
    }
}
