//! The launches of one call of a step, as data.

/// What a kernel's pointers point to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// The input: elements.
    In,
    /// The second input of a dot product: elements.
    Second,
    /// A copy of the input as accumulators, for kernels that fold in place. Calls destroy it.
    Data,
    /// Values on the way: accumulators.
    Values,
    /// The results: accumulators, in a multiple of 8 bytes.
    Out,
}

impl Buffer {
    /// All of them.
    pub const ALL: [Buffer; 5] = [
        Buffer::In,
        Buffer::Second,
        Buffer::Data,
        Buffer::Values,
        Buffer::Out,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Buffer::In => "in",
            Buffer::Second => "second",
            Buffer::Data => "data",
            Buffer::Values => "values",
            Buffer::Out => "out",
        }
    }
}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// The address of an item of a buffer.
    At(Buffer, u64),
    /// A length, as `u64`.
    Length(u64),
    /// How many pairs of items each thread takes, as `u32`.
    Factor(u32),
    /// The operator's identity, as an accumulator.
    Identity,
}

/// One launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's name.
    pub function: &'static str,
    /// The number of blocks.
    pub blocks: u32,
    /// The threads of a block.
    pub threads: u32,
    /// What the kernel takes.
    pub arguments: Vec<Argument>,
}

/// What decides how a step is cut up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The threads of a block, a power of two up to 1024. A step that takes one block only has
    /// fewer if there are fewer items.
    pub threads: u32,
    /// How many pairs of items each thread of the coarsened step takes.
    pub factor: u32,
}

/// A call: its launches, and the room that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The launches, one after the other.
    pub launches: Vec<Launch>,
    /// The accumulators in [`Buffer::Values`].
    pub values: u64,
    /// The accumulators in [`Buffer::Out`]: one, or as many as there are items.
    pub results: u64,
}

impl Call {
    /// Whether a launch takes a buffer.
    pub fn takes(&self, buffer: Buffer) -> bool {
        let mut arguments = self.launches.iter().flat_map(|launch| &launch.arguments);
        arguments.any(|argument| matches!(argument, Argument::At(taken, _) if *taken == buffer))
    }

    /// One launch, with one result.
    fn of_one(function: &'static str, blocks: u64, threads: u32, arguments: &[Argument]) -> Call {
        Call {
            launches: vec![launch(function, blocks, threads, arguments)],
            values: 0,
            results: 1,
        }
    }
}

fn launch(function: &'static str, blocks: u64, threads: u32, arguments: &[Argument]) -> Launch {
    Launch {
        function,
        blocks: u32::try_from(blocks).expect("a grid has fewer than 2^32 blocks"),
        threads,
        arguments: arguments.to_vec(),
    }
}

use Argument::{At, Factor, Identity, Length};
use Buffer::{Data, In, Out, Second, Values};

/// The threads of the one block that takes `each` items a thread.
fn one_block(length: u64, each: u64, shape: Shape) -> u32 {
    let threads = length.div_ceil(each).next_power_of_two();
    threads.min(shape.threads.into()) as u32
}

/// One block that folds in place, two items a thread.
pub(super) fn in_place(function: &'static str, length: u64, shape: Shape) -> Call {
    let arguments = [At(Data, 0), Length(length), At(Out, 0)];
    Call::of_one(function, 1, one_block(length, 2, shape), &arguments)
}

/// One block that reads the input, two items a thread.
pub(super) fn one(function: &'static str, length: u64, shape: Shape) -> Call {
    let arguments = [At(In, 0), Length(length), At(Out, 0)];
    Call::of_one(function, 1, one_block(length, 2, shape), &arguments)
}

/// Blocks of `each` items a thread, which fold into one result.
pub(super) fn blocks(function: &'static str, each: u64, length: u64, shape: Shape) -> Call {
    let blocks = length.div_ceil(each * u64::from(shape.threads));
    let arguments = [At(In, 0), Length(length), At(Out, 0)];
    Call::of_one(function, blocks, shape.threads, &arguments)
}

/// Blocks of twice `factor` items a thread, which fold into one result. They are told the factor.
pub(super) fn coarsened(function: &'static str, length: u64, shape: Shape) -> Call {
    let blocks = length.div_ceil(2 * u64::from(shape.factor) * u64::from(shape.threads));
    let arguments = [At(In, 0), Length(length), Factor(shape.factor), At(Out, 0)];
    Call::of_one(function, blocks, shape.threads, &arguments)
}

/// Blocks of a dot product, of one item a thread, which fold into one result.
pub(super) fn dot(function: &'static str, length: u64, shape: Shape) -> Call {
    let blocks = length.div_ceil(shape.threads.into());
    let arguments = [At(In, 0), At(Second, 0), Length(length), At(Out, 0)];
    Call::of_one(function, blocks, shape.threads, &arguments)
}

/// Launches that fold what the one before them left, a value for each block of `part` items, until
/// one is left. The first launch reads `from`; a buffer holds each level after the other.
fn decomposed(
    (first, again): (&'static str, &'static str),
    (from, mut values): (Argument, u64),
    part: u64,
    length: u64,
    threads: u32,
) -> Call {
    let (mut launches, mut from, mut length, mut function) = (Vec::new(), from, length, first);
    loop {
        let blocks = length.div_ceil(part);
        let to = if blocks == 1 {
            At(Out, 0)
        } else {
            At(Values, values)
        };
        let arguments = [from, Length(length), to];
        launches.push(launch(function, blocks, threads, &arguments));
        if blocks == 1 {
            break;
        }
        values += blocks;
        (from, length, function) = (to, blocks, again);
    }
    Call {
        launches,
        values,
        results: 1,
    }
}

/// In place, one item a thread: what a launch leaves is folded in place by the next one.
pub(super) fn decomposed_in_place(function: &'static str, length: u64, shape: Shape) -> Call {
    let part = u64::from(shape.threads);
    decomposed(
        (function, function),
        (At(Data, 0), 0),
        part,
        length,
        shape.threads,
    )
}

/// Two items a thread; another function reads accumulators.
pub(super) fn decomposed_in_pairs(
    functions: (&'static str, &'static str),
    length: u64,
    shape: Shape,
) -> Call {
    let part = 2 * u64::from(shape.threads);
    decomposed(functions, (At(In, 0), 0), part, length, shape.threads)
}

/// A launch that stores the products, and launches that fold them.
pub(super) fn products_and_launches(
    (products, folds): (&'static str, &'static str),
    length: u64,
    shape: Shape,
) -> Call {
    let threads = shape.threads;
    let part = u64::from(threads);
    let from = At(Values, 0);
    let mut call = decomposed((folds, folds), (from, length), part, length, threads);
    let arguments = [At(In, 0), At(Second, 0), Length(length), from];
    let first = launch(products, length.div_ceil(part), threads, &arguments);
    call.launches.insert(0, first);
    call
}

/// A scan in one block, of `each` items a thread.
pub(super) fn scan(function: &'static str, each: u64, length: u64, shape: Shape) -> Call {
    let threads = one_block(length, each, shape);
    let arguments = [At(In, 0), Length(length), Identity, At(Out, 0)];
    Call {
        results: length,
        ..Call::of_one(function, 1, threads, &arguments)
    }
}

/// A sort in one block, of an item a thread.
pub(super) fn sort(function: &'static str, length: u64, shape: Shape) -> Call {
    let arguments = [At(In, 0), Length(length), At(Out, 0)];
    Call {
        results: length,
        ..Call::of_one(function, 1, one_block(length, 1, shape), &arguments)
    }
}

/// A scan in tiles of two items a thread. Up the levels tiles are scanned, and leave their sums.
/// Down the levels their prefixes are put before their items.
pub(super) fn tiled_scan(
    (tiles, sums, add): (&'static str, &'static str, &'static str),
    length: u64,
    shape: Shape,
) -> Call {
    let (threads, tile) = (shape.threads, 2 * u64::from(shape.threads));
    let (mut up, mut down) = (Vec::new(), Vec::new());
    let (mut items, mut level, mut values) = (length, None, 0);
    loop {
        let blocks = items.div_ceil(tile);
        let above = At(Values, values);
        let (function, arguments) = match level {
            None => (
                tiles,
                vec![At(In, 0), Length(items), Identity, At(Out, 0), above],
            ),
            Some(level) => (sums, vec![level, Length(items), Identity, above]),
        };
        up.push(launch(function, blocks, threads, &arguments));
        values += blocks;
        if blocks == 1 {
            break;
        }
        let arguments = [level.unwrap_or(At(Out, 0)), Length(items), above];
        down.push(launch(add, blocks, threads, &arguments));
        (level, items) = (Some(above), blocks);
    }
    up.extend(down.into_iter().rev());
    Call {
        launches: up,
        values,
        results: length,
    }
}
