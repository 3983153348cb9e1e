//! `warpfold sort`.

use super::rows::{Keys, append, check_by, count, sift_down};
use super::{Job, Results};
use crate::args::SortArguments;
use crate::failure::{Failure, Result};
use crate::number::DType;
use crate::pieces::PIECE;
use crate::text::{Gaps, Values};
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};

/// Sorts numbers, or the rows of a table by some columns. What does not fit the memory that the
/// user grants is sorted in runs, which a temporary file holds until they are merged.
pub(super) fn run(arguments: &SortArguments) -> Result<()> {
    let by = &arguments.by;
    let job = Job::open(&arguments.files, None, Some(Gaps::Together), &by.by, Ok)?;
    let columns = job.columns.columns.clone();
    if let Some(first) = by.by.first() {
        check_by(first, &arguments.files.input, &job.columns)?;
    }
    let keys = Keys::new(&by.by, &columns, arguments.descending, by.order)?;
    let types = job.columns.dtypes();
    let row_bytes: usize = types.iter().map(|dtype| dtype.size()).sum();
    // What is held grows by doubling; it is copied in its new order, which takes places, too.
    let most = (arguments.memory / (3 * row_bytes + 48)).max(2 * PIECE);
    let (device, delimiter) = (&job.device, job.columns.delimiter);
    let times = job.columns.times.clone();
    let mut held: Vec<Values> = types.iter().map(|&dtype| Values::of(dtype)).collect();
    let mut runs = Runs::new(&keys, &types);
    for piece in job.columns.pieces(types.clone()) {
        append(&mut held, piece?);
        if count(&held) >= most {
            keys.check_codes()?;
            let sorted = keys.sort(device, take(&mut held))?;
            runs.add(&sorted, &keys.ranks(&sorted))?;
        }
    }
    let rest = keys.sort(device, held)?;
    let results = Results::new(job.output, job.output_format, &columns, delimiter, None)?;
    let mut results = results.times(times);
    if runs.runs.is_empty() {
        results.write(rest)?;
    } else {
        runs.add(&rest, &keys.ranks(&rest))?;
        drop(rest);
        runs.merge(arguments.memory, |rows| results.write(rows))?;
    }
    results.finish()
}

fn take(held: &mut [Values]) -> Vec<Values> {
    let take = |values: &mut Values| std::mem::replace(values, Values::of(values.dtype()));
    held.iter_mut().map(take).collect()
}

/// Sorted runs of rows in a temporary file, which has no name: it goes with the program, however
/// that ends.
struct Runs {
    types: Vec<DType>,
    file: Option<BufWriter<File>>,
    runs: Vec<Run>,
    /// The bytes of the ranks of a row's keys, which stand before its numbers.
    key_bytes: usize,
    record_bytes: usize,
}

/// Where a run lies.
struct Run {
    start: u64,
    rows: u64,
}

fn failure(error: std::io::Error) -> Failure {
    let remedy = "free space there, let TMPDIR name another folder, or give more --memory";
    Failure::with_remedy("a temporary file", error, remedy)
}

impl Runs {
    fn new(keys: &Keys, types: &[DType]) -> Runs {
        let key_bytes = 8 * keys.len();
        Runs {
            types: types.to_vec(),
            file: None,
            runs: Vec::new(),
            key_bytes,
            record_bytes: key_bytes + types.iter().map(|dtype| dtype.size()).sum::<usize>(),
        }
    }

    /// Adds a run: sorted rows, and for each key the ranks of all rows.
    fn add(&mut self, rows: &[Values], ranks: &[Vec<u64>]) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(BufWriter::new(tempfile::tempfile().map_err(failure)?)),
        };
        let start = self
            .runs
            .last()
            .map_or(0, |run| run.start + run.rows * self.record_bytes as u64);
        let columns: Vec<(&[u8], usize)> = rows
            .iter()
            .map(|values| (values.bytes(), values.dtype().size()))
            .collect();
        for row in 0..count(rows) {
            for ranks in ranks {
                // From the highest byte on: bytes compare as numbers do.
                file.write_all(&ranks[row].to_be_bytes()).map_err(failure)?;
            }
            for (bytes, size) in &columns {
                file.write_all(&bytes[row * size..][..*size])
                    .map_err(failure)?;
            }
        }
        self.runs.push(Run {
            start,
            rows: count(rows) as u64,
        });
        Ok(())
    }

    /// Hands on all rows in order, some at once. Of equals those of earlier runs come first.
    fn merge(self, memory: usize, mut write: impl FnMut(Vec<Values>) -> Result<()>) -> Result<()> {
        let Some(file) = self.file else {
            return Ok(());
        };
        let mut file = file
            .into_inner()
            .map_err(|error| failure(error.into_error()))?;
        let block = (memory / 2 / self.runs.len() / self.record_bytes).clamp(64, PIECE);
        let mut cursors = Vec::new();
        for run in self.runs {
            let mut cursor = Cursor {
                run,
                block,
                record: self.record_bytes,
                bytes: Vec::new(),
                at: 0,
            };
            if cursor.fill(&mut file)? {
                cursors.push(cursor);
            }
        }
        let key_bytes = self.key_bytes;
        let compare = |cursors: &[Cursor], a: usize, b: usize| {
            let key = |cursor: usize| &cursors[cursor].row()[..key_bytes];
            key(a).cmp(key(b)).then(a.cmp(&b))
        };
        let mut heap: Vec<usize> = (0..cursors.len()).collect();
        heap.sort_by(|&a, &b| compare(&cursors, a, b));
        let mut rows: Vec<Vec<u8>> = self.types.iter().map(|_| Vec::new()).collect();
        while let Some(&first) = heap.first() {
            let mut numbers = &cursors[first].row()[key_bytes..];
            for (bytes, dtype) in rows.iter_mut().zip(&self.types) {
                let (number, others) = numbers.split_at(dtype.size());
                bytes.extend_from_slice(number);
                numbers = others;
            }
            if rows[0].len() >= PIECE * self.types[0].size() {
                write(values_of(&mut rows, &self.types))?;
            }
            if !cursors[first].advance(&mut file)? {
                heap.swap_remove(0);
            }
            sift_down(&mut heap, |a, b| compare(&cursors, a, b));
        }
        write(values_of(&mut rows, &self.types))
    }
}

/// The numbers of some bytes, column by column; these are empty then.
fn values_of(rows: &mut [Vec<u8>], types: &[DType]) -> Vec<Values> {
    let each = rows.iter_mut().zip(types);
    let values = each.map(|(bytes, dtype)| {
        let bytes = std::mem::take(bytes);
        let mut values = Values::zeros(*dtype, bytes.len() / dtype.size());
        values.bytes_mut().copy_from_slice(&bytes);
        values
    });
    values.collect()
}

/// A run that is read block by block.
struct Cursor {
    run: Run,
    /// The rows of a block, and the bytes of a row.
    block: usize,
    record: usize,
    bytes: Vec<u8>,
    at: usize,
}

impl Cursor {
    fn row(&self) -> &[u8] {
        &self.bytes[self.at..][..self.record]
    }

    /// Goes on to the next row, and says whether there is one.
    fn advance(&mut self, file: &mut File) -> Result<bool> {
        self.at += self.record;
        if self.at < self.bytes.len() {
            return Ok(true);
        }
        self.fill(file)
    }

    /// Reads the next block, and says whether there is one.
    fn fill(&mut self, file: &mut File) -> Result<bool> {
        let rows = self.run.rows.min(self.block as u64);
        self.at = 0;
        self.bytes.resize(rows as usize * self.record, 0);
        file.seek(SeekFrom::Start(self.run.start))
            .map_err(failure)?;
        file.read_exact(&mut self.bytes).map_err(failure)?;
        self.run.start += self.bytes.len() as u64;
        self.run.rows -= rows;
        Ok(rows > 0)
    }
}
