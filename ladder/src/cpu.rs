//! The steps that run on the CPU, and how long they take.

use crate::clock::median;
use crate::data::{Data, Product};
use crate::{Number, Result};
use std::any::TypeId;
use std::hint::black_box;
use std::time::Instant;
use warpfold::ladder::{Problem, Runner, Step, halving, sequential_reduce, sequential_scan};
use warpfold::{Device, Function, Monoid, Prefixes, map, zip};

/// The results of a step of the CPU, and its time in microseconds. `None` for other steps.
pub(crate) fn time<T: Number, Op: Monoid<T>>(
    step: &Step,
    data: &Data<T>,
) -> Result<Option<(Vec<T>, f64)>> {
    match (&step.runner, step.problem) {
        (Runner::Loop, Problem::Reduce) => {
            let items = || black_box(&data.items).iter().copied();
            measure(|| Ok(vec![sequential_reduce::<T, Op>(items())])).map(Some)
        }
        (Runner::Loop, Problem::Dot) => {
            let pairs = || data.items.iter().copied().zip(data.second.iter().copied());
            let products = || black_box(pairs()).map(Product::call);
            measure(|| Ok(vec![sequential_reduce::<T, Op>(products())])).map(Some)
        }
        (Runner::Loop, Problem::Scan) => {
            let mut out = vec![T::of(0); data.items.len()];
            let ((), time) = measure(|| {
                sequential_scan::<T, Op>(black_box(&data.items), &mut out);
                Ok(())
            })?;
            Ok(Some((out, time)))
        }
        (Runner::Halving, _) => {
            let given: Vec<T::Accumulator> = data.items.iter().map(|item| item.widen()).collect();
            let (mut items, mut result) = (given.clone(), T::of(0));
            let time = median(|| -> Result<f64> {
                items.copy_from_slice(&given);
                let start = Instant::now();
                result = black_box(halving::<T, Op>(black_box(&mut items)));
                Ok(microseconds_since(start))
            })?;
            Ok(Some((vec![result], time)))
        }
        (Runner::Cpu, problem) => ours::<T, Op>(problem, data),
        (Runner::Kernel(_) | Runner::Engine(..), _) => Ok(None),
    }
}

/// The library's own calls. `None` for a dot product whose products are not added up: the call is
/// compiled for sums only.
fn ours<T: Number, Op: Monoid<T>>(
    problem: Problem,
    data: &Data<T>,
) -> Result<Option<(Vec<T>, f64)>> {
    let cpu = Device::cpu();
    match problem {
        Problem::Reduce => {
            let items = cpu.upload(&data.items)?;
            measure(|| Ok(vec![cpu.reduce::<T, Op>(&items)?]))
        }
        Problem::Dot if TypeId::of::<Op>() == TypeId::of::<T::Sum>() => {
            let (items, second) = (cpu.upload(&data.items)?, cpu.upload(&data.second)?);
            measure(|| {
                let products = map::<Product<T>, _>(zip(&items, &second));
                Ok(vec![cpu.reduce::<T, T::Sum>(products)?])
            })
        }
        Problem::Dot => return Ok(None),
        Problem::Scan => {
            let mut result = None;
            let time = median(|| -> Result<f64> {
                let mut items = cpu.upload(&data.items)?;
                let start = Instant::now();
                cpu.scan_in_place::<T, Op>(Prefixes::exclusive(), &mut items)?;
                let time = microseconds_since(start);
                result = Some(items);
                Ok(time)
            })?;
            Ok((result.expect("there was a round").into_vec()?, time))
        }
    }
    .map(Some)
}

/// What a call gives, and its time.
fn measure<R>(mut call: impl FnMut() -> Result<R>) -> Result<(R, f64)> {
    let mut result = None;
    let time = median(|| -> Result<f64> {
        let start = Instant::now();
        let given = black_box(call()?);
        let time = microseconds_since(start);
        result = Some(given);
        Ok(time)
    })?;
    Ok((result.expect("there was a round"), time))
}

fn microseconds_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e6
}

/// The time of a copy by one core, in microseconds.
pub(crate) fn time_copy<T: Number>(data: &Data<T>) -> Result<f64> {
    let mut copy = data.second.clone();
    let ((), time) = measure(|| {
        black_box(&mut copy).copy_from_slice(black_box(&data.items));
        Ok(())
    })?;
    Ok(time)
}
