//! Every item of a source is stored at its position, and nothing beside them: in the emulator, from
//! and to places anywhere, and in place.

use crate::emulator::{Argument, Grid, Toolchain, address, base_seed};
use crate::sources::emulated::{Case, MOST, drawn_module, leaf, lengths, place, script, slice};
use crate::support::data::{Sample, assert_same};
use half::f16;
use warpfold::codegen::Engine;
use warpfold::codegen::kernels::{Collect, CollectArguments};
use warpfold::source::{Form, Map, Slice, UpTo, UpToArguments, Zip, ZipArguments};
use warpfold::{bytemuck, function};

/// Collects a case. In place, its items are made of the elements of slice `a`. Of a source of
/// which only so many items count, the kernel reads their number from the buffer `limit`.
fn check<T: Sample, F: Form<Item = T>>(
    name: &str,
    case: &Case<F>,
    in_place: bool,
    up_to: fn(usize) -> usize,
) {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let policy = Collect::<F>::rows_policy(90);
    let Some(module) = drawn_module::<Collect<F>>(toolchain, name, Engine::Rows(policy)) else {
        return;
    };
    let lengths = lengths(policy.run as usize, policy.elements() as usize);
    for (number, length) in lengths.into_iter().enumerate() {
        let mut script = script(case);
        script.seed(base_seed() + number as u64);
        place(&mut script, case, length, number);
        let count = up_to(length).min(length);
        script.file("limit", &(up_to(length) as u64).to_ne_bytes());
        script.filled("limit", 0, 8, "limit");
        let shift = number % 5 * align_of::<T>();
        script.buffer("out", shift, count * size_of::<T>());
        let out = if in_place { "a" } else { "out" };
        let warps = 1 + number as u32 % policy.warps;
        let arguments = CollectArguments {
            source: (case.arguments)(length),
            out: address(out, 0),
            length: length as u64,
            in_place: in_place.into(),
            unused: 0,
        };
        let blocks = (length as u64).div_ceil(policy.elements() * u64::from(warps));
        let grid = Grid::new(blocks, 32 * warps);
        script.launch("collect_rows", grid, &[Argument::of_struct(&arguments)]);
        script.save(out);
        let what = format!("{name}, {length} items");
        let got: Vec<T> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(&what, &module));
        assert_same(&got, &case.items[..count], &what);
    }
}

fn all(length: usize) -> usize {
    length
}

/// Maps the elements of one slice, in place too if they keep their size.
macro_rules! maps {
    ($($test:ident: $from:ty => $to:ty, $function:ident, |$x:ident| $value:expr;)*) => {$(
        #[test]
        fn $test() {
            #[function]
            fn $function($x: $from) -> $to {
                $value
            }

            let (a, x) = leaf::<$from>("a", MOST, 1);
            let case = Case::<Map<$function, Slice<$from>>> {
                arguments: |_| slice("a"),
                leaves: vec![a],
                elements: |length| length,
                items: x.iter().map(|&x| $function(x)).collect(),
            };
            check::<$to, _>(stringify!($test), &case, false, all);
            if size_of::<$from>() == size_of::<$to>() {
                check::<$to, _>(stringify!($test), &case, true, all);
            }
        }
    )*};
}

maps! {
    bytes: u8 => u8, flip, |x| !x;
    bytes_become_words: u8 => u64, widen, |x| x as u64 * 3;
    words_become_bytes: u64 => u8, narrow, |x| (x >> 9) as u8;
    short_numbers: u16 => u16, rotate, |x| x.rotate_left(3);
    words: u32 => u32, scramble, |x| x.wrapping_mul(0x9e37_79b1);
    halves: f16 => f16, same_half, |x| x;
    triples: [u32; 3] => [u32; 3], turn, |x| [x[1], x[2], x[0]];
    long_elements: [u64; 7] => [u64; 7], swap, |x| [x[6], x[1], x[2], x[3], x[4], x[5], x[0]];
}

/// Reads and writes elements by indices that the data tell.
macro_rules! indices {
    ($($test:ident: $element:ty, $length:literal;)*) => {
        maps! {
            $($test: [$element; $length] => [$element; $length], moved, |x| {
                let mut y = x;
                for i in 0..$length {
                    let from = x[i] as usize % $length;
                    let to = x[from] as usize % $length;
                    y[to] = x[from].wrapping_add(y[i]);
                    y[from] ^= i as $element;
                    y[$length - 1] = y[$length - 1].wrapping_mul(y[to]);
                }
                y
            };)*
        }
    };
}

indices! {
    indices_into_three_bytes: i8, 3;
    indices_into_eight_bytes: u8, 8;
    indices_into_many_bytes: u8, 61;
    indices_into_short_numbers: i16, 13;
    indices_into_words: u32, 7;
    indices_into_all_words: i32, 16;
    indices_into_long_words: u64, 5;
}

#[function]
fn pair(x: u8, y: f64) -> [f64; 2] {
    [y, x as f64]
}

/// Two slices, each at a place of its own.
#[test]
fn zipped_slices() {
    let ((a, x), (b, y)) = (leaf::<u8>("a", MOST, 1), leaf::<f64>("b", MOST, 2));
    let case = Case::<Map<pair, Zip<(Slice<u8>, Slice<f64>)>>> {
        arguments: |_| ZipArguments(slice("a"), slice("b")),
        leaves: vec![a, b],
        elements: |length| length,
        items: x.iter().zip(&y).map(|(&x, &y)| pair(x, y)).collect(),
    };
    check::<[f64; 2], _>("zipped slices", &case, false, all);
}

#[test]
fn a_length_on_the_device_limits_what_is_stored() {
    let (a, items) = leaf::<u16>("a", MOST, 1);
    let case = Case::<UpTo<Slice<u16>>> {
        arguments: |_| UpToArguments {
            source: slice("a"),
            count: address("limit", 0),
        },
        leaves: vec![a],
        elements: |length| length,
        items,
    };
    check::<u16, _>("up to a third", &case, false, |length| length / 3);
    check::<u16, _>("up to more", &case, false, |length| length + 7);
}
