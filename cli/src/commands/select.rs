//! `warpfold select`.

use super::{Job, Results};
use crate::args::{Condition, FileArguments};
use crate::columns::Column;
use crate::failure::Result;
use crate::number::{DType, Number, with_number};
use crate::output::Writer;
use crate::pieces::Places;
use crate::text::{Gaps, Values};
use warpfold::Device;

/// Keeps what satisfies a condition, or its positions. Of a table these are the rows all of whose
/// numbers do.
pub(super) fn run(files: &FileArguments, condition: &Condition, positions: bool) -> Result<()> {
    let written = |dtype| if positions { DType::U64 } else { dtype };
    let job = Job::open(files, None, Some(Gaps::Together), &[], |dtype| {
        Ok(written(dtype))
    })?;
    let types = job.columns.dtypes();
    let columns: Vec<Column> = job.columns.columns.clone();
    let mut filters = types
        .iter()
        .map(|dtype| filter(condition, *dtype))
        .collect::<Result<Vec<_>>>()?;
    let (output, format, device) = (job.output, job.output_format, &job.device);
    if positions {
        let mut writer = Writer::new(output, format, DType::U64, None);
        let mut start = 0;
        let mut pieces = job.columns.pieces(types);
        while let Some(piece) = pieces.next() {
            let piece = piece?;
            let count = piece[0].len() + pieces.absent[0].len();
            let rows = rows(device, &mut filters, piece)?;
            let mut places = Places::of(&pieces.absent[0]);
            let places = rows
                .iter()
                .map(|&row| start + places.place(row as usize) as u64);
            writer.write(places.collect::<Vec<u64>>())?;
            start += count as u64;
        }
        return writer.finish();
    }
    let delimiter = job.columns.delimiter;
    let results = Results::new(output, format, &columns, delimiter, None)?;
    let mut results = results.times(job.columns.times.clone());
    for piece in job.columns.pieces(types) {
        let kept = match <[Values; 1]>::try_from(piece?) {
            Ok([values]) => vec![filters[0](device, values, Wanted::Numbers)?],
            Err(piece) => {
                let places = rows(device, &mut filters, piece.clone())?;
                let places: Vec<usize> = places.iter().map(|&place| place as usize).collect();
                piece.iter().map(|values| values.gather(&places)).collect()
            }
        };
        results.write(kept)?;
    }
    results.finish()
}

/// What is wanted of the numbers that are kept.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Numbers,
    Positions,
}

type Filter = Box<dyn FnMut(&Device, Values, Wanted) -> Result<Values>>;

/// What keeps numbers of a type.
fn filter(condition: &Condition, dtype: DType) -> Result<Filter> {
    with_number!(dtype, T => {
        let kept = condition.parse::<T>()?.ranks();
        Ok(Box::new(move |device: &Device, values: Values, wanted: Wanted| {
            let bits = T::to_bits_of(values.into_vec::<T>());
            Ok(match wanted {
                Wanted::Numbers => T::of_bits(kept.select(device, bits)?).into(),
                Wanted::Positions => kept.positions(device, bits)?.into(),
            })
        }))
    })
}

/// The rows that are kept, counted from the first of a piece.
fn rows(device: &Device, filters: &mut [Filter], piece: Vec<Values>) -> Result<Vec<u64>> {
    let columns = filters.len();
    let mut satisfied: Vec<usize> = vec![0; piece[0].len()];
    let mut only = Vec::new();
    for (filter, values) in filters.iter_mut().zip(piece) {
        only = filter(device, values, Wanted::Positions)?.into_vec::<u64>();
        if columns == 1 {
            return Ok(only);
        }
        only.iter().for_each(|&row| satisfied[row as usize] += 1);
    }
    let all = |row: &u64| satisfied[*row as usize] == columns;
    Ok(only.into_iter().filter(all).collect())
}
