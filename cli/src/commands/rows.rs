//! Rows of numbers in memory, and the columns that they are sorted by.

use crate::args::{Format, InputArguments};
use crate::columns::{Column, Columns};
use crate::failure::{Failure, Result};
use crate::number::with_number;
use crate::text::{self, Values, Words};
use std::cmp::Ordering;
use warpfold::{Device, Order};

/// The columns that rows are sorted by, the first one first.
#[derive(Debug, Clone)]
pub(super) struct Keys(Vec<Key>);

/// A column that rows are sorted by.
#[derive(Debug, Clone)]
struct Key {
    column: usize,
    order: Order,
    /// Its words, if it holds words. They are in the order of their bytes.
    words: Option<Words>,
}

impl Keys {
    /// The columns that `--by` names, or else all of them. A name may end in `:asc` or `:desc`.
    pub(super) fn new(
        by: &[String],
        columns: &[Column],
        descending: bool,
        order: FloatOrder,
    ) -> Result<Keys> {
        let order = |descending| match (descending, order) {
            (false, FloatOrder::NanGreatest) => Order::ascending(),
            (true, FloatOrder::NanGreatest) => Order::descending(),
            (false, FloatOrder::NanLast) => Order::ascending().nan_last(),
            (true, FloatOrder::NanLast) => Order::descending().nan_last(),
            (false, FloatOrder::Total) => Order::ascending().total(),
            (true, FloatOrder::Total) => Order::descending().total(),
        };
        if by.is_empty() {
            return Ok(Keys(
                (0..columns.len())
                    .map(|column| Key {
                        column,
                        order: order(descending),
                        words: None,
                    })
                    .collect(),
            ));
        }
        let named = Named::of(columns);
        let keys = by.iter().map(|text| {
            let (column, ending) = named.key(text, &[":asc", ":desc"])?;
            Ok(Key {
                column,
                order: match ending {
                    "" => order(descending),
                    ending => order(ending == ":desc"),
                },
                words: columns[column].words.clone(),
            })
        });
        Ok(Keys(keys.collect::<Result<_>>()?))
    }

    /// The order of the only key, if there is one alone, and whether the greatest come first.
    pub(super) fn order_of_one(&self) -> Option<(Order, bool)> {
        match self.0[..] {
            [Key { order, .. }] => Some((order, order.compare(1, 0).is_lt())),
            _ => None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Where the rows stand in the order of the keys. Of equals the first come first.
    pub(super) fn places(&self, device: &Device, rows: &[Values]) -> Result<Vec<usize>> {
        let mut places: Option<Vec<usize>> = None;
        // From the last key to the first: each sort keeps the order of the one before.
        for Key {
            column,
            order,
            words,
        } in self.0.iter().rev()
        {
            let key = match &places {
                None => rows[*column].clone(),
                Some(places) => rows[*column].gather(places),
            };
            let key = ranked(key, words.as_ref());
            if let Some(words) = words {
                words.tell_of_order();
            }
            let found = order_of(device, key, *order)?;
            places = Some(match places {
                None => found,
                Some(places) => found.into_iter().map(|place| places[place]).collect(),
            });
        }
        Ok(places.unwrap_or_default())
    }

    /// The rows in the order of the keys.
    pub(super) fn sort(&self, device: &Device, rows: Vec<Values>) -> Result<Vec<Values>> {
        if let (
            [values],
            &[
                Key {
                    order, words: None, ..
                },
            ],
        ) = (&rows[..], &self.0[..])
        {
            return with_number!(values.dtype(), T => {
                let mut values = device.upload_vec(values.clone().into_vec::<T>())?;
                drop(rows);
                device.sort_in_place(&mut values, order)?;
                Ok(vec![values.into_vec()?.into()])
            });
        }
        let places = self.places(device, &rows)?;
        Ok(rows
            .into_iter()
            .map(|values| values.gather(&places))
            .collect())
    }

    /// Fails if a key holds words: what goes through a file is merged by numbers.
    pub(super) fn check_codes(&self) -> Result<()> {
        match self.0.iter().any(|key| key.words.is_some()) {
            false => Ok(()),
            true => Err(Failure::with_remedy(
                "--memory",
                "rows that are sorted by words do not fit it",
                "give more, such as --memory 16G; or --by a column of numbers",
            )),
        }
    }

    /// For each row the ranks of its keys: integers that grow as the order says.
    pub(super) fn ranks(&self, rows: &[Values]) -> Vec<Vec<u64>> {
        let ranks = self.0.iter().map(|key| rows[key.column].ranks(key.order));
        ranks.collect()
    }
}

/// Where numbers stand in their order.
pub(super) fn order_of(device: &Device, values: Values, order: Order) -> Result<Vec<usize>> {
    // Ranks are compiled for one type.
    let ranks = device.upload_vec(values.ranks(order))?;
    let places = device.argsort(&ranks, Order::ascending())?.into_vec()?;
    Ok(places.into_iter().map(|place| place as usize).collect())
}

/// The numbers that stand for the words of a column in their order, or else its own.
pub(super) fn ranked(values: Values, words: Option<&Words>) -> Values {
    match words {
        Some(words) => words.ranks(&values.into_vec::<u64>()).into(),
        None => values,
    }
}

/// Fails if all numbers are in one column where `--by` says that there are several: in a text where
/// nothing sets columns apart, and in an array of several axes.
pub(super) fn check_by(by: &str, input: &InputArguments, columns: &Columns) -> Result<()> {
    let is_sequence = columns.format == Format::Text
        && columns.delimiter.is_none()
        && columns.columns.len() == 1
        && columns.columns[0].name.is_none()
        && input.text.columns.is_empty()
        && !input.flatten;
    if columns.shape.as_ref().is_some_and(|shape| shape.len() > 1) && !input.flatten {
        return Err(Failure::with_remedy(
            format_args!("--by {by}"),
            format_args!(
                "{} is an array of several axes, all of it one column",
                columns.name
            ),
            "save it as a table: numpy.savetxt(FILE, x, delimiter=','); or give --flatten",
        ));
    }
    match is_sequence {
        false => Ok(()),
        true => Err(Failure::with_remedy(
            format_args!("--by {by}"),
            format_args!(
                "{} has numbers between white space and no names, so all are one column",
                columns.name
            ),
            "name the columns, such as --column 1 or --column 1-2, or give --delimiter",
        )),
    }
}

/// How `--order` orders floats that `<` does not order.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum FloatOrder {
    /// NaN is the greatest, as in NumPy; -0 equals 0
    #[default]
    NanGreatest,
    /// NaN comes last in both directions, as in pandas; -0 equals 0
    NanLast,
    /// IEEE 754's total order: -0 before 0, and NaN by its sign and payload
    Total,
}

/// The place of the column that a number or a name means.
pub(super) fn place_of(text: &str, columns: &[Column]) -> Result<usize> {
    Ok(Named::of(columns).key(text, &[])?.0)
}

/// Columns as `--by` names them.
struct Named<'a> {
    columns: &'a [Column],
    /// By the number of the column, less 1. Those that are not read have no name.
    names: Vec<&'a str>,
}

impl<'a> Named<'a> {
    fn of(columns: &'a [Column]) -> Named<'a> {
        let most = columns.iter().map(|column| column.number).max();
        let mut names = vec![""; most.unwrap_or(0)];
        for column in columns {
            names[column.number - 1] = column.name.as_deref().unwrap_or("");
        }
        Named { columns, names }
    }

    /// All that a text can mean: the index of a column, and the ending that is none of its name.
    fn meanings(&self, text: &str, endings: &[&'static str]) -> Vec<(usize, &'static str)> {
        let whole = Some((text, ""));
        let ended = endings
            .iter()
            .map(|&end| Some((text.strip_suffix(end)?, end)));
        let mut meanings = Vec::new();
        for (text, end) in std::iter::once(whole).chain(ended).flatten() {
            let called = text::Column(text.into());
            let found = called.meanings(&self.names, self.names.len());
            let single = found.into_iter().filter(|range| range.len() == 1);
            meanings.extend(single.map(|range| (range.start, end)));
        }
        meanings
    }

    /// The place that a text means among the columns, and its ending. Fails if it can mean two.
    fn key(&self, text: &str, endings: &[&'static str]) -> Result<(usize, &'static str)> {
        let spelled = |(index, end): (usize, &str)| {
            let called = text::Column::of(index, &self.names, self.names.len()).0 + end;
            match self.meanings(&called, endings).len() {
                1 => called,
                _ => format!("number:{}{end}", index + 1),
            }
        };
        let meanings = self.meanings(text, endings);
        if meanings.len() > 1 {
            let each = meanings.iter().map(|&(index, end)| {
                let by = spelled((index, end));
                match self.names[index] {
                    "" => format!("--by {by} for column {}", index + 1),
                    name => format!("--by {by} for column {}, `{name}`", index + 1),
                }
            });
            return Err(Failure::with_remedy(
                format_args!("--by {text}"),
                format_args!("this can mean {} columns or orders", meanings.len()),
                format_args!("give {}", each.collect::<Vec<_>>().join(", or ")),
            ));
        }
        let found = meanings.first().and_then(|&(index, end)| {
            let number = index + 1;
            let place = self
                .columns
                .iter()
                .position(|column| column.number == number)?;
            Some((place, end))
        });
        found.ok_or_else(|| {
            let places = self.columns.iter().map(|column| column.number - 1);
            let each = places.map(|index| match self.names[index] {
                "" => (index + 1).to_string(),
                name if self.meanings(name, endings).len() == 1 => name.to_owned(),
                _ => spelled((index, "")),
            });
            let each: Vec<_> = each.collect();
            Failure::with_remedy(
                format_args!("--by {text}"),
                "there is no such column among those that are read",
                match self.names.iter().all(|name| name.is_empty()) {
                    true => format!(
                        "choose one of {}, or give --header if the first row names the columns",
                        each.join(", ")
                    ),
                    false => format!("choose one of {}", each.join(", ")),
                },
            )
        })
    }
}

/// Appends rows to others.
pub(super) fn append(rows: &mut [Values], others: Vec<Values>) {
    for (values, others) in rows.iter_mut().zip(others) {
        values.append(others);
    }
}

/// The number of rows.
pub(super) fn count(rows: &[Values]) -> usize {
    rows.first().map_or(0, Values::len)
}

/// Restores a heap whose top was replaced: of places, the one that comes first at the top.
pub(super) fn sift_down(heap: &mut [usize], compare: impl Fn(usize, usize) -> Ordering) {
    let mut at = 0;
    loop {
        let mut first = at;
        for child in [2 * at + 1, 2 * at + 2] {
            if child < heap.len() && compare(heap[child], heap[first]) == Ordering::Less {
                first = child;
            }
        }
        if first == at {
            return;
        }
        heap.swap(at, first);
        at = first;
    }
}
