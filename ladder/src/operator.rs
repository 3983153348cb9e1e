//! An operator as data.

use crate::Number;
use crate::data::Product;
use crate::engines::{Kernels, Products};
#[cfg(feature = "cuda")]
use crate::gpu;
use crate::orders::{AnyOrder, InOrder};
use std::any::{TypeId, type_name};
use warpfold::codegen::kernels::{Reduce, Scan};
use warpfold::ladder::{self, Kernel, sequential_reduce, sequential_scan};
use warpfold::ops::{Add, Mul};
use warpfold::{Buffer, Device, Function, Monoid, Prefixes};

/// What the ladder needs of an operator on `T`. All else is compiled once for a type, not again for
/// every operator. What is timed is called through pointers, once for all numbers.
pub(crate) struct Operator<T: Number> {
    /// The name of its type.
    pub(crate) name: &'static str,
    pub(crate) identity: T::Accumulator,
    /// Whether it is [`Add`].
    pub(crate) adds: bool,
    /// Whether it is [`Mul`].
    pub(crate) multiplies: bool,
    /// Whether it is the sum of [`Number`].
    pub(crate) is_sum: bool,
    /// See [`Kernel::most_for`].
    pub(crate) most_for: fn(&Kernel) -> u64,
    /// See [`ladder::source()`].
    pub(crate) source: fn(&[&Kernel]) -> warpfold::Result<String>,
    pub(crate) reduce_loop: fn(&[T]) -> T,
    pub(crate) dot_loop: fn(&[T], &[T]) -> T,
    pub(crate) scan_loop: fn(&[T], &mut [T]),
    pub(crate) halving: fn(&mut [T::Accumulator]) -> T,
    /// The library's reduction on the CPU.
    pub(crate) reduce: fn(&Buffer<T>) -> warpfold::Result<T>,
    /// The library's scan on the CPU, exclusive.
    pub(crate) scan: fn(&mut Buffer<T>) -> warpfold::Result<()>,
    /// The library's kernels of reductions, in the order that it chooses.
    pub(crate) reduction: Kernels,
    pub(crate) reduction_in_order: Kernels,
    pub(crate) reduction_in_any_order: Kernels,
    /// Those of dot products, in the law's order.
    pub(crate) products: Kernels,
    /// Those of scans.
    pub(crate) scans: Kernels,
    #[cfg(feature = "cuda")]
    pub(crate) gpu: gpu::Calls<T>,
}

impl<T: Number> Operator<T> {
    pub(crate) fn of<Op: Monoid<T>>() -> Operator<T> {
        let id = TypeId::of::<Op>();
        Operator {
            name: type_name::<Op>(),
            identity: Op::identity().widen(),
            adds: id == TypeId::of::<Add>(),
            multiplies: id == TypeId::of::<Mul>(),
            is_sum: id == TypeId::of::<T::Sum>(),
            most_for: Kernel::most_for::<T, Op>,
            source: ladder::source::<T, Op, T::Product>,
            reduce_loop: |items| sequential_reduce::<T, Op>(items.iter().copied()),
            dot_loop: |items, second| {
                let pairs = items.iter().copied().zip(second.iter().copied());
                sequential_reduce::<T, Op>(pairs.map(Product::call))
            },
            scan_loop: sequential_scan::<T, Op>,
            halving: ladder::halving::<T, Op>,
            reduce: |items| Device::cpu().reduce::<T, Op>(items),
            scan: |items| Device::cpu().scan_in_place::<T, Op>(Prefixes::exclusive(), items),
            reduction: Kernels::of::<Reduce<T, Op>>(),
            reduction_in_order: Kernels::of::<Reduce<T, InOrder<Op>>>(),
            reduction_in_any_order: Kernels::of::<Reduce<T, AnyOrder<Op>>>(),
            products: Kernels::of::<Reduce<T, InOrder<Op>, Products<T>>>(),
            scans: Kernels::of::<Scan<T, Op>>(),
            #[cfg(feature = "cuda")]
            gpu: gpu::Calls::of::<Op>(),
        }
    }
}
