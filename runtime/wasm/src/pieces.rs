//! Bulk operations on memory, in pieces: what a guest does in one instruction holds no thread.
//!
//! `memory.fill`, `memory.copy` and `memory.init` are calls of the C library in the engine, which no epoch interrupts: filling
//! 400 MiB held a thread for as long as it took, past any deadline. So before a component is compiled, each of them becomes
//! a call of a function that is added at the module's end ([`functions`]): it does at most [`PIECE`] bytes at a time, and the
//! engine looks at the clock between two. Nothing else changes: no index, no other byte of a body, no other section.

mod functions;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use wasm_encoder::Encode as _;
use wasmparser::{
    BinaryReader, BinaryReaderError, CodeSectionReader, DataSectionReader, FunctionBody, ImportSectionReader,
    Operator, TypeRef, TypeSectionReader,
};

/// Bytes that are filled or copied before the engine looks at the clock: well below a millisecond, when each page is new as well.
const PIECE: u32 = 1 << 20;
/// The form of what is added, for the names of artifacts: one that was compiled from another form must not be found.
pub(crate) const FORM: &str = "pieces-1";

/// Components in components that are followed.
const MAX_DEPTH: usize = 100;
/// The bytes before the first section: the magic number, and the version and layer.
const PREAMBLE: usize = 8;
/// What tells a component from a module: the layer.
const LAYER: usize = 6;

/// Sections of a component that hold code.
mod in_component {
    pub(super) const MODULE: u8 = 1;
    pub(super) const COMPONENT: u8 = 4;
}

/// Sections of a module.
mod in_module {
    pub(super) const TYPE: u8 = 1;
    pub(super) const IMPORT: u8 = 2;
    pub(super) const FUNCTION: u8 = 3;
    pub(super) const CODE: u8 = 10;
    pub(super) const DATA: u8 = 11;
}

/// Why bytes were not rewritten.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unread {
    /// They are not WebAssembly.
    #[error(transparent)]
    Malformed(#[from] BinaryReaderError),
    /// Nobody makes such components.
    #[error("components lie in each other more than {MAX_DEPTH} deep")]
    TooDeep,
}

/// A bulk operation on the one memory that a module has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Bulk {
    Fill,
    Copy,
    /// From this data segment.
    Init(u32),
}

/// The component, or the module, with its bulk operations in pieces.
///
/// # Errors
/// Where the bytes are not WebAssembly, or components lie in each other more than 100 deep. Not all that the engine refuses
/// is found here.
pub(crate) fn rewrite(wasm: &[u8]) -> Result<Cow<'_, [u8]>, Unread> {
    if wasm.get(LAYER) == Some(&1) { component(wasm, 0) } else { module(wasm) }
}

/// A section as it stands: its id and its content.
type Section<'a> = (u8, &'a [u8]);

fn sections(wasm: &[u8]) -> Result<Vec<Section<'_>>, BinaryReaderError> {
    let mut reader = BinaryReader::new(wasm, 0);
    reader.read_bytes(PREAMBLE)?;
    let mut found = Vec::new();
    while !reader.eof() {
        let id = reader.read_u8()?;
        let size = reader.read_var_u32()?;
        found.push((id, reader.read_bytes(size as usize)?));
    }
    Ok(found)
}

/// The bytes with these sections in the place of their own.
fn assembled<'a>(wasm: &[u8], sections: impl IntoIterator<Item = (u8, Cow<'a, [u8]>)>) -> Cow<'static, [u8]> {
    let mut whole = Vec::with_capacity(wasm.len() + wasm.len() / 64);
    whole.extend_from_slice(&wasm[..PREAMBLE]);
    for (id, content) in sections {
        whole.push(id);
        content[..].encode(&mut whole);
    }
    Cow::Owned(whole)
}

fn component(wasm: &[u8], depth: usize) -> Result<Cow<'_, [u8]>, Unread> {
    if depth > MAX_DEPTH {
        return Err(Unread::TooDeep);
    }
    let mut changed = false;
    let mut rewritten = Vec::new();
    for (id, content) in sections(wasm)? {
        let content = match id {
            in_component::MODULE => module(content)?,
            in_component::COMPONENT => component(content, depth + 1)?,
            _ => Cow::Borrowed(content),
        };
        changed |= matches!(content, Cow::Owned(_));
        rewritten.push((id, content));
    }
    Ok(if changed { assembled(wasm, rewritten) } else { Cow::Borrowed(wasm) })
}

fn module(wasm: &[u8]) -> Result<Cow<'_, [u8]>, Unread> {
    let sections = sections(wasm)?;
    let content = |wanted: u8| sections.iter().find(|(id, _)| *id == wanted).map(|(_, content)| *content);
    let (Some(types), Some(functions), Some(code)) =
        (content(in_module::TYPE), content(in_module::FUNCTION), content(in_module::CODE))
    else {
        return Ok(Cow::Borrowed(wasm));
    };
    let mut known = 0u32;
    for group in TypeSectionReader::new(BinaryReader::new(types, 0))? {
        known = known.saturating_add(u32::try_from(group?.types().len()).unwrap_or(u32::MAX));
    }
    let large = content(in_module::DATA).map(large_segments).transpose()?.unwrap_or_default();
    let mut first = BinaryReader::new(functions, 0).read_var_u32()?;
    if let Some(imports) = content(in_module::IMPORT) {
        for import in ImportSectionReader::new(BinaryReader::new(imports, 0))?.into_imports() {
            if matches!(import?.ty, TypeRef::Func(_) | TypeRef::FuncExact(_)) {
                first = first.saturating_add(1);
            }
        }
    }
    let mut added = Added { first, large: &large, functions: BTreeMap::new() };
    let mut bodies = Vec::new();
    for body in CodeSectionReader::new(BinaryReader::new(code, 0))? {
        bodies.push(added.body(&body?)?);
    }
    if added.functions.is_empty() {
        return Ok(Cow::Borrowed(wasm));
    }
    let new = added.in_order();
    let new_types = longer(types, &[functions::ty()])?;
    let mut index = Vec::new();
    known.encode(&mut index);
    let new_functions = longer(functions, &vec![index; new.len()])?;
    let mut new_code = Vec::with_capacity(code.len() + code.len() / 16);
    (bodies.len() + new.len()).encode(&mut new_code);
    for body in &bodies {
        body[..].encode(&mut new_code);
    }
    for bulk in new {
        functions::body(bulk).encode(&mut new_code);
    }
    let mut replaced = BTreeMap::from([
        (in_module::TYPE, new_types),
        (in_module::FUNCTION, new_functions),
        (in_module::CODE, new_code),
    ]);
    let rewritten = sections.iter().map(|(id, content)| {
        // A section that stands there twice is refused by the engine.
        (*id, replaced.remove(id).map_or(Cow::Borrowed(*content), Cow::Owned))
    });
    Ok(assembled(wasm, rewritten))
}

/// The segments from which more than a piece can be copied.
fn large_segments(content: &[u8]) -> Result<Vec<u32>, BinaryReaderError> {
    let mut large = Vec::new();
    for (index, segment) in (0..).zip(DataSectionReader::new(BinaryReader::new(content, 0))?) {
        if segment?.data.len() > PIECE as usize {
            large.push(index);
        }
    }
    Ok(large)
}

/// A section's content, a list, with more entries at its end.
fn longer(content: &[u8], entries: &[Vec<u8>]) -> Result<Vec<u8>, BinaryReaderError> {
    let mut reader = BinaryReader::new(content, 0);
    let count = reader.read_var_u32()? as usize;
    let mut list = Vec::with_capacity(content.len() + 8);
    (count + entries.len()).encode(&mut list);
    list.extend_from_slice(&content[reader.current_position()..]);
    for entry in entries {
        list.extend_from_slice(entry);
    }
    Ok(list)
}

/// The functions that a module gets.
struct Added<'a> {
    /// The index of the first.
    first: u32,
    large: &'a [u32],
    /// Which have been called, and how many there were before each.
    functions: BTreeMap<Bulk, u32>,
}

impl Added<'_> {
    /// A body with calls in the place of its bulk operations. Its other bytes stay as they are: nothing in a body names an
    /// offset in it.
    fn body<'b>(&mut self, body: &FunctionBody<'b>) -> Result<Cow<'b, [u8]>, BinaryReaderError> {
        let bytes = body.as_bytes();
        if !may_hold_bulk(bytes) {
            return Ok(Cow::Borrowed(bytes));
        }
        let start = body.range().start;
        let mut operators = body.get_operators_reader()?;
        let mut changed = Vec::new();
        let mut copied = 0;
        while !operators.eof() {
            let (operator, at) = operators.read_with_offset()?;
            let Some(bulk) = self.bulk(&operator) else { continue };
            changed.extend_from_slice(&bytes[copied..at - start]);
            copied = operators.original_position() - start;
            wasm_encoder::Instruction::Call(self.index(bulk)).encode(&mut changed);
        }
        if copied == 0 {
            return Ok(Cow::Borrowed(bytes));
        }
        changed.extend_from_slice(&bytes[copied..]);
        Ok(Cow::Owned(changed))
    }

    /// What is to be done in pieces. The engine knows one memory, 0, and refuses what names another.
    fn bulk(&self, operator: &Operator<'_>) -> Option<Bulk> {
        match *operator {
            Operator::MemoryFill { mem: 0 } => Some(Bulk::Fill),
            Operator::MemoryCopy { dst_mem: 0, src_mem: 0 } => Some(Bulk::Copy),
            Operator::MemoryInit { data_index, mem: 0 } if self.large.contains(&data_index) => {
                Some(Bulk::Init(data_index))
            }
            _ => None,
        }
    }

    fn index(&mut self, bulk: Bulk) -> u32 {
        let next = u32::try_from(self.functions.len()).unwrap_or(u32::MAX);
        self.first.saturating_add(*self.functions.entry(bulk).or_insert(next))
    }

    /// What the functions do, in the order of their indices.
    fn in_order(&self) -> Vec<Bulk> {
        let mut order: Vec<_> = self.functions.iter().map(|(bulk, number)| (*number, *bulk)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, bulk)| bulk).collect()
    }
}

/// Whether a body's bytes can be those of a bulk operation: the prefix, and the first byte of the number, written in full or longer
/// than it has to be.
fn may_hold_bulk(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair[0] == 0xfc && matches!(pair[1] & 0x7f, 8 | 10 | 11))
}
