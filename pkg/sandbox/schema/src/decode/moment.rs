//! Times as Go reads and writes them: RFC 3339, in UTC, in whole seconds or with microseconds.

/// What a time may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Any fraction is read, none is written.
    Seconds,
    /// Six digits are read and written.
    Micros,
}

/// What is left to read, and the words for what cannot be.
struct Reader<'a> {
    all: &'a str,
    rest: &'a str,
    layout: Layout,
}

/// A time in UTC; none: Go's zero time, which is written as null. The error is Go's.
pub(super) fn normal(text: &str, layout: Layout) -> Result<Option<String>, String> {
    let mut reader = Reader { all: text, rest: text, layout };
    let year = reader.number(4, "2006")?;
    reader.text('-')?;
    let month = reader.number(2, "01")?;
    if !(1..=12).contains(&month) {
        return Err(reader.out_of_range("month"));
    }
    reader.text('-')?;
    let day = reader.number(2, "02")?;
    reader.text('T')?;
    let hour = reader.below(24, "15", "hour")?;
    reader.text(':')?;
    let minute = reader.below(60, "04", "minute")?;
    reader.text(':')?;
    let second = reader.below(60, "05", "second")?;
    let micros = reader.fraction()?;
    let offset = reader.zone()?;
    if !reader.rest.is_empty() {
        let rest = reader.rest;
        return Err(format!("parsing time {text:?}: extra text: {rest:?}"));
    }
    if day < 1 || day > days_in(year, month) {
        return Err(reader.out_of_range("day"));
    }
    let seconds = days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
    // Go's zero time is the first second of year 1.
    if seconds == days(1, 1, 1) * 86_400 && micros == 0 {
        return Ok(None);
    }
    Ok(Some(written(seconds, micros, layout)))
}

/// A time that is so many seconds after 1970, and microseconds.
pub(super) fn written(seconds: i64, micros: i64, layout: Layout) -> String {
    // Within what has four digits for the year.
    let seconds = seconds.clamp(days(0, 1, 1) * 86_400, days(10_000, 1, 1) * 86_400 - 1);
    let (year, month, day) = date(seconds.div_euclid(86_400));
    let of_day = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let fraction = match layout {
        Layout::Seconds => String::new(),
        Layout::Micros => format!(".{micros:06}"),
    };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the Gregorian calendar, counted in eras of 400 years that start in
/// March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The way back.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

// === impl Layout ===

impl Layout {
    /// As Go's errors name it.
    fn text(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z07:00",
            Self::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

// === impl Reader ===

impl Reader<'_> {
    fn cannot(&self, element: &str) -> String {
        let (all, layout, rest) = (self.all, self.layout.text(), self.rest);
        format!("parsing time {all:?} as {layout:?}: cannot parse {rest:?} as {element:?}")
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {:?}: {what} out of range", self.all)
    }

    /// A number of so many digits.
    fn number(&mut self, digits: usize, element: &str) -> Result<i64, String> {
        let text = self.rest.get(..digits).filter(|it| it.bytes().all(|it| it.is_ascii_digit()));
        let number = text.and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| self.cannot(element))?;
        self.rest = self.rest.get(digits..).unwrap_or_default();
        Ok(number)
    }

    fn below(&mut self, end: i64, element: &str, what: &str) -> Result<i64, String> {
        match self.number(2, element)? {
            number if number < end => Ok(number),
            _ => Err(self.out_of_range(what)),
        }
    }

    fn text(&mut self, expected: char) -> Result<(), String> {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.cannot(&expected.to_string())),
        }
    }

    /// Microseconds.
    fn fraction(&mut self) -> Result<i64, String> {
        if self.layout == Layout::Micros {
            let digits = self.rest.strip_prefix('.').and_then(|it| it.get(..6));
            let micros = digits.filter(|it| it.bytes().all(|it| it.is_ascii_digit()));
            let micros = micros.and_then(|it| it.parse().ok());
            let micros = micros.ok_or_else(|| self.cannot(".000000"))?;
            self.rest = self.rest.get(7..).unwrap_or_default();
            return Ok(micros);
        }
        if let Some(digits) = self.rest.strip_prefix(['.', ',']) {
            let rest = digits.trim_start_matches(|it: char| it.is_ascii_digit());
            if rest.len() < digits.len() {
                self.rest = rest;
            }
        }
        Ok(0)
    }

    /// Seconds east of Greenwich.
    fn zone(&mut self) -> Result<i64, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let parts = self.rest.get(..6).and_then(|text| {
            let (hours, minutes) = text.get(1..)?.split_once(':')?;
            let digits = |it: &&str| it.len() == 2 && it.bytes().all(|it| it.is_ascii_digit());
            let hours: i64 = Some(hours).filter(digits)?.parse().ok()?;
            let minutes: i64 = Some(minutes).filter(digits)?.parse().ok()?;
            let sign = match text.as_bytes().first()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            Some((sign, hours, minutes))
        });
        let (sign, hours, minutes) = parts.ok_or_else(|| self.cannot("Z07:00"))?;
        if hours > 24 {
            return Err(self.out_of_range("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(self.out_of_range("time zone offset minute"));
        }
        self.rest = self.rest.get(6..).unwrap_or_default();
        Ok(sign * (hours * 3600 + minutes * 60))
    }
}
