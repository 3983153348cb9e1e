//! What every call checks before it enqueues anything.

use super::{StreamBinder, Workspace, check_context};
use crate::render::WorkspaceArguments;
use crate::source::{Form, Source};
use crate::{Error, Result};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};

/// The arguments of a source, and its number of items. `binder` keeps what it reads borrowed.
pub(crate) fn bind<'a, S: Source<CudaStream>>(
    binder: &mut StreamBinder<'a>,
    source: &'a S,
) -> Result<(<S::Form as Form>::Arguments, usize)> {
    let items = source.items()?;
    Ok((source.bind(binder)?, items))
}

/// Fails to compile for a source whose length is on the device.
pub(crate) const fn assert_length_is_known<F: Form>() {
    assert!(
        !F::LEAVES.counted,
        "how a reduction, a scan or a weighted histogram is cut up depends on the length, so `up_to` is \
         not for it"
    );
}

/// An error unless there is room for the one element that a call writes to `output`.
pub(crate) fn check_holds_one<T>(output: &impl DevicePtrMut<T>) -> Result<()> {
    match output.len() {
        0 => Err(Error::Length {
            input: 1,
            output: 0,
        }),
        _ => Ok(()),
    }
}

/// What a call's kernels are told of `workspace`. An error unless `stream` and all that is
/// `written`, each with its name, belong to the context of the kernels, and the workspace serves
/// the stream with `bytes` bytes.
pub(crate) fn check_call(
    kernels: &CudaContext,
    stream: &CudaStream,
    written: &[(&str, &CudaStream)],
    workspace: &Workspace,
    bytes: usize,
) -> Result<WorkspaceArguments> {
    check_streams(kernels, stream, written)?;
    workspace.arguments(stream, bytes)
}

/// An error unless `stream` and all that is `written`, each with its name, belong to the context of
/// the kernels.
pub(crate) fn check_streams(
    kernels: &CudaContext,
    stream: &CudaStream,
    written: &[(&str, &CudaStream)],
) -> Result<()> {
    check_context(kernels, "stream", stream.context())?;
    for (name, slice) in written {
        check_context(kernels, name, slice.context())?;
    }
    Ok(())
}
