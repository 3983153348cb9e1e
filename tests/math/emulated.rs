//! `warpfold::math` gives the same bits in its translation to CUDA as on the host.

use crate::emulator::{Argument, Grid, Toolchain, address};
use crate::sources::emulated::{Case, leaf_of, module, place, script, slice};
use crate::support::data::{Random, Sample, assert_same};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, SQRT_2};
use warpfold::codegen::Engine;
use warpfold::codegen::kernels::{Collect, CollectArguments};
use warpfold::source::{Form, Map, Slice, Zip, ZipArguments};
use warpfold::{bytemuck, function};

/// All functions, in parts: an item has at most 64 bytes.
macro_rules! families {
    ($($float:ty: $exponential:ident, $circular:ident, $hyperbolic:ident, $of_two:ident;)*) => {$(
        #[function]
        pub(crate) fn $exponential(x: $float) -> [$float; 7] {
            [x.exp(), x.exp2(), x.exp_m1(), x.ln(), x.log2(), x.log10(), x.ln_1p()]
        }

        #[function]
        pub(crate) fn $circular(x: $float) -> [$float; 6] {
            [x.sin(), x.cos(), x.tan(), x.asin(), x.acos(), x.atan()]
        }

        #[function]
        pub(crate) fn $hyperbolic(x: $float) -> [$float; 4] {
            [x.sinh(), x.cosh(), x.tanh(), x.cbrt()]
        }

        #[function]
        pub(crate) fn $of_two(x: $float, y: $float) -> [$float; 5] {
            let n = y as i32;
            [x.atan2(y), x.hypot(y), x.abs().powf(y), x.powf(y.round()), x.powi(n)]
        }
    )*};
}

families! {
    f32: exponential_f32, circular_f32, hyperbolic_f32, of_two_f32;
    f64: exponential_f64, circular_f64, hyperbolic_f64, of_two_f64;
}

/// Numbers where functions change, and numbers beside them.
const EDGES: [f64; 24] = [
    0.0,
    5e-324,
    1e-310,
    1e-45,
    1e-40,
    1e-20,
    1e-8,
    0.25,
    0.41421356237309503,
    0.5,
    FRAC_PI_4,
    1.0,
    SQRT_2,
    FRAC_PI_2,
    2.0,
    3.0,
    40.0,
    88.7,
    103.9,
    709.78,
    745.1,
    1048576.0,
    1e300,
    f64::INFINITY,
];

/// A float of random bits, or of usual size, or an edge or one beside it.
macro_rules! any {
    ($name:ident, $float:ty, $shift:literal) => {
        fn $name(random: &mut Random) -> $float {
            let word = random.next();
            let sign = if word & 8 == 0 { 1.0 } else { -1.0 };
            match word % 5 {
                0 | 1 => <$float>::from_bits((random.next() >> $shift) as _),
                2 => sign * (random.next() >> 11) as $float / (1_u64 << 50) as $float,
                3 => 1.0 + sign * (random.next() >> 11) as $float / 1e17,
                _ => {
                    let edge = EDGES[(word >> 32) as usize % EDGES.len()] as $float;
                    let beside = edge
                        .to_bits()
                        .wrapping_add((word >> 60) as _)
                        .wrapping_sub(8);
                    sign * <$float>::from_bits(beside)
                }
            }
        }
    };
}

any!(any_f32, f32, 32);
any!(any_f64, f64, 0);

/// Collects items in the emulator.
fn check<T: Sample, F: Form<Item = T>>(name: &str, case: &Case<F>) {
    let Some(toolchain) = Toolchain::get() else {
        return;
    };
    let policy = Collect::<F>::rows_policy(90);
    let module = module::<Collect<F>>(toolchain, name, Engine::Rows(policy));
    let length = case.items.len();
    let mut script = script(case);
    place(&mut script, case, length, 0);
    script.buffer("out", 0, length * size_of::<T>());
    let arguments = CollectArguments {
        source: (case.arguments)(length),
        out: address("out", 0),
        length: length as u64,
        in_place: 0,
        unused: 0,
    };
    let blocks = (length as u64).div_ceil(policy.elements() * 4);
    let grid = Grid::new(blocks, 128);
    script.launch("collect_rows", grid, &[Argument::of_struct(&arguments)]);
    script.save("out");
    let got: Vec<T> = bytemuck::pod_collect_to_vec(&script.run_to_the_end(name, &module));
    assert_same(&got, &case.items, name);
}

const LENGTH: usize = 20_000;

macro_rules! same_bits {
    ($($test:ident: $float:ty, $any:ident, $function:ident -> $count:literal;)*) => {$(
        #[test]
        fn $test() {
            let mut random = Random::new(7);
            let x: Vec<$float> = (0..LENGTH).map(|_| $any(&mut random)).collect();
            let case = Case::<Map<$function, Slice<$float>>> {
                arguments: |_| slice("a"),
                leaves: vec![leaf_of("a", &x)],
                elements: |length| length,
                items: x.iter().map(|&x| $function(x)).collect(),
            };
            check::<[$float; $count], _>(stringify!($function), &case);
        }
    )*};
}

same_bits! {
    exponentials_in_f32: f32, any_f32, exponential_f32 -> 7;
    exponentials_in_f64: f64, any_f64, exponential_f64 -> 7;
    circular_functions_in_f32: f32, any_f32, circular_f32 -> 6;
    circular_functions_in_f64: f64, any_f64, circular_f64 -> 6;
    hyperbolic_functions_in_f32: f32, any_f32, hyperbolic_f32 -> 4;
    hyperbolic_functions_in_f64: f64, any_f64, hyperbolic_f64 -> 4;
}

macro_rules! same_bits_of_two {
    ($($test:ident: $float:ty, $any:ident, $function:ident;)*) => {$(
        #[test]
        fn $test() {
            let mut random = Random::new(11);
            let mut all = || (0..LENGTH).map(|_| $any(&mut random)).collect::<Vec<$float>>();
            let (x, y) = (all(), all());
            let case = Case::<Map<$function, Zip<(Slice<$float>, Slice<$float>)>>> {
                arguments: |_| ZipArguments(slice("a"), slice("b")),
                leaves: vec![leaf_of("a", &x), leaf_of("b", &y)],
                elements: |length| length,
                items: x.iter().zip(&y).map(|(&x, &y)| $function(x, y)).collect(),
            };
            check::<[$float; 5], _>(stringify!($function), &case);
        }
    )*};
}

same_bits_of_two! {
    two_arguments_in_f32: f32, any_f32, of_two_f32;
    two_arguments_in_f64: f64, any_f64, of_two_f64;
}
