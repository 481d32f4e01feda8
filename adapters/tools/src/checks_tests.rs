//! Checks and the profile `codegen`, over a shell that only pretends: what is found, told, bounded and refused.

use super::kept::Desk;
use super::*;

fn desk(files: &[(&str, &str)]) -> Desk {
    let desk = Desk::new(Profile::Sandbox);
    desk.ok("sandbox_create", json!({"name": "a"}));
    for (path, content) in files {
        desk.ok("sandbox_write", json!({"sandbox": "a", "path": path, "content": content}));
    }
    desk
}

fn result(tests: &Json, failures: &Json, complete: bool) -> String {
    json!({"complete": complete, "tool": "unittest", "notes": ["a note"], "tests": tests, "failures": failures}).to_string()
}

fn counts(passed: u64, failed: u64) -> Json {
    json!({"total": passed + failed, "passed": passed, "failed": failed, "errors": 0, "skipped": 0})
}

#[test]
fn s0_32_tests_that_fail_are_an_error_with_structured_failures() {
    let failure = json!({"name": "test_a.py::test_x", "file": "/workspace/test_a.py", "line": 3, "message": "assert 1 == 2"});
    let answer = result(&counts(1, 1), &json!([failure]), true);
    let desk = desk(&[("/workspace/test_a.py", "x"), ("/answer", &answer)]);
    let reply = desk.call("run_tests", json!({"sandbox": "a"}));
    let told = &reply.structured;
    assert!(reply.is_error && told["error"].is_null());
    assert_eq!(
        (&told["passed"], &told["tool"], &told["tests"]),
        (&json!(false), &json!("unittest"), &counts(1, 1))
    );
    assert_eq!((&told["failures"], &told["stdout"]), (&json!([failure]), &json!("noise\n")));
    assert_eq!(told["summary"], "2 tests: 1 passed, 1 failed (unittest); a note");
    assert!(
        reply.text.contains("test_a.py::test_x (/workspace/test_a.py:3)\n  assert 1 == 2"),
        "{}",
        reply.text
    );
    let left = desk.ok("sandbox_files", json!({"sandbox": "a", "path": "/tmp"}));
    assert_eq!(left["total"], 0, "the files of a check are removed");

    desk.ok(
        "sandbox_write",
        json!({"sandbox": "a", "path": "/answer", "content": result(&counts(2, 0), &json!([]), true)}),
    );
    let reply = desk.call("run_tests", json!({"sandbox": "a", "path": "/workspace/test_a.py"}));
    assert!(!reply.is_error && reply.structured["passed"] == true, "{}", reply.text);
}

#[test]
fn what_does_not_come_to_an_end_has_not_passed() {
    let ended_early = result(&counts(2, 0), &json!([]), false);
    let none = result(&counts(0, 0), &json!([]), true);
    for (answer, part) in [
        (ended_early.as_str(), "ended before all tests were done"),
        (&none, "no tests found"),
        ("{\"complete\": true}", "without a result"),
        ("not JSON", "without a result"),
    ] {
        let desk = desk(&[("/workspace/test_a.py", "x"), ("/answer", answer)]);
        let reply = desk.call("run_tests", json!({"sandbox": "a"}));
        assert!(reply.is_error && reply.structured["passed"] == false);
        assert!(reply.structured["summary"].as_str().unwrap().contains(part), "{}", reply.text);
    }
    let empty = desk(&[("/workspace/a.py", "x")]).call("run_tests", json!({"sandbox": "a"}));
    assert!(empty.is_error && empty.structured["error"].is_null());
    assert_eq!((&empty.structured["tool"], &empty.structured["tests"]["total"]), (&json!("none"), &json!(0)));
}

#[test]
fn a_result_is_bounded_whatever_the_sandbox_writes() {
    let failure =
        json!({"name": "\u{1}".repeat(9_000), "file": null, "line": null, "message": "\u{1}".repeat(9_000)});
    let failures: Json = vec![failure; 8].into();
    let desk = desk(&[("/workspace/test_a.py", "x"), ("/answer", &result(&counts(0, 8), &failures, true))]);
    let reply = desk.call("run_tests", json!({"sandbox": "a"}));
    assert!(reply.structured.to_string().len() < 128 << 10, "{}", reply.structured.to_string().len());
    assert!(!reply.structured["failures"].as_array().unwrap().is_empty());
}

#[test]
fn what_nobody_can_check_is_refused_with_what_would() {
    let desk = desk(&[("/workspace/a.ts", "x"), ("/workspace/node_modules/b.py", "x")]);
    let types = desk.call("run_typecheck", json!({"sandbox": "a"}));
    assert_eq!(types.structured["error"]["code"], "capability_unavailable");
    assert!(types.text.contains("npm install typescript@5"), "{}", types.text);
    assert!(types.text.contains("turn them on with `--packages`"), "{}", types.text);
    assert_eq!(desk.code("run_lint", json!({"sandbox": "a"})), "not_found");
    desk.ok("sandbox_write", json!({"sandbox": "a", "path": "/workspace/a.py", "content": "x"}));
    let lint = desk.call("run_lint", json!({"sandbox": "a"}));
    assert!(lint.text.contains("TypeScript files are not checked"), "{}", lint.text);
    let missing = json!({"complete": true, "tool": "mypy", "missing": "mypy", "failures": []}).to_string();
    desk.ok("sandbox_write", json!({"sandbox": "a", "path": "/answer", "content": missing}));
    let types = desk.call("run_typecheck", json!({"sandbox": "a", "language": "python"}));
    assert_eq!(types.structured["error"]["code"], "capability_unavailable");
    assert_eq!(desk.code("run_tests", json!({"sandbox": "a", "language": "cobol"})), "args_invalid");
    assert_eq!(desk.code("run_tests", json!({"sandbox": "a", "path": "../x"})), "args_invalid");
    desk.ok("sandbox_write", json!({"sandbox": "a", "path": "/workspace/ATest.php", "content": "x"}));
    let types = desk.call("run_tests", json!({"sandbox": "a", "path": "/workspace/a.ts"}));
    assert!(types.is_error && types.text.contains("TypeScript are not run"), "{}", types.text);
    let php = desk.call("run_tests", json!({"sandbox": "a"}));
    assert!(php.is_error && php.text.contains("phpunit is not installed"), "{}", php.text);
}

/// S0-38: the tools of the seed, in one sandbox that the first call makes.
#[test]
fn codegen_reads_edits_runs_and_tests_in_one_sandbox() {
    let desk = Desk::new(Profile::Codegen);
    let names: Vec<_> = desk.surface.list().iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["Bash", "Edit", "Read", "run_lint", "run_tests", "run_typecheck"]);
    assert_eq!(desk.provider.woken(), 0);
    let text = |name: &str, arguments: Json| desk.call(name, arguments).text;
    let make = json!({"file_path": "a.py", "old_string": "", "new_string": "one\ntwo\ntwo\n"});
    assert_eq!(text("Edit", make.clone()), "Made /workspace/a.py");
    assert_eq!(desk.code("Edit", make), "args_invalid");
    assert_eq!(text("Read", json!({"path": "/workspace/a.py"})), "     1\tone\n     2\ttwo\n     3\ttwo\n");
    let part = desk.ok("Read", json!({"file_path": "a.py", "offset": 2, "limit": 1}));
    assert_eq!((&part["content"], &part["next_line"]), (&json!("     2\ttwo\n"), &json!(3)));
    let two = json!({"file_path": "a.py", "old_string": "two", "new_string": "2"});
    assert_eq!(desk.code("Edit", two), "args_invalid");
    let all = json!({"file_path": "a.py", "old_string": "two", "new_string": "2", "replace_all": true});
    assert_eq!(text("Edit", all), "Edited /workspace/a.py in 2 places");
    assert_eq!(text("Bash", json!({"command": "echo hi"})), "hi\nexit code: 0");
    let failed = desk.call("Bash", json!({"command": "exit 3"}));
    assert_eq!((failed.is_error, failed.text.as_str()), (false, "exit code: 3"));
    assert!(desk.call("Bash", json!({"command": "stop"})).is_error);
    assert!(desk.call("run_tests", json!({})).text.starts_with("Error: no tests found"));
    for arguments in [json!({}), json!({"file_path": "a", "path": "a"}), json!({"file_path": "../a"})] {
        assert_eq!(desk.code("Read", arguments), "args_invalid");
    }
    assert_eq!(desk.code("Read", json!({"file_path": "none"})), "not_found");
}

#[test]
fn the_longest_answer_of_read_fits() {
    let desk = Desk::new(Profile::Codegen);
    let text = "\n".repeat(70_000);
    desk.ok("Edit", json!({"file_path": "a", "old_string": "", "new_string": text}));
    let read = desk.ok("Read", json!({"file_path": "a", "limit": 5_000}));
    assert_eq!((&read["lines"], &read["next_line"]), (&json!(5_000), &json!(5_001)));
    desk.ok("Edit", json!({"file_path": "b", "old_string": "", "new_string": "x".repeat(1 << 20)}));
    assert!(desk.call("Read", json!({"file_path": "b"})).text.len() < 3_000);
}
