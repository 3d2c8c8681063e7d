//! Randomness from one seed.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// A shared source of random numbers. Clones draw from the same sequence.
#[derive(Clone)]
pub struct Random(Arc<Mutex<SmallRng>>);

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random")
    }
}

impl Random {
    /// The sequence that belongs to `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(SmallRng::seed_from_u64(seed))))
    }

    /// A sequence seeded by the operating system.
    pub fn from_os() -> Self {
        Self(Arc::new(Mutex::new(SmallRng::from_os_rng())))
    }

    /// A number in [0, 1).
    pub fn unit(&self) -> f64 {
        self.with(Rng::random::<f64>)
    }

    /// 64 random bits.
    pub fn bits(&self) -> u64 {
        self.with(Rng::random)
    }

    /// A duration in [`delay`, `delay` * (1 + `factor`)). As `wait.Jitter` of
    /// k8s.io/apimachinery, but a factor of zero means no jitter.
    pub fn jitter(&self, delay: Duration, factor: f64) -> Duration {
        delay.mul_f64(1.0 + self.unit() * factor)
    }

    fn with<T>(&self, draw: impl FnOnce(&mut SmallRng) -> T) -> T {
        draw(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
