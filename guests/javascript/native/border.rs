//! What crosses between C and Rust: bytes that C lends for the time of a call, and objects that C holds by an address.

use core::slice;

/// The bytes that C lends.
///
/// # Safety
/// `first` is where `count` bytes lie that nobody changes while the result is used, or `count` is zero.
pub(crate) unsafe fn bytes<'a>(first: *const u8, count: usize) -> &'a [u8] {
    if count == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { slice::from_raw_parts(first, count) }
}

/// The place that C lends for a result.
///
/// # Safety
/// `first` is where `count` bytes lie that nobody else uses while the result is used, or `count` is zero.
pub(crate) unsafe fn place<'a>(first: *mut u8, count: usize) -> &'a mut [u8] {
    if count == 0 {
        return &mut [];
    }
    // SAFETY: as the caller promises.
    unsafe { slice::from_raw_parts_mut(first, count) }
}

/// The text that C lends; none: it is not UTF-8.
///
/// # Safety
/// As [`bytes`].
pub(crate) unsafe fn text<'a>(first: *const u8, count: usize) -> Option<&'a str> {
    // SAFETY: as the caller promises.
    str::from_utf8(unsafe { bytes(first, count) }).ok()
}

/// Hands an object to C; none is a null pointer.
pub(crate) fn give<T>(object: Option<T>) -> *mut T {
    object.map_or(core::ptr::null_mut(), |object| Box::into_raw(Box::new(object)))
}

/// Takes an object back from C, whose end is here.
///
/// # Safety
/// `object` came from [`give`], and this is its only end; or it is null.
pub(crate) unsafe fn end<T>(object: *mut T) {
    if !object.is_null() {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(object) });
    }
}
