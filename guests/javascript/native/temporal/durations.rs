//! Durations.

use temporal_rs::options::RelativeTo;
use temporal_rs::{Duration, TemporalError};

use super::words::{Words, of_date, of_duration, of_zoned};
use super::{Answer, unknown};

pub(super) fn duration(name: &str, words: &mut Words<'_>, text: &str) -> Answer {
    let duration = match name {
        "string" => return words.duration()?.as_temporal_string(words.writing()?),
        "compare" => {
            let order = words.duration()?.compare(&words.duration()?, relative(words)?)?;
            return Ok((order as i8).to_string());
        }
        "total" => {
            let (duration, unit) = (words.duration()?, words.value()?);
            return Ok(duration.total(unit, relative(words)?)?.to_string());
        }
        "relative" => {
            return match RelativeTo::try_from_str(text)? {
                RelativeTo::PlainDate(date) => Ok(format!("date {}", of_date(&date))),
                RelativeTo::ZonedDateTime(zoned) => Ok(format!("zoned {}", of_zoned(&zoned)?)),
            };
        }
        "new" => words.duration(),
        "parse" => Duration::from_utf8(text.as_bytes()),
        "add" => words.duration()?.add(&words.duration()?),
        "round" => {
            let (duration, rounding) = (words.duration()?, words.rounding()?);
            duration.round(rounding, relative(words)?)
        }
        _ => return unknown(),
    };
    Ok(of_duration(&duration?))
}

/// What a duration is relative to: `date DATE`, `zoned ZONED`, or nothing.
fn relative(words: &mut Words<'_>) -> Result<Option<RelativeTo>, TemporalError> {
    Ok(match words.given()? {
        Some("date") => Some(RelativeTo::PlainDate(words.date()?)),
        Some(_) => Some(RelativeTo::ZonedDateTime(words.zoned()?)),
        None => None,
    })
}
