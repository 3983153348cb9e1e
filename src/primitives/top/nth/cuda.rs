//! Items of the sorted order on a GPU's stream.

use super::kernel::{Nth, NthArguments, NthShape};
use super::tuning::BLOCKS;
use crate::cuda::Gpu;
use crate::cuda::kernels::Lazy;
use crate::cuda::launch::{Grid, launch};
use crate::cuda::library::require_driver;
use crate::engine::HEADER_BYTES;
use crate::primitives::sort::{Order, Sortable};
use crate::render::Named;
use crate::source::Form;
use crate::{Element, Result};
use cudarc::driver::CudaContext;
use std::marker::PhantomData;
use std::sync::Arc;

/// The kernels of both shapes.
struct Kernels<F> {
    shapes: [(NthShape, Lazy); 2],
    form: Named<F>,
}

impl<F: Form<Item: Sortable>> Kernels<F> {
    fn load_lazily(_: &Arc<CudaContext>) -> Result<Self> {
        require_driver()?;
        let kernel = |shape| (shape, Lazy::new(Nth::<F>::kernel(shape)));
        Ok(Kernels {
            shapes: Nth::<F>::shapes().map(kernel),
            form: PhantomData,
        })
    }
}

/// The items at some places of the sorted order, which rise. Waits for them.
///
/// # Safety
///
/// The arguments are those of a source in this GPU's memory, with `len` items, which stays
/// borrowed. The places are below `len`, and no more than [`MANY`](super::tuning::MANY).
pub(super) unsafe fn select<F: Form<Item: Sortable + Element>>(
    gpu: &Gpu,
    source: F::Arguments,
    len: usize,
    order: Order,
    wanted: &[usize],
) -> Result<Vec<F::Item>> {
    let all = gpu.kernels(Kernels::<F>::load_lazily)?;
    let (shape, kernel) = match wanted.len() <= all.shapes[0].0.most {
        true => &all.shapes[0],
        false => &all.shapes[1],
    };
    let kernels = kernel.get(gpu.context())?;
    let places: Vec<u64> = wanted.iter().map(|&place| place as u64).collect();
    let places = gpu.upload(&places)?;
    // The tables; and of each item its rank, in two words, its position, and whether it was found.
    let (counts, count) = (shape.counts(), wanted.len());
    let zeros = gpu.allocate_zeroed::<u64>(counts + 4 * count)?;
    let word = |number: usize| zeros.address() + 8 * number as u64;
    let values = gpu.allocate::<F::Item>(wanted.len())?;
    let kind = <F::Item as Sortable>::KIND;
    let warps = (len as u64).div_ceil(shape.chunk());
    let blocks = warps.div_ceil(u64::from(shape.threads / 32));
    let blocks = blocks.clamp(1, u64::from(BLOCKS * kernels.multiprocessors()));
    let grid = Grid::new(blocks as u32, shape.threads, 0);
    gpu.with_workspace(HEADER_BYTES, |stream, workspace| {
        let workspace = workspace.arguments(stream, HEADER_BYTES)?;
        for (shift, bits, of_positions) in shape.digits(len, order.is_ambiguous(kind)) {
            let arguments = NthArguments {
                source,
                length: len as u64,
                ranks: word(counts),
                positions: word(counts + 2 * count),
                places: places.address(),
                found: word(counts + 3 * count),
                values: values.address(),
                counts: word(0),
                workspace,
                wanted: wanted.len() as u32,
                order: order.code(kind),
                shift,
                bits,
                of_positions: of_positions.into(),
            };
            // SAFETY: the caller's; the stream keeps calls and frees in order.
            unsafe { launch(kernels, stream, &Nth::<F>::COUNT, grid, arguments) }?;
        }
        Ok(())
    })?;
    gpu.download(&values, 0..wanted.len())
}
