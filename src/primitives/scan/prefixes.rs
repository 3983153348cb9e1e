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
    pub(crate) reverse: bool,
}

impl<T> Prefixes<T> {
    /// Each item becomes the fold of those before it, the first one the identity.
    #[must_use]
    pub fn exclusive() -> Prefixes<T> {
        Prefixes {
            kind: PrefixKind::Exclusive,
            init: None,
            reverse: false,
        }
    }

    /// Each item becomes the fold of those up to and including it.
    #[must_use]
    pub fn inclusive() -> Prefixes<T> {
        Prefixes {
            kind: PrefixKind::Inclusive,
            init: None,
            reverse: false,
        }
    }

    /// These prefixes with `init` before the first item: `((init ⊕ S₁) ⊕ S₂) ⊕ …`.
    #[must_use]
    pub fn from(self, init: T) -> Prefixes<T> {
        Prefixes {
            init: Some(init),
            ..self
        }
    }

    /// From the last item to the first: bit for bit the scan of the reversed input, written in
    /// reverse. So an inclusive result is the fold of its item and those after it, in descending
    /// order of their positions, and `init` comes before the last item. The gradient of a running
    /// sum is such a scan.
    ///
    /// ```
    /// use warpfold::{Prefixes, ops::Add, scan_into};
    ///
    /// let mut left = [0; 3];
    /// scan_into::<u32, Add>(Prefixes::inclusive().reverse(), &[3, 1, 7], &mut left)?;
    /// assert_eq!(left, [11, 8, 7]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    #[must_use]
    pub fn reverse(self) -> Prefixes<T> {
        Prefixes {
            reverse: true,
            ..self
        }
    }
}
