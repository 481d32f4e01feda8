//! Moments as text: ISO 8601 in UTC with milliseconds (S4-03).

use dormouse_core::sandbox::Timestamp;

const DAY_MS: u64 = 24 * 3600 * 1000;

/// The moment as `2026-01-25T02:00:00.000Z`.
pub fn iso8601(at: Timestamp) -> String {
    let (days, rest) = (at.0 / DAY_MS, at.0 % DAY_MS);
    let (year, month, day) = civil(days);
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    let (seconds, ms) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{ms:03}Z")
}

/// The date that many days after 1970-01-01. Counts in eras of 400 years that begin in March, so that the leap day is
/// the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, date)
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
        ] {
            assert_eq!(iso8601(Timestamp(ms)), text);
        }
    }
}
