//! A moment on the wall clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::fault;

/// A moment as nanoseconds since 1970, which reaches from 1677 to 2262; arithmetic saturates.
/// Text and JSON are RFC 3339 in UTC with whole seconds, as upstream's `metav1.Time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);

    /// The moment `seconds` and `nanos` after 1970; negative seconds lie before.
    pub const fn from_unix(seconds: i64, nanos: i32) -> Self {
        Self(seconds.saturating_mul(1_000_000_000).saturating_add(nanos as i64))
    }

    /// Parses RFC 3339.
    pub fn parse(text: &str) -> Result<Self, String> {
        let stamp: jiff::Timestamp = text.parse().map_err(|error| format!("{text:?}: {error}"))?;
        Ok(Self::from_unix(stamp.as_second(), stamp.subsec_nanosecond()))
    }

    /// Nanoseconds since 1970.
    pub const fn unix_nanos(self) -> i64 {
        self.0
    }

    /// How long ago `earlier` was, zero if it lies ahead.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// The same moment cut to whole seconds, as it survives the wire.
    pub const fn whole_seconds(self) -> Self {
        Self(self.0 - self.0.rem_euclid(1_000_000_000))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(delay.as_nanos()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    fn sub(self, delay: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(delay.as_nanos()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(1_000_000_000);
        match jiff::Timestamp::from_second(seconds) {
            Ok(stamp) => write!(f, "{stamp}"),
            Err(_) => write!(f, "@{seconds}"),
        }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fault::parsed(deserializer, Self::parse)
    }
}
