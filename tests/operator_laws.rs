//! The law checker: what holds passes, and what does not is found and named.

use crate::support::operators::{Affine, Bicyclic, BicyclicProduct, Sums, Then};
use proptest::prelude::*;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use warpfold::codegen::Definitions;
use warpfold::half::{bf16, f16};
use warpfold::ops::{Add, BitAnd, BitOr, BitXor, Max, Min, Mul};
use warpfold::statistics::{Extremes, First, Merge, Moments, Place, QuickMerge, QuickMoments};
use warpfold::testing::{assert_monoid, assert_monoid_within};
use warpfold::{Monoid, monoid};

macro_rules! integer_laws {
    ($($test:ident: $t:ty;)*) => {$(
        #[test]
        fn $test() {
            assert_monoid::<$t, Add>(any::<$t>());
            assert_monoid::<$t, Mul>(any::<$t>());
            assert_monoid::<$t, Min>(any::<$t>());
            assert_monoid::<$t, Max>(any::<$t>());
            assert_monoid::<$t, BitAnd>(any::<$t>());
            assert_monoid::<$t, BitOr>(any::<$t>());
            assert_monoid::<$t, BitXor>(any::<$t>());
        }
    )*};
}

integer_laws! {
    bytes: u8;
    signed_words: i16;
    long_words: u64;
}

/// Any float at all, NaN, infinities and subnormals included.
fn floats() -> impl Strategy<Value = f32> {
    any::<u32>().prop_map(f32::from_bits)
}

#[test]
fn floats_of_all_kinds_have_extrema() {
    assert_monoid::<f32, Min>(floats());
    assert_monoid::<f32, Max>(floats());
    assert_monoid::<f64, Max>(any::<u64>().prop_map(f64::from_bits));
    assert_monoid::<f16, Min>(any::<u16>().prop_map(f16::from_bits));
    assert_monoid::<bf16, Max>(any::<u16>().prop_map(bf16::from_bits));
}

#[test]
fn floats_add_and_multiply_nearly_associatively() {
    assert_monoid_within::<f32, Add>(1e-6, -1e3_f32..1e3);
    assert_monoid_within::<f32, Mul>(1e-6, 0.5_f32..2.0);
    assert_monoid_within::<f64, Add>(1e-15, -1e3_f64..1e3);
    assert_monoid_within::<f16, Add>(1e-6, (-1e3_f32..1e3).prop_map(f16::from_f32));
}

#[cfg(feature = "complex")]
#[test]
fn complex_numbers_multiply() {
    let numbers =
        (-2.0_f32..2.0, -2.0_f32..2.0).prop_map(|(re, im)| num_complex::Complex { re, im });
    assert_monoid_within::<num_complex::Complex<f32>, Mul>(1e-6, numbers);
}

#[test]
fn operators_of_users() {
    let words = (any::<u32>(), any::<u32>());
    assert_monoid::<Bicyclic, BicyclicProduct>(words.prop_map(|(p, q)| Bicyclic {
        p: p >> 8,
        q: q >> 8,
    }));
    let maps = (-2.0_f32..2.0, -9.0_f32..9.0);
    assert_monoid_within::<Affine, Then>(
        1e-6,
        maps.prop_map(|(slope, offset)| Affine { slope, offset }),
    );
    assert_monoid::<[u16; 5], Sums>(any::<[u16; 5]>());
}

#[test]
fn operators_of_statistics() {
    // Few ranks and positions, so that there are equal ones.
    let places = (0_u64..4, 0_u64..4);
    assert_monoid::<Place, First>(places.prop_map(|(rank, position)| Place::new(rank, position)));
    assert_monoid::<[f32; 2], Extremes>((floats(), floats()).prop_map(|(a, b)| [a, b]));
    assert_monoid::<[i64; 2], Extremes>(any::<[i64; 2]>());
    let groups = || proptest::collection::vec(-1e3_f64..1e3, 0..6);
    assert_monoid_within::<QuickMoments, QuickMerge>(
        1e-12,
        groups().prop_map(|group| {
            group
                .into_iter()
                .map(QuickMoments::of)
                .fold(QuickMoments::EMPTY, QuickMerge::combine)
        }),
    );
    assert_monoid_within::<Moments, Merge>(
        1e-12,
        groups().prop_map(|group| {
            group
                .into_iter()
                .map(Moments::of)
                .fold(Moments::EMPTY, Moments::merge)
        }),
    );
}

/// What the checker says of an operator that breaks a promise.
fn complaint(check: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(check)).expect_err("a promise is broken");
    let text = panic
        .downcast::<String>()
        .expect("the checker's panics have a text");
    *text
}

#[monoid(identity = 1)]
fn shifted_sum(a: i32, b: i32) -> i32 {
    a.wrapping_add(b)
}

#[monoid(identity = 0)]
fn difference(a: i32, b: i32) -> i32 {
    a.wrapping_sub(b)
}

#[monoid(identity = 0, commutative)]
fn left(a: i32, b: i32) -> i32 {
    if a == 0 { b } else { a }
}

#[monoid(identity = 0.0, exact, commutative)]
fn bold_sum(a: f32, b: f32) -> f32 {
    a + b
}

/// Written twice, and not the same.
struct TwoMinds;

impl Monoid<u32> for TwoMinds {
    fn identity() -> u32 {
        0
    }

    fn combine(a: u32, b: u32) -> u32 {
        a.max(b)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        definitions.define_function::<Self>("two_minds", |_, name| {
            format!("__device__ u32 {name}(u32 a, u32 b) {{ return b < a && a != 77 ? a : b; }}")
        })
    }
}

/// The numbers that a message names, `a` first. Which ones it finds depends on what is drawn.
fn counterexample<T: FromStr<Err: Debug>, const COUNT: usize>(text: &str) -> [T; COUNT] {
    let (_, values) = text.split_once(", for ").expect("a counterexample");
    std::array::from_fn(|number| {
        let letter = ["a = ", "b = ", "c = "][number];
        let (_, value) = values.split_once(letter).expect(letter);
        let end = value.find([',', ';', ' ', '\n']).unwrap_or(value.len());
        value[..end].parse().expect("a number")
    })
}

#[test]
fn broken_promises_are_found_and_named() {
    let text = complaint(|| assert_monoid::<i32, ShiftedSum>(any::<i32>()));
    let [a] = counterexample::<i32, 1>(&text);
    let result = shifted_sum(1, a);
    let said = format!("identity ⊕ a is {result}, not a, for a = {a}");
    assert!(result != a && text.contains(&said), "{text}");

    let text = complaint(|| assert_monoid::<i32, Difference>(0..100));
    let [a] = counterexample::<i32, 1>(&text);
    let result = difference(0, a);
    let said = format!("identity ⊕ a is {result}, not a, for a = {a}");
    assert!(result != a && text.contains(&said), "{text}");

    let text = complaint(|| assert_monoid::<i32, Left>(0..100));
    let [a, b] = counterexample::<i32, 2>(&text);
    assert!(text.contains("claims to be COMMUTATIVE"), "{text}");
    assert_ne!(left(a, b), left(b, a), "{text}");

    let text = complaint(|| assert_monoid::<f32, BoldSum>(-1e3_f32..1e3));
    assert!(text.contains("claims to be EXACT"), "{text}");

    let text = complaint(|| assert_monoid::<f32, Add>(-1e3_f32..1e3));
    let [a, b, c] = counterexample::<f32, 3>(&text);
    assert!(text.contains("use assert_monoid_within"), "{text}");
    assert_ne!((a + b) + c, a + (b + c), "{text}");

    let text = complaint(|| assert_monoid_within::<f32, Add>(1e-9, -1e3_f32..1e3));
    let [a, b, c] = counterexample::<f32, 3>(&text);
    assert!(text.contains("(a ⊕ b) ⊕ c is"), "{text}");
    assert_ne!((a + b) + c, a + (b + c), "{text}");
}

#[test]
fn a_failure_says_how_to_draw_the_same_elements_again() {
    let again = || complaint(|| assert_monoid::<f32, Add>(-1e3_f32..1e3));
    assert!(again().contains("drawn with WARPFOLD_SEED="), "{}", again());
    assert_eq!(again(), again());
}

#[test]
fn a_cuda_function_of_another_mind_is_found() {
    use crate::emulator::Toolchain;
    if Toolchain::get().is_none() {
        return;
    }
    let text = complaint(|| assert_monoid::<u32, TwoMinds>(70_u32..80));
    assert!(
        text.contains("in Rust, but") && text.contains("for a = 77"),
        "{text}"
    );
}
