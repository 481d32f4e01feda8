//! What `interpreter.c` calls. All state is one session, made while the image is built.

use std::cell::RefCell;

use crate::session::{Begin, Session};
use crate::variables;

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// Bytes of the caller's, for as long as a call lasts; null: none.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Borrowed {
    first: *const u8,
    count: usize,
}

impl Borrowed {
    fn text(&self) -> Option<&str> {
        if self.first.is_null() {
            return None;
        }
        // SAFETY: the canonical ABI hands over `count` bytes of valid UTF-8, and the caller keeps them until it has its answer.
        Some(unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.first, self.count)) })
    }
}

/// Bytes that the caller frees with `free`.
#[repr(C)]
pub struct Given {
    first: *mut u8,
    count: usize,
}

fn give(text: String) -> Given {
    let bytes = text.into_bytes().into_boxed_slice();
    let count = bytes.len();
    Given { first: Box::into_raw(bytes).cast(), count }
}

fn with<T>(work: impl FnOnce(&mut Session) -> T) -> T {
    SESSION.with_borrow_mut(|session| work(session.get_or_insert_with(Session::new)))
}

/// Makes the session.
#[unsafe(no_mangle)]
pub extern "C" fn shell_start() {
    with(|_| ());
}

/// Lets the shell draw another seed for `$RANDOM`, unless a script has set it.
#[unsafe(no_mangle)]
pub extern "C" fn shell_reseed() {
    bashkit::forget_random_seeds();
}

/// Runs a command line; the answer is its exit status.
#[unsafe(no_mangle)]
pub extern "C" fn shell_run(source: Borrowed, directory: Borrowed, refresh_environment: bool) -> i32 {
    let begin = Begin { directory: directory.text(), refresh_environment };
    with(|session| session.run(source.text().unwrap_or_default(), begin))
}

/// The value of a variable as the JSON text of a typed value; null: there is no such variable.
#[unsafe(no_mangle)]
pub extern "C" fn shell_get(name: Borrowed) -> Given {
    let value = with(|session| variables::get(session, name.text().unwrap_or_default()));
    value.map_or(Given { first: std::ptr::null_mut(), count: 0 }, give)
}

/// Sets an exported variable from JSON text; false: it is neither a string nor a number, or has no fitting name.
#[unsafe(no_mangle)]
pub extern "C" fn shell_set(name: Borrowed, json: Borrowed) -> bool {
    with(|session| variables::set(session, name.text().unwrap_or_default(), json.text().unwrap_or_default()))
}

/// The variables as JSON text, as `wit/interpreter.wit` says.
#[unsafe(no_mangle)]
pub extern "C" fn shell_variables() -> Given {
    give(with(|session| variables::list(session)))
}

/// A new session.
#[unsafe(no_mangle)]
pub extern "C" fn shell_reset() {
    SESSION.set(None);
}
