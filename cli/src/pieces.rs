//! The pieces of an input, which a thread of its own reads while others are worked on.

use crate::failure::Result;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// The numbers in a piece, but for the last: enough to keep all cores busy, and few enough to stay
/// in their caches.
pub(crate) const PIECE: usize = if cfg!(test) { 1 << 4 } else { 1 << 18 };

/// Pieces that wait to be worked on.
const AHEAD: usize = 2;

/// Some of the numbers of an input, or some rows of its columns.
pub(crate) struct Piece<V> {
    pub(crate) values: V,
    /// The places in the piece, from 0, whose value is missing and was skipped: in each column.
    pub(crate) absent: Vec<Vec<usize>>,
    /// How many values were missing so far, in each column.
    pub(crate) missing: Vec<u64>,
    /// Whether no piece comes after it.
    pub(crate) last: bool,
}

/// All pieces, in order.
pub(crate) struct Pieces<V> {
    receiver: Receiver<Result<Piece<V>>>,
    /// The places of the piece that came last whose value is missing and was skipped: in each
    /// column, from 0. They are counted as if there were one.
    pub(crate) absent: Vec<Vec<usize>>,
    /// How many values were missing so far, in each column.
    pub(crate) missing: Vec<u64>,
    ended: bool,
}

/// Reads all pieces of a source.
pub(crate) fn read_ahead<S, V>(
    mut source: S,
    read: impl Fn(&mut S) -> Result<Piece<V>> + Send + 'static,
) -> Pieces<V>
where
    S: Send + 'static,
    V: Send + 'static,
{
    let (sender, receiver) = sync_channel(AHEAD);
    thread::spawn(move || {
        loop {
            let piece = read(&mut source);
            if piece.as_ref().map_or(true, |piece| piece.last) {
                // The bar goes before a result is shown.
                drop(source);
                let _ = sender.send(piece);
                break;
            }
            // Nobody waits any more if the work has failed.
            if sender.send(piece).is_err() {
                break;
            }
        }
    });
    Pieces {
        receiver,
        absent: Vec::new(),
        missing: Vec::new(),
        ended: false,
    }
}

impl<V> Iterator for Pieces<V> {
    type Item = Result<V>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let piece = self
            .receiver
            .recv()
            .expect("the reader ends with a last piece or a failure");
        Some(match piece {
            Ok(piece) => {
                self.ended = piece.last;
                self.absent = piece.absent;
                self.missing = piece.missing;
                Ok(piece.values)
            }
            Err(failure) => {
                self.ended = true;
                Err(failure)
            }
        })
    }
}

/// The place of a number in its piece: that among the numbers, and the places before it that are
/// absent. To be asked for in rising order.
pub(crate) struct Places<'a> {
    absent: &'a [usize],
    passed: usize,
}

impl<'a> Places<'a> {
    pub(crate) fn of(absent: &'a [usize]) -> Self {
        Places { absent, passed: 0 }
    }

    pub(crate) fn place(&mut self, number: usize) -> usize {
        while self
            .absent
            .get(self.passed)
            .is_some_and(|&place| place <= number + self.passed)
        {
            self.passed += 1;
        }
        number + self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_places_are_counted() {
        let places = |absent: &[usize], count: usize| -> Vec<usize> {
            let mut places = Places::of(absent);
            (0..count).map(|number| places.place(number)).collect()
        };
        assert_eq!(places(&[], 3), [0, 1, 2]);
        assert_eq!(places(&[0, 1, 3], 3), [2, 4, 5]);
        assert_eq!(places(&[2], 4), [0, 1, 3, 4]);
    }
}
