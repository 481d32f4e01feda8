//! A kept instance answers its thousandth call as its first, and keeps what it was told.

use dormouse::wasm::{Session, Settings, WasmProvider};
use dormouse::{ErrorCode, EvalRequest, Language, Outcome};
use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};

struct Kept {
    provider: WasmProvider,
    session: Session,
    language: Language,
}

impl Kept {
    fn new(language: &str) -> Self {
        let provider = Settings::new().and_then(WasmProvider::new).unwrap();
        let language = Language::parse(language).unwrap();
        let session = sandbox::wait(provider.session(&language)).unwrap();
        Self { provider, session, language }
    }

    fn call(&mut self, code: &str) -> Outcome {
        self.request(&EvalRequest::new(self.language.clone(), code)).unwrap()
    }

    fn request(&mut self, request: &EvalRequest) -> dormouse::Result<Outcome> {
        sandbox::wait(self.provider.continue_session(&mut self.session, request))
    }
}

#[test]
fn variables_functions_and_imports_last() {
    for (language, first, second) in [
        (PYTHON, "import math\nx = 20\ndef f(): return x + 1", "f() + math.floor(21.5)"),
        (
            JAVASCRIPT,
            "const path = require('path'); let x = 20; function f() { return x + 1 }",
            "f() + path.join('a', 'b').length + 18",
        ),
        (
            JAVASCRIPT,
            "import { join } from 'path'; export let x = 20; export default function f() { return x + 1 }",
            "f() + join('a', 'b').length + 18",
        ),
    ] {
        let mut kept = Kept::new(language);
        assert_ends(&kept.call(first), &["returned"]);
        assert_eq!(value(&kept.call(second))["value"], 42, "{language}");
    }
}

#[test]
fn the_thousandth_call_answers_like_the_first() {
    for (language, code) in [
        (PYTHON, "import json\nprint('out')\n[json.loads(json.dumps({'a': list(range(10))})), 'x' * 100]"),
        (
            JAVASCRIPT,
            "console.log('out'); [JSON.parse(JSON.stringify({ a: [...Array(10).keys()] })), 'x'.repeat(100)]",
        ),
    ] {
        let mut kept = Kept::new(language);
        let first = kept.call(code);
        for _ in 0..998 {
            kept.call(code);
        }
        let last = kept.call(code);
        assert_eq!(value(&last), value(&first), "{language}");
        assert_eq!((&last.stdout, &last.stderr), (&first.stdout, &first.stderr), "{language}");
        let grown = last.usage.memory_peak.saturating_sub(first.usage.memory_peak);
        assert!(grown <= 1 << 20, "{language} grew by {grown} bytes");
    }
}

#[test]
fn an_exception_leaves_the_session_alive_and_a_limit_ends_it() {
    for (language, set, fail, get, stop) in [
        (PYTHON, "x = 1", "1 / 0", "x", "while True: pass"),
        (JAVASCRIPT, "var x = 1", "throw new Error('no')", "x", "for(;;);"),
    ] {
        let mut kept = Kept::new(language);
        kept.call(set);
        assert!(kept.call(fail).exception().is_some());
        assert_eq!(value(&kept.call(get))["value"], 1, "{language}");
        let mut request = EvalRequest::new(kept.language.clone(), stop);
        request.context.limits.wall = std::time::Duration::from_millis(200);
        assert_ends(&kept.request(&request).unwrap(), &["limit_time"]);
        let gone = kept.request(&EvalRequest::new(kept.language.clone(), get)).unwrap_err();
        assert_eq!(gone.code(), ErrorCode::GuestTrap);
        assert!(gone.hint().is_some(), "{gone}");
    }
}

#[test]
fn what_one_call_leaves_undone_is_gone_at_the_next() {
    let mut kept = Kept::new(JAVASCRIPT);
    kept.call("setInterval(() => console.log('tick'), 1); throw new Error('early')");
    let next = kept.call("await new Promise(done => setTimeout(done, 20)); 1");
    assert_eq!((value(&next)["value"].clone(), next.stdout.text.as_str()), (serde_json::json!(1), ""));
    let mut kept = Kept::new(PYTHON);
    kept.call("import sys; sys.stdout.write('no newline'); 1 / 0");
    let next = kept.call("1");
    assert_eq!(next.stdout.text, "", "what a call printed belongs to it");
}

#[test]
fn who_listens_for_the_end_of_a_run_hears_of_that_run_alone() {
    let mut kept = Kept::new(JAVASCRIPT);
    let code = "process.on('exit', () => console.log('end')); process.on('uncaughtException', () => {}); 1";
    assert_eq!(kept.call(code).stdout.text, "end\n");
    let second = kept.call("throw new Error('second')");
    assert_eq!(second.stdout.text, "");
    assert_eq!(exception(&second).message, "second");
    assert_eq!(kept.call("process.on('exit', () => console.log('third'))").stdout.text, "third\n");
}

#[test]
fn a_program_that_leaves_in_the_middle_of_its_tasks_takes_no_later_run_along() {
    let mut kept = Kept::new(PYTHON);
    for leaves in [
        "import asyncio\nasync def leave(): raise SystemExit(4)\nasyncio.run(leave())",
        "task = asyncio.create_task(leave())\nawait task",
        "async def stop(): raise KeyboardInterrupt\nawait asyncio.gather(stop(), asyncio.sleep(9))",
    ] {
        kept.call(leaves);
        let next = kept.call("n = 1\nawait asyncio.sleep(0.001)\nn + 1");
        assert_eq!(value(&next)["value"], 2, "{leaves}");
        assert_eq!(next.stderr.text, "", "{leaves}");
    }
}
