#!/usr/bin/env bash
# The crate `half`: from_f64 rounds a number that has lost its last bits already. Just above the
# middle between 1 and the next f16, or bf16, it gives 1; the nearest is the next.
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
half = "=2.7.1"
[workspace]
TOML
cat >"$folder/src/main.rs" <<'RUST'
use half::{bf16, f16};
fn main() {
    let a_little = 2f64.powi(-40);
    let f16_x = 1.0 + 2f64.powi(-11) + a_little;
    let bf16_x = 1.0 + 2f64.powi(-8) + a_little;
    let (f16_y, bf16_y) = (f16::from_f64(f16_x).to_f64(), bf16::from_f64(bf16_x).to_f64());
    let errors = [f16_x - f16_y, bf16_x - bf16_y];
    let others = [f16_y + 2f64.powi(-10) - f16_x, bf16_y + 2f64.powi(-7) - bf16_x];
    println!("f16 {f16_y}, bf16 {bf16_y}; the next is nearer: {} {}", others[0] < errors[0], others[1] < errors[1]);
}
RUST
seen=$(cargo run --quiet --manifest-path "$folder/Cargo.toml")
printf 'half 2.7.1: %s\n' "$seen"
[[ $seen == 'f16 1, bf16 1; the next is nearer: true true' ]]
