//! Snippets of one line in files of text, each of which is true; and objects of `intl` in a session.

use dormouse_tests::ending::value;
use serde_json::json;

use super::{each, kept::Kept};

#[track_caller]
fn all_true(table: &str) {
    let rows = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    each(&rows.map(|row| (row, json!(true))).collect::<Vec<_>>());
}

#[test]
fn locales_answer_as_elsewhere() {
    all_true(include_str!("intl.txt"));
}

#[test]
fn character_sets_are_converted_as_on_linux() {
    all_true(include_str!("charsets.txt"));
}

#[test]
fn devices_are_there_by_their_names() {
    all_true(include_str!("devices.txt"));
}

#[test]
fn private_keys_can_have_a_passphrase() {
    all_true(include_str!("passphrases.txt"));
}

#[test]
fn tools_are_objects() {
    all_true(include_str!("tools.txt"));
}

#[test]
fn objects_of_intl_live_on_in_a_session() {
    let mut kept = Kept::new();
    kept.call("$f = new NumberFormatter('de', NumberFormatter::CURRENCY); $c = new Collator('sv'); $f->formatCurrency(1, 'EUR')");
    assert_eq!(value(&kept.call("$f->formatCurrency(1234.5, 'EUR')"))["value"], "1.234,50\u{a0}€");
    let sorted = kept.call("$w = ['ö', 'z', 'a']; $c->sort($w); implode($w)");
    assert_eq!(value(&sorted)["value"], "azö");
    // Of a locale that nobody has asked for before the state was saved.
    assert_eq!(value(&kept.call("Locale::getDisplayRegion('-DE', 'fr')"))["value"], "Allemagne");
}
