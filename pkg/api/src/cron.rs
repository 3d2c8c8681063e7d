//! Schedules of CronJobs, as upstream's parser reads them (robfig/cron v3.0.1, `ParseStandard`),
//! and the time zones that they are in.
//!
//! When a schedule is due is compared with what that parser says, in thousands of cases around the
//! hours when clocks are set: `testdata/cron.txt`, written by `make cron`.

mod duration;
mod parse;
#[cfg(test)]
mod tests;
mod zone;

use crate::Time;

pub use zone::Zone;
use zone::{Clocks, Moment};

/// In how many years a schedule must be due, or it never is.
const YEARS_MAX: i16 = 5;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// When something is due, again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule(Rule);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// `@every`: so many seconds after the last time, whenever that was.
    Every(i64),
    /// Five fields.
    Fields(Box<Fields>),
}

/// The numbers that each field admits, in a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields {
    minute: Field,
    hour: Field,
    day: Field,
    month: Field,
    weekday: Field,
    zone: Zone,
}

/// What a field admits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Field {
    /// A bit for each number.
    bits: u64,
    /// Whether it says `*` or `?`, and no step but that of 1: then it restricts nothing, though it
    /// may be one of several in a list.
    is_star: bool,
}

/// Where a search for the next time is.
struct Search<'a> {
    fields: &'a Fields,
    clocks: Clocks<'a>,
    at: Moment,
    /// It has moved, and stands at the first second of whatever it looks at.
    moved: bool,
}

/// What came of a look at one field.
enum Found {
    /// It admits the moment.
    Here,
    /// None before the next month, day, hour or minute begins, so all must be looked at anew.
    Wrapped,
}

// === impl Schedule ===

impl Schedule {
    /// Reads a schedule, which is in the zone `local` if it does not name another one; or why it
    /// cannot be read, in the words of the parser and of upstream's
    /// `ParseCronScheduleWithPanicRecovery`.
    pub fn parse(text: &str, local: &Zone) -> Result<Self, String> {
        parse::schedule(text, local).map(Self)
    }

    /// When it is due next after a moment; none: not within five years.
    pub fn next(&self, after: Time) -> Option<Time> {
        let unix = after.unix_nanos().div_euclid(1_000_000_000);
        let next = match &self.0 {
            Rule::Every(seconds) => Some(unix.saturating_add(*seconds)),
            Rule::Fields(fields) => fields.next(unix),
        };
        next.map(|unix| Time::from_unix(unix, 0))
    }
}

// === impl Fields ===

impl Fields {
    fn next(&self, after: i64) -> Option<i64> {
        // Upstream's parser looks at each minute of five years.
        if [self.minute, self.hour, self.month].iter().any(|field| field.bits == 0) {
            return None;
        }
        let mut clocks = Clocks::new(&self.zone);
        let at = clocks.at(after.saturating_add(1));
        let year_max = at.shown.year().saturating_add(YEARS_MAX);
        let mut search = Search { fields: self, clocks, at, moved: false };
        while search.at.shown.year() <= year_max {
            let found = [Search::month, Search::day, Search::hour, Search::minute, Search::second];
            if found.iter().all(|look| matches!(look(&mut search), Found::Here)) {
                return Some(search.at.unix);
            }
        }
        None
    }

    /// Both must admit a day if one of them restricts nothing, else one is enough. A step makes a
    /// restriction of a star: `*/2` in both is either of them.
    fn admits_day(&self, at: Moment) -> bool {
        let weekday = at.shown.weekday().to_sunday_zero_offset();
        let (day, weekday) = (self.day.admits(at.shown.day()), self.weekday.admits(weekday));
        if self.day.is_star || self.weekday.is_star { day && weekday } else { day || weekday }
    }
}

// === impl Field ===

impl Field {
    fn admits(self, number: i8) -> bool {
        u32::try_from(number).is_ok_and(|number| self.bits >> number & 1 == 1)
    }
}

// === impl Search ===

/// Each look goes on from where the ones before it have led. As `SpecSchedule.Next`, also where
/// clocks are set at midnight or for half an hour.
impl Search<'_> {
    fn month(&mut self) -> Found {
        while !self.fields.month.admits(self.at.shown.month()) {
            self.start(Moment::month);
            self.at = self.clocks.moment(self.at.next_month());
            if self.at.shown.month() == 1 {
                return Found::Wrapped;
            }
        }
        Found::Here
    }

    fn day(&mut self) -> Found {
        while !self.fields.admits_day(self.at) {
            self.start(Moment::day);
            let before = self.at.unix;
            self.at = self.clocks.moment(self.at.next_day());
            // Clocks that are set at midnight show 23 or 1.
            match i64::from(self.at.shown.hour()) {
                0 => {}
                hour if hour > 12 => self.skip((24 - hour) * HOUR),
                hour => self.skip(-hour * HOUR),
            }
            // A zone that has left out a whole day leads back to where we were: upstream's parser
            // looks for ever.
            if self.at.unix <= before {
                self.at = self.clocks.at(before + DAY);
            }
            if self.at.shown.day() == 1 {
                return Found::Wrapped;
            }
        }
        Found::Here
    }

    fn hour(&mut self) -> Found {
        while !self.fields.hour.admits(self.at.shown.hour()) {
            self.start(Moment::hour);
            self.skip(HOUR);
            if self.at.shown.hour() == 0 {
                return Found::Wrapped;
            }
        }
        Found::Here
    }

    fn minute(&mut self) -> Found {
        while !self.fields.minute.admits(self.at.shown.minute()) {
            if !self.moved {
                self.moved = true;
                // Of UTC, as Go's `Truncate`.
                self.skip(-self.at.unix.rem_euclid(MINUTE));
            }
            self.skip(MINUTE);
            if self.at.shown.minute() == 0 {
                return Found::Wrapped;
            }
        }
        Found::Here
    }

    fn second(&mut self) -> Found {
        while self.at.shown.second() != 0 {
            self.moved = true;
            self.skip(1);
            if self.at.shown.second() == 0 {
                return Found::Wrapped;
            }
        }
        Found::Here
    }

    /// Goes to the first second of something, when it moves for the first time.
    fn start(&mut self, first: fn(Moment) -> jiff::civil::DateTime) {
        if !self.moved {
            self.moved = true;
            self.at = self.clocks.moment(first(self.at));
        }
    }

    fn skip(&mut self, seconds: i64) {
        self.at = self.clocks.at(self.at.unix.saturating_add(seconds));
    }
}
