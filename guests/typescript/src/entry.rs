//! The call of `wit/transpiler.wit`: the C side that its generator makes, as Rust, with the layout of the canonical ABI.

use std::mem::ManuallyDrop;

use swc_common::{GLOBALS, Globals};

use crate::compile::compile;
use crate::refusal::Refusal;
use crate::strip::{Stripped, strip};

/// A string: its first byte and how many there are.
#[repr(C)]
pub struct Text {
    first: *mut u8,
    count: usize,
}

#[repr(C)]
pub struct Place {
    line: u32,
    column: u32,
}

#[repr(C)]
pub struct OptionalPlace {
    is_some: bool,
    value: Place,
}

#[repr(C)]
pub struct Refused {
    message: Text,
    place: OptionalPlace,
}

/// True: there is code. False: there is a refusal.
///
/// # Safety
/// `source` is a string of `cabi_realloc`'s that is this call's to free; the others are places for one result each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn exports_dormouse_typescript_transpiler_transpile(
    source: *mut Text,
    code: *mut Text,
    refused: *mut Refused,
) -> bool {
    // SAFETY: as the caller promises; a string of the component model is UTF-8. It is freed with the instance.
    let source = unsafe {
        let Text { first, count } = *source;
        let bytes = if count == 0 { &[] } else { std::slice::from_raw_parts(first, count) };
        std::str::from_utf8_unchecked(bytes)
    };
    match transpile(source) {
        // SAFETY: as the caller promises.
        Ok(text) => unsafe {
            code.write(give(text));
            true
        },
        Err(Refusal { message, place }) => {
            let (line, column) = place.unwrap_or_default();
            let place = OptionalPlace { is_some: place.is_some(), value: Place { line, column } };
            // SAFETY: as the caller promises.
            unsafe { refused.write(Refused { message: give(message), place }) };
            false
        }
    }
}

fn transpile(source: &str) -> Result<String, Refusal> {
    let globals = ManuallyDrop::new(Globals::new());
    GLOBALS.set(&globals, || match strip(source) {
        Stripped::Code(code) => Ok(code),
        Stripped::Compile => compile(source),
        Stripped::Refused(refusal) => Err(refusal),
    })
}

/// Bytes for the generated code, which frees them with the C allocator; Rust's is the same on this target.
fn give(text: String) -> Text {
    let mut bytes = ManuallyDrop::new(text.into_bytes().into_boxed_slice());
    Text { first: bytes.as_mut_ptr(), count: bytes.len() }
}

/// Part of the initialisation: what the first call would set up is in the image then.
#[unsafe(no_mangle)]
pub extern "C" fn typescript_warm_up() {
    for source in [include_str!("warm_up.ts"), "enum A { b }", "let x: = 1"] {
        drop(transpile(source));
    }
}
