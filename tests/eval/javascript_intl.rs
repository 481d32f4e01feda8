//! `Intl` of JavaScript: what other engines answer, and what bad input comes to.

use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::{JAVASCRIPT, sandbox};
use serde_json::{Value, json};

/// An expression and the answer of Node.js in a line, made by `javascript_intl.mjs`, which says of which version.
const TABLE: &str = include_str!("javascript_intl.txt");

/// So many expressions are asked in one snippet, whose value is bounded.
const AT_ONCE: usize = 20;

/// Each line is true.
fn all_true(lines: &[&str]) {
    for code in lines {
        assert_eq!(sandbox::value_of(JAVASCRIPT, code)["value"], json!(true), "{code}");
    }
}

#[test]
fn locales_answer_as_in_node() {
    let rows: Vec<(&str, &str)> = TABLE.lines().filter_map(|line| line.split_once('\t')).collect();
    assert!(rows.len() > 300, "the table has {} rows", rows.len());
    let mut wrong = Vec::new();
    for rows in rows.chunks(AT_ONCE) {
        let asked: Vec<String> = rows.iter().map(|(code, _)| format!("() => {code}")).collect();
        let code = format!(
            "JSON.stringify([{}].map((ask) => {{ try {{ return ask() }} catch (error) {{ return String(error) }} }}))",
            asked.join(",\n")
        );
        let told = sandbox::value_of(JAVASCRIPT, &code);
        let answers: Vec<Value> = serde_json::from_str(told["value"].as_str().unwrap()).unwrap();
        assert_eq!(answers.len(), rows.len());
        for ((code, expected), found) in rows.iter().zip(answers) {
            let expected: Value = serde_json::from_str(expected).unwrap();
            if expected != found {
                wrong.push(format!("{code}\n  expected {expected}\n  found    {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn what_the_locale_of_a_program_was_is_no_longer_guessed() {
    all_true(&[
        "(1234567.891).toLocaleString() === '1,234,567.891'",
        "new Date(Date.UTC(2026, 0, 2)).toLocaleDateString('en-US', { month: 'long', day: 'numeric' }) === 'January 2'",
        "12345678901234567890n.toLocaleString('de') === '12.345.678.901.234.567.890'",
        "new Intl.NumberFormat().resolvedOptions().locale === 'en-US'",
        "new Intl.DateTimeFormat('en', { timeZone: '+05:30', timeStyle: 'short' }).format(0) === '5:30 AM'",
        "Intl.supportedValuesOf('timeZone').includes('Europe/Berlin') && Intl.supportedValuesOf('currency').length > 290",
        "JSON.stringify(Object.keys(new Intl.NumberFormat('de').resolvedOptions()).slice(0, 3)) === '[\"locale\",\"numberingSystem\",\"style\"]'",
        // Calendars other than the Gregorian are not there, which is told and not guessed.
        "new Intl.DateTimeFormat('th').resolvedOptions().calendar === 'gregory'",
    ]);
}

/// What an expression comes to with `TZ` set.
fn in_zone(zone: &str, code: &str) -> Value {
    let mut request = sandbox::request(JAVASCRIPT, code);
    request.context.grants.environment = vec![("TZ".into(), zone.into())];
    value(&sandbox::run_request(request))["value"].clone()
}

#[test]
fn dates_are_in_the_zone_of_the_variable() {
    assert_eq!(
        sandbox::value_of(
            JAVASCRIPT,
            "[Intl.DateTimeFormat().resolvedOptions().timeZone, new Date(0).getTimezoneOffset(), new Date(0).toLocaleString()].join()"
        )["value"],
        json!("UTC,0,1/1/1970, 12:00:00 AM")
    );
    for (zone, code, expected) in [
        (
            "America/New_York",
            "[new Date(0).getTimezoneOffset(), Intl.DateTimeFormat().resolvedOptions().timeZone].join()",
            "300,America/New_York",
        ),
        ("America/New_York", "new Date(2026, 6, 1, 12).toISOString()", "2026-07-01T16:00:00.000Z"),
        // A local time that never comes, and one that comes twice.
        ("America/New_York", "new Date(2026, 2, 8, 2, 30).toISOString()", "2026-03-08T07:30:00.000Z"),
        ("America/New_York", "new Date(2026, 10, 1, 1, 30).toISOString()", "2026-11-01T05:30:00.000Z"),
        (
            "Europe/Berlin",
            "new Date(Date.UTC(2026, 6, 1)).toString().slice(0, 33)",
            "Wed Jul 01 2026 02:00:00 GMT+0200",
        ),
        ("europe/berlin", "Intl.DateTimeFormat().resolvedOptions().timeZone", "Europe/Berlin"),
        ("Asia/Kolkata", "new Date('2026-01-02T03:04').toISOString()", "2026-01-01T21:34:00.000Z"),
        ("Asia/Kolkata", "new Date(0).toLocaleTimeString('en')", "5:30:00 AM"),
        (
            "Asia/Kolkata",
            "new Date(8.64e15).getFullYear() + new Date(-8.64e15).toLocaleDateString('en', { year: 'numeric' })",
            "275760271822",
        ),
        (
            "No/Where",
            "[new Date(0).getTimezoneOffset(), Intl.DateTimeFormat().resolvedOptions().timeZone].join()",
            "0,UTC",
        ),
        ("", "Intl.DateTimeFormat().resolvedOptions().timeZone", "UTC"),
    ] {
        assert_eq!(in_zone(zone, code), json!(expected), "{zone}: {code}");
    }
}

#[test]
fn lng_20_hostile_locales_end_in_a_range_error() {
    let tags = [
        "''",
        "'e'",
        "'en_US'",
        "'en-'",
        "'-en'",
        "'en-US-u'",
        "'x'.repeat(9)",
        "'en-' + 'abcdefgh-'.repeat(1e5)",
        "'en-u-' + 'aa-bbb-'.repeat(1e6)",
        "'a'.repeat(1e7)",
        "'\\u{1F600}'",
        "'en\\0US'",
        "'en-a-bb-a-cc'",
        "'en-GB-abcde-abcde'",
    ];
    for tag in tags {
        for call in [
            "Intl.getCanonicalLocales(T)",
            "new Intl.NumberFormat(T)",
            "(1).toLocaleString(T)",
            "'a'.localeCompare('b', T)",
            "new Intl.Locale(T)",
        ] {
            let outcome = sandbox::eval(JAVASCRIPT, &call.replace('T', tag));
            assert_eq!(exception(&outcome).class, "RangeError", "{call} with {tag}");
        }
    }
    // A tag that is right and says nothing that is known gives the default.
    all_true(&[
        "new Intl.NumberFormat('xx-YY-u-nu-bogus-x-private').resolvedOptions().locale === 'en-US'",
        "new Intl.NumberFormat('de-u-nu-bogus').resolvedOptions().locale === 'de'",
        "Intl.getCanonicalLocales(Array.from({ length: 1000 }, (_, i) => `en-x-${i}`)).length === 1000",
    ]);
}

#[test]
fn lng_21_options_that_are_wrong_are_told_as_the_standard_says() {
    for (code, class) in [
        ("new Intl.NumberFormat('en', { style: 'currency' })", "TypeError"),
        ("new Intl.NumberFormat('en', { style: 'currency', currency: 'EURO' })", "RangeError"),
        ("new Intl.NumberFormat('en', { style: 'unit' })", "TypeError"),
        ("new Intl.NumberFormat('en', { style: 'unit', unit: 'parsec' })", "RangeError"),
        ("new Intl.NumberFormat('en', { maximumFractionDigits: 101 })", "RangeError"),
        ("new Intl.NumberFormat('en', { minimumIntegerDigits: 0 })", "RangeError"),
        ("new Intl.NumberFormat('en', { maximumSignificantDigits: NaN })", "RangeError"),
        ("new Intl.NumberFormat('en', { roundingIncrement: 3 })", "RangeError"),
        ("new Intl.NumberFormat('en', { numberingSystem: 'a' })", "RangeError"),
        ("new Intl.NumberFormat('en', null)", "TypeError"),
        ("new Intl.NumberFormat(null)", "TypeError"),
        ("new Intl.NumberFormat([1])", "TypeError"),
        ("new Intl.NumberFormat('en').format(Symbol())", "TypeError"),
        ("new Intl.NumberFormat('en').formatRange(1)", "TypeError"),
        ("new Intl.NumberFormat('en').formatRange(1, NaN)", "RangeError"),
        ("new Intl.DateTimeFormat('en', { timeZone: 'Mars/Olympus' })", "RangeError"),
        ("new Intl.DateTimeFormat('en', { timeZone: 'x'.repeat(1e7) })", "RangeError"),
        ("new Intl.DateTimeFormat('en', { dateStyle: 'full', day: 'numeric' })", "TypeError"),
        ("new Intl.DateTimeFormat('en', { month: 'huge' })", "RangeError"),
        ("new Intl.DateTimeFormat('en', { fractionalSecondDigits: 4 })", "RangeError"),
        ("new Intl.DateTimeFormat('en').format(NaN)", "RangeError"),
        ("new Date(0).toLocaleDateString('en', { timeStyle: 'short' })", "TypeError"),
        ("new Intl.Collator('en', { sensitivity: 'none' })", "RangeError"),
        ("Intl.PluralRules()", "TypeError"),
        ("new Intl.PluralRules('en', { type: 'x' })", "RangeError"),
        ("new Intl.ListFormat('en').format([1])", "TypeError"),
        ("new Intl.RelativeTimeFormat('en').format(1, 'lightyear')", "RangeError"),
        ("new Intl.RelativeTimeFormat('en').format(Infinity, 'day')", "RangeError"),
        ("new Intl.Segmenter('en', { granularity: 'line' })", "RangeError"),
        ("new Intl.DisplayNames('en')", "TypeError"),
        ("new Intl.DisplayNames('en', { type: 'region' }).of('x'.repeat(1e6))", "RangeError"),
        ("new Intl.Locale()", "TypeError"),
        ("Intl.supportedValuesOf('planet')", "RangeError"),
        ("Intl.NumberFormat.prototype.format", "TypeError"),
        ("Intl.DateTimeFormat.prototype.formatToParts.call({})", "TypeError"),
        ("Number.prototype.toLocaleString.call('1')", "TypeError"),
        ("Date.prototype.toLocaleString.call({})", "TypeError"),
    ] {
        assert_eq!(exception(&sandbox::eval(JAVASCRIPT, code)).class, class, "{code}");
    }
}

#[test]
fn lng_22_long_numbers_and_texts_cost_what_their_length_says() {
    all_true(&[
        "(10n ** 20000n).toLocaleString('en').length === 26667",
        "new Intl.NumberFormat('en').format('1'.repeat(300)).length === 399",
        // What is larger than any number is infinite, as the standard has it for strings.
        "new Intl.NumberFormat('en').format('9'.repeat(1e6)) === '∞'",
        "new Intl.NumberFormat('en', { maximumFractionDigits: 100 }).format('0.' + '1'.repeat(1e6)).length === 102",
        "new Intl.NumberFormat('en').format('1e-999999999') === '0' && new Intl.NumberFormat('en').format('1e999999999') === '∞'",
        "new Intl.NumberFormat('en').format(5e-324) === '0' && Number.MAX_VALUE.toLocaleString('en').length === 411",
        "new Intl.PluralRules('en').select(1e300) === 'other'",
        "[...new Intl.Segmenter('en').segment('a'.repeat(1e5))].length === 1e5",
        "[...new Intl.Segmenter('en').segment('\\ud800a\\udc00')].map((s) => s.segment.length).join() === '1,1,1'",
        "new Intl.Segmenter('en').segment('').containing(0) === undefined",
        "['\\ud800', 'a', '\\udfff'].sort(new Intl.Collator('en').compare).length === 3",
        "'a'.repeat(1e6).localeCompare('a'.repeat(1e6) + 'b') === -1",
        "new Intl.ListFormat('en').format(Array(10000).fill('\\0')).startsWith('\\0, \\0')",
        "'I\\ud800'.toLocaleLowerCase('tr') === 'i\\ud800'",
    ]);
    let endless = sandbox::eval(
        JAVASCRIPT,
        "const a = []; for (let i = 0; ; i++) a.push(new Intl.NumberFormat('en-x-' + i.toString(36), { maximumFractionDigits: i % 100 }))",
    );
    assert_ends(&endless, &["limit_memory", "limit_time", "raised InternalError"]);
}

#[test]
fn lng_23_what_a_snippet_replaces_is_its_own_loss() {
    all_true(&[
        "Number.prototype.toLocaleString = () => 'mine'; (1).toLocaleString() === 'mine'",
        "delete globalThis.Intl; typeof Intl === 'undefined' && (1234).toLocaleString('de') === '1.234'",
        "Intl = 5; Intl === 5",
        "Intl.NumberFormat = 5; (1234.5).toLocaleString('en') === '1,234.5'",
    ]);
}
