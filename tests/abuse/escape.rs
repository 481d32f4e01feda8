//! Escape by tricks of the language: it stays inside the guest, or ends it, and the host sees nothing of it.

mod javascript;
mod php;
mod python;

use dormouse_tests::attack::Attack;
use dormouse_tests::case::case;
use dormouse_tests::ending::{answer, assert_ends, ending, exception, told, value};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, canary, sandbox};
use serde_json::json;

/// Endings of code that does whatever it wants with its own interpreter.
const CONTAINED: [&str; 7] =
    ["returned", "raised", "exited 0", "guest_trap", "limit_time", "limit_memory", "limit_stack"];

/// No value of the host's own environment, user or host name stands in the text.
fn nothing_of_the_host(text: &str) {
    for name in ["HOME", "PWD", "PATH", "CARGO_MANIFEST_DIR"] {
        if let Ok(value) = std::env::var(name)
            && value.len() > 2
        {
            assert!(!text.contains(&value), "{name} of the host is seen: {text}");
        }
    }
    if let Ok(host) = std::fs::read_to_string("/proc/sys/kernel/hostname")
        && host.trim().len() > 3
    {
        assert!(!text.contains(host.trim()), "the host's name is seen: {text}");
    }
}
