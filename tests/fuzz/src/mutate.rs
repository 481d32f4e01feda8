//! Changes inputs. The same seed always makes the same inputs.

/// Numbers at which readers change their minds.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "1",
    "127",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "9007199254740992",
    "9223372036854775808",
    "18446744073709551615",
    "1e999",
];
/// Bytes that mean something in most formats.
const BYTES: &[u8] = b"\0\x01\x1e\x7f\x80\xc0\xff\n\r\t \"'\\/.,:;{}[]()<>=&%#@*-+0129azAZ";

/// SplitMix64: small numbers whose whole sequence follows from a seed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to, not including, `bound`; 0 for a bound of 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or_default()
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}

/// One of `inputs`, changed in one to five places. Not longer than `longest`.
pub fn mutated(random: &mut Random, inputs: &[Vec<u8>], words: &[&str], longest: usize) -> Vec<u8> {
    let mut bytes = random.pick(inputs).cloned().unwrap_or_default();
    for _ in 0..=random.below(5) {
        change(random, &mut bytes, inputs, words);
    }
    bytes.truncate(longest);
    bytes
}

fn change(random: &mut Random, bytes: &mut Vec<u8>, inputs: &[Vec<u8>], words: &[&str]) {
    let at = random.below(bytes.len() + 1);
    let rest = bytes.len() - at;
    // Mostly few bytes, sometimes many.
    let most = if random.below(4) == 0 { rest } else { rest.min(16) };
    let end = at + random.below(most + 1);
    let put = |bytes: &mut Vec<u8>, end: usize, new: &[u8]| drop(bytes.splice(at..end, new.iter().copied()));
    match random.below(12) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.byte();
            }
        }
        2 => {
            let byte = random.pick(BYTES).copied().unwrap_or_default();
            let new = vec![byte; 1 + random.below(3)];
            put(bytes, at + random.below(2).min(rest), &new);
        }
        3 => put(bytes, end, &[]),
        4 => {
            let piece = bytes[at..end].to_vec();
            let new = piece.repeat(1 + random.below(4));
            put(bytes, at, &new);
        }
        5 => {
            let from = random.below(bytes.len() + 1);
            let piece = bytes[from..].iter().copied().take(end - at).collect::<Vec<_>>();
            put(bytes, end, &piece);
        }
        6 => {
            let other = random.pick(inputs).cloned().unwrap_or_default();
            let from = random.below(other.len() + 1);
            let piece = other.get(from..from + random.below(other.len() - from + 1)).unwrap_or_default();
            put(bytes, end, piece);
        }
        7 | 8 => {
            let word = random.pick(words).copied().unwrap_or_default();
            let end = if random.below(2) == 0 { at } else { end };
            put(bytes, end, word.as_bytes());
        }
        9 => {
            let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = random.pick(&NUMBERS).copied().unwrap_or_default();
            put(bytes, at + digits, number.as_bytes());
        }
        10 => {
            let number = random.next().to_le_bytes();
            let width = [1, 2, 4, 8][random.below(4)];
            let number = if random.below(3) == 0 { [0xff; 8] } else { number };
            put(bytes, at + width.min(rest), &number[..width]);
        }
        _ => bytes.truncate(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_inputs_and_none_is_too_long() {
        let inputs = [b"{\"a\": 12}".to_vec(), Vec::new(), vec![7; 100]];
        let made = |seed| {
            let mut random = Random::new(seed);
            (0..5_000).map(|_| mutated(&mut random, &inputs, &["word"], 90)).collect::<Vec<_>>()
        };
        let one = made(1);
        assert_eq!(one, made(1));
        assert_ne!(one, made(2));
        assert!(one.iter().all(|input| input.len() <= 90));
        assert!(one.iter().any(|input| input.windows(4).any(|part| part == b"word")));
    }
}
