//! What is refused before it runs.

use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

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

/// A sandbox with a cache of its own, in which a program has left its artifact.
fn with_artifact() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    sandbox::wait(with_cache(folder.path()).command(program(wasm(&module("", ""))))).expect("it runs");
    let artifacts = folder.path().join("programs");
    let artifact = fs::read_dir(&artifacts).expect("it is there").flatten().map(|entry| entry.path()).next();
    (folder, artifact.expect("an artifact was made"))
}

fn with_cache(folder: &std::path::Path) -> Dormouse {
    let allocation = dormouse::wasm::Allocation::OnDemand;
    Dormouse::builder()
        .and_then(|builder| builder.cache(folder).allocation(allocation).build())
        .expect("a sandbox")
}

#[test]
fn cmp_06_machine_code_is_never_taken_for_a_program() {
    case(&[], || {
        let (_folder, artifact) = with_artifact();
        bad(fs::read(artifact).expect("it can be read"), "");
    });
}

#[test]
fn cmp_06_an_artifact_that_others_can_write_is_refused() {
    case(&[], || {
        let again = |folder: &std::path::Path| {
            sandbox::wait(with_cache(folder).command(program(wasm(&module("", "")))))
        };
        let mode = |mode| fs::Permissions::from_mode(mode);
        let (folder, artifact) = with_artifact();
        assert_ends(&again(folder.path()).expect("a private artifact is used"), &["exited 0"]);

        fs::set_permissions(&artifact, mode(0o666)).expect("a mode can be set");
        let error = again(folder.path()).expect_err("others can write the file");
        assert!(error.message().contains("others can write"), "{error}");
        assert!(error.hint().is_some());
        fs::set_permissions(&artifact, mode(0o600)).expect("a mode can be set");

        fs::set_permissions(folder.path().join("programs"), mode(0o777)).expect("a mode can be set");
        assert!(again(folder.path()).is_err(), "others can write the folder");
        fs::set_permissions(folder.path().join("programs"), mode(0o700)).expect("a mode can be set");

        let moved = folder.path().join("moved");
        fs::rename(&artifact, &moved).expect("it can be moved");
        symlink(&moved, &artifact).expect("a link can be made");
        assert!(again(folder.path()).is_err(), "a link is no artifact");
        fs::remove_file(&artifact).expect("it can be removed");

        // A damaged one of our own is made anew.
        fs::write(&artifact, &fs::read(&moved).expect("it can be read")[..100]).expect("it can be written");
        fs::set_permissions(&artifact, mode(0o600)).expect("a mode can be set");
        assert_ends(&again(folder.path()).expect("it is made anew"), &["exited 0"]);
    });
}

#[test]
fn cmp_07_http_and_stores_are_no_imports_here() {
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
