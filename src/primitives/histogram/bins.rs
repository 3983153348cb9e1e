//! What is counted where.

use super::even::{Even, fault};
use super::guess::{FixedGuess, Guess};
use super::index::Index;
use super::lookup::Lookup;
use super::number::{Binned, Integer, first_number, first_of_equal};
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::cpu::mode::in_rust_mode;
use std::sync::Arc;

/// The most bins of a histogram, over all channels.
pub(crate) const MOST_BINS: usize = 1 << 24;

/// Bins are guessed if less than so much of each is uncertain. Otherwise they are searched.
const MOST_UNCERTAIN: f64 = 0.75;

/// They are guessed in the type of their edges if less than this is: few groups of items that are
/// placed together then have to be compared.
const FEW_UNCERTAIN: f64 = 1.0 / 512.0;

/// What is counted where: the bins of a [`histogram`](crate::histogram()) of numbers of type `T`.
///
/// | made by | bin `k` has | as NumPy's |
/// |---|---|---|
/// | [`even`](Bins::even) | the `k`th of equal parts of a range | `histogram(x, n, range=(lo, hi))` |
/// | [`of_range`](Bins::of_range) | the same, between two items | `histogram(x, n)` |
/// | [`with_edges`](Bins::with_edges) | what lies between two edges | `histogram(x, edges)` |
/// | [`values`](Bins::values) | the value `k` | `bincount(x)[:n]` |
///
/// For bins by a rule of your own, [`map`](crate::map()) the items to `u32`s, and count these in
/// `Bins::values`.
///
/// A bin has its lower edge, and not its upper one; the last bin has both. What lies in no bin is
/// not counted, as are NaNs.
///
/// Making bins takes O(n) time and memory for `n` of them: for each, the first number of the type
/// that it has is computed, by NumPy's rule. Then an item is compared with these alone. So every
/// device gives NumPy's counts, whatever NumPy's floats round to.
///
/// ```
/// use warpfold::{Bins, histogram};
///
/// let x = [0.0_f32, 0.1, 0.25, 0.5, 0.99, 1.0, 7.0, f32::NAN];
/// assert_eq!(histogram::<u64, _>(&x, &Bins::even(0.0, 1.0, 4)?)?, [2, 1, 1, 2]);
/// assert_eq!(histogram::<u64, _>(&x, &Bins::with_edges(&[0.0, 0.5, 10.0])?)?, [3, 4]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Bins<T: Binned> {
    count: usize,
    channels: Option<usize>,
    rule: Rule<T>,
    edges: Arc<[f64]>,
}

/// How an item gets its bin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rule<T: Binned> {
    /// It is the number of its bin.
    Values,
    /// It lies in the last bin whose first number is not above it. On the CPU an index tells about
    /// where that is, and on GPUs a [`Lookup`].
    Search(Arc<Table<T>>, Arc<Index<T>>),
    /// It lies in that bin, too, which a guess finds: in `f64`, and on the CPU in the type of
    /// NumPy's edges, if that is exact enough.
    Guess(Arc<Table<T>>, Guess, Option<Guess<T::Edge>>),
    /// It lies in that bin, too, which a guess in fixed point finds.
    Fixed(Arc<Table<T>>, FixedGuess),
}

impl<T: Binned> Rule<T> {
    fn search(table: Table<T>) -> Rule<T> {
        let index = Index::new(&table);
        Rule::Search(Arc::new(table), Arc::new(index))
    }
}

/// The first number of each bin, in order, as far as the type has one; and the last of all. If
/// there are several bins with one first number, all but the last of these are empty.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table<T> {
    pub(crate) firsts: Vec<T>,
    pub(crate) last: T,
}

impl<T: Binned> Bins<T> {
    /// `count` bins of one width from `lo` to `hi`.
    ///
    /// The counts are those of `numpy.histogram(x, count, range=(lo, hi))`, for an array `x` of
    /// type `T` and Python floats `lo` and `hi`.
    ///
    /// # Errors
    ///
    /// [`Error::Bins`] if there are no bins or more than 2^24; if `lo` or `hi` is not finite, or
    /// `lo` is not below `hi`; if the range is wider than the greatest `f32` (for items of that
    /// type) or `f64`; or if there are so many bins that two edges are rounded to one number.
    pub fn even(lo: f64, hi: f64, count: usize) -> Result<Bins<T>> {
        check_count("count", count)?;
        in_rust_mode(|| Ok(Bins::of_even(Even::new(lo, hi, count)?, count)))
    }

    /// `count` bins of one width from the item `least` to the item `greatest`. If they are equal,
    /// the range goes from ½ below to ½ above.
    ///
    /// The counts are those of `numpy.histogram(x, count)`, which takes the least and the greatest
    /// item of `x`. (It computes with these numbers of type `T`, and with the numbers of a `range`
    /// as `f64`. So the bins of an item near an edge can differ from those of
    /// [`even`](Bins::even).)
    ///
    /// ```
    /// use warpfold::{Bins, histogram, ops::{Max, Min}, reduce};
    ///
    /// let x = [3_i32, 9, -2, 9, 4];
    /// let (least, greatest) = (reduce::<i32, Min>(&x)?, reduce::<i32, Max>(&x)?);
    /// let bins = Bins::of_range(least, greatest, 2)?;
    /// assert_eq!(histogram::<u64, _>(&x, &bins)?, [2, 3]);
    /// assert_eq!(bins.edges(), [-2.0, 3.5, 9.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`even`](Bins::even), but `least` may be equal to `greatest`.
    pub fn of_range(least: T, greatest: T, count: usize) -> Result<Bins<T>> {
        check_count("count", count)?;
        in_rust_mode(|| {
            Ok(Bins::of_even(
                Even::of_range(least, greatest, count)?,
                count,
            ))
        })
    }

    fn of_even(even: Even<T>, count: usize) -> Bins<T> {
        let (firsts, last) = even.numbers();
        let edges: Arc<[f64]> = even.edges.iter().map(|&edge| edge.into()).collect();
        let table = Table::new(firsts, last);
        let ends = (edges[0], edges[count]);
        let rule = if let Some(guess) = FixedGuess::new(&table, ends, count) {
            Rule::Fixed(Arc::new(table), guess)
        } else if let Some(guess) = Guess::new(&table, ends, count, MOST_UNCERTAIN) {
            let fast = Guess::new(&table, ends, count, FEW_UNCERTAIN);
            Rule::Guess(Arc::new(table), guess, fast)
        } else {
            Rule::search(table)
        };
        Bins {
            count,
            channels: None,
            rule,
            edges,
        }
    }

    /// The bins between neighbouring edges, one fewer than there are edges. The first and the last
    /// edge may be infinite.
    ///
    /// The counts are those of `numpy.histogram(x, edges)` for `f64` edges: items are compared with
    /// them as `f64`s.
    ///
    /// # Errors
    ///
    /// [`Error::Bins`] if there are fewer than two edges, or more than 2^24 bins; if an edge is
    /// NaN, or is not above the one before it.
    pub fn with_edges(edges: &[f64]) -> Result<Bins<T>> {
        check_edges(edges)?;
        let last = edges.len() - 1;
        Ok(in_rust_mode(|| {
            let above = first_number(T::near(edges[last]), |x: T| x.to_f64() > edges[last]);
            let from = |&edge: &f64| first_number(T::near(edge), |x: T| x.to_f64() >= edge);
            let is_above = |x: T| x.to_f64() > edges[last];
            let firsts = edges[..last].iter().map(from);
            let firsts = firsts.map_while(|first| first.filter(|&x| !is_above(x)));
            let firsts: Vec<_> = firsts.collect();
            let last = above.map_or(T::ENDS.1, |above| {
                T::of_rank(above.rank().saturating_sub(1))
            });
            let last = (!firsts.is_empty()).then_some(last);
            Bins::of_edges(Table::new(firsts, last), edges.into())
        }))
    }

    /// Bins between edges of the items' own type. They are exact: an integer of 64 bits is not
    /// rounded to the nearest `f64`, as in `with_edges`. ([`edges`](Bins::edges) does round it.)
    ///
    /// ```
    /// use warpfold::{Bins, histogram};
    ///
    /// let odd = 9_007_199_254_740_993_i64; // 2^53 + 1, which no f64 is equal to
    /// let bins = Bins::with_edges_of(&[odd, odd + 2])?;
    /// assert_eq!(histogram::<u64, _>(&[odd - 1, odd, odd + 2, odd + 3], &bins)?, [2]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`with_edges`](Bins::with_edges).
    pub fn with_edges_of(edges: &[T]) -> Result<Bins<T>> {
        check_edges(edges)?;
        let (last, firsts) = edges.split_last().expect("there are two");
        let firsts = firsts.iter().map(|&edge| first_of_equal(edge));
        let table = Table::new(firsts.collect(), Some(*last));
        let edges = edges.iter().map(|edge| edge.to_f64());
        Ok(Bins::of_edges(table, edges.collect()))
    }

    fn of_edges(table: Table<T>, edges: Arc<[f64]>) -> Bins<T> {
        Bins {
            count: edges.len() - 1,
            channels: None,
            rule: Rule::search(table),
            edges,
        }
    }

    /// Of items with several parts, counts the first `channels` parts alone: of RGBA pixels the
    /// colours, without the alpha.
    ///
    /// ```
    /// use warpfold::{Bins, histogram};
    ///
    /// let pixels = [[1_u8, 0, 2, 255], [1, 1, 2, 255], [2, 0, 0, 255]];
    /// let counts = histogram::<u32, _>(&pixels, &Bins::values(3)?.channels(3))?;
    /// assert_eq!(counts, [0, 2, 1,  2, 1, 0,  1, 0, 2]); // of red, green and blue
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    pub fn channels(self, channels: usize) -> Bins<T> {
        Bins {
            channels: Some(channels),
            ..self
        }
    }

    /// The number of bins, in each channel.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The edges of the bins, one more than there are bins. Those of [`values`](Bins::values) are
    /// 0, 1, 2, …
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    pub(crate) fn rule(&self) -> &Rule<T> {
        &self.rule
    }

    fn table(&self) -> Option<&Table<T>> {
        match &self.rule {
            Rule::Values => None,
            Rule::Search(table, _) | Rule::Guess(table, ..) | Rule::Fixed(table, _) => Some(table),
        }
    }

    /// The first number of each bin, as far as there is one. Values need none.
    #[doc(hidden)]
    pub fn firsts(&self) -> &[T] {
        self.table().map_or(&[], |table| &table.firsts)
    }

    /// The first number that has a bin, and the last.
    pub(crate) fn ends(&self) -> (T, T) {
        self.table().map_or(T::ENDS, Table::ends)
    }

    /// What a GPU looks bins up in, with one of so many bytes, if it does; see [`Lookup::new`].
    #[doc(hidden)]
    pub fn lookup(&self, rooms: &[usize]) -> Option<Lookup> {
        match &self.rule {
            Rule::Search(table, _) => Some(in_rust_mode(|| Lookup::new(table, rooms))),
            Rule::Values | Rule::Guess(..) | Rule::Fixed(..) => None,
        }
    }

    /// Whether all numbers have a bin, which is that of their value.
    pub(crate) fn have_all(&self) -> bool {
        let has = |x: T| x.to_bin() < self.count as u64;
        matches!(self.rule, Rule::Values) && has(T::ENDS.0) && has(T::ENDS.1)
    }

    /// How many parts are counted of items that have so many.
    pub(crate) fn channels_of(&self, parts: usize) -> Result<usize> {
        let channels = self.channels.unwrap_or(parts);
        if channels == 0 || channels > parts {
            return fault(
                "channels",
                format!("are {channels} of items with {parts} parts"),
            );
        }
        if self.count * channels > MOST_BINS {
            let count = self.count;
            return fault(
                "count",
                format!(
                    "is {count} in each of {channels} channels; at most {MOST_BINS} are possible in all"
                ),
            );
        }
        Ok(channels)
    }
}

impl<T: Integer> Bins<T> {
    /// A bin from each number up to the one before the next, the last up to `last`. Where
    /// neighbours are equal, the first of them has an empty bin. This takes edges that lie between
    /// integers: give the first integer from each on, and for `last` the last one up to the last
    /// edge.
    ///
    /// ```
    /// use warpfold::{Bins, histogram};
    ///
    /// // Between 0.5, 1.2, 1.7 and 3.
    /// let bins = Bins::with_firsts(&[1, 2, 2], 3)?;
    /// assert_eq!(histogram::<u64, _>(&[0, 1, 2, 3, 4], &bins)?, [1, 0, 2]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Bins`] if there are no numbers or more than 2^24, if one is below the one before
    /// it, or if `last` is below them.
    pub fn with_firsts(firsts: &[T], last: T) -> Result<Bins<T>> {
        check_count("firsts", firsts.len())?;
        let ends = firsts.iter().copied().chain([last]);
        let ends: Vec<T> = ends.collect();
        if let Some(place) = ends.windows(2).position(|pair| pair[0] > pair[1]) {
            let [a, b] = [ends[place], ends[place + 1]];
            let next = place + 1;
            return fault(
                "firsts",
                format!("must not fall: the one at index {next}, {b}, is below {a} before it"),
            );
        }
        let edges = ends.iter().map(|end| end.to_f64()).collect();
        Ok(Bins::of_edges(
            Table::new(firsts.to_vec(), Some(last)),
            edges,
        ))
    }

    /// A bin for each value from 0 to `count - 1`. Other values are not counted.
    ///
    /// With [`map`](crate::map()), that counts in bins by any rule:
    ///
    /// ```
    /// use warpfold::{Bins, function, histogram, map};
    ///
    /// /// By decades; what is not positive has no bin.
    /// #[function]
    /// fn decade(x: f64) -> u32 {
    ///     if x < 1.0 {
    ///         u32::MAX
    ///     } else if x < 10.0 {
    ///         0
    ///     } else if x < 100.0 {
    ///         1
    ///     } else {
    ///         2
    ///     }
    /// }
    ///
    /// let x = [3.0, 250.0, -1.0, 7.0, 12.0];
    /// assert_eq!(histogram::<u64, _>(map::<decade, _>(&x), &Bins::values(3)?)?, [2, 1, 1]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Bins`] if `count` is 0, or more than 2^24.
    pub fn values(count: usize) -> Result<Bins<T>> {
        check_count("count", count)?;
        Ok(Bins {
            count,
            channels: None,
            rule: Rule::Values,
            edges: (0..=count).map(|edge| edge as f64).collect(),
        })
    }
}

fn check_count(argument: &'static str, count: usize) -> Result<()> {
    match count {
        0 => fault(argument, "is 0; there must be a bin".into()),
        1..=MOST_BINS => Ok(()),
        count => fault(
            argument,
            format!("is {count}; at most {MOST_BINS} bins are possible"),
        ),
    }
}

fn check_edges<E: Binned>(edges: &[E]) -> Result<()> {
    if edges.len() < 2 {
        return fault(
            "edges",
            format!("are {}; a bin lies between two", edges.len()),
        );
    }
    check_count("edges", edges.len() - 1)?;
    if let Some(place) = edges.iter().position(|edge| edge.to_f64().is_nan()) {
        return fault("edges", format!("have a NaN at index {place}"));
    }
    match edges.windows(2).position(|pair| pair[0] >= pair[1]) {
        None => Ok(()),
        Some(place) => {
            let [a, b] = [edges[place], edges[place + 1]];
            let how = if a == b { "equal to" } else { "below" };
            let next = place + 1;
            fault(
                "edges",
                format!("must rise: the one at index {next}, {b}, is {how} the one before it, {a}"),
            )
        }
    }
}

impl<T: Binned> Table<T> {
    fn new(firsts: Vec<T>, last: Option<T>) -> Table<T> {
        Table {
            firsts,
            // If no number has a bin, there is no first to compare with.
            last: last.unwrap_or(T::ENDS.0),
        }
    }

    /// The first number that has a bin, and the last. If there is none, the first is above the
    /// last.
    pub(crate) fn ends(&self) -> (T, T) {
        (self.firsts.first().copied().unwrap_or(T::ENDS.1), self.last)
    }
}
