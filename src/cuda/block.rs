//! The block engine ([`Engine::Block`]) of a primitive, for short inputs.

use super::kernels::Lazy;
use crate::engine::{BlockPolicy, Engine};
use crate::render::Kernel;

/// Its kernels, and what they were compiled for.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    pub(crate) kernels: Lazy,
    policy: BlockPolicy,
}

impl Block {
    pub(crate) fn new(kernel: fn(Engine) -> Kernel, policy: BlockPolicy) -> Block {
        Block {
            kernels: Lazy::new(kernel(Engine::Block(policy))),
            policy,
        }
    }

    /// The threads of a block for `len` elements, if one holds them.
    pub(crate) fn threads(&self, len: usize) -> Option<u32> {
        (len as u64 <= self.policy.elements()).then(|| self.policy.threads(len))
    }
}
