//! First rows of numbers that may be names of columns: years, days, or what counts.

use super::Survey;
use crate::text::spelling::Kind;

/// What the rows below a first one of numbers are, compared with it.
#[derive(Debug, Default)]
pub(super) struct Below {
    /// The numbers of the first row; nothing if it has others, or rows have other fields.
    first: Option<Vec<f64>>,
    /// The least and the greatest number below each.
    ranges: Vec<(f64, f64)>,
    /// The numbers of the row so far.
    row: Vec<f64>,
    is_odd: bool,
    rows: usize,
    /// How many rows grow, and how many in steps of one width.
    growing: usize,
    even: usize,
}

impl Below {
    pub(super) fn of(first: Option<Vec<f64>>) -> Below {
        let fields = first.as_ref().map_or(0, Vec::len);
        Below {
            first,
            ranges: vec![(f64::INFINITY, f64::NEG_INFINITY); fields],
            ..Below::default()
        }
    }

    /// Whether anything is compared.
    #[inline]
    pub(super) fn is_compared(&self) -> bool {
        self.first.is_some()
    }

    /// Takes a field of a row.
    pub(super) fn take(&mut self, index: usize, value: Option<f64>) {
        match (self.ranges.get_mut(index), value) {
            (Some((least, most)), Some(value)) => {
                (*least, *most) = (least.min(value), most.max(value));
                self.row.push(value);
            }
            (Some(_), None) => self.is_odd = true,
            (None, _) => self.first = None,
        }
    }

    pub(super) fn end_row(&mut self) {
        if !self.is_compared() {
            return;
        }
        self.rows += 1;
        if !std::mem::take(&mut self.is_odd) {
            let row = self.row.iter().copied().enumerate().collect::<Vec<_>>();
            self.growing += usize::from(grow(&row));
            self.even += usize::from(count_evenly(&row));
        }
        self.row.clear();
    }

    /// Whether the first row counts, and others do not: each of its numbers lies beyond all those
    /// below it. Three numbers can grow by chance, and two are far from the others. Four that are
    /// no counts of things, since they have fractions or signs, need not lie beyond others.
    fn counts_alone(&self, numbers: &[(usize, f64)]) -> bool {
        let Some(first) = &self.first else {
            return false;
        };
        let are_apart = |factor: f64| {
            let columns = first.iter().zip(&self.ranges);
            columns.clone().all(|(number, (least, most))| {
                least <= most && (number < least || *number > most.max(factor * most))
            })
        };
        let is_seldom = |rows: usize| 2 * rows < self.rows;
        let is_even = count_evenly(numbers) && is_seldom(self.even);
        let is_scale = || numbers.iter().any(|(_, n)| *n < 0.0 || n.fract() != 0.0);
        let is_round = || are_neighbours_of_a_scale(first[0], first[1]) && self.rows > 1;
        // Wavelengths above what was measured there.
        let is_far = || count_evenly(numbers) && are_apart(10.0) && self.are_beyond();
        self.rows > 0
            && match first.len() {
                0 | 1 => false,
                2 => {
                    let counts = is_even || is_round();
                    counts && first[0] >= 1.0 && are_apart(10.0) && self.are_above()
                }
                3 => is_even && are_apart(1.0) || is_far(),
                _ => {
                    let is_telling = is_even || grow(numbers) && is_seldom(self.growing);
                    is_telling && are_apart(1.0) || is_even && is_scale() || is_far()
                }
            }
    }

    /// Whether the first row is above all others in each column, or goes from below 0 and all
    /// others to above them.
    fn are_beyond(&self) -> bool {
        let numbers = self.first.iter().flatten().zip(&self.ranges);
        let mut ends = numbers.clone().take(1).chain(numbers.last());
        let spans = ends
            .next()
            .is_some_and(|(number, (least, _))| *number < least.min(0.0))
            && ends.next().is_some_and(|(number, (_, most))| number > most);
        spans || self.are_above()
    }

    /// Whether the first row is above all others in each column.
    fn are_above(&self) -> bool {
        let mut columns = self.first.iter().flatten().zip(&self.ranges);
        columns.all(|(number, (_, most))| number > most)
    }
}

impl Survey {
    /// Whether the numbers of the first row can be names of columns: years above what are none, or
    /// numbers that count evenly.
    pub(super) fn has_numbers_as_names(&self) -> bool {
        let Some(numbers) = self.first_numbers() else {
            return false;
        };
        self.are_years(&numbers) || count_evenly(&numbers)
    }

    /// The numbers of the first row, with their index; nothing if one is a truth value or not
    /// finite.
    fn first_numbers(&self) -> Option<Vec<(usize, f64)>> {
        let kinds = self.kinds.iter().enumerate();
        let numbers = kinds.filter(|(_, kind)| kind.is_number());
        let number = |(index, _): (usize, &Kind)| self.values[index].map(|number| (index, number));
        numbers.map(number).collect()
    }

    /// The numbers of the first row, if it holds nothing else.
    pub(super) fn numbers_alone(&self) -> Option<Vec<f64>> {
        let numbers = self.first_numbers()?;
        let are_alone = numbers.len() == self.first.len();
        are_alone.then(|| numbers.into_iter().map(|(_, number)| number).collect())
    }

    /// Whether numbers are years, months or days, and most below them are none. A month or a day
    /// alone may be any number.
    fn are_years(&self, numbers: &[(usize, f64)]) -> bool {
        let below = |index: usize| {
            self.columns
                .get(index)
                .map_or((0, 0), |c| (c.numbers, c.years as usize))
        };
        let counts = numbers.iter().map(|&(index, _)| below(index));
        let (all, years) = counts.fold((0, 0), |sum, (all, years)| (sum.0 + all, sum.1 + years));
        let is_each = |&(index, number): &(usize, f64)| {
            let is_one = match numbers.len() {
                1 => is_year,
                _ => is_period,
            };
            // A year has no mark in it.
            let is_plain = self.first[index].parse::<f64>().is_ok();
            is_plain && number.fract() == 0.0 && is_one(number as i64)
        };
        !numbers.is_empty() && numbers.iter().all(is_each) && all > 0 && 2 * years < all
    }

    /// Whether the first row looks like names although it holds numbers alone: years above what
    /// are none, 0, 1, 2 as pandas counts columns, or what counts above fractions, or above rows
    /// that do not.
    pub(in crate::text) fn looks_counted(&self) -> bool {
        let Some(numbers) = self.first_numbers() else {
            return false;
        };
        if numbers.len() < self.first.len() || numbers.is_empty() || self.rows == 0 {
            return false;
        }
        let columns = self.columns.get(..numbers.len()).unwrap_or(&[]);
        let are_fractions = !columns.is_empty()
            && columns
                .iter()
                .all(|column| column.numbers > 0 && column.integers == 0);
        let mut places = numbers
            .iter()
            .map(|&(index, number)| number == index as f64);
        let are_integers = numbers.iter().all(|(_, number)| number.fract() == 0.0);
        self.are_years(&numbers)
            || places.all(|is_place| is_place) && (numbers.len() > 1 || are_fractions)
            || are_integers && are_fractions && count_evenly(&numbers)
            || self.below.counts_alone(&numbers)
    }

    /// Whether words between white space are counted columns. Their rows may be parts of one
    /// sequence.
    pub(in crate::text) fn looks_counted_in_words(&self) -> bool {
        let fields = self.first.len();
        let is_table = self.widths == Some((fields, fields));
        let Some(numbers) = self
            .first_numbers()
            .filter(|numbers| numbers.len() == fields)
        else {
            return false;
        };
        self.are_years(&numbers) || is_table && self.below.counts_alone(&numbers)
    }
}

/// Whether numbers grow.
fn grow(numbers: &[(usize, f64)]) -> bool {
    numbers.len() > 1 && numbers.windows(2).all(|pair| pair[0].1 < pair[1].1)
}

/// Whether numbers grow in steps of one width: integers, or three others. Two grow in one step
/// always, so they must be neighbours, or count from 0 in theirs.
fn count_evenly(numbers: &[(usize, f64)]) -> bool {
    let [(_, first), (_, second), ref others @ ..] = *numbers else {
        return false;
    };
    let step = second - first;
    let are_integers = numbers.iter().all(|(_, number)| number.fract() == 0.0);
    let is_telling = match others.is_empty() {
        true => are_integers && (step == 1.0 || first == 0.0 || first == step),
        false => true,
    };
    // Decimal fractions are rounded.
    let is_step = |pair: &[(usize, f64)]| (pair[1].1 - pair[0].1 - step).abs() <= 1e-6 * step;
    is_telling && step > 0.0 && numbers.windows(2).all(is_step)
}

/// Whether numbers grow by a step that scales have: 1, 2, 2.5 or 5, or one of these with zeros.
fn are_neighbours_of_a_scale(first: f64, second: f64) -> bool {
    let step = second - first;
    let digits = step / 10_f64.powf(step.log10().floor());
    let is_near = |round: f64| (digits - round).abs() <= 1e-6 * round;
    step > 0.0 && [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().any(is_near)
}

fn is_year(number: i64) -> bool {
    (1500..=2200).contains(&number)
}

/// Whether a number is a year, a month of one as `202001`, or a day as `20200131`.
pub(super) fn is_period(number: i64) -> bool {
    let is_month =
        |number: i64| (1900..=2100).contains(&(number / 100)) && (1..=12).contains(&(number % 100));
    is_year(number)
        || is_month(number)
        || is_month(number / 100) && (1..=31).contains(&(number % 100))
}

/// Whether a word is the number of a year.
pub(in crate::text) fn is_written_year(word: &str) -> bool {
    word.parse().is_ok_and(is_year)
}
