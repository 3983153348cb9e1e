//! Workspaces as the emulator's tests make them.

use warpfold::codegen::{HEADER_BYTES, WorkspaceKey};

/// The key of all workspaces here.
pub(crate) const KEY: WorkspaceKey = WorkspaceKey {
    key: 0x0123_4567_89ab_cdef,
    first_tag: 0xfedc_ba98_7654_3210,
};

/// The difference between the tags of two launches: `WorkspaceHeader::STEP`.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// What the header holds after this many launches.
pub(crate) fn header_after(launches: u64) -> [u8; HEADER_BYTES] {
    let first_tag = KEY.first_tag.wrapping_add(launches.wrapping_mul(STEP));
    WorkspaceKey { first_tag, ..KEY }.header()
}

/// A workspace whose header is new, and whose packets are as earlier launches left them: with their
/// tags, and wrong values.
pub(crate) fn used_workspace(bytes: usize) -> Vec<u8> {
    used_workspace_of(KEY, bytes)
}

/// A workspace with what earlier launches left in it. The caller chooses its key and tag.
pub(crate) fn used_workspace_of(key: WorkspaceKey, bytes: usize) -> Vec<u8> {
    let mut words = Vec::from(key.header());
    for packet in 0_u64.. {
        if words.len() >= bytes {
            break;
        }
        let launches_ago = 1 + packet % 7;
        let tag = key.first_tag.wrapping_sub(launches_ago.wrapping_mul(STEP));
        words.extend(packet.wrapping_mul(STEP).to_ne_bytes());
        words.extend(tag.to_ne_bytes());
    }
    words.truncate(bytes);
    words
}
