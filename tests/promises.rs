//! Promises of the documentation that no other test would miss.

use std::collections::BTreeSet;
use std::process::{Command, Output};
use std::sync::{Condvar, Mutex};
use std::time::Duration;
use warpfold::Prefixes;
use warpfold::codegen::{
    ComputeBoundScan, Definitions, Engine, Kernels, Layouts, Order, RowPolicy, SharePolicy,
    WavePolicy, Way, kernels, source, with_kernels,
};
use warpfold::half::{bf16, f16};
use warpfold::ops::{Add, Max};
use warpfold::source::{Map, Slice};
use warpfold::{
    Device, Element, Error, Function, Monoid, inclusive_scan, inclusive_scan_from, monoid, reduce,
    reduce_from, scan, scan_from,
};

/// The lengths at which the CPU's blocks and chunks of `u64` begin, and their neighbours.
const LENGTHS: [usize; 14] = [
    0, 1, 2, 3, 7, 1023, 1024, 1025, 16_383, 16_384, 16_385, 65_537, 131_072, 200_003,
];

/// Everything that the CPU computes over `input`.
fn everything<T: Element, Op: Monoid<T>>(input: &[T], init: T) {
    let cpu = Device::cpu();
    let buffer = cpu.upload(input).unwrap();
    let mut output = cpu.upload(input).unwrap();
    reduce::<T, Op>(input).unwrap();
    reduce_from::<T, Op>(init, input).unwrap();
    scan::<T, Op>(input).unwrap();
    scan_from::<T, Op>(init, input).unwrap();
    inclusive_scan::<T, Op>(input).unwrap();
    inclusive_scan_from::<T, Op>(init, input).unwrap();
    cpu.scan_into::<T, Op>(Prefixes::exclusive(), &buffer, &mut output)
        .unwrap();
    cpu.scan_into::<T, Op>(Prefixes::inclusive().from(init), &buffer, &mut output)
        .unwrap();
    let mut in_place = [(); 3].map(|()| cpu.upload(input).unwrap());
    cpu.scan_in_place::<T, Op>(Prefixes::exclusive(), &mut in_place[0])
        .unwrap();
    cpu.scan_in_place::<T, Op>(Prefixes::exclusive().from(init), &mut in_place[1])
        .unwrap();
    cpu.scan_in_place::<T, Op>(Prefixes::inclusive(), &mut in_place[2])
        .unwrap();
}

/// This bit is set in elements, `init` and results. Padding and the identity do not have it.
const MARK: u64 = 1 << 63;

struct Marked;

impl Monoid<u64> for Marked {
    fn identity() -> u64 {
        0
    }

    fn combine(a: u64, b: u64) -> u64 {
        assert!(a & b & MARK != 0, "{a:#x} ⊕ {b:#x}");
        a.wrapping_mul(3) ^ b | MARK
    }

    fn cuda(_: &mut Definitions) -> String {
        unreachable!("no GPU is asked")
    }
}

#[test]
fn operators_see_elements_init_and_results_only() {
    for length in LENGTHS {
        let input: Vec<u64> = (0..length as u64).map(|i| i | MARK).collect();
        everything::<u64, Marked>(&input, 5 | MARK);
    }
}

/// An interval of positions, which only its neighbours can be joined to.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[repr(C)]
struct Positions {
    start: u32,
    end: u32,
}

struct Adjacent;

impl Monoid<Positions> for Adjacent {
    fn identity() -> Positions {
        Positions { start: 0, end: 0 }
    }

    fn combine(a: Positions, b: Positions) -> Positions {
        assert_eq!(a.end, b.start, "{a:?} ⊕ {b:?}");
        Positions {
            start: a.start,
            end: b.end,
        }
    }

    fn cuda(_: &mut Definitions) -> String {
        unreachable!("no GPU is asked")
    }
}

#[test]
fn what_is_combined_stands_side_by_side() {
    for length in LENGTHS {
        let at = |i: usize| Positions {
            start: i as u32 + 1,
            end: i as u32 + 2,
        };
        let input: Vec<Positions> = (0..length).map(at).collect();
        everything::<Positions, Adjacent>(&input, Positions { start: 0, end: 1 });
    }
}

/// Not associative, so that a bracketing shows.
#[monoid(identity = 0)]
fn bracket(a: u64, b: u64) -> u64 {
    a.wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .rotate_left(23)
        .wrapping_add(b.wrapping_mul(31))
}

#[test]
fn seven_elements_are_bracketed_as_the_law_shows() {
    let x = [3_u64, 1, 4, 1, 5, 9, 2];
    let of = bracket;
    let first = of(of(x[0], x[1]), of(x[2], x[3]));
    let law = of(of(first, of(x[4], x[5])), x[6]);
    assert_eq!(reduce::<u64, Bracket>(&x), Ok(law));
    let law = of(of(of(77, first), of(x[4], x[5])), x[6]);
    assert_eq!(reduce_from::<u64, Bracket>(77, &x), Ok(law));
}

#[test]
fn nothing_folds_to_the_identity_or_to_init() {
    assert_eq!(reduce::<f32, Max>(&[]), Ok(f32::NEG_INFINITY));
    assert_eq!(reduce_from::<f32, Max>(3.0, &[]), Ok(3.0));
    assert_eq!(scan::<f32, Max>(&[1.0]), Ok(vec![f32::NEG_INFINITY]));
    assert_eq!(scan_from::<f32, Max>(3.0, &[1.0]), Ok(vec![3.0]));
    for scan in [scan::<f32, Max>, inclusive_scan::<f32, Max>] {
        assert_eq!(scan(&[]), Ok(vec![]));
    }
}

/// In its own precision a half stays where it is when 1 is added.
#[test]
fn halves_are_folded_in_f32_and_rounded_once() {
    let ones = [1.0_f32; 4].map(f16::from_f32);
    let sum = reduce_from::<f16, Add>(f16::from_f32(2048.0), &ones).unwrap();
    assert_eq!(sum.to_f32(), 2052.0);
    let ones = [1.0_f32; 4].map(bf16::from_f32);
    let sums = inclusive_scan_from::<bf16, Add>(bf16::from_f32(256.0), &ones).unwrap();
    // 257 and 259 lie between two neighbours; the even one is taken.
    let sums: Vec<f32> = sums.iter().map(|sum| sum.to_f32()).collect();
    assert_eq!(sums, [256.0, 258.0, 260.0, 260.0]);
}

#[cfg(feature = "complex")]
#[test]
fn complex_products_round_each_operation_and_recover_no_infinity() {
    use num_complex::Complex;
    use warpfold::ops::Mul;
    let product = |a: (f32, f32), b: (f32, f32)| {
        let factors = [Complex::new(a.0, a.1), Complex::new(b.0, b.1)];
        reduce::<Complex<f32>, Mul>(&factors).unwrap()
    };
    let e = f32::EPSILON;
    // Exactly (1 + e)² − 1 = 2e + e²; the square is rounded before 1 is taken off.
    assert_eq!(product((1.0 + e, 1.0), (1.0 + e, 1.0)).re, 2.0 * e);
    let infinite = product((f32::INFINITY, f32::INFINITY), (1.0, 0.0));
    assert!(infinite.re.is_nan() && infinite.im.is_nan(), "{infinite}");
}

/// The threads that called the operator: their names, and their numbers in rayon's pool.
static CALLERS: Mutex<BTreeSet<(String, Option<usize>)>> = Mutex::new(BTreeSet::new());
static ANOTHER_CALLER: Condvar = Condvar::new();

const CALLERS_WANTED: usize = 3;

/// Each thread waits here until all that are wanted have come. Chunks are added up independently of
/// each other, so they do come; the time is for a machine that starts none of them.
struct Recorded;

impl Monoid<u32> for Recorded {
    fn identity() -> u32 {
        0
    }

    fn combine(a: u32, b: u32) -> u32 {
        if b.is_multiple_of(1024) {
            let name = std::thread::current().name().unwrap_or("").to_owned();
            let mut callers = CALLERS.lock().unwrap();
            if callers.insert((name, rayon::current_thread_index())) {
                ANOTHER_CALLER.notify_all();
            }
            let too_few = |callers: &mut BTreeSet<_>| callers.len() < CALLERS_WANTED;
            let time = Duration::from_secs(60);
            drop(ANOTHER_CALLER.wait_timeout_while(callers, time, too_few));
        }
        a.max(b)
    }

    fn cuda(_: &mut Definitions) -> String {
        unreachable!("no GPU is asked")
    }
}

#[test]
fn the_cpu_uses_the_threads_of_the_current_pool_and_no_others() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(CALLERS_WANTED)
        .thread_name(|number| format!("ours {number}"))
        .build()
        .unwrap();
    let input: Vec<u32> = (0..1 << 20).collect();
    pool.install(|| {
        assert_eq!(Device::cpu().description(), "3 threads");
        scan::<u32, Recorded>(&input).unwrap();
        everything::<u32, Recorded>(&input, 0);
    });
    let callers = CALLERS.lock().unwrap();
    let expected = (0..CALLERS_WANTED).map(|number| (format!("ours {number}"), Some(number)));
    assert_eq!(*callers, expected.collect());
}

#[warpfold::function]
#[inline(never)]
fn rare(x: u32) -> u32 {
    x.rotate_left(7)
}

#[warpfold::function]
fn common(x: u32) -> u32 {
    if x & 1023 == 0 { rare(x) } else { x }
}

#[test]
fn functions_are_inlined_unless_they_say_never() {
    let mut definitions = Definitions::default();
    <common as Function>::cuda(&mut definitions);
    let text = definitions.text().unwrap();
    assert!(text.contains("__device__ __noinline__ u32 rare("), "{text}");
    assert!(
        text.contains("__device__ __forceinline__ u32 common("),
        "{text}"
    );
}

#[test]
fn devices_and_buffers_go_from_thread_to_thread() {
    let device = Device::cpu();
    let sums = std::thread::scope(|scope| {
        let add = |n: u32| {
            let device = device.clone();
            scope.spawn(move || {
                let buffer = device.upload(&[n, 1])?;
                device.reduce::<u32, Add>(&buffer)
            })
        };
        [1, 2, 3].map(add).map(|thread| thread.join().unwrap())
    });
    assert_eq!(sums, [Ok(2), Ok(3), Ok(4)]);
    fn is_shared<T: Send + Sync>(_: &T) {}
    is_shared(&device);
    is_shared(&device.upload(&[1]).unwrap());
}

#[test]
fn the_cpu_is_the_first_of_all_devices() {
    let devices = Device::available();
    assert!(devices[0].is_cpu());
    assert!(devices[1..].iter().all(|device| !device.is_cpu()));
    for device in devices {
        let again: Device = device.to_string().parse().unwrap();
        assert_eq!(again.to_string(), device.to_string());
    }
}

#[test]
fn an_allocated_buffer_is_all_zeros() {
    // Memory that was something else before.
    for device in Device::available() {
        drop(device.upload(&[u64::MAX; 5000]).unwrap());
        let buffer = device.allocate::<u64>(5000).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [0; 5000], "{device}");
    }
}

/// Says itself that it is plain data.
#[derive(Clone, Copy, Debug, PartialEq, Element)]
#[element(pod)]
#[repr(C)]
struct Plain {
    sum: u32,
}

// SAFETY: one number.
unsafe impl warpfold::bytemuck::Zeroable for Plain {}
// SAFETY: one number: no padding, and every bit pattern is a value.
unsafe impl warpfold::bytemuck::Pod for Plain {}

#[monoid(identity = Plain { sum: 0 })]
fn plain_sum(a: Plain, b: Plain) -> Plain {
    Plain { sum: a.sum + b.sum }
}

#[test]
fn a_struct_that_is_pod_already_says_so() {
    let plain = [1, 2].map(|sum| Plain { sum });
    assert_eq!(reduce::<Plain, PlainSum>(&plain), Ok(Plain { sum: 3 }));
}

/// Runs a test of this file alone, with `set`, and without any variable of this crate's.
fn alone(test: &str, set: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--nocapture", "--include-ignored"]);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("WARPFOLD_") {
            command.env_remove(name);
        }
    }
    command.envs(set.iter().copied()).output().unwrap()
}

#[test]
#[ignore = "is called by the next test"]
fn report_the_device() {
    let name = |device: Device| device.to_string();
    match Device::from_env() {
        Ok(device) => println!("[device {:?}]", device.map(name)),
        Err(error) => println!("[{error}]"),
    }
    match Device::for_host_data() {
        Ok(device) => println!("[host data {}]", name(device)),
        Err(error) => println!("[{error}]"),
    }
    // SAFETY: this process runs this test alone, on one thread.
    unsafe { std::env::set_var("WARPFOLD_DEVICE", "changed") };
    match Device::for_host_data() {
        Ok(device) => println!("[later {}]", name(device)),
        Err(error) => println!("[{error}]"),
    }
}

#[test]
fn the_environment_names_the_device_of_host_data() {
    let said = |set: &[(&str, &str)]| {
        let output = alone("report_the_device", set);
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    for unset in [&[][..], &[("WARPFOLD_DEVICE", "")]] {
        let text = said(unset);
        assert!(text.contains("[device None]"), "{text}");
        assert!(text.contains("[host data cpu]"), "{text}");
        assert!(text.contains("[later cpu]"), "{text}");
    }
    let text = said(&[("WARPFOLD_DEVICE", "cpu")]);
    assert!(text.contains("[device Some(\"cpu\")]"), "{text}");
    let text = said(&[("WARPFOLD_DEVICE", "gpu")]);
    assert_eq!(
        text.matches("`gpu` does not name a device").count(),
        2,
        "{text}"
    );
    assert!(text.contains("in WARPFOLD_DEVICE"), "{text}");
}

#[test]
fn one_request_is_always_one_text_that_includes_nothing() {
    fn check<K: Kernels>() {
        let text = || source::<K>(Engine::Levels).unwrap();
        assert_eq!(text(), text());
        assert!(!text().contains("#include"));
    }
    check::<kernels::Reduce<f16, Add>>();
    check::<kernels::Scan<f16, Add>>();
    let error = with_kernels("#include \"nowhere.cuh\"\n", "mine.cu").unwrap_err();
    assert!(matches!(error, Error::Codegen(_)), "{error}");
    assert!(error.to_string().contains("nowhere.cuh"), "{error}");
    let twice = with_kernels(
        "#include \"machine/words.cuh\"\n#include \"machine/words.cuh\"\n",
        "m.cu",
    );
    let once = with_kernels("#include \"machine/words.cuh\"\n", "m.cu");
    let count = |text: &str| text.matches("shuffle_xor(").count();
    assert_eq!(count(&twice.unwrap()), count(&once.unwrap()));
}

/// Calls itself.
struct Circle;

impl Monoid<u32> for Circle {
    fn identity() -> u32 {
        0
    }

    fn combine(a: u32, b: u32) -> u32 {
        a | b
    }

    fn cuda(definitions: &mut Definitions) -> String {
        definitions.define_function::<Self>("circle", |definitions, name| {
            let inner = Circle::cuda(definitions);
            format!("__device__ u32 {name}(u32 a, u32 b) {{ return {inner}(a, b); }}")
        })
    }
}

#[test]
fn functions_in_a_circle_are_an_error() {
    let error = source::<kernels::Scan<u32, Circle>>(Engine::Levels).unwrap_err();
    assert!(matches!(error, Error::Codegen(_)), "{error}");
}

#[test]
fn the_source_of_an_engine_that_does_not_reduce_is_an_error() {
    let policy = WavePolicy::of::<f32>().expect("a policy");
    let error = source::<kernels::Reduce<f32, Add>>(Engine::Wave(policy)).unwrap_err();
    assert!(matches!(error, Error::Codegen(_)), "{error}");
    assert!(error.to_string().contains("scans only"), "{error}");
}

/// A reduction folds in its operator's order, in runs of one word; in the law's order also of two.
#[test]
fn a_policy_for_another_order_is_an_error() {
    let of = |order, run, way| {
        let policy = RowPolicy::of_reduce::<f32>(order);
        Engine::Rows(RowPolicy { run, way, ..policy })
    };
    let law = |run, way| source::<kernels::Reduce<f32, Add>>(of(Order::Law, run, way));
    let any = |run, way| source::<kernels::Reduce<f32, Max>>(of(Order::Any, run, way));
    for (run, way) in [(4, Way::Alone), (8, Way::Compact), (4, Way::Grouped)] {
        assert!(law(run, way).is_ok());
    }
    assert!(any(4, Way::Alone).is_ok() && any(4, Way::OneByOne).is_ok());
    for (result, what) in [
        (law(4, Way::OneByOne), "not the law's order"),
        (law(16, Way::Alone), "a run has"),
        (any(4, Way::Compact), "in the law's order"),
        (any(4, Way::Grouped), "in the law's order"),
        (any(8, Way::Alone), "a run has"),
    ] {
        let error = result.unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
}

/// What the estimate of an operator's cost decides, and what a policy has to be.
#[test]
fn operators_bound_by_computing_have_the_shares_engine() {
    let of = |capability, cost| ComputeBoundScan::of(Layouts::of_slice::<f32>(), capability, cost);
    let long_ones = of(90, 14).expect("costs 14 instructions");
    assert!(of(90, 13).is_none() && of(75, u32::MAX).is_none());
    // The more an operator costs, the shorter are inputs for which the engine is the fastest.
    let from: Vec<_> = [14, 20, 30, 48]
        .map(|cost| of(90, cost).unwrap().from)
        .into();
    assert!(from.is_sorted_by(|a, b| a > b) && from[3] == 0);
    assert!(long_ones.short.is_empty() && !of(90, 48).unwrap().short.is_empty());
    assert!(ComputeBoundScan::of(Layouts::of_slice::<[f32; 11]>(), 90, u32::MAX).is_none());
    // Each part counts where elements are no words: five bytes, but not eight.
    assert!(ComputeBoundScan::of(Layouts::of_slice::<[u8; 5]>(), 90, 30).is_none());
    assert!(ComputeBoundScan::of(Layouts::of_slice::<[u8; 5]>(), 90, 300).is_some());
    assert!(ComputeBoundScan::of(Layouts::of_slice::<[u8; 8]>(), 90, 30).is_some());
    let policy = long_ones.shares;
    for (what, wrong) in [
        ("powers of two", SharePolicy { rows: 3, ..policy }),
        ("at most 32 rows", SharePolicy { rows: 64, ..policy }),
        (
            "at most all of them",
            SharePolicy {
                batch: 16,
                ..policy
            },
        ),
        ("a run has", SharePolicy { run: 8, ..policy }),
        ("2 to 16 warps", SharePolicy { warps: 1, ..policy }),
        (
            "2048 threads",
            SharePolicy {
                blocks: 9,
                ..policy
            },
        ),
        ("99 KiB", SharePolicy { rows: 32, ..policy }),
    ] {
        let error = source::<kernels::Scan<f32, Add>>(Engine::Shares(wrong)).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
    let error = source::<kernels::Reduce<f32, Add>>(Engine::Shares(policy)).unwrap_err();
    assert!(error.to_string().contains("scans only"), "{error}");
}

#[monoid(name = Indices, identity = [0; 4])]
fn indices(a: [u8; 4], b: [u8; 4]) -> [u8; 4] {
    const LAST: usize = 3;
    let mut c = a;
    for i in 0..4 {
        let k = LAST - i;
        c[k] = b[(a[i] & 3) as usize];
        for j in i + 1..=LAST {
            c[(j + k) % 4] += a[j];
        }
    }
    let mut count = 0;
    while count < 4 {
        c[count] ^= b[3];
        count += 1;
    }
    for turn in 0..1000 {
        c[turn % 4] ^= 1;
    }
    c
}

/// An index of numbers, constants and counters of short loops is fixed. One from data is not, nor
/// is a variable that changes, or what a long loop counts.
#[test]
fn indices_that_a_compiler_knows_are_told_from_others() {
    let mut definitions = Definitions::default();
    Indices::cuda(&mut definitions);
    let text = definitions.text().unwrap();
    for fixed in [
        "rust::put(c, rust::Fixed{k}, ",
        "rust::at(a, rust::Fixed{i})",
        "rust::put(c, rust::Fixed{rust::rem(rust::add(j, k), 4ull)}, ",
        "rust::at(a, rust::Fixed{j})",
        "rust::at(b, rust::Fixed{3ull})",
    ] {
        assert!(text.contains(fixed), "{fixed} is not in\n{text}");
    }
    // The inner loop ends at a constant, of which a macro does not know the value.
    assert_eq!(text.matches("#pragma unroll\n").count(), 1, "{text}");
    for other in [
        "rust::at(b, rust::cast<",
        "const auto index = count;",
        " = rust::rem(turn, 4ull);",
    ] {
        assert!(text.contains(other), "{other} is not in\n{text}");
    }
}

#[test]
fn the_wave_engine_has_policies_up_to_64_bytes() {
    assert!(WavePolicy::for_capability::<[u64; 5]>(90).is_some());
    assert!(WavePolicy::for_capability::<[u32; 11]>(90).is_some());
    assert!(WavePolicy::for_capability::<[u64; 8]>(90).is_some());
    // No short run of these takes a multiple of 16 bytes.
    assert!(WavePolicy::for_capability::<[u16; 21]>(90).is_none());
    // A source of 48 bytes for each item of four.
    #[warpfold::function]
    fn first_of_twelve(item: [u32; 12]) -> u32 {
        item[0]
    }
    assert!(
        WavePolicy::for_form(Layouts::of::<Map<first_of_twelve, Slice<[u32; 12]>>>(), 90).is_none()
    );
    let runs_on = Engine::Wave(WavePolicy::of::<f32>().expect("a policy"));
    for (capability, runs) in [
        (75, false),
        (89, false),
        (90, true),
        (103, true),
        (120, false),
    ] {
        assert_eq!(runs_on.runs_on(capability), runs, "{capability}");
        assert!(Engine::Levels.runs_on(capability));
    }
}

#[cfg(feature = "cuda")]
mod nvrtc {
    use super::*;
    use crate::support::skip;
    use warpfold::cuda::nvrtc::{Target, architectures, compile, version};

    /// Reports on the standard error what is missing.
    #[test]
    #[ignore = "is called by the next test"]
    fn report_the_compiler() {
        match version() {
            Ok(version) => println!("[version {version:?}]"),
            Err(error) => println!("[{error}]"),
        }
    }

    #[test]
    fn a_missing_compiler_is_an_error_with_a_remedy() {
        let output = alone("report_the_compiler", &[("LD_LIBRARY_PATH", "")]);
        let text = String::from_utf8(output.stdout).unwrap();
        if text.contains("[version ") {
            return eprintln!("skipped: NVRTC is in the system's own folders");
        }
        assert!(output.status.success(), "{text}");
        assert!(text.contains("[NVRTC, CUDA's run-time compiler"), "{text}");
        assert!(text.contains("cannot be used: libnvrtc"), "{text}");
        assert!(text.contains("remedy: install the CUDA toolkit"), "{text}");
    }

    fn is_there() -> bool {
        let found = version();
        if let Err(error) = &found {
            skip("nvrtc", &error.to_string());
        }
        found.is_ok()
    }

    #[test]
    fn a_gpu_that_is_too_old_is_an_error_with_a_remedy() {
        if !is_there() {
            return;
        }
        let error = Target::for_capability(13).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Library { .. }), "{text}");
        assert!(text.contains("compute capability 1.3"), "{text}");
        assert!(
            text.contains("remedy: install the NVRTC of an older"),
            "{text}"
        );
        let known = architectures().unwrap();
        let newest = known.iter().copied().max().unwrap();
        assert_eq!(Target::for_capability(newest), Ok(Target::Cubin(newest)));
    }

    #[test]
    fn ptx_is_text_that_ends_with_a_nul_and_machine_code_is_elf() {
        if !is_there() {
            return;
        }
        let oldest = architectures().unwrap().into_iter().min().unwrap();
        let text = source::<kernels::Reduce<u32, Add>>(Engine::Levels).unwrap();
        let ptx = compile(&text, "Add", Target::Ptx(oldest)).unwrap();
        assert_eq!(ptx.iter().position(|&byte| byte == 0), Some(ptx.len() - 1));
        let again = compile(&text, "Add", Target::Ptx(oldest)).unwrap();
        assert!(ptx == again, "one source, one image");
        let image = compile(&text, "Add", Target::Cubin(oldest)).unwrap();
        assert_eq!(&image[..4], b"\x7fELF");
    }

    #[test]
    fn a_nul_in_a_source_is_an_error() {
        if !is_there() {
            return;
        }
        let error = compile("\0", "Mine", Target::Cubin(90)).unwrap_err();
        assert!(matches!(error, Error::Codegen(_)), "{error}");
        assert!(error.to_string().contains("Mine"), "{error}");
    }
}

#[cfg(not(feature = "cuda"))]
#[test]
fn without_the_feature_a_gpu_is_an_error_that_says_so() {
    let error = Device::cuda(0).expect_err("there is no CUDA in this build");
    assert_eq!(error, Error::Feature { feature: "cuda" });
    let text = error.to_string();
    for words in [
        "without warpfold's `cuda` feature",
        "remedy: enable the feature",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let named = "cuda:1".parse::<Device>();
    assert_eq!(named.expect_err("as above"), error);
    assert_eq!(Device::available().len(), 1);
}
