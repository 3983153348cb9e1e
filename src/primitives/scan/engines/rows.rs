//! The rows engine, for what a GPU holds at once.

use super::{Choice, Input};
use crate::Element;
use crate::cuda::kernels::Lazy;
use crate::engine::ScanPlan;
use crate::engine::{Engine, RowPolicy};
use crate::render::Kernel;

/// The rows engine ([`Engine::Rows`]).
#[derive(Debug, Clone)]
pub(super) struct Rows {
    pub(super) kernels: Lazy,
    pub(super) policy: RowPolicy,
}

impl Rows {
    /// Longer elements do not leave a thread enough registers for its tree.
    pub(super) const LARGEST_ELEMENT: usize = 16;

    /// What a GPU holds at once is not for more of them: workspaces have room for no more blocks.
    const MOST_MULTIPROCESSORS: u32 = 1024;

    pub(super) fn new(kernel: fn(Engine) -> Kernel, policy: RowPolicy) -> Rows {
        Rows {
            kernels: Lazy::new(kernel(Engine::Rows(policy))),
            policy,
        }
    }

    pub(super) fn plan(&self, input: Input) -> ScanPlan {
        let Input {
            len,
            inclusive,
            aligned: _,
            multiprocessors,
        } = input;
        let multiprocessors = multiprocessors.min(Self::MOST_MULTIPROCESSORS);
        ScanPlan::new(self.policy, len, inclusive, multiprocessors)
    }

    /// The size of the workspace for `len` elements of type `T` or fewer.
    pub(super) fn bytes<T: Element>(&self, len: usize) -> usize {
        ScanPlan::workspace_bytes::<T>(self.policy, len)
    }

    /// The same if the GPU is to hold all at once.
    pub(super) fn at_once_bytes<T: Element>(&self, len: usize) -> usize {
        let most = u64::from(Self::MOST_MULTIPROCESSORS * self.policy.blocks);
        let most = ScanPlan::workspace_bytes_for::<T>(self.policy, most);
        self.bytes::<T>(len).min(most)
    }

    /// The first by which the GPU holds all at once.
    pub(super) fn at_once(rows: &[Rows], input: Input) -> Option<Choice<'_>> {
        let mut plans = rows.iter().map(|rows| (&rows.kernels, rows.plan(input)));
        let (kernels, plan) = plans.find(|(_, plan)| !plan.by_ticket)?;
        Some(Choice::Rows(kernels, plan))
    }
}
