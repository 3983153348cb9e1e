//! Elements and operators of a user, and the data that everything is computed from.

use rayon::prelude::*;
use warpfold::cuda::cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use warpfold::half::{bf16, f16};
use warpfold::ops::Add;
use warpfold::{Element, Monoid, bytemuck};

/// The map x ↦ slope·x + offset.
#[derive(Clone, Copy, Debug, Element)]
#[repr(C)]
pub(crate) struct Affine {
    slope: f32,
    offset: f32,
}

/// First one map, then the other. Does not commute.
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

/// Component-wise sums of large elements.
pub(crate) struct Sums;

impl<const N: usize> Monoid<[f32; N]> for Sums {
    const CUDA: &'static str = "
        for (u32 i = 0; i < sizeof(T) / 4; i++) a[i] += b[i];
        return a;
    ";
    const COMMUTATIVE: bool = true;

    fn identity() -> [f32; N] {
        [0.0; N]
    }

    fn combine(a: [f32; N], b: [f32; N]) -> [f32; N] {
        std::array::from_fn(|i| a[i] + b[i])
    }
}

/// The sum of floats by an operator that claims to be exact, so that kernels may bracket it as they like: what the law costs
/// is the difference to [`Add`].
pub(crate) struct FreeAdd;

impl Monoid<f32> for FreeAdd {
    const CUDA: &'static str = <Add as Monoid<f32>>::CUDA;
    const EXACT: bool = true;
    const COMMUTATIVE: bool = true;

    fn identity() -> f32 {
        <Add as Monoid<f32>>::identity()
    }

    fn combine(a: f32, b: f32) -> f32 {
        <Add as Monoid<f32>>::combine(a, b)
    }
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

integers!(u8, i8, u16, u32, u64);

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
        let [slope, offset] = Sample::sample(random);
        Affine { slope, offset }
    }
}

impl<const N: usize> Sample for [f32; N] {
    fn sample(random: u64) -> Self {
        std::array::from_fn(|i| f32::sample(random.rotate_left(4 * i as u32)))
    }
}

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
