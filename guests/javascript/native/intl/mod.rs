//! What `Intl` has of ICU4X: plural rules, list patterns, the canonical form of tags and what is likely of them, the case of letters,
//! and in modules of their own the order of strings, the borders of words, and time zones. Patterns and names are data of CLDR
//! that `library/internal/intl` reads itself.

mod collation;
mod language;
mod segmentation;
mod zones;

use core::ptr::null_mut;

use super::border::{bytes, give_bytes, text};

/// Answers a question in words, with a text that `native_bytes_end` takes back; null: there is no answer.
///
/// # Safety
/// Each pair is text that C lends, and `length` is where a number fits.
#[unsafe(no_mangle)]
#[expect(clippy::too_many_arguments, reason = "four texts of C, each of which is a pair")]
pub unsafe extern "C" fn native_intl(
    question: *const u8,
    question_length: usize,
    first: *const u8,
    first_length: usize,
    second: *const u8,
    second_length: usize,
    third: *const u8,
    third_length: usize,
    length: *mut usize,
) -> *mut u8 {
    // SAFETY: as the caller promises.
    let texts = unsafe {
        [
            text(question, question_length),
            text(first, first_length),
            text(second, second_length),
            text(third, third_length),
        ]
    };
    let [Some(question), Some(first), Some(second), Some(third)] = texts else { return null_mut() };
    let answer = match question {
        "canonicalize" => language::canonical(first),
        "maximize" => language::maximal(first),
        "minimize" => language::minimal(first),
        "plural" => language::plural(first, second, third),
        "pluralRange" => language::plural_range(first, second, third),
        "pluralCategories" => language::plural_categories(first, second),
        "list" => language::list_literals(first, second, third),
        "lower" => language::lower(first, second),
        "upper" => language::upper(first, second),
        "zones" => Some(zones::names()),
        "zoneName" => zones::name(first).map(str::to_owned),
        "temporal" => super::temporal::answer(first, second, third),
        _ => None,
    };
    // SAFETY: as the caller promises.
    unsafe { give_bytes(answer.map(String::into_bytes), length) }
}

/// The number of an order of strings, which lasts as long as the instance does; less than zero: there is none.
///
/// # Safety
/// Both are text that C lends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_collator(
    tag: *const u8,
    tag_length: usize,
    options: *const u8,
    options_length: usize,
) -> i32 {
    // SAFETY: as the caller promises.
    match unsafe { (text(tag, tag_length), text(options, options_length)) } {
        (Some(tag), Some(options)) => collation::order(tag, options).unwrap_or(-1),
        _ => -1,
    }
}

/// Less than zero, zero or more: how two strings in UTF-8 follow each other.
///
/// # Safety
/// Both are bytes that C lends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_compare(
    order: i32,
    left: *const u8,
    left_length: usize,
    right: *const u8,
    right_length: usize,
) -> i32 {
    // SAFETY: as the caller promises.
    unsafe { collation::compare(order, bytes(left, left_length), bytes(right, right_length)) }
}

/// The ends of the segments of a string in UTF-16, where `count` is put; the highest bit of each says that the segment is like a word.
/// `kind` is 0 for what readers take for one character, 1 for words, 2 for sentences. To be given to [`native_segments_free`].
///
/// # Safety
/// `first` is where `length` units lie that nobody changes, and `count` is where a number fits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_segments(
    kind: u32,
    first: *const u16,
    length: usize,
    count: *mut usize,
) -> *mut u32 {
    let units = if length == 0 {
        &[]
    } else {
        // SAFETY: as the caller promises.
        unsafe { core::slice::from_raw_parts(first, length) }
    };
    let ends = segmentation::ends(kind, units).into_boxed_slice();
    // SAFETY: as the caller promises.
    unsafe { *count = ends.len() };
    Box::into_raw(ends).cast()
}

/// Takes the list of [`native_segments`] back.
///
/// # Safety
/// It came from there with this count, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_segments_free(first: *mut u32, count: usize) {
    // SAFETY: as the caller promises.
    drop(unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(first, count)) });
}

/// The offset of a zone from UTC in seconds at a time in milliseconds, doubled, and one more in summer time; the smallest number: there is no such
/// zone.
///
/// # Safety
/// The name is text that C lends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_zone_offset(name: *const u8, name_length: usize, time: f64) -> i32 {
    // SAFETY: as the caller promises.
    unsafe { text(name, name_length) }.and_then(|name| zones::offset(name, time)).unwrap_or(i32::MIN)
}
