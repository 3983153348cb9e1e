//! What the steps work on, and what must come of it.

use crate::operator::Operator;
use crate::{Number, Result};
use std::marker::PhantomData;
use warpfold::codegen::Definitions;
use warpfold::ladder::Problem;
use warpfold::{Device, Function, Monoid, Order};

/// Every order of these floats has the same sum: so many ones and minus ones add up exactly, in the
/// 24 bits of an `f32`.
const MOST_ONES: usize = 1 << 24;

/// The input of all steps.
pub(super) struct Data<T> {
    pub(super) items: Vec<T>,
    /// The other array of dot products.
    pub(super) second: Vec<T>,
}

impl<T: Number> Data<T> {
    /// Numbers that are alike in every run. Any order and any bracketing of them gives the same bits:
    /// of integers any numbers do, floats that are added or multiplied are 1 and -1.
    pub(super) fn new(op: &Operator<T>, length: usize) -> Data<T> {
        let palette: Vec<T> = if T::IS_FLOAT && (op.adds || op.multiplies) {
            vec![T::of(1), T::of(-1)]
        } else {
            // Odd, so that products do not become 0.
            (1..100).step_by(2).map(T::of).collect()
        };
        let every = if T::IS_FLOAT && op.adds {
            length.div_ceil(MOST_ONES).max(1)
        } else {
            1
        };
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut draw = |i: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            match i.is_multiple_of(every) {
                true => palette[(state >> 32) as usize % palette.len()],
                false => T::of(0),
            }
        };
        Data {
            items: (0..length).map(&mut draw).collect(),
            second: (0..length).map(&mut draw).collect(),
        }
    }

    /// What the library's own calls on the CPU give for the first `length` items.
    pub(super) fn expected(
        &self,
        op: &Operator<T>,
        problem: Problem,
        length: usize,
    ) -> Result<Vec<T>> {
        let cpu = Device::cpu();
        let items = &self.items[..length];
        Ok(match problem {
            Problem::Reduce => vec![(op.reduce)(&cpu.upload(items)?)?],
            Problem::Dot => {
                let pairs = items.iter().copied().zip(self.second.iter().copied());
                let products = cpu.upload_vec(pairs.map(Product::call).collect())?;
                vec![(op.reduce)(&products)?]
            }
            Problem::Scan => {
                let mut items = cpu.upload(items)?;
                (op.scan)(&mut items)?;
                items.into_vec()?
            }
            Problem::Sort => cpu
                .sort(&cpu.upload(items)?, Order::ascending())?
                .into_vec()?,
        })
    }
}

/// The product of two numbers, as a function.
pub(super) struct Product<T>(PhantomData<T>);

impl<T: Number> Function for Product<T> {
    type Input = (T, T);
    type Output = T;

    fn call((a, b): (T, T)) -> T {
        T::narrow(T::Product::combine(a.widen(), b.widen()))
    }

    fn cuda(definitions: &mut Definitions) -> String {
        let number = T::cuda_type(definitions);
        let product = T::Product::cuda(definitions);
        definitions.define_function::<Self>("product_of_two", |_, name| {
            format!(
                "__device__ {number} {name}({number} a, {number} b) {{\n    \
                 using F = Fold<{number}>;\n    \
                 return F::narrow({product}(F::widen(a), F::widen(b)));\n}}"
            )
        })
    }
}
