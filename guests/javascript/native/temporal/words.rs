//! The words of questions and answers. A word has no space in it; `-` says that there is nothing.
//!
//! | what | its word |
//! | --- | --- |
//! | a date, a month of a year, a day of a month | year, month, day as in ISO 8601, calendar: `2026,1,31,gregory` |
//! | a time | `12,0,0,0,0,0` |
//! | a date with a time | both: `2026,1,31,gregory,12,0,0,0,0,0` |
//! | an instant | nanoseconds since 1970 |
//! | a zoned date and time | nanoseconds, time zone, calendar: `0,Europe/Oslo,iso8601` |
//! | a duration | its ten numbers, years first |
//! | fields | `day=1,monthCode=M01,year=2026` |

use core::str::{FromStr, Split};

use temporal_rs::fields::CalendarFields;
use temporal_rs::options::{
    DifferenceSettings, RoundingIncrement, RoundingMode, RoundingOptions, ToStringRoundingOptions, Unit,
};
use temporal_rs::parsers::Precision;
use temporal_rs::partial::PartialTime;
use temporal_rs::{
    Calendar, Duration, Instant, MonthCode, PlainDate, PlainDateTime, PlainMonthDay, PlainTime,
    PlainYearMonth, TemporalError, TimeZone, TinyAsciiStr, UtcOffset, ZonedDateTime,
};

type Result<T> = core::result::Result<T, TemporalError>;

pub(super) struct Words<'a>(Split<'a, char>);

/// The parts of a word.
type Parts<'a> = Split<'a, char>;

fn wrong() -> TemporalError {
    TemporalError::range().with_message("a value is out of range")
}

fn number<T: FromStr>(text: Option<&str>) -> Result<T> {
    text.and_then(|text| text.parse().ok()).ok_or_else(wrong)
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self(text.split(' '))
    }

    /// The next word.
    pub(super) fn word(&mut self) -> Result<&'a str> {
        self.0.next().ok_or_else(wrong)
    }

    /// The next word, if it says something.
    pub(super) fn given(&mut self) -> Result<Option<&'a str>> {
        Ok(Some(self.word()?).filter(|word| *word != "-"))
    }

    /// The next word as a value that is one word, such as a number or an option.
    pub(super) fn value<T: FromStr>(&mut self) -> Result<T> {
        number(Some(self.word()?))
    }

    pub(super) fn option<T: FromStr>(&mut self) -> Result<Option<T>> {
        self.given()?.map(|word| number(Some(word))).transpose()
    }

    pub(super) fn calendar(&mut self) -> Result<Calendar> {
        Calendar::try_from_utf8(self.word()?.as_bytes())
    }

    pub(super) fn zone(&mut self) -> Result<TimeZone> {
        TimeZone::try_from_identifier_str(self.word()?)
    }

    pub(super) fn date(&mut self) -> Result<PlainDate> {
        date(&mut self.word()?.split(','))
    }

    pub(super) fn year_month(&mut self) -> Result<PlainYearMonth> {
        let (year, month, day, calendar) = dated(&mut self.word()?.split(','))?;
        PlainYearMonth::try_new(year, month, Some(day), calendar)
    }

    pub(super) fn month_day(&mut self) -> Result<PlainMonthDay> {
        let (year, month, day, calendar) = dated(&mut self.word()?.split(','))?;
        PlainMonthDay::new_with_overflow(
            month,
            day,
            calendar,
            temporal_rs::options::Overflow::Reject,
            Some(year),
        )
    }

    pub(super) fn time(&mut self) -> Result<PlainTime> {
        time(&mut self.word()?.split(','))
    }

    pub(super) fn date_time(&mut self) -> Result<PlainDateTime> {
        let mut parts = self.word()?.split(',');
        PlainDateTime::from_date_and_time(date(&mut parts)?, time(&mut parts)?)
    }

    pub(super) fn instant(&mut self) -> Result<Instant> {
        Instant::try_new(self.value()?)
    }

    pub(super) fn zoned(&mut self) -> Result<ZonedDateTime> {
        let mut parts = self.word()?.split(',');
        let since = number(parts.next())?;
        let zone = TimeZone::try_from_identifier_str(parts.next().ok_or_else(wrong)?)?;
        ZonedDateTime::try_new(since, zone, calendar(&mut parts)?)
    }

    pub(super) fn duration(&mut self) -> Result<Duration> {
        let mut parts = self.word()?.split(',');
        let mut next = || number::<i64>(parts.next());
        let (years, months, weeks, days) = (next()?, next()?, next()?, next()?);
        let (hours, minutes, seconds, milliseconds) = (next()?, next()?, next()?, next()?);
        let (microseconds, nanoseconds) = (number(parts.next())?, number(parts.next())?);
        Duration::new(
            years,
            months,
            weeks,
            days,
            hours,
            minutes,
            seconds,
            milliseconds,
            microseconds,
            nanoseconds,
        )
    }

    /// Fields of a date and of a time, and an offset.
    pub(super) fn fields(&mut self) -> Result<Fields> {
        let mut fields = Fields::default();
        for (name, value) in self.word()?.split(',').filter_map(|field| field.split_once('=')) {
            fields.set(name, value)?;
        }
        Ok(fields)
    }

    pub(super) fn difference(&mut self) -> Result<DifferenceSettings> {
        let mut settings = DifferenceSettings::default();
        settings.largest_unit = self.option::<Unit>()?;
        (settings.smallest_unit, settings.rounding_mode, settings.increment) = self.rounded()?;
        Ok(settings)
    }

    pub(super) fn rounding(&mut self) -> Result<RoundingOptions> {
        let mut options = RoundingOptions::default();
        options.largest_unit = self.option::<Unit>()?;
        (options.smallest_unit, options.rounding_mode, options.increment) = self.rounded()?;
        Ok(options)
    }

    fn rounded(&mut self) -> Result<(Option<Unit>, Option<RoundingMode>, Option<RoundingIncrement>)> {
        let (unit, mode) = (self.option()?, self.option()?);
        let increment = self.option::<u32>()?.map(RoundingIncrement::try_new).transpose()?;
        Ok((unit, mode, increment))
    }

    /// How a time is written: digits of its fraction, the smallest unit, how it is rounded.
    pub(super) fn writing(&mut self) -> Result<ToStringRoundingOptions> {
        let precision = self.option()?.map_or(Precision::Auto, Precision::Digit);
        Ok(ToStringRoundingOptions {
            precision,
            smallest_unit: self.option()?,
            rounding_mode: self.option()?,
        })
    }
}

/// What an object has of fields.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) date: CalendarFields,
    pub(super) time: PartialTime,
    pub(super) offset: Option<UtcOffset>,
}

impl Fields {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let (date, time) = (&mut self.date, &mut self.time);
        match name {
            "year" => date.year = Some(number(Some(value))?),
            "month" => date.month = Some(number(Some(value))?),
            "monthCode" => date.month_code = Some(MonthCode::try_from_utf8(value.as_bytes())?),
            "day" => date.day = Some(number(Some(value))?),
            "era" => date.era = Some(TinyAsciiStr::try_from_str(value).map_err(|_| wrong())?),
            "eraYear" => date.era_year = Some(number(Some(value))?),
            "hour" => time.hour = Some(number(Some(value))?),
            "minute" => time.minute = Some(number(Some(value))?),
            "second" => time.second = Some(number(Some(value))?),
            "millisecond" => time.millisecond = Some(number(Some(value))?),
            "microsecond" => time.microsecond = Some(number(Some(value))?),
            "nanosecond" => time.nanosecond = Some(number(Some(value))?),
            "offset" => self.offset = Some(UtcOffset::from_utf8(value.as_bytes())?),
            _ => return Err(wrong()),
        }
        Ok(())
    }
}

fn calendar(parts: &mut Parts<'_>) -> Result<Calendar> {
    Calendar::try_from_utf8(parts.next().ok_or_else(wrong)?.as_bytes())
}

fn dated(parts: &mut Parts<'_>) -> Result<(i32, u8, u8, Calendar)> {
    Ok((number(parts.next())?, number(parts.next())?, number(parts.next())?, calendar(parts)?))
}

fn date(parts: &mut Parts<'_>) -> Result<PlainDate> {
    let (year, month, day, calendar) = dated(parts)?;
    PlainDate::try_new(year, month, day, calendar)
}

fn time(parts: &mut Parts<'_>) -> Result<PlainTime> {
    let (hour, minute, second) = (number(parts.next())?, number(parts.next())?, number(parts.next())?);
    PlainTime::try_new(
        hour,
        minute,
        second,
        number(parts.next())?,
        number(parts.next())?,
        number(parts.next())?,
    )
}

pub(super) fn of_date(date: &PlainDate) -> String {
    let iso = date.with_calendar(Calendar::ISO);
    format!("{},{},{},{}", iso.year(), iso.month(), iso.day(), date.calendar().identifier())
}

pub(super) fn of_time(time: &PlainTime) -> String {
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    format!("{hour},{minute},{second},{},{},{}", time.millisecond(), time.microsecond(), time.nanosecond())
}

pub(super) fn of_date_time(both: &PlainDateTime) -> String {
    format!("{},{}", of_date(&both.to_plain_date()), of_time(&both.to_plain_time()))
}

/// Of a date that is written in ISO 8601, with its year and its day.
pub(super) fn of_text(text: &str, calendar: &Calendar) -> Result<String> {
    let digits = text.split('[').next().unwrap_or_default();
    let mut parts = digits.rsplitn(3, '-');
    let (day, month, year) =
        (number::<u8>(parts.next())?, number::<u8>(parts.next())?, number::<i32>(parts.next())?);
    Ok(format!("{year},{month},{day},{}", calendar.identifier()))
}

pub(super) fn of_zoned(zoned: &ZonedDateTime) -> Result<String> {
    let (since, zone) = (zoned.epoch_nanoseconds().as_i128(), zoned.time_zone().identifier()?);
    Ok(format!("{since},{zone},{}", zoned.calendar().identifier()))
}

pub(super) fn of_duration(duration: &Duration) -> String {
    let date = [duration.years(), duration.months(), duration.weeks(), duration.days()];
    let time = [duration.hours(), duration.minutes(), duration.seconds(), duration.milliseconds()];
    let mut text = String::new();
    for number in date.into_iter().chain(time) {
        text += &format!("{number},");
    }
    text + &format!("{},{}", duration.microseconds(), duration.nanoseconds())
}
