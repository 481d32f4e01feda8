//! OUT-08: the texts that a guest can answer with. Snippets can replace the interpreter's own encoder, so any bytes can come;
//! whatever they are, reading them takes bounded memory and bounded time, and ends in a value or an error, never in a panic.
//!
//! Texts are drawn from a seed, so that a failure repeats: [`make`] draws texts of the documented form, bends them, and builds those that
//! make the most of every byte. `DORMOUSE_ANSWERS=100000` draws that many instead of the usual ones, `DORMOUSE_SEED` others.

mod make;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dormouse::sandbox::Variable;
use dormouse::{Bounds, ErrorCode, Exception, Result, Value};
use dormouse_tests::lasting::Dice;
use peak_alloc::PeakAlloc;

use self::make::Maker;

/// Counts what this process has allocated.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;
/// What is counted is the whole process's: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Bytes that reading may hold for each byte of the text: a list of the shortest values, when it has just grown.
const FOR_A_BYTE: usize = 16;
/// Bytes that reading may hold besides: the error, and what any list begins with.
const BESIDES: usize = 32 << 10;
/// Time that reading may take for each MiB of text, on a machine that does other things besides, and for any text.
const FOR_A_MEBIBYTE: Duration = Duration::from_millis(500);
const AT_LEAST: Duration = Duration::from_secs(1);

/// Texts that are drawn, unless `DORMOUSE_ANSWERS` says otherwise.
const DRAWN: u64 = 20_000;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Reads a text and holds the reading to its bounds. An error must be that of a broken guest, with what to do.
#[track_caller]
fn bounded<T>(what: &str, text: &str, read: impl FnOnce(&str) -> Result<T>) -> Option<T> {
    let shown = || text.chars().take(200).collect::<String>();
    MEMORY.reset_peak_usage();
    let (before, begin) = (MEMORY.current_usage(), Instant::now());
    let done = read(text);
    let elapsed = begin.elapsed();
    let held = MEMORY.peak_usage().saturating_sub(before);
    assert!(
        held <= text.len() * FOR_A_BYTE + BESIDES,
        "{what}: {held} bytes were held for a text of {}: {}",
        text.len(),
        shown()
    );
    let most = AT_LEAST.max(FOR_A_MEBIBYTE * u32::try_from(text.len() >> 20).unwrap_or(u32::MAX));
    assert!(elapsed <= most, "{what}: {elapsed:?} for a text of {}: {}", text.len(), shown());
    match done {
        Ok(read) => Some(read),
        Err(error) => {
            assert_eq!(error.code(), ErrorCode::GuestTrap, "{what}: {error}: {}", shown());
            assert!(error.hint().is_some(), "{what}: {error}");
            None
        }
    }
}

/// Reads a text as everything that a guest can answer; how many of the readings found what they look for.
#[track_caller]
fn all(text: &str, bounds: &Bounds) -> u32 {
    let value = bounded("value", text, |text| Value::from_guest(text, bounds));
    if let Some(value) = &value {
        // What was taken is of the documented form: it is shown, and would be taken again.
        let shown = serde_json::to_string(value).expect("a value is JSON");
        assert!(
            shown.len() <= text.len() * 6 + 64,
            "{} bytes are shown of {}: {text:.200}",
            shown.len(),
            text.len()
        );
        let again =
            Value::from_guest(&shown, &Bounds::MAX).unwrap_or_else(|error| panic!("{error}: {shown:.200}"));
        assert_eq!(&again, value, "{shown:.200}");
    }
    let exception = bounded("exception", text, |text| Exception::from_guest(text, bounds));
    if let Some(exception) = &exception {
        let shown = serde_json::to_string(exception).expect("an exception is JSON");
        assert_eq!(&Exception::from_guest(&shown, &Bounds::MAX).expect("it is read again"), exception);
    }
    let variables = bounded("variables", text, |text| {
        serde_json::from_str::<Vec<Variable>>(text)
            .map_err(|error| dormouse::Error::new(ErrorCode::GuestTrap, error.to_string()).with_hint("-"))
    });
    u32::from(value.is_some()) + u32::from(exception.is_some()) + u32::from(variables.is_some())
}

#[test]
fn out_08_whatever_is_answered_is_read_in_bounded_memory_and_time() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (seed, count) = (number("DORMOUSE_SEED", 20_261_122), number("DORMOUSE_ANSWERS", DRAWN));
    let (mut whole, mut bent, mut tried) = (0, 0, 0);
    for turn in 0..count {
        let mut maker = Maker(Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(turn) | 1));
        let text = maker.answer();
        let bounds = maker.bounds();
        let found = all(&text, &Bounds::MAX);
        assert_eq!(found, 1, "turn {turn}: a text of the documented form is taken as one thing: {text:.300}");
        whole += found;
        all(&text, &bounds);
        for _ in 0..4 {
            let text = maker.bend(&text);
            bent += all(&text, &bounds);
            tried += 1;
        }
    }
    assert!(u64::from(whole) == count, "{whole} of {count} texts were taken");
    // Bending must neither spare everything nor break everything.
    assert!(bent > tried / 50 && bent < tried, "{bent} of {tried} bent texts were taken");
}

/// The most parts, the deepest nesting, the longest numbers: what costs most for its bytes.
#[test]
fn out_08_what_costs_most_for_its_bytes_is_bounded_too() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for bytes in [10_000, 300_000, 8 << 20, 20 << 20] {
        for (name, text) in make::costly(bytes) {
            for bounds in [Bounds::default(), Bounds::MAX] {
                let taken = all(&text, &bounds);
                let too_long = text.len() > bounds.exception_bytes();
                let variables = u32::from(text.starts_with("[{\"name\""));
                assert!(!too_long || taken == variables, "{name}: {} bytes were taken", text.len());
            }
        }
    }
}
