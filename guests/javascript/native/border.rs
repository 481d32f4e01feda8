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

/// Hands bytes to C, and their number to `length`; none is a null pointer.
///
/// # Safety
/// `length` is where a number fits.
pub(crate) unsafe fn give_bytes(bytes: Option<Vec<u8>>, length: *mut usize) -> *mut u8 {
    let Some(bytes) = bytes else { return core::ptr::null_mut() };
    let bytes = bytes.into_boxed_slice();
    // SAFETY: as the caller promises.
    unsafe { *length = bytes.len() };
    Box::into_raw(bytes).cast()
}

/// Takes bytes back that C was handed.
///
/// # Safety
/// `first` came from [`give_bytes`] with this length, and is not used any more; or it is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_bytes_end(first: *mut u8, length: usize) {
    if !first.is_null() {
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(first, length)) });
    }
}
