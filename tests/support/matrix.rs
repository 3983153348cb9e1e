//! Every element type with every operator on it.

use super::data::Sample;
use super::operators::{
    Affine, Bicyclic, BicyclicProduct, Bracketing, Clipped, Doubtful, Each, FloatSums, Guarded,
    GuardedBracketing, GuardedSum, Keyed, Latest, Linear, LogAddExp, OddMaps, Ratios, Sums, Then,
};
use half::{bf16, f16};
use std::any::TypeId;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};
use warpfold::Monoid;
use warpfold::ops::{Add, BitAnd, BitOr, BitXor, Max, Min, Mul};

/// Something to do with a pair of an element type and an operator.
pub(crate) trait Visitor {
    fn visit<T: Sample, Op: Monoid<T>>(&mut self);
}

/// Whether the kernels of a pair differ from those of another in one word: what the operator calls,
/// or that a number has a sign, which does not show in sums. That word has tests of its own
/// (`operator_laws.rs`, `tests/programs/`). So where each kernel costs seconds, one kernel of such
/// a pair is enough. `f32` has them all.
pub(crate) fn is_like_another<T: 'static, Op: 'static>() -> bool {
    let (ty, op) = (TypeId::of::<T>(), TypeId::of::<Op>());
    let signed = [
        TypeId::of::<i8>(),
        TypeId::of::<i16>(),
        TypeId::of::<i64>(),
        TypeId::of::<i128>(),
    ];
    let is_signed = signed.contains(&ty);
    let others = [
        TypeId::of::<Mul>(),
        TypeId::of::<Min>(),
        TypeId::of::<BitAnd>(),
        TypeId::of::<BitOr>(),
        TypeId::of::<BitXor>(),
        // Except for reductions in any order, which this operator is for.
        TypeId::of::<GuardedSum>(),
    ];
    ty != TypeId::of::<f32>() && (others.contains(&op) || is_signed && op == TypeId::of::<Add>())
}

/// Whether the types with this operator have `Add` as well. For what depends on the type more than
/// on the operator, one of the two is enough.
pub(crate) fn is_second<Op: 'static>() -> bool {
    let second = [
        TypeId::of::<Mul>(),
        TypeId::of::<Min>(),
        TypeId::of::<Max>(),
    ];
    second.contains(&TypeId::of::<Op>())
}

/// Whether a pair is tested in every run, where others take turns: the plainest pair, and an
/// operator that does not commute. To compile and run the kernels of a pair takes a minute.
pub(crate) fn is_in_every_run<T: 'static, Op: 'static>() -> bool {
    let (ty, op) = (TypeId::of::<T>(), TypeId::of::<Op>());
    ty == TypeId::of::<f32>() && op == TypeId::of::<Add>() || op == TypeId::of::<BicyclicProduct>()
}

/// Whether to test something that costs seconds in this run. `WARPFOLD_SAMPLE=20779/3` takes a third
/// of the whole, by that seed, and all that `always` holds for; `WARPFOLD_SAMPLE=whole` takes
/// everything. Without it a run takes a hundredth, and a fourth of what `always` holds for: others
/// each day, since the day's number is the seed.
pub(crate) fn is_drawn(name: &str, always: bool) -> bool {
    let Draw {
        seed,
        one_in,
        always_one_in,
    } = draw();
    let number = (hash(name) >> 32) + seed;
    let drawn = number.is_multiple_of(one_in) || always && number.is_multiple_of(always_one_in);
    if drawn {
        eprintln!("WARPFOLD_SAMPLE={seed}/{one_in} draws {name}");
    }
    drawn
}

/// Whether thing `number` of `count` has its turn. Each run has one of them for each name, the next
/// one on the next day. The whole matrix has all.
pub(crate) fn has_turn(name: &str, number: usize, count: usize) -> bool {
    let Draw { seed, one_in, .. } = draw();
    one_in == 1 || ((hash(name) >> 32) + seed) % count as u64 == number as u64
}

/// The one of `things` that has its turn, or all in the whole matrix.
pub(crate) fn in_turn<'a, X>(name: &str, things: &'a [X]) -> &'a [X] {
    let chosen = (0..things.len()).find(|&number| has_turn(name, number, things.len()));
    match chosen {
        Some(number) if draw().one_in > 1 => &things[number..=number],
        _ => things,
    }
}

/// What a run takes.
#[derive(Clone, Copy)]
struct Draw {
    seed: u64,
    /// Of how many things it takes one.
    one_in: u64,
    /// And of how many that are to be in every sample.
    always_one_in: u64,
}

fn draw() -> Draw {
    static SAMPLE: OnceLock<Draw> = OnceLock::new();
    *SAMPLE.get_or_init(|| match std::env::var("WARPFOLD_SAMPLE") {
        Ok(text) if text == "whole" => Draw {
            seed: 0,
            one_in: 1,
            always_one_in: 1,
        },
        Ok(text) => {
            let (seed, one_in) = text.split_once('/').unwrap_or((&text, "20"));
            let number = |text: &str| text.parse().ok().filter(|&number| number > 0);
            let (seed, one_in) = (number(seed).zip(number(one_in)))
                .expect("WARPFOLD_SAMPLE is `whole`, a number, or two as in 20779/3");
            Draw {
                seed,
                one_in,
                always_one_in: 1,
            }
        }
        Err(_) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            Draw {
                seed: now.expect("a clock").as_secs() / (24 * 60 * 60),
                one_in: 100,
                always_one_in: 4,
            }
        }
    })
}

/// FNV-1a: the same on every machine.
fn hash(name: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// The groups of the matrix, so that tests can share it out. The operators after a bar take part in
/// the whole matrix only, which takes long to compile: `RUSTFLAGS='--cfg whole_matrix'`. Their
/// kernels and loops differ from those of the others in one word.
macro_rules! groups {
    ($($(#[$attribute:meta])* $group:ident: { $($t:ty: $($op:ty),* $(| $($more:ty),*)?;)* })*) => {
        $(
            $(#[$attribute])*
            pub(crate) fn $group(visitor: &mut impl Visitor) {
                $(
                    $(visitor.visit::<$t, $op>();)*
                    $(#[cfg(whole_matrix)] {
                        $(visitor.visit::<$t, $more>();)*
                    })?
                )*
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
    unsigned_bytes: { u8: Add, Max, BitXor, Bracketing, Clipped | Mul, Min, BitAnd, BitOr; }
    signed_bytes: { i8: Max, Clipped, Linear | Add, Mul, Min, BitAnd, BitOr, BitXor; }
    u16s: { u16: Add, Min, Linear | Mul, Max, BitAnd, BitOr, BitXor; }
    i16s: { i16: Max, Clipped | Add, Mul, Min, BitAnd, BitOr, BitXor; }
    u32s: { u32: Add, Mul, Min, Max, BitAnd, BitOr, BitXor, Ratios; }
    i32s: { i32: Add, Min | Mul, Max, BitAnd, BitOr, BitXor; }
    u64s: { u64: Add, BitOr, Bracketing | Mul, Min, Max, BitAnd, BitXor; }
    i64s: { i64: Max | Add, Mul, Min, BitAnd, BitOr, BitXor; }
    u128s: { u128: Add, BitXor, Linear | Mul, Min, Max, BitAnd, BitOr; }
    i128s: { i128: Max, Clipped | Add, Mul, Min, BitAnd, BitOr, BitXor; }
    half_floats: { f16: Add, Mul, Min, Max; bf16: Add, Max | Mul, Min; }
    f32s: { f32: Add, Mul, Min, Max, LogAddExp, Doubtful; }
    f64s: { f64: Add, Min | Mul, Max; }
    structs: { Bicyclic: BicyclicProduct; Affine: Then; Keyed: Latest; }
    guarded: { Guarded: GuardedBracketing, GuardedSum; }
    small_arrays: {
        [u8; 2]: Sums; [u8; 3]: Sums, Bracketing; [u8; 8]: Bracketing; [u16; 5]: Sums;
        [u32; 3]: Sums;
    }
    numbers_in_words: {
        [i8; 4]: Each; [u16; 2]: Each; [i16; 6]: Each; [u8; 8]: Each; [u8; 3]: Each; [i16; 3]: Each;
    }
    middle_arrays: { [u64; 3]: Sums; [u8; 24]: Bracketing; [u8; 31]: Sums; [u32; 8]: Sums; }
    odd_arrays: { [f32; 5]: FloatSums; [u32; 7]: Sums; [f32; 9]: FloatSums; [u64; 5]: Sums; }
    large_arrays: { [u8; 33]: Sums; [u32; 12]: OddMaps; [u64; 8]: Sums; [u32; 16]: Sums; }
    #[cfg(feature = "complex")]
    complex: { num_complex::Complex<f32>: Mul | Add; num_complex::Complex<f64>: Mul | Add; }
}
