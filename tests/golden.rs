//! Results are part of the contract: the bits of today are those of every later version up to the
//! next major one. `tests/data/golden.txt` holds them, for inputs that a seed determines.

use crate::support::data::{Sample, sample};
use crate::support::operators::{Affine, Bicyclic, BicyclicProduct, Bracketing, Sums, Then};
use half::{bf16, f16};
use std::fmt::{LowerHex, Write};
use warpfold::ops::{Add, BitXor, Max, Min, Mul};
use warpfold::statistics::{Estimate, Number};
use warpfold::{
    Bins, Element, Monoid, Prefixes, arg_max, bytemuck, collect, function, histogram,
    histogram_weighted, map, mean, min_max, partition, positions, reduce, reduce_from, runs,
    scan_into, select, unique, variance, zip,
};

const GOLDEN: &str = include_str!("data/golden.txt");

/// Around blocks and chunks of the CPU, and tiles of GPUs.
const LENGTHS: [usize; 8] = [0, 1, 2, 7, 1000, 4096, 4097, 150_001];

/// 64 bits of all bytes (FNV-1a).
fn digest<T: Element>(values: &[T]) -> u64 {
    let bytes: &[u8] = bytemuck::cast_slice(values);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, what: &str, length: usize, bits: impl LowerHex) {
        writeln!(self.0, "{what} of {length}: {bits:x}").expect("memory");
    }

    /// Reduce and scan. No NaN may occur: its payload is free.
    fn folds<T: Sample, Op: Monoid<T>>(&mut self, name: &str) {
        for length in LENGTHS {
            let input = sample::<T>(length, 21);
            let init = sample::<T>(1, 22)[0];
            let reduced = reduce::<T, Op>(&input).unwrap();
            let from = reduce_from::<T, Op>(init, &input).unwrap();
            self.add(&format!("{name}, reduce"), length, digest(&[reduced, from]));
            let mut output = input.clone();
            for (form, prefixes) in [
                ("scan", Prefixes::exclusive()),
                ("inclusive scan", Prefixes::inclusive()),
                ("scan from", Prefixes::exclusive().from(init)),
                ("inclusive scan from", Prefixes::inclusive().from(init)),
            ] {
                scan_into::<T, Op>(prefixes, &input, &mut output).unwrap();
                self.add(&format!("{name}, {form}"), length, digest(&output));
            }
        }
    }

    fn statistics<T: Sample + Number>(&mut self, name: &str) {
        for length in LENGTHS.into_iter().filter(|&length| length > 1) {
            let input = sample::<T>(length, 23);
            let of = |what: &str| format!("{name}, {what}");
            self.add(&of("mean"), length, mean(&input).unwrap().to_bits());
            let spread = variance(&input, Estimate::Sample).unwrap();
            self.add(&of("variance"), length, spread.to_bits());
            let (least, greatest) = min_max(&input).unwrap().unwrap();
            self.add(&of("min_max"), length, digest(&[least, greatest]));
            self.add(&of("arg_max"), length, arg_max(&input).unwrap().unwrap());
        }
    }
}

#[function]
fn is_high(x: f32) -> bool {
    x > 0.25
}

#[function]
fn product(x: f32, y: f32) -> f32 {
    x * y
}

#[function]
fn nibble(x: u8) -> u8 {
    x >> 6
}

fn all_results() -> String {
    let mut lines = Lines::default();
    lines.folds::<u8, Add>("u8 add");
    lines.folds::<i16, Min>("i16 min");
    lines.folds::<u32, Add>("u32 add");
    lines.folds::<u32, BitXor>("u32 xor");
    lines.folds::<i32, Mul>("i32 mul");
    lines.folds::<u64, Add>("u64 add");
    lines.folds::<i64, Max>("i64 max");
    lines.folds::<f16, Add>("f16 add");
    lines.folds::<bf16, Add>("bf16 add");
    lines.folds::<f32, Add>("f32 add");
    lines.folds::<f32, Mul>("f32 mul");
    lines.folds::<f32, Max>("f32 max");
    lines.folds::<f64, Add>("f64 add");
    lines.folds::<f64, Min>("f64 min");
    lines.folds::<u8, Bracketing>("u8 bracketing");
    lines.folds::<u64, Bracketing>("u64 bracketing");
    lines.folds::<Bicyclic, BicyclicProduct>("bicyclic product");
    lines.folds::<Affine, Then>("affine then");
    lines.folds::<[u32; 3], Sums>("[u32; 3] sums");
    lines.folds::<[u64; 8], Sums>("[u64; 8] sums");
    lines.statistics::<u8>("u8");
    lines.statistics::<i32>("i32");
    lines.statistics::<u64>("u64");
    lines.statistics::<f16>("f16");
    lines.statistics::<f32>("f32");
    lines.statistics::<f64>("f64");
    for length in LENGTHS {
        let (x, y) = (sample::<f32>(length, 24), sample::<f32>(length, 25));
        let products = || map::<product, _>(zip(&x, &y));
        let mut add = |what: &str, digest: u64| lines.add(what, length, digest);
        let dot = reduce::<f32, Add>(products()).unwrap();
        add("dot", u64::from(dot.to_bits()));
        add("products", digest(&collect(products()).unwrap()));
        add("select", digest(&select::<f32, is_high>(&x).unwrap()));
        let (high, low) = partition::<f32, is_high>(&x).unwrap();
        add("partition", digest(&[high, low].concat()));
        let places = positions(map::<is_high, _>(&x)).unwrap();
        add("positions", digest(&places));
        let bytes = collect(map::<nibble, _>(&sample::<u8>(length, 26))).unwrap();
        add("unique", digest(&unique::<u8>(&bytes).unwrap()));
        let found = runs::<u8>(&bytes).unwrap();
        add("runs", digest(&found.lengths));
        let bins = Bins::even(-1.5, 1.5, 77).unwrap();
        add(
            "histogram",
            digest(&histogram::<u64, _>(&x, &bins).unwrap()),
        );
        let weighted = histogram_weighted(&x, &y, &bins).unwrap();
        add("weighted histogram", digest(&weighted));
    }
    lines.0
}

#[test]
fn results_have_the_bits_of_earlier_versions() {
    let results = all_results();
    if results == GOLDEN {
        return;
    }
    let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/golden.txt");
    std::fs::write(path, &results).expect("target/tmp can be written");
    let differ: Vec<_> = results
        .lines()
        .filter(|line| GOLDEN.lines().all(|golden| golden != *line))
        .take(10)
        .collect();
    panic!(
        "results are not those of tests/data/golden.txt, which a major version alone may change; \
         {path} has the new ones, of which the first are\n{}",
        differ.join("\n")
    );
}
