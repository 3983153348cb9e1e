//! Every element type with every operator on it.

use super::data::Sample;
use super::operators::{
    Affine, Bicyclic, BicyclicProduct, Bracketing, Guarded, GuardedBracketing, GuardedSum, Sums,
    Then,
};
use half::{bf16, f16};
use std::any::TypeId;
use warpfold::Monoid;
use warpfold::ops::{Add, BitAnd, BitOr, BitXor, Max, Min, Mul};

/// Something to do with a pair of an element type and an operator.
pub(crate) trait Visitor {
    fn visit<T: Sample, Op: Monoid<T>>(&mut self);
}

/// Whether the kernels of a pair differ from those of another in one word: what the operator calls, or that a number has a sign,
/// which does not show in sums. That word has tests of its own (`operator_laws.rs`, `tests/programs/`), so one kernel of such a pair is
/// enough where each costs seconds. `f32` has them all.
pub(crate) fn is_like_another<T: 'static, Op: 'static>() -> bool {
    let (ty, op) = (TypeId::of::<T>(), TypeId::of::<Op>());
    let is_signed = [TypeId::of::<i8>(), TypeId::of::<i16>(), TypeId::of::<i64>()].contains(&ty);
    let others = [
        TypeId::of::<Mul>(),
        TypeId::of::<Min>(),
        TypeId::of::<BitAnd>(),
        TypeId::of::<BitOr>(),
        TypeId::of::<BitXor>(),
        // But for the reductions in any order, which this is for.
        TypeId::of::<GuardedSum>(),
    ];
    ty != TypeId::of::<f32>() && (others.contains(&op) || is_signed && op == TypeId::of::<Add>())
}

/// Whether the types with this operator have `Add` as well. One of the two is enough for what depends on the type more than on the operator.
pub(crate) fn is_second<Op: 'static>() -> bool {
    let second = [
        TypeId::of::<Mul>(),
        TypeId::of::<Min>(),
        TypeId::of::<Max>(),
    ];
    second.contains(&TypeId::of::<Op>())
}

/// The groups of the matrix, so that tests can share it out.
macro_rules! groups {
    ($($(#[$attribute:meta])* $group:ident: { $($t:ty: $($op:ty),*;)* })*) => {
        $(
            $(#[$attribute])*
            pub(crate) fn $group(visitor: &mut impl Visitor) {
                $($(visitor.visit::<$t, $op>();)*)*
            }
        )*

        /// One test for every group: `test!` gets the group's name.
        macro_rules! for_every_group {
            ($test:ident) => {
                $($(#[$attribute])* $test!($group);)*
            };
        }
        pub(crate) use for_every_group;
    };
}

groups! {
    unsigned_bytes: { u8: Add, Mul, Min, Max, BitAnd, BitOr, BitXor, Bracketing; }
    signed_bytes: { i8: Add, Mul, Min, Max, BitAnd, BitOr, BitXor; }
    u16s: { u16: Add, Mul, Min, Max, BitAnd, BitOr, BitXor; }
    i16s: { i16: Add, Mul, Min, Max, BitAnd, BitOr, BitXor; }
    u32s: { u32: Add, Mul, Min, Max, BitAnd, BitOr, BitXor; }
    i32s: { i32: Add, Mul, Min, Max, BitAnd, BitOr, BitXor; }
    u64s: { u64: Add, Mul, Min, Max, BitAnd, BitOr, BitXor, Bracketing; }
    i64s: { i64: Add, Mul, Min, Max, BitAnd, BitOr, BitXor; }
    half_floats: { f16: Add, Mul, Min, Max; bf16: Add, Mul, Min, Max; }
    f32s: { f32: Add, Mul, Min, Max; }
    f64s: { f64: Add, Mul, Min, Max; }
    structs: { Bicyclic: BicyclicProduct; Affine: Then; }
    guarded: { Guarded: GuardedBracketing, GuardedSum; }
    small_arrays: { [u8; 3]: Sums, Bracketing; [u16; 5]: Sums; [u32; 3]: Sums; }
    middle_arrays: { [u64; 3]: Sums; [u8; 31]: Sums; [u32; 8]: Sums; }
    large_arrays: { [u8; 33]: Sums; [u64; 6]: Sums; [u64; 8]: Sums; [u32; 16]: Sums; }
    #[cfg(feature = "complex")]
    complex: { num_complex::Complex<f32>: Add, Mul; num_complex::Complex<f64>: Add, Mul; }
}
