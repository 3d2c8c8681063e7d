//! Numbers that look random and are the same in every run with the same seed.

use std::fmt::Write;
use std::time::Duration;

/// Where they come from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seed(pub(crate) u64);

impl Seed {
    /// A number for these words: FNV-1a, mixed as SplitMix64 does.
    pub(crate) fn number(self, words: &[&str]) -> u64 {
        let mut hash = self.0 ^ 0xcbf2_9ce4_8422_2325;
        for word in words {
            for byte in word.bytes().chain([0xff]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        mix(hash)
    }

    /// A span below `max`.
    pub(crate) fn jitter(self, words: &[&str], max: Duration) -> Duration {
        let share = u32::try_from(self.number(words) >> 48).unwrap_or(0);
        max * share / 0x1_0000
    }

    /// 64 hexadecimal digits, as of a SHA-256.
    pub(crate) fn digest(self, words: &[&str]) -> String {
        let mut state = self.number(words);
        let mut digest = String::with_capacity(64);
        for _ in 0..4 {
            let _ = write!(digest, "{state:016x}");
            state = mix(state);
        }
        digest
    }
}

fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}
