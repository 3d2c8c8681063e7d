//! A cache of results, which requests each result once for all concurrent callers.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ring::hmac;
use runtime::{Clock, Instant, Runtime};
use tokio::sync::OnceCell;

/// The key of a request, as a keyed hash: the request may be a secret, and the sender chooses its
/// length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Digest([u8; 32]);

/// Cached results and requests in progress.
pub(crate) struct Lookup<V> {
    kept: Mutex<Kept<V>>,
    /// Requests in progress, each for as long as a caller waits for its result.
    asked: Mutex<InProgress<V>>,
    key: hmac::Key,
    clock: Clock,
}

type InProgress<V> = BTreeMap<Digest, Arc<OnceCell<V>>>;

/// A caller that waits for a result.
struct Waiting<'a, V> {
    asked: &'a Mutex<InProgress<V>>,
    digest: Digest,
    /// None while this is dropped.
    answer: Option<Arc<OnceCell<V>>>,
}

/// Results by request, evicting the least recently used one.
struct Kept<V> {
    answers: BTreeMap<Digest, Cached<V>>,
    by_use: BTreeMap<u64, Digest>,
    uses: u64,
    count_max: usize,
}

struct Cached<V> {
    value: V,
    until: Instant,
    used: u64,
}

// === impl Lookup ===

impl<V: Clone> Lookup<V> {
    /// Caches up to `count_max` results.
    pub(crate) fn new(count_max: usize, runtime: &Runtime) -> Self {
        let key: Vec<u8> = (0..4).flat_map(|_| runtime.random.bits().to_be_bytes()).collect();
        let (answers, by_use) = (BTreeMap::new(), BTreeMap::new());
        Self {
            kept: Mutex::new(Kept { answers, by_use, uses: 0, count_max }),
            asked: Mutex::default(),
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            clock: runtime.clock.clone(),
        }
    }

    /// The hash of a request. Only this lookup can make it.
    pub(crate) fn digest(&self, question: &[u8]) -> Digest {
        let mut digest = [0; 32];
        digest.copy_from_slice(hmac::sign(&self.key, question).as_ref());
        Digest(digest)
    }

    /// The result, if it is cached.
    pub(crate) fn kept(&self, digest: Digest) -> Option<V> {
        lock(&self.kept).get(digest, self.clock.instant())
    }

    /// The cached result, or that of `ask`, which also returns how long to cache it. Concurrent
    /// callers with the same request wait for the same `ask`; if its caller is dropped, another one
    /// takes over.
    pub(crate) async fn ask(&self, digest: Digest, ask: impl Future<Output = (V, Duration)>) -> V {
        let waiting = self.wait(digest);
        let answer = waiting.answer.as_ref().expect("it is dropped last").get_or_init(|| async {
            if let Some(value) = self.kept(digest) {
                return value;
            }
            let (value, ttl) = ask.await;
            if !ttl.is_zero() {
                let now = self.clock.instant();
                lock(&self.kept).put(digest, value.clone(), now, now + ttl);
            }
            value
        });
        answer.await.clone()
    }

    fn wait(&self, digest: Digest) -> Waiting<'_, V> {
        let answer = Arc::clone(lock(&self.asked).entry(digest).or_default());
        Waiting { asked: &self.asked, digest, answer: Some(answer) }
    }
}

impl<V> Drop for Waiting<'_, V> {
    /// The last caller removes the request, so that no cleanup of abandoned ones is needed.
    fn drop(&mut self) {
        let mut asked = lock(self.asked);
        self.answer = None;
        // Clones are made and dropped under this lock.
        if asked.get(&self.digest).is_some_and(|answer| Arc::strong_count(answer) == 1) {
            asked.remove(&self.digest);
        }
    }
}

impl<V: Clone> Kept<V> {
    fn get(&mut self, digest: Digest, now: Instant) -> Option<V> {
        let answer = self.answers.get_mut(&digest)?;
        self.by_use.remove(&answer.used);
        if now >= answer.until {
            self.answers.remove(&digest);
            return None;
        }
        self.uses += 1;
        answer.used = self.uses;
        self.by_use.insert(self.uses, digest);
        Some(answer.value.clone())
    }

    fn put(&mut self, digest: Digest, value: V, now: Instant, until: Instant) {
        if let Some(old) = self.answers.remove(&digest) {
            self.by_use.remove(&old.used);
        }
        // Expired results are dropped from the old end, so that an idle port holds few.
        while let Some((&used, &oldest)) = self.by_use.first_key_value() {
            let expired = self.answers.get(&oldest).is_none_or(|answer| now >= answer.until);
            if !expired && self.answers.len() < self.count_max {
                break;
            }
            self.by_use.remove(&used);
            self.answers.remove(&oldest);
        }
        self.uses += 1;
        self.by_use.insert(self.uses, digest);
        self.answers.insert(digest, Cached { value, until, used: self.uses });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
impl<V> Lookup<V> {
    /// The number of cached results, and of requests in progress.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        (lock(&self.kept).answers.len(), lock(&self.asked).len())
    }
}
