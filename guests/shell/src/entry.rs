//! What `interpreter.c` calls. All state is one session, made while the image is built.

use std::cell::RefCell;

use dormouse_contract::export_shell;
use dormouse_contract::heap::Counted;
use dormouse_contract::shell::Shell;

use crate::session::{Begin, Session};
use crate::variables;

#[global_allocator]
static HEAP: Counted = Counted;

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

fn with<T>(work: impl FnOnce(&mut Session) -> T) -> T {
    SESSION.with_borrow_mut(|session| work(session.get_or_insert_with(Session::new)))
}

/// The one session.
struct Entry;

impl Shell for Entry {
    fn start() {
        with(|_| ());
    }

    fn reseed() {
        bashkit::forget_random_seeds();
    }

    fn run(source: &str, directory: Option<&str>, refresh_environment: bool) -> i32 {
        let begin = Begin { directory, refresh_environment };
        with(|session| session.run(source, &begin))
    }

    fn get(name: &str) -> Option<String> {
        with(|session| variables::get(session, name))
    }

    fn set(name: &str, json: &str) -> bool {
        with(|session| variables::set(session, name, json))
    }

    fn variables() -> String {
        with(|session| variables::list(session))
    }

    fn reset() {
        SESSION.set(None);
    }
}

export_shell!(Entry);
