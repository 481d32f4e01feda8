//! `split` in the shape of GNU's: pieces of so many lines or bytes, or so many pieces.

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

use super::folders::reason;
use super::options::{self, Given, Known, Value};

/// The most files that one call makes.
const MOST: usize = 100_000;

const KNOWN: &[Known] = &[
    ('l', "lines", Value::Required),
    ('b', "bytes", Value::Required),
    ('C', "line-bytes", Value::Required),
    ('n', "number", Value::Required),
    ('a', "suffix-length", Value::Required),
    ('d', "", Value::None),
    ('\0', "numeric-suffixes", Value::Optional),
    ('x', "", Value::None),
    ('\0', "hex-suffixes", Value::Optional),
    ('\0', "additional-suffix", Value::Required),
    ('e', "elide-empty-files", Value::None),
    ('t', "separator", Value::Required),
    ('u', "unbuffered", Value::None),
    ('\0', "verbose", Value::None),
];

/// The command.
pub(super) struct Split;

/// How the input is taken apart.
#[derive(Clone, Copy)]
enum By {
    Lines(usize),
    Bytes(usize),
    /// Whole lines, at most so many bytes.
    LineBytes(usize),
    /// So many pieces of one size, of which the last may have more; which one goes to standard output, counted from 1; whether lines stay whole.
    Pieces {
        count: usize,
        only: Option<usize>,
        whole: bool,
    },
    /// Lines in turn.
    Turns {
        count: usize,
        only: Option<usize>,
    },
}

struct Settings {
    by: By,
    digits: &'static [u8],
    first: usize,
    length: Option<usize>,
    after: String,
    elide: bool,
    separator: u8,
    verbose: bool,
}

#[async_trait]
impl Builtin for Split {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let parsed = options::parse("split", KNOWN, &spelled_out(context.args))
            .and_then(|(given, names)| Ok((settings(&given).map_err(|why| format!("split: {why}"))?, names)));
        let (settings, names) = match parsed {
            Ok(parsed) => parsed,
            Err(why) => return Ok(ExecResult::err(format!("{why}\n"), 1)),
        };
        let (file, prefix) = match names.as_slice() {
            [] => ("-", "x"),
            [file] => (file.as_str(), "x"),
            [file, prefix] => (file.as_str(), prefix.as_str()),
            [_, _, extra, ..] => {
                return Ok(ExecResult::err(format!("split: extra operand '{extra}'\n"), 1));
            }
        };
        let read = match (file, context.stdin) {
            ("-", input) => Ok(input.map(|input| input.as_bytes().to_vec()).unwrap_or_default()),
            _ => context.fs.read_file(&context.cwd.join(file)).await,
        };
        let input = match read {
            Ok(input) => input,
            Err(error) => {
                let why = format!("split: cannot open '{file}' for reading: {}\n", reason(&error));
                return Ok(ExecResult::err(why, 1));
            }
        };
        let pieces = pieces(&input, &settings);
        if let By::Pieces { only: Some(only), .. } | By::Turns { only: Some(only), .. } = settings.by {
            return Ok(ExecResult::ok_bytes(pieces.into_iter().nth(only - 1).unwrap_or_default()));
        }
        let mut out = String::new();
        let wanted = pieces.iter().filter(|piece| !(settings.elide && piece.is_empty()));
        for (index, piece) in wanted.enumerate() {
            let Some(suffix) = suffix(index, &settings) else {
                return Ok(ExecResult::err("split: output file suffixes exhausted\n", 1));
            };
            let name = format!("{prefix}{suffix}{}", settings.after);
            if settings.verbose {
                out += &format!("creating file '{name}'\n");
            }
            if let Err(error) = context.fs.write_file(&context.cwd.join(&name), piece).await {
                return Ok(ExecResult::err(format!("split: {name}: {}\n", reason(&error)), 1));
            }
        }
        Ok(ExecResult::ok(out))
    }

    fn llm_hint(&self) -> Option<&'static str> {
        Some("split: -l -b -C -n [l/|r/][K/]N -a -d -x -e -t --additional-suffix --verbose")
    }
}

/// `-2` is `-l 2`.
fn spelled_out(words: &[String]) -> Vec<String> {
    let number = |word: &String| {
        let digits = word.strip_prefix('-').filter(|digits| !digits.is_empty())?;
        digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| format!("-l{digits}"))
    };
    words.iter().map(|word| number(word).unwrap_or_else(|| word.clone())).collect()
}

fn settings(given: &[Given]) -> std::result::Result<Settings, String> {
    let mut all = Settings {
        by: By::Lines(1000),
        digits: b"abcdefghijklmnopqrstuvwxyz",
        first: 0,
        length: None,
        after: String::new(),
        elide: false,
        separator: b'\n',
        verbose: false,
    };
    let mut ways = 0;
    for Given { letter, name, value } in given {
        let text = value.clone().unwrap_or_default();
        let count = |what: &str| {
            size(&text)
                .filter(|count| *count > 0)
                .ok_or_else(|| format!("invalid number of {what}: '{text}'"))
        };
        let first = || if text.is_empty() { Some(0) } else { text.parse().ok() };
        ways += usize::from(matches!(letter, 'l' | 'b' | 'C' | 'n'));
        match (letter, *name) {
            ('l', _) => all.by = By::Lines(count("lines")?),
            ('b', _) => all.by = By::Bytes(count("bytes")?),
            ('C', _) => all.by = By::LineBytes(count("bytes")?),
            ('n', _) => {
                all.by = chunks(&text).ok_or_else(|| format!("invalid number of chunks: '{text}'"))?
            }
            ('a', _) => {
                let length = text.parse().ok().filter(|length| *length <= 32);
                all.length = Some(length.ok_or_else(|| format!("invalid suffix length: '{text}'"))?);
            }
            ('d', _) | (_, "numeric-suffixes") => {
                all.digits = b"0123456789";
                all.first =
                    first().ok_or_else(|| format!("{text}: invalid start value for numerical suffix"))?;
            }
            ('x', _) | (_, "hex-suffixes") => {
                all.digits = b"0123456789abcdef";
                let start = if text.is_empty() { Ok(0) } else { usize::from_str_radix(&text, 16) };
                all.first =
                    start.map_err(|_| format!("{text}: invalid start value for hexadecimal suffix"))?;
            }
            (_, "additional-suffix") if text.contains('/') => {
                return Err(format!("invalid suffix '{text}', contains directory separator"));
            }
            (_, "additional-suffix") => all.after = text,
            ('e', _) => all.elide = true,
            ('t', _) => {
                all.separator = match text.as_bytes() {
                    b"\\0" => 0,
                    [one] => *one,
                    _ => return Err(format!("multi-character separator '{text}'")),
                };
            }
            (_, "verbose") => all.verbose = true,
            _ => {}
        }
    }
    if ways > 1 {
        return Err("cannot split in more than one way".into());
    }
    if let By::Pieces { count, .. } | By::Turns { count, .. } = all.by {
        let mut length = 2;
        while all.digits.len().checked_pow(length).is_some_and(|room| room < count.saturating_add(all.first))
        {
            length += 1;
        }
        all.length = all.length.filter(|length| *length > 0).or(usize::try_from(length).ok());
    }
    // A number that was given to begin with does not widen.
    if all.first > 0 && all.length.is_none() {
        all.length = Some(2);
    }
    all.length = all.length.filter(|length| *length > 0);
    Ok(all)
}

/// Such as `10`, `2K`, `1MB`.
fn size(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let power = |letter: u8| {
        (1..).zip(b"KMGTPE").find(|(_, one)| **one == letter.to_ascii_uppercase()).map(|(power, _)| power)
    };
    let factor = match unit.as_bytes() {
        [] => 1,
        b"b" => 512,
        [letter] | [letter, b'i', b'B'] => 1024_usize.checked_pow(power(*letter)?)?,
        [letter, b'B'] => 1000_usize.checked_pow(power(*letter)?)?,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(factor)
}

/// `N`, `K/N`, `l/N`, `l/K/N`, `r/N`, `r/K/N`
fn chunks(text: &str) -> Option<By> {
    let (way, rest) = match text.split_once('/') {
        Some((way @ ("l" | "r"), rest)) => (way, rest),
        _ => ("", text),
    };
    let (only, count) = match rest.split_once('/') {
        Some((only, count)) => (Some(only.parse().ok()?), size(count)?),
        None => (None, size(rest)?),
    };
    let fits = (1..=MOST).contains(&count) && only.is_none_or(|only: usize| (1..=count).contains(&only));
    fits.then_some(match way {
        "r" => By::Turns { count, only },
        _ => By::Pieces { count, only, whole: way == "l" },
    })
}

fn pieces(input: &[u8], settings: &Settings) -> Vec<Vec<u8>> {
    let lines = || input.split_inclusive(|byte| *byte == settings.separator);
    match settings.by {
        By::Bytes(size) => input.chunks(size).map(<[u8]>::to_vec).collect(),
        By::Lines(count) => {
            let mut pieces: Vec<Vec<u8>> = Vec::new();
            for (at, line) in lines().enumerate() {
                match pieces.last_mut().filter(|_| at % count != 0) {
                    Some(piece) => piece.extend_from_slice(line),
                    None => pieces.push(line.to_vec()),
                }
            }
            pieces
        }
        By::LineBytes(size) => {
            let mut pieces: Vec<Vec<u8>> = Vec::new();
            for line in lines() {
                match pieces.last_mut().filter(|piece| piece.len() + line.len() <= size) {
                    Some(piece) => piece.extend_from_slice(line),
                    None => pieces.extend(line.chunks(size).map(<[u8]>::to_vec)),
                }
            }
            pieces
        }
        By::Turns { count, .. } => {
            let mut pieces = vec![Vec::new(); count];
            for (at, line) in lines().enumerate() {
                pieces[at % count].extend_from_slice(line);
            }
            pieces
        }
        By::Pieces { count, whole, .. } => {
            // The last one has what is left over.
            let size = (input.len() / count).max(1);
            let end = |piece: usize| if piece == count { input.len() } else { input.len().min(piece * size) };
            if !whole {
                return (0..count).map(|piece| input[end(piece)..end(piece + 1)].to_vec()).collect();
            }
            // A line belongs to the piece that it begins in.
            let mut pieces = vec![Vec::new(); count];
            let (mut at, mut piece) = (0, 0);
            for line in lines() {
                while at >= end(piece + 1) {
                    piece += 1;
                }
                pieces[piece].extend_from_slice(line);
                at += line.len();
            }
            pieces
        }
    }
}

/// The end of the name of a piece; none: there are no more.
fn suffix(index: usize, settings: &Settings) -> Option<String> {
    let (base, mut number) = (settings.digits.len(), index.checked_add(settings.first)?);
    if index >= MOST {
        return None;
    }
    let last = char::from(*settings.digits.last()?);
    let mut text = String::new();
    let length = match settings.length {
        Some(length) => length,
        // Where the names of a length are used up but for those that begin with the last letter, these go on, longer.
        None => {
            let mut length = 2;
            loop {
                let room = (base - 1) * base.checked_pow(length - 1)?;
                if number < room {
                    break;
                }
                number -= room;
                length += 1;
                text.push(last);
            }
            usize::try_from(length).ok()?
        }
    };
    let mut digits = vec![0; length];
    for digit in digits.iter_mut().rev() {
        *digit = settings.digits[number % base];
        number /= base;
    }
    (number == 0).then(|| text + &String::from_utf8_lossy(&digits))
}
