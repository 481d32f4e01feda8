//! Values in answers become stars of the same length, wherever the pieces of an answer are cut.
//!
//! The forms of all values are looked for at once, by the automaton of Aho and Corasick: in the text as it is, and in the text with its
//! escapes undone. Kept back is only what may be the beginning of a form, so that events are not late. The automaton is written here
//! because it holds the values: it is wiped with them.

use std::collections::VecDeque;
use std::sync::Arc;

use hyper::header::{HeaderMap, HeaderValue};
use zeroize::{Zeroize as _, Zeroizing};

use super::escapes::Unescape;

/// What the bytes so far are the beginning of.
struct Node {
    byte: u8,
    /// The first of those that go on from here, the next one that goes on from where this does; 0: none.
    child: u32,
    sibling: u32,
    /// The longest other beginning that the bytes end with.
    fail: u32,
    depth: u32,
    /// Length of the longest form that ends here; 0: none does.
    longest: u32,
}

/// Forms of values, as what finds them.
pub(crate) struct Forms {
    nodes: Vec<Node>,
    root: [u32; 256],
}

impl Forms {
    /// Of the forms; empty ones count for nothing.
    pub(crate) fn new(forms: &[Zeroizing<Vec<u8>>]) -> Self {
        // All at once: what would be moved would leave copies behind.
        let mut nodes = Vec::with_capacity(1 + forms.iter().map(|form| form.len()).sum::<usize>());
        nodes.push(Node { byte: 0, child: 0, sibling: 0, fail: 0, depth: 0, longest: 0 });
        let mut all = Self { nodes, root: [0; 256] };
        for form in forms {
            all.add(form);
        }
        all.link();
        all
    }

    fn add(&mut self, form: &[u8]) {
        let mut at = 0;
        for byte in form {
            at = match self.child(at, *byte) {
                Some(next) => next,
                None => self.grow(at, *byte),
            };
        }
        let node = &mut self.nodes[at as usize];
        node.longest = node.depth;
    }

    fn grow(&mut self, from: u32, byte: u8) -> u32 {
        // Forms are kibibytes; the secrets of a file are tens.
        let new = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let parent = &mut self.nodes[from as usize];
        let (sibling, depth) = (parent.child, parent.depth + 1);
        parent.child = new;
        self.nodes.push(Node { byte, child: 0, sibling, fail: 0, depth, longest: 0 });
        if from == 0 {
            self.root[usize::from(byte)] = new;
        }
        new
    }

    fn link(&mut self) {
        let mut queue = VecDeque::from([0_u32]);
        while let Some(at) = queue.pop_front() {
            let mut child = self.nodes[at as usize].child;
            while child != 0 {
                let byte = self.nodes[child as usize].byte;
                let fail = if at == 0 { 0 } else { self.next(self.nodes[at as usize].fail, byte) };
                let inherited = self.nodes[fail as usize].longest;
                let node = &mut self.nodes[child as usize];
                node.fail = fail;
                node.longest = node.longest.max(inherited);
                queue.push_back(child);
                child = node.sibling;
            }
        }
    }

    fn child(&self, of: u32, byte: u8) -> Option<u32> {
        if of == 0 {
            return Some(self.root[usize::from(byte)]).filter(|next| *next != 0);
        }
        let mut child = self.nodes[of as usize].child;
        while child != 0 {
            let node = &self.nodes[child as usize];
            if node.byte == byte {
                return Some(child);
            }
            child = node.sibling;
        }
        None
    }

    fn next(&self, mut at: u32, byte: u8) -> u32 {
        loop {
            if at == 0 {
                return self.root[usize::from(byte)];
            }
            match self.child(at, byte) {
                Some(next) => return next,
                None => at = self.nodes[at as usize].fail,
            }
        }
    }

    /// Whether a text holds one.
    pub(crate) fn are_in(&self, text: &[u8]) -> bool {
        let (mut at, mut undone, mut found) = (0, Undone::default(), false);
        for byte in text {
            at = self.next(at, *byte);
            undone.push(self, *byte, &mut |_, _| found = true);
            if found || self.nodes[at as usize].longest > 0 {
                return true;
            }
        }
        undone.end(self, &mut |_, _| found = true);
        found
    }
}

impl Drop for Forms {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            node.byte.zeroize();
        }
        self.root.zeroize();
    }
}

/// A text with its escapes undone, as far as it has come.
#[derive(Default)]
struct Undone {
    unescape: Unescape,
    at: u32,
    /// Where in the text the bytes begin that are the beginning of a form.
    begins: VecDeque<u64>,
}

impl Undone {
    /// Takes a byte of the text. `found` hears from where to where forms stand that end by then.
    fn push(&mut self, forms: &Forms, byte: u8, found: &mut impl FnMut(u64, u64)) {
        let Self { unescape, at, begins } = self;
        unescape.push(byte, &mut |byte, from, to| step(forms, (at, begins), (byte, from, to), found));
    }

    /// The text is at its end.
    fn end(&mut self, forms: &Forms, found: &mut impl FnMut(u64, u64)) {
        let Self { unescape, at, begins } = self;
        unescape.end(&mut |byte, from, to| step(forms, (at, begins), (byte, from, to), found));
    }

    /// Where what may be the beginning of a form begins.
    fn begin(&self) -> u64 {
        self.begins.front().copied().unwrap_or_else(|| self.unescape.begin())
    }
}

/// The next byte of such a text, which stands from `from` to `to`.
fn step(
    forms: &Forms,
    (at, begins): (&mut u32, &mut VecDeque<u64>),
    (byte, from, to): (u8, u64, u64),
    found: &mut impl FnMut(u64, u64),
) {
    *at = forms.next(*at, byte);
    if *at == 0 {
        begins.clear();
        return;
    }
    let node = &forms.nodes[*at as usize];
    begins.push_back(from);
    begins.drain(..begins.len() - node.depth as usize);
    if node.longest > 0 {
        found(begins[begins.len() - node.longest as usize], to);
    }
}

/// Goes over one answer.
pub(crate) struct Washer {
    forms: Arc<Forms>,
    at: u32,
    undone: Undone,
    /// Bytes that were passed on.
    passed: u64,
    kept: Zeroizing<Vec<u8>>,
    /// Bytes of `kept` that are stars already: from, to.
    stars: (usize, usize),
    /// How often a value was found.
    pub(crate) found: u64,
}

impl Washer {
    /// At the beginning of an answer.
    pub(crate) fn new(forms: Arc<Forms>) -> Self {
        Self {
            forms,
            at: 0,
            undone: Undone::default(),
            passed: 0,
            kept: Zeroizing::default(),
            stars: (0, 0),
            found: 0,
        }
    }

    /// At the beginning of another text.
    pub(crate) fn again(&self) -> Self {
        Self::new(self.forms.clone())
    }

    /// Whether a text holds a value.
    pub(crate) fn finds(&self, text: &[u8]) -> bool {
        self.forms.are_in(text)
    }

    /// How many bytes are kept back, because they may begin a value.
    pub(crate) fn kept(&self) -> usize {
        self.kept.len()
    }

    /// A whole text.
    pub(crate) fn whole(&mut self, text: &[u8]) -> Vec<u8> {
        let mut washed = self.push(text);
        washed.extend(self.end());
        washed
    }

    /// The headers of an answer. How many values there were.
    pub(crate) fn headers(&self, headers: &mut HeaderMap) -> u64 {
        let mut found = 0;
        let names: Vec<_> =
            headers.keys().filter(|name| self.finds(name.as_str().as_bytes())).cloned().collect();
        for name in names {
            headers.remove(name);
            found += 1;
        }
        for value in headers.values_mut() {
            if self.finds(value.as_bytes()) {
                let mut own = self.again();
                let text = own.whole(value.as_bytes());
                found += own.found;
                *value = HeaderValue::from_bytes(&text).unwrap_or(HeaderValue::from_static("*"));
            }
        }
        found
    }

    /// What of the bytes so far can be passed on.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut text = std::mem::take(&mut *self.kept);
        let begin = text.len();
        text.extend_from_slice(bytes);
        let mut undone = std::mem::take(&mut self.undone);
        let forms = self.forms.clone();
        for end in begin + 1..=text.len() {
            let byte = bytes[end - 1 - begin];
            self.at = forms.next(self.at, byte);
            let longest = forms.nodes[self.at as usize].longest as usize;
            if longest > 0 {
                self.star(&mut text, end - longest, end);
            }
            undone.push(&forms, byte, &mut |from, to| self.star_at(&mut text, from, to));
        }
        // It is shorter than the text: what is kept is its end.
        let plain = text.len() - (forms.nodes[self.at as usize].depth as usize).min(text.len());
        let pass = plain.min(self.within(undone.begin()));
        self.undone = undone;
        self.passed += pass as u64;
        self.kept = Zeroizing::new(text.split_off(pass));
        self.stars = (self.stars.0.saturating_sub(pass), self.stars.1.saturating_sub(pass));
        text
    }

    /// A place in the answer as one in what was kept of it and came after.
    fn within(&self, place: u64) -> usize {
        usize::try_from(place.saturating_sub(self.passed)).unwrap_or(usize::MAX)
    }

    fn star_at(&mut self, text: &mut [u8], from: u64, to: u64) {
        self.star(text, self.within(from), self.within(to));
    }

    /// Stars from `from` to `to`. What is stars already is not written again: a value of one letter would cost its square.
    fn star(&mut self, text: &mut [u8], from: usize, to: usize) {
        let (stars, end) = self.stars;
        if from >= end {
            text[from..to].fill(b'*');
            self.stars = (from, to);
            self.found += 1;
            return;
        }
        if from < stars {
            text[from..stars].fill(b'*');
        }
        if end < to {
            text[end..to].fill(b'*');
        }
        self.stars = (from.min(stars), to.max(end));
    }

    /// The rest, when the answer is at its end.
    pub(crate) fn end(&mut self) -> Vec<u8> {
        let mut text = std::mem::take(&mut *self.kept);
        let (mut undone, forms) = (std::mem::take(&mut self.undone), self.forms.clone());
        undone.end(&forms, &mut |from, to| self.star_at(&mut text, from, to));
        (self.at, self.passed, self.stars) = (0, 0, (0, 0));
        text
    }
}

#[cfg(test)]
#[path = "wash_tests.rs"]
mod tests;
