//! Whole answers, compared byte for byte with the recorded ones (`tests/golden`).

use dormouse_tests::golden;

#[test]
fn python_answers_as_recorded() {
    golden::check("python", "py");
}

#[test]
fn javascript_answers_as_recorded() {
    golden::check("javascript", "js");
}

#[test]
fn php_answers_as_recorded() {
    golden::check("php", "php");
}
