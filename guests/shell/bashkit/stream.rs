//! Bytes that pass between commands, in place of bashkit's own `StreamData`: one buffer that all holders share, and a
//! place in it where the data begins. A copy and a step forward cost nothing, so a loop over `read` is linear.
//!
//! Commands that work on text see a byte that is no UTF-8 as one character of a private range, [`decode`]; what they
//! write goes back to that byte, [`encode`]. So `sed`, `sort` or a variable keep bytes that they do not understand.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::limits::{BudgetedBytes, BudgetedString, ExecutionBudget, ExecutionBudgetLease, LimitExceeded};

/// What accounts for a stream's storage.
pub(crate) type StreamStorage = [Option<ExecutionBudgetLease>; 2];

/// The characters that stand for the bytes 0x80 to 0xff begin at this plus 0x80.
const STAND_INS: u32 = 0x10_fe00;
/// The first bytes of each of them in UTF-8; 0xba or 0xbb and one more follow.
const MARK: [u8; 2] = [0xf4, 0x8f];

/// Text of bytes: what is no UTF-8, and what looks like a stand-in, becomes stand-ins, byte by byte.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !has_stand_in(bytes) => return Cow::Borrowed(text),
        _ => {}
    }
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 4);
    let escape = |text: &mut String, bytes: &[u8]| {
        text.extend(bytes.iter().filter_map(|byte| char::from_u32(STAND_INS + u32::from(*byte))));
    };
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match stood_for(character) {
                None => text.push(character),
                Some(_) => escape(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        escape(&mut text, chunk.invalid());
    }
    Cow::Owned(text)
}

/// The bytes of a text: stand-ins become the bytes that they stand for.
pub(crate) fn encode(text: &str) -> Cow<'_, [u8]> {
    if !has_stand_in(text.as_bytes()) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match stood_for(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

fn stood_for(character: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(character).checked_sub(STAND_INS)?).ok()?;
    (byte >= 0x80).then_some(byte)
}

fn has_stand_in(bytes: &[u8]) -> bool {
    bytes.contains(&MARK[0]) && bytes.windows(3).any(|three| three[..2] == MARK && matches!(three[2], 0xba | 0xbb))
}

#[derive(Clone, Default)]
enum Store {
    #[default]
    Empty,
    /// Bytes that are UTF-8 and hold no stand-in.
    Text(Arc<String>),
    /// Any bytes.
    Bytes(Arc<Vec<u8>>),
}

/// Data of a stream. The bytes count; text is what a reader of text sees of them.
#[derive(Clone, Default)]
pub struct StreamData {
    store: Store,
    /// Where the data begins; in a text between two characters.
    start: usize,
    /// What a reader of text sees of `Store::Bytes`, once one has asked.
    seen: OnceLock<Arc<String>>,
}

impl StreamData {
    pub(crate) fn from_admitted_bytes(
        bytes: Vec<u8>,
        budget: &ExecutionBudget,
    ) -> Result<(Self, Option<ExecutionBudgetLease>), LimitExceeded> {
        budget.consume_work(1 + bytes.len().div_ceil(1024) as u64)?;
        budget.consume_input(bytes.len())?;
        Ok((Self::from(bytes), None))
    }

    pub(crate) fn try_clone_budgeted(
        &self,
        budget: &ExecutionBudget,
    ) -> Result<(Self, StreamStorage), LimitExceeded> {
        budget.consume_work(1)?;
        Ok((self.clone(), [None, None]))
    }

    pub(crate) fn from_budgeted_string(
        text: BudgetedString,
        budget: Option<&ExecutionBudget>,
    ) -> Result<(Self, StreamStorage), LimitExceeded> {
        if let Some(budget) = budget {
            budget.consume_work(1)?;
        }
        let (text, storage) = text.into_parts();
        Ok((Self::from(text), [storage, None]))
    }

    pub(crate) fn from_budgeted_bytes(
        bytes: BudgetedBytes,
        budget: &ExecutionBudget,
    ) -> Result<(Self, StreamStorage), LimitExceeded> {
        budget.consume_work(1 + bytes.len().div_ceil(1024) as u64)?;
        let (bytes, storage) = bytes.into_parts();
        Ok((Self::from(bytes), [storage, None]))
    }

    pub const fn new() -> Self {
        Self { store: Store::Empty, start: 0, seen: OnceLock::new() }
    }

    pub fn as_bytes(&self) -> &[u8] {
        match &self.store {
            Store::Empty => &[],
            Store::Text(text) => &text.as_bytes()[self.start..],
            Store::Bytes(bytes) => &bytes[self.start..],
        }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = match self.store {
            Store::Empty => Vec::new(),
            Store::Text(text) => Arc::unwrap_or_clone(text).into_bytes(),
            Store::Bytes(bytes) => Arc::unwrap_or_clone(bytes),
        };
        bytes.drain(..self.start);
        bytes
    }

    pub fn text(&self) -> Result<&str, std::str::Utf8Error> {
        match &self.store {
            Store::Text(text) => Ok(&text[self.start..]),
            _ => std::str::from_utf8(self.as_bytes()),
        }
    }

    pub fn text_lossy(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }

    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    pub(crate) fn retained_len(&self) -> usize {
        self.len()
    }

    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    pub(crate) fn append(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            *self = other.clone();
            return;
        }
        self.seen.take();
        match (&mut self.store, &other.store) {
            (Store::Text(text), Store::Text(_)) => Arc::make_mut(text).push_str(other),
            (Store::Bytes(bytes), _) => Arc::make_mut(bytes).extend_from_slice(other.as_bytes()),
            _ => {
                let mut bytes = std::mem::take(self).into_bytes();
                bytes.extend_from_slice(other.as_bytes());
                self.store = Store::Bytes(Arc::new(bytes));
            }
        }
    }

    pub(crate) fn append_text(&mut self, text: &str) {
        match &mut self.store {
            Store::Text(own) if !has_stand_in(text.as_bytes()) => Arc::make_mut(own).push_str(text),
            _ => self.append(&Self::from(text)),
        }
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        self.append_text(text);
    }

    pub(crate) fn push_byte(&mut self, byte: u8) {
        self.append(&Self::from(vec![byte]));
    }

    pub(crate) fn prefix(&self, limit: usize) -> Self {
        Self::from(&self.as_bytes()[..self.len().min(limit)])
    }

    /// The bytes after the first `start`.
    pub(crate) fn suffix_from(&self, start: usize) -> Self {
        let mut rest = self.clone();
        rest.advance(start);
        rest
    }

    /// Takes the first `count` bytes out.
    pub(crate) fn split_front(&mut self, count: usize) -> Self {
        let front = self.prefix(count);
        self.advance(count);
        front
    }

    fn advance(&mut self, count: usize) {
        let count = count.min(self.len());
        self.seen.take();
        match &self.store {
            Store::Text(text) if !text.is_char_boundary(self.start + count) => {
                self.store = Store::Bytes(Arc::new(self.as_bytes()[count..].to_vec()));
                self.start = 0;
            }
            _ => self.start += count,
        }
    }

    /// Shell variables cannot contain NUL. This is the command-substitution text boundary.
    pub(crate) fn command_substitution_text(&self) -> String {
        match &self.store {
            Store::Text(_) if !self.as_bytes().contains(&0) => self.to_string(),
            _ => {
                let bytes: Vec<u8> = self.as_bytes().iter().copied().filter(|byte| *byte != 0).collect();
                decode(&bytes).into_owned()
            }
        }
    }

    /// Bytes that were made of text and of bytes: stand-ins become the bytes that they stand for.
    pub(crate) fn from_mixed(bytes: Vec<u8>) -> Self {
        if !has_stand_in(&bytes) {
            return Self::from(bytes);
        }
        let mut whole = Vec::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            whole.extend_from_slice(&encode(chunk.valid()));
            whole.extend_from_slice(chunk.invalid());
        }
        Self::from(whole)
    }
}

impl std::ops::Deref for StreamData {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.store {
            Store::Empty => "",
            Store::Text(text) => &text[self.start..],
            Store::Bytes(bytes) => {
                self.seen.get_or_init(|| Arc::new(decode(&bytes[self.start..]).into_owned()))
            }
        }
    }
}

impl fmt::Debug for StreamData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StreamData").field(&self.text_lossy()).finish()
    }
}

impl fmt::Display for StreamData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl From<Vec<u8>> for StreamData {
    fn from(bytes: Vec<u8>) -> Self {
        let store = match String::from_utf8(bytes) {
            Ok(text) if has_stand_in(text.as_bytes()) => Store::Bytes(Arc::new(text.into_bytes())),
            Ok(text) => Store::Text(Arc::new(text)),
            Err(error) => Store::Bytes(Arc::new(error.into_bytes())),
        };
        Self { store, ..Self::new() }
    }
}

impl From<String> for StreamData {
    fn from(text: String) -> Self {
        let store = match encode(&text) {
            Cow::Owned(bytes) => Store::Bytes(Arc::new(bytes)),
            Cow::Borrowed(_) => Store::Text(Arc::new(text)),
        };
        Self { store, ..Self::new() }
    }
}

impl From<&str> for StreamData {
    fn from(value: &str) -> Self {
        value.to_owned().into()
    }
}

impl From<&[u8]> for StreamData {
    fn from(value: &[u8]) -> Self {
        value.to_vec().into()
    }
}

impl From<&StreamData> for String {
    fn from(value: &StreamData) -> Self {
        value.to_string()
    }
}

impl Eq for StreamData {}

impl PartialEq for StreamData {
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (self.as_bytes(), other.as_bytes());
        std::ptr::eq(own, others) || own == others
    }
}

impl PartialEq<str> for StreamData {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for StreamData {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<String> for StreamData {
    fn eq(&self, other: &String) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<StreamData> for String {
    fn eq(&self, other: &StreamData) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<StreamData> for str {
    fn eq(&self, other: &StreamData) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl std::ops::Add<&StreamData> for StreamData {
    type Output = StreamData;

    fn add(mut self, rhs: &StreamData) -> Self::Output {
        self.append(rhs);
        self
    }
}

impl serde::Serialize for StreamData {
    fn serialize<S>(&self, serializer: S) -> Result<S::Ok, S::Error>
    where
        S: serde::Serializer,
    {
        serializer.serialize_str(self)
    }
}
