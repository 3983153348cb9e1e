//! Pieces of rows that are read in another order than they come: in memory up to a size, and in a
//! temporary file beyond.

use crate::failure::{Failure, Result};
use crate::number::DType;
use crate::text::Values;
use std::io::{self, Read, Seek, SeekFrom, Write};
use tempfile::SpooledTempFile;
use warpfold::bytemuck;

/// Pieces are kept in memory up to this size.
const KEPT_BYTES: usize = 64 << 20;

/// Pieces of some columns, and the places in them that are absent.
pub(super) struct Kept {
    types: Vec<DType>,
    file: SpooledTempFile,
    pieces: Vec<Piece>,
}

/// Where a piece lies, and how many numbers and absent places each column has.
struct Piece {
    start: u64,
    counts: Vec<[usize; 2]>,
}

impl Kept {
    pub(super) fn new(types: Vec<DType>) -> Kept {
        Kept {
            types,
            file: SpooledTempFile::new(KEPT_BYTES),
            pieces: Vec::new(),
        }
    }

    /// How many pieces there are.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Adds a piece behind the others. Nothing may have been read yet.
    pub(super) fn push(&mut self, columns: &[Values], absent: &[Vec<usize>]) -> Result<()> {
        let start = self.file.stream_position().map_err(failure)?;
        let mut counts = Vec::new();
        for (values, absent) in columns.iter().zip(absent) {
            self.file.write_all(values.bytes()).map_err(failure)?;
            let places: Vec<u64> = absent.iter().map(|&place| place as u64).collect();
            let places = bytemuck::cast_slice(&places);
            self.file.write_all(places).map_err(failure)?;
            counts.push([values.len(), absent.len()]);
        }
        self.pieces.push(Piece { start, counts });
        Ok(())
    }

    /// The piece of a number, from 0 on.
    pub(super) fn read(&mut self, number: usize) -> Result<(Vec<Values>, Vec<Vec<usize>>)> {
        let (file, piece) = (&mut self.file, &self.pieces[number]);
        file.seek(SeekFrom::Start(piece.start)).map_err(failure)?;
        let (mut columns, mut absent) = (Vec::new(), Vec::new());
        for (&dtype, &[numbers, places]) in self.types.iter().zip(&piece.counts) {
            columns.push(read_some(file, dtype, numbers)?);
            let places = read_some(file, DType::U64, places)?.into_vec::<u64>();
            absent.push(places.into_iter().map(|place| place as usize).collect());
        }
        Ok((columns, absent))
    }
}

fn read_some(file: &mut impl Read, dtype: DType, count: usize) -> Result<Values> {
    let mut values = Values::zeros(dtype, count);
    file.read_exact(values.bytes_mut()).map_err(failure)?;
    Ok(values)
}

fn failure(error: io::Error) -> Failure {
    let remedy = "free space there, or let TMPDIR name another folder";
    Failure::with_remedy("a temporary file", error, remedy)
}
