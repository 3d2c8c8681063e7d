//! The local time.

use api::Time;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

/// The time zone of local times.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

impl Zone {
    /// The system's: the variable `TZ`, else /etc/localtime, else UTC. Its rules are read now.
    pub fn system() -> Self {
        Self(TimeZone::system())
    }

    /// A zone that is always this many hours east of Greenwich.
    pub fn east(hours: i8) -> Self {
        Self(TimeZone::fixed(Offset::from_hours(hours).unwrap_or(Offset::UTC)))
    }

    /// Its rules, for arithmetic with dates.
    pub fn rules(&self) -> &TimeZone {
        &self.0
    }

    /// The local time at that moment.
    pub fn local(&self, time: Time) -> DateTime {
        // Every `Time` is within the range.
        let stamp = jiff::Timestamp::from_nanosecond(time.unix_nanos().into()).unwrap_or_default();
        self.0.to_datetime(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_differ_by_zone() {
        let time = Time::from_unix(1_700_000_000, 123_456_000);
        assert_eq!(Zone::east(0).local(time).to_string(), "2023-11-14T22:13:20.123456");
        assert_eq!(Zone::east(-5).local(time).to_string(), "2023-11-14T17:13:20.123456");
        assert_eq!(Zone::east(2).local(time).to_string(), "2023-11-15T00:13:20.123456");
    }
}
