//! The targets under libFuzzer, in a build that counts coverage: `cargo xtask fuzz` makes and starts it. The variable
//! `DORMOUSE_FUZZ_TARGET` names the target, `DORMOUSE_FUZZ_SEEDS` a folder that its seeds are written into at the start, and
//! `DORMOUSE_FUZZ_WORDS` a file that its words are written into, as libFuzzer reads them.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use dormouse_tests_fuzz::{Target, target};

static CHOSEN: OnceLock<&'static Target> = OnceLock::new();

fn chosen() -> &'static Target {
    CHOSEN.get_or_init(|| {
        let name = std::env::var("DORMOUSE_FUZZ_TARGET").expect("DORMOUSE_FUZZ_TARGET names the target");
        target(&name).expect("there is such a target")
    })
}

/// Runs before libFuzzer reads its arguments, and so before it reads what is written here.
fn prepare() {
    let path = |variable| std::env::var_os(variable).map(PathBuf::from);
    if let Some(folder) = path("DORMOUSE_FUZZ_SEEDS") {
        for (number, seed) in (chosen().seeds)().into_iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed).expect("the folder can be written");
        }
    }
    if let Some(file) = path("DORMOUSE_FUZZ_WORDS") {
        let escaped = |word: &str| word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
        let lines: String = chosen().words.iter().map(|word| format!("\"{}\"\n", escaped(word))).collect();
        fs::write(file, lines).expect("the file can be written");
    }
}

libfuzzer_sys::fuzz_target!(init: prepare(), |input: &[u8]| {
    chosen().check(input);
});
