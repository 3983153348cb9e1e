//! The shares engine, for costly operators.

use super::{Choice, Input};
use crate::Element;
use crate::cuda::kernels::Lazy;
use crate::engine::SharePlan;
use crate::engine::{CostlyScanPolicy, Engine, SharePolicy};
use crate::render::Kernel;

/// The shares engine ([`Engine::Shares`]), for at least so many elements a multiprocessor.
#[derive(Debug, Clone)]
pub(super) struct Shares {
    from: u64,
    /// Each for up to so many elements a multiprocessor, from short inputs to all others.
    tiles: Vec<(u64, Lazy, SharePolicy)>,
}

impl Shares {
    pub(super) fn of(kernel: fn(Engine) -> Kernel, costly: &CostlyScanPolicy) -> Shares {
        let middle = costly.middle.iter().copied();
        let tiles = middle.chain([(u64::MAX, costly.shares)]);
        Shares::new(kernel, costly.from, tiles)
    }

    pub(super) fn new(
        kernel: fn(Engine) -> Kernel,
        from: u64,
        tiles: impl IntoIterator<Item = (u64, SharePolicy)>,
    ) -> Shares {
        let tiles = tiles.into_iter().map(|(most, policy)| {
            let kernels = Lazy::new(kernel(Engine::Shares(policy)));
            (most, kernels, policy)
        });
        Shares {
            from,
            tiles: tiles.collect(),
        }
    }

    pub(super) fn kernels(&self) -> impl Iterator<Item = &Lazy> {
        self.tiles.iter().map(|(_, kernels, _)| kernels)
    }

    /// The size of the workspace for `len` elements of type `T` or fewer.
    pub(super) fn bytes<T: Element>(&self, len: usize) -> usize {
        let tiles = self.tiles.iter();
        let bytes = tiles.map(|(_, _, policy)| SharePlan::new(*policy, len).workspace_bytes::<T>());
        bytes.max().unwrap_or(0)
    }

    /// The engine for `input`, if its elements are enough.
    pub(super) fn choose(&self, input: Input) -> Option<Choice<'_>> {
        let Input {
            len,
            inclusive: _,
            aligned: _,
            multiprocessors,
        } = input;
        let each = (len as u64).div_ceil(multiprocessors.max(1).into());
        let fitting = self.tiles.iter().find(|(most, ..)| each <= *most);
        let (_, kernels, policy) = fitting.filter(|_| each >= self.from)?;
        Some(Choice::Shares(kernels, SharePlan::new(*policy, len)))
    }
}
