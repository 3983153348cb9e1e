//! `warpfold top`.

use super::rows::{Keys, append, check_by, count};
use super::stats::with_counted;
use super::{Job, Results};
use crate::args::{Format, TopArguments};
use crate::columns::Column;
use crate::failure::Result;
use crate::number::{DType, Number};
use crate::pieces::{PIECE, Pieces, Places};
use crate::text::{Gaps, Values};
use warpfold::{Candidate, Device, Order, Sortable};

/// Keeps the greatest or the least rows, sorted, in memory for them alone.
pub(super) fn run(arguments: &TopArguments) -> Result<()> {
    let written = |dtype| {
        if arguments.positions {
            DType::U64
        } else {
            dtype
        }
    };
    let by = &arguments.by;
    let job = Job::open(
        &arguments.files,
        None,
        Some(Gaps::Together),
        &by.by,
        |dtype| Ok(written(dtype)),
    )?;
    let mut columns = job.columns.columns.clone();
    if let Some(first) = by.by.first() {
        check_by(first, &arguments.files.input, &job.columns)?;
    }
    let keys = Keys::new(&by.by, &columns, !arguments.bottom, by.order)?;
    let types = job.columns.dtypes();
    let (device, delimiter) = (&job.device, job.columns.delimiter);
    // The last column says where a row stands.
    let places = Column {
        name: Some("position".into()),
        number: columns.len() + 1,
        dtype: DType::U64,
        words: None,
        is_made: true,
    };
    // Nothing is skipped there, so positions need no care.
    let is_array = job.columns.format != Format::Text;
    let times = job.columns.times.clone().filter(|_| !arguments.positions);
    let pieces = job.columns.pieces(types.clone());
    let mut held = match (&types[..], keys.order_of_one()) {
        // A half that is NaN has bits that no wider type keeps.
        (&[dtype], Some(order)) if is_array && (!dtype.is_float() || dtype.size() > 2) => {
            let mut held = with_counted!(dtype, C => {
                numbers::<C>(device, pieces, arguments.k, order)?
            });
            let values = std::mem::replace(&mut held[0], Values::of(dtype));
            held[0] = values.cast(dtype);
            held
        }
        _ => rows(device, pieces, &types, arguments.k, &keys)?,
    };
    if arguments.positions {
        held.drain(..held.len() - 1);
        columns = vec![Column {
            name: None,
            ..places
        }];
    } else if arguments.with_positions {
        columns.push(places);
    } else {
        held.pop();
    }
    let results = Results::new(job.output, job.output_format, &columns, delimiter, None)?;
    let mut results = results.times(times);
    results.write(held)?;
    results.finish()
}

/// The first numbers of one column in an order, and where they stand.
fn numbers<T: Number + Sortable + Candidate<Key = T>>(
    device: &Device,
    pieces: Pieces<Vec<Values>>,
    k: usize,
    (order, descending): (Order, bool),
) -> Result<Vec<Values>>
where
    Values: From<Vec<T>>,
{
    let mut top = match descending {
        true => device.top_k_stream::<T>(k, order),
        false => device.bottom_k_stream::<T>(k, order),
    };
    for piece in pieces {
        let piece = piece?.pop().map_or_else(Vec::new, Values::into_vec::<T>);
        top.push(&device.upload_vec(piece)?)?;
    }
    Ok(vec![
        top.values().to_vec().into(),
        top.places().to_vec().into(),
    ])
}

/// The first rows in the order of the keys, with a column that says where they stand.
fn rows(
    device: &Device,
    mut pieces: Pieces<Vec<Values>>,
    types: &[DType],
    k: usize,
    keys: &Keys,
) -> Result<Vec<Values>> {
    let with_places = types.iter().copied().chain([DType::U64]);
    let mut held: Vec<Values> = with_places.map(Values::of).collect();
    let mut seen = 0;
    // Sorting as many as stay costs no more than reading them.
    let most = PIECE.max(k).saturating_add(k);
    while let Some(piece) = pieces.next() {
        let mut piece = piece?;
        let (rows, absent) = (count(&piece), &pieces.absent[0]);
        let mut places = Places::of(absent);
        let places = (0..rows).map(|row| seen + places.place(row) as u64);
        piece.push(places.collect::<Vec<u64>>().into());
        seen += (rows + absent.len()) as u64;
        append(&mut held, piece);
        if count(&held) >= most {
            held = first(keys, device, held, k)?;
        }
    }
    first(keys, device, held, k)
}

/// The first `k` rows in the order of the keys. Of equals those that stand first come first.
fn first(keys: &Keys, device: &Device, rows: Vec<Values>, k: usize) -> Result<Vec<Values>> {
    let mut places = keys.places(device, &rows)?;
    places.truncate(k);
    Ok(rows.iter().map(|values| values.gather(&places)).collect())
}
