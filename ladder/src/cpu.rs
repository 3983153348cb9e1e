//! The steps that run on the CPU, and how long they take.

use crate::clock::median;
use crate::data::{Data, Product};
use crate::operator::Operator;
use crate::{Number, Result};
use std::hint::black_box;
use std::time::Instant;
use warpfold::ladder::{Problem, Runner, Step};
use warpfold::{Device, Order, map, zip};

/// The results of a step of the CPU, and its time in microseconds. `None` for other steps.
pub(crate) fn time<T: Number>(
    step: &Step,
    op: &Operator<T>,
    data: &Data<T>,
) -> Result<Option<(Vec<T>, f64)>> {
    let (items, second) = (&data.items, &data.second);
    match (&step.runner, step.problem) {
        (Runner::Loop, Problem::Reduce) => {
            measure_value(&mut || Ok((op.reduce_loop)(black_box(items))))
        }
        (Runner::Loop, Problem::Dot) => {
            measure_value(&mut || Ok((op.dot_loop)(black_box(items), black_box(second))))
        }
        (Runner::Loop, Problem::Scan) => {
            let mut out = vec![T::of(0); items.len()];
            let time = measure(&mut || {
                (op.scan_loop)(black_box(items), black_box(&mut out));
                Ok(())
            })?;
            Ok(Some((out, time)))
        }
        (Runner::Loop, Problem::Sort) => {
            let mut result = Vec::new();
            let time = median(&mut || {
                result = items.clone();
                let start = Instant::now();
                let order = Order::ascending();
                black_box(&mut result).sort_by(|&a, &b| order.compare(a, b));
                Ok(microseconds_since(start))
            })?;
            Ok(Some((result, time)))
        }
        (Runner::Halving, _) => {
            let given: Vec<T::Accumulator> = items.iter().map(|item| item.widen()).collect();
            let (mut items, mut result) = (given.clone(), T::of(0));
            let time = median(&mut || {
                items.copy_from_slice(&given);
                let start = Instant::now();
                result = black_box((op.halving)(black_box(&mut items)));
                Ok(microseconds_since(start))
            })?;
            Ok(Some((vec![result], time)))
        }
        (Runner::Cpu, problem) => ours(problem, op, data),
        (Runner::Kernel(_) | Runner::Engine(..), _) => Ok(None),
    }
}

/// The library's own calls. `None` for a dot product whose products are not added up: the call is
/// compiled for sums only.
fn ours<T: Number>(
    problem: Problem,
    op: &Operator<T>,
    data: &Data<T>,
) -> Result<Option<(Vec<T>, f64)>> {
    let cpu = Device::cpu();
    match problem {
        Problem::Reduce => {
            let items = cpu.upload(&data.items)?;
            measure_value(&mut || Ok((op.reduce)(&items)?))
        }
        Problem::Dot if op.is_sum => {
            let (items, second) = (cpu.upload(&data.items)?, cpu.upload(&data.second)?);
            measure_value(&mut || {
                let products = map::<Product<T>, _>(zip(&items, &second));
                Ok(cpu.reduce::<T, T::Sum>(products)?)
            })
        }
        Problem::Dot => Ok(None),
        Problem::Scan | Problem::Sort => {
            let mut result = None;
            let time = median(&mut || {
                let mut items = cpu.upload(&data.items)?;
                let start = Instant::now();
                match problem {
                    Problem::Sort => cpu.sort_in_place(&mut items, Order::ascending())?,
                    _ => (op.scan)(&mut items)?,
                }
                let time = microseconds_since(start);
                result = Some(items);
                Ok(time)
            })?;
            let results = result.expect("there was a round").into_vec()?;
            Ok(Some((results, time)))
        }
    }
}

/// What a call gives, and its time.
fn measure_value<T>(call: &mut dyn FnMut() -> Result<T>) -> Result<Option<(Vec<T>, f64)>> {
    let mut result = None;
    let time = measure(&mut || {
        result = Some(black_box(call()?));
        Ok(())
    })?;
    Ok(Some((result.into_iter().collect(), time)))
}

/// The time of a call.
fn measure(call: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    median(&mut || {
        let start = Instant::now();
        call()?;
        Ok(microseconds_since(start))
    })
}

fn microseconds_since(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e6
}

/// The time of a copy by one core, in microseconds.
pub(crate) fn time_copy<T: Number>(data: &Data<T>) -> Result<f64> {
    let mut copy = data.second.clone();
    measure(&mut || {
        black_box(&mut copy).copy_from_slice(black_box(&data.items));
        Ok(())
    })
}
