//! The bins to count in: those that the user names, or those over a range of numbers.

use crate::args::{InputArguments, TextArguments, number_of_items};
use crate::bound::{Bound, bad_bound, float_text};
use crate::failure::{Failure, Result};
use crate::npy::Times;
use crate::number::Number;
use crate::numbers::Numbers;
use crate::value::Value;
use std::path::Path;
use warpfold::Bins;

/// So many bins are possible.
const MOST_BINS: usize = 1 << 24;

/// A number of bins.
pub(super) fn read_count(given: &str) -> Result<usize> {
    match number_of_items(given) {
        Ok(count @ 1..=MOST_BINS) => Ok(count),
        _ => Err(Failure::with_remedy(
            "--bins",
            format_args!("{given} is no possible number of bins"),
            format_args!("give one from 1 to {MOST_BINS}"),
        )),
    }
}

/// The two ends of a range. They may have the marks of the text.
pub(super) fn read_range(given: &[String], marks: &TextArguments) -> Result<(Bound, Bound)> {
    let read = |text: &String| {
        let mut plain = Some(text.trim().to_owned());
        marks.take_marks(&mut plain)?;
        let plain = plain.as_deref().unwrap_or(text);
        let end = Bound::parse(plain).map_err(|_| bad_bound("--range", text))?;
        match end.float.is_finite() {
            true => Ok(end),
            false => Err(Failure::at("--range", format_args!("{text} is not finite"))),
        }
    };
    let (lo, hi) = (read(&given[0])?, read(&given[1])?);
    match lo.is_below(hi) {
        true => Ok((lo, hi)),
        false => Err(Failure::with_remedy(
            "--range",
            format_args!("{} is not above {}", hi.text(), lo.text()),
            "give the lower end first, and then one that is above it",
        )),
    }
}

/// The edges in a file, whose fractions are written as those of the data.
fn edges_of_file(path: &Path, decimal: Option<u8>) -> Result<(Vec<Bound>, Option<Times>)> {
    let mut options = InputArguments {
        flatten: true,
        ..InputArguments::default()
    };
    options.text.decimal = decimal;
    let numbers = Numbers::open(Some(path), &options)?;
    let times = numbers.times.clone();
    let is_float = numbers.dtype.is_float();
    let edges = numbers.list("edges", |piece, row| match is_float {
        true => Bound::from(piece.float(row)),
        false => Bound::from(piece.integer(row)),
    })?;
    Ok((edges, times))
}

/// What a comma in an edge means where one stands before fractions.
fn comma_in_edge(edge: &str) -> Failure {
    Failure::with_remedy(
        "--edges",
        format_args!("`{edge}` is no number with the comma of --decimal before its fraction"),
        "separate edges by semicolons, as in --edges '0;0,5;20'",
    )
}

/// A list of edges, or those in a file. With a comma before fractions, none separates edges.
pub(super) fn read_edges(given: &str, decimal: Option<u8>) -> Result<(Vec<Bound>, Option<Times>)> {
    let path = Path::new(given);
    let mut times = None;
    let has_commas = decimal == Some(b',');
    let edges: Vec<Bound> = if path.is_file() {
        let edges;
        (edges, times) =
            edges_of_file(path, decimal).map_err(|failure| failure.beside_data(&["--decimal"]))?;
        edges
    } else {
        let parse = |edge: &str| {
            let point = match has_commas {
                // A point may stand between thousands there.
                true if edge.contains('.') => return Err(comma_in_edge(edge)),
                true => edge.replace(',', "."),
                false => edge.into(),
            };
            Bound::parse(&point).map_err(|_| {
                let looks_like_path = !given.contains(',') || edge.contains(['/', '\\']);
                match looks_like_path && Path::new(edge).extension().is_some() {
                    true => Failure::with_remedy(
                        "--edges",
                        format_args!("there is no file `{edge}`"),
                        "give the name of a file, or a list of numbers such as 0,1,2.5",
                    ),
                    false if has_commas && edge.contains(',') => comma_in_edge(edge),
                    false => bad_bound("--edges", edge),
                }
            })
        };
        let separators: &[char] = match has_commas {
            true => &[';'],
            false => &[';', ','],
        };
        let edges: Vec<&str> = match separators.iter().find(|&&mark| given.contains(mark)) {
            Some(&mark) => given.split(mark).map(str::trim).collect(),
            None => given.split_whitespace().collect(),
        };
        if let ([edge], true) = (&edges[..], has_commas && given.contains(',')) {
            return Err(comma_in_edge(edge));
        }
        edges.into_iter().map(parse).collect::<Result<_>>()?
    };
    if edges.len() < 2 {
        return Err(Failure::with_remedy(
            "--edges",
            format_args!(
                "{} of them make no bin, which lies between two",
                edges.len()
            ),
            "give two edges or more",
        ));
    }
    if let Some(place) = edges.iter().position(|edge| edge.float.is_nan()) {
        return Err(Failure::at(
            "--edges",
            format_args!("edge {} is NaN", place + 1),
        ));
    }
    match edges.windows(2).position(|pair| !pair[0].is_below(pair[1])) {
        None => Ok((edges, times)),
        Some(place) => Err(Failure::with_remedy(
            "--edges",
            format_args!(
                "edge {}, {}, is not above the one before it, {}",
                place + 2,
                edges[place + 1].text(),
                edges[place].text()
            ),
            "give them in rising order, each once",
        )),
    }
}

/// The bins to count in, and their edges.
pub(super) struct Plan<B: warpfold::Binned> {
    /// As far as numbers of the type lie in them: those at the end may be missing.
    pub(super) bins: Option<Bins<B>>,
    pub(super) edges: Edges,
}

impl<B: Number<Bound = B> + warpfold::Binned> Plan<B> {
    fn of_bins(bins: Bins<B>) -> Self {
        Plan {
            edges: Edges::Floats(bins.edges().to_vec()),
            bins: Some(bins),
        }
    }

    /// Whether a bin for each of so many values from 0 on is one for every value of the type that
    /// is not negative.
    pub(super) fn holds_all(count: usize) -> bool {
        !B::DTYPE.is_float() && B::GREATEST.to_integer() < count as i128
    }

    /// A bin for each of so many values.
    pub(super) fn values(count: usize) -> Result<Self> {
        if count == 0 {
            let edges = Edges::Floats(vec![0.0]);
            return Ok(Plan { bins: None, edges });
        }
        if count > MOST_BINS {
            return Err(Failure::with_remedy(
                "--bincount",
                format_args!("a bin for each of {count} values; {MOST_BINS} are possible"),
                "give --bins N or --range LO HI in place of --bincount",
            ));
        }
        let bins = B::values(count).expect("the type was checked");
        Ok(Self::of_bins(bins?))
    }

    /// Bins between edges that rise. Integers are compared with them exactly.
    pub(super) fn with_edges(edges: Vec<Bound>) -> Result<Self> {
        if B::DTYPE.is_float() {
            let edges: Vec<_> = edges.iter().map(|edge| edge.float).collect();
            return Ok(Self::of_bins(Bins::with_edges(&edges)?));
        }
        let (least, greatest) = (B::LEAST.to_integer(), B::GREATEST.to_integer());
        let (top, froms) = edges.split_last().expect("there are two edges");
        let last = top.floor().min(greatest);
        let firsts = froms.iter().map(|edge| edge.ceil().max(least));
        let firsts: Vec<B> = firsts
            .take_while(|&first| first <= last)
            .map(B::from_integer)
            .collect();
        let bins = match firsts.is_empty() {
            true => None,
            false => B::firsts(&firsts, B::from_integer(last)).transpose()?,
        };
        Ok(Plan {
            bins,
            edges: Edges::Exact(edges),
        })
    }

    /// Bins of one width. Those of integers that no `f64` may tell apart are exact; others are
    /// NumPy's, to the last bit.
    pub(super) fn even(lo: Bound, hi: Bound, count: usize) -> Result<Self> {
        if B::DTYPE.is_float() || !(lo.is_large() || hi.is_large()) {
            return Ok(Self::of_bins(Bins::even(lo.float, hi.float, count)?));
        }
        match lo.doubled().zip(hi.doubled()) {
            Some((lo, hi)) => Self::exact(lo, hi, count),
            None => {
                let bins: Bins<f64> = Bins::even(lo.float, hi.float, count)?;
                Self::with_edges(bins.edges().iter().map(|&edge| edge.into()).collect())
            }
        }
    }

    /// Bins of one width over the range of the numbers, if there are any.
    pub(super) fn of_range(range: Option<(B, B)>, count: usize) -> Result<Self> {
        let Some((least, greatest)) = range else {
            return Ok(Self::of_bins(Bins::even(0.0, 1.0, count)?));
        };
        let ends = [least, greatest].map(Bound::of);
        for end in ends {
            if !end.float.is_finite() {
                return Err(Failure::with_remedy(
                    "the range of the numbers",
                    format_args!("one of them is {}", end.text()),
                    "give --range LO HI; what lies outside is not counted",
                ));
            }
        }
        let [lo, hi] = ends;
        match B::DTYPE.is_float() || !(lo.is_large() || hi.is_large()) {
            true => Ok(Self::of_bins(Bins::of_range(least, greatest, count)?)),
            false => {
                let (lo, hi) = (2 * least.to_integer(), 2 * greatest.to_integer());
                // As NumPy has it: half below and half above a single value.
                let half = i128::from(lo == hi);
                Self::exact(lo - half, hi + half, count)
            }
        }
    }

    /// Bins of one width between the halves of two integers.
    fn exact(lo: i128, hi: i128, count: usize) -> Result<Self> {
        // Says whether there can be so many.
        let _: Bins<f64> = Bins::even(0.0, 1.0, count)?;
        let parts = count as i128;
        let edge = |k: i128| Bound::ratio(lo * parts + k * (hi - lo), 2 * parts);
        Self::with_edges((0..=parts).map(edge).collect())
    }
}

/// The edges of bins, in rising order.
pub(super) enum Edges {
    Floats(Vec<f64>),
    /// Of integers.
    Exact(Vec<Bound>),
}

impl Edges {
    pub(super) fn len(&self) -> usize {
        match self {
            Edges::Floats(edges) => edges.len(),
            Edges::Exact(edges) => edges.len(),
        }
    }

    /// The nearest `f64`.
    pub(super) fn float(&self, place: usize) -> f64 {
        match self {
            Edges::Floats(edges) => edges[place],
            Edges::Exact(edges) => edges[place].float,
        }
    }

    pub(super) fn text(&self, place: usize) -> String {
        match self {
            Edges::Floats(edges) => float_text(edges[place]),
            Edges::Exact(edges) => edges[place].text(),
        }
    }

    /// A number of JSON. Edges of integers have all their digits: as `f64` they could fall
    /// together.
    pub(super) fn json(&self, place: usize) -> String {
        match self {
            Edges::Floats(edges) => {
                serde_json::to_string(&Value::Double(edges[place])).expect("numbers have a text")
            }
            Edges::Exact(edges) => edges[place].text(),
        }
    }

    pub(super) fn floats(&self) -> impl Iterator<Item = f64> {
        (0..self.len()).map(|place| self.float(place))
    }
}
