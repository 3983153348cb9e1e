//! What is known of an operator from its translation: what it costs, and other forms in which
//! kernels may compute it. Each form gives the bits of the operator as it stands.

mod cost;
mod fast_path;
mod pairs;
mod parts;
mod register_width;
mod select_operand;
mod tokens;

pub use cost::cost;

use crate::definitions::Definitions;
use register_width::RegisterWidth;

/// Other forms of an operator, which kernels may compute with: its translation was recognised, or
/// written again.
#[derive(Default)]
pub(crate) struct Forms {
    /// The function without slow paths, which says when it is unsure.
    pub(crate) fast_path: Option<String>,
    /// The operator on numbers that fill a register.
    pub(crate) register_width: Option<RegisterWidth>,
    /// The instruction that combines two numbers of 16 bits at once.
    pub(crate) pairs: Option<&'static str>,
    /// The operations on the parts of an element, each on its own.
    pub(crate) parts: Option<String>,
    /// The function that says whether the second operand is the result.
    pub(crate) takes_second: Option<String>,
}

impl Forms {
    /// The forms of the operator `combine`, for elements with an alignment of `align`, whose
    /// accumulators have so many bytes.
    pub(crate) fn of(
        definitions: &mut Definitions,
        combine: &str,
        align: usize,
        bytes: usize,
    ) -> Forms {
        // Functions that call each other in a circle are not read: their text is an error.
        if definitions.is_wrong() {
            return Forms::default();
        }
        let parts = parts::operations(definitions, combine).map(|parts| parts.cuda());
        let pairs = pairs::operation(definitions, combine);
        // Other elements have a register for each of their parts.
        let is_held = align < 4;
        let takes_second = is_held.then(|| select_operand::takes_second(definitions, combine));
        let fast_path = definitions.define_fast_path(combine, bytes);
        // Kernels want one of the two.
        let register_width = fast_path
            .is_none()
            .then(|| definitions.define_register_width(combine));
        Forms {
            fast_path,
            register_width: register_width.flatten(),
            pairs,
            parts,
            takes_second: takes_second.flatten(),
        }
    }
}
