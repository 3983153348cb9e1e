//! Maps of one slice or of several, of indices, of constants, and of where runs start.

use super::cases::{Case, MOST, leaf, leaf_of, slice};
use super::levels::check_levels;
use super::{check, check_reductions};
use crate::support::operators::{
    Bicyclic, BicyclicProduct, Bracketing, Guarded, GuardedBracketing, GuardedSum, guarded_up_to,
};
use warpfold::ops::Add;
use warpfold::source::{
    Constant, ConstantArguments, Equal, Heads, Index, IndexArguments, Map, Slice, Zip, ZipArguments,
};
use warpfold::{bytemuck, function};

#[function]
fn widen(byte: u8) -> u64 {
    byte as u64
}

/// The longest run of bytes, and results eight times as wide.
#[test]
fn bytes_in_64_bits() {
    let (leaf, data) = leaf::<u8>("a", MOST, 1);
    let case = Case::<Map<widen, Slice<u8>>> {
        arguments: |_| slice("a"),
        leaves: vec![leaf],
        elements: |length| length,
        items: data.iter().map(|&byte| u64::from(byte)).collect(),
    };
    check::<u64, Add, _>("bytes in 64 bits", &case);
    check_levels::<u64, Add, _>("bytes in 64 bits", &case);
    check_reductions::<u64, Bracketing, _>("bytes by the law", &case);
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

/// Two slices, each at a place of its own.
#[test]
fn a_dot_product() {
    let (a, x) = leaf::<f32>("a", MOST, 1);
    let (b, y) = leaf::<f32>("b", MOST, 2);
    let case = Case::<Map<product, Zip<(Slice<f32>, Slice<f32>)>>> {
        arguments: |_| ZipArguments(slice("a"), slice("b")),
        leaves: vec![a, b],
        elements: |length| length,
        items: x.iter().zip(&y).map(|(x, y)| x * y).collect(),
    };
    check::<f32, Add, _>("dot product", &case);
    check_levels::<f32, Add, _>("dot product", &case);
}

#[function]
fn begins(x: u16, is_first: bool) -> u32 {
    (x as u32) << 16 | is_first as u32
}

/// Each item with the one before it, wherever tiles and slices start.
#[test]
fn where_runs_start() {
    let (mut a, mut data) = leaf::<u16>("a", MOST, 1);
    data.iter_mut().for_each(|x| *x &= 1);
    a.bytes = bytemuck::cast_slice(&data).to_vec();
    let starts = |i: usize| i == 0 || data[i] != data[i - 1];
    let case = Case::<Map<begins, Heads<Equal<u16>, Slice<u16>>>> {
        arguments: |_| slice("a"),
        leaves: vec![a],
        elements: |length| length,
        items: (0..MOST).map(|i| begins(data[i], starts(i))).collect(),
    };
    check::<u32, Add, _>("where runs start", &case);
}

#[function]
fn mixed(byte: u8, x: f64) -> u64 {
    (x * 16777216.0) as i64 as u64 ^ byte as u64
}

/// Slices of very different sizes: a run of the bytes is shorter than a word of 16.
#[test]
fn bytes_beside_doubles() {
    let (a, x) = leaf::<u8>("a", MOST, 1);
    let (b, y) = leaf::<f64>("b", MOST, 2);
    let case = Case::<Map<mixed, Zip<(Slice<u8>, Slice<f64>)>>> {
        arguments: |_| ZipArguments(slice("a"), slice("b")),
        leaves: vec![a, b],
        elements: |length| length,
        items: x.iter().zip(&y).map(|(&x, &y)| mixed(x, y)).collect(),
    };
    check::<u64, Bracketing, _>("bytes beside doubles", &case);
    check_reductions::<u64, Add, _>("bytes beside doubles in any order", &case);
}

#[function]
fn numbered(p: u32, add: u32, index: u64) -> Bicyclic {
    Bicyclic {
        p: (p >> 28).wrapping_add(add),
        q: (index as u32).wrapping_mul(7) >> 3 & 15,
    }
}

/// An index and a constant beside a slice; the operator does not commute.
#[test]
fn numbered_items() {
    let (a, x) = leaf::<u32>("a", MOST, 1);
    let case = Case::<Map<numbered, Zip<(Slice<u32>, Constant<u32>, Index)>>> {
        arguments: |_| {
            ZipArguments(
                slice("a"),
                ZipArguments(ConstantArguments { value: 3 }, IndexArguments { first: 0 }),
            )
        },
        leaves: vec![a],
        elements: |length| length,
        items: (0..)
            .zip(&x)
            .map(|(index, &p)| numbered(p, 3, index))
            .collect(),
    };
    check::<Bicyclic, BicyclicProduct, _>("numbered", &case);
    check_levels::<Bicyclic, BicyclicProduct, _>("numbered", &case);
}

#[function]
fn on_line(x: u32, y: u32, line: [u32; 2]) -> u32 {
    line[0].wrapping_mul(x) ^ y.wrapping_add(line[1])
}

/// The items are pairs, and the parameters come behind them.
#[test]
fn pairs_with_parameters() {
    let ((a, x), (b, y)) = (leaf::<u32>("a", MOST, 1), leaf::<u32>("b", MOST, 2));
    type Pairs = Zip<(Slice<u32>, Slice<u32>)>;
    let case = Case::<Map<on_line, Zip<(Pairs, Constant<[u32; 2]>)>>> {
        arguments: |_| {
            let pairs = ZipArguments(slice("a"), slice("b"));
            ZipArguments(pairs, ConstantArguments { value: [3, 77] })
        },
        leaves: vec![a, b],
        elements: |length| length,
        items: x
            .iter()
            .zip(&y)
            .map(|(&x, &y)| on_line(x, y, [3, 77]))
            .collect(),
    };
    check::<u32, Add, _>("pairs with a parameter", &case);
    check_levels::<u32, Add, _>("pairs with a parameter", &case);
}

#[function]
fn bits_of_greater(a: f32, b: f32) -> u32 {
    let x = a.max(b);
    if x.is_nan() { 0x7fc0_0000 } else { x.to_bits() }
}

#[function]
fn bits_of_lesser(a: f64, b: f64) -> u64 {
    let x = f64::min(a, b);
    if x.is_nan() { 1 } else { x.to_bits() }
}

/// Quiet NaNs and signalling ones, zeros of both signs, and other numbers, in all pairs.
#[test]
fn extremes_of_odd_floats() {
    let odd = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        -f32::NAN,
        f32::from_bits(0x7f80_0001),
        f32::from_bits(0xffbf_ffff),
        f32::from_bits(1),
    ];
    let in_f64 = |i: usize| match odd[i].to_bits() {
        0x7f80_0001 => f64::from_bits(0x7ff0_0000_0000_0001),
        0xffbf_ffff => f64::from_bits(0xfff7_ffff_ffff_ffff),
        _ => f64::from(odd[i]),
    };
    let first = |i: usize| i % odd.len();
    let second = |i: usize| i / odd.len() % odd.len();
    let a: Vec<f32> = (0..MOST).map(|i| odd[first(i)]).collect();
    let b: Vec<f32> = (0..MOST).map(|i| odd[second(i)]).collect();
    let case = Case::<Map<bits_of_greater, Zip<(Slice<f32>, Slice<f32>)>>> {
        arguments: |_| ZipArguments(slice("a"), slice("b")),
        leaves: vec![leaf_of("a", &a), leaf_of("b", &b)],
        elements: |length| length,
        items: a
            .iter()
            .zip(&b)
            .map(|(&a, &b)| bits_of_greater(a, b))
            .collect(),
    };
    check::<u32, Add, _>("greater of floats", &case);
    let a: Vec<f64> = (0..MOST).map(|i| in_f64(first(i))).collect();
    let b: Vec<f64> = (0..MOST).map(|i| in_f64(second(i))).collect();
    let case = Case::<Map<bits_of_lesser, Zip<(Slice<f64>, Slice<f64>)>>> {
        arguments: |_| ZipArguments(slice("a"), slice("b")),
        leaves: vec![leaf_of("a", &a), leaf_of("b", &b)],
        elements: |length| length,
        items: a
            .iter()
            .zip(&b)
            .map(|(&a, &b)| bits_of_lesser(a, b))
            .collect(),
    };
    check::<u64, Add, _>("lesser of floats", &case);
}

/// What fills up an unfinished tile has the index of an item: the operator stops at any other.
#[test]
fn no_index_beyond_the_items() {
    let (a, x) = leaf::<u32>("a", MOST, 1);
    let case = Case::<Map<guarded_up_to, Zip<(Slice<u32>, Constant<u64>, Index)>>> {
        arguments: |length| {
            let length = ConstantArguments {
                value: length as u64,
            };
            ZipArguments(
                slice("a"),
                ZipArguments(length, IndexArguments { first: 0 }),
            )
        },
        leaves: vec![a],
        elements: |length| length,
        items: x.iter().map(|&value| Guarded::new(value)).collect(),
    };
    check::<Guarded, GuardedBracketing, _>("guarded index", &case);
    check_reductions::<Guarded, GuardedSum, _>("guarded index in any order", &case);
}
