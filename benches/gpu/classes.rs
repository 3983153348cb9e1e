//! Operators of a user that cost more than a sum, one for each kind: what is true of them should be
//! true of others.

use crate::elements::Sample;
use warpfold::ops::maximum;
use warpfold::{Element, Monoid, monoid};

/// The better of two, and whose it is: one comparison, two words.
#[derive(Clone, Copy, Debug, Element)]
#[repr(C)]
pub(crate) struct Best {
    key: f32,
    owner: u32,
}

/// The first of those with the greatest key.
pub(crate) struct Better;

#[monoid]
impl Monoid<Best> for Better {
    fn identity() -> Best {
        Best {
            key: f32::NEG_INFINITY,
            owner: u32::MAX,
        }
    }
    fn combine(a: Best, b: Best) -> Best {
        if b.key > a.key { b } else { a }
    }
}

impl Sample for Best {
    fn sample(random: u64) -> Best {
        Best {
            key: f32::sample(random),
            owner: (random >> 9) as u32,
        }
    }
}

macro_rules! spreads {
    ($($spread:ident $merge:ident $float:ident),*) => {$(
        /// The number of some values, their mean, and the sum of the squares of their distances
        /// from it.
        #[derive(Clone, Copy, Debug, Element)]
        #[repr(C)]
        pub(crate) struct $spread {
            count: $float,
            mean: $float,
            squares: $float,
        }

        /// A dozen operations, one of them a division.
        pub(crate) struct $merge;

        #[monoid]
        impl Monoid<$spread> for $merge {
            fn identity() -> $spread {
                $spread { count: 0.0, mean: 0.0, squares: 0.0 }
            }
            fn combine(a: $spread, b: $spread) -> $spread {
                let count = a.count + b.count;
                if count == 0.0 {
                    a
                } else {
                    let distance = b.mean - a.mean;
                    let part = b.count / count;
                    $spread {
                        count,
                        mean: a.mean + distance * part,
                        squares: a.squares + b.squares + distance * distance * a.count * part,
                    }
                }
            }
        }

        impl Sample for $spread {
            fn sample(random: u64) -> $spread {
                $spread { count: 1.0, mean: $float::sample(random), squares: 0.0 }
            }
        }
    )*};
}

spreads!(Spread12 Merge12 f32, Spread24 Merge24 f64);

/// The product of matrices of two rows.
#[monoid(name = Product, identity = [1, 0, 0, 1])]
pub(crate) fn product(a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
    [
        a[0].wrapping_mul(b[0])
            .wrapping_add(a[1].wrapping_mul(b[2])),
        a[0].wrapping_mul(b[1])
            .wrapping_add(a[1].wrapping_mul(b[3])),
        a[2].wrapping_mul(b[0])
            .wrapping_add(a[3].wrapping_mul(b[2])),
        a[2].wrapping_mul(b[1])
            .wrapping_add(a[3].wrapping_mul(b[3])),
    ]
}

impl Sample for [u32; 4] {
    fn sample(random: u64) -> [u32; 4] {
        [0, 16, 32, 48].map(|bits| random.rotate_left(bits) as u32)
    }
}

/// First the one map x ↦ slope·x + offset, then the other, in words of 8 bytes.
#[monoid(name = Then64, identity = [1.0, 0.0])]
pub(crate) fn then64(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] * b[0], a[1] * b[0] + b[1]]
}

impl Sample for [f64; 2] {
    fn sample(random: u64) -> [f64; 2] {
        [
            0.5 + f64::sample(random) / 2.0,
            f64::sample(random.rotate_left(17)),
        ]
    }
}

/// The product modulo a prime of 30 bits.
#[monoid(name = Modular, identity = 1)]
pub(crate) fn modular(a: u32, b: u32) -> u32 {
    (u64::from(a) * u64::from(b) % 998_244_353) as u32
}

/// `ln(exp(a) + exp(b))`
#[monoid(name = LogAdd, identity = f32::NEG_INFINITY)]
pub(crate) fn log_add(a: f32, b: f32) -> f32 {
    let (more, less) = if a > b { (a, b) } else { (b, a) };
    if less == f32::NEG_INFINITY {
        more
    } else {
        more + (1.0 + (less - more).exp()).ln()
    }
}

/// `√(a² + b²)`
#[monoid(name = Norm, identity = 0.0)]
pub(crate) fn norm(a: f32, b: f32) -> f32 {
    (a * a + b * b).sqrt()
}

/// The harmonic sum, as of resistors side by side: three divisions.
#[monoid(name = Parallel, identity = f32::INFINITY)]
pub(crate) fn parallel(a: f32, b: f32) -> f32 {
    1.0 / (1.0 / a + 1.0 / b)
}

/// A mean, and the weight of what it is of.
#[derive(Clone, Copy, Debug, Element)]
#[repr(C)]
pub(crate) struct Mean {
    mean: f32,
    weight: f32,
}

/// The mean of both: a division.
#[monoid(name = Means, identity = Mean { mean: 0.0, weight: 0.0 })]
pub(crate) fn means(a: Mean, b: Mean) -> Mean {
    let weight = a.weight + b.weight;
    if weight == 0.0 {
        return a;
    }
    Mean {
        mean: (a.mean * a.weight + b.mean * b.weight) / weight,
        weight,
    }
}

impl Sample for Mean {
    fn sample(random: u64) -> Mean {
        Mean {
            mean: f32::sample(random),
            weight: 1.0,
        }
    }
}

/// A key, and whose it is: parts shorter than a register.
#[derive(Clone, Copy, Debug, Element)]
#[repr(C)]
pub(crate) struct Tag {
    key: u16,
    group: u8,
    place: u8,
}

/// The last of those with the greatest key.
#[monoid(name = Latest, identity = Tag { key: 0, group: 0, place: 0 })]
pub(crate) fn latest(a: Tag, b: Tag) -> Tag {
    if b.key >= a.key { b } else { a }
}

impl Sample for Tag {
    fn sample(random: u64) -> Tag {
        Tag {
            key: random as u16,
            group: (random >> 16) as u8,
            place: (random >> 24) as u8,
        }
    }
}

/// Of a stretch of numbers: the sum, the greatest sums of what it begins and ends with, and that
/// of neighbours.
#[derive(Clone, Copy, Debug, Element)]
#[repr(C)]
pub(crate) struct Gains {
    all: i64,
    first: i64,
    last: i64,
    most: i64,
}

/// J. L. Bentley, "Programming Pearls: Algorithm Design Techniques", 1984.
#[monoid(name = Greatest, identity = Gains { all: 0, first: 0, last: 0, most: 0 })]
pub(crate) fn greatest(a: Gains, b: Gains) -> Gains {
    Gains {
        all: a.all.wrapping_add(b.all),
        first: a.first.max(a.all.wrapping_add(b.first)),
        last: b.last.max(b.all.wrapping_add(a.last)),
        most: a.most.max(b.most).max(a.last.wrapping_add(b.first)),
    }
}

impl Sample for Gains {
    fn sample(random: u64) -> Gains {
        let gain = (random as i64) >> 44;
        let least = gain.max(0);
        Gains {
            all: gain,
            first: least,
            last: least,
            most: least,
        }
    }
}

/// First one map of the numbers below 8, then the other.
#[monoid(name = Compose, identity = [0, 1, 2, 3, 4, 5, 6, 7])]
pub(crate) fn compose(a: [u8; 8], b: [u8; 8]) -> [u8; 8] {
    let mut both = a;
    for i in 0..8 {
        both[i] = b[(a[i] & 7) as usize];
    }
    both
}

impl Sample for [u8; 8] {
    fn sample(random: u64) -> [u8; 8] {
        random.to_le_bytes().map(|byte| byte & 7)
    }
}

/// The greatest of some numbers, and the sum of the exponentials of their distances from it: what
/// a softmax needs, in one pass.
#[monoid(name = Softmax, identity = [f32::NEG_INFINITY, 0.0], commutative)]
pub(crate) fn softmax(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    let most = maximum(a[0], b[0]);
    if most == f32::NEG_INFINITY {
        // No distance can be taken from it.
        [most, a[1] + b[1]]
    } else {
        [
            most,
            a[1] * (a[0] - most).exp() + b[1] * (b[0] - most).exp(),
        ]
    }
}

/// One number, between -8 and 8.
impl Sample for [f32; 2] {
    fn sample(random: u64) -> [f32; 2] {
        [(random >> 40) as f32 / (1 << 20) as f32 - 8.0, 1.0]
    }
}

/// The product of quaternions: one turn of space after another.
#[monoid(name = Turns, identity = [1.0, 0.0, 0.0, 0.0])]
pub(crate) fn turns(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]
}

/// Of length 1, but for rounding.
impl Sample for [f32; 4] {
    fn sample(random: u64) -> [f32; 4] {
        let parts = [0, 16, 32, 48].map(|bits| f64::sample(random.rotate_left(bits)));
        let length = parts.map(|part| part * part).iter().sum::<f64>().sqrt();
        parts.map(|part| (part / length) as f32)
    }
}

/// The greater of each two bytes.
#[monoid(name = ByteMaxima, identity = [0; N], exact, commutative)]
pub(crate) fn byte_maxima<const N: usize>(mut a: [u8; N], b: [u8; N]) -> [u8; N] {
    for i in 0..N {
        a[i] = a[i].max(b[i]);
    }
    a
}

impl Sample for [u8; 4] {
    fn sample(random: u64) -> [u8; 4] {
        ((random >> 7) as u32).to_le_bytes()
    }
}

impl Sample for [u8; 16] {
    fn sample(random: u64) -> [u8; 16] {
        let both = u128::from(random) << 64 | u128::from(random.rotate_left(29));
        both.to_le_bytes()
    }
}

/// The sum of each two bytes.
#[monoid(name = ByteSums, identity = [0; N], exact, commutative)]
pub(crate) fn byte_sums<const N: usize>(mut a: [u8; N], b: [u8; N]) -> [u8; N] {
    for i in 0..N {
        a[i] = a[i].wrapping_add(b[i]);
    }
    a
}

/// The smaller of each two numbers of 16 bits.
#[monoid(name = ShortMinima, identity = [i16::MAX; 4], exact, commutative)]
pub(crate) fn short_minima(mut a: [i16; 4], b: [i16; 4]) -> [i16; 4] {
    for i in 0..4 {
        a[i] = a[i].min(b[i]);
    }
    a
}

impl Sample for [i16; 4] {
    fn sample(random: u64) -> [i16; 4] {
        [0, 16, 32, 48].map(|bits| random.rotate_left(bits) as i16)
    }
}

/// The sum, or 255.
#[monoid(name = Saturating, identity = 0, exact)]
pub(crate) fn saturating(a: u8, b: u8) -> u8 {
    a.saturating_add(b)
}

/// The number that is further from 0; the later one of two that are as far.
#[monoid(name = Furthest, identity = 0)]
pub(crate) fn furthest(a: i16, b: i16) -> i16 {
    if b.unsigned_abs() >= a.unsigned_abs() {
        b
    } else {
        a
    }
}
