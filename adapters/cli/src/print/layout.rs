//! Lays a tree out: on one line where it fits, else one item a line.

use anstyle::Style;

use super::paint::{DIM, Paint};

/// Columns that a value may take before it is broken over lines.
const WIDTH: usize = 80;
/// Columns of one level.
const INDENT: usize = 2;

/// A value to be shown. The texts hold no controls.
pub(crate) enum Node {
    /// A word.
    Leaf(Style, String),
    /// A container.
    Group {
        /// The class with a space, or nothing.
        head: String,
        /// Opening bracket.
        open: &'static str,
        /// Closing bracket.
        close: &'static str,
        /// What was skipped.
        before: Option<String>,
        /// The items.
        items: Vec<Item>,
        /// What was left out at the end.
        more: Option<String>,
        /// Spaces inside the brackets.
        spaced: bool,
    },
}

/// One item of a container.
pub(crate) struct Item {
    /// Its key.
    pub(crate) key: Option<Node>,
    /// Its value.
    pub(crate) value: Node,
}

impl Node {
    /// A word.
    pub(crate) fn leaf(style: Style, text: impl Into<String>) -> Self {
        Self::Leaf(style, text.into())
    }

    /// Spaces inside the brackets, for objects.
    pub(crate) fn spaced(&mut self) {
        if let Self::Group { spaced, items, .. } = self {
            *spaced = !items.is_empty();
        }
    }

    /// All on one line.
    pub(crate) fn inline(&self, paint: Paint) -> String {
        match self {
            Self::Leaf(style, text) => paint.style(*style, text),
            Self::Group { head, open, close, before, items, more, spaced } => {
                let mark = |text: &String| paint.style(DIM, text);
                let items = items.iter().map(|item| item.inline(paint));
                let parts: Vec<String> =
                    before.iter().map(mark).chain(items).chain(more.iter().map(mark)).collect();
                let space = if *spaced { " " } else { "" };
                format!("{head}{open}{space}{}{space}{close}", parts.join(", "))
            }
        }
    }

    /// Over as many lines as it needs, the later ones indented.
    pub(crate) fn block(&self, paint: Paint, indent: usize) -> String {
        let Self::Group { head, open, close, before, items, more, .. } = self else {
            return self.inline(paint);
        };
        if items.is_empty() || self.inline(Paint::default()).chars().count() + indent <= WIDTH {
            return self.inline(paint);
        }
        let inner = indent + INDENT;
        let mut text = format!("{head}{open}\n");
        let join =
            |line: &Vec<&Node>| line.iter().map(|word| word.inline(paint)).collect::<Vec<_>>().join(", ");
        let mut part = |line: String| text += &format!("{:inner$}{line},\n", "");
        before.iter().for_each(|mark| part(paint.style(DIM, mark)));
        if let Some(words) = words(items) {
            fill(&words, inner).iter().for_each(|line| part(join(line)));
        } else {
            items.iter().for_each(|item| part(item.block(paint, inner)));
        }
        more.iter().for_each(|mark| part(paint.style(DIM, mark)));
        text + &format!("{:indent$}{close}", "")
    }
}

impl Item {
    fn inline(&self, paint: Paint) -> String {
        self.name(paint) + &self.value.inline(paint)
    }

    fn block(&self, paint: Paint, indent: usize) -> String {
        self.name(paint) + &self.value.block(paint, indent)
    }

    fn name(&self, paint: Paint) -> String {
        self.key.as_ref().map(|key| key.inline(paint) + ": ").unwrap_or_default()
    }
}

/// The items as bare words, when they are nothing else.
fn words(items: &[Item]) -> Option<Vec<&Node>> {
    let word = |item: &Item| item.key.is_none() && matches!(item.value, Node::Leaf(..));
    items.iter().all(word).then(|| items.iter().map(|item| &item.value).collect())
}

/// As many words a line as fit.
fn fill<'a>(words: &[&'a Node], indent: usize) -> Vec<Vec<&'a Node>> {
    let mut lines: Vec<Vec<&Node>> = Vec::new();
    let mut used = usize::MAX;
    for &word in words {
        let width = word.inline(Paint::default()).chars().count() + 2;
        match lines.last_mut() {
            Some(line) if used + width <= WIDTH => {
                line.push(word);
                used += width;
            }
            _ => {
                lines.push(vec![word]);
                used = indent + width;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::paint::PLAIN;
    use super::*;

    fn group(items: Vec<Item>, more: Option<&str>) -> Node {
        let more = more.map(str::to_owned);
        Node::Group { head: String::new(), open: "[", close: "]", before: None, items, more, spaced: false }
    }

    fn word(text: &str) -> Item {
        Item { key: Some(Node::leaf(PLAIN, "k")), value: Node::leaf(PLAIN, text) }
    }

    #[test]
    fn what_fits_stays_on_one_line() {
        let node = group(vec![word("a"), word("b")], Some("… 3 more"));
        assert_eq!(node.block(Paint::default(), 2), "[k: a, k: b, … 3 more]");
    }

    #[test]
    fn what_does_not_fit_has_one_item_a_line() {
        let long = "x".repeat(70);
        let nested = Item { key: None, value: group(vec![word(&long)], None) };
        let node = group(vec![nested, word(&long)], Some("…"));
        let expected = format!("[\n    [k: {long}],\n    k: {long},\n    …,\n  ]");
        assert_eq!(node.block(Paint::default(), 2), expected);
    }

    #[test]
    fn bare_words_share_lines() {
        let items = (0..50).map(|n| Item { key: None, value: Node::leaf(PLAIN, n.to_string()) }).collect();
        let text = group(items, Some("…")).block(Paint::default(), 0);
        assert_eq!(text.lines().count(), 6);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }
}
