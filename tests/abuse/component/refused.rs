//! What is refused before it runs.

use super::*;

#[test]
fn cmp_01_what_is_no_program_is_refused_with_a_reason() {
    case(&[], || {
        let whole = wasm(&module("", ""));
        bad(Vec::new(), "");
        bad(b"hello, world".to_vec(), "");
        bad(b"(module)".to_vec(), "");
        bad(b"\x7fELF\x02\x01\x01".to_vec(), "");
        bad(b"\0asm".to_vec(), "");
        bad(b"\0asm\xff\xff\xff\xff".to_vec(), "");
        bad(whole[..whole.len() / 2].to_vec(), "");
        for at in (8..whole.len()).step_by(7) {
            let mut broken = whole.clone();
            broken[at] ^= 0xff;
            if let Err(error) = run_command(program(broken)) {
                assert_eq!(error.code(), ErrorCode::BadComponent, "flipped at {at}: {error}");
            }
        }
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = b"\0asm\x01\0\0\0".to_vec();
        random.extend((0..100_000).map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed.to_le_bytes()[7]
        }));
        bad(random, "");
    });
}

#[test]
fn cmp_01_what_is_missing_or_unknown_is_named() {
    case(&[], || {
        bad(wasm("(module)"), "");
        bad(wasm(r#"(module (memory (export "memory") 1))"#), "");
        bad(
            wasm(
                r#"(module (import "env" "evil" (func)) (memory (export "memory") 1) (func (export "_start")))"#,
            ),
            "env",
        );
        bad(
            wasm(
                r#"(module (import "wasi_snapshot_preview1" "evil" (func)) (memory (export "memory") 1) (func (export "_start")))"#,
            ),
            "evil",
        );
        bad(wasm("(component)"), "wasi:cli/run");
        bad(
            wasm(r#"(component (import "own:thing/evil@1.0.0" (instance (export "f" (func)))))"#),
            "own:thing/evil",
        );
        bad(wasm(r#"(component (import "evil" (func)))"#), "evil");
    });
}

#[test]
fn cmp_01_a_program_that_is_too_large_is_refused_unread() {
    case(&[], || {
        let error = refusal(vec![0; CommandRequest::MAX_WASM + 1]);
        assert_eq!(error.code(), ErrorCode::TooLarge);
        assert!(error.message().contains(&CommandRequest::MAX_WASM.to_string()), "{error}");
        bad(vec![0; CommandRequest::MAX_WASM], "");
    });
}

#[test]
fn cmp_02_programs_that_take_for_ever_to_compile_are_refused_by_size_and_count() {
    case(&[], || {
        let many = format!(
            "(module (memory (export \"memory\") 1) {} (func (export \"_start\")))",
            "(func)".repeat(250_001)
        );
        bad(wasm(&many), "250002 functions");
        let long = module("", &"(drop (i32.const 1))".repeat(400_000));
        bad(wasm(&long), "bytes, at most");
        let nested = module("", &format!("{}{}", "(block ".repeat(600_000), ")".repeat(600_000)));
        bad(wasm(&nested), "bytes, at most");
    });
}

#[test]
fn cmp_02_what_lies_within_the_caps_compiles_or_is_refused_and_the_host_lives() {
    case(&[], || {
        let locals = module("", &format!("(local {})", "i32 ".repeat(50_000)));
        let branches = module("", &format!("(block (br_table {} (i32.const 0)))", "0 ".repeat(100_000)));
        let nested = module("", &format!("{}{}", "(block ".repeat(100_000), ")".repeat(100_000)));
        let ifs =
            module("", &format!("{}{}", "(if (i32.const 1) (then ".repeat(20_000), "))".repeat(20_000)));
        let types = format!(
            "(module {} (memory (export \"memory\") 1) (func (export \"_start\")))",
            "(type (func (param i32) (result i64)))".repeat(100_000)
        );
        let deep: String = (1..2_000).fold("(type $t0 (list u8))".to_owned(), |text, n| {
            format!("{text} (type $t{n} (tuple $t{0} $t{0}))", n - 1)
        });
        for text in [locals, branches, nested, ifs, types, format!("(component {deep})")] {
            let begin = Instant::now();
            match run_command(program(wasm(&text))) {
                Err(error) => assert_eq!(error.code(), ErrorCode::BadComponent, "{error}"),
                Ok(outcome) => assert_ends(&outcome, &["exited 0"]),
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?} for {}", begin.elapsed(), &text[..60]);
        }
    });
}

#[test]
fn cmp_07_stores_are_no_imports_and_of_http_only_its_own_functions() {
    case(&[], || {
        for name in [
            "wasi:http/outgoing-handler@0.2.0",
            "wasi:http/types@0.2.0",
            "wasi:keyvalue/store@0.2.0",
            "wasi:blobstore/blobstore@0.2.0",
            "dormouse:sandbox/admin@0.1.0",
        ] {
            let text = format!(r#"(component (import "{name}" (instance (export "handle" (func)))))"#);
            bad(wasm(&text), name.split('@').next().unwrap_or(name));
            bad(wasm(&text), name.split('@').next().unwrap_or(name));
        }
    });
}
