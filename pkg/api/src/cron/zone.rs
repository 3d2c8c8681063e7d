//! Time zones, and Go's arithmetic of dates in them.

use std::fmt::Write;
use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::{DateTime, Time as Clock};
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase, TimeZoneTransition};
use jiff::{Timestamp, ToSpan};

use crate::Time;

/// The rules that are built in: where the process runs makes no difference to them.
static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// What clocks on walls show somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// The clocks of a zone, for many looks one after the other.
pub(super) struct Clocks<'a> {
    zone: &'a Zone,
    /// The seconds around the last look in which the clocks are not set.
    known: Range<i64>,
    /// How many seconds they are ahead of UTC then.
    offset: i64,
}

/// A second, and what the clocks of a zone show then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Since 1970.
    pub(super) unix: i64,
    pub(super) shown: DateTime,
}

impl Zone {
    /// Greenwich without summer time.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// The zone with these rules.
    pub const fn of(rules: TimeZone) -> Self {
        Self(rules)
    }

    /// The zone with this name, in which case matters; or why there is none. As Go's
    /// `time.LoadLocation`, to which `Local` is the zone of the process, and no name is UTC.
    pub fn load(name: &str, local: &Self) -> Result<Self, String> {
        match name {
            "" | "UTC" => return Ok(Self::UTC),
            "Local" => return Ok(local.clone()),
            _ if name.contains("..") || name.starts_with(['/', '\\']) => {
                return Err("time: invalid location name".to_owned());
            }
            _ => {}
        }
        let is_named = |name: &str| DATABASE.available().any(|known| known.as_str() == name);
        let found = DATABASE.get(name).ok().filter(|_| is_named(name));
        found.map(Self).ok_or_else(|| format!("unknown time zone {name}"))
    }

    /// A moment as Go's `time.RFC3339` writes it, in this zone.
    pub fn rfc3339(&self, time: Time) -> String {
        let unix = time.unix_nanos().div_euclid(1_000_000_000);
        let minutes = self.offset(unix) / 60;
        let shown = Clocks::new(self).at(unix).shown;
        let mut text = shown.strftime("%Y-%m-%dT%H:%M:%S").to_string();
        if minutes == 0 {
            text.push('Z');
            return text;
        }
        let (sign, minutes) = (if minutes < 0 { '-' } else { '+' }, minutes.abs());
        let _ = write!(text, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
        text
    }

    /// How many seconds the clocks are ahead of UTC at a second since 1970.
    fn offset(&self, unix: i64) -> i64 {
        self.0.to_offset(stamp(unix)).seconds().into()
    }
}

// === impl Clocks ===

impl<'a> Clocks<'a> {
    pub(super) const fn new(zone: &'a Zone) -> Self {
        Self { zone, known: 0..0, offset: 0 }
    }

    /// What they show at a second since 1970.
    pub(super) fn at(&mut self, unix: i64) -> Moment {
        let shown = unix.saturating_add(self.offset(unix));
        Moment { unix, shown: Offset::UTC.to_datetime(stamp(shown)) }
    }

    /// When they show this. If they never do, or do so twice, the choice is that of Go's
    /// `time.Date`: by the offset that holds as many seconds after 1970 in UTC, or, where that
    /// leads to a second of another offset, by that one.
    pub(super) fn moment(&mut self, shown: DateTime) -> Moment {
        let as_utc = Offset::UTC.to_timestamp(shown).unwrap_or(Timestamp::MAX).as_second();
        let offset = self.offset(as_utc);
        let offset = self.offset(as_utc - offset);
        self.at(as_utc - offset)
    }

    fn offset(&mut self, unix: i64) -> i64 {
        if !self.known.contains(&unix) {
            let rules = &self.zone.0;
            let until = rules.following(stamp(unix)).next();
            let since = rules.preceding(stamp(unix.saturating_add(1))).next();
            let second = |change: TimeZoneTransition<'_>| change.timestamp().as_second();
            self.known = since.map_or(i64::MIN, second)..until.map_or(i64::MAX, second);
            self.offset = self.zone.offset(unix);
        }
        self.offset
    }
}

// === impl Moment ===

impl Moment {
    /// The first second of its month, as far as there is one.
    pub(super) fn month(self) -> DateTime {
        self.shown.date().first_of_month().to_datetime(Clock::midnight())
    }

    /// The first second of its day.
    pub(super) fn day(self) -> DateTime {
        self.shown.date().to_datetime(Clock::midnight())
    }

    /// The first second of its hour.
    pub(super) fn hour(self) -> DateTime {
        self.shown.date().at(self.shown.hour(), 0, 0, 0)
    }

    /// The same day and time of the next month. As Go's `AddDate`, the 31st of a month that has
    /// fewer days is one of the month behind it.
    pub(super) fn next_month(self) -> DateTime {
        let first = self.shown.date().first_of_month().saturating_add(1.month());
        let date = first.saturating_add(i64::from(self.shown.day() - 1).days());
        date.to_datetime(self.shown.time())
    }

    /// The same time of the next day.
    pub(super) fn next_day(self) -> DateTime {
        self.shown.saturating_add(1.day())
    }
}

fn stamp(unix: i64) -> Timestamp {
    Timestamp::from_second(unix).unwrap_or(if unix < 0 { Timestamp::MIN } else { Timestamp::MAX })
}
