//! Streams on a GPU, piece by piece: a launch for each, wherever it starts and ends, or three if it
//! is long.

use super::Prefixes;
use super::carry::DeviceCarry;
use super::kernel::{PIECE, Piece, PieceArguments};
use crate::cpu::PrefixKind;
use crate::cuda::kernels::{Lazy, Shell, context_multiprocessors};
use crate::cuda::lanes::{LANES, Lanes, copy, fill_in_parts};
use crate::cuda::pieces::chunks_of;
use crate::cuda::{Gpu, context_capability};
use crate::engine::tuning::plans::PIECE_WAVES;
use crate::engine::{Engine, Layouts, PieceKernels, PieceLaunch, PieceTiles, WavePlan, WavePolicy};
use crate::operator::cost;
use crate::render::{Function, Named};
use crate::source::{Form, Slice};
use crate::{Element, Monoid, Result};
use cudarc::driver::CudaContext;
use std::ops::Range;
use std::sync::Arc;

/// Names the scans of pieces of a form with `Op`.
struct Pieces<T, Op, F, const REVERSE: bool>(Named<(T, Op, F)>);

struct Kernels {
    rows: PieceKernels<Lazy>,
    /// The wave engine, for slices that start at multiples of 16 bytes, and for all others.
    waves: Option<[(WavePolicy, Lazy); 2]>,
    multiprocessors: u32,
}

/// What a launch scans, and where its results go.
#[derive(Clone, Copy)]
struct Part<A> {
    source: A,
    to: u64,
    len: usize,
}

impl<T: Element, Op: Monoid<T>, F: Form<Item = T>, const REVERSE: bool> Shell
    for Pieces<T, Op, F, REVERSE>
{
    type Core = Kernels;

    fn load_core(context: &Arc<CudaContext>) -> Result<Kernels> {
        let kernel = |policy| Lazy::new(Piece::<T, Op, F, REVERSE>::kernel(policy));
        let layouts = match REVERSE {
            false => Layouts::of::<F>(),
            true => Layouts::of::<F>().in_reverse(),
        };
        let (capability, cost) = (context_capability(context)?, cost::<T, Op>());
        let wave = WavePolicy::for_operator(layouts, capability, Op::COMMUTATIVE, cost)
            // Only a slice is scanned in parts.
            .filter(|_| !REVERSE && F::of_address(0).is_some())
            .filter(|&policy| Engine::Wave(policy).runs_on(capability))
            .and_then(|policy| Some([policy, policy.anywhere_of(layouts)?]));
        let of_waves = |policy| (policy, Lazy::new(Piece::<T, Op, F>::of_waves(policy)));
        let multiprocessors = context_multiprocessors(context)?;
        Ok(Kernels {
            rows: PieceKernels::of_scans(&kernel, layouts, capability, cost, multiprocessors),
            waves: wave.map(|policies| policies.map(of_waves)),
            multiprocessors,
        })
    }
}

impl Gpu {
    /// Writes the prefixes of a piece of `len` items to an address, and appends the piece to the
    /// carry. Without `source` the piece lies at that address. Nothing waits.
    ///
    /// # Safety
    ///
    /// The arguments are those of a source on this GPU with `len` items. At the address is room for
    /// as many results, which nothing else uses before the work on the stream is done. What is read
    /// is freed on this GPU's stream.
    pub(super) unsafe fn scan_piece<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
        &self,
        source: Option<F::Arguments>,
        (to, len): (u64, usize),
        prefixes: Prefixes<T>,
        carry: &mut DeviceCarry<T>,
    ) -> Result<()> {
        let in_place = || F::of_address(to).expect("only slices are scanned in place");
        let source = source.unwrap_or_else(in_place);
        let piece = Part { source, to, len };
        // Looked up: which kernels there are is worked out once, not for each piece.
        let kernels = match prefixes.reverse {
            false => self.core_of::<Pieces<T, Op, F, false>>()?,
            true => self.core_of::<Pieces<T, Op, F, true>>()?,
        };
        // SAFETY: the caller's.
        unsafe { self.run_piece::<T, F>(&kernels, Op::identity, piece, prefixes, carry) }
    }

    /// [`scan_piece`](Gpu::scan_piece), compiled once for all operators.
    ///
    /// # Safety
    ///
    /// As for [`scan_piece`](Gpu::scan_piece). The kernels are those of `F`.
    unsafe fn run_piece<T: Element, F: Form<Item = T>>(
        &self,
        kernels: &Kernels,
        identity: fn() -> T,
        piece: Part<F::Arguments>,
        prefixes: Prefixes<T>,
        carry: &mut DeviceCarry<T>,
    ) -> Result<()> {
        let start = carry.position();
        let waves = kernels.waves.as_ref().and_then(|[(policy, _), _]| {
            let address = F::address(&piece.source)?;
            let wave = policy.tile() * u64::from(policy.wave);
            let (from, to) = (
                start.next_multiple_of(wave),
                (start + piece.len as u64) / wave,
            );
            let end = start + piece.len as u64;
            let launches = 1 + u64::from(start < from) + u64::from(to * wave < end);
            let count = to
                .checked_sub(from / wave)
                .filter(|&count| count >= PIECE_WAVES * launches)?;
            // Kernels count waves in 32 bits.
            let fits = from / wave % (1 << 32) + count < 1 << 32;
            fits.then_some((address, (from - start) as usize, (count * wave) as usize))
        });
        let run = |part, waves, carry: &mut DeviceCarry<T>| {
            // SAFETY: the caller's.
            unsafe { self.run_part::<T, F>(kernels, identity, part, prefixes, waves, carry) }
        };
        let Some((address, before, len)) = waves else {
            return run(piece, false, carry);
        };
        let part = |from: usize, len: usize| {
            let bytes = (from * size_of::<T>()) as u64;
            Part {
                source: F::of_address(address + bytes).expect("it is a slice"),
                to: piece.to + bytes,
                len,
            }
        };
        let after = before + len;
        // If a launch fails, the carry is as it was.
        let mut next = carry.fork(self)?;
        run(part(0, before), false, &mut next)?;
        run(part(before, len), true, &mut next)?;
        run(part(after, piece.len - after), false, &mut next)?;
        *carry = next;
        Ok(())
    }

    /// One launch. `waves` says that the part consists of whole ones.
    ///
    /// # Safety
    ///
    /// As for [`run_piece`](Gpu::run_piece).
    unsafe fn run_part<T: Element, F: Form<Item = T>>(
        &self,
        kernels: &Kernels,
        identity: fn() -> T,
        part: Part<F::Arguments>,
        prefixes: Prefixes<T>,
        waves: bool,
        carry: &mut DeviceCarry<T>,
    ) -> Result<()> {
        let Part { source, to, len } = part;
        if len == 0 {
            return Ok(());
        }
        let planned = match kernels.waves.as_ref().filter(|_| waves) {
            Some([plain, anywhere]) => {
                let aligned = to.is_multiple_of(WavePolicy::ALIGN)
                    && F::is_aligned(&source, WavePolicy::ALIGN);
                let (policy, kernel) = if aligned { plain } else { anywhere };
                let (plan, layouts) = (WavePlan::new(*policy, len), Layouts::of::<F>());
                PieceLaunch::by_waves(kernel, plan, layouts, kernels.multiprocessors)
            }
            None => kernels.rows.plan(carry.position(), len),
        };
        let [before, after] = carry.addresses();
        let function = Function::<PieceArguments<F::Arguments, T::Accumulator>>::new(PIECE);
        let arguments = |workspace, tiles: PieceTiles| PieceArguments {
            source,
            out: to,
            length: len as u64,
            workspace,
            init: prefixes.init.unwrap_or_else(identity).widen(),
            position: carry.position(),
            before,
            after,
            first: tiles.first,
            last: tiles.last,
            log_tile: tiles.log_tile,
            levels: tiles.levels,
            seeded: u32::from(prefixes.init.is_some()),
            inclusive: u32::from(prefixes.kind == PrefixKind::Inclusive),
            by_ticket: tiles.by_ticket,
        };
        // SAFETY: the caller's; the carry is this GPU's.
        unsafe { self.launch_piece(planned, &function, len, arguments) }?;
        carry.advance(len);
        Ok(())
    }

    /// Writes the prefixes of a piece in host memory to `output`, which is as long. At one time the
    /// GPU gets a chunk, scans the one before, and gives back the one before that.
    pub(super) fn scan_slice<T: Element, Op: Monoid<T>>(
        &self,
        piece: &[T],
        output: &mut [T],
        prefixes: Prefixes<T>,
        carry: &mut DeviceCarry<T>,
    ) -> Result<()> {
        let (from_pinned, to_pinned) = (self.is_pinned(piece)?, self.is_pinned(output)?);
        let chunks = chunks_of::<T>(carry.position(), piece.len());
        let mut scan = |place: (u64, usize)| {
            // SAFETY: the memory is this GPU's, freed on its stream, and used here only.
            unsafe { self.scan_piece::<T, Op, Slice<T>>(None, place, prefixes, carry) }
        };
        // The last items come first.
        let chunks: Vec<_> = match prefixes.reverse {
            false => chunks,
            true => {
                let len = piece.len();
                let reversed = |chunk: Range<usize>| len - chunk.end..len - chunk.start;
                chunks.into_iter().map(reversed).collect()
            }
        };
        if chunks.len() < 2 {
            let array = self.upload(piece)?;
            scan((array.address(), piece.len()))?;
            output.copy_from_slice(&self.download(&array, 0..piece.len())?);
            return Ok(());
        }
        let mut lanes = Lanes::new(self)?;
        // In its turn a chunk is copied to the GPU, in the next one it is scanned, and enqueued to
        // come back. The last turn finds it there.
        const TURNS: usize = LANES - 1;
        let of_turn = |turn: usize, after: usize| {
            let number = turn.checked_sub(after)?;
            Some((number, chunks.get(number)?.clone()))
        };
        for turn in 0..chunks.len() + TURNS {
            if !to_pinned && let Some((number, chunk)) = of_turn(turn, TURNS) {
                let from = lanes.downloaded::<T>(number)?;
                fill_in_parts(&mut output[chunk], |start, to| copy(&from[start..], to))?;
            }
            if let Some((number, chunk)) = of_turn(turn, 0) {
                let from = &piece[chunk];
                if from_pinned {
                    // SAFETY: it is pinned. Dropping the lanes waits for the copy.
                    unsafe { lanes.upload_from(number, from) }?;
                } else {
                    let room = lanes.room(number, from.len())?;
                    fill_in_parts(room, |start, to| copy(&from[start..], to))?;
                    lanes.upload(number)?;
                }
            }
            if let Some((number, chunk)) = of_turn(turn, 1) {
                let place = (lanes.address(number), chunk.len());
                lanes.start(number)?;
                scan(place)?;
                lanes.finish(number)?;
                if to_pinned {
                    // SAFETY: it is pinned, and nothing else uses it. Dropping the lanes waits.
                    unsafe { lanes.download_to(number, &mut output[chunk]) }?;
                } else {
                    lanes.download(number)?;
                }
            }
        }
        lanes.synchronize()
    }
}
