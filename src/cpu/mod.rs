//! The CPU backend: rayon over chunks of a power of two, SIMD inside, the law throughout.
//!
//! The tree over the input is cut at two heights. A *block* fits the L1 cache. Its levels are
//! computed one after the other, as loops over neighbours, which the compiler turns into SIMD code
//! for any element type and any operator ([`tree`]). A *chunk* of blocks fits the L2 cache and is
//! the unit of work of a thread. A binary counter ([`counter`]) takes the sums of blocks and
//! chunks. It holds exactly the aligned blocks of the law. What depends on all chunks before goes
//! in turns ([`turns`]).
//!
//! Every program compiles its own types and operators. So only innermost loops are generic over
//! both: [`fold`] hands them to drivers that know the type alone, and those hand closures to
//! threads that know nothing ([`threads`]).

pub(crate) mod compact;
pub(crate) mod concat;
pub(crate) mod counter;
pub(crate) mod fold;
pub(crate) mod memory;
pub(crate) mod mode;
pub(crate) mod short;
mod simd;
pub(crate) mod stream;
pub(crate) mod threads;
pub(crate) mod tree;
pub(crate) mod turns;

pub(crate) use simd::with_simd;
pub(crate) use tree::PrefixKind;

/// The bytes of accumulators that a block holds. The block and its levels stay in the L1 cache.
const BLOCK_BYTES: usize = 8 << 10;

/// The elements of a block, a power of two.
pub(crate) const fn block_len<A>() -> usize {
    let len = BLOCK_BYTES / size_of::<A>();
    1 << len.ilog2()
}

/// The elements of a chunk of `bytes` bytes: a power of two, and at least one block.
pub(crate) const fn chunk_len<T, A>(bytes: usize) -> usize {
    let len = 1 << (bytes / size_of::<T>()).ilog2();
    if len < block_len::<A>() {
        block_len::<A>()
    } else {
        len
    }
}

/// The elements of a chunk of up to `bytes` bytes, where `len` elements are shared out: a power of
/// two, and at least one block. If they fill one chunk only, one thread is enough. Otherwise chunks
/// are short enough for each thread to get some, but no shorter than `least` bytes.
pub(crate) fn shared_chunk_len<T, A>(bytes: usize, least: usize, len: usize) -> usize {
    let most = chunk_len::<T, A>(bytes);
    if len <= most {
        return most;
    }
    let share = len / (CHUNKS_PER_THREAD * rayon::current_num_threads());
    let least = chunk_len::<T, A>(least);
    share.next_power_of_two().clamp(least, most)
}

/// A thread that begins late, or whose chunks take longer, leaves some of its share to others.
const CHUNKS_PER_THREAD: usize = 4;

/// Elements cut where their positions are multiples of `part`. So every cut is at the same element,
/// whatever piece of a stream it lies in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    /// How many elements of the first part lie before these.
    before: usize,
    len: usize,
    part: usize,
}

impl Parts {
    /// `len` elements, of which the first stands at `position`.
    pub(crate) fn new(position: u64, len: usize, part: usize) -> Parts {
        Parts {
            before: (position % part as u64) as usize,
            len,
            part,
        }
    }

    /// The number of parts.
    pub(crate) fn count(self) -> usize {
        if self.len == 0 {
            return 0;
        }
        (self.before + self.len).div_ceil(self.part)
    }

    /// Where part `number` lies among the elements.
    pub(crate) fn range(self, number: usize) -> std::ops::Range<usize> {
        let start = (number * self.part).saturating_sub(self.before);
        let end = (number + 1) * self.part - self.before;
        start..end.min(self.len)
    }

    /// All parts, in order.
    pub(crate) fn ranges(self) -> impl Iterator<Item = std::ops::Range<usize>> {
        (0..self.count()).map(move |number| self.range(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_gets_chunks_of_an_input_of_some_length() {
        let lens = |len| shared_chunk_len::<u32, u32>(256 << 10, 32 << 10, len);
        let with = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let (few, many) = (with(2).unwrap(), with(16).unwrap());
        for pool in [&few, &many] {
            assert_eq!(pool.install(|| lens(0)), 1 << 16);
            assert_eq!(pool.install(|| lens(1 << 16)), 1 << 16, "one chunk");
            assert_eq!(pool.install(|| lens(1 << 30)), 1 << 16, "the most");
        }
        assert_eq!(few.install(|| lens(1 << 19)), 1 << 16);
        assert_eq!(many.install(|| lens(1 << 19)), 1 << 13);
        assert_eq!(many.install(|| lens(100_000)), 1 << 13, "the least");
    }
}
