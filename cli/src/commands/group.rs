//! `warpfold group`: statistics of the rows of each key.

use super::fold::Start;
use super::lanes::Lanes;
use super::rows::{append, check_by, count, order_of, place_of, ranked};
use super::{Job, Results};
use crate::accumulate::Accumulation;
use crate::args::GroupArguments;
use crate::columns::Column;
use crate::exact;
use crate::failure::Result;
use crate::number::{DType, Operator};
use crate::text::{Gaps, Values};
use warpfold::{Device, Order};

/// Writes a row for each key: the key, how many rows there are, and of each other column the sum,
/// the mean, the least and the greatest number. Keys that are not sorted come out ascending.
pub(super) fn run(arguments: &GroupArguments) -> Result<()> {
    let by = std::slice::from_ref(&arguments.by);
    let job = Job::open(&arguments.files, None, Some(Gaps::Together), by, Ok)?;
    let columns = job.columns.columns.clone();
    check_by(&arguments.by, &arguments.files.input, &job.columns)?;
    let key = place_of(&arguments.by, &columns)?;
    let (name, delimiter) = (job.columns.name.clone(), job.columns.delimiter);
    let types = job.columns.dtypes();
    let mut rows: Vec<Values> = types.iter().map(|&dtype| Values::of(dtype)).collect();
    for piece in job.columns.pieces(types) {
        append(&mut rows, piece?);
    }
    let mut keys = ranked(rows[key].clone(), columns[key].words.as_ref());
    if !arguments.runs && !is_sorted(&keys) {
        let places = order_of(&job.device, keys.clone(), Order::ascending())?;
        keys = keys.gather(&places);
        rows = rows.iter().map(|values| values.gather(&places)).collect();
    }
    let starts = starts(&keys);
    let mut offsets: Vec<u64> = starts.iter().map(|&start| start as u64).collect();
    offsets.push(count(&rows) as u64);
    let counts: Vec<u64> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let named = |name: String, dtype| Column {
        name: Some(name),
        number: 0,
        dtype,
        words: None,
        is_made: true,
    };
    let mut written = vec![
        Column {
            words: columns[key].words.clone(),
            ..named(columns[key].title(), columns[key].dtype)
        },
        named("count".into(), DType::U64),
    ];
    let mut results = vec![rows[key].gather(&starts), Values::from(counts.clone())];
    let groups = Lanes::Segments(offsets);
    let others = columns.iter().zip(rows).enumerate();
    for (_, (column, values)) in others.filter(|(place, _)| *place != key) {
        let name = format!("{name}, column {}", column.title());
        let [sum, mean, least, greatest] =
            statistics(&job.device, &name, &groups, &counts, values)?;
        for (statistic, values) in [
            ("sum", sum),
            ("mean", mean),
            ("min", least),
            ("max", greatest),
        ] {
            let title = format!("{}_{statistic}", column.title());
            written.push(named(title, values.dtype()));
            results.push(values);
        }
    }
    for (number, column) in written.iter_mut().enumerate() {
        column.number = number + 1;
    }
    let mut output = Results::new(job.output, job.output_format, &written, delimiter, None)?;
    output.write(results)?;
    output.finish()
}

/// Whether keys ascend or descend.
fn is_sorted(keys: &Values) -> bool {
    let ranks = keys.ranks(Order::ascending());
    let ways = ranks.windows(2).map(|pair| pair[0].cmp(&pair[1]));
    let mut ways = ways.filter(|way| way.is_ne());
    let first = ways.next();
    ways.all(|way| Some(way) == first)
}

/// Where runs of equal keys start.
fn starts(keys: &Values) -> Vec<usize> {
    let ranks = keys.ranks(Order::ascending());
    let first = Vec::from_iter((!ranks.is_empty()).then_some(0));
    let pairs = ranks.windows(2).enumerate();
    let others = pairs.filter(|(_, pair)| pair[0] != pair[1]);
    first
        .into_iter()
        .chain(others.map(|(row, _)| row + 1))
        .collect()
}

/// The sum, the mean, the least and the greatest number of each group.
fn statistics(
    device: &Device,
    name: &str,
    groups: &Lanes,
    counts: &[u64],
    values: Values,
) -> Result<[Values; 4]> {
    let elements = values.dtype();
    let fold = |op, wanted: Option<DType>| {
        let start = Start {
            device,
            op,
            init: None,
            accumulation: Accumulation {
                remedy: "give --dtype f64, which rounds",
                ..Accumulation::choose(op, elements, wanted, false)?
            },
            elements,
            name: name.to_owned(),
        };
        groups.fold(start, values.clone(), None)
    };
    let sums = fold(Operator::Add, None)?;
    let means: Vec<f64> = match elements.is_float() {
        false => {
            let counts = counts.iter().enumerate();
            counts
                .map(|(row, &count)| exact::mean(sums.integer(row), count))
                .collect()
        }
        true => {
            let precise = fold(Operator::Add, Some(DType::F64))?.into_vec::<f64>();
            let means = precise.into_iter().zip(counts);
            let means: Vec<f64> = means.map(|(sum, &count)| sum / count as f64).collect();
            // Where a sum is out of range, its mean is not.
            match elements == DType::F64 && !means.iter().all(|mean| mean.is_finite()) {
                true => groups.means(device, values.clone().into_vec())?,
                false => means,
            }
        }
    };
    let means = Values::from(means);
    let (least, greatest) = (fold(Operator::Min, None)?, fold(Operator::Max, None)?);
    Ok([sums, means, least, greatest])
}
