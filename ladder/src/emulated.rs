//! The ladder's kernels in the emulator.

use crate::data::Data;
use crate::operator::Operator;
use crate::{Error, Number, Result};
use warpfold::bytemuck::{bytes_of, cast_slice, pod_collect_to_vec};
use warpfold::ladder::{self, Argument, Buffer, Call, Kernel, Shape, Step};
use warpfold_emulator::{self as emulator, Grid, Module, Record, Script, Toolchain};

/// All kernels of the ladder, compiled.
pub(crate) fn module<T: Number>(op: &Operator<T>, toolchain: &Toolchain) -> Result<Module> {
    let kernels: Vec<&Kernel> = ladder::steps().filter_map(Step::kernel).collect();
    let text = (op.source)(&kernels)?;
    let names = kernels.iter().flat_map(|kernel| kernel.functions);
    let names: Vec<&str> = names.copied().collect();
    let name = format!("ladder {} {}", T::NAME, op.name);
    toolchain
        .try_module(&name, &text, &names)
        .map_err(Error::Emulator)
}

/// What came of a call of a kernel.
pub(crate) struct Run<T> {
    pub(crate) results: Vec<T>,
    pub(crate) record: Record,
}

/// Calls a kernel on the first `length` items. The error is the emulator's: a rule of the machine
/// that the kernel broke.
pub(crate) fn run<T: Number>(
    module: &Module,
    op: &Operator<T>,
    kernel: &Kernel,
    shape: Shape,
    data: &Data<T>,
    length: usize,
    traced: bool,
) -> Result<Run<T>, String> {
    let mut script = Script::new();
    script.start_in_order();
    let call = append(&mut script, op, kernel, shape, data, length);
    let record = script.record(module, traced)?;
    Ok(Run {
        results: results(&call, &record.saved),
        record,
    })
}

/// What a call's saved bytes are.
pub(crate) fn results<T: Number>(call: &Call, saved: &[u8]) -> Vec<T> {
    let used = call.results as usize * size_of::<T::Accumulator>();
    let results: Vec<T::Accumulator> = pod_collect_to_vec(&saved[..used]);
    results.into_iter().map(T::narrow).collect()
}

/// Appends the commands of a call. Its results are saved.
pub(crate) fn append<T: Number>(
    script: &mut Script,
    op: &Operator<T>,
    kernel: &Kernel,
    shape: Shape,
    data: &Data<T>,
    length: usize,
) -> Call {
    let call = kernel.call(length as u64, shape);
    fill(script, op, kernel, &call, data, length);
    for launch in &call.launches {
        let arguments: Vec<_> = launch
            .arguments
            .iter()
            .map(|argument| match *argument {
                Argument::At(buffer, item) => {
                    let bytes = item as usize * size_of::<T::Accumulator>();
                    emulator::Argument::At(buffer.name(), bytes)
                }
                Argument::Length(length) => emulator::Argument::value(length),
                Argument::Factor(factor) => emulator::Argument::value(factor),
                Argument::Identity => emulator::Argument::of_struct(&op.identity),
            })
            .collect();
        let grid = Grid::new(launch.blocks.into(), launch.threads);
        script.launch(launch.function, grid, &arguments);
    }
    script.save(Buffer::Out.name());
    call
}

/// Makes the call's buffers.
fn fill<T: Number>(
    script: &mut Script,
    op: &Operator<T>,
    kernel: &Kernel,
    call: &Call,
    data: &Data<T>,
    length: usize,
) {
    let accumulator = size_of::<T::Accumulator>();
    for buffer in Buffer::ALL.into_iter().filter(|&buffer| call.takes(buffer)) {
        let name = buffer.name();
        // Files hold all items: calls of one script share them, whatever their lengths.
        let (content, bytes): (Vec<u8>, usize) = match buffer {
            Buffer::In => (cast_slice(&data.items).to_vec(), length * size_of::<T>()),
            Buffer::Second => (cast_slice(&data.second).to_vec(), length * size_of::<T>()),
            Buffer::Data => {
                let items = data.items.iter();
                let items = items.map(|item| item.widen()).collect::<Vec<_>>();
                (cast_slice(&items).to_vec(), length * accumulator)
            }
            Buffer::Values => {
                script.buffer(name, 0, call.values as usize * accumulator);
                continue;
            }
            // Cells are words, which have other bytes besides the value's.
            Buffer::Out if kernel.folds_into_out() => {
                let mut cell = bytes_of(&op.identity).to_vec();
                cell.resize(8, 0);
                (cell, 8)
            }
            Buffer::Out => {
                script.buffer(name, 0, call.results as usize * accumulator);
                continue;
            }
        };
        script.file(name, &content);
        script.filled(name, 0, bytes, name);
    }
}

/// The shape and the length of a run that is drawn: small, with two blocks if there can be two.
pub(crate) fn small(kernel: &Kernel) -> (Shape, usize) {
    if kernel.most.is_some() {
        // So long that padding shows, where there is any.
        let is_padded = kernel.text().contains("Padded");
        return (kernel.shape(), if is_padded { 64 } else { 16 });
    }
    let threads = kernel.fewest_threads.max(4);
    let shape = Shape { threads, factor: 2 };
    let mut length = 8;
    while kernel.call(length, shape).launches[0].blocks < 2 || length < u64::from(4 * threads) {
        length *= 2;
    }
    (shape, length as usize)
}

#[cfg(test)]
#[path = "emulated_tests.rs"]
mod tests;
