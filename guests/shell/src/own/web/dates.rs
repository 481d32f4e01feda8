//! Moments as headers write them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, NaiveDateTime};

/// Seconds since 1970 of a date such as `Sun, 06 Nov 1994 08:49:37 GMT`, in one of the forms that servers use.
pub(in crate::own) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(moment) = DateTime::parse_from_rfc2822(text) {
        return Some(moment.timestamp());
    }
    let plain = text.trim_end_matches("GMT").trim_end_matches("UTC").trim();
    ["%a, %d-%b-%Y %H:%M:%S", "%A, %d-%b-%y %H:%M:%S", "%a, %d-%b-%y %H:%M:%S", "%a %b %e %H:%M:%S %Y"]
        .iter()
        .find_map(|form| NaiveDateTime::parse_from_str(plain, form).ok())
        .map(|moment| moment.and_utc().timestamp())
}

/// The same as the system's time; what is before 1970 is none.
pub(in crate::own) fn time(text: &str) -> Option<SystemTime> {
    let seconds = u64::try_from(parse(text)?).ok()?;
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Seconds since 1970.
pub(in crate::own) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_the_forms_of_servers() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, 06-Nov-1994 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(text), Some(784_111_777), "{text}");
        }
        assert_eq!(parse("soon"), None);
    }
}
