//! Instants, and dates and times in a time zone.

use temporal_rs::fields::ZonedDateTimeFields;
use temporal_rs::parsed_intermediates::ParsedZonedDateTime;
use temporal_rs::partial::PartialZonedDateTime;
use temporal_rs::{Instant, TemporalError, ZonedDateTime};

use super::words::{Fields, Words, of_date_time, of_duration, of_zoned};
use super::{Answer, unknown};

pub(super) fn instant(name: &str, words: &mut Words<'_>, text: &str) -> Answer {
    let instant = match name {
        "string" => {
            let (instant, writing) = (words.instant()?, words.writing()?);
            let zone = words.given()?.map(|zone| Words::new(zone).zone()).transpose()?;
            return instant.to_ixdtf_string(zone, writing);
        }
        "until" => return Ok(of_duration(&words.instant()?.until(&words.instant()?, words.difference()?)?)),
        "since" => return Ok(of_duration(&words.instant()?.since(&words.instant()?, words.difference()?)?)),
        "new" => words.instant(),
        "parse" => Instant::from_utf8(text.as_bytes()),
        "add" => words.instant()?.add(&words.duration()?),
        "round" => words.instant()?.round(words.rounding()?),
        _ => return unknown(),
    };
    Ok(instant?.as_i128().to_string())
}

pub(super) fn zoned(name: &str, words: &mut Words<'_>, text: &str) -> Answer {
    let zoned = match name {
        "string" => {
            let (zoned, writing) = (words.zoned()?, words.writing()?);
            return zoned.to_ixdtf_string(words.value()?, words.value()?, words.value()?, writing);
        }
        "until" => return Ok(of_duration(&words.zoned()?.until(&words.zoned()?, words.difference()?)?)),
        "since" => return Ok(of_duration(&words.zoned()?.since(&words.zoned()?, words.difference()?)?)),
        "fields" => return told(&words.zoned()?),
        "equals" => return Ok(words.zoned()?.equals(&words.zoned()?)?.to_string()),
        "hours" => return Ok(words.zoned()?.hours_in_day()?.to_string()),
        "transition" => {
            let found = words.zoned()?.get_time_zone_transition(words.value()?)?;
            return found.map_or_else(|| Ok("-".to_owned()), |found| of_zoned(&found));
        }
        "check" => return ParsedZonedDateTime::from_utf8(text.as_bytes()).map(|_| String::new()),
        "new" => words.zoned(),
        "parse" => ZonedDateTime::from_utf8(text.as_bytes(), words.value()?, words.value()?),
        "from" => {
            let partial = partial(words)?;
            let (overflow, disambiguation, offset) = (words.option()?, words.option()?, words.option()?);
            ZonedDateTime::from_partial(partial, overflow, disambiguation, offset)
        }
        "with" => {
            let (zoned, fields) = (words.zoned()?, split(words.fields()?));
            let (overflow, disambiguation, offset) = (words.option()?, words.option()?, words.option()?);
            zoned.with(fields, disambiguation, offset, overflow)
        }
        "withTime" => {
            let zoned = words.zoned()?;
            let time = words.given()?.map(|time| Words::new(time).time()).transpose()?;
            zoned.with_plain_time(time)
        }
        "add" => words.zoned()?.add(&words.duration()?, words.option()?),
        "round" => words.zoned()?.round(words.rounding()?),
        "startOfDay" => words.zoned()?.start_of_day(),
        _ => return unknown(),
    };
    of_zoned(&zoned?)
}

/// Its date and time, its offset as a text and in nanoseconds.
fn told(zoned: &ZonedDateTime) -> Answer {
    let both = of_date_time(&zoned.to_plain_date_time());
    Ok(format!("{both} {} {}", zoned.offset(), zoned.offset_nanoseconds()))
}

fn partial(words: &mut Words<'_>) -> Result<PartialZonedDateTime, TemporalError> {
    let fields = split(words.fields()?);
    Ok(PartialZonedDateTime { fields, calendar: words.calendar()?, timezone: Some(words.zone()?) })
}

fn split(fields: Fields) -> ZonedDateTimeFields {
    ZonedDateTimeFields { calendar_fields: fields.date, time: fields.time, offset: fields.offset }
}
