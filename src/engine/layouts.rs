//! What engines know of a source and its items: layouts, and no types. So what they decide is
//! compiled once, and not for each type and operator.

use super::{accumulator_layout, widens};
use crate::Element;
use crate::element::assert_element_size;
use crate::source::{Form, Leaves, Slice};
use std::alloc::Layout;

/// The layouts that policies and plans depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layouts {
    /// What is read for an item.
    pub(crate) leaves: Leaves,
    /// An item.
    pub(crate) item: Layout,
    /// What an item becomes to be folded, on a GPU.
    pub(crate) accumulator: Layout,
    /// The bytes of a sum that blocks exchange.
    pub(crate) sum_bytes: usize,
    /// Whether items are folded in another type than their own.
    pub(crate) widens: bool,
}

impl Layouts {
    /// Those of a form.
    pub fn of<F: Form<Item: Element>>() -> Layouts {
        const { assert_element_size::<F::Item>() };
        Layouts {
            leaves: F::LEAVES,
            item: Layout::new::<F::Item>(),
            accumulator: accumulator_layout::<F::Item>(),
            sum_bytes: size_of::<<F::Item as Element>::Accumulator>(),
            widens: widens::<F::Item>(),
        }
    }

    /// Those of what is read from the last item on: not as a slice is, nor by the copy engine.
    #[must_use]
    pub fn in_reverse(self) -> Layouts {
        let leaves = Leaves {
            plain: false,
            kept: false,
            fetched: false,
            ..self.leaves
        };
        Layouts { leaves, ..self }
    }

    /// Those of a slice.
    pub fn of_slice<T: Element>() -> Layouts {
        Layouts::of::<Slice<T>>()
    }

    /// The bytes of what is folded.
    pub(super) fn accumulator_bytes(self) -> u32 {
        self.accumulator.size() as u32
    }

    /// The bytes that are read for an item; for what is read nowhere, those of the item.
    pub(crate) fn bytes_read(self) -> u32 {
        bytes_read(self.leaves, self.item.size())
    }

    /// Whether the levels above the input have functions of their own: they read sums, and the
    /// input's functions read something else.
    pub fn has_functions_of_sums(self) -> bool {
        self.widens || !self.leaves.plain
    }
}

/// The bytes that are read for an item of some size; for what is read nowhere, its own.
pub(crate) fn bytes_read(leaves: Leaves, item: usize) -> u32 {
    match leaves.bytes {
        0 => item as u32,
        bytes => bytes.min(64) as u32,
    }
}
