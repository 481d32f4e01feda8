//! A page of something long: how much there is of it, and where the next page begins.

use dormouse_core::Value;
use dormouse_core::value::Items;
use serde_json::Value as Json;

use crate::call::plain::plain;

/// Characters of a text, or bytes, that are shown at once.
pub(super) const PAGE: u32 = 16_000;
/// Items of a container that are shown at once.
pub(super) const PAGE_ITEMS: u32 = 1_000;
/// Bytes of a text inside a container.
pub(super) const ITEM_BYTES: u32 = 4 << 10;
/// Bytes of a page as JSON (100 KiB): a text of [`PAGE`] characters fits, whatever they are.
pub(super) const PAGE_BYTES: u32 = 100 << 10;

/// What a page is a part of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Items, characters or bytes of the whole; none where it has no length.
    pub(super) length: Option<u64>,
    /// Where the next page begins; none when this is the last.
    pub(super) next: Option<u64>,
}

impl Page {
    /// The page that begins at `offset`; `length` is that of a text, which its page does not tell.
    pub(super) fn of(value: &Value, offset: u32, length: Option<u64>) -> Self {
        let (length, shown) = match value {
            Value::String { value, .. } => (length, value.chars().count()),
            Value::Bytes { length: shown, .. } => (length, usize::try_from(*shown).unwrap_or(usize::MAX)),
            Value::Array { count, value, entries, .. } => {
                let shown = match (value, entries) {
                    (Some(Items::List(items)), _) => whole(items.len(), items.last()),
                    (Some(Items::Dictionary(items)), _) => whole(items.len(), items.values().last()),
                    (None, Some(pairs)) => whole(pairs.len(), pairs.last().map(|(_, value)| value)),
                    (None, None) => 0,
                };
                (Some(*count), shown)
            }
            Value::Iterable { preview, size_hint, .. } => {
                let items = preview.as_deref().unwrap_or_default();
                (*size_hint, whole(items.len(), items.last()))
            }
            _ => return Self::default(),
        };
        // A page of one item that does not fit is followed by the next item.
        let end = u64::from(offset).saturating_add(shown.max(1) as u64);
        Self { length, next: length.filter(|length| end < *length).map(|_| end) }
    }

    /// The text of the page, and where it lies.
    pub(super) fn told(&self, typed: &Json, offset: u32) -> String {
        let text = plain(typed);
        let whole = self.length.filter(|_| offset > 0 || self.next.is_some());
        let Some(length) = whole else { return text };
        let unit = match typed["type"].as_str() {
            Some("string") => "characters",
            Some("bytes") => "bytes",
            _ => "items",
        };
        let text = text.strip_suffix("\n(truncated)").unwrap_or(&text);
        match self.next {
            Some(next) => {
                format!("{text}\n({unit} {offset} to {} of {length}; offset {next} shows more)", next - 1)
            }
            None => format!("{text}\n(the last of {length} {unit}, from {offset} on)"),
        }
    }
}

/// How many items a page shows, without one at its end that did not fit.
fn whole(items: usize, last: Option<&Value>) -> usize {
    let cut = matches!(last, Some(Value::Unknown { reason, .. }) if reason == "value too large");
    items - usize::from(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(count: u64, items: Vec<Value>) -> Value {
        Value::Array {
            class: None,
            is_list: true,
            count,
            value: Some(Items::List(items)),
            entries: None,
            truncated: false,
            id: None,
        }
    }

    #[test]
    fn a_page_tells_where_the_next_one_begins() {
        let cut = Value::Unknown { class: "str".into(), reason: "value too large".into() };
        let text = Value::String { value: "äb".into(), truncated: false, length: None };
        for (value, offset, length, page) in [
            (list(2, vec![Value::null(), Value::null()]), 0, None, (Some(2), None)),
            (list(9, vec![Value::null(), Value::null()]), 3, None, (Some(9), Some(5))),
            (list(9, vec![Value::null(), cut.clone()]), 3, None, (Some(9), Some(4))),
            (list(9, vec![cut.clone()]), 3, None, (Some(9), Some(4))),
            (list(9, vec![cut]), 8, None, (Some(9), None)),
            (list(0, Vec::new()), 7, None, (Some(0), None)),
            (text.clone(), 0, Some(2), (Some(2), None)),
            (text, 5, Some(70_000), (Some(70_000), Some(7))),
            (Value::null(), 0, None, (None, None)),
        ] {
            assert_eq!(Page::of(&value, offset, length), Page { length: page.0, next: page.1 }, "{value:?}");
        }
    }
}
