//! `Temporal`, by the crate temporal_rs: one question in words, answered in words. Objects of JavaScript hold their state as a word
//! (`words.rs` has its forms), so nothing lives here between two questions.

mod dates;
mod durations;
mod exact;
mod times;
mod words;

use temporal_rs::error::ErrorKind;
use temporal_rs::{Calendar, TemporalError, TimeZone};

use words::Words;

type Answer = Result<String, TemporalError>;

/// The answer to a question such as `date.add`, behind a sign: `=`, or for an error the first letter of its class.
pub(super) fn answer(question: &str, words: &str, text: &str) -> Option<String> {
    let (kind, name) = question.split_once('.')?;
    let mut words = Words::new(words);
    let answer = match kind {
        "date" => dates::date(name, &mut words, text),
        "yearMonth" => dates::year_month(name, &mut words, text),
        "monthDay" => dates::month_day(name, &mut words, text),
        "time" => times::time(name, &mut words, text),
        "dateTime" => times::date_time(name, &mut words, text),
        "instant" => exact::instant(name, &mut words, text),
        "zoned" => exact::zoned(name, &mut words, text),
        "duration" => durations::duration(name, &mut words, text),
        "read" => read(name, text),
        _ => unknown(),
    };
    Some(match answer {
        Ok(answer) => format!("={answer}"),
        Err(error) => {
            let class = if error.kind() == ErrorKind::Type { 'T' } else { 'R' };
            format!("{class}{}", error.into_message())
        }
    })
}

/// What texts of a user name: a calendar or a time zone, by its name alone or within a text of another kind.
fn read(name: &str, text: &str) -> Answer {
    match name {
        "calendarName" => Ok(Calendar::try_from_utf8(text.as_bytes())?.identifier().to_owned()),
        "calendar" => Ok(text.parse::<Calendar>()?.identifier().to_owned()),
        "zoneName" => TimeZone::try_from_identifier_str(text)?.identifier(),
        "zone" => TimeZone::try_from_str(text)?.identifier(),
        "primaryZone" => TimeZone::try_from_identifier_str(text)?.primary_identifier()?.identifier(),
        _ => unknown(),
    }
}

fn unknown() -> Answer {
    Err(TemporalError::general("unknown question"))
}
