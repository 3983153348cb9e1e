//! Sources that read a slice at other places than their own: gathers, and columns of a matrix.

use super::cases::{Case, MOST, leaf, leaf_of, slice};
use super::check;
use super::levels::check_levels;
use crate::emulator::address;
use crate::support::data::sample;
use warpfold::function;
use warpfold::ops::Add;
use warpfold::source::{
    Gather, GatherArguments, Map, Slice, Strided, StridedArguments, Zip, ZipArguments,
};

/// Indices that nobody checked: those beyond the end count as the last one, negative ones as 0.
#[test]
fn gathered_items() {
    const KNOWN: usize = 100;
    let (a, x) = leaf::<u32>("a", MOST, 1);
    let wild = |(i, number): (usize, i64)| match i % 9 {
        0 => number,
        _ => number.rem_euclid(KNOWN as i64 + 3) - 1,
    };
    let indices: Vec<_> = sample::<i64>(MOST, 2)
        .into_iter()
        .enumerate()
        .map(wild)
        .collect();
    let item = |index: i64| x[index.clamp(0, KNOWN as i64 - 1) as usize];
    let case = Case::<Gather<Slice<u32>, Slice<i64>>> {
        arguments: |_| GatherArguments {
            data: slice("a"),
            index: slice("b"),
            last: KNOWN as u64 - 1,
        },
        leaves: vec![a, leaf_of("b", &indices)],
        elements: |length| length.max(KNOWN),
        items: indices.iter().map(|&index| item(index)).collect(),
    };
    check::<u32, Add, _>("gathered", &case);
    check_levels::<u32, Add, _>("gathered", &case);
}

#[function]
fn scaled(x: f32, by: f32) -> f32 {
    x * by
}

/// What a sparse matrix makes of a vector, with indices of bytes.
#[test]
fn products_with_gathered_items() {
    const KNOWN: usize = 200;
    let ((a, x), (b, y)) = (leaf::<f32>("a", MOST, 1), leaf::<f32>("b", MOST, 2));
    let (c, indices) = leaf::<u8>("c", MOST, 3);
    type Gathered = Gather<Slice<f32>, Slice<u8>>;
    let case = Case::<Map<scaled, Zip<(Slice<f32>, Gathered)>>> {
        arguments: |_| {
            let gathered = GatherArguments {
                data: slice("b"),
                index: slice("c"),
                last: KNOWN as u64 - 1,
            };
            ZipArguments(slice("a"), gathered)
        },
        leaves: vec![a, b, c],
        elements: |length| length.max(KNOWN),
        items: (0..MOST)
            .map(|i| scaled(x[i], y[usize::from(indices[i]).min(KNOWN - 1)]))
            .collect(),
    };
    check::<f32, Add, _>("products with gathered", &case);
}

/// Columns 0 to 6 of 11.
#[test]
fn columns_of_a_matrix() {
    let (a, x) = leaf::<u16>("a", MOST / 7 * 11 + 22, 1);
    let case = Case::<Strided<Slice<u16>>> {
        arguments: |_| StridedArguments {
            address: address("a", 0),
            width: 7,
            stride: 11,
        },
        leaves: vec![a],
        elements: |length| (length - 1) / 7 * 11 + (length - 1) % 7 + 1,
        items: (0..MOST).map(|i| x[i / 7 * 11 + i % 7]).collect(),
    };
    check::<u16, Add, _>("columns", &case);
}

/// Rows whose starts are aligned, and wide enough for whole words.
#[test]
fn wide_columns_of_a_matrix() {
    let (a, x) = leaf::<u32>("a", MOST / 64 * 96 + 192, 1);
    let case = Case::<Strided<Slice<u32>>> {
        arguments: |_| StridedArguments {
            address: address("a", 0),
            width: 64,
            stride: 96,
        },
        leaves: vec![a],
        elements: |length| (length - 1) / 64 * 96 + (length - 1) % 64 + 1,
        items: (0..MOST).map(|i| x[i / 64 * 96 + i % 64]).collect(),
    };
    check::<u32, Add, _>("wide columns", &case);
}
