//! What arithmetic allows: the time of a combination when all elements lie in registers, and the
//! whole GPU does nothing else.
//!
//! Every thread folds elements into some accumulators of its own, over and over. The function is
//! the operator's, as the library has it in CUDA. Parts of less than a register have a register
//! each, so nothing is packed or unpacked.

use crate::bench::Bench;
use crate::cells::Family;
use crate::compare::Check;
use crate::elements::{Sample, data};
use crate::machine::load;
use crate::measure::{Contender, host_seconds};
use crate::record::{Combination, Library, Spread};
use warpfold::cuda::cudarc::driver::{DevicePtr, LaunchConfig, PushKernelArg};
use warpfold::{CudaType, Element, Monoid, bytemuck, codegen};

/// The kernel, in which `$NAMES` stand for what differs.
const SOURCE: &str = r#"
#include "machine/rust.cuh"
#include "machine/words.cuh"

namespace user {
using namespace warpfold;
$DEFINITIONS
using T = $TYPE;

/// Makes a value unknown to the compiler, without an instruction: it can leave out no combination.
/// (Two may still be one instruction, such as a sum of three.)
template <class A>
__device__ __forceinline__ void forget(A& value) {
    if constexpr (SAME<A, f32>) asm("" : "+f"(value));
    else if constexpr (SAME<A, f64>) asm("" : "+d"(value));
    else if constexpr (IS_SCALAR<A> && sizeof(A) == 8) asm("" : "+l"(value));
    else if constexpr (IS_SCALAR<A> && sizeof(A) == 4) asm("" : "+r"(value));
    else if constexpr (IS_SCALAR<A> && sizeof(A) == 2) asm("" : "+h"(value));
    else if constexpr (IS_SCALAR<A>) {
        i32 wide = value;
        asm("" : "+r"(wide));
        // Else it would be cut off to its width.
        __builtin_assume(wide == (i32)(A)wide);
        value = (A)wide;
    } else {
        Words<A> words;
        words.words[Words<A>::COUNT - 1] = 0;
        words.value = value;
#pragma unroll
        for (int i = 0; i < Words<A>::COUNT; i++) forget(words.words[i]);
        value = words.value;
    }
}

template <class E, int N>
__device__ __forceinline__ void forget(Array<E, N>& array) {
#pragma unroll
    for (int i = 0; i < N; i++) forget(array.values[i]);
}
}  // namespace user
using namespace user;

/// Each round combines every accumulator with every element.
extern "C" __global__ void __launch_bounds__($THREADS)
combine(const T* elements, T* results, u32 rounds) {
    constexpr int HELD = $HELD;
    u32 thread = blockIdx.x * $THREADS + threadIdx.x;
    T held[HELD], sums[HELD];
#pragma unroll
    for (int i = 0; i < HELD; i++) held[i] = sums[i] = elements[(thread * HELD + i) % $ELEMENTS];
#pragma unroll $UNROLLED
    for (u32 round = 0; round < rounds; round++) {
#pragma unroll
        for (int turn = 0; turn < HELD; turn++) {
#pragma unroll
            for (int i = 0; i < HELD; i++) {
                sums[i] = $COMBINE(sums[i], held[(i + turn) % HELD]);
                forget(sums[i]);
            }
        }
    }
#pragma unroll
    for (int i = 1; i < HELD; i++) sums[0] = $COMBINE(sums[0], sums[i]);
    results[thread] = sums[0];
}
"#;

/// Of a block.
const THREADS: u32 = 256;

/// Those that threads take theirs from.
const ELEMENTS: usize = 1 << 16;

/// A launch is to take so long that its start and its end do not count.
const SECONDS: f64 = 1e-3;

/// With more, sums of floats would leave the range that they have in arrays.
const MOST_ROUNDS: u32 = 1 << 14;

/// How many accumulators a thread has, and as many elements. One warp alone need not keep a
/// multiprocessor busy: there are others.
fn held<T: Element, Op: Monoid<T>>() -> u32 {
    if size_of::<T::Accumulator>() <= 16 && codegen::cost::<T, Op>() <= 32 {
        4
    } else {
        2
    }
}

/// The CUDA source of the kernel.
fn source<T: Element, Op: Monoid<T>>() -> warpfold::Result<String> {
    let mut definitions = codegen::Definitions::default();
    let ty = T::Accumulator::cuda_type(&mut definitions);
    let combine = Op::cuda(&mut definitions);
    let held = held::<T, Op>();
    // Enough that the loop itself does not count, and not more code than a cache holds.
    let unrolled = 256 / (held * held * codegen::cost::<T, Op>().max(1));
    let text = SOURCE
        .replace("$DEFINITIONS", &definitions.text()?)
        .replace("$TYPE", &ty)
        .replace("$COMBINE", &combine)
        .replace("$THREADS", &THREADS.to_string())
        .replace("$ELEMENTS", &ELEMENTS.to_string())
        .replace("$HELD", &held.to_string())
        .replace("$UNROLLED", &unrolled.clamp(1, 8).to_string());
    codegen::with_kernels(&text, "roofline.cu")
}

/// Measures the operator of a family, and keeps the figure.
pub(crate) fn measure<T: Sample, Op: Monoid<T>>(bench: &mut Bench, family: &Family) {
    let name = format!("{} {}", family.element, family.operator);
    match ps_of_a_combination::<T, Op>(bench, &name) {
        Ok(ps) => {
            println!("{:<26} {:>8.3} ps a combination", name, ps.median);
            bench.run.combinations.push(Combination {
                element: family.element.to_owned(),
                operator: family.operator.to_owned(),
                ps,
            });
        }
        Err(reason) => {
            // A compiler's log has many lines.
            let reason = reason.lines().next().unwrap_or_default();
            let missing = &mut bench.run.missing;
            missing.push(format!("the roofline of {name}: {reason}"));
        }
    }
}

fn ps_of_a_combination<T: Sample, Op: Monoid<T>>(
    bench: &Bench,
    name: &str,
) -> Result<Spread, String> {
    let source = source::<T, Op>().map_err(|error| error.to_string())?;
    let module = load(&bench.context, &source, name)?;
    let combine = module.load_function("combine");
    let combine = combine.map_err(|error| error.to_string())?;
    // As many blocks as there is room for: all run at the same time.
    let blocks = combine
        .occupancy_max_active_blocks_per_multiprocessor(THREADS, 0, None)
        .map_err(|error| error.to_string())?;
    let blocks = blocks * bench.run.machine.multiprocessors;
    let threads = blocks as usize * THREADS as usize;

    let stream = &bench.stream;
    let elements: Vec<T::Accumulator> = data::<T>(ELEMENTS).into_iter().map(T::widen).collect();
    let bytes: &[u8] = bytemuck::cast_slice(&elements);
    let elements = stream
        .clone_htod(bytes)
        .map_err(|error| error.to_string())?;
    let results = stream.alloc_zeros::<u8>(threads * size_of::<T::Accumulator>());
    let results = results.map_err(|error| error.to_string())?;
    let launch = |rounds: u32| {
        let (elements, _reading) = elements.device_ptr(stream);
        let (results, _writing) = results.device_ptr(stream);
        let config = LaunchConfig {
            grid_dim: (blocks, 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(&combine);
        launch.arg(&elements).arg(&results).arg(&rounds);
        // SAFETY: the arguments are those of the kernel in `SOURCE`. It reads `ELEMENTS` elements,
        // and writes a result for each thread.
        unsafe { launch.launch(config) }.expect("a launch");
    };
    let seconds = |rounds| {
        host_seconds(|| {
            launch(rounds);
            stream.synchronize().expect("the stream");
        })
    };
    let mut rounds = 16;
    // The first launch loads the kernel.
    seconds(rounds);
    while seconds(rounds) < SECONDS && rounds < MOST_ROUNDS {
        rounds *= 2;
    }
    let mut alone = [Contender {
        library: Library::Warpfold,
        work: Box::new(|| launch(rounds)),
        check: Check::Nothing,
    }];
    let times = bench.clock.stream(&mut alone, usize::MAX, &mut || {});
    let held = held::<T, Op>() as usize;
    let combinations = threads * (rounds as usize * held * held + held - 1);
    let ps = |us: f64| us * 1e6 / combinations as f64;
    let us = times[&Library::Warpfold];
    Ok(Spread {
        median: ps(us.median),
        lower_quartile: ps(us.lower_quartile),
        upper_quartile: ps(us.upper_quartile),
    })
}
