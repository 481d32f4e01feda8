//! Which program serves a language. The interpreter gets it as one argument, so nothing has to lie in the container.

use dormouse_core::Language;
use serde_json::{Map, Value as Json};

/// The parts of the Wasm guest that the Python interpreter shares: they are one encoder, whichever the provider.
const PYTHON_SHARED: &[(&str, &str)] = &[
    ("_dormouse", include_str!("../../../../guests/python/boot/_dormouse/__init__.py")),
    ("_dormouse.text", include_str!("../../../../guests/python/boot/_dormouse/text.py")),
    ("_dormouse.values", include_str!("../../../../guests/python/boot/_dormouse/values.py")),
    ("_dormouse.errors", include_str!("../../../../guests/python/boot/_dormouse/errors.py")),
    ("_dormouse.packages", include_str!("../../../../guests/python/boot/_dormouse/packages.py")),
    ("_dormouse.world", include_str!("../../../../guests/python/boot/_dormouse/world.py")),
    ("_dormouse.waiting", include_str!("../../../../guests/python/boot/_dormouse/waiting.py")),
    ("dormouse", include_str!("../../../../guests/python/boot/dormouse.py")),
    ("_dormouse.session", include_str!("../../../../guests/python/boot/_dormouse/session.py")),
    ("_dormouse.kept", include_str!("../../interpreters/python/kept.py")),
];
const PYTHON: [&str; 2] = [
    include_str!("../../interpreters/python/relay.py"),
    include_str!("../../interpreters/python/interpreter.py"),
];

/// The body of one function, in the order in which the parts need each other.
const JAVASCRIPT: [&str; 7] = [
    include_str!("../../interpreters/javascript/taken.js"),
    include_str!("../../interpreters/javascript/describe.js"),
    include_str!("../../interpreters/javascript/encode.js"),
    include_str!("../../interpreters/javascript/raise.js"),
    include_str!("../../interpreters/javascript/channel.js"),
    include_str!("../../interpreters/javascript/run.js"),
    include_str!("../../interpreters/javascript/variables.js"),
];
const JAVASCRIPT_RELAY: &str = include_str!("../../interpreters/javascript/relay.js");

const PHP: [&str; 6] = [
    include_str!("../../interpreters/php/describe.php"),
    include_str!("../../interpreters/php/encode.php"),
    include_str!("../../interpreters/php/raise.php"),
    include_str!("../../interpreters/php/snippet.php"),
    include_str!("../../interpreters/php/tools.php"),
    include_str!("../../interpreters/php/interpreter.php"),
];
const PHP_RELAY: &str = include_str!("../../interpreters/php/relay.php");

/// The argument vector of a language's interpreter; none when interpreters do not serve it. The program is looked up in the
/// container's `PATH`.
pub fn argv(language: &Language) -> Option<Vec<String>> {
    match language.as_str() {
        "python" => Some(python()),
        "javascript" => Some(javascript()),
        "php" => Some(php()),
        _ => None,
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn python() -> Vec<String> {
    let shared: Map<String, Json> =
        PYTHON_SHARED.iter().map(|(name, source)| ((*name).to_owned(), Json::from(*source))).collect();
    // JSON text of texts is a Python literal too. The names of `-c` are the snippets' own, so the interpreter gets others.
    let source = format!(
        "exec(compile({}, '/<dormouse>/kernel.py', 'exec'), {{'__name__': '_dormouse_kernel', 'SHARED': {}}})",
        Json::from(PYTHON.join("\n\n")),
        Json::from(shared),
    );
    words(["python3", "-I", "-B", "-u", "-X", "utf8", "-c", &source])
}

fn javascript() -> Vec<String> {
    let source = format!("(function (require) {{ 'use strict';\n{}\n}})", JAVASCRIPT.join("\n"));
    words(["node", "-e", JAVASCRIPT_RELAY, "--", &source])
}

fn php() -> Vec<String> {
    // `-r` takes code without its tag.
    let untagged = |source: &str| source.strip_prefix("<?php").unwrap_or(source).to_owned();
    let source = PHP.map(untagged).join("\n");
    words(["php", "-r", &untagged(PHP_RELAY), "--", &source])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux takes at most 128 KiB in one argument.
    #[test]
    fn every_program_fits_an_argument() {
        for language in [Language::python(), Language::javascript(), Language::php()] {
            let words = argv(&language).unwrap();
            assert!(words.iter().all(|word| word.len() < 100_000 && !word.contains('\0')), "{language}");
        }
        assert!(argv(&Language::parse("cobol").unwrap()).is_none());
    }
}
