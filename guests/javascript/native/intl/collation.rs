//! The order of strings.

use std::cell::RefCell;

use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, Strength};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use icu_locale::Locale;

struct Order {
    tag: String,
    options: String,
    collator: CollatorBorrowed<'static>,
}

thread_local! {
    /// Each that was ever asked for. There are as many as locales with data and settings, a few hundred at most.
    static ORDERS: RefCell<Vec<Order>> = const { RefCell::new(Vec::new()) };
}

/// `options` has words: `base`, `accent`, `case` or `variant`, and `punctuation` where that is ignored, else `all`. Settings that a tag can hold are in
/// the tag.
pub(super) fn order(tag: &str, options: &str) -> Option<i32> {
    ORDERS.with_borrow_mut(|orders| {
        let known = orders.iter().position(|order| order.tag == tag && order.options == options);
        let index = match known {
            Some(index) => index,
            None => {
                let collator = make(tag, options)?;
                orders.push(Order { tag: tag.to_owned(), options: options.to_owned(), collator });
                orders.len() - 1
            }
        };
        i32::try_from(index).ok()
    })
}

fn make(tag: &str, words: &str) -> Option<CollatorBorrowed<'static>> {
    let locale: Locale = tag.parse().ok()?;
    let mut options = CollatorOptions::default();
    for word in words.split(' ') {
        match word {
            "base" => options.strength = Some(Strength::Primary),
            "accent" => options.strength = Some(Strength::Secondary),
            "case" => {
                options.strength = Some(Strength::Primary);
                options.case_level = Some(CaseLevel::On);
            }
            "punctuation" => options.alternate_handling = Some(AlternateHandling::Shifted),
            "all" => options.alternate_handling = Some(AlternateHandling::NonIgnorable),
            "variant" => options.strength = Some(Strength::Tertiary),
            _ => {}
        }
    }
    CollatorBorrowed::try_new(CollatorPreferences::from(&locale), options).ok()
}

pub(super) fn compare(order: i32, left: &[u8], right: &[u8]) -> i32 {
    ORDERS.with_borrow(|orders| {
        let order = usize::try_from(order).ok().and_then(|index| orders.get(index));
        order.map_or(0, |order| order.collator.compare_utf8(left, right) as i32)
    })
}
