//! The wave engine, for what fills the GPU.

use super::{Choice, Input};
use crate::Element;
use crate::cuda::kernels::Lazy;
use crate::engine::WavePlan;
use crate::engine::{Engine, WavePolicy};
use crate::render::Kernel;
use crate::source::Form;

/// The wave engine ([`Engine::Wave`]), where it can run.
#[derive(Debug, Clone)]
pub(super) struct Wave {
    pub(super) kernels: Lazy,
    policy: WavePolicy,
    /// Those for unaligned addresses, no multiples of 16. They are loaded when one is met.
    anywhere: Option<(Lazy, WavePolicy)>,
    /// Whether it is to take short inputs too.
    pub(super) always: bool,
}

/// The wave engine between two others: for at most so many tiles a multiprocessor.
#[derive(Debug, Clone)]
pub(super) struct Middle {
    pub(super) wave: Wave,
    pub(super) reach: u64,
}

impl Wave {
    pub(super) fn new<F: Form<Item: Element>>(
        kernel: fn(Engine) -> Kernel,
        policy: WavePolicy,
        always: bool,
    ) -> Wave {
        let lazy = |policy| Lazy::new(kernel(Engine::Wave(policy)));
        let anywhere = policy.anywhere_of::<F>();
        Wave {
            kernels: lazy(policy),
            policy,
            anywhere: anywhere.map(|policy| (lazy(policy), policy)),
            always,
        }
    }

    /// The size of the workspace for `len` elements of type `T` or fewer.
    pub(super) fn bytes<T: Element>(&self, len: usize) -> usize {
        WavePlan::new(self.policy, len).workspace_bytes::<T>()
    }

    /// Kernels and plan for `input`, if its addresses can be taken.
    pub(super) fn choose(&self, input: Input) -> Option<(&Lazy, WavePlan)> {
        let (kernels, policy) = self.at(input.aligned)?;
        Some((kernels, WavePlan::new(policy, input.len)))
    }

    /// Kernels and policy for addresses that all are `aligned`, or not.
    pub(super) fn at(&self, aligned: bool) -> Option<(&Lazy, WavePolicy)> {
        if self.policy.anywhere || aligned {
            return Some((&self.kernels, self.policy));
        }
        let (kernels, policy) = self.anywhere.as_ref()?;
        Some((kernels, *policy))
    }
}

impl Middle {
    /// If at least a quarter of the multiprocessors have a tile, and none has too many.
    pub(super) fn choose(&self, input: Input) -> Option<Choice<'_>> {
        let (kernels, plan) = self.wave.choose(input)?;
        let tiles = plan.tiles(input.inclusive);
        let places = u64::from(input.multiprocessors);
        let fits = 4 * tiles > places && tiles <= self.reach.saturating_mul(places);
        fits.then_some(Choice::Wave(kernels, plan))
    }
}
