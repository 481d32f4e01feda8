//! Times, and dates with a time.

use temporal_rs::fields::DateTimeFields;
use temporal_rs::partial::PartialDateTime;
use temporal_rs::{PlainDateTime, PlainTime};

use super::words::{Fields, Words, of_date_time, of_duration, of_time, of_zoned};
use super::{Answer, unknown};

pub(super) fn time(name: &str, words: &mut Words<'_>, text: &str) -> Answer {
    let time = match name {
        "string" => return words.time()?.to_ixdtf_string(words.writing()?),
        "until" => return Ok(of_duration(&words.time()?.until(&words.time()?, words.difference()?)?)),
        "since" => return Ok(of_duration(&words.time()?.since(&words.time()?, words.difference()?)?)),
        "new" => words.time(),
        "parse" => PlainTime::from_utf8(text.as_bytes()),
        "from" => PlainTime::from_partial(words.fields()?.time, words.option()?),
        "with" => words.time()?.with(words.fields()?.time, words.option()?),
        "add" => words.time()?.add(&words.duration()?),
        "round" => words.time()?.round(words.rounding()?),
        _ => return unknown(),
    };
    Ok(of_time(&time?))
}

pub(super) fn date_time(name: &str, words: &mut Words<'_>, text: &str) -> Answer {
    let both = match name {
        "string" => {
            let (both, writing) = (words.date_time()?, words.writing()?);
            return both.to_ixdtf_string(writing, words.value()?);
        }
        "until" => {
            return Ok(of_duration(&words.date_time()?.until(&words.date_time()?, words.difference()?)?));
        }
        "since" => {
            return Ok(of_duration(&words.date_time()?.since(&words.date_time()?, words.difference()?)?));
        }
        "zoned" => return of_zoned(&words.date_time()?.to_zoned_date_time(words.zone()?, words.value()?)?),
        "new" => words.date_time(),
        "parse" => PlainDateTime::from_utf8(text.as_bytes()),
        "from" => {
            let (fields, calendar) = (split(words.fields()?), words.calendar()?);
            PlainDateTime::from_partial(PartialDateTime { fields, calendar }, words.option()?)
        }
        "with" => words.date_time()?.with(split(words.fields()?), words.option()?),
        "add" => words.date_time()?.add(&words.duration()?, words.option()?),
        "round" => words.date_time()?.round(words.rounding()?),
        _ => return unknown(),
    };
    Ok(of_date_time(&both?))
}

fn split(fields: Fields) -> DateTimeFields {
    DateTimeFields { calendar_fields: fields.date, time: fields.time }
}
