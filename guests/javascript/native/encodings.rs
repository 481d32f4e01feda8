//! Text in the encodings of the web (the Encoding Standard), read piece by piece.

use encoding_rs::{Decoder, DecoderResult, Encoding};

use crate::border;

/// Bytes of input for which place is made at a time.
const PIECE: usize = 16 << 10;

/// A text that is being read.
pub struct Reading {
    decoder: Decoder,
    /// Whether bytes that are no text end it; else they become U+FFFD.
    fatal: bool,
}

fn encoding(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label)
}

/// The name of the encoding with this label, in the spelling of the standard; null: there is none.
///
/// # Safety
/// The caller lends the bytes, and a place for the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_encoding(label: *const u8, count: usize, length: *mut usize) -> *mut u8 {
    // SAFETY: as the caller promises.
    let label = unsafe { border::bytes(label, count) };
    let name = encoding(label).map(|found| found.name().to_ascii_lowercase().into_bytes());
    // SAFETY: as the caller promises.
    unsafe { border::give_bytes(name, length) }
}

/// Begins to read a text of the encoding with this label; null: there is none. `keeps_mark`: a byte order mark is a part of the text.
///
/// # Safety
/// The caller lends the bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_reading_begin(label: *const u8, count: usize, fatal: bool, keeps_mark: bool) -> *mut Reading {
    // SAFETY: as the caller promises.
    let found = encoding(unsafe { border::bytes(label, count) });
    border::give(found.map(|found| {
        let decoder =
            if keeps_mark { found.new_decoder_without_bom_handling() } else { found.new_decoder_with_bom_removal() };
        Reading { decoder, fatal }
    }))
}

/// The text of further bytes as UTF-8; null: they are no text. After the last ones it can only be ended.
///
/// # Safety
/// `reading` came from [`native_reading_begin`]; the caller lends the bytes, and a place for the length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_read(
    reading: *mut Reading,
    first: *const u8,
    count: usize,
    last: bool,
    length: *mut usize,
) -> *mut u8 {
    // SAFETY: as the caller promises.
    let (reading, bytes) = unsafe { (&mut *reading, border::bytes(first, count)) };
    // SAFETY: as the caller promises.
    unsafe { border::give_bytes(reading.text(bytes, last).map(String::into_bytes), length) }
}

/// Ends it.
///
/// # Safety
/// `reading` came from [`native_reading_begin`], and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn native_reading_end(reading: *mut Reading) {
    // SAFETY: as the caller promises.
    unsafe { border::end(reading) }
}

impl Reading {
    fn text(&mut self, bytes: &[u8], last: bool) -> Option<String> {
        let mut text = String::new();
        let mut pieces = bytes.chunks(PIECE).peekable();
        if pieces.peek().is_none() {
            return self.add(&[], last, &mut text).then_some(text);
        }
        while let Some(piece) = pieces.next() {
            let is_last = last && pieces.peek().is_none();
            if !self.add(piece, is_last, &mut text) {
                return None;
            }
        }
        Some(text)
    }

    /// False: the piece is no text.
    fn add(&mut self, mut piece: &[u8], last: bool, text: &mut String) -> bool {
        loop {
            let room = self.decoder.max_utf8_buffer_length(piece.len()).unwrap_or(4 * piece.len() + 16);
            text.reserve(room);
            let (done, used) = if self.fatal {
                let (result, used) = self.decoder.decode_to_string_without_replacement(piece, text, last);
                if matches!(result, DecoderResult::Malformed(..)) {
                    return false;
                }
                (result == DecoderResult::InputEmpty, used)
            } else {
                let (result, used, _) = self.decoder.decode_to_string(piece, text, last);
                (result == encoding_rs::CoderResult::InputEmpty, used)
            };
            if done {
                return true;
            }
            piece = &piece[used..];
        }
    }
}
