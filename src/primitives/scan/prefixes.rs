//! What a scan gives, as a value.

use crate::cpu::PrefixKind;

/// Which prefixes a scan gives: what the calls that take more than an input share, at every level.
///
/// ```
/// use warpfold::{Device, Prefixes, ops::Add};
///
/// let device = Device::cpu();
/// let mut counts = device.upload(&[3_u32, 1, 7])?;
/// device.scan_in_place::<u32, Add>(Prefixes::exclusive().from(10), &mut counts)?;
/// assert_eq!(counts.to_vec()?, [10, 13, 14]);
/// device.scan_in_place::<u32, Add>(Prefixes::inclusive(), &mut counts)?;
/// assert_eq!(counts.to_vec()?, [10, 23, 37]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefixes<T> {
    pub(crate) kind: PrefixKind,
    pub(crate) init: Option<T>,
}

impl<T> Prefixes<T> {
    /// Each item becomes the fold of those before it, the first one the identity.
    #[must_use]
    pub fn exclusive() -> Prefixes<T> {
        Prefixes {
            kind: PrefixKind::Exclusive,
            init: None,
        }
    }

    /// Each item becomes the fold of those up to and including it.
    #[must_use]
    pub fn inclusive() -> Prefixes<T> {
        Prefixes {
            kind: PrefixKind::Inclusive,
            init: None,
        }
    }

    /// The same with `init` before the first item: `((init ⊕ S₁) ⊕ S₂) ⊕ …`.
    #[must_use]
    pub fn from(self, init: T) -> Prefixes<T> {
        Prefixes {
            init: Some(init),
            ..self
        }
    }
}
