//! The tuning table: the shape of a tile, by primitive and element size.
//!
//! Only speed depends on these numbers. The law fixes the bracketing, so results do not.

use super::Primitive;
use crate::Element;
use crate::element::assert_element_size;

/// The shape of a tile: how many threads work on it, and how many elements each of them holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Threads of a block: 32, 64, … 1024.
    pub threads: u32,
    /// Elements of a thread, a power of two.
    pub items: u32,
}

/// (largest element in bytes, threads, bytes that a thread holds).
type Row = (usize, u32, usize);

/// A thread of a reduction keeps this many bytes in flight, to cover the latency of memory.
const REDUCE: &[Row] = &[(64, 256, 64)];

/// A scan also keeps a tree over its elements in registers, and the tile in shared memory.
const SCAN: &[Row] = &[(1, 64, 64), (4, 128, 64), (32, 128, 128), (64, 64, 256)];

impl Policy {
    /// The policy for elements of type `T`.
    pub fn of<T: Element>(primitive: Primitive) -> Policy {
        const { assert_element_size::<T>() };
        let size = size_of::<T>();
        let table = match primitive {
            Primitive::Reduce => REDUCE,
            Primitive::Scan => SCAN,
        };
        let (_, threads, bytes) = table
            .iter()
            .find(|(largest, ..)| size <= *largest)
            .expect("elements have at most 64 bytes");
        let items = (bytes / size).max(1);
        Policy {
            threads: *threads,
            items: 1 << items.ilog2(),
        }
    }

    /// The elements of a tile, a power of two.
    pub fn tile(self) -> u64 {
        u64::from(self.threads) * u64::from(self.items)
    }
}
