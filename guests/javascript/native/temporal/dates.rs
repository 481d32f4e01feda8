//! Dates, months of a year and days of a month.

use temporal_rs::fields::{CalendarFields, YearMonthCalendarFields};
use temporal_rs::options::DisplayCalendar;
use temporal_rs::partial::{PartialDate, PartialYearMonth};
use temporal_rs::{PlainDate, PlainMonthDay, PlainYearMonth, TemporalError};

use super::words::{Words, of_date, of_duration, of_text, of_zoned};
use super::{Answer, unknown};

pub(super) fn date(name: &str, words: &mut Words<'_>, text: &str) -> Answer {
    let date = match name {
        "fields" => return Ok(told(&words.date()?)),
        "string" => return Ok(words.date()?.to_ixdtf_string(words.value()?)),
        "until" => return Ok(of_duration(&words.date()?.until(&words.date()?, words.difference()?)?)),
        "since" => return Ok(of_duration(&words.date()?.since(&words.date()?, words.difference()?)?)),
        "yearMonth" => return of_year_month(&words.date()?.to_plain_year_month()?),
        "monthDay" => return of_month_day(&words.date()?.to_plain_month_day()?),
        "zoned" => {
            let (date, zone) = (words.date()?, words.zone()?);
            let time = words.given()?.map(|time| Words::new(time).time()).transpose()?;
            return of_zoned(&date.to_zoned_date_time(zone, time)?);
        }
        "new" => words.date(),
        "parse" => PlainDate::from_utf8(text.as_bytes()),
        "from" => PlainDate::from_partial(partial(words)?, words.option()?),
        "with" => words.date()?.with(words.fields()?.date, words.option()?),
        "add" => words.date()?.add(&words.duration()?, words.option()?),
        _ => return unknown(),
    };
    Ok(of_date(&date?))
}

pub(super) fn year_month(name: &str, words: &mut Words<'_>, text: &str) -> Answer {
    let found = match name {
        "fields" => return Ok(told_of_month(&words.year_month()?)),
        "string" => return Ok(words.year_month()?.to_ixdtf_string(words.value()?)),
        "until" => {
            return Ok(of_duration(&words.year_month()?.until(&words.year_month()?, words.difference()?)?));
        }
        "since" => {
            return Ok(of_duration(&words.year_month()?.since(&words.year_month()?, words.difference()?)?));
        }
        "date" => return Ok(of_date(&words.year_month()?.to_plain_date(Some(words.fields()?.date))?)),
        "new" => words.year_month(),
        "parse" => PlainYearMonth::from_utf8(text.as_bytes()),
        "from" => {
            let PartialDate { calendar_fields, calendar } = partial(words)?;
            let partial = PartialYearMonth { calendar_fields: without_day(calendar_fields), calendar };
            PlainYearMonth::from_partial(partial, words.option()?)
        }
        "with" => words.year_month()?.with(without_day(words.fields()?.date), words.option()?),
        "add" => words.year_month()?.add(&words.duration()?, words.option()?.unwrap_or_default()),
        _ => return unknown(),
    };
    of_year_month(&found?)
}

pub(super) fn month_day(name: &str, words: &mut Words<'_>, text: &str) -> Answer {
    let found = match name {
        "fields" => {
            let found = words.month_day()?;
            return Ok(format!("- - - - {} {}", found.month_code().as_str(), found.day()));
        }
        "string" => return Ok(words.month_day()?.to_ixdtf_string(words.value()?)),
        "date" => return Ok(of_date(&words.month_day()?.to_plain_date(Some(words.fields()?.date))?)),
        "new" => words.month_day(),
        "parse" => PlainMonthDay::from_utf8(text.as_bytes()),
        "from" => PlainMonthDay::from_partial(partial(words)?, words.option()?),
        "with" => words.month_day()?.with(words.fields()?.date, words.option()?),
        _ => return unknown(),
    };
    of_month_day(&found?)
}

fn partial(words: &mut Words<'_>) -> Result<PartialDate, TemporalError> {
    Ok(PartialDate { calendar_fields: words.fields()?.date, calendar: words.calendar()? })
}

fn without_day(fields: CalendarFields) -> YearMonthCalendarFields {
    fields.into()
}

fn of_year_month(found: &PlainYearMonth) -> Answer {
    of_text(&found.to_ixdtf_string(DisplayCalendar::Always), found.calendar())
}

fn of_month_day(found: &PlainMonthDay) -> Answer {
    of_text(&found.to_ixdtf_string(DisplayCalendar::Always), found.calendar())
}

fn or_none<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// The same of a month, which tells less.
fn told_of_month(found: &PlainYearMonth) -> String {
    let mut told = vec!["-".to_owned(); 15];
    told[0] = or_none(found.era());
    told[1] = or_none(found.era_year());
    told[2] = found.year().to_string();
    told[3] = found.month().to_string();
    told[4] = found.month_code().as_str().to_owned();
    told[11] = found.days_in_month().to_string();
    told[12] = found.days_in_year().to_string();
    told[13] = found.months_in_year().to_string();
    told[14] = found.in_leap_year().to_string();
    told.join(" ")
}

/// All that a date tells, in the order that `library/internal/temporal/dates.js` knows.
fn told(date: &PlainDate) -> String {
    [
        or_none(date.era()),
        or_none(date.era_year()),
        date.year().to_string(),
        date.month().to_string(),
        date.month_code().as_str().to_owned(),
        date.day().to_string(),
        date.day_of_week().to_string(),
        date.day_of_year().to_string(),
        or_none(date.week_of_year()),
        or_none(date.year_of_week()),
        date.days_in_week().to_string(),
        date.days_in_month().to_string(),
        date.days_in_year().to_string(),
        date.months_in_year().to_string(),
        date.in_leap_year().to_string(),
    ]
    .join(" ")
}
