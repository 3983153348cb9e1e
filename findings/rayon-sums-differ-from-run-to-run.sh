#!/usr/bin/env bash
# rayon: the parallel sum of f32 depends on which thread was free to take what, so on 8 threads
# repeated sums of one array differ. One thread gives one sum, but not the iterator's.
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
    pool.install(|| (0..300).map(|_| data.par_iter().sum::<f32>().to_bits()).collect())
}
fn main() {
    let data: Vec<f32> = (0..200_003u32).map(|i| (i.wrapping_mul(2654435761) >> 8) as f32 * 1e-5).collect();
    let (one, eight) = (sums(1, &data), sums(8, &data));
    eprintln!("different sums in 300 runs: 1 thread {}, 8 threads {}", one.len(), eight.len());
    let sequential = data.iter().sum::<f32>().to_bits();
    println!("one {} sequential {} more {}", one.len(), one.contains(&sequential), eight.len() > 1);
}
RUST
seen=$(cargo run --quiet --release --manifest-path "$folder/Cargo.toml")
printf 'rayon 1.12.0: %s\n' "$seen"
[[ $seen == 'one 1 sequential false more true' ]]
