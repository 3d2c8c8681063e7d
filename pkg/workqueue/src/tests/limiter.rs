//! Delays and token buckets, as pure structures.

use proptest::prelude::*;

use super::{Duration, Instant, ms, start};
use crate::limiter::{ItemBackoff, Limiter, TokenBucket};

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// (name, first, max, how often `key` failed before, expected delay)
const BACKOFFS: &[(&str, Duration, Duration, u32, Duration)] = &[
    // default_rate_limiters_test.go
    ("TestItemExponentialFailureRateLimiter, 1st", ms(1), secs(1), 0, ms(1)),
    ("TestItemExponentialFailureRateLimiter, 2nd", ms(1), secs(1), 1, ms(2)),
    ("TestItemExponentialFailureRateLimiter, 5th", ms(1), secs(1), 4, ms(16)),
    ("TestItemExponentialFailureRateLimiterOverFlow, 6th", ms(1), secs(1000), 5, ms(32)),
    ("TestItemExponentialFailureRateLimiterOverFlow, 1001st", ms(1), secs(1000), 1000, secs(1000)),
    (
        "TestItemExponentialFailureRateLimiterOverFlow, minutes",
        secs(60),
        secs(3_600_000),
        2,
        secs(240),
    ),
    (
        "TestItemExponentialFailureRateLimiterOverFlow, hours",
        secs(60),
        secs(3_600_000),
        1100,
        secs(3_600_000),
    ),
    // podautoscaler/rate_limiters.go: a fixed delay
    ("fixed, 1st", secs(15), secs(15), 0, secs(15)),
    ("fixed, 9th", secs(15), secs(15), 8, secs(15)),
    ("the cap is not a power of two", ms(5), secs(1000), 18, secs(1000)),
    ("below the cap", ms(5), secs(1000), 17, ms(655_360)),
    ("no first delay", Duration::ZERO, secs(1), 2000, Duration::ZERO),
];

#[test]
fn backoff_doubles_up_to_its_cap() {
    for (name, first, max, failures, delay) in BACKOFFS {
        let mut backoff = ItemBackoff::new(*first, *max);
        for _ in 0..*failures {
            backoff.delay(&"key");
        }
        assert_eq!(backoff.delay(&"key"), *delay, "{name}");
        assert_eq!(backoff.failures(&"key"), failures + 1, "{name}");
    }
}

// TestItemExponentialFailureRateLimiter
#[test]
fn backoff_counts_each_key_until_it_is_forgotten() {
    let mut backoff = ItemBackoff::default();
    assert_eq!([backoff.delay(&"one"), backoff.delay(&"one")], [ms(5), ms(10)]);
    assert_eq!(backoff.delay(&"two"), ms(5));
    backoff.forget(&"one");
    assert_eq!((backoff.failures(&"one"), backoff.failures(&"two")), (0, 1));
    assert_eq!(backoff.delay(&"one"), ms(5));
}

// TestMaxOfRateLimiter, with the limiters of DefaultTypedControllerRateLimiter
#[test]
fn limiter_waits_for_the_longer_of_both() {
    let (now, mut limiter) = (start(), Limiter::default());
    for key in 0..100 {
        assert_eq!(limiter.delay(&key, now), ms(5), "within the burst");
    }
    assert_eq!(limiter.delay(&100, now), ms(100), "the first beyond the burst");
    assert_eq!(limiter.delay(&101, now), ms(200));
    let later = now + secs(60);
    assert_eq!([limiter.delay(&0, later), limiter.delay(&0, later)], [ms(10), ms(20)]);
    limiter.forget(&0);
    assert_eq!(limiter.failures(&0), 0);
    assert_eq!(limiter.delay(&0, later), ms(5));
}

#[test]
fn limiter_takes_a_token_also_when_the_key_waits_longer() {
    let now = start();
    let mut limiter = Limiter::new(ItemBackoff::new(secs(9), secs(9)), TokenBucket::new(1.0, 1));
    let delays: Vec<_> = (0..12).map(|_| limiter.delay(&(), now)).collect();
    assert_eq!(delays[..10], [secs(9); 10]);
    assert_eq!(delays[10..], [secs(10), secs(11)]);
}

/// Takes tokens from `bucket` at multiples of 100 ms after `start`.
fn try_take(bucket: &mut TokenBucket, start: Instant, asked: &[(u64, bool)]) {
    for (index, (at, enough)) in asked.iter().enumerate() {
        assert_eq!(bucket.try_take(start + ms(at * 100)), *enough, "number {index} at {at}");
    }
}

// golang.org/x/time/rate: TestLimiterBurst1
#[test]
fn bucket_gives_one_at_a_time() {
    let asked = [(0, true), (0, false), (1, true), (1, false), (1, false), (2, true), (2, false)];
    try_take(&mut TokenBucket::new(10.0, 1), start(), &asked);
}

// TestLimiterBurst3
#[test]
fn bucket_gives_a_burst_and_then_its_rate() {
    let burst = [(0, true), (0, true), (0, true), (0, false)];
    let after = [(1, true), (1, false), (2, true), (2, false), (9, true), (9, true), (9, true)];
    let mut bucket = TokenBucket::new(10.0, 3);
    let start = start();
    try_take(&mut bucket, start, &burst);
    try_take(&mut bucket, start, &after);
    try_take(&mut bucket, start, &[(9, false)]);
}

// TestLimiterJumpBackwards; upstream then counts the time from 0 to 1 a second time
#[test]
fn bucket_ignores_time_that_goes_back() {
    let asked = [(1, true), (0, true), (0, true), (0, false), (1, false), (2, true), (2, false)];
    try_take(&mut TokenBucket::new(10.0, 3), start(), &asked);
}

// TestSimpleReserve, TestMix, TestReserveJumpBack
#[test]
fn bucket_reserves_tokens_that_are_yet_to_come() {
    let (start, mut bucket) = (start(), TokenBucket::new(10.0, 2));
    // (asked at, delay), in 100 ms
    let asked = [(0, 0), (0, 0), (0, 1), (0, 2), (3, 0), (3, 1), (1, 2), (3, 3), (6, 1)];
    for (at, delay) in asked {
        assert_eq!(bucket.reserve(start + ms(at * 100)), ms(delay * 100), "{at}");
    }
    assert!(!bucket.try_take(start + ms(700)), "all are reserved");
    assert!(!bucket.try_take(start + ms(780)));
    assert!(bucket.try_take(start + ms(801)));
}

// TestReserveMax (infinite limit), TestWaitInf; client-go rest.Config: QPS below zero. (name, qps)
#[test]
fn bucket_without_limit() {
    let rates = [0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for mut bucket in
        rates.map(|qps| TokenBucket::new(qps, 1)).into_iter().chain([TokenBucket::unlimited()])
    {
        let now = start();
        for _ in 0..1000 {
            assert_eq!(bucket.reserve(now), Duration::ZERO, "{bucket:?}");
            assert!(bucket.try_take(now), "{bucket:?}");
        }
    }
}

// TestLimiter_noTruncationErrors, with sums: at 125 ms a token is due, but 1e-16 of it is missing
#[test]
fn bucket_gives_a_token_when_it_is_due() {
    let (start, mut bucket) = (start(), TokenBucket::new(8.0, 3));
    for at in [0, 96, 113, 125] {
        assert!(bucket.try_take(start + ms(at)), "{at}");
    }
    assert!(!bucket.try_take(start + ms(249)));
    assert!(bucket.try_take(start + ms(250)));
}

// TestTinyLimit; and a burst of zero, which upstream lets through never
#[test]
fn bucket_with_extreme_limits() {
    let now = start();
    let mut tiny = TokenBucket::new(f64::MIN_POSITIVE, 0);
    assert_eq!(tiny.reserve(now), Duration::ZERO);
    assert_eq!(tiny.reserve(now), Duration::MAX);
    // events_cache.go: 25 events and then one in 300 s
    let mut spam = TokenBucket::new(1.0 / 300.0, 25);
    assert_eq!((0..100).filter(|_| spam.try_take(now)).count(), 25);
    assert!(!spam.try_take(now + secs(299)));
    assert!(spam.try_take(now + secs(301)));
}

proptest! {
    // TestLongRunningQPS: in any span there are at most burst + qps * span takes
    #[test]
    fn bucket_keeps_its_rate(
        steps in prop::collection::vec(0..400_u64, 1..300),
        burst in 1..20_u32,
    ) {
        let (start, qps, mut bucket) = (start(), 8.0, TokenBucket::new(8.0, burst));
        let (mut now, mut taken) = (start, Vec::new());
        for step in steps {
            now += ms(step);
            if bucket.try_take(now) {
                taken.push(now);
            } else {
                let wait = bucket.clone().reserve(now);
                prop_assert!(wait > Duration::ZERO, "refused, but nothing to wait for");
            }
        }
        for (first, from) in taken.iter().enumerate() {
            for (count, to) in (1_u32..).zip(&taken[first..]) {
                let allowed = f64::from(burst) + (*to - *from).as_secs_f64() * qps;
                prop_assert!(f64::from(count) <= allowed + 1e-6);
            }
        }
    }

    // A caller that waits as required acts at the rate of `try_take`
    #[test]
    fn reservations_are_spaced_by_the_rate(count in 1..50_u32, burst in 1..10_u32) {
        let (now, mut bucket) = (start(), TokenBucket::new(4.0, burst));
        for index in 0..count {
            let expected = ms(250) * (index + 1).saturating_sub(burst);
            prop_assert_eq!(bucket.reserve(now), expected);
        }
    }
}
