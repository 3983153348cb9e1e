//! The functions of `warpfold::math` beside the standard library's: `cargo bench --bench math`
//! prints the table of `docs/math.md`. `cargo bench --bench math -- DIR` writes the CUDA source of
//! each into a folder instead, for `scripts/math-instructions`.

use std::hint::black_box;
use std::time::Instant;
use std::{env, fs, path::Path};
use warpfold::codegen::{Definitions, with_kernels};
use warpfold::{Function, math};

/// Calls in one measurement.
const CALLS: usize = 1 << 14;
const MEASUREMENTS: usize = 15;

/// Nanoseconds for a call, the least of some measurements.
fn nanoseconds<T: Copy, U: Copy + Default>(x: &[T], call: impl Fn(T) -> U) -> f64 {
    let mut y = vec![U::default(); x.len()];
    let times = (0..MEASUREMENTS).map(|_| {
        let start = Instant::now();
        for (y, &x) in y.iter_mut().zip(x) {
            *y = call(x);
        }
        black_box(&y);
        start.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min) * 1e9 / x.len() as f64
}

/// Numbers between two, in no order.
fn numbers(low: f64, high: f64) -> Vec<f64> {
    let word = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
    let part = |number| word(number) as f64 / (1_u64 << 53) as f64;
    (0..CALLS as u64)
        .map(|number| low + (high - low) * part(number))
        .collect()
}

macro_rules! measure {
    ($($name:ident: $low:literal to $high:literal;)*) => {$({
        let x = numbers($low, $high);
        let single: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        println!(
            "| `{}` | {:.1} | {:.1} | {:.1} | {:.1} |",
            stringify!($name),
            nanoseconds(&single, math::$name::<f32>),
            nanoseconds(&single, f32::$name),
            nanoseconds(&x, math::$name::<f64>),
            nanoseconds(&x, f64::$name),
        );
    })*};
    ($($name:ident of two: $low:literal to $high:literal;)*) => {$({
        let x = numbers($low, $high);
        let pairs: Vec<(f64, f64)> = x.iter().zip(&x[1..]).map(|(&x, &y)| (x, y)).collect();
        let single: Vec<_> = pairs.iter().map(|&(x, y)| (x as f32, y as f32)).collect();
        println!(
            "| `{}` | {:.1} | {:.1} | {:.1} | {:.1} |",
            stringify!($name),
            nanoseconds(&single, |(x, y)| math::$name::<f32>(x, y)),
            nanoseconds(&single, |(x, y)| f32::$name(x, y)),
            nanoseconds(&pairs, |(x, y)| math::$name::<f64>(x, y)),
            nanoseconds(&pairs, |(x, y)| f64::$name(x, y)),
        );
    })*};
}

/// Writes a kernel that calls a function once.
fn write<F: Function>(folder: &Path, name: &str, float: &str, arguments: &str) {
    let mut definitions = Definitions::default();
    let function = F::cuda(&mut definitions);
    let text = format!(
        "#include \"machine/rust.cuh\"\nnamespace user {{\nusing namespace warpfold;\n{}\n\
         extern \"C\" __global__\n\
         void kernel(const {float}* a, const {float}* b, {float}* y) {{\n    \
         y[threadIdx.x] = {function}({arguments});\n}}\n}}\n",
        definitions
            .text()
            .expect("the functions do not call themselves")
    );
    let text = with_kernels(&text, "math.cu").expect("the file is there");
    fs::write(folder.join(format!("{name}-{float}.cu")), text).expect("the folder can be written");
}

macro_rules! write {
    ($folder:expr, $arguments:literal, $($name:ident)*) => {$(
        write::<math::$name<f32>>($folder, stringify!($name), "f32", $arguments);
        write::<math::$name<f64>>($folder, stringify!($name), "f64", $arguments);
    )*};
}

fn main() {
    if let Some(folder) = env::args().skip(1).find(|word| !word.starts_with('-')) {
        let folder = Path::new(&folder);
        fs::create_dir_all(folder).expect("the folder can be made");
        write!(folder, "a[threadIdx.x]", exp exp2 exp_m1 ln log2 log10 ln_1p sin cos tan asin acos
            atan sinh cosh tanh cbrt);
        write!(folder, "a[threadIdx.x], b[threadIdx.x]", atan2 hypot powf);
        return;
    }
    println!("| ns a call | `f32` | std | `f64` | std |\n|---|---:|---:|---:|---:|");
    measure! {
        exp: -10.0 to 10.0;
        exp2: -10.0 to 10.0;
        exp_m1: -2.0 to 2.0;
        ln: 0.0 to 10.0;
        log2: 0.0 to 10.0;
        log10: 0.0 to 10.0;
        ln_1p: 0.0 to 2.0;
        sin: -10.0 to 10.0;
        cos: -10.0 to 10.0;
        tan: -10.0 to 10.0;
        asin: -1.0 to 1.0;
        acos: -1.0 to 1.0;
        atan: -3.0 to 3.0;
        sinh: -3.0 to 3.0;
        cosh: -3.0 to 3.0;
        tanh: -3.0 to 3.0;
        cbrt: 0.0 to 10.0;
    }
    measure! {
        atan2 of two: -3.0 to 3.0;
        hypot of two: -3.0 to 3.0;
        powf of two: 0.0 to 5.0;
    }
}
