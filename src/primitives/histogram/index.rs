//! An index to a table of bins that guesses do not fit: it cuts a binary search short.
//!
//! It cuts the range of all bins into cells of one size: that many numbers of the type. So floats
//! have as many cells between 0.01 and 0.1 as between 10 and 100, and edges that grow by factors
//! are found as fast as those that grow by steps.

use super::bins::Table;
use super::number::Binned;

/// Where a search begins, and how far it goes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Index<T> {
    /// The first number that has a bin.
    first: T,
    /// A cell has 2^shift numbers.
    shift: u32,
    /// Where the search begins for the numbers of each cell: at their first bin, or before it.
    pub(crate) bins: Vec<u32>,
    /// How many bins a search goes through.
    pub(crate) most: u32,
}

/// The most cells. They stay in the caches near a core.
const MOST_CELLS: u32 = 1 << 14;

impl<T: Binned> Index<T> {
    /// An index that has the fewest cells with at most one edge within each, or `MOST_CELLS`.
    pub(crate) fn new(table: &Table<T>) -> Index<T> {
        let (first, last) = table.ends();
        let mut index = Index {
            first,
            shift: 0,
            bins: Vec::new(),
            most: 0,
        };
        if table.firsts.is_empty() {
            return index;
        }
        let bits = u64::BITS - (last.rank() - first.rank()).leading_zeros();
        let most_bits = bits
            .min(MOST_CELLS.ilog2())
            .min(table.firsts.len().ilog2() + 8);
        let mut cells = table.firsts.len().ilog2().max(1).min(most_bits);
        loop {
            index.shift = bits - cells;
            if cells == most_bits || index.most_edges(table) <= 1 {
                break;
            }
            cells += 1;
        }
        index.most = index.most_edges(table) + 1;
        let cells = index.cell(last) + 1;
        let last_begin = table.firsts.len() as u32 - index.most;
        let mut firsts = table.firsts.iter().peekable();
        let mut bin = 0;
        for cell in 0..cells {
            let start = first.rank() + (u64::from(cell) << index.shift);
            while firsts.next_if(|first| first.rank() <= start).is_some() {
                bin += 1;
            }
            index.bins.push((bin - 1).min(last_begin));
        }
        index
    }

    /// The cell of a number that is not below the first one of all.
    #[inline(always)]
    pub(crate) fn cell(&self, x: T) -> u32 {
        x.ranks_from(self.first, self.shift)
    }

    /// The most bins of a cell that do not have its first number.
    fn most_edges(&self, table: &Table<T>) -> u32 {
        let within = |x: &&T| (x.rank() - self.first.rank()).trailing_zeros() < self.shift;
        let cells = table.firsts.iter().filter(within).map(|&x| self.cell(x));
        let (mut most, mut edges, mut before) = (0, 0, None);
        for cell in cells {
            edges = if before == Some(cell) { edges + 1 } else { 1 };
            before = Some(cell);
            most = most.max(edges);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::super::bins::{Bins, Rule};
    use super::super::cpu::place;
    use super::super::number::Counted;
    use super::*;

    /// Compares what is found for numbers around all edges and all cells with a plain search. The
    /// result is the index.
    fn check<T: Counted<Value = T> + Binned>(edges: &[T]) -> Index<T> {
        let bins = Bins::<T>::with_edges_of(edges).unwrap();
        let Rule::Search(table, index) = bins.rule() else {
            panic!("{:?}", bins.rule());
        };
        let (least, greatest) = (T::ENDS.0.rank(), T::ENDS.1.rank());
        let starts = 0..index.bins.len() as u64;
        let starts = starts.map(|cell| table.firsts[0].rank() + (cell << index.shift));
        let ranks = edges.iter().map(|edge| edge.rank()).chain(starts);
        let near = ranks
            .flat_map(|rank| (0..5).map(move |step| rank.saturating_add(step).saturating_sub(2)));
        let items: Vec<T> = near
            .chain([least, greatest])
            .map(|rank| T::of_rank(rank.clamp(least, greatest)))
            .collect();
        let mut places = vec![0; items.len()];
        place(&items, &bins, bins.count(), &mut places);
        for (&x, place) in items.iter().zip(places) {
            let there = x >= table.firsts[0] && x <= table.last;
            let bin = edges[..bins.count()].partition_point(|&edge| edge <= x);
            let expected = if there { bin - 1 } else { bins.count() };
            assert_eq!(
                place as usize, expected,
                "{x:?} between {edges:?}: {index:?}"
            );
        }
        (**index).clone()
    }

    #[test]
    fn cells_lead_to_the_bins() {
        let squares: Vec<f32> = (0..=100).map(|i| (i * i) as f32 / 1e4).collect();
        assert_eq!(check(&squares).most, 2);
        let cubes: Vec<f64> = (-90..=110).map(|i| f64::from(i).powi(3) / 7.0).collect();
        check(&cubes);
        let decades: Vec<f64> = (-300..300).map(|i| 10_f64.powi(i)).collect();
        assert_eq!(check(&decades).most, 2);
        check(&[f32::NEG_INFINITY, -1.0, 0.0, 1.0, f32::INFINITY]);
        check(&[-0.0_f32, 1.0]);
        check(&[-1.0_f64, -0.0, 1.0]);
        check(&[0_u8, 1, 2, 3, 50, 255]);
        check(&[i8::MIN, -3, 7, i8::MAX]);
        check(&[i64::MIN, -1, 0, i64::MAX]);
        check(&[u64::MAX - 1, u64::MAX]);
        check(&[3_u16, 4]);
        let random = |i: u32| i.wrapping_mul(2_654_435_761) >> 3;
        let mut edges: Vec<u32> = (0..5000).map(random).collect();
        edges.sort_unstable();
        edges.dedup();
        check(&edges);
    }

    /// More edges than cells, in two places that are far apart.
    #[test]
    fn cells_with_many_edges_are_searched() {
        let near = (0..20_000).map(|i| 1.0 + f64::from(i) * f64::EPSILON);
        let edges: Vec<f64> = [-1e300].into_iter().chain(near).chain([1e300]).collect();
        assert_eq!(check(&edges).most, 20_001);
    }

    /// −0 is equal to the edge 0, and lies before it in the order of an index. Here 0 begins a cell,
    /// and −0 ends the one before.
    #[test]
    fn both_zeros_have_the_bin_of_an_edge_at_zero() {
        for zero in [0.0_f32, -0.0] {
            let bins = Bins::with_edges_of(&[-(2.0_f32.next_down()), zero, 1.0]).unwrap();
            let mut places = [9; 2];
            place(&[0.0, -0.0], &bins, 2, &mut places);
            assert_eq!(places, [1, 1]);
        }
    }
}
