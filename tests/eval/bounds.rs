//! How much of a value is shown (S1-14 to S1-17): at each bound, one below and one above.

use dormouse::{Bounds, EvalRequest};
use dormouse_tests::ending::{exception, value};
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};
use serde_json::{Value as Json, json};

fn with(language: &str, code: &str, change: impl FnOnce(&mut EvalRequest)) -> Json {
    let mut request = sandbox::request(language, code);
    change(&mut request);
    value(&sandbox::run_request(request))
}

fn bounded(language: &str, code: &str, bounds: Bounds) -> Json {
    with(language, code, |request| request.context.bounds = bounds)
}

#[test]
fn fifty_items_are_shown_and_the_rest_is_counted() {
    for (language, code) in
        [(PYTHON, "list(range(COUNT))"), (JAVASCRIPT, "Array.from({ length: COUNT }, (_, i) => i)")]
    {
        for (count, cut) in [(49, false), (50, false), (51, true), (1_000, true)] {
            let found = sandbox::value_of(language, &code.replace("COUNT", &count.to_string()));
            assert_eq!(found["count"], count, "{language}");
            assert_eq!(found["value"].as_array().map(Vec::len), Some(count.min(50)), "{language}");
            assert_eq!(found["truncated"], if cut { json!(true) } else { Json::Null }, "{language} {count}");
        }
    }
}

#[test]
fn dictionaries_sets_and_maps_are_cut_alike() {
    for (language, code, list) in [
        (PYTHON, "{str(i): i for i in range(60)}", "value"),
        (PYTHON, "{i: i for i in range(60)}", "entries"),
        (JAVASCRIPT, "Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`k${i}`, i]))", "value"),
        (JAVASCRIPT, "new Map(Array.from({ length: 60 }, (_, i) => [i, i]))", "entries"),
    ] {
        let found = sandbox::value_of(language, code);
        let shown =
            found[list].as_array().map(Vec::len).or_else(|| found[list].as_object().map(|map| map.len()));
        assert_eq!(
            (shown, &found["count"], &found["truncated"]),
            (Some(50), &json!(60), &json!(true)),
            "{code}"
        );
    }
    for (language, code) in [(PYTHON, "set(range(60))"), (JAVASCRIPT, "new Set(Array(60).keys())")] {
        let found = sandbox::value_of(language, code);
        assert_eq!(found["preview"].as_array().map(Vec::len), Some(50));
        assert_eq!((&found["exhausted"], &found["size_hint"]), (&json!(false), &json!(60)), "{code}");
    }
}

#[test]
fn an_endless_generator_shows_its_beginning_and_is_consumed_no_further() {
    for (language, code) in [
        (PYTHON, "def g():\n i = 0\n while True:\n  print(i); yield i; i += 1\ng()"),
        (JAVASCRIPT, "(function* () { for (let i = 0; ; i++) { console.log(i); yield i } })()"),
    ] {
        let outcome = sandbox::eval(language, code);
        let found = value(&outcome);
        assert_eq!(found["type"], "iterable");
        assert_eq!(found["preview"].as_array().map(Vec::len), Some(50));
        assert_eq!((&found["exhausted"], &found["size_hint"]), (&json!(false), &Json::Null));
        assert_eq!(
            outcome.stdout.text.lines().count(),
            50,
            "{language}: items that are not shown are not taken"
        );
    }
}

#[test]
fn an_offset_shows_more_on_request() {
    for (language, code) in [
        (PYTHON, "list(range(120))"),
        (PYTHON, "range(120)"),
        (PYTHON, "(i for i in range(120))"),
        (JAVASCRIPT, "Array.from({ length: 120 }, (_, i) => i)"),
        (JAVASCRIPT, "(function* () { for (let i = 0; i < 120; i++) yield i })()"),
        (JAVASCRIPT, "new Set(Array(120).keys())"),
    ] {
        let mut seen = Vec::new();
        for offset in [0, 50, 100, 150] {
            let found = bounded(language, code, Bounds { offset, ..Bounds::default() });
            let items = found["value"].as_array().or(found["preview"].as_array()).unwrap().clone();
            seen.extend(items.into_iter().map(|item| item["value"].as_i64().unwrap()));
        }
        assert_eq!(seen, (0..120).collect::<Vec<i64>>(), "{code}");
    }
}

#[test]
fn an_offset_moves_the_outermost_container_only() {
    for (language, code) in [(PYTHON, "[[1, 2], [3, 4]]"), (JAVASCRIPT, "[[1, 2], [3, 4]]")] {
        let found = bounded(language, code, Bounds { offset: 1, ..Bounds::default() });
        assert_eq!((&found["count"], found["value"].as_array().map(Vec::len)), (&json!(2), Some(1)));
        assert_eq!(found["value"][0]["value"][0]["value"], 3, "{language}");
    }
}

#[test]
fn three_levels_are_opened() {
    for (language, code) in [
        (PYTHON, "[[[[1]]]]"),
        (JAVASCRIPT, "[[[[1]]]]"),
        (PYTHON, "{'a': {'a': {'a': {'a': 1}}}}"),
        (JAVASCRIPT, "({ a: { a: { a: { a: 1 } } } })"),
    ] {
        let inner = |found: &Json| {
            if found["value"].is_array() { found["value"][0].clone() } else { found["value"]["a"].clone() }
        };
        let found = sandbox::value_of(language, code);
        let fourth = inner(&inner(&inner(&found)));
        assert_eq!(
            (&fourth["type"], &fourth["count"], &fourth["truncated"]),
            (&json!("array"), &json!(1), &json!(true))
        );
        assert_eq!(fourth["value"], Json::Null, "{code}: below the cap nothing is shown");
        let deeper = bounded(language, code, Bounds { depth: 4, ..Bounds::default() });
        assert_eq!(inner(&inner(&inner(&inner(&deeper))))["value"], 1, "{code}");
        let shallow = bounded(language, code, Bounds { depth: 0, ..Bounds::default() });
        assert_eq!((&shallow["count"], &shallow["value"]), (&json!(1), &Json::Null), "{code}");
    }
}

#[test]
fn long_text_is_cut_at_a_character_and_says_how_long_it_was() {
    for (language, ascii, wide) in
        [(PYTHON, "'x' * COUNT", "'é' * COUNT"), (JAVASCRIPT, "'x'.repeat(COUNT)", "'é'.repeat(COUNT)")]
    {
        for (count, shown) in [(9_999, 9_999), (10_000, 10_000), (10_001, 10_000)] {
            let found = sandbox::value_of(language, &ascii.replace("COUNT", &count.to_string()));
            assert_eq!(found["value"].as_str().map(str::len), Some(shown));
            let length = if count > 10_000 { json!(count) } else { Json::Null };
            assert_eq!(found["length"], length, "{language} {count}");
        }
        let code = wide.replace("COUNT", "10");
        let found = bounded(language, &code, Bounds { string_bytes: 7, ..Bounds::default() });
        assert_eq!((&found["value"], &found["length"]), (&json!("ééé"), &json!(20)), "{language}");
    }
}

#[test]
fn long_bytes_and_numbers_are_cut_or_said_to_be_too_large() {
    for (language, code) in [(PYTHON, "bytes(20_000)"), (JAVASCRIPT, "new Uint8Array(20_000)")] {
        let found = sandbox::value_of(language, code);
        assert_eq!((&found["length"], &found["truncated"]), (&json!(20_000), &json!(true)));
        assert!(found["value"].as_str().is_some_and(|text| text.len() < 14_000), "{language}");
    }
    for (language, code) in [(PYTHON, "10 ** 20_000"), (JAVASCRIPT, "10n ** 20_000n")] {
        let found = sandbox::value_of(language, code);
        let cut = found["truncated"] == true && found["length"] == 20_001;
        assert!(cut || found["type"] == "unknown", "{language}: {found}");
    }
}

#[test]
fn the_whole_text_stays_within_its_bound() {
    for (language, code) in [
        (PYTHON, "[['x' * 9_000] * 50] * 50"),
        (PYTHON, "{str(i) * 100: 'x' * 9_000 for i in range(50)}"),
        (PYTHON, "['\\0' * 9_000] * 50"),
        (JAVASCRIPT, "Array(50).fill(Array(50).fill('x'.repeat(9_000)))"),
        (
            JAVASCRIPT,
            "Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${i}`.repeat(100), 'x'.repeat(9_000)]))",
        ),
        (JAVASCRIPT, "Array(50).fill('\\0'.repeat(9_000))"),
    ] {
        let mut request = sandbox::request(language, code);
        for total_bytes in [1_000, 20_000, 256 << 10] {
            request.context.bounds.total_bytes = total_bytes;
            let found = value(&sandbox::run_request(request.clone()));
            let length = found.to_string().len();
            assert!(length <= total_bytes as usize, "{code}: {length} of {total_bytes}");
            assert!(found.to_string().contains("value too large"), "{code}: what is left out is marked");
        }
    }
}

#[test]
fn a_long_stack_is_cut_at_its_innermost_frames() {
    for (language, code) in [
        (PYTHON, "def f(n):\n if n == 0: raise ValueError('deep')\n f(n - 1)\nf(100)"),
        (JAVASCRIPT, "function f(n) { if (n === 0) throw new Error('deep'); f(n - 1) } f(100)"),
    ] {
        let frames = exception(&sandbox::eval(language, code)).stack_trace.clone();
        assert_eq!(frames.len(), 31, "{language}: {frames:?}");
        assert!(frames[0].starts_with("f (<snippet>:"), "{frames:?}");
        assert_eq!(frames[30], "...(truncated)");
        let mut request = sandbox::request(language, code);
        request.context.bounds.frames = 5;
        let outcome = sandbox::run_request(request);
        assert_eq!(exception(&outcome).stack_trace.len(), 6);
    }
}
