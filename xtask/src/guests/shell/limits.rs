//! Bounds of bashkit that the instance's memory and time replace: a command that stops at one gives a wrong answer. What could
//! hold an endless stream (`yes` that nobody reads, one regular expression) keeps one.

use super::once;
use crate::guests::tree::Edit;

pub(super) const EDITS: &[Edit] = &[
    once(
        "src/builtins/limits.rs",
        "pub(crate) const ARCHIVE_MAX_DECOMPRESSION_RATIO: usize = 100;",
        "pub(crate) const ARCHIVE_MAX_DECOMPRESSION_RATIO: usize = 1_100;",
    ),
    once(
        "src/builtins/limits.rs",
        r"pub(crate) const AWK_MAX_CALL_DEPTH: usize = 64;
/// awk: total output byte cap per invocation.
pub(crate) const AWK_MAX_OUTPUT_BYTES: usize = 10_000_000;",
        r"pub(crate) const AWK_MAX_CALL_DEPTH: usize = 256;
/// awk: total output byte cap per invocation.
pub(crate) const AWK_MAX_OUTPUT_BYTES: usize = 1 << 30;",
    ),
    once(
        "src/builtins/limits.rs",
        r"pub(crate) const AWK_MAX_GETLINE_FILE_BYTES: usize = 10_000_000;
/// awk: max total bytes retained by all `getline < file` inputs.
pub(crate) const AWK_MAX_GETLINE_CACHE_BYTES: usize = 10_000_000;
/// awk: max bytes in one string value (concat, sub/gsub/gensub, sprintf,
/// rebuilt `$0`). THREAT[TM-DOS-110].
pub(crate) const AWK_MAX_STRING_BYTES: usize = 16 * 1024 * 1024;",
        r"pub(crate) const AWK_MAX_GETLINE_FILE_BYTES: usize = 1 << 30;
/// awk: max total bytes retained by all `getline < file` inputs.
pub(crate) const AWK_MAX_GETLINE_CACHE_BYTES: usize = 1 << 30;
/// awk: max bytes in one string value (concat, sub/gsub/gensub, sprintf,
/// rebuilt `$0`). THREAT[TM-DOS-110].
pub(crate) const AWK_MAX_STRING_BYTES: usize = 1 << 30;",
    ),
    once(
        "src/builtins/limits.rs",
        "pub(crate) const EXPAND_MAX_OUTPUT_BYTES: usize = 1_048_576;",
        "pub(crate) const EXPAND_MAX_OUTPUT_BYTES: usize = 1 << 30;",
    ),
    once(
        "src/builtins/limits.rs",
        "pub(crate) const FIND_MAX_OUTPUT_BYTES: usize = 1_048_576;",
        "pub(crate) const FIND_MAX_OUTPUT_BYTES: usize = 1 << 30;",
    ),
    once(
        "src/builtins/limits.rs",
        r"pub(crate) const SED_MAX_CYCLE_STEPS: usize = 1_000;

/// sleep: max sleep duration.
pub(crate) const SLEEP_MAX_SECONDS: f64 = 60.0;",
        r"pub(crate) const SED_MAX_CYCLE_STEPS: usize = 100_000_000;

/// sleep: max sleep duration.
pub(crate) const SLEEP_MAX_SECONDS: f64 = 86_400.0;",
    ),
    once(
        "src/builtins/limits.rs",
        r"pub(crate) const YES_MAX_LINES: usize = 10_000;
pub(crate) const YES_MAX_OUTPUT_BYTES: usize = 1_048_576;

/// seq: max lines per invocation.
pub(crate) const SEQ_MAX_LINES: usize = 100_000;
/// seq: max output bytes per invocation.
pub(crate) const SEQ_MAX_OUTPUT_BYTES: usize = 1_048_576;

/// dd: max bytes one invocation moves (THREAT[TM-DOS-003]: `/dev/zero`
/// and `/dev/urandom` are unbounded sources).
pub(crate) const DD_MAX_BYTES: usize = 64 * 1024 * 1024;",
        r"pub(crate) const YES_MAX_LINES: usize = 1 << 23;
pub(crate) const YES_MAX_OUTPUT_BYTES: usize = 1 << 24;

/// seq: max lines per invocation.
pub(crate) const SEQ_MAX_LINES: usize = 1 << 30;
/// seq: max output bytes per invocation.
pub(crate) const SEQ_MAX_OUTPUT_BYTES: usize = 1 << 30;

/// dd: max bytes one invocation moves (THREAT[TM-DOS-003]: `/dev/zero`
/// and `/dev/urandom` are unbounded sources).
pub(crate) const DD_MAX_BYTES: usize = 1 << 30;",
    ),
    once(
        "src/interpreter/brace_expansion.rs",
        "const MAX_BRACE_EXPANSION_TOTAL: usize = 100_000;",
        "const MAX_BRACE_EXPANSION_TOTAL: usize = 10_000_000;",
    ),
    once(
        "src/interpreter/brace_expansion.rs",
        "const MAX_BRACE_RANGE: u64 = 10_000;",
        "const MAX_BRACE_RANGE: u64 = 10_000_000;",
    ),
    once(
        "src/interpreter/expansion.rs",
        "pub(crate) const MAX_EXPANSION_RESULT_BYTES: usize = 10 * 1024 * 1024;",
        "pub(crate) const MAX_EXPANSION_RESULT_BYTES: usize = 1 << 28;",
    ),
    once(
        "src/interpreter/mod.rs",
        "const MAX_GLOB_STEPS: usize = 100_000;",
        "const MAX_GLOB_STEPS: usize = 100_000_000;",
    ),
    once(
        "src/limits.rs",
        "const HARD_MAX_FUNCTION_DEPTH: usize = 16;",
        "const HARD_MAX_FUNCTION_DEPTH: usize = 200;",
    ),
    once(
        "src/parser/budget.rs",
        r"const MAX_LOOP_NESTING: usize = 10;

/// Maximum brace range size for static rejection.
const MAX_STATIC_BRACE_RANGE: u64 = 100_000;",
        r"const MAX_LOOP_NESTING: usize = 50;

/// Maximum brace range size for static rejection.
const MAX_STATIC_BRACE_RANGE: u64 = 10_000_000;",
    ),
];
