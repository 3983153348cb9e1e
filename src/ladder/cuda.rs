//! The ladder's kernels on a GPU.

use super::{Argument, Buffer, Call, Kernel, Shape, source};
use crate::cuda::launch::{Grid, launch_function};
use crate::cuda::library::require_driver;
use crate::cuda::nvrtc::{self, Target};
use crate::cuda::{allocate, context_capability, download, driver_error, upload};
use crate::{Element, Monoid, Result};
use bytemuck::{bytes_of, cast_slice, pod_collect_to_vec};
use cudarc::driver::{CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr};
use cudarc::nvrtc::Ptx;
use std::any::type_name;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

/// Kernels of the ladder for one type and operator, loaded into a context.
#[derive(Debug)]
pub struct Loaded<T: Element> {
    functions: HashMap<&'static str, CudaFunction>,
    /// The operator's.
    identity: T::Accumulator,
    /// See [`Kernel::most_for`].
    most_for: fn(&Kernel) -> u64,
}

impl<T: Element> Loaded<T> {
    /// Compiles kernels and loads them. `Times` is as for [`source`](super::source()).
    ///
    /// # Errors
    ///
    /// Those of [`source`](super::source()); [`Error::Library`](crate::Error::Library) without
    /// driver or NVRTC; [`Error::Compile`](crate::Error::Compile);
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn load<Op: Monoid<T>, Times: Monoid<T>>(
        context: &Arc<CudaContext>,
        kernels: &[&Kernel],
    ) -> Result<Self> {
        require_driver()?;
        let text = source::<T, Op, Times>(kernels)?;
        Ok(Loaded {
            functions: functions(context, kernels, &text, type_name::<Op>())?,
            identity: Op::identity().widen(),
            most_for: Kernel::most_for::<T, Op>,
        })
    }

    /// Makes one of the loaded kernels ready to be called on the items, or on their first ones if
    /// it does not take so many.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Panics
    ///
    /// If the kernel is not loaded, if the two inputs have different lengths or no item, or as
    /// [`Kernel::call`] does.
    pub fn ready(
        &self,
        stream: &Arc<CudaStream>,
        kernel: &Kernel,
        shape: Shape,
        (items, second): (&[T], &[T]),
    ) -> Result<Ready<T>> {
        assert_eq!(items.len(), second.len(), "products are of pairs");
        let length = items.len().min((self.most_for)(kernel) as usize);
        let call = kernel.call(length as u64, shape);
        let functions = call.launches.iter().map(|launch| {
            let function = self.functions.get(launch.function);
            function.expect("the kernel is loaded").clone()
        });
        let functions = functions.collect();
        let values_bytes = |count: u64| count as usize * size_of::<T::Accumulator>();
        let (items, second) = (&items[..length], &second[..length]);
        let (mut buffers, mut starts) = (HashMap::new(), Vec::new());
        for buffer in Buffer::ALL.into_iter().filter(|&buffer| call.takes(buffer)) {
            let made = match buffer {
                Buffer::In => upload(stream, cast_slice::<T, u8>(items)),
                Buffer::Second => upload(stream, cast_slice::<T, u8>(second)),
                Buffer::Data => allocate(stream, values_bytes(length as u64)),
                Buffer::Values => allocate(stream, values_bytes(call.values)),
                Buffer::Out => allocate(stream, values_bytes(call.results).next_multiple_of(8)),
            };
            buffers.insert(buffer, made?);
        }
        if call.takes(Buffer::Data) {
            let widened: Vec<_> = items.iter().map(|item| item.widen()).collect();
            let start = upload(stream, cast_slice::<T::Accumulator, u8>(&widened))?;
            starts.push((Buffer::Data, start));
        }
        if kernel.folds_into_out() {
            let start = upload(stream, &cell(self.identity))?;
            starts.push((Buffer::Out, start));
        }
        Ok(Ready {
            stream: stream.clone(),
            length,
            call,
            functions,
            buffers,
            starts,
            identity: self.identity,
        })
    }
}

/// The functions of kernels, compiled and loaded.
fn functions(
    context: &Arc<CudaContext>,
    kernels: &[&Kernel],
    text: &str,
    operator: &str,
) -> Result<HashMap<&'static str, CudaFunction>> {
    let target = Target::for_capability(context_capability(context)?)?;
    let image = nvrtc::compile(text, operator, target)?;
    let image = match target {
        Target::Cubin(_) => Ptx::from_binary(image),
        Target::Ptx(_) => Ptx::from_src(String::from_utf8_lossy(&image).trim_end_matches('\0')),
    };
    let failed = |error| driver_error("loading the kernels of the ladder", error);
    let module = context.load_module(image).map_err(failed)?;
    let names = kernels.iter().flat_map(|kernel| kernel.functions);
    let functions = names.map(|&name| Ok((name, module.load_function(name)?)));
    functions.collect::<Result<_, _>>().map_err(failed)
}

/// A kernel, its input, and room for all that it needs.
#[derive(Debug)]
pub struct Ready<T: Element> {
    stream: Arc<CudaStream>,
    length: usize,
    call: Call,
    /// Those of the launches.
    functions: Vec<CudaFunction>,
    buffers: HashMap<Buffer, CudaSlice<u8>>,
    /// What buffers hold before a call.
    starts: Vec<(Buffer, CudaSlice<u8>)>,
    identity: T::Accumulator,
}

impl<T: Element> Ready<T> {
    /// How many items it takes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Enqueues what a call needs to find: its input, if the last call destroyed it, and the place
    /// that it folds into.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn reset(&mut self) -> Result<()> {
        let failed = |error| driver_error("resetting a step of the ladder", error);
        for (buffer, start) in &self.starts {
            let to = self.buffers.get_mut(buffer).expect("it is taken");
            self.stream.memcpy_dtod(start, to).map_err(failed)?;
        }
        Ok(())
    }

    /// Enqueues the launches. They must follow a [`reset`](Ready::reset).
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn enqueue(&mut self) -> Result<()> {
        for (launch, function) in self.call.launches.iter().zip(&self.functions) {
            let mut values: Vec<Vec<u8>> = launch
                .arguments
                .iter()
                .map(|argument| self.bytes_of(*argument))
                .collect();
            let mut parameters: Vec<_> = values
                .iter_mut()
                .map(|value| value.as_mut_ptr().cast::<c_void>())
                .collect();
            let grid = Grid::new(launch.blocks, launch.threads, 0);
            // SAFETY: the arguments are those of the function, as the call has them, and the
            // buffers have the sizes that the call says. The stream orders all that is done to
            // them. Nothing overlaps what precedes the launch.
            unsafe {
                launch_function(
                    &self.stream,
                    (launch.function, function),
                    grid,
                    false,
                    &mut parameters,
                )
            }?;
        }
        Ok(())
    }

    /// What the last call gave. Waits for it.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`](crate::Error::Driver), also if a kernel failed.
    pub fn results(&self) -> Result<Vec<T>> {
        let bytes = download::<u8>(&self.stream, &self.buffers[&Buffer::Out])?;
        let used = self.call.results as usize * size_of::<T::Accumulator>();
        let results: Vec<T::Accumulator> = pod_collect_to_vec(&bytes[..used]);
        Ok(results.into_iter().map(T::narrow).collect())
    }

    fn bytes_of(&self, argument: Argument) -> Vec<u8> {
        match argument {
            Argument::At(buffer, item) => {
                let (address, _guard) = self.buffers[&buffer].device_ptr(&self.stream);
                let address = address + item * size_of::<T::Accumulator>() as u64;
                bytes_of(&address).to_vec()
            }
            Argument::Length(length) => bytes_of(&length).to_vec(),
            Argument::Factor(factor) => bytes_of(&factor).to_vec(),
            Argument::Identity => bytes_of(&self.identity).to_vec(),
        }
    }
}

/// A place to fold into, as `Cell` in `kernels/ladder/step.cuh`: a word with the value in it.
fn cell<A: Element>(value: A) -> Vec<u8> {
    let mut bytes = bytes_of(&value).to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}
