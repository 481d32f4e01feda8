//! Numbers of any size with a number of decimal places, as `bc` counts with them.

use num_bigint::{BigInt, Sign};

/// Digits that the functions of `-l` compute beyond those asked for.
const GUARD: usize = 12;

/// Nothing once a time limit is over. The functions that take it then have no result.
pub(super) type Going<'a> = &'a dyn Fn() -> Option<()>;

/// `value / 10^scale`
#[derive(Clone, Default)]
pub(super) struct Number {
    pub(super) value: BigInt,
    pub(super) scale: usize,
}

pub(super) fn ten(power: usize) -> BigInt {
    BigInt::from(10).pow(u32::try_from(power).unwrap_or(u32::MAX))
}

impl Number {
    pub(super) fn whole(value: impl Into<BigInt>) -> Self {
        Self { value: value.into(), scale: 0 }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.value.sign() == Sign::NoSign
    }

    /// With another number of places; what is beyond is cut off.
    pub(super) fn at(&self, scale: usize) -> Self {
        let value = match scale.checked_sub(self.scale) {
            Some(more) => &self.value * ten(more),
            None => &self.value / ten(self.scale - scale),
        };
        Self { value, scale }
    }

    fn paired(&self, other: &Self) -> (BigInt, BigInt, usize) {
        let scale = self.scale.max(other.scale);
        (self.at(scale).value, other.at(scale).value, scale)
    }

    pub(super) fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let (own, others, _) = self.paired(other);
        own.cmp(&others)
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let (own, others, scale) = self.paired(other);
        Self { value: own + others, scale }
    }

    pub(super) fn negative(&self) -> Self {
        Self { value: -&self.value, scale: self.scale }
    }

    pub(super) fn times(&self, other: &Self, scale: usize) -> Self {
        let whole = Self { value: &self.value * &other.value, scale: self.scale + other.scale };
        let places = whole.scale.min(scale.max(self.scale).max(other.scale));
        whole.at(places)
    }

    /// None: a division by zero.
    pub(super) fn over(&self, other: &Self, scale: usize) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let above = &self.value * ten(scale + other.scale);
        Some(Self { value: above / (&other.value * ten(self.scale)), scale })
    }

    pub(super) fn rest(&self, other: &Self, scale: usize) -> Option<Self> {
        let places = (scale + other.scale).max(self.scale);
        let part = self.over(other, scale)?;
        let product = Self { value: part.value * &other.value, scale: part.scale + other.scale };
        Some(self.plus(&product.negative()).at(places))
    }

    /// The exponent's fraction does not count. None: a division by zero, or a result beyond all memory.
    pub(super) fn power(&self, exponent: &Self, scale: usize) -> Option<Self> {
        let exponent = i64::try_from(exponent.at(0).value).ok()?;
        let times = u32::try_from(exponent.unsigned_abs()).ok()?;
        if self.value.bits().checked_mul(times.into())? > 1 << 28 {
            return None;
        }
        let whole = Self { value: self.value.pow(times), scale: self.scale * times as usize };
        match exponent {
            0.. => {
                let places = whole.scale.min(scale.max(self.scale));
                Some(whole.at(places))
            }
            _ => Self::whole(1).over(&whole, scale),
        }
    }

    /// None: it is negative.
    pub(super) fn root(&self, scale: usize) -> Option<Self> {
        let scale = scale.max(self.scale);
        let wide = self.at(2 * scale);
        (wide.value.sign() != Sign::Minus).then(|| Self { value: wide.value.sqrt(), scale })
    }

    /// All digits, without the point and without zeros before them.
    pub(super) fn length(&self) -> usize {
        self.value.magnitude().to_string().len().max(self.scale)
    }

    /// `e(x)`
    pub(super) fn exponential(&self, scale: usize, going: Going) -> Option<Self> {
        let size = usize::try_from(self.at(0).value.magnitude().bits()).ok().filter(|bits| *bits < 24)?;
        let places = scale + GUARD + (1 << size) / 2;
        // Of a small part of it, then squared as often as it was halved.
        let halvings = size + 4;
        let small = self.at(places + halvings).over(&Self::whole(1 << halvings), places + halvings)?;
        let (mut sum, mut term, mut step) = (Self::whole(1), Self::whole(1), 1);
        while !term.is_zero() {
            going()?;
            term = term
                .times(&small, places)
                .at(places + halvings)
                .over(&Self::whole(step), places + halvings)?;
            sum = sum.plus(&term);
            step += 1;
        }
        for _ in 0..halvings {
            sum = sum.times(&sum, places).at(places);
        }
        Some(sum.at(scale))
    }

    /// `l(x)`: by Newton's steps over `e(x)`.
    pub(super) fn logarithm(&self, scale: usize, going: Going) -> Option<Self> {
        if self.value.sign() != Sign::Plus {
            // What GNU's answers: a number below all others of its size.
            return Some(Self { value: BigInt::from(1) - ten(2 * scale), scale });
        }
        let places = scale + GUARD;
        // Roots until it is close to 1, then the series of artanh.
        let (one, mut near, mut roots) = (Self::whole(1), self.at(places * 2), 0_u32);
        let (low, high) = (Self { value: 9.into(), scale: 1 }, Self { value: 11.into(), scale: 1 });
        while near.compare(&low).is_lt() || near.compare(&high).is_gt() {
            near = near.root(places * 2)?;
            roots += 1;
        }
        let ratio = near.plus(&one.negative()).over(&near.plus(&one), places * 2)?;
        let squared = ratio.times(&ratio, places * 2).at(places * 2);
        let (mut sum, mut term, mut step) = (Self::default(), ratio, 1);
        while !term.is_zero() {
            going()?;
            sum = sum.plus(&term.over(&Self::whole(step), places * 2)?);
            term = term.times(&squared, places * 2).at(places * 2);
            step += 2;
        }
        Some(sum.times(&Self::whole(BigInt::from(2) << roots), places * 2).at(scale))
    }

    /// `a(x)`
    pub(super) fn arctangent(&self, scale: usize, going: Going) -> Option<Self> {
        let places = scale + GUARD;
        let (one, mut small, mut halvings) = (Self::whole(1), self.at(places), 0_u32);
        while small.value.magnitude() * 10_u32 > *ten(places).magnitude() {
            // a(x) = 2 a(x / (1 + sqrt(1 + x^2)))
            let squared = small.times(&small, places).at(places);
            small = small.over(&one.plus(&one.plus(&squared).root(places)?), places)?;
            halvings += 1;
        }
        let squared = small.times(&small, places).at(places);
        let (mut sum, mut term, mut step) = (Self::default(), small, 1);
        while !term.is_zero() {
            going()?;
            sum = sum.plus(&term.over(&Self::whole(step), places)?);
            term = term.times(&squared, places).at(places).negative();
            step += 2;
        }
        Some(sum.times(&Self::whole(BigInt::from(1) << halvings), places).at(scale))
    }

    /// `s(x)`, or `c(x)` a quarter turn on.
    pub(super) fn sine(&self, scale: usize, quarter: bool, going: Going) -> Option<Self> {
        let places = scale + GUARD + self.at(0).length();
        let half_turn = Self::whole(1).arctangent(places, going)?.times(&Self::whole(4), places);
        let shift = half_turn.over(&Self::whole(2), places)?;
        let angle = if quarter { self.at(places).plus(&shift) } else { self.at(places) };
        let turns = angle.plus(&shift).over(&half_turn, 0)?.value;
        let turns = if angle.plus(&shift).value.sign() == Sign::Minus { turns - 1 } else { turns };
        let small = angle.plus(&half_turn.times(&Self::whole(turns.clone()), places).negative());
        let squared = small.times(&small, places).at(places);
        let (mut sum, mut term, mut step) = (Self::default(), small.at(places), 1);
        while !term.is_zero() {
            going()?;
            sum = sum.plus(&term);
            let next = term.times(&squared, places).at(places);
            term = next.over(&Self::whole((step + 1) * (step + 2)), places)?.negative();
            step += 2;
        }
        let odd = turns % 2 != BigInt::ZERO;
        Some(if odd { sum.negative() } else { sum }.at(scale))
    }

    /// Digits as they are read in a base; none: they are no number.
    pub(super) fn read(text: &str, base: u32) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let one = text.len() == 1;
        let digit =
            |letter: char| letter.to_digit(16).map(|digit| if one { digit } else { digit.min(base - 1) });
        let number =
            |text: &str| text.chars().try_fold(BigInt::ZERO, |sum, one| Some(sum * base + digit(one)?));
        let whole = Self::whole(number(whole)?);
        let below = Self::whole(BigInt::from(base).pow(u32::try_from(fraction.len()).ok()?));
        let fraction = Self::whole(number(fraction)?).over(&below, fraction.len())?;
        Some(whole.plus(&fraction))
    }

    /// As `bc` shows it in a base.
    pub(super) fn shown(&self, base: u32) -> String {
        if self.is_zero() {
            return "0".into();
        }
        let unit = ten(self.scale);
        let (whole, mut fraction) =
            (self.value.magnitude() / unit.magnitude(), self.value.magnitude() % unit.magnitude());
        let width = (base - 1).to_string().len();
        let digit = |digit: u32| match base {
            ..=16 => char::from_digit(digit, 16).unwrap_or('?').to_ascii_uppercase().to_string(),
            _ => format!(" {digit:0width$}"),
        };
        let mut text = String::from(if self.value.sign() == Sign::Minus { "-" } else { "" });
        match (base, whole.bits()) {
            (_, 0) => {}
            (10, _) => text += &whole.to_string(),
            (..=16, _) => text += &whole.to_str_radix(base).to_uppercase(),
            _ => {
                let (mut rest, mut digits) = (whole, Vec::new());
                while rest.bits() > 0 {
                    digits.push(u32::try_from(&rest % base).unwrap_or(0));
                    rest /= base;
                }
                digits.iter().rev().for_each(|one| text += &digit(*one));
            }
        }
        if self.scale > 0 {
            text.push('.');
            let mut reached = BigInt::from(1);
            while reached.magnitude() < unit.magnitude() {
                fraction *= base;
                text += &digit(u32::try_from(&fraction / unit.magnitude()).unwrap_or(0));
                fraction %= unit.magnitude();
                reached *= base;
            }
        }
        text
    }
}
