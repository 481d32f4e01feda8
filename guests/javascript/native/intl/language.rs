//! What depends on the language and has no pattern of its own.

use core::fmt;

use fixed_decimal::{CompactDecimal, Decimal};
use icu_casemap::CaseMapper;
use icu_list::options::{ListFormatterOptions, ListLength};
use icu_list::{ListFormatter, ListFormatterPreferences, parts};
use icu_locale::{LanguageIdentifier, Locale, LocaleCanonicalizer, LocaleExpander};
use icu_plurals::{PluralCategory, PluralOperands, PluralRuleType, PluralRules, PluralRulesWithRanges};
use writeable::{Part, PartsWrite, Writeable};

/// The canonical form of a tag; none: it is not well-formed.
pub(super) fn canonical(tag: &str) -> Option<String> {
    let mut locale: Locale = tag.parse().ok()?;
    LocaleCanonicalizer::new_extended().canonicalize(&mut locale);
    Some(locale.to_string())
}

/// A tag with the script and the region that are likely.
pub(super) fn maximal(tag: &str) -> Option<String> {
    let mut locale: Locale = tag.parse().ok()?;
    LocaleExpander::new_extended().maximize(&mut locale.id);
    Some(locale.to_string())
}

/// A tag without what is likely.
pub(super) fn minimal(tag: &str) -> Option<String> {
    let mut locale: Locale = tag.parse().ok()?;
    LocaleExpander::new_extended().minimize(&mut locale.id);
    Some(locale.to_string())
}

fn rules(tag: &str, kind: &str) -> Option<PluralRules> {
    let locale: Locale = tag.parse().ok()?;
    PluralRules::try_new((&locale).into(), rule_type(kind).into()).ok()
}

fn rule_type(kind: &str) -> PluralRuleType {
    if kind == "ordinal" { PluralRuleType::Ordinal } else { PluralRuleType::Cardinal }
}

/// A number as it is shown: `1.50`, or `1.5c6` in compact notation.
fn operands(number: &str) -> Option<PluralOperands> {
    match number.split_once('c') {
        Some((significand, exponent)) => {
            let significand: Decimal = significand.parse().ok()?;
            let number = CompactDecimal::from_significand_and_exponent(significand, exponent.parse().ok()?);
            Some(PluralOperands::from(&number))
        }
        None => Some(PluralOperands::from(&number.parse::<Decimal>().ok()?)),
    }
}

fn name(category: PluralCategory) -> String {
    match category {
        PluralCategory::Zero => "zero",
        PluralCategory::One => "one",
        PluralCategory::Two => "two",
        PluralCategory::Few => "few",
        PluralCategory::Many => "many",
        PluralCategory::Other => "other",
    }
    .to_owned()
}

/// The plural category of a number.
pub(super) fn plural(tag: &str, kind: &str, number: &str) -> Option<String> {
    Some(name(rules(tag, kind)?.category_for(operands(number)?)))
}

/// That of a range, whose numbers are apart by a space.
pub(super) fn plural_range(tag: &str, kind: &str, numbers: &str) -> Option<String> {
    let locale: Locale = tag.parse().ok()?;
    let (start, end) = numbers.split_once(' ')?;
    let rules = PluralRulesWithRanges::try_new((&locale).into(), rule_type(kind).into()).ok()?;
    Some(name(rules.category_for_range(operands(start)?, operands(end)?)))
}

/// All categories of a language, with spaces between them.
pub(super) fn plural_categories(tag: &str, kind: &str) -> Option<String> {
    let names: Vec<String> = rules(tag, kind)?.categories().map(name).collect();
    Some(names.join(" "))
}

/// What stands before, between and after the items of a list, each apart by a zero, as the items are.
pub(super) fn list_literals(tag: &str, kind: &str, items: &str) -> Option<String> {
    let locale: Locale = tag.parse().ok()?;
    let preferences = ListFormatterPreferences::from(&locale);
    let (kind, style) = kind.split_once(' ')?;
    let length = match style {
        "long" => ListLength::Wide,
        "short" => ListLength::Short,
        _ => ListLength::Narrow,
    };
    let options = ListFormatterOptions::default().with_length(length);
    let formatter = match kind {
        "conjunction" => ListFormatter::try_new_and(preferences, options),
        "disjunction" => ListFormatter::try_new_or(preferences, options),
        _ => ListFormatter::try_new_unit(preferences, options),
    }
    .ok()?;
    let mut sink = Literals { texts: vec![String::new()], in_item: false };
    formatter.format(items.split('\0')).write_to_parts(&mut sink).ok()?;
    Some(sink.texts.join("\0"))
}

/// Keeps what is no item.
struct Literals {
    texts: Vec<String>,
    in_item: bool,
}

impl fmt::Write for Literals {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        match self.texts.last_mut() {
            Some(last) if !self.in_item => last.push_str(text),
            _ => {}
        }
        Ok(())
    }
}

impl PartsWrite for Literals {
    type SubPartsWrite = Self;

    fn with_part(
        &mut self,
        part: Part,
        mut write: impl FnMut(&mut Self::SubPartsWrite) -> fmt::Result,
    ) -> fmt::Result {
        let item = part == parts::ELEMENT;
        if item {
            self.in_item = true;
        }
        write(self)?;
        if item {
            self.in_item = false;
            self.texts.push(String::new());
        }
        Ok(())
    }
}

fn identifier(tag: &str) -> Option<LanguageIdentifier> {
    Some(tag.parse::<Locale>().ok()?.id)
}

/// Lower case as a language has it.
pub(super) fn lower(tag: &str, text: &str) -> Option<String> {
    Some(CaseMapper::new().lowercase_to_string(text, &identifier(tag)?).into_owned())
}

/// Upper case as a language has it.
pub(super) fn upper(tag: &str, text: &str) -> Option<String> {
    Some(CaseMapper::new().uppercase_to_string(text, &identifier(tag)?).into_owned())
}
