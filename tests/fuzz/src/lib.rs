//! Fuzz targets over the parsers and decoders that read hostile bytes. `docs/fuzzing.md` says how they are run.
//!
//! A target is a function that takes any bytes, gives them to one or a few readers, and panics when a promise is broken: no
//! panic below, bounded memory, and a property of what was accepted. One file each, in `targets`; `mutate` changes inputs,
//! `corpus` finds the kept ones, `chunks` writes saved state as one input.

mod chunks;
pub mod corpus;
pub mod mutate;
mod targets;

use peak_alloc::PeakAlloc;

pub use targets::TARGETS;

/// Counts the memory of all that runs.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What is fuzzed.
#[derive(Debug)]
pub struct Target {
    /// Its name, which is that of its file and of its folder in `corpus`.
    pub name: &'static str,
    /// What reads the bytes, for the list of targets.
    pub about: &'static str,
    /// Gives an input to the readers, and panics when a promise is broken.
    pub run: fn(&[u8]),
    /// Inputs that are made by the encoder itself, besides those of the corpus.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Words of the format, which are put into inputs.
    pub words: &'static [&'static str],
    /// Longest input, in bytes.
    pub longest: usize,
    /// Most memory that reading one input may take, in bytes.
    pub memory: usize,
}

impl Target {
    /// A target without words and seeds, whose inputs have at most 64 KiB and may take 64 MiB.
    const fn new(name: &'static str, about: &'static str, run: fn(&[u8])) -> Self {
        Self { name, about, run, seeds: Vec::new, words: &[], longest: 64 << 10, memory: 64 << 20 }
    }

    /// Runs an input and holds it to the bound of memory.
    ///
    /// # Panics
    /// When a promise is broken.
    pub fn check(&self, input: &[u8]) {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        (self.run)(input);
        let used = MEMORY.peak_usage().saturating_sub(before);
        assert!(used <= self.memory, "{used} bytes of memory for an input of {} bytes", input.len());
    }
}

/// The target of that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
