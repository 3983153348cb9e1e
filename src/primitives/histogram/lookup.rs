//! A lookup of bins for GPUs: it tells the bin of most items by two loads, without a search.
//!
//! The numbers from the first that has a bin to the last are cut into segments, and each segment
//! into cells. All segments have one size: that many numbers of the type, in a float at most those
//! of one exponent. The cells of a segment have one size, which is small enough for no more than
//! one edge within a cell, as far as there is room. So it does not matter whether edges grow by
//! steps or by factors, or lie close together in one place.
//!
//! A cell is a word. Its lower bits are the bin of its first number. Its upper bits say where in
//! the cell the next bin begins. Where several begin, a flag has the kernel search for the bin.
//!
//! Numbers are told apart by 32 bits of their offset from the first one. Numbers of 64 bits may
//! drop others. Those that are then equal to an edge are searched for, too.

use super::bins::Table;
use super::number::Binned;

/// What kernels are told of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct LookupShape {
    /// The rank that offsets count from: that of the first number of the first segment.
    pub origin: u64,
    /// How many lower bits of an offset are dropped.
    pub drop: u32,
    /// The offset of the last number that has a bin, less what is dropped.
    pub last: u32,
    /// A segment has 2^log_segment offsets.
    pub log_segment: u32,
    /// The number of segments.
    pub segments: u32,
    /// The number of cells of all segments.
    pub cells: u32,
    /// The lower bits of a cell: those of a bin, and the flag above them.
    pub log_bin: u32,
}

impl LookupShape {
    /// The words of segments: where the cells begin, and the logarithm of a cell's size. Both count
    /// so that the offset over that size can be added.
    fn segment_words(&self) -> usize {
        (2 * self.segments as usize).next_multiple_of(4)
    }

    /// The words of cells, one more than there are.
    fn cell_words(&self) -> usize {
        (self.cells as usize + 1).next_multiple_of(4)
    }

    fn words(&self) -> usize {
        self.segment_words() + self.cell_words()
    }
}

/// How many bytes a lookup has in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LookupBytes {
    /// Of segments.
    pub segments: usize,
    /// Of cells.
    pub cells: usize,
    /// Of the first numbers of bins, if items may be compared with them.
    pub firsts: usize,
}

impl LookupBytes {
    /// Those of one copy of segments and cells.
    pub fn least(&self) -> usize {
        self.segments + self.cells
    }
}

/// A lookup.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    pub(crate) shape: LookupShape,
    /// Segments, and cells.
    pub(crate) words: Vec<u32>,
    /// Whether kernels may compare items with the first numbers of bins.
    compares: bool,
    first_bytes: usize,
}

/// There is a lookup of any table that has so many bytes: three segments, and a cell for each.
pub(crate) const LEAST_ROOM: usize = 48;

/// There are about as many segments, or more where floats have more exponents.
const LOG_SEGMENTS: u32 = 8;

/// About the most cells for each edge of a segment, in sixteenths: the first of these for which
/// there is room. With the last one, each segment is a cell.
const DENSITIES: [u64; 9] = [128, 64, 32, 16, 8, 4, 2, 1, 0];

/// A segment, while its cells are chosen.
struct Segment {
    /// The first of its edges, and the one after the last.
    edges: [usize; 2],
    /// How many neighbours among them lie within one cell of 2^n offsets, but not within one of
    /// half the size: for each n.
    pairs: [u32; 33],
}

impl Segment {
    /// The logarithm of the number of cells: the fewest that tell the edges apart, if that is
    /// possible with so many.
    fn log_cells(&self, density: u64, log_segment: u32, most_log_cell: u32) -> u32 {
        let edges = (self.edges[1] - self.edges[0]) as u64;
        if edges == 0 {
            return 0;
        }
        let most = (edges * density).div_ceil(16).next_power_of_two();
        let most = most.ilog2().min(log_segment);
        let within = |log_cells: u32| -> u32 {
            let sizes = ..=(log_segment - log_cells) as usize;
            self.pairs[sizes].iter().sum()
        };
        // With fewer cells than the most, a few more edges may share one.
        let enough = within(most) + within(most) / 8;
        let least = log_segment.saturating_sub(most_log_cell).min(most);
        (least..most)
            .find(|&log_cells| within(log_cells) <= enough)
            .unwrap_or(most)
    }
}

impl Lookup {
    /// The lookup of a table. It has as many cells as tell all edges apart, or as is worth it, if
    /// one of `rooms` has the bytes for them. Otherwise it has as many as the last of `rooms`
    /// takes, which is at least `LEAST_ROOM`.
    pub(crate) fn new<T: Binned>(table: &Table<T>, rooms: &[usize]) -> Lookup {
        let last_room = rooms
            .last()
            .map_or(usize::MAX, |&room| room.max(LEAST_ROOM));
        for fewer in 0.. {
            let (mut shape, edges) = LookupShape::of(table, fewer);
            let segments = shape.segments_of(&edges);
            for (number, density) in DENSITIES.into_iter().enumerate() {
                let most_log_cell = u32::BITS - shape.log_bin;
                let log_cells = |segment: &Segment| {
                    segment.log_cells(density, shape.log_segment, most_log_cell)
                };
                let log_cells: Vec<u32> = segments.iter().map(log_cells).collect();
                shape.cells = log_cells.iter().map(|&log| 1 << log).sum();
                let bytes = 4 * shape.words();
                let fits = match number {
                    0 => rooms.iter().any(|&room| bytes <= room),
                    _ => bytes <= last_room,
                };
                if fits {
                    return Lookup::fill(table, shape, &edges, &segments, &log_cells);
                }
            }
        }
        unreachable!("the fewest segments fit")
    }

    fn fill<T: Binned>(
        table: &Table<T>,
        shape: LookupShape,
        edges: &[u64],
        segments: &[Segment],
        log_cells: &[u32],
    ) -> Lookup {
        let mut words = Vec::with_capacity(shape.words());
        let mut begin = 0_u32;
        for (number, &log) in (0_u32..).zip(log_cells) {
            words.extend([begin.wrapping_sub(number << log), shape.log_segment - log]);
            begin += 1 << log;
        }
        words.resize(shape.segment_words(), 0);
        let mut compares = shape.drop > 0;
        let places = 32 - shape.log_bin;
        let flag = 1 << (shape.log_bin - 1);
        for ((number, segment), &log) in (0_u64..).zip(segments).zip(log_cells) {
            let log_cell = shape.log_segment - log;
            let mut next = segment.edges[0];
            for cell in 0..1_u64 << log {
                let start = (number << shape.log_segment) + (cell << log_cell);
                while next < segment.edges[1] && edges[next] <= start << shape.drop {
                    next += 1;
                }
                let (first, end) = (next, start + (1 << log_cell));
                while next < segment.edges[1] && edges[next] >> shape.drop < end {
                    next += 1;
                }
                let bin = first as u32;
                let within = next - first;
                // No offset is above this one.
                let mut place = (1_u32 << places) - 1;
                let mut several = 0;
                if within == 1 && log_cell <= places {
                    let at = edges[first] >> shape.drop;
                    // An offset that is equal to a round edge has the next bin.
                    place &= (at - u64::from(at << shape.drop == edges[first])) as u32;
                } else if within > 0 {
                    several = flag;
                    compares = true;
                }
                words.push(place << shape.log_bin | several | bin);
            }
        }
        // Behind the last cell the last bin begins.
        words.push(edges.len() as u32);
        words.resize(shape.words(), 0);
        Lookup {
            shape,
            words,
            compares,
            first_bytes: size_of_val(&table.firsts[..]),
        }
    }

    /// Segments and cells, which the lookup does not keep.
    #[doc(hidden)]
    pub fn take_words(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.words)
    }

    /// What it takes in shared memory.
    pub fn bytes(&self) -> LookupBytes {
        LookupBytes {
            segments: 4 * self.shape.segment_words(),
            cells: 4 * self.shape.cell_words(),
            firsts: if self.compares { self.first_bytes } else { 0 },
        }
    }
}

impl LookupShape {
    /// The shape for a table, but for its cells, and the offsets of all edges between bins. There
    /// are 2^fewer times fewer segments than there could be.
    fn of<T: Binned>(table: &Table<T>, fewer: u32) -> (LookupShape, Vec<u64>) {
        let (first, last) = match table.firsts.first() {
            Some(first) => (first.rank(), table.last.rank()),
            None => (0, 0),
        };
        let bits = u64::BITS - (last - first).leading_zeros();
        // Segments begin at round numbers, and so do cells.
        let log_segment = bits.saturating_sub(LOG_SEGMENTS).min(T::LOG_EVEN);
        let log_segment = (log_segment + fewer).min(bits.max(1) - 1);
        let origin = first >> log_segment << log_segment;
        let most = last - origin;
        let drop = u32::BITS.saturating_sub(most.leading_zeros());
        let edges = table.firsts.iter().skip(1).map(|edge| edge.rank() - origin);
        let edges: Vec<u64> = edges.collect();
        let log_segment = log_segment - drop;
        let shape = LookupShape {
            origin,
            drop,
            last: (most >> drop) as u32,
            log_segment,
            segments: ((most >> drop) as u32 >> log_segment) + 1,
            cells: 0,
            log_bin: u32::BITS - (edges.len() as u32).leading_zeros() + 1,
        };
        (shape, edges)
    }

    fn segments_of(&self, edges: &[u64]) -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::with_capacity(self.segments as usize);
        for number in 0..u64::from(self.segments) {
            let begin = segments.last().map_or(0, |before| before.edges[1]);
            let end = (number + 1) << self.log_segment;
            let many = edges[begin..].partition_point(|&edge| edge >> self.drop < end);
            let mut pairs = [0; 33];
            for pair in edges[begin..begin + many].windows(2) {
                // A cell that the lower edge begins has only the upper one within.
                let apart = u64::BITS - ((pair[0] ^ pair[1]) >> self.drop).leading_zeros();
                let round = (pair[0].trailing_zeros() + 1).saturating_sub(self.drop);
                pairs[apart.max(round).min(32) as usize] += 1;
            }
            segments.push(Segment {
                edges: [begin, begin + many],
                pairs,
            });
        }
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::super::bins::{Bins, Rule};
    use super::*;

    /// What a lookup tells of a number from the first to the last of all: the first bin that it may
    /// have, and how many. That is what `BySearch` in `kernels/histogram/bins.cuh` does.
    fn found<T: Binned>(lookup: &Lookup, x: T) -> (u32, u32) {
        let shape = &lookup.shape;
        let offset = (x.rank() - shape.origin) >> shape.drop;
        let offset = u32::try_from(offset).unwrap().min(shape.last);
        let segment = 2 * (offset >> shape.log_segment) as usize;
        let [begin, log_cell] = [lookup.words[segment], lookup.words[segment + 1]];
        let cells = &lookup.words[shape.segment_words()..];
        let cell = begin.wrapping_add(offset >> log_cell);
        assert!(cell < shape.cells);
        let next = cells[cell as usize + 1];
        let cell = cells[cell as usize];
        let (flag, key) = (1 << (shape.log_bin - 1), offset << shape.log_bin);
        let bin = |cell: u32| cell & (flag - 1);
        if cell & flag != 0 || shape.drop > 0 && (cell ^ key) < 2 * flag {
            return (bin(cell), bin(next) - bin(cell) + 1);
        }
        (bin(cell) + u32::from(cell < key), 1)
    }

    /// Compares a lookup with a plain search, for numbers around all edges, cells and segments.
    /// Returns how many of these have to be searched for, of how many.
    fn check_rooms<T: Binned>(bins: &Bins<T>, rooms: &[usize]) -> (usize, usize, Lookup) {
        let Rule::Search(table, _) = bins.rule() else {
            panic!("{:?}", bins.rule());
        };
        let lookup = Lookup::new(table, rooms);
        let (shape, firsts) = (lookup.shape, &table.firsts);
        if let Some(&room) = rooms.iter().max() {
            assert!(lookup.bytes().least() <= room.max(LEAST_ROOM), "{shape:?}");
        }
        assert_eq!(lookup.words.len(), shape.words());
        let (first, last) = table.ends();
        let mut ranks: Vec<u64> = firsts.iter().map(|first| first.rank()).collect();
        ranks.extend([first.rank(), last.rank()]);
        for segment in 0..shape.segments {
            let [begin, log_cell] = [0, 1].map(|i| lookup.words[2 * segment as usize + i]);
            let start = u64::from(segment) << shape.log_segment;
            let cells = 1 << (shape.log_segment - log_cell);
            assert!(begin.wrapping_add((start >> log_cell) as u32) < shape.cells);
            let starts = (0..cells).step_by((cells as usize / 300).max(1));
            let starts = starts.map(|cell: u64| start + (cell << log_cell));
            ranks.extend(starts.map(|start| (start << shape.drop) + shape.origin));
        }
        let near = ranks
            .iter()
            .flat_map(|&rank| (0..5).map(move |step| rank.saturating_add(step).saturating_sub(2)));
        let (mut searched, mut all) = (0, 0);
        for x in near.map(|rank| T::of_rank(rank.clamp(first.rank(), last.rank()))) {
            if x < first || x > last {
                continue;
            }
            let expected = firsts.partition_point(|&first| first <= x) as u32 - 1;
            let (bin, many) = found(&lookup, x);
            assert!(bin <= expected && expected < bin + many, "{x:?}: {shape:?}");
            assert!(bin + many <= firsts.len() as u32, "{x:?}: {shape:?}");
            let compares = lookup.bytes().firsts > 0;
            assert!(many == 1 || compares, "{x:?}: {shape:?}");
            searched += usize::from(many > 1);
            all += 1;
        }
        (searched, all, lookup)
    }

    /// Checks lookups of all sizes. Returns whether no number has to be searched for if there is
    /// room.
    fn check<T: Binned>(edges: &[T]) -> bool {
        let bins = Bins::with_edges_of(edges).unwrap();
        for room in [0, 50, 100, 300, 1000, 5000, 50_000] {
            check_rooms(&bins, &[room]);
        }
        let (searched, _, lookup) = check_rooms(&bins, &[usize::MAX]);
        let bytes = lookup.bytes().least();
        assert!(bytes <= 64 * edges.len() + (12 << 12) + 64, "{bytes}");
        (searched == 0) && lookup.bytes().firsts == 0
    }

    #[test]
    fn cells_tell_the_bins() {
        let squares = |n: i32| (0..=n).map(move |i| f64::from(i * i) / f64::from(n * n));
        let squares_of = |n: i32| squares(n).map(|x| x as f32).collect::<Vec<_>>();
        assert!(check(&squares_of(100)) && check(&squares_of(1000)));
        assert!(check(
            &(0..=1000).map(|i| i as f32 / 1e3).collect::<Vec<_>>()
        ));
        assert!(check(
            &(-500..=500).map(|i| i as f32 / 7.0).collect::<Vec<_>>()
        ));
        let decades: Vec<f32> = (-38..38).map(|i| 10_f32.powi(i)).collect();
        assert!(check(&decades));
        check(&squares(1000).collect::<Vec<_>>());
        check(&(-300..300).map(|i| 10_f64.powi(i)).collect::<Vec<_>>());
        assert!(check(&[f32::NEG_INFINITY, -1.0, 0.0, 1.0, f32::INFINITY]));
        check(&[f64::NEG_INFINITY, f64::INFINITY]);
        check(&[-0.0_f64, f64::from_bits(1), 1.0]);
        check(&[-1.0_f32, -0.0, 1.0]);
        check(&[f32::MAX, f32::INFINITY]);
    }

    #[test]
    fn cells_tell_the_bins_of_integers() {
        assert!(check(&[0_u8, 1, 2, 3, 50, 255]));
        assert!(check(&(0..=255).collect::<Vec<u8>>()));
        assert!(check(&[i8::MIN, -3, 7, i8::MAX]));
        assert!(check(&[3_u16, 4]));
        assert!(check(&(0..256).map(|i| i * i).collect::<Vec<u16>>()));
        assert!(check(
            &(-180..180).map(|i: i16| i * i.abs()).collect::<Vec<_>>()
        ));
        assert!(check(&[0_u32, 1, u32::MAX - 1, u32::MAX]));
        assert!(check(&[i32::MIN, -1, 0, i32::MAX]));
        check(&[i64::MIN, -1, 0, i64::MAX]);
        check(&[u64::MAX - 1, u64::MAX]);
        check(&[0, u64::MAX - 1, u64::MAX]);
        let random = |i: u32| i.wrapping_mul(2_654_435_761) >> 3;
        let mut edges: Vec<u32> = (0..5000).map(random).collect();
        edges.sort_unstable();
        edges.dedup();
        check(&edges);
    }

    /// Numbers of 64 bits that are equal to an edge have a bin at once if it is a round number.
    #[test]
    fn round_edges_of_64_bits_are_not_searched_for() {
        for edges in [
            (0..=100).map(f64::from).collect::<Vec<_>>(),
            (0..=64).map(|i| f64::from(i) / 64.0).collect(),
        ] {
            let bins = Bins::with_edges_of(&edges).unwrap();
            let (.., lookup) = check_rooms(&bins, &[usize::MAX]);
            let sure = edges[..edges.len() - 1]
                .iter()
                .filter(|&&x| found(&lookup, x).1 == 1);
            assert_eq!(sure.count(), bins.count());
        }
    }

    /// Far more edges in one place than numbers are told apart there.
    #[test]
    fn cells_with_many_edges_are_searched() {
        let near = (0..20_000).map(|i| 1.0 + f64::from(i) * f64::EPSILON);
        let edges: Vec<f64> = [-1e300].into_iter().chain(near).chain([1e300]).collect();
        let bins = Bins::with_edges_of(&edges).unwrap();
        for room in [64, 10_000, usize::MAX] {
            let (_, _, lookup) = check_rooms(&bins, &[room]);
            assert!(found(&lookup, 1.0 + 70.0 * f64::EPSILON).1 > 100);
        }
    }

    /// What no number has is before or behind all others.
    #[test]
    fn bins_without_numbers_have_a_lookup() {
        let bins = Bins::<u8>::with_edges(&[300.0, 400.0, 500.0]).unwrap();
        let lookup = bins.lookup(&[64]).unwrap();
        assert_eq!((lookup.shape.cells, lookup.shape.last), (1, 0));
        let some = Bins::<u8>::with_edges(&[-7.0, 3.5, 400.0, 500.0]).unwrap();
        check_rooms(&some, &[1000]);
        let narrow = Bins::<f32>::even(1.0, 1.0 + 1e-6, 4).unwrap();
        if let Rule::Search(..) = narrow.rule() {
            check_rooms(&narrow, &[1000]);
        }
    }
}
