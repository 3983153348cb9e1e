#!/usr/bin/env bash
# rayon: the parallel sum of f32 depends on the number of threads, and from two threads on also on
# which of them was free to take what, so that it may change from run to run. One thread does not
# give the iterator's sum either.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/src"
cat >"$folder/Cargo.toml" <<'TOML'
[package]
name = "finding"
version = "0.1.0"
edition = "2021"
[dependencies]
rayon = "=1.12.0"
[workspace]
TOML
cat >"$folder/src/main.rs" <<'RUST'
use rayon::prelude::*;
use std::collections::BTreeSet;
fn sums(threads: usize, data: &[f32]) -> BTreeSet<u32> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| (0..60).map(|_| data.par_iter().sum::<f32>().to_bits()).collect())
}
fn main() {
    let value = |i: u32| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
    let data: Vec<f32> = (0..2_000_003).map(value).collect();
    let sequential = data.iter().sum::<f32>();
    eprintln!("one after the other: {sequential}");
    let mut all = BTreeSet::new();
    for threads in [1, 2, 4, 8] {
        let found = sums(threads, &data);
        let shown: Vec<_> = found.iter().map(|&bits| f32::from_bits(bits)).collect();
        eprintln!("{threads} threads, in 60 runs: {shown:?}");
        if threads == 1 {
            print!("one thread: {} sum, that of the iterator: {}; ", found.len(), found.contains(&sequential.to_bits()));
        }
        all.extend(found);
    }
    println!("more sums with more threads: {}", all.len() > 1);
}
RUST
seen=$(cargo run --quiet --release --manifest-path "$folder/Cargo.toml")
printf 'rayon 1.12.0: %s\n' "$seen"
[[ $seen == 'one thread: 1 sum, that of the iterator: false; more sums with more threads: true' ]]
