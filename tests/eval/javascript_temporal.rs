//! `Temporal` and `Intl.DurationFormat` of JavaScript.

use super::javascript_node::all_true_of;

const SNIPPETS: &str = include_str!("javascript_temporal.txt");

#[test]
fn dates_and_times_without_a_zone() {
    all_true_of(SNIPPETS, "dates");
}

#[test]
fn instants_and_dates_in_a_zone() {
    all_true_of(SNIPPETS, "exact");
}

#[test]
fn durations_and_how_they_are_written() {
    all_true_of(SNIPPETS, "durations");
}

#[test]
fn locales_show_them() {
    all_true_of(SNIPPETS, "locales");
}

#[test]
fn they_are_objects_as_others_are() {
    all_true_of(SNIPPETS, "objects");
}
