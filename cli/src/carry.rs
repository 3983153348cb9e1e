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

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold::ops::Add;

    /// Sums that depend on their brackets.
    fn values(len: usize) -> Vec<f32> {
        (0..len)
            .map(|i| (i as f32 * 0.37).sin() * 10_f32.powi(i as i32 % 9))
            .collect()
    }

    fn pieces(values: &[f32]) -> Vec<Vec<f32>> {
        let mut pieces: Vec<_> = values.chunks(PIECE).map(<[f32]>::to_vec).collect();
        if values.len().is_multiple_of(PIECE) {
            pieces.push(Vec::new());
        }
        pieces
    }

    #[test]
    fn pieces_fold_as_one() {
        let device = Device::cpu();
        for len in 0..20 * PIECE {
            let values = values(len);
            for init in [None, Some(0.1_f32)] {
                let folded = match init {
                    None => warpfold::reduce::<f32, Add>(&values),
                    Some(init) => warpfold::reduce_from::<f32, Add>(init, &values),
                };
                let of_pieces = pieces(&values).into_iter().map(Ok);
                let result = reduce::<f32, Add>(&device, of_pieces, init).unwrap();
                assert_eq!(
                    result.to_bits(),
                    folded.unwrap().to_bits(),
                    "{len} {init:?}"
                );
            }
        }
    }

    #[test]
    fn pieces_scan_as_one() {
        let device = Device::cpu();
        for len in (0..20 * PIECE)
            .step_by(5)
            .chain([PIECE, 2 * PIECE, 3 * PIECE, 16 * PIECE])
        {
            let values = values(len);
            for (inclusive, init) in [
                (true, None),
                (false, None),
                (true, Some(0.1)),
                (false, Some(0.1)),
            ] {
                let scanned = match (inclusive, init) {
                    (true, None) => warpfold::inclusive_scan::<f32, Add>(&values),
                    (false, None) => warpfold::scan::<f32, Add>(&values),
                    (true, Some(init)) => warpfold::inclusive_scan_from::<f32, Add>(init, &values),
                    (false, Some(init)) => warpfold::scan_from::<f32, Add>(init, &values),
                };
                let mut carry = Carry::<f32, Add>::new(init);
                let mut result = Vec::new();
                for piece in pieces(&values) {
                    result.extend(scan(&device, &mut carry, piece, inclusive).unwrap());
                }
                let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(
                    bits(&result),
                    bits(&scanned.unwrap()),
                    "{len} {inclusive} {init:?}"
                );
            }
        }
    }
}
