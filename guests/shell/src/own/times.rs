//! Times as commands show them: in UTC, or in the zone of `TZ`.

use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Offset as _, TimeZone as _};
use chrono_tz::Tz;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A moment, taken apart.
pub(super) struct Moment {
    pub(super) seconds: i64,
    pub(super) nanoseconds: u32,
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    /// Seconds east of UTC.
    offset: i64,
}

impl Moment {
    /// As UTC has it.
    pub(super) fn of(time: SystemTime) -> Self {
        Self::in_zone(time, None)
    }

    /// As clocks show it in a zone such as `Europe/Berlin`; one that is not known is UTC.
    pub(super) fn in_zone(time: SystemTime, zone: Option<&String>) -> Self {
        let (seconds, nanoseconds) = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => (i64::try_from(after.as_secs()).unwrap_or(i64::MAX), after.subsec_nanos()),
            Err(before) => (-i64::try_from(before.duration().as_secs()).unwrap_or(i64::MAX), 0),
        };
        let offset = offset(seconds, zone);
        let local = seconds.saturating_add(offset);
        let (year, month, day) = civil(local.div_euclid(86_400));
        let rest = local.rem_euclid(86_400);
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        Self { seconds, nanoseconds, year, month, day, hour, minute, second, offset }
    }

    /// `2024-02-03 04:05:06.000000000 +0000`
    pub(super) fn full(&self) -> String {
        let (sign, minutes) = (if self.offset < 0 { '-' } else { '+' }, self.offset.abs() / 60);
        let zone = format!("{sign}{:02}{:02}", minutes / 60, minutes % 60);
        format!("{} {}.{:09} {zone}", self.date(), self.clock(), self.nanoseconds)
    }

    /// `2024-02-03`
    pub(super) fn date(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// `04:05:06`
    pub(super) fn clock(&self) -> String {
        format!("{:02}:{:02}:{:02}", self.hour, self.minute, self.second)
    }

    /// By a pattern in the way of `strftime`, as far as `ls --time-style` has use for it.
    pub(super) fn shown(&self, pattern: &str) -> String {
        let two = |number: i64| format!("{number:02}");
        let parts = [
            ("%F", "%Y-%m-%d".to_owned()),
            ("%T", "%H:%M:%S".to_owned()),
            ("%R", "%H:%M".to_owned()),
            ("%b", self.month_name().to_owned()),
            ("%e", format!("{:>2}", self.day)),
            ("%Y", format!("{:04}", self.year)),
            ("%m", two(self.month)),
            ("%d", two(self.day)),
            ("%H", two(self.hour)),
            ("%M", two(self.minute)),
            ("%S", two(self.second)),
            ("%N", format!("{:09}", self.nanoseconds)),
            ("%s", self.seconds.to_string()),
        ];
        parts.iter().fold(pattern.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    /// `Feb`
    pub(super) fn month_name(&self) -> &'static str {
        usize::try_from(self.month - 1).ok().and_then(|month| MONTHS.get(month)).copied().unwrap_or("?")
    }
}

/// How far a zone is from UTC at a moment, in seconds.
fn offset(seconds: i64, zone: Option<&String>) -> i64 {
    let zone = zone.and_then(|name| name.parse::<Tz>().ok());
    let at = DateTime::from_timestamp(seconds, 0);
    let offset =
        zone.zip(at).map(|(zone, at)| zone.offset_from_utc_datetime(&at.naive_utc()).fix().local_minus_utc());
    offset.unwrap_or(0).into()
}

/// Year, month and day of a day since 1970, in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The day since 1970 of a date in the Gregorian calendar.
pub(super) fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}
