//! Which pages of a memory have been written, as the kernel knows.
//!
//! The memory of an instance is a private mapping of the guest's image. A page that was written is the process's own and
//! no longer the file's: `/proc/self/pagemap` says so, 8 bytes a page, and comparing is left to those pages alone. It may
//! name pages that were written and are the same again; it never leaves one out.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::LazyLock;

use crate::saved::PAGE;

/// Bytes of one page's entry.
const ENTRY: usize = 8;
/// The page is in memory.
const PRESENT: u64 = 1 << 63;
/// The page is in the swap.
const SWAPPED: u64 = 1 << 62;
/// The page is a file's, or shared: nobody has written it here.
const FILE: u64 = 1 << 61;

static PAGEMAP: LazyLock<Option<File>> = LazyLock::new(|| {
    let same = rustix::param::page_size() == PAGE;
    same.then(|| File::open("/proc/self/pagemap").ok()).flatten()
});

/// Gets ready what needs a descriptor, while there are some: without it all pages count as written.
pub(crate) fn prepare() {
    LazyLock::force(&PAGEMAP);
}

/// The numbers of the pages of `memory` that may have been written, ascending. All of them, where the kernel does not say.
pub(crate) fn pages(memory: &[u8]) -> Vec<u32> {
    let count = u32::try_from(memory.len() / PAGE).unwrap_or(u32::MAX);
    ask(memory, count).unwrap_or_else(|| (0..count).collect())
}

fn ask(memory: &[u8], count: u32) -> Option<Vec<u32>> {
    let pagemap = PAGEMAP.as_ref()?;
    let first = memory.as_ptr().addr() / PAGE;
    let mut entries = vec![0; count as usize * ENTRY];
    pagemap.read_exact_at(&mut entries, (first * ENTRY) as u64).ok()?;
    let (entries, _) = entries.as_chunks::<ENTRY>();
    let written = |entry: &[u8; ENTRY]| {
        let entry = u64::from_ne_bytes(*entry);
        entry & (PRESENT | SWAPPED) != 0 && entry & FILE == 0
    };
    Some((0..count).zip(entries).filter(|(_, entry)| written(entry)).map(|(number, _)| number).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_pages_are_named() {
        // Memory that another test gave back has been written before: all of it is kept until some is new.
        let mut taken = Vec::new();
        let mut new = false;
        while !new && taken.len() < 1_000 {
            let mut memory = vec![0u8; 64 * PAGE];
            let skip = memory.as_ptr().align_offset(PAGE);
            let shown = &mut memory[skip..skip + 32 * PAGE];
            for number in [3, 17, 31] {
                shown[number * PAGE + 5] = 1;
            }
            let named = pages(shown);
            assert!([3, 17, 31].iter().all(|number| named.contains(number)), "{named:?}");
            assert!(named.windows(2).all(|pair| pair[0] < pair[1]));
            new = named.len() < 32;
            taken.push(memory);
        }
        assert!(new || PAGEMAP.is_none(), "the kernel knows that most were not");
    }
}
