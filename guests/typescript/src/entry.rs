//! The call of `wit/transpiler.wit`: the C side that its generator makes, as Rust, with the layout of the canonical ABI.

use std::mem::ManuallyDrop;

use swc_common::{GLOBALS, Globals};

use crate::choose::{Options, transpile};
use crate::refusal::Refusal;

/// A string: its first byte and how many there are.
#[repr(C)]
pub struct Text {
    first: *mut u8,
    count: usize,
}

impl Text {
    /// # Safety
    /// It is a string of the component model, which is UTF-8, and outlives the result.
    unsafe fn read<'a>(&self) -> &'a str {
        // SAFETY: as the caller promises.
        unsafe {
            let bytes = match self.count {
                0 => &[],
                count => std::slice::from_raw_parts(self.first, count),
            };
            std::str::from_utf8_unchecked(bytes)
        }
    }
}

#[repr(C)]
pub struct OptionalText {
    is_some: bool,
    value: Text,
}

#[repr(C)]
pub struct Choices {
    name: Text,
    configuration: OptionalText,
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
/// `source` and the strings of `options` are `cabi_realloc`'s and this call's to free; the others are places for one result
/// each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn exports_dormouse_typescript_transpiler_transpile(
    source: *mut Text,
    options: *mut Choices,
    code: *mut Text,
    refused: *mut Refused,
) -> bool {
    // SAFETY: as the caller promises. They are freed with the instance.
    let (source, options) = unsafe {
        let Choices { name, configuration } = &*options;
        let configuration = configuration.is_some.then(|| configuration.value.read());
        ((*source).read(), Options { name: name.read(), configuration })
    };
    match in_globals(source, &options) {
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

fn in_globals(source: &str, options: &Options<'_>) -> Result<String, Refusal> {
    let globals = ManuallyDrop::new(Globals::new());
    GLOBALS.set(&globals, || transpile(source, options))
}

/// Bytes for the generated code, which frees them with the C allocator; Rust's is the same on this target.
fn give(text: String) -> Text {
    let mut bytes = ManuallyDrop::new(text.into_bytes().into_boxed_slice());
    Text { first: bytes.as_mut_ptr(), count: bytes.len() }
}

/// Part of the initialisation: what the first call would set up is in the image then.
#[unsafe(no_mangle)]
pub extern "C" fn typescript_warm_up() {
    for source in [include_str!("warm_up.ts"), include_str!("warm_up.tsx"), "enum A { b }", "let x: = 1"] {
        drop(in_globals(source, &Options::default()));
    }
}
