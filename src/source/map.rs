//! Functions of the items of a source: [`map`] gives what they return, [`flagged`] pairs it with
//! the item.

use super::{Form, Leaves, Place, Source, sealed};
use crate::definitions::Definitions;
use crate::{CudaType, Function, Result};
use std::marker::PhantomData;

/// A source that holds another one, and names a function of its items.
///
/// It says once what `Map` and `Flagged` share: the type, how it is cloned, and what it passes on
/// from the source that it holds.
macro_rules! of_a_function {
    (
        $(#[$attribute:meta])*
        $name:ident<$function:ident, $source:ident>($($output:tt)*) -> $item:ty
    ) => {
        $(#[$attribute])*
        #[derive(Debug)]
        pub struct $name<$function, $source> {
            source: $source,
            function: PhantomData<fn() -> $function>,
        }

        impl<$function, $source> $name<$function, $source> {
            fn of(source: $source) -> Self {
                $name {
                    source,
                    function: PhantomData,
                }
            }
        }

        impl<$function, $source: Clone> Clone for $name<$function, $source> {
            fn clone(&self) -> Self {
                Self::of(self.source.clone())
            }
        }

        impl<$function, $source: Copy> Copy for $name<$function, $source> {}

        impl<$function, $source> sealed::Sealed for $name<$function, $source> {}

        impl<L: Place, $function, $source> Source<L> for $name<$function, $source>
        where
            $function: Function<$($output)*>,
            $source: Source<L, Item: Feeds<$function::Input>>,
        {
            type Item = $item;
            type Form = $name<$function, $source::Form>;

            fn items(&self) -> Result<usize> {
                self.source.items()
            }

            fn bind<'a>(
                &'a self,
                binder: &mut L::Binder<'a>,
            ) -> Result<<$source::Form as Form>::Arguments> {
                self.source.bind(binder)
            }
        }
    };
}

of_a_function! {
    /// The source whose items are those of another, each given to a function; [`map`] makes it.
    Map<F, S>(Output: CudaType) -> F::Output
}

/// Gives each item of `source` to the function `F`.
///
/// `F` is the type that [`#[function]`](macro@crate::function) makes, which has the function's own
/// name. (If Rust says that a function item is not a type, the function has no such attribute.) For
/// parameters that are known when the program runs, see [`map_with`](crate::map_with()). The items
/// may have another type than those of `source`. The parts of a zipped item are the function's
/// arguments.
///
/// ```
/// use warpfold::{function, map, ops::Add, reduce};
///
/// #[function]
/// fn widen(byte: u8) -> u64 {
///     byte as u64
/// }
///
/// assert_eq!(reduce::<u64, Add>(map::<widen, _>(&[200_u8; 300]))?, 60_000);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn map<F, S>(source: S) -> Map<F, S> {
    Map::of(source)
}

// SAFETY: `warpfold::Map` in `kernels/source.cuh` holds its source, and nothing else.
unsafe impl<F, S> Form for Map<F, S>
where
    F: Function<Output: CudaType>,
    S: Form<Item: Feeds<F::Input>>,
{
    type Item = F::Output;
    type Arguments = S::Arguments;

    const LEAVES: Leaves = S::LEAVES.mapped();

    #[inline(always)]
    unsafe fn get(arguments: &S::Arguments, i: usize) -> F::Output {
        // SAFETY: the caller's.
        F::call(unsafe { S::get(arguments, i) }.feed())
    }

    #[inline(always)]
    fn prefetch(arguments: &S::Arguments, items: std::ops::Range<usize>) {
        S::prefetch(arguments, items);
    }

    fn is_aligned(arguments: &S::Arguments, bytes: u64) -> bool {
        S::is_aligned(arguments, bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        cuda::<F, S>("Map", definitions)
    }
}

of_a_function! {
    /// The source of the pairs of an item and what a predicate says of it; [`flagged`] makes it.
    Flagged<P, S>(Output = bool) -> (S::Item, bool)
}

/// Pairs each item of `source` with what the predicate `P` says of it.
///
/// ```
/// use warpfold::{flagged, function, select_flagged};
///
/// #[function]
/// fn even(x: u32) -> bool {
///     x % 2 == 0
/// }
///
/// assert_eq!(select_flagged::<u32>(flagged::<even, _>(&[3, 8, 1, 4]))?, [8, 4]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn flagged<P, S>(source: S) -> Flagged<P, S> {
    Flagged::of(source)
}

// SAFETY: `warpfold::Flagged` in `kernels/source.cuh` holds its source, and nothing else.
unsafe impl<P, S> Form for Flagged<P, S>
where
    P: Function<Output = bool>,
    S: Form<Item: Feeds<P::Input>>,
{
    type Item = (S::Item, bool);
    type Arguments = S::Arguments;

    const LEAVES: Leaves = S::LEAVES.flagged();

    #[inline(always)]
    unsafe fn get(arguments: &S::Arguments, i: usize) -> Self::Item {
        // SAFETY: the caller's.
        let item = unsafe { S::get(arguments, i) };
        (item, P::call(item.feed()))
    }

    fn of_address(address: u64) -> Option<Self::Arguments> {
        S::of_address(address)
    }

    #[inline(always)]
    fn prefetch(arguments: &S::Arguments, items: std::ops::Range<usize>) {
        S::prefetch(arguments, items);
    }

    fn is_aligned(arguments: &S::Arguments, bytes: u64) -> bool {
        S::is_aligned(arguments, bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        cuda::<P, S>("Flagged", definitions)
    }
}

/// The items that a function with these arguments takes: one that is its only argument, or a tuple
/// of all of them.
#[diagnostic::on_unimplemented(
    message = "the function takes `{Input}`, and the items are `{Self}`",
    label = "not the function's arguments",
    note = "a function of one argument maps a source of that type; a function of several maps what zip makes of as many sources; for parameters that are the same for all items there is map_with"
)]
pub trait Feeds<Input>: CudaType {
    /// What is given as arguments of their own: 0, nothing, so the item is the only argument; 1,
    /// the parts of the item; 2, those of its first part, and the second.
    #[doc(hidden)]
    const SPREADS: u32;

    #[doc(hidden)]
    fn feed(self) -> Input;
}

impl<X: CudaType> Feeds<(X,)> for X {
    const SPREADS: u32 = 0;

    #[inline(always)]
    fn feed(self) -> (X,) {
        (self,)
    }
}

impl<A: CudaType, B: CudaType> Feeds<(A, B)> for (A, B) {
    const SPREADS: u32 = 1;

    #[inline(always)]
    fn feed(self) -> (A, B) {
        self
    }
}

impl<A: CudaType, B: CudaType, C: CudaType> Feeds<(A, B, C)> for (A, B, C) {
    const SPREADS: u32 = 1;

    #[inline(always)]
    fn feed(self) -> (A, B, C) {
        self
    }
}

impl<A: CudaType, B: CudaType, P: CudaType> Feeds<(A, B, P)> for ((A, B), P) {
    const SPREADS: u32 = 2;

    #[inline(always)]
    fn feed(self) -> (A, B, P) {
        let ((a, b), parameters) = self;
        (a, b, parameters)
    }
}

/// The CUDA type `name` of a function and a source, and of how the items are given to it.
fn cuda<F: Function, S: Form<Item: Feeds<F::Input>>>(
    name: &str,
    definitions: &mut Definitions,
) -> String {
    let (source, function) = (S::cuda(definitions), F::cuda(definitions));
    let spreads = <S::Item as Feeds<F::Input>>::SPREADS;
    format!("warpfold::{name}<{function}, {source}, {spreads}>")
}
