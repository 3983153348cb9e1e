//! The generated kernels, run on the CPU: they equal the oracle bit for bit under any schedule, read
//! and write nothing but what they are given, and their barriers are all there.
//!
//! `tests/emulator/` is a small emulator of CUDA blocks in C++. Each generated source becomes a shared object
//! that it loads, everything compiled with the address and undefined behaviour sanitizers. What is
//! compiled stays in cargo's folder for such things until its source changes.

use crate::support::data::{Sample, assert_same, boundary_lengths, sample};
use crate::support::operators::{Affine, Bicyclic, BicyclicProduct, Bracketing, Sums, Then};
use crate::support::oracle;
use half::{bf16, f16};
use std::any::{TypeId, type_name};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use toolchain::Emulator;
use warpfold::bytemuck;
use warpfold::codegen::{Kernel, Plan, Policy, Primitive, source};
use warpfold::ops::{Add, BitAnd, BitOr, BitXor, Max, Min, Mul};
use warpfold::{Element, Monoid};

#[path = "emulator/toolchain.rs"]
mod toolchain;

/// One call of a primitive.
#[derive(Debug, Clone, Copy)]
struct Case {
    primitive: Primitive,
    length: usize,
    seeded: bool,
    inclusive: bool,
    in_place: bool,
    /// How far input and output are from where an allocation starts, in units of the element's
    /// alignment: misaligned in every way that a slice, or a view of other memory, can be.
    shifts: (usize, usize),
}

impl Case {
    /// Appends the commands that run the case. The output is saved.
    fn script<T: Element, Op: Monoid<T>>(&self, init: T, script: &mut String) {
        let plan = Plan::new::<T>(self.primitive, self.length);
        let bytes = self.length * size_of::<T>();
        let output_bytes = if self.primitive == Primitive::Scan {
            bytes
        } else {
            size_of::<T>()
        };
        let shift = |units: usize| units * align_of::<T>();

        let mut line = |text: String| {
            script.push_str(&text);
            script.push('\n');
        };
        line(format!("buffer in {} {bytes} data", shift(self.shifts.0)));
        line(format!("buffer workspace 0 {}", plan.workspace_bytes()));
        if !self.in_place {
            line(format!(
                "buffer out {} {output_bytes}",
                shift(self.shifts.1)
            ));
        }
        let out = if self.in_place { "in+0" } else { "out+0" };
        let level = |k: usize| match k {
            0 => "in+0".to_owned(),
            k if k == plan.levels() => "null".to_owned(),
            k => format!("workspace+{}", plan.offset(k)),
        };
        let init = if self.seeded { init } else { Op::identity() };
        let init = value(bytemuck::bytes_of(&init.widen()));
        let seeded = value(&u32::from(self.seeded).to_ne_bytes());

        for launch in plan.launches().filter(|launch| launch.blocks > 0) {
            let k = launch.level;
            let length = value(&plan.length(k).to_ne_bytes());
            let arguments = match launch.kernel {
                Kernel::ReduceTiles => format!("{} {}", level(k), level(k + 1)),
                Kernel::ReduceFinish => {
                    format!("{} {length} workspace+0 {out} {init} {seeded}", level(0))
                }
                Kernel::ScanTiles => {
                    let target = if k == 0 { out.to_owned() } else { level(k) };
                    let inclusive = value(&u32::from(self.inclusive || k > 0).to_ne_bytes());
                    let bases = level(k + 1);
                    format!(
                        "{} {target} {length} {bases} {init} {seeded} {inclusive}",
                        level(k)
                    )
                }
            };
            let function = launch.kernel.function(k, widens::<T>());
            line(format!(
                "launch {function} {} {} {arguments}",
                launch.blocks, launch.threads
            ));
        }
        line(format!("save {}", out.trim_end_matches("+0")));
        line("clear".to_owned());
    }
}

/// Whether the kernels exist a second time, for sums in a wider type.
fn widens<T: Element>() -> bool {
    TypeId::of::<T>() != TypeId::of::<T::Accumulator>()
}

/// A value as an argument of a launch.
fn value(bytes: &[u8]) -> String {
    bytes.iter().fold("=".to_owned(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

/// The lengths to test, the long ones (an emulated block takes milliseconds) once only.
fn cases<T: Element>(primitive: Primitive) -> Vec<Case> {
    let tile = Policy::of::<T>(primitive).tile() as usize;
    let mut lengths = boundary_lengths(tile);
    lengths.retain(|&length| length < 5 * tile || length == 33 * tile + 1);
    if tile * tile <= 1 << 16 {
        lengths.push(tile * tile + tile + 3);
        assert_eq!(
            Plan::new::<T>(primitive, tile * tile + tile + 3).levels(),
            3
        );
    }

    // All combinations in turn: 5 placements meet 4 variants, so 20 cases see each pair.
    let placements = [
        (false, (0, 0)),
        (true, (0, 0)),
        (false, (1, 0)),
        (false, (3, 5)),
        (true, (1, 1)),
    ];
    let mut cases = Vec::new();
    for length in lengths {
        let times = if length <= tile + 1 {
            3
        } else if length < 5 * tile {
            2
        } else {
            1
        };
        for _ in 0..times {
            let number = cases.len();
            let (in_place, shifts) = placements[number % placements.len()];
            cases.push(Case {
                primitive,
                length,
                seeded: number & 1 == 1,
                inclusive: number & 2 == 2,
                in_place: in_place && primitive == Primitive::Scan,
                shifts,
            });
        }
    }
    cases
}

/// Runs the kernels of `T` and `Op` on prefixes of what `data` gives for a length, and compares.
fn check<T: Sample, Op: Monoid<T>>(data: impl Fn(usize) -> Vec<T>) {
    let Some(emulator) = Emulator::get() else {
        return;
    };
    for primitive in Primitive::ALL {
        check_primitive::<T, Op>(emulator, primitive, &data);
    }
}

fn check_primitive<T: Sample, Op: Monoid<T>>(
    emulator: &Emulator,
    primitive: Primitive,
    data: impl Fn(usize) -> Vec<T>,
) {
    let name: String = format!(
        "{} {} {}",
        primitive.name(),
        type_name::<T>(),
        type_name::<Op>()
    )
    .chars()
    .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
    .collect();
    let text = source::<T, Op>(primitive).expect("the source can be generated");
    let kernels = match primitive {
        Primitive::Reduce => [Kernel::ReduceTiles, Kernel::ReduceFinish],
        Primitive::Scan => [Kernel::ReduceTiles, Kernel::ScanTiles],
    };
    let functions = kernels.map(|kernel| [0, 1].map(|level| kernel.function(level, widens::<T>())));
    let mut functions = functions.concat();
    functions.dedup();
    let module = emulator.module(&name, &text, &functions);

    let cases = cases::<T>(primitive);
    let longest = cases
        .iter()
        .map(|case| case.length)
        .max()
        .expect("there are cases");
    let data = data(longest + 1);
    let (init, data) = data.split_last().expect("one more than the longest");

    let folder = tempfile::tempdir().expect("there is room for temporary files");
    fs::write(folder.path().join("data"), bytemuck::cast_slice(data))
        .expect("the data can be written");
    let mut script = String::new();
    for (seed, case) in cases.iter().enumerate() {
        writeln!(script, "seed {seed}").expect("writing to a string cannot fail");
        case.script::<T, Op>(*init, &mut script);
    }
    let output = emulator.run(&module, &script, folder.path());
    assert!(
        output.status.success(),
        "{name}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );

    // No output depends on what comes after it, so one run of the oracle serves all lengths.
    let scans = [None, Some(*init)].map(|init| {
        [
            oracle::exclusive::<T, Op>(data, init),
            oracle::inclusive::<T, Op>(data, init),
        ]
    });
    let mut results = output.stdout.as_slice();
    for case in cases {
        let expected = match primitive {
            Primitive::Reduce => {
                let init = case.seeded.then_some(*init);
                vec![oracle::reduce::<T, Op>(&data[..case.length], init)]
            }
            Primitive::Scan => {
                scans[usize::from(case.seeded)][usize::from(case.inclusive)][..case.length].to_vec()
            }
        };
        let (head, rest) = results.split_at(expected.len() * size_of::<T>());
        let mut got = vec![T::zeroed(); expected.len()];
        bytemuck::cast_slice_mut(&mut got).copy_from_slice(head);
        results = rest;
        assert_same(&got, &expected, &format!("{name}: {case:?}"));
    }
    assert!(
        results.is_empty(),
        "{name}: the emulator saved more than it was asked to"
    );
}

macro_rules! equal_the_oracle {
    ($($test:ident: $t:ty, $op:ty;)*) => {$(
        #[test]
        fn $test() {
            check::<$t, $op>(|length| sample(length, 0));
        }
    )*};
}

equal_the_oracle! {
    u8_add: u8, Add;
    i8_min: i8, Min;
    u16_xor: u16, BitXor;
    i16_max: i16, Max;
    u32_add: u32, Add;
    i32_mul: i32, Mul;
    u64_or: u64, BitOr;
    i64_and: i64, BitAnd;
    f16_add: f16, Add;
    bf16_add: bf16, Add;
    f32_add: f32, Add;
    f64_mul: f64, Mul;
    bicyclic: Bicyclic, BicyclicProduct;
    affine: Affine, Then;
    bracketing: u64, Bracketing;
    bytes_3: [u8; 3], Sums;
    bytes_33: [u8; 33], Sums;
    words_3: [u32; 3], Sums;
    halfwords_5: [u16; 5], Sums;
    longs_8: [u64; 8], Sums;
    words_16: [u32; 16], Sums;
}

#[cfg(feature = "complex")]
equal_the_oracle! {
    complex_add: num_complex::Complex<f32>, Add;
    complex_mul: num_complex::Complex<f64>, Mul;
}

/// Values whose least is a zero: mostly +0, until one of the rare −0 comes.
fn zeros(length: usize) -> Vec<f32> {
    let flatten = |x: f32| {
        if x.abs() < 1.0 {
            x * x.signum() * 0.0
        } else {
            x.abs()
        }
    };
    sample(length, 0)
        .into_iter()
        .map(|x: f32| if x == 0.0 { x } else { flatten(x) })
        .collect()
}

/// The same values until a NaN comes.
fn zeros_and_nan(length: usize) -> Vec<f32> {
    let mut values = zeros(length);
    values
        .iter_mut()
        .skip(300)
        .step_by(10_007)
        .for_each(|x| *x = f32::NAN);
    values
}

fn negated(values: Vec<f32>) -> Vec<f32> {
    values.into_iter().map(|x| -x).collect()
}

#[test]
fn f32_min() {
    check::<f32, Min>(zeros);
    check::<f32, Min>(zeros_and_nan);
}

#[test]
fn f32_max() {
    check::<f32, Max>(|length| negated(zeros(length)));
    check::<f32, Max>(|length| negated(zeros_and_nan(length)));
}

/// Kernels of one block of 64 threads, most of which break a rule.
const KERNELS: &str = r#"
using u32 = unsigned;
constexpr u32 N = 64;

template <class T, int BARRIER>
__device__ void rotate(const T* in, T* out, u32 group) {
    __shared__ T values[N];
    u32 i = threadIdx.x, next = i / group * group + (i + 1) % group;
    values[i] = in[i];
    if (BARRIER == 1) __syncwarp();
    if (BARRIER == 2) __syncthreads();
    out[i] = values[next];
}

__global__ void rotate_block(const u32* in, u32* out) { rotate<u32, 2>(in, out, N); }
__global__ void rotate_warps(const u32* in, u32* out) { rotate<u32, 1>(in, out, 32); }
__global__ void lacks_syncthreads(const u32* in, u32* out) { rotate<u32, 1>(in, out, N); }
__global__ void lacks_syncwarp(const u32* in, u32* out) { rotate<u32, 0>(in, out, 32); }

template <class T>
__device__ void show_shared(T* out) {
    __shared__ T values[N];
    out[threadIdx.x] = values[threadIdx.x];
}
__global__ void reads_unwritten(const u32*, u32* out) { show_shared(out); }

__global__ void reads_after(const u32* in, u32* out) { out[threadIdx.x] = in[threadIdx.x + 1]; }
__global__ void writes_after(const u32* in, u32* out) { out[threadIdx.x + 1] = in[threadIdx.x]; }
__global__ void writes_before(const u32* in, u32* out) { out[(int)threadIdx.x - 1] = in[threadIdx.x]; }
__global__ void misaligned(const u32* in, u32* out) {
    out[threadIdx.x] = *(const u32*)((const char*)(in + threadIdx.x / 2) + 1);
}
__global__ void overflows(const u32* in, u32* out) {
    out[threadIdx.x] = (u32)((int)in[threadIdx.x] + 0x7fffffff);
}
__global__ void some_wait(const u32*, u32* out) {
    if (threadIdx.x % 2) __syncthreads();
    out[threadIdx.x] = 0;
}
__global__ void wait_at_two_places(const u32*, u32* out) {
    if (threadIdx.x % 2) __syncwarp();
    else out[threadIdx.x] = __shfl_xor_sync(~0u, 0u, 1);
}
"#;

/// What a kernel of `KERNELS` writes for the input 0, 1, … 63, or what it is stopped with.
fn run_kernel(kernel: &str, seed: u32) -> Option<Result<Vec<u32>, String>> {
    let emulator = Emulator::get()?;
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    let module = MODULE.get_or_init(|| {
        let names = KERNELS
            .split("__global__ void ")
            .skip(1)
            .filter_map(|rest| rest.split('(').next());
        emulator.module("rules", KERNELS, &names.collect::<Vec<_>>())
    });
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let input: Vec<u32> = (0..64).collect();
    fs::write(folder.path().join("data"), bytemuck::cast_slice(&input)).expect("a file is written");
    let script = format!(
        "seed {seed}\nbuffer in 0 256 data\nbuffer out 4 256\nlaunch {kernel} 1 64 in+0 out+0\nsave out\n"
    );
    let output = emulator.run(module, &script, folder.path());
    Some(if output.status.success() {
        Ok(output
            .stdout
            .chunks(4)
            .map(|word| u32::from_ne_bytes(word.try_into().expect("words")))
            .collect())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    })
}

#[test]
fn a_missing_barrier_shows() {
    for (right, wrong, group) in [
        ("rotate_block", "lacks_syncthreads", 64),
        ("rotate_warps", "lacks_syncwarp", 32),
    ] {
        let rotated: Vec<u32> = (0..64)
            .map(|i| i / group * group + (i + 1) % group)
            .collect();
        let mut shown = 0;
        for seed in 0..16 {
            let Some(result) = run_kernel(right, seed) else {
                return;
            };
            assert_eq!(result.as_ref(), Ok(&rotated), "{right}, seed {seed}");
            let result = run_kernel(wrong, seed).expect("there is an emulator");
            shown += u32::from(result != Ok(rotated.clone()));
        }
        assert!(
            shown >= 4,
            "{wrong} came out right under {} of 16 seeds",
            16 - shown
        );
    }
}

#[test]
fn a_broken_rule_is_named() {
    for (kernel, message) in [
        ("reads_after", "heap-buffer-overflow"),
        ("writes_after", "heap-buffer-overflow"),
        ("writes_before", "something wrote before out"),
        ("misaligned", "misaligned address"),
        ("overflows", "signed integer overflow"),
        ("some_wait", "do not meet at one barrier"),
        ("wait_at_two_places", "do not meet at one barrier"),
    ] {
        let Some(result) = run_kernel(kernel, 0) else {
            return;
        };
        let stopped = result.expect_err(kernel);
        assert!(stopped.contains(message), "{kernel}:\n{stopped}");
    }
}

#[test]
fn unwritten_shared_memory_is_garbage() {
    let Some(first) = run_kernel("reads_unwritten", 1) else {
        return;
    };
    let second = run_kernel("reads_unwritten", 2).expect("there is an emulator");
    assert!(
        first
            .as_ref()
            .is_ok_and(|values| values.iter().any(|&value| value != 0))
    );
    assert_ne!(first, second);
}
