//! The reductions of statistics run in the emulator: they equal the oracle over the items of their
//! sources, wherever their slices start.

use crate::sources::emulated::{Case, MOST, check_reductions, leaf_of, slice};
use crate::support::numbers::{Real, numbers};
use warpfold::half::{bf16, f16};
use warpfold::ops::Min;
use warpfold::source::{IndexArguments, Slice, ZipArguments};
use warpfold::statistics::{
    Extremes, First, Measured, Merge, Moments, Number, Packed, Place, QuickMerge, QuickMoments,
    QuicklyMeasured, Ranked, Twice,
};
use warpfold::{Function, Monoid};

/// Numbers of which some are infinite or NaN, if they can be.
fn data<T: Real>() -> Vec<T> {
    numbers::<T>(MOST, 1, 30)
}

fn check_moments<T: Real>() {
    let data = data::<T>();
    let case = Case::<QuicklyMeasured<T>> {
        arguments: |_| slice("a"),
        leaves: vec![leaf_of("a", &data)],
        elements: |length| length,
        items: data.iter().map(|x| QuickMoments::of(x.to_f64())).collect(),
    };
    let name = format!("quick moments of {}", std::any::type_name::<T>());
    check_reductions::<QuickMoments, QuickMerge, _>(&name, &case);

    let case = Case::<Measured<T>> {
        arguments: |_| slice("a"),
        leaves: vec![leaf_of("a", &data)],
        elements: |length| length,
        items: data.iter().map(|&x| T::Measure::call((x,))).collect(),
    };
    let name = format!("moments of {}", std::any::type_name::<T>());
    check_reductions::<Moments, Merge, _>(&name, &case);
}

fn check_extremes<T: Real>()
where
    [T::Accumulator; 2]: crate::support::data::Sample,
    Extremes: Monoid<[T::Accumulator; 2]>,
{
    let data = data::<T>();
    let case = Case::<Twice<T>> {
        arguments: |_| slice("a"),
        leaves: vec![leaf_of("a", &data)],
        elements: |length| length,
        items: data.iter().map(|x| [x.widen(); 2]).collect(),
    };
    let name = format!("extremes of {}", std::any::type_name::<T>());
    check_reductions::<[T::Accumulator; 2], Extremes, _>(&name, &case);
}

fn check_places<T: Real, Rank: Function<Input = (T,), Output = u64>>() {
    let data = data::<T>();
    let case = Case::<Ranked<Rank, Slice<T>>> {
        arguments: |_| ZipArguments(slice("a"), IndexArguments { first: 0 }),
        leaves: vec![leaf_of("a", &data)],
        elements: |length| length,
        items: (0..)
            .zip(&data)
            .map(|(position, &x)| Place::new(Rank::call((x,)), position))
            .collect(),
    };
    let name = format!("places of {}", std::any::type_name::<Rank>());
    check_reductions::<Place, First, _>(&name, &case);
}

fn check_packed<T: Real, Rank: Function<Input = (T,), Output = u64>>() {
    let data = data::<T>();
    let case = Case::<Packed<Rank, Slice<T>>> {
        arguments: |_| ZipArguments(slice("a"), IndexArguments { first: 0 }),
        leaves: vec![leaf_of("a", &data)],
        elements: |length| length,
        items: (0..)
            .zip(&data)
            .map(|(position, &x)| Rank::call((x,)) << 32 | position)
            .collect(),
    };
    let name = format!("packed places of {}", std::any::type_name::<Rank>());
    check_reductions::<u64, Min, _>(&name, &case);
}

#[test]
fn moments_of_numbers() {
    check_moments::<u8>();
    check_moments::<i64>();
    check_moments::<f16>();
    check_moments::<f32>();
}

#[test]
fn extremes_of_numbers() {
    check_extremes::<f16>();
    check_extremes::<i32>();
}

#[test]
fn places_of_the_first() {
    check_places::<i8, <i8 as Number>::RankUp>();
    check_places::<f32, <f32 as Number>::RankUp>();
    check_places::<bf16, <bf16 as Number>::RankDown>();
    check_places::<f64, <f64 as Number>::RankDown>();
    check_packed::<i8, <i8 as Number>::RankUp>();
    check_packed::<f32, <f32 as Number>::RankDown>();
}
