//! Weighted histograms on a GPU.

use super::kernel::{Weighted, WeightedArguments};
use super::plan::WeightedPlan;
use crate::codegen::{Engine, Function as KernelFunction};
use crate::cuda::Gpu;
use crate::cuda::context_capability;
use crate::cuda::kernels::{Loaded, Request};
use crate::cuda::launch::{Grid, blocks, launch};
use crate::ops::Add;
use crate::primitives::histogram::cuda::{add_up, store_places};
use crate::primitives::histogram::kernel::Weight;
use crate::primitives::histogram::{Bins, Counted};
use crate::source::{Form, Map, Slice, SliceArguments};
use crate::{Element, Function, Monoid, Prefixes, Result, function};
use std::any::TypeId;

/// Writes the sum of the weights of each bin to `out`.
///
/// # Safety
///
/// The items are those of a source in this GPU's memory, which stays borrowed. There is a weight
/// for each of them at `weights`, and room for the sums of all channels' bins at `out`.
pub(super) unsafe fn histogram_weighted<W: Element, F: Form<Item: Counted>>(
    gpu: &Gpu,
    items: (F::Arguments, usize),
    weights: u64,
    bins: &Bins<<F::Item as Counted>::Value>,
    out: u64,
) -> Result<()>
where
    Add: Monoid<W>,
{
    // SAFETY: the caller's. Sums of integers that wrap are the same with and without a sign.
    unsafe {
        if !is_integer::<W>() {
            return sort_and_fold::<W, F>(gpu, items, weights, bins, out);
        }
        match size_of::<W>() {
            1 => add_up_short::<u8, narrow_8, F>(gpu, items, weights, bins, out),
            2 => add_up_short::<u16, narrow_16, F>(gpu, items, weights, bins, out),
            4 => add_up::<F, u32>(gpu.stream(), items, weights, bins, out),
            _ => add_up::<F, u64>(gpu.stream(), items, weights, bins, out),
        }
    }
}

/// Whether the type is a built-in integer, whose [`Add`] wraps.
fn is_integer<W: 'static>() -> bool {
    fn id<T: 'static>() -> TypeId {
        TypeId::of::<T>()
    }
    let unsigned = [id::<u8>(), id::<u16>(), id::<u32>(), id::<u64>()];
    let signed = [id::<i8>(), id::<i16>(), id::<i32>(), id::<i64>()];
    [unsigned, signed].as_flattened().contains(&id::<W>())
}

#[function]
fn narrow_8(sum: u32) -> u8 {
    sum as u8
}

#[function]
fn narrow_16(sum: u32) -> u16 {
    sum as u16
}

/// Adds up weights of fewer than 32 bits, in 32.
///
/// # Safety
///
/// As for [`histogram_weighted`].
unsafe fn add_up_short<W: Weight, Narrow, F: Form<Item: Counted>>(
    gpu: &Gpu,
    items: (F::Arguments, usize),
    weights: u64,
    bins: &Bins<<F::Item as Counted>::Value>,
    out: u64,
) -> Result<()>
where
    Narrow: Function<Input = (u32,), Output = W>,
{
    let all = bins.channels_of(F::Item::CHANNELS)? * bins.count();
    let sums = gpu.allocate::<u32>(all)?;
    let address = sums.address();
    // SAFETY: the caller's.
    unsafe {
        add_up::<F, W>(gpu.stream(), items, weights, bins, address)?;
        gpu.collect::<Map<Narrow, Slice<u32>>>(SliceArguments { address }, all, out, false)
    }
}

/// Sorts the weights by bin, and folds those of each bin.
///
/// # Safety
///
/// As for [`histogram_weighted`].
unsafe fn sort_and_fold<W: Element, F: Form<Item: Counted>>(
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
    let run = |function: &KernelFunction<_>, blocks: u32, warps: u32, arguments| {
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
