//! Strings and lists as they cross the border to the generated code.

#![allow(unsafe_code, reason = "the border to C")]

use std::mem::ManuallyDrop;

use crate::heap;

/// A list or a string: its first element and how many there are.
#[repr(C)]
pub(crate) struct List<T> {
    pub(crate) first: *mut T,
    pub(crate) count: usize,
}

/// A string, or a list of bytes.
pub(crate) type Text = List<u8>;

impl<T> List<T> {
    /// No element.
    pub(crate) const fn none() -> Self {
        Self { first: std::ptr::null_mut(), count: 0 }
    }

    /// The elements as the callee reads them; it neither keeps nor changes them.
    pub(crate) const fn lend(elements: &[T]) -> Self {
        Self { first: elements.as_ptr().cast_mut(), count: elements.len() }
    }
}

impl<T> List<T> {
    /// Takes over elements of the callee's.
    ///
    /// # Safety
    ///
    /// Unless `count` is 0, `first` is the start of an allocation of `count` elements by `cabi_realloc`, which nothing else frees.
    pub(crate) unsafe fn own(self) -> Vec<T> {
        if self.count == 0 {
            return Vec::new();
        }
        let list = ManuallyDrop::new(self);
        heap::add(list.count * size_of::<T>());
        // SAFETY: `cabi_realloc` allocates with the C allocator, which Rust's is on this target; the rest is as the caller
        // promises.
        unsafe { Vec::from_raw_parts(list.first, list.count, list.count) }
    }
}

/// Bytes of the caller's, for as long as a call lasts; null: none.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Borrowed {
    first: *const u8,
    count: usize,
}

impl Borrowed {
    /// The first byte, and how many there are.
    #[must_use]
    pub const fn new(first: *const u8, count: usize) -> Self {
        Self { first, count }
    }

    /// The text; none if there is no first byte.
    ///
    /// # Safety
    ///
    /// `first` is null, or the start of `count` bytes of UTF-8 that stay as they are while this value is in use.
    #[must_use]
    pub unsafe fn text(&self) -> Option<&str> {
        if self.first.is_null() {
            return None;
        }
        // SAFETY: as the caller promises.
        Some(unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.first, self.count)) })
    }
}

/// Bytes that the caller frees with `free`; null: none.
#[repr(C)]
pub struct Given {
    first: *mut u8,
    count: usize,
}

impl Given {
    /// No text.
    #[must_use]
    pub const fn none() -> Self {
        Self { first: std::ptr::null_mut(), count: 0 }
    }
}

impl From<String> for Given {
    fn from(text: String) -> Self {
        let bytes = text.into_bytes().into_boxed_slice();
        let count = bytes.len();
        Self { first: Box::into_raw(bytes).cast(), count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_text_is_none_and_an_empty_one_is_empty() {
        let missing = Borrowed::new(std::ptr::null(), 0);
        let empty = Borrowed::new("".as_ptr(), 0);
        let word = Borrowed::new("grüße".as_ptr(), "grüße".len());
        // SAFETY: each is null or a whole literal.
        let texts = unsafe { [missing.text(), empty.text(), word.text()] };
        assert_eq!(texts, [None, Some(""), Some("grüße")]);
    }

    #[test]
    fn bytes_that_are_taken_over_are_the_same() {
        let mut bytes = ManuallyDrop::new(b"abc".to_vec().into_boxed_slice());
        let list = Text { first: bytes.as_mut_ptr(), count: bytes.len() };
        // SAFETY: an allocation of that length, which is not freed here.
        assert_eq!(unsafe { list.own() }, b"abc");
        // SAFETY: no bytes.
        assert!(unsafe { Text::none().own() }.is_empty());
    }
}
