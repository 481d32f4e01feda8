//! Moments as text: ISO 8601 in UTC with milliseconds (S4-03).

use std::time::{Duration, UNIX_EPOCH};

use dormouse_core::sandbox::Timestamp;

/// Years after which the calendar repeats itself, to the day.
const CYCLE_YEARS: u64 = 400;
/// Milliseconds of those years, in 146,097 days.
const CYCLE_MS: u64 = 146_097 * 24 * 3600 * 1000;

/// The moment as `2026-01-25T02:00:00.000Z`. Years after 9999 have more digits: the time of a file is any number.
pub(crate) fn iso8601(at: Timestamp) -> String {
    // `humantime` ends at the year 9999, so it formats the same moment of the first cycle.
    let (cycles, within) = (at.0 / CYCLE_MS, at.0 % CYCLE_MS);
    let text = humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(within)).to_string();
    match text.split_once('-').and_then(|(year, rest)| Some((year.parse::<u64>().ok()?, rest))) {
        Some((year, rest)) if cycles > 0 => format!("{:04}-{rest}", year + cycles * CYCLE_YEARS),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_what_other_clocks_say() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (1_769_306_400_000, "2026-01-25T02:00:00.000Z"),
            (4_107_542_399_001, "2100-02-28T23:59:59.001Z"),
            (12_622_780_799_999, "2369-12-31T23:59:59.999Z"),
            (12_622_780_800_000, "2370-01-01T00:00:00.000Z"),
            (13_574_563_200_000, "2400-02-29T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "10000-01-01T00:00:00.000Z"),
            (u64::MAX, "584556019-04-03T14:25:51.615Z"),
        ] {
            assert_eq!(iso8601(Timestamp(ms)), text);
        }
    }
}
