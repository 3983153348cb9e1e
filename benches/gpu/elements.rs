//! Elements and operators of a user, and the data that everything is computed from.

use rayon::prelude::*;
use warpfold::cuda::cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use warpfold::half::{bf16, f16};
use warpfold::{Element, bytemuck, monoid};

/// The map x ↦ slope·x + offset.
#[derive(Clone, Copy, Debug, Element)]
#[repr(C)]
pub(crate) struct Affine {
    slope: f32,
    offset: f32,
}

/// First one map, then the other. Does not commute.
#[monoid(identity = Affine { slope: 1.0, offset: 0.0 })]
pub(crate) fn then(a: Affine, b: Affine) -> Affine {
    Affine {
        slope: a.slope * b.slope,
        offset: a.offset * b.slope + b.offset,
    }
}

/// Component-wise sums of large elements.
#[monoid(name = Sums, identity = [0.0; N], commutative)]
pub(crate) fn sum<const N: usize>(mut a: [f32; N], b: [f32; N]) -> [f32; N] {
    for i in 0..N {
        a[i] += b[i];
    }
    a
}

/// The sum of floats by an operator that claims to be exact, so that kernels may bracket it as they
/// like: what the law costs is the difference to [`Add`](warpfold::ops::Add).
#[monoid(identity = 0.0, exact, commutative)]
pub(crate) fn free_add(a: f32, b: f32) -> f32 {
    a + b
}

/// What [`Add`](warpfold::ops::Add) does, as a program would write it for itself.
#[monoid(identity = 0.0, commutative)]
pub(crate) fn own_float_sum(a: f32, b: f32) -> f32 {
    a + b
}

/// As [`OwnFloatSum`].
#[monoid(identity = 0, exact, commutative)]
pub(crate) fn own_sum(a: u64, b: u64) -> u64 {
    a.wrapping_add(b)
}

/// An element that can be drawn at random, and copied to a GPU.
pub(crate) trait Sample: Element + DeviceRepr + ValidAsZeroBits {
    fn sample(random: u64) -> Self;
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Sample for $integer {
            fn sample(random: u64) -> Self {
                (random >> 7) as $integer
            }
        }
    )*};
}

integers!(u8, i8, u16, i16, u32, i32, u64);

/// Of magnitude ½ to 1½, one in four negative, so that sums grow and rounding shows.
impl Sample for f64 {
    fn sample(random: u64) -> f64 {
        let magnitude = (random >> 12) as f64 / (1_u64 << 52) as f64 + 0.5;
        if random & 3 == 0 {
            -magnitude
        } else {
            magnitude
        }
    }
}

impl Sample for f32 {
    fn sample(random: u64) -> f32 {
        f64::sample(random) as f32
    }
}

/// Of magnitude 1 to 2 and either sign, so that sums seldom leave the range of a half.
impl Sample for f16 {
    fn sample(random: u64) -> f16 {
        f16::from_bits((random >> 7) as u16 & 0x83ff | 0x3c00)
    }
}

/// As for `f16`.
impl Sample for bf16 {
    fn sample(random: u64) -> bf16 {
        bf16::from_bits((random >> 7) as u16 & 0x807f | 0x3f80)
    }
}

impl Sample for Affine {
    fn sample(random: u64) -> Affine {
        let [slope, offset] = floats(random);
        Affine { slope, offset }
    }
}

impl Sample for [u8; 3] {
    fn sample(random: u64) -> Self {
        std::array::from_fn(|i| u8::sample(random >> (8 * i)))
    }
}

/// Floats that have nothing to do with each other.
fn floats<const N: usize>(random: u64) -> [f32; N] {
    std::array::from_fn(|i| f32::sample(random.rotate_left(4 * i as u32)))
}

macro_rules! arrays_of_floats {
    ($($n:literal),*) => {$(
        impl Sample for [f32; $n] {
            fn sample(random: u64) -> Self {
                floats(random)
            }
        }
    )*};
}

// Those of 2 and 4 have a meaning, in `classes`.
arrays_of_floats!(3, 6, 8, 16);

/// The first `length` elements of a sequence that is always the same.
pub(crate) fn data<T: Sample>(length: usize) -> Vec<T> {
    let mut data = bytemuck::zeroed_vec::<T>(length);
    let parts = data.par_chunks_mut(1 << 16).enumerate();
    parts.for_each(|(part, elements)| {
        let mut state = (part as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        for element in elements {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *element = T::sample(state);
        }
    });
    data
}

/// A number that looks drawn, for each position.
pub(crate) fn mixed(i: usize) -> u32 {
    let x = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32) as u32
}
