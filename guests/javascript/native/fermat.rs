//! Fermat's test of a number to the base of two, which a search for primes makes a thousand times. It only says which numbers are worth a look: what
//! it lets through is tested by the powers of [`crate::pairs`].
//!
//! Montgomery's squaring, with limbs of 28 bits, so that columns of products fit in 64 bits without carries. The powers stay below four times the
//! number, for which there is room: the limbs have at least four bits more than it.

use rsa::BigUint;

const BITS: usize = 28;
const MASK: u64 = (1 << BITS) - 1;

/// Limbs of which columns still fit: each holds two products of 56 bits for each limb.
const MOST: usize = 126;

/// Whether 2 to the power of `number - 1` is 1, modulo the number; None: it is even or too long.
pub(crate) fn looks_prime(number: &BigUint) -> Option<bool> {
    let two = BigUint::from(2_u8);
    let limbs = (number.bits() + 4).div_ceil(BITS);
    if number.bits() < 3 || limbs > MOST || (number % &two) == BigUint::from(0_u8) {
        return None;
    }
    let one = (BigUint::from(1_u8) << (limbs * BITS)) % number;
    let modulus = split(number, limbs);
    let inverse = inverse(modulus[0]);
    let exponent = number - 1_u8;
    let bytes = exponent.to_bytes_be();
    let is_set = |at: usize| (bytes[bytes.len() - 1 - at / 8] >> (at % 8)) & 1 == 1;
    let mut power = split(&one, limbs);
    let mut columns = vec![0_u64; 2 * limbs];
    for at in (0..exponent.bits()).rev() {
        square(&mut power, &modulus, inverse, &mut columns);
        if is_set(at) {
            carry(power.iter_mut(), |limb| *limb * 2);
        }
    }
    Some(joined(&power) % number == one)
}

fn split(number: &BigUint, limbs: usize) -> Vec<u64> {
    let bytes = number.to_bytes_le();
    let bit = |at: usize| u64::from(bytes.get(at / 8).is_some_and(|byte| (byte >> (at % 8)) & 1 == 1));
    (0..limbs).map(|limb| (0..BITS).map(|at| bit(limb * BITS + at) << at).sum()).collect()
}

fn joined(limbs: &[u64]) -> BigUint {
    limbs.iter().rev().fold(BigUint::from(0_u8), |number, &limb| (number << BITS) + limb)
}

/// What times the odd number is -1, modulo 2 to the power of [`BITS`].
fn inverse(odd: u64) -> u64 {
    let found =
        (0..5).fold(1_u64, |found, _| found.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(found))));
    found.wrapping_neg() & MASK
}

/// Makes limbs of 28 bits of values that are longer.
fn carry<'a>(limbs: impl Iterator<Item = &'a mut u64>, value: impl Fn(&u64) -> u64) {
    let mut rest = 0;
    for limb in limbs {
        let sum = value(limb) + rest;
        *limb = sum & MASK;
        rest = sum >> BITS;
    }
}

fn square(power: &mut [u64], modulus: &[u64], inverse: u64, columns: &mut [u64]) {
    let limbs = power.len();
    columns.fill(0);
    for (at, &limb) in power.iter().enumerate() {
        columns[2 * at] += limb * limb;
        add(&mut columns[2 * at + 1..at + limbs], &power[at + 1..], 2 * limb);
    }
    for at in 0..limbs {
        let factor = ((columns[at] & MASK) * inverse) & MASK;
        add(&mut columns[at..at + limbs], modulus, factor);
        columns[at + 1] += columns[at] >> BITS;
    }
    power.copy_from_slice(&columns[limbs..]);
    carry(power.iter_mut(), |&limb| limb);
}

fn add(columns: &mut [u64], limbs: &[u64], factor: u64) {
    for (column, limb) in columns.iter_mut().zip(limbs) {
        *column += factor * limb;
    }
}
