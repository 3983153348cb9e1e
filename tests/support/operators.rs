//! Operators and structs of a user, chosen to catch what the built-in ones let pass.

use warpfold::codegen::Definitions;
use warpfold::{CudaType, Element, Monoid, function, monoid};

/// An element of the bicyclic monoid, `bᵖ aᵠ` with `a b = 1`. Associative and exact, but any two
/// operands that change places show.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub(crate) struct Bicyclic {
    pub(crate) p: u32,
    pub(crate) q: u32,
}

#[monoid(identity = Bicyclic { p: 0, q: 0 }, exact)]
pub(crate) fn bicyclic_product(a: Bicyclic, b: Bicyclic) -> Bicyclic {
    let cancelled = a.q.min(b.p);
    Bicyclic {
        p: a.p.wrapping_add(b.p - cancelled),
        q: b.q.wrapping_add(a.q - cancelled),
    }
}

/// The map x ↦ slope·x + offset: floats, not commutative, and rounded differently by every
/// bracketing.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub(crate) struct Affine {
    pub(crate) slope: f32,
    pub(crate) offset: f32,
}

#[monoid(identity = Affine { slope: 1.0, offset: 0.0 })]
pub(crate) fn then(a: Affine, b: Affine) -> Affine {
    Affine {
        slope: a.slope * b.slope,
        offset: a.offset * b.slope + b.offset,
    }
}

/// A key, and what came with it: parts shorter than a register.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub(crate) struct Keyed {
    pub(crate) key: u16,
    pub(crate) first: u8,
    pub(crate) second: u8,
}

/// The last one with the greatest key, as it is. Keys are 1 and more.
#[monoid(identity = Keyed { key: 0, first: 0, second: 0 })]
pub(crate) fn latest(a: Keyed, b: Keyed) -> Keyed {
    if b.key >= a.key { b } else { a }
}

/// ln(eᵃ + eᵇ): its last digits are those of `exp` and `ln_1p`.
#[monoid(identity = f32::NEG_INFINITY, commutative)]
pub(crate) fn log_add_exp(a: f32, b: f32) -> f32 {
    let most = a.max(b);
    let least = a.min(b);
    if least == f32::NEG_INFINITY {
        most
    } else {
        most + (least - most).exp().ln_1p()
    }
}

/// ln of |x|, more or less, and whether it is low. Of every fourth x the logarithm is one of a
/// subnormal number, of which the fast path is unsure. What it computes there is far off.
#[function]
fn choose(x: f32) -> (f32, bool) {
    let is_subnormal = x.to_bits() & 3 == 0;
    let y = if is_subnormal {
        x.abs() * 1e-39 + 1e-40
    } else {
        x.abs() + 0.25
    };
    let y = y.ln();
    if y < -80.0 {
        (y, true)
    } else {
        (y + 0.5, false)
    }
}

/// Has conditions of every kind and names of the kernels', and is unsure at every fourth
/// combination. Not associative.
#[monoid(name = Doubtful, identity = 0.0)]
pub(crate) fn doubtful(a: f32, b: f32) -> f32 {
    let mut x = a * 0.375 + b * 0.625;
    let (y, choose) = choose(x);
    if choose {
        x += y * 0.001;
        x
    } else {
        x -= y * 0.01;
        match (a > 0.0, b > 0.0) {
            (true, true) => x * 0.5,
            (true, false) => x.exp() * 0.25,
            _ => x * 0.75,
        }
    }
}

/// Divides floats of both lengths and of every size, and takes roots of the shorter: of zeros,
/// subnormals, infinities, NaN. Not associative.
#[monoid(name = Ratios, identity = 0)]
pub(crate) fn ratios(a: u32, b: u32) -> u32 {
    let quotient = f32::from_bits(a) / f32::from_bits(b);
    let root = f32::from_bits(b ^ (a & 0x8000_0000)).sqrt();
    let (x, y) = (
        u64::from(a) << 32 | u64::from(b),
        u64::from(b) << 32 | u64::from(a),
    );
    let long = f64::from_bits(x) / f64::from_bits(y);
    // NaN has several bits.
    let quotient = if quotient.is_nan() {
        5
    } else {
        quotient.to_bits()
    };
    let root = if root.is_nan() { 7 } else { root.to_bits() };
    let long = if long.is_nan() { 3 } else { long.to_bits() };
    let mixed = quotient ^ root.rotate_left(11) ^ (long ^ long >> 29) as u32;
    let mixed = mixed.wrapping_mul(0x9e37_79b1);
    let mixed = mixed ^ mixed >> 15;
    match mixed & 15 {
        // Zeros, and what is as large as 1.
        0 => mixed & 0x8000_0000,
        1..=7 => mixed & 0x83ff_ffff | 0x3c00_0000,
        _ => mixed,
    }
}

/// `[a, b] ↦ bracketing`: not associative at all. Every element is a random word, and the hash of
/// two depends on both and on their order, so any other bracketing than the law's gives other bits.
pub(crate) struct Bracketing;

#[monoid]
impl Monoid<u64> for Bracketing {
    fn identity() -> u64 {
        0
    }

    fn combine(a: u64, b: u64) -> u64 {
        mix(a.wrapping_mul(3).wrapping_add(1), b)
    }
}

#[monoid]
impl Monoid<u8> for Bracketing {
    fn identity() -> u8 {
        0
    }

    fn combine(a: u8, b: u8) -> u8 {
        mix_bytes(a, b)
    }
}

#[monoid]
impl<const N: usize> Monoid<[u8; N]> for Bracketing {
    fn identity() -> [u8; N] {
        [0; N]
    }

    fn combine(mut a: [u8; N], b: [u8; N]) -> [u8; N] {
        for i in 0..N {
            a[i] = mix_bytes(a[i], b[i]);
        }
        a
    }
}

#[function]
fn mix_bytes(x: u8, y: u8) -> u8 {
    let z = x.wrapping_mul(0x4d).wrapping_add(1) ^ y.wrapping_add(y >> 3).wrapping_mul(0xb5);
    z ^ z >> 5
}

#[function]
fn mix(x: u64, y: u64) -> u64 {
    let z = x.wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ y.wrapping_add(y >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ z >> 32
}

/// Not associative, like `Bracketing`, and with much that may leave a short type, or not.
pub(crate) struct Clipped;

/// Not associative either. The lower bits of a result depend on lower bits alone.
pub(crate) struct Linear;

macro_rules! not_associative {
    ($($t:ty),*) => {$(
        #[monoid]
        impl Monoid<$t> for Clipped {
            fn identity() -> $t {
                0
            }

            fn combine(a: $t, b: $t) -> $t {
                let sum = a.saturating_add(b.rotate_left(3));
                let difference = (b >> 1).saturating_sub(a) ^ !a;
                if sum < difference { sum.min(b).wrapping_add(difference) } else { sum.max(5) }
            }
        }

        #[monoid]
        impl Monoid<$t> for Linear {
            fn identity() -> $t {
                0
            }

            fn combine(a: $t, b: $t) -> $t {
                (a.wrapping_mul(77) ^ b).wrapping_add(b.wrapping_mul(3))
            }
        }
    )*};
}

not_associative!(u8, i8, u16, i16, u128, i128);

/// Component-wise wrapping sums of arrays: elements of any size and alignment, from 1 byte to 64.
pub(crate) struct Sums;

macro_rules! sums {
    ($($part:ty),*) => {$(
        #[monoid]
        impl<const N: usize> Monoid<[$part; N]> for Sums {
            const EXACT: bool = true;
            const COMMUTATIVE: bool = true;

            fn identity() -> [$part; N] {
                [0; N]
            }

            fn combine(mut a: [$part; N], b: [$part; N]) -> [$part; N] {
                for i in 0..N {
                    a[i] = a[i].wrapping_add(b[i]);
                }
                a
            }
        }
    )*};
}

sums!(u8, u16, u32, u64);

/// An operation on each number by itself, of those that a GPU has for several numbers in a word.
pub(crate) struct Each;

macro_rules! each {
    ($([$part:ty; $n:literal] = $identity:expr, ($a:ident, $b:ident) $body:expr;)*) => {$(
        #[monoid]
        impl Monoid<[$part; $n]> for Each {
            const EXACT: bool = true;
            const COMMUTATIVE: bool = true;

            fn identity() -> [$part; $n] {
                $identity
            }

            fn combine($a: [$part; $n], $b: [$part; $n]) -> [$part; $n] {
                $body
            }
        }
    )*};
}

each! {
    [i8; 4] = [-128, 127, 0, -128], (a, b)
        [a[0].max(b[0]), a[1].min(b[1]), a[2].wrapping_add(b[2]), a[3].max(b[3])];
    [u16; 2] = [u16::MAX, 0], (a, b) [a[0].min(b[0]), a[1].wrapping_add(b[1])];
    [i16; 6] = [i16::MIN, i16::MAX, -1, 0, 0, 0], (a, b)
        [a[0].max(b[0]), a[1].min(b[1]), a[2] & b[2], a[3].wrapping_add(b[3]), a[4] ^ b[4],
            a[5] ^ b[5]];
    // These fill no word.
    [u8; 3] = [255, 0, 0], (a, b) [a[0].min(b[0]), a[1].max(b[1]), a[2].wrapping_add(b[2])];
    [i16; 3] = [i16::MIN, -1, i16::MAX], (a, b) [a[0].max(b[0]), a[1] & b[1], a[2].min(b[2])];
    [u8; 8] = [255, 255, 255, 255, 0, 0, 0, 255], (a, b)
        [a[0].min(b[0]), a[1].min(b[1]), a[2].min(b[2]), a[3].min(b[3]), a[4].max(b[4]),
            a[5] | b[5], a[6].wrapping_add(b[6]), a[7] & b[7]];
}

/// Sums of floats, element by element, whose roundings tell how they were bracketed.
#[monoid(name = FloatSums, identity = [0.0; N])]
pub(crate) fn float_sums<const N: usize>(mut a: [f32; N], b: [f32; N]) -> [f32; N] {
    for i in 0..N {
        a[i] += b[i];
    }
    a
}

/// A number and a check of it, which neither zeros nor garbage pass.
///
/// Its operators stop at operands that do not pass. So they also find an operator that is called on
/// padding when nothing uses the result. Copies of elements do pass.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub(crate) struct Guarded {
    value: u32,
    check: u32,
}

impl Guarded {
    pub(crate) fn new(value: u32) -> Guarded {
        Guarded {
            value,
            check: value.wrapping_mul(0x9E37_79B1) ^ 0x85EB_CA77,
        }
    }

    /// The value, if the check is right.
    fn get(self) -> u32 {
        assert_eq!(self, Guarded::new(self.value), "no element, and no result");
        self.value
    }

    /// The CUDA function that stops at wrong checks and otherwise gives `value`, of `x` and `y`.
    fn define<Op: 'static>(definitions: &mut Definitions, name: &str, value: &str) -> String {
        let guarded = Guarded::cuda_type(definitions);
        definitions.define_function::<Op>(name, |_, name| {
            format!(
                "__device__ u32 {name}_check(u32 value) {{ return value * 0x9E3779B1u ^ 0x85EBCA77u; }}
__device__ {guarded} {name}({guarded} a, {guarded} b) {{
    u32 x = a.value, y = b.value;
    if (a.check != {name}_check(x)) trap(\"the left operand is no element, and no result\");
    if (b.check != {name}_check(y)) trap(\"the right operand is no element, and no result\");
    u32 value = {value};
    return {guarded}{{value, {name}_check(value)}};
}}"
            )
        })
    }
}

/// A guarded number, which does not pass if its index is none of the items'.
#[function]
pub(crate) fn guarded_up_to(value: u32, length: u64, index: u64) -> Guarded {
    let check = value.wrapping_mul(0x9E37_79B1) ^ 0x85EB_CA77;
    Guarded {
        value,
        check: if index < length { check } else { check ^ 1 },
    }
}

/// Wrapping sums of guarded numbers. Exact and commutative, so that they may be taken in any order.
pub(crate) struct GuardedSum;

impl Monoid<Guarded> for GuardedSum {
    const EXACT: bool = true;
    const COMMUTATIVE: bool = true;

    fn identity() -> Guarded {
        Guarded::new(0)
    }

    fn combine(a: Guarded, b: Guarded) -> Guarded {
        Guarded::new(a.get().wrapping_add(b.get()))
    }

    fn cuda(definitions: &mut Definitions) -> String {
        Guarded::define::<Self>(definitions, "guarded_sum", "x + y")
    }
}

/// `Bracketing` of guarded numbers.
pub(crate) struct GuardedBracketing;

impl Monoid<Guarded> for GuardedBracketing {
    fn identity() -> Guarded {
        Guarded::new(0)
    }

    fn combine(a: Guarded, b: Guarded) -> Guarded {
        let (x, y) = (a.get(), b.get());
        let y = (y ^ y >> 15).wrapping_mul(0xC2B2_AE3D);
        Guarded::new((x.wrapping_mul(3).wrapping_add(1) ^ y).rotate_left(7))
    }

    fn cuda(definitions: &mut Definitions) -> String {
        let value = "x * 3 + 1 ^ (y ^ y >> 15) * 0xC2B2AE3Du;
    value = value << 7 | value >> 25";
        Guarded::define::<Self>(definitions, "guarded_bracketing", value)
    }
}

/// Composition of maps x ↦ (2w + 1) x + c: `w`, then a `c` for each of the other words. What comes
/// first never gets lost, and operands must not change places.
#[monoid(name = OddMaps, identity = [0; N], exact)]
pub(crate) fn odd_maps<const N: usize>(mut first: [u32; N], then: [u32; N]) -> [u32; N] {
    let factor = then[0].wrapping_mul(2).wrapping_add(1);
    for i in 0..N {
        first[i] = first[i].wrapping_mul(factor).wrapping_add(then[i]);
    }
    first
}
