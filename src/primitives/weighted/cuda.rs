//! Weighted histograms on a GPU.

use super::kernel::{Weighted, WeightedArguments};
use super::plan::WeightedPlan;
use crate::codegen::{Engine, Function};
use crate::cuda::Gpu;
use crate::cuda::context_capability;
use crate::cuda::kernels::{Loaded, Request};
use crate::cuda::launch::{Grid, blocks, launch};
use crate::ops::Add;
use crate::primitives::histogram::cuda::store_places;
use crate::primitives::histogram::{Bins, Counted};
use crate::source::{Form, Slice, SliceArguments};
use crate::{Element, Monoid, Prefixes, Result};

/// Writes the sum of the weights of each bin to `out`.
///
/// # Safety
///
/// The items are those of a source in this GPU's memory, which stays borrowed. There is a weight
/// for each of them at `weights`, and room for the sums of all channels' bins at `out`.
pub(super) unsafe fn histogram_weighted<W: Element, F: Form<Item: Counted>>(
    gpu: &Gpu,
    (items, len): (F::Arguments, usize),
    weights: u64,
    bins: &Bins<<F::Item as Counted>::Value>,
    out: u64,
) -> Result<()>
where
    Add: Monoid<W>,
{
    type Kernel<W> = Weighted<W, Add>;
    let parts = F::Item::CHANNELS;
    let (length, all) = (len * parts, bins.channels_of(parts)? * bins.count());
    let stream = gpu.stream();
    let policy = Kernel::<W>::rows_policy(context_capability(stream.context())?);
    let engine = Engine::Rows(policy);
    let kernels = Loaded::get(Request::of::<Kernel<W>>(), stream.context(), engine)?;
    let plan = WeightedPlan::new(policy, length, all);

    let places = [gpu.allocate::<u32>(length)?, gpu.allocate::<u32>(length)?];
    // The first pass reads the weights where they are.
    let sorted = [
        gpu.allocate::<W>(length)?,
        gpu.allocate::<W>(if plan.passes.len() > 1 { length } else { 0 })?,
    ];
    let counts = gpu.allocate::<u64>(all)?;
    let mut starts = gpu.allocate::<u64>(plan.starts(all))?;
    let sums = gpu.allocate::<u8>(plan.sums * size_of::<W::Accumulator>())?;
    // SAFETY: the caller's; there is room for all places. The stream keeps all launches, and the
    // frees of what was allocated here, in order.
    unsafe {
        store_places::<F>(stream, (items, len), bins, places[0].address())?;
        let slice = SliceArguments {
            address: places[0].address(),
        };
        let values = Bins::<u32>::values(all)?;
        gpu.histogram::<u64, Slice<u32>>(slice, length, &values, counts.address())?;
    }
    let mut arguments = WeightedArguments {
        places: 0,
        places_to: 0,
        weights,
        out: 0,
        digits: 0,
        kept: 0,
        counts: counts.address(),
        starts: starts.address(),
        sums: sums.address(),
        length: length as u64,
        empty: <Add as Monoid<W>>::identity().widen(),
        parts: parts as u32,
        shift: 0,
        bits: 0,
        bins: all as u32,
        levels: plan.levels,
        level: 0,
    };
    let run = |function: &Function<_>, blocks: u32, warps: u32, arguments| {
        let grid = Grid {
            blocks: blocks.max(1),
            threads: 32 * warps,
            shared_bytes: 0,
        };
        // SAFETY: the arguments are what the kernels are written for.
        unsafe { launch(&kernels, stream, function, grid, arguments) }
    };
    let tiles = blocks(plan.tiles, length as u64)?;
    // They say how many places are left, so the first pass's stay.
    let mut digits_of_passes = Vec::new();
    for (pass, &(shift, bits)) in plan.passes.iter().enumerate() {
        let mut digits = gpu.allocate::<u64>(plan.digits(bits))?;
        arguments = WeightedArguments {
            places: places[pass % 2].address(),
            places_to: places[(pass + 1) % 2].address(),
            out: sorted[pass % 2].address(),
            digits: digits.address(),
            shift,
            bits,
            ..arguments
        };
        run(&Kernel::<W>::COUNT, tiles, policy.warps, arguments)?;
        // SAFETY: nothing but the digits is read.
        unsafe { gpu.scan::<u64, Add, Slice<u64>>(None, &mut digits, Prefixes::exclusive())? };
        run(&Kernel::<W>::MOVE, tiles, policy.warps, arguments)?;
        (arguments.weights, arguments.parts) = (arguments.out, 1);
        if pass == 0 {
            arguments.kept = digits.address() + 8 * (digits.len() as u64 - 1);
        }
        digits_of_passes.push(digits);
    }
    arguments.out = out;
    // Blocks take what there is in turn.
    let most = 8 * kernels.multiprocessors();
    let enough =
        |warps: usize, each: u32| (warps.div_ceil(each as usize)).min(most as usize) as u32;
    run(
        &Kernel::<W>::LENGTHS,
        enough(starts.len(), 256),
        8,
        arguments,
    )?;
    // SAFETY: nothing but the starts is read.
    unsafe { gpu.scan::<u64, Add, Slice<u64>>(None, &mut starts, Prefixes::exclusive())? };
    for level in 1..plan.levels {
        arguments.level = level;
        let chunks = length >> (8 * level);
        run(&Kernel::<W>::FOLD, enough(chunks, 8), 8, arguments)?;
    }
    run(&Kernel::<W>::FINISH, enough(all, 8), 8, arguments)
}
