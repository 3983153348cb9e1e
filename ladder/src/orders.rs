//! An operator with another order than the library would choose for it.

use std::marker::PhantomData;
use warpfold::codegen::Definitions;
use warpfold::{Element, Monoid};

/// The operator, in the law's order even if no bit tells.
#[derive(Debug)]
pub(crate) struct InOrder<Op>(PhantomData<Op>);

/// The operator in any order. That is right only where no bit tells, as on the ladder's data.
#[derive(Debug)]
pub(crate) struct AnyOrder<Op>(PhantomData<Op>);

macro_rules! orders {
    ($($name:ident $is_any:literal;)*) => {$(
        impl<T: Element, Op: Monoid<T>> Monoid<T> for $name<Op> {
            const EXACT: bool = $is_any;
            const COMMUTATIVE: bool = $is_any;

            fn identity() -> T {
                Op::identity()
            }

            fn combine(a: T::Accumulator, b: T::Accumulator) -> T::Accumulator {
                Op::combine(a, b)
            }

            fn cuda(definitions: &mut Definitions) -> String {
                Op::cuda(definitions)
            }
        }
    )*};
}

orders! {
    InOrder false;
    AnyOrder true;
}
