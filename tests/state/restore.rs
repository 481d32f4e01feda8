//! The other process: restores a checkpoint and runs the snippets of its standard input, one NUL-ended text each. Prints the
//! answers, one line of JSON each.

use std::io::{Read as _, Write as _};

use dormouse::wasm::{SavedInterpreter, Settings, WasmProvider};
use dormouse::{EvalRequest, LineRequest};

fn main() {
    let path = std::env::args().nth(1).expect("the file of a checkpoint");
    let bytes = std::fs::read(path).expect("the file can be read");
    let mut snippets = String::new();
    std::io::stdin().read_to_string(&mut snippets).expect("standard input is text");
    let checkpoint = SavedInterpreter::from_bytes(&bytes).expect("it is a checkpoint");
    let provider = Settings::new().and_then(WasmProvider::new).expect("a provider");
    let mut out = std::io::stdout().lock();
    dormouse_tests::sandbox::wait(async {
        let mut session = provider.restore(&checkpoint).await.expect("it can be restored");
        for code in snippets.split_terminator('\0') {
            let ran = match checkpoint.guest().language() {
                Some(language) => {
                    let request = EvalRequest::new(language.clone(), code);
                    provider.continue_session(&mut session, &request).await
                }
                None => provider.continue_line(&mut session, &LineRequest::new(code)).await,
            };
            let outcome = ran.expect("it runs");
            let answer = dormouse_tests::ending::answer(&outcome);
            writeln!(out, "{}", dormouse_tests::golden::steady(answer)).expect("standard output is open");
        }
    });
}
