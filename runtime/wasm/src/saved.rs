//! A saved interpreter: what of its memory differs from the guest's image, and what it fits.

use std::iter::Peekable;
use std::slice;
use std::sync::Arc;

use dormouse_core::{Error, ErrorCode, GuestName, Result};
use dormouse_files::Held;
use sha2::{Digest as _, Sha256};

/// Granularity of saved memory, in bytes.
pub(crate) const PAGE: usize = 4096;

/// The bytes of a page, each combined with the image's by exclusive or: mostly zeroes.
pub(crate) type Page = Arc<[u8; PAGE]>;

/// Pages that are copied or compared without a pause, 2 MiB.
pub(crate) const TOGETHER: usize = 512;

static ZEROES: [u8; PAGE] = [0; PAGE];

/// First bytes of the form, with its version.
const MAGIC: &[u8; 8] = b"DMOUSE\x00\x02";
/// Bytes of the checksum at the end. It tells damage, not forgery: a checkpoint is as untrusted as its guest.
const DIGEST: usize = 32;
/// Largest memory that a checkpoint can speak of, in bytes.
pub(crate) const MAX_MEMORY: u64 = 4 << 30;

/// The state of an interpreter at rest. Plain data of the guest's: it holds no pointer of the host and gives a guest
/// nothing that it could not have computed itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedInterpreter {
    pub(crate) language: GuestName,
    /// SHA-256 of the guest whose image the pages belong to.
    pub(crate) guest: String,
    pub(crate) stack_pointer: u32,
    /// Size of the memory, in bytes.
    pub(crate) memory: u64,
    /// Page number and difference, ascending.
    pub(crate) pages: Vec<(u32, Page)>,
    /// Files that are open and cannot be opened again.
    pub(crate) closed: Vec<String>,
    /// What it has open of a sandbox's files.
    pub(crate) held: Vec<Held>,
}

/// How a memory differs from the image of its guest, found piece by piece.
pub(crate) struct Differences<'a> {
    known: Option<Peekable<slice::Iter<'a, (u32, Page)>>>,
    pages: Vec<(u32, Page)>,
}

impl<'a> Differences<'a> {
    /// Pages that are the same as in `before` are shared with it.
    pub(crate) fn beside(before: Option<&'a SavedInterpreter>) -> Self {
        Self { known: before.map(|before| before.pages.iter().peekable()), pages: Vec::new() }
    }

    /// Compares the pages `candidates`, ascending and after those before. Past the image's end is zero.
    pub(crate) fn add(&mut self, memory: &[u8], image: &[u8], candidates: &[u32]) {
        for number in candidates.iter().copied() {
            let start = number as usize * PAGE;
            let Some(now) = memory.get(start..start + PAGE) else { break };
            let then = image.get(start..start + PAGE).unwrap_or(&ZEROES);
            if now == then {
                continue;
            }
            let mut difference = [0; PAGE];
            for ((byte, now), then) in difference.iter_mut().zip(now).zip(then) {
                *byte = now ^ then;
            }
            let same = self.known.as_mut().and_then(|known| {
                while known.next_if(|(other, _)| *other < number).is_some() {}
                known.next_if(|(other, page)| *other == number && **page == difference)
            });
            self.pages.push((number, same.map_or_else(|| Arc::new(difference), |(_, page)| page.clone())));
        }
    }

    /// Page number and difference, ascending.
    pub(crate) fn into_pages(self) -> Vec<(u32, Page)> {
        self.pages
    }
}

impl SavedInterpreter {
    /// Pages of 4 KiB that differ from the guest's image.
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// The guest of the interpreter.
    pub fn guest(&self) -> &GuestName {
        &self.language
    }

    /// Paths of files that are open and will be closed in an interpreter that goes on from here: those of its own, which are no
    /// part of this.
    pub fn closed_files(&self) -> &[String] {
        &self.closed
    }

    /// As bytes: magic, language, guest, stack pointer, memory size, page numbers, pages, and the SHA-256 of all that;
    /// integers are little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        for text in [self.language.as_str(), &self.guest] {
            out.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
            out.extend_from_slice(text.as_bytes());
        }
        out.extend_from_slice(&self.stack_pointer.to_le_bytes());
        out.extend_from_slice(&self.memory.to_le_bytes());
        out.extend_from_slice(&(self.pages.len() as u64).to_le_bytes());
        for (number, _) in &self.pages {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for (_, page) in &self.pages {
            out.extend_from_slice(page.as_slice());
        }
        let digest = Sha256::digest(&out);
        out.extend_from_slice(&digest);
        out
    }

    /// Reads what [`SavedInterpreter::to_bytes`] wrote. The bytes may come from anywhere.
    ///
    /// # Errors
    /// `args_invalid`, saying what is wrong; nothing is allocated beyond the size of the input.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if !bytes.starts_with(MAGIC) {
            return Err(damaged("it does not begin as one, or is of another version"));
        }
        let end = bytes.len().checked_sub(DIGEST).ok_or_else(|| damaged("it ends early"))?;
        let (content, digest) = bytes.split_at(end);
        if Sha256::digest(content).as_slice() != digest {
            return Err(damaged("its content does not fit its checksum"));
        }
        let mut reader = Reader { rest: content.get(MAGIC.len()..).unwrap_or_default() };
        let language = GuestName::parse(reader.text()?)?;
        let guest = reader.text()?.to_owned();
        let stack_pointer = u32::from_le_bytes(reader.array()?);
        let memory = u64::from_le_bytes(reader.array()?);
        let count = u64::from_le_bytes(reader.array()?);
        if memory > MAX_MEMORY || memory % PAGE as u64 != 0 || count > memory / PAGE as u64 {
            return Err(damaged("its sizes are impossible"));
        }
        if (reader.rest.len() as u64) != count * (4 + PAGE as u64) {
            return Err(damaged("its length is not what it says"));
        }
        let mut numbers = Vec::with_capacity(reader.rest.len() / (4 + PAGE));
        for _ in 0..count {
            numbers.push(u32::from_le_bytes(reader.array()?));
        }
        let ascending = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending || numbers.last().is_some_and(|last| u64::from(*last) >= memory / PAGE as u64) {
            return Err(damaged("its page numbers are impossible"));
        }
        let pages = numbers
            .into_iter()
            .map(|number| Ok((number, Arc::new(reader.array()?))))
            .collect::<Result<_>>()?;
        Ok(Self { language, guest, stack_pointer, memory, pages, closed: Vec::new(), held: Vec::new() })
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or_else(|| damaged("it ends early"))?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| damaged("it ends early"))
    }

    fn text(&mut self) -> Result<&'a str> {
        let [len] = self.array()?;
        std::str::from_utf8(self.take(usize::from(len))?).map_err(|_| damaged("a name is not text"))
    }
}

fn damaged(why: &str) -> Error {
    Error::new(ErrorCode::ArgsInvalid, format!("this is not a checkpoint: {why}"))
        .with_hint("it was cut, changed, or made by another version; nothing was restored")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SavedInterpreter {
        SavedInterpreter {
            language: GuestName::python(),
            guest: "ab".repeat(32),
            stack_pointer: 1 << 20,
            memory: 1 << 20,
            pages: vec![(1, Arc::new([7; PAGE])), (255, Arc::new([9; PAGE]))],
            closed: Vec::new(),
            held: Vec::new(),
        }
    }

    #[test]
    fn a_checkpoint_reads_back_as_it_was() {
        let checkpoint = sample();
        assert_eq!(SavedInterpreter::from_bytes(&checkpoint.to_bytes()).unwrap(), checkpoint);
    }

    #[test]
    fn a_cut_or_changed_checkpoint_is_refused_at_every_byte() {
        let bytes = sample().to_bytes();
        let head = bytes.len() - 2 * PAGE - DIGEST;
        for end in (0..head).chain([bytes.len() - 1]) {
            assert!(SavedInterpreter::from_bytes(&bytes[..end]).is_err(), "cut at {end}");
        }
        for at in 0..MAGIC.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            assert!(SavedInterpreter::from_bytes(&changed).is_err());
        }
        // Impossible claims are refused although their checksum fits.
        let mut huge = bytes[..bytes.len() - DIGEST].to_vec();
        let count = head - 2 * 4 - 8;
        huge[count..count + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        let digest = Sha256::digest(&huge);
        huge.extend_from_slice(&digest);
        assert!(SavedInterpreter::from_bytes(&huge).is_err());
    }

    #[test]
    fn only_pages_that_differ_are_kept_and_shared_with_the_state_before() {
        let image = vec![1u8; 2 * PAGE];
        let mut memory = vec![1u8; 2 * PAGE];
        memory.extend_from_slice(&[0; 2 * PAGE]);
        memory[PAGE] = 2;
        memory[3 * PAGE] = 5;
        let numbers = |pages: &[(u32, Page)]| pages.iter().map(|(number, _)| *number).collect::<Vec<_>>();
        let mut first = sample();
        let found = |memory: &[u8], pieces: &[&[u32]], before| {
            let mut differences = Differences::beside(before);
            pieces.iter().for_each(|piece| differences.add(memory, &image, piece));
            differences.into_pages()
        };
        first.pages = found(&memory, &[&[0, 1], &[2, 3]], None);
        assert_eq!(numbers(&first.pages), [1, 3]);
        assert_eq!(first.pages[0].1[..2], [3, 0]);
        memory[2 * PAGE] = 1;
        memory[3 * PAGE] = 6;
        let second = found(&memory, &[&[0, 1, 2], &[3, 4, 5]], Some(&first));
        assert_eq!(numbers(&second), [1, 2, 3]);
        assert!(Arc::ptr_eq(&first.pages[0].1, &second[0].1), "page 1 is the same");
        assert_eq!(second[2].1[0], 6);
    }
}
