//! Operators and structs of a user, chosen to catch what the built-in ones let pass.

use warpfold::{Element, Monoid};

/// An element of the bicyclic monoid, `bᵖ aᵠ` with `a b = 1`. Associative and exact, but any two
/// operands that change places show.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub(crate) struct Bicyclic {
    pub(crate) p: u32,
    pub(crate) q: u32,
}

pub(crate) struct BicyclicProduct;

impl Monoid<Bicyclic> for BicyclicProduct {
    const CUDA: &'static str = "
        u32 cancelled = minimum(a.q, b.p);
        return T{ a.p + (b.p - cancelled), b.q + (a.q - cancelled) };
    ";
    const EXACT: bool = true;

    fn identity() -> Bicyclic {
        Bicyclic { p: 0, q: 0 }
    }

    fn combine(a: Bicyclic, b: Bicyclic) -> Bicyclic {
        let cancelled = a.q.min(b.p);
        Bicyclic {
            p: a.p.wrapping_add(b.p - cancelled),
            q: b.q.wrapping_add(a.q - cancelled),
        }
    }
}

/// The map x ↦ slope·x + offset: floats, not commutative, and rounded differently by every bracketing.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
pub(crate) struct Affine {
    pub(crate) slope: f32,
    pub(crate) offset: f32,
}

pub(crate) struct Then;

impl Monoid<Affine> for Then {
    const CUDA: &'static str = "return T{ a.slope * b.slope, a.offset * b.slope + b.offset };";

    fn identity() -> Affine {
        Affine {
            slope: 1.0,
            offset: 0.0,
        }
    }

    fn combine(a: Affine, b: Affine) -> Affine {
        Affine {
            slope: a.slope * b.slope,
            offset: a.offset * b.slope + b.offset,
        }
    }
}

/// `[a, b] ↦ bracketing`: not associative at all. Every element is a random word, and the hash of two
/// depends on both and on their order, so any other bracketing than the law's gives other bits.
pub(crate) struct Bracketing;

impl Monoid<u64> for Bracketing {
    const CUDA: &'static str = "return mix(a * 3 + 1, b);";
    const CUDA_PRELUDE: &'static str = "
        __device__ u64 mix(u64 x, u64 y) {
            u64 z = x * 0x9E3779B97F4A7C15ull ^ (y + (y >> 29)) * 0xBF58476D1CE4E5B9ull;
            return z ^ z >> 32;
        }
    ";

    fn identity() -> u64 {
        0
    }

    fn combine(a: u64, b: u64) -> u64 {
        let (x, y) = (a.wrapping_mul(3).wrapping_add(1), b);
        let z = x.wrapping_mul(0x9E37_79B9_7F4A_7C15)
            ^ y.wrapping_add(y >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z ^ z >> 32
    }
}

/// Component-wise wrapping sums of arrays: elements of any size and alignment, from 1 byte to 64.
pub(crate) struct Sums;

macro_rules! sums {
    ($($part:ty),*) => {$(
        impl<const N: usize> Monoid<[$part; N]> for Sums {
            const CUDA: &'static str = "
                for (u32 i = 0; i < sizeof(T) / sizeof(a[0]); i++) a[i] += b[i];
                return a;
            ";
            const EXACT: bool = true;
            const COMMUTATIVE: bool = true;

            fn identity() -> [$part; N] {
                [0; N]
            }

            fn combine(a: [$part; N], b: [$part; N]) -> [$part; N] {
                std::array::from_fn(|i| a[i].wrapping_add(b[i]))
            }
        }
    )*};
}

sums!(u8, u16, u32, u64);
