//! Choices from a seed.

use runtime::Random;

/// Chooses. The same seed makes the same choices.
pub(crate) struct Dice(Random);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Random::seeded(seed))
    }

    /// A number below `end`; 0 if that is 0.
    pub(crate) fn below(&self, end: u64) -> u64 {
        self.0.bits().checked_rem(end).unwrap_or(0)
    }

    pub(crate) fn chance(&self, of: f64) -> bool {
        self.0.unit() < of
    }

    /// One of them; there must be one.
    pub(crate) fn pick<T: Clone>(&self, among: &[T]) -> T {
        let end = u64::try_from(among.len()).unwrap_or(u64::MAX);
        let at = usize::try_from(self.below(end)).unwrap_or(0);
        among[at].clone()
    }
}
