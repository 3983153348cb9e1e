//! What passes from one piece of a fold to the next.

use crate::failure::Result;
use crate::numbers::PIECE;
use std::marker::PhantomData;
use warpfold::{Buffer, Device, Element, Monoid, Source};

/// The state of a fold after some whole pieces: a sum for each set bit of their number, as the law
/// has it, so that folds of pieces have the bits of one fold of all.
pub(crate) struct Carry<T, Op> {
    init: Option<T>,
    /// Sums of 2^level pieces each, of falling levels.
    blocks: Vec<(u32, T)>,
    operator: PhantomData<fn() -> Op>,
}

impl<T: Element<Accumulator = T>, Op: Monoid<T>> Carry<T, Op> {
    pub(crate) fn new(init: Option<T>) -> Self {
        Carry {
            init,
            blocks: Vec::new(),
            operator: PhantomData,
        }
    }

    /// Appends the sum of a whole piece.
    pub(crate) fn push(&mut self, sum: T) {
        let (mut level, mut sum) = (0, sum);
        while let Some((_, left)) = self.blocks.pop_if(|(other, _)| *other == level) {
            sum = Op::combine(left, sum);
            level += 1;
        }
        self.blocks.push((level, sum));
    }

    /// The fold of the pieces so far; nothing if there was neither a piece nor a value to start
    /// from.
    pub(crate) fn prefix(&self) -> Option<T> {
        let sums = self.blocks.iter().map(|(_, sum)| *sum);
        self.init.into_iter().chain(sums).reduce(Op::combine)
    }

    /// Appends what is no whole piece, and is the last.
    pub(crate) fn end(self, device: &Device, rest: impl Source<Device, Item = T>) -> Result<T> {
        Ok(match self.prefix() {
            Some(prefix) => device.reduce_from::<T, Op>(prefix, rest)?,
            None => device.reduce::<T, Op>(rest)?,
        })
    }
}

/// Folds all pieces into one value.
pub(crate) fn reduce<T: Element<Accumulator = T>, Op: Monoid<T>>(
    device: &Device,
    pieces: impl IntoIterator<Item = Result<Vec<T>>>,
    init: Option<T>,
) -> Result<T> {
    let mut carry = Carry::<T, Op>::new(init);
    let mut rest = Vec::new();
    for piece in pieces {
        let piece = piece?;
        if piece.len() < PIECE {
            rest = piece;
            break;
        }
        let piece = device.upload_vec(piece)?;
        carry.push(device.reduce::<T, Op>(&piece)?);
    }
    carry.end(device, &device.upload_vec(rest)?)
}

/// Scans the next piece. A whole one adds to the carry.
pub(crate) fn scan<T: Element<Accumulator = T>, Op: Monoid<T>>(
    device: &Device,
    carry: &mut Carry<T, Op>,
    piece: Vec<T>,
    inclusive: bool,
) -> Result<Vec<T>> {
    let mut piece: Buffer<T> = device.upload_vec(piece)?;
    let before = carry.prefix();
    let whole = piece.len() == PIECE;
    if whole {
        carry.push(device.reduce::<T, Op>(&piece)?);
    }
    let mut prefixes = match inclusive {
        true => warpfold::Prefixes::inclusive(),
        false => warpfold::Prefixes::exclusive(),
    };
    if let Some(before) = before {
        prefixes = prefixes.from(before);
    }
    device.scan_in_place::<T, Op>(prefixes, &mut piece)?;
    let mut values = piece.into_vec()?;
    // Here the law joins blocks, and does not append one.
    if let (true, true, Some(last)) = (whole, inclusive, values.last_mut()) {
        *last = carry.prefix().expect("a piece was pushed");
    }
    Ok(values)
}
