//! The start of a workspace, as the host makes it. `kernels/grid/workspace.cuh` says what it is
//! for.

use super::Layouts;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of the header at the start of a workspace. The levels engine never touches them, so
/// they stay valid for the other engines.
pub const HEADER_BYTES: usize = 64;

/// What tells the launches of one workspace from all others: random numbers, drawn for it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkspaceKey {
    /// Goes to every launch. A header that does not fit it was overwritten.
    pub key: u64,
    /// The first launch's tag.
    pub first_tag: u64,
}

impl WorkspaceKey {
    /// A key that nobody can guess, from the randomness that the process got from the system.
    pub fn random() -> WorkspaceKey {
        static RANDOM: OnceLock<RandomState> = OnceLock::new();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let random = RANDOM.get_or_init(RandomState::new);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        WorkspaceKey {
            // Not zero: a header of zeros must not fit.
            key: random.hash_one((number, "key")) | 1,
            first_tag: random.hash_one((number, "tag")),
        }
    }

    /// The header of a workspace that no launch has used: `WorkspaceHeader` in
    /// `kernels/grid/workspace.cuh`.
    pub fn header(self) -> [u8; HEADER_BYTES] {
        let words = [
            self.first_tag,
            self.first_tag ^ self.key,
            self.first_tag,
            self.first_tag & u64::from(u32::MAX),
            0,
            0,
            0,
            0,
        ];
        let mut bytes = [0; HEADER_BYTES];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&u64::to_ne_bytes(word));
        }
        bytes
    }
}

/// The most sums that a warp of the rows engine reads at once, 4 a lane.
pub(crate) const MOST_AT_ONCE: u64 = 128;

/// The bytes of a workspace for this many sums. Each 8 bytes of a sum take a packet of 16. There is
/// room for whole groups of as many sums as a warp reads at once.
pub(crate) fn sums_bytes(layouts: Layouts, sums: u64, at_once: u64) -> usize {
    let packets = layouts.sum_bytes.div_ceil(8);
    HEADER_BYTES + sums.next_multiple_of(at_once) as usize * packets * 16
}

/// The size of the workspace in bytes for the sums of so many tiles, of groups of tiles, of groups
/// of groups; a lane reads `sums` of them at once.
pub(in crate::engine) fn summed_bytes(layouts: Layouts, sums: u32, tiles: u64) -> usize {
    let radix = u64::from(32 * sums);
    let levels = std::iter::successors(Some(tiles), |&nodes| {
        (nodes >= radix).then_some(nodes / radix)
    });
    sums_bytes(layouts, levels.map(|nodes| nodes + 1).sum(), MOST_AT_ONCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_share_nothing() {
        let keys: Vec<_> = (0..1000).map(|_| WorkspaceKey::random()).collect();
        for (i, one) in keys.iter().enumerate() {
            assert_ne!(one.key, 0);
            for other in &keys[..i] {
                assert_ne!(one.key, other.key);
                assert_ne!(one.first_tag, other.first_tag);
            }
        }
    }
}
