//! Functions with parameters that are known when the program runs: [`map_with`], [`flagged_with`].

use super::{
    Constant, ConstantArguments, Feeds, Form, Leaves, Map, Place, Source, Zip, ZipArguments, map,
    sealed,
};
use crate::definitions::Definitions;
use crate::{Element, Function, Result};
use std::marker::PhantomData;

/// The source of the pairs of another one's items and some parameters; [`map_with`] makes it. Its
/// form is `Zip<(S, Constant<P>)>`.
#[derive(Debug, Clone, Copy)]
pub struct With<S, P> {
    source: S,
    parameters: P,
}

/// Gives each item of `source` to the function `F`, with some parameters behind it.
///
/// The parameters are a number, an array or a struct that derives
/// [`Element`](derive@crate::Element). They go to each call as the addresses of data do: other
/// values need no other kernel.
///
/// ```
/// use warpfold::{Element, collect, count, function, map_with, ops::Add, reduce, zip};
///
/// #[function]
/// fn above(x: f64, threshold: f64) -> bool {
///     x > threshold
/// }
///
/// let threshold = 2.5; // whatever the user says
/// assert_eq!(count(map_with::<above, _, _>(&[1.0, 3.0, 2.5, 4.0], threshold))?, 2);
///
/// #[derive(Clone, Copy, Element)]
/// #[repr(C)]
/// struct Line {
///     slope: f32,
///     offset: f32,
/// }
///
/// #[function]
/// fn on_line(x: f32, line: Line) -> f32 {
///     line.slope * x + line.offset
/// }
///
/// let line = Line { slope: 2.0, offset: 1.0 };
/// assert_eq!(collect(map_with::<on_line, _, _>(&[0.0, 3.0], line))?, [1.0, 7.0]);
///
/// // What zip gives is two arguments, and the parameters are the third.
/// #[function]
/// fn squared_error(x: f32, y: f32, line: Line) -> f32 {
///     let error = y - on_line(x, line);
///     error * error
/// }
///
/// let (x, y) = ([0.0, 3.0], [1.5, 6.0]);
/// let errors = map_with::<squared_error, _, _>(zip(&x, &y), line);
/// assert_eq!(reduce::<f32, Add>(errors)?, 1.25);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// Kernels of [`cuda`](crate::cuda) have the form `Map<F, Zip<(S, Constant<P>)>>`.
pub fn map_with<F, S, P: Element>(source: S, parameters: P) -> Map<F, With<S, P>> {
    map(With { source, parameters })
}

impl<L: Place, S: Source<L>, P: Element> Source<L> for With<S, P> {
    type Item = (S::Item, P);
    type Form = Zip<(S::Form, Constant<P>)>;

    fn items(&self) -> Result<usize> {
        self.source.items()
    }

    fn bind<'a>(&'a self, binder: &mut L::Binder<'a>) -> Result<<Self::Form as Form>::Arguments> {
        let parameters = ConstantArguments {
            value: self.parameters,
        };
        Ok(ZipArguments(self.source.bind(binder)?, parameters))
    }
}

/// The source of the pairs of an item and what a predicate with parameters says of it;
/// [`flagged_with`] makes it. Its form is `FlaggedWith<F, S, P>` of the form of `S`.
#[derive(Debug)]
pub struct FlaggedWith<F, S, P> {
    pairs: With<S, P>,
    predicate: PhantomData<fn() -> F>,
}

impl<F, S: Clone, P: Clone> Clone for FlaggedWith<F, S, P> {
    fn clone(&self) -> Self {
        FlaggedWith {
            pairs: self.pairs.clone(),
            predicate: PhantomData,
        }
    }
}

impl<F, S: Copy, P: Copy> Copy for FlaggedWith<F, S, P> {}

/// Pairs each item of `source` with what the predicate `F` says of it and of some parameters, as in
/// [`map_with`].
///
/// ```
/// use warpfold::{flagged_with, function, partition_flagged, select_flagged};
///
/// #[function]
/// fn within(x: i32, bounds: [i32; 2]) -> bool {
///     bounds[0] <= x && x < bounds[1]
/// }
///
/// let (x, bounds) = ([3, -8, 1, 4], [1, 4]);
/// assert_eq!(select_flagged::<i32>(flagged_with::<within, _, _>(&x, bounds))?, [3, 1]);
/// let (inside, outside) = partition_flagged::<i32>(flagged_with::<within, _, _>(&x, bounds))?;
/// assert_eq!((inside, outside), (vec![3, 1], vec![-8, 4]));
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn flagged_with<F, S, P: Element>(source: S, parameters: P) -> FlaggedWith<F, S, P> {
    FlaggedWith {
        pairs: With { source, parameters },
        predicate: PhantomData,
    }
}

impl<F, S, P> sealed::Sealed for FlaggedWith<F, S, P> {}

impl<L: Place, F, S, P: Element> Source<L> for FlaggedWith<F, S, P>
where
    F: Function<Output = bool>,
    S: Source<L>,
    (S::Item, P): Feeds<F::Input>,
{
    type Item = (S::Item, bool);
    type Form = FlaggedWith<F, S::Form, P>;

    fn items(&self) -> Result<usize> {
        self.pairs.items()
    }

    fn bind<'a>(&'a self, binder: &mut L::Binder<'a>) -> Result<<Self::Form as Form>::Arguments> {
        self.pairs.bind(binder)
    }
}

// SAFETY: `warpfold::FlaggedWith` in `kernels/source.cuh` holds the pairs, and nothing else.
unsafe impl<F, S, P: Element> Form for FlaggedWith<F, S, P>
where
    F: Function<Output = bool>,
    S: Form,
    (S::Item, P): Feeds<F::Input>,
{
    type Item = (S::Item, bool);
    type Arguments = ZipArguments<S::Arguments, ConstantArguments<P>>;

    const LEAVES: Leaves = <Zip<(S, Constant<P>)>>::LEAVES.mapped();

    #[inline(always)]
    unsafe fn get(arguments: &Self::Arguments, i: usize) -> Self::Item {
        // SAFETY: the caller's.
        let item = unsafe { S::get(&arguments.0, i) };
        (item, F::call((item, arguments.1.value).feed()))
    }

    #[inline(always)]
    fn prefetch(arguments: &Self::Arguments, items: std::ops::Range<usize>) {
        S::prefetch(&arguments.0, items);
    }

    fn is_aligned(arguments: &Self::Arguments, bytes: u64) -> bool {
        S::is_aligned(&arguments.0, bytes)
    }

    fn cuda(definitions: &mut Definitions) -> String {
        let (source, function) = (S::cuda(definitions), F::cuda(definitions));
        let parameters = P::cuda_type(definitions);
        let spreads = <(S::Item, P) as Feeds<F::Input>>::SPREADS;
        format!("warpfold::FlaggedWith<{function}, {source}, {parameters}, {spreads}>")
    }
}
