//! Lanes along an axis, on the CPU. A task takes some neighbouring lanes, and of long ones a block
//! of rows: a power of two, so its sum is a node of each lane's tree.

use super::Axis;
use crate::cpu::mode::in_rust_mode;
use crate::cpu::{PrefixKind, threads, with_simd};
use crate::primitives::scan::Prefixes;
use crate::source::Items;
use crate::{Element, Monoid};
use std::mem::MaybeUninit;
use std::ops::Range;

/// The bytes of a row that a task takes. With the nodes of its tree it stays in the L1 cache.
const ROW_BYTES: usize = 2 << 10;
/// The bytes that are folded at a time.
const TILE_BYTES: usize = 8 << 10;
/// The items of the shortest task. It takes far longer than handing it to a thread.
const LEAST: usize = 1 << 14;
/// A thread that begins late leaves some of its share to others.
const TASKS_PER_THREAD: usize = 8;

/// Neighbouring lanes of one outer place.
#[derive(Clone, Copy)]
struct Columns {
    outer: usize,
    first: usize,
    width: usize,
}

/// All columns, in order.
fn columns<A>(axis: &Axis) -> Vec<Columns> {
    let most = (ROW_BYTES / size_of::<A>()).max(1);
    let of_outer = |outer| {
        (0..axis.inner).step_by(most).map(move |first| Columns {
            outer,
            first,
            width: most.min(axis.inner - first),
        })
    };
    (0..axis.outer).flat_map(of_outer).collect()
}

/// The rows of a block, as a power of two: all of them, unless there are too few tasks.
fn log_block(axis: &Axis, tasks: usize) -> u32 {
    let wanted = TASKS_PER_THREAD * rayon::current_num_threads();
    let share = (axis.items() / wanted).max(LEAST);
    let rows = share * tasks / (axis.lanes().max(1));
    match tasks >= wanted || rows >= axis.len {
        true => axis.len.next_power_of_two().ilog2(),
        false => rows.next_power_of_two().ilog2(),
    }
}

/// What is read.
#[derive(Clone, Copy)]
pub(super) enum Input<'a, T> {
    Source(&'a Items<'a, T>),
    /// The place of the results.
    InPlace,
}

/// Where results go. Tasks write to different places.
#[derive(Clone, Copy)]
struct Target<T>(*mut T);

// SAFETY: tasks write to different places.
unsafe impl<T: Send> Send for Target<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Target<T> {}

impl<T: Element> Target<T> {
    /// # Safety
    ///
    /// The range lies within the target, and no other task writes there.
    unsafe fn row<'a>(self, range: Range<usize>) -> &'a mut [MaybeUninit<T>] {
        // SAFETY: the caller's; `MaybeUninit<T>` has the layout of `T`.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(range.start).cast(), range.len()) }
    }
}

/// The loops over rows that are compiled for a pair of an element type and an operator. All else is
/// compiled once for a type.
struct RowFold<A> {
    /// See [`fold_tile`].
    fold_tile: fn(&mut [A], usize),
    /// See [`join`].
    join: fn(&[A], &mut [A]),
    /// See [`merge`].
    merge: fn(&[A], &[A], &mut [A]),
}

impl<A> Clone for RowFold<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for RowFold<A> {}

impl<A> RowFold<A> {
    fn new<T: Element<Accumulator = A>, Op: Monoid<T>>() -> RowFold<A> {
        RowFold {
            fold_tile: fold_tile::<T, Op>,
            join: join::<T, Op>,
            merge: merge::<T, Op>,
        }
    }
}

/// Puts `left ⊕ right` into the place of `right`.
fn join<T: Element, Op: Monoid<T>>(left: &[T::Accumulator], right: &mut [T::Accumulator]) {
    with_simd(
        #[inline(always)]
        || {
            for (right, &left) in right.iter_mut().zip(left) {
                *right = Op::combine(left, *right);
            }
        },
    );
}

/// Writes `left ⊕ right`.
fn merge<T: Element, Op: Monoid<T>>(
    left: &[T::Accumulator],
    right: &[T::Accumulator],
    to: &mut [T::Accumulator],
) {
    with_simd(
        #[inline(always)]
        || {
            for ((to, &left), &right) in to.iter_mut().zip(left).zip(right) {
                *to = Op::combine(left, right);
            }
        },
    );
}

/// For some lanes side by side: the nodes of the rows seen so far, one for each bit of their number
/// that is set.
struct Nodes<A> {
    width: usize,
    rows: usize,
    levels: Vec<Vec<A>>,
}

impl<A: Copy> Nodes<A> {
    fn new(width: usize) -> Nodes<A> {
        Nodes {
            width,
            rows: 0,
            levels: Vec::new(),
        }
    }

    /// Takes in the sums of 2^level rows, where so many rows, or a multiple, were seen before.
    fn push(&mut self, level: usize, sums: &mut [A], fold: RowFold<A>) {
        debug_assert!(self.rows.is_multiple_of(1 << level));
        let mut level_of_sums = level;
        while self.rows >> level_of_sums & 1 == 1 {
            (fold.join)(&self.levels[level_of_sums], sums);
            level_of_sums += 1;
        }
        while self.levels.len() <= level_of_sums {
            self.levels.push(sums.to_vec());
        }
        self.levels[level_of_sums].copy_from_slice(sums);
        self.rows += 1 << level;
    }

    /// Takes in what another one has seen behind these rows.
    fn append(&mut self, other: &Nodes<A>, fold: RowFold<A>) {
        let mut sums = Vec::new();
        for level in (0..other.levels.len()).rev() {
            if other.rows >> level & 1 == 1 {
                sums.clone_from(&other.levels[level]);
                self.push(level, &mut sums, fold);
            }
        }
    }

    /// The prefixes of the end; nothing if there are no rows and no `init`.
    fn prefixes(&self, init: Option<A>, fold: RowFold<A>) -> Option<Vec<A>> {
        let mut prefixes = init.map(|init| vec![init; self.width]);
        for level in (0..self.levels.len()).rev() {
            if self.rows >> level & 1 == 0 {
                continue;
            }
            let mut sums = self.levels[level].clone();
            if let Some(prefixes) = &prefixes {
                (fold.join)(prefixes, &mut sums);
            }
            prefixes = Some(sums);
        }
        prefixes
    }
}

/// Reads rows of an axis.
struct Reader<'a, T> {
    input: Input<'a, T>,
    axis: Axis,
    /// Whether the last row comes first.
    reverse: bool,
    target: Target<T>,
    room: Vec<T>,
}

impl<T: Element> Reader<'_, T> {
    /// Where a row of some columns starts in an array.
    fn start(&self, axis: &Axis, columns: Columns, row: usize) -> usize {
        let row = if self.reverse {
            self.axis.len - 1 - row
        } else {
            row
        };
        columns.outer * axis.outer_stride + row * axis.stride + columns.first
    }

    /// A row of some columns.
    fn row(&mut self, columns: Columns, row: usize) -> &[T] {
        let start = self.start(&self.axis, columns, row);
        let range = start..start + columns.width;
        match self.input {
            Input::Source(items) => items.range(range, &mut self.room),
            Input::InPlace => {
                self.room.clear();
                // SAFETY: the row is this task's, and has elements.
                let row = unsafe {
                    let first = self.target.0.add(range.start);
                    std::slice::from_raw_parts(first, range.len())
                };
                self.room.extend_from_slice(row);
                &self.room
            }
        }
    }

    /// Folds rows, of which the first is a multiple of the largest power of two below their number.
    fn nodes(
        &mut self,
        columns: Columns,
        rows: Range<usize>,
        fold: RowFold<T::Accumulator>,
    ) -> Nodes<T::Accumulator> {
        let width = columns.width;
        let mut nodes = Nodes::new(width);
        let tile_rows = (TILE_BYTES / size_of::<T::Accumulator>() / width).max(1);
        let most = tile_rows.ilog2() as usize;
        let mut tile = Vec::with_capacity(width << most);
        let mut row = rows.start;
        for level in (0..=most).rev() {
            while rows.end - row >= 1 << level {
                tile.clear();
                for k in row..row + (1 << level) {
                    tile.extend(self.row(columns, k).iter().map(|item| item.widen()));
                }
                (fold.fold_tile)(&mut tile, width);
                nodes.push(level, &mut tile[..width], fold);
                row += 1 << level;
            }
        }
        nodes
    }
}

/// Folds rows of a tile, as many as a power of two, into the first.
fn fold_tile<T: Element, Op: Monoid<T>>(tile: &mut [T::Accumulator], width: usize) {
    let mut rows = tile.len() / width;
    while rows > 1 {
        rows /= 2;
        with_simd(
            #[inline(always)]
            || {
                let (first, second) = tile.split_at_mut(width);
                for (left, &right) in first.iter_mut().zip(&*second) {
                    *left = Op::combine(*left, right);
                }
                for row in 1..rows {
                    let (done, rest) = tile.split_at_mut(2 * row * width);
                    let to = &mut done[row * width..(row + 1) * width];
                    let (left, right) = rest[..2 * width].split_at(width);
                    for ((to, &left), &right) in to.iter_mut().zip(left).zip(right) {
                        *to = Op::combine(left, right);
                    }
                }
            },
        );
    }
}

/// The blocks of rows of an axis.
fn blocks(axis: &Axis, log: u32) -> Vec<Range<usize>> {
    let starts = (0..axis.len).step_by(1 << log);
    starts
        .map(|start| start..axis.len.min(start + (1 << log)))
        .collect()
}

/// Writes the fold of each lane to `output`, which has room for all of them.
pub(super) fn reduce<T: Element, Op: Monoid<T>>(
    items: &Items<'_, T>,
    axis: &Axis,
    init: Option<T>,
    output: &mut [MaybeUninit<T>],
) {
    let empty = init.unwrap_or_else(Op::identity);
    reduce_with(items, axis, (init, empty), output, RowFold::new::<T, Op>());
}

/// `empty` is the fold of a lane without items.
fn reduce_with<T: Element>(
    items: &Items<'_, T>,
    axis: &Axis,
    (init, empty): (Option<T>, T),
    output: &mut [MaybeUninit<T>],
    fold: RowFold<T::Accumulator>,
) {
    let columns = columns::<T::Accumulator>(axis);
    let blocks = blocks(axis, log_block(axis, columns.len()));
    let reader = || Reader {
        input: Input::Source(items),
        axis: *axis,
        reverse: false,
        target: Target(std::ptr::null_mut()),
        room: Vec::new(),
    };
    let store = |nodes: &Nodes<T::Accumulator>, to: &mut [MaybeUninit<T>]| {
        let folds = nodes.prefixes(init.map(T::widen), fold);
        write_row(to, folds.as_deref(), empty);
    };
    let mut rest = output;
    let rooms = columns.iter().map(|columns| {
        let room = rest.split_off_mut(..columns.width);
        (*columns, room.expect("a result for each lane"))
    });
    let rooms: Vec<_> = rooms.collect();
    if blocks.len() < 2 {
        type Task<'t, T> = (Columns, &'t mut [MaybeUninit<T>]);
        let work = |reader: &mut Reader<'_, T>, (columns, room): Task<'_, T>| {
            in_rust_mode(|| store(&reader.nodes(columns, 0..axis.len, fold), room));
        };
        let few = axis.items() <= LEAST;
        match few {
            true => rooms.into_iter().for_each(|one| work(&mut reader(), one)),
            false => threads::for_each_of_with(&mut rooms.into_iter(), &reader, &work),
        }
        return;
    }
    for (columns, room) in rooms {
        let sums = threads::map(blocks.len(), &reader, &|reader, number| {
            reader.nodes(columns, blocks[number].clone(), fold)
        });
        in_rust_mode(|| {
            let mut all = Nodes::new(columns.width);
            for block in &sums {
                all.append(block, fold);
            }
            store(&all, room);
        });
    }
}

/// Writes the sums of some lanes, or `nothing` where there are none.
fn write_row<T: Element>(to: &mut [MaybeUninit<T>], sums: Option<&[T::Accumulator]>, nothing: T) {
    match sums {
        None => to.fill(MaybeUninit::new(nothing)),
        Some(sums) => {
            for (to, &sum) in to.iter_mut().zip(sums) {
                to.write(T::narrow(sum));
            }
        }
    }
}

/// The prefixes of some lanes, row by row.
struct Walk<A> {
    nodes: Nodes<A>,
    /// The prefixes of where each node ends.
    ends: Vec<Vec<A>>,
    seed: Option<Vec<A>>,
}

impl<A: Copy> Walk<A> {
    fn new(width: usize, seed: Option<Vec<A>>) -> Walk<A> {
        Walk {
            nodes: Nodes::new(width),
            ends: Vec::new(),
            seed,
        }
    }

    /// The prefixes of the end of some of the rows.
    fn end(&self, rows: usize) -> Option<&[A]> {
        match rows {
            0 => self.seed.as_deref(),
            _ => Some(&self.ends[rows.trailing_zeros() as usize]),
        }
    }

    fn now(&self) -> Option<&[A]> {
        self.end(self.nodes.rows)
    }

    /// Takes in a row.
    fn push(&mut self, row: &mut [A], fold: RowFold<A>) {
        self.nodes.push(0, row, fold);
        let rows = self.nodes.rows;
        let level = rows.trailing_zeros() as usize;
        let sums = &self.nodes.levels[level];
        while self.ends.len() <= level {
            self.ends.push(sums.clone());
        }
        let mut end = std::mem::take(&mut self.ends[level]);
        match self.end(rows & (rows - 1)) {
            None => end.copy_from_slice(sums),
            Some(before) => (fold.merge)(before, sums, &mut end),
        }
        self.ends[level] = end;
    }
}

/// Writes the prefixes of each lane from `target` on, where the results lie as `to` says.
///
/// # Safety
///
/// There is room for all results, which nothing else uses. In place there are elements.
pub(super) unsafe fn scan<T: Element, Op: Monoid<T>>(
    input: Input<'_, T>,
    axis: &Axis,
    prefixes: Prefixes<T>,
    target: *mut T,
    to: &Axis,
) {
    let first = prefixes.init.unwrap_or_else(Op::identity);
    let fold = RowFold::new::<T, Op>();
    // SAFETY: the caller's.
    unsafe { scan_with(input, axis, (prefixes, first), target, to, fold) };
}

/// `first` is the first prefix of an exclusive scan.
///
/// # Safety
///
/// As of [`scan`].
unsafe fn scan_with<T: Element>(
    input: Input<'_, T>,
    axis: &Axis,
    (prefixes, first): (Prefixes<T>, T),
    target: *mut T,
    to: &Axis,
    fold: RowFold<T::Accumulator>,
) {
    let columns = columns::<T::Accumulator>(axis);
    let log = log_block(axis, columns.len());
    let blocks = blocks(axis, log);
    let target = Target(target);
    let reader = || Reader {
        input,
        axis: *axis,
        reverse: prefixes.reverse,
        target,
        room: Vec::new(),
    };
    let init = prefixes.init.map(T::widen);
    let inclusive = prefixes.kind == PrefixKind::Inclusive;
    // Scans some rows of some lanes. `seed` has the prefixes of their start. `after` has those of the
    // end of a block that others follow: there the law joins the block with blocks before it, which
    // the seed no longer tells apart.
    let walk = |reader: &mut Reader<'_, T>,
                columns: Columns,
                rows: Range<usize>,
                seed: Option<Vec<T::Accumulator>>,
                after: Option<&[T::Accumulator]>| {
        let mut walk = Walk::new(columns.width, seed);
        let mut row_of_sums = Vec::with_capacity(columns.width);
        for row in rows.clone() {
            row_of_sums.clear();
            row_of_sums.extend(reader.row(columns, row).iter().map(|item| item.widen()));
            let start = reader.start(to, columns, row);
            // SAFETY: the row is this task's alone.
            let out = unsafe { target.row(start..start + columns.width) };
            if !inclusive {
                write_row(out, walk.now(), first);
            }
            walk.push(&mut row_of_sums, fold);
            if inclusive {
                let is_last = row + 1 == rows.end;
                write_row(out, after.filter(|_| is_last).or(walk.now()), first);
            }
        }
    };
    if blocks.len() < 2 {
        let seed = |columns: Columns| init.map(|init| vec![init; columns.width]);
        let work = |reader: &mut Reader<'_, T>, columns: Columns| {
            in_rust_mode(|| walk(reader, columns, 0..axis.len, seed(columns), None));
        };
        match axis.items() <= LEAST {
            true => columns.into_iter().for_each(|one| work(&mut reader(), one)),
            false => threads::for_each_of_with(&mut columns.into_iter(), &reader, &work),
        }
        return;
    }
    // All items are read twice: for the sums of whole blocks, which give each block its seed, and
    // for the prefixes.
    for columns in columns {
        let whole = &blocks[..axis.len >> log];
        let sums = threads::map(whole.len(), &reader, &|reader, number| {
            reader.nodes(columns, whole[number].clone(), fold)
        });
        let mut before = Nodes::new(columns.width);
        let seeds = in_rust_mode(|| {
            let mut seeds = vec![before.prefixes(init, fold)];
            for block in &sums {
                before.append(block, fold);
                seeds.push(before.prefixes(init, fold));
            }
            seeds
        });
        threads::for_each(blocks.len(), &reader, &|reader, number| {
            let after = seeds.get(number + 1).and_then(Option::as_deref);
            let seed = seeds[number].clone();
            walk(reader, columns, blocks[number].clone(), seed, after);
        });
    }
}

/// Segments of more items are long: all threads fold each of them.
const LONG: usize = 1 << 17;

/// Writes the fold of each segment of rows of `inner` items to `output`.
pub(super) fn reduce_segments<T: Element, Op: Monoid<T>>(
    items: &Items<'_, T>,
    inner: usize,
    bounds: &(dyn Fn(usize) -> Range<usize> + Sync),
    init: Option<T>,
    output: &mut [MaybeUninit<T>],
) {
    let fold = |rows: Range<usize>, room: &mut [MaybeUninit<T>]| {
        let axis = Axis {
            outer: 1,
            len: rows.len(),
            inner,
            outer_stride: rows.len() * inner,
            stride: inner,
        };
        items.with_part(rows.start * inner..rows.end * inner, |part| {
            reduce::<T, Op>(part, &axis, init, room);
        });
    };
    let is_long = |rows: &Range<usize>| rows.len() * inner > LONG;
    let rooms = output.chunks_mut(inner).enumerate();
    threads::for_each_of(&mut { rooms }, &|(number, room)| {
        let rows = bounds(number);
        if !is_long(&rows) {
            fold(rows, room);
        }
    });
    for (number, room) in output.chunks_mut(inner).enumerate() {
        let rows = bounds(number);
        if is_long(&rows) {
            fold(rows, room);
        }
    }
}
