//! What the two places of a shard have: host memory, and a device. So each call over shards is
//! written once.

use super::Nodes;
use crate::cpu::counter::Counter;
#[cfg(feature = "cuda")]
use crate::cpu::counter::blocks_of;
use crate::device::{Backend, DeviceBinder};
use crate::element::assert_element_size;
use crate::primitives::reduce::cpu::push;
use crate::source::{Form, Host, HostBinder, Items, Place, Source};
use crate::{Buffer, Carry, Device, Element, Monoid, Prefixes, Result, Scanner};
#[cfg(feature = "cuda")]
use crate::{Offsets, primitives::reduce::pieces::sums_are_elements};

/// Where a [`Shard`](super::Shard) lies: [`Host`] or [`Device`]. It cannot be implemented
/// elsewhere.
pub trait Site: Place + Sized + 'static {
    /// What a call gives: a vector or a buffer.
    type Array<T: Element>;

    /// What a call writes to: a slice or a buffer.
    type Slice<T: Element>: ?Sized;

    /// Elements as a source.
    #[doc(hidden)]
    fn source<T: Element>(data: &Self::Slice<T>) -> impl Source<Self, Item = T>;

    #[doc(hidden)]
    fn nodes<T: Element, Op: Monoid<T>>(
        device: &Device,
        start: u64,
        source: impl Source<Self, Item = T>,
    ) -> Result<Nodes<T, Op>>;

    #[doc(hidden)]
    fn scan<T: Element, Op: Monoid<T>>(
        device: &Device,
        carry: Carry<T, Op>,
        prefixes: Prefixes<T>,
        source: impl Source<Self, Item = T>,
    ) -> Result<Self::Array<T>>;

    #[doc(hidden)]
    fn scan_into<T: Element, Op: Monoid<T>>(
        device: &Device,
        carry: Carry<T, Op>,
        prefixes: Prefixes<T>,
        source: impl Source<Self, Item = T>,
        output: &mut Self::Slice<T>,
    ) -> Result<()>;

    #[doc(hidden)]
    fn scan_in_place<T: Element, Op: Monoid<T>>(
        device: &Device,
        carry: Carry<T, Op>,
        prefixes: Prefixes<T>,
        data: &mut Self::Slice<T>,
    ) -> Result<()>;
}

impl Site for Host {
    type Array<T: Element> = Vec<T>;
    type Slice<T: Element> = [T];

    fn source<T: Element>(data: &[T]) -> impl Source<Item = T> {
        data
    }

    fn nodes<T: Element, Op: Monoid<T>>(
        device: &Device,
        start: u64,
        source: impl Source<Item = T>,
    ) -> Result<Nodes<T, Op>> {
        let mut binder = HostBinder::new(device);
        let (len, arguments) = (source.items()?, source.bind(&mut binder)?);
        // SAFETY: the device of host memory is the CPU, so these are addresses in it. The source
        // outlives the call.
        Ok(unsafe { nodes_on_cpu(&source, start, len, arguments) })
    }

    fn scan<T: Element, Op: Monoid<T>>(
        _: &Device,
        carry: Carry<T, Op>,
        prefixes: Prefixes<T>,
        source: impl Source<Item = T>,
    ) -> Result<Vec<T>> {
        Scanner::new(prefixes).after(carry).scan(source)
    }

    fn scan_into<T: Element, Op: Monoid<T>>(
        _: &Device,
        carry: Carry<T, Op>,
        prefixes: Prefixes<T>,
        source: impl Source<Item = T>,
        output: &mut [T],
    ) -> Result<()> {
        let mut scanner = Scanner::new(prefixes).after(carry);
        scanner.scan_into(source, output)
    }

    fn scan_in_place<T: Element, Op: Monoid<T>>(
        _: &Device,
        carry: Carry<T, Op>,
        prefixes: Prefixes<T>,
        data: &mut [T],
    ) -> Result<()> {
        Scanner::new(prefixes).after(carry).scan_in_place(data)
    }
}

impl Site for Device {
    type Array<T: Element> = Buffer<T>;
    type Slice<T: Element> = Buffer<T>;

    fn source<T: Element>(data: &Buffer<T>) -> impl Source<Device, Item = T> {
        data
    }

    fn nodes<T: Element, Op: Monoid<T>>(
        device: &Device,
        start: u64,
        source: impl Source<Device, Item = T>,
    ) -> Result<Nodes<T, Op>> {
        match &device.backend {
            Backend::Cpu => {
                let mut binder = DeviceBinder::new(device);
                let (len, arguments) = (source.items()?, source.bind(&mut binder)?);
                // SAFETY: the binder gave addresses in host memory. The source outlives the call.
                Ok(unsafe { nodes_on_cpu(&source, start, len, arguments) })
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(_) if sums_are_elements::<T>() => nodes_of_blocks(device, start, source),
            #[cfg(feature = "cuda")]
            Backend::Cuda(_) => {
                let items = device.collect(source)?.into_vec()?;
                Host::nodes(&Device::cpu(), start, &items)
            }
        }
    }

    fn scan<T: Element, Op: Monoid<T>>(
        device: &Device,
        carry: Carry<T, Op>,
        prefixes: Prefixes<T>,
        source: impl Source<Device, Item = T>,
    ) -> Result<Buffer<T>> {
        device.scanner(prefixes).after(carry).scan(source)
    }

    fn scan_into<T: Element, Op: Monoid<T>>(
        device: &Device,
        carry: Carry<T, Op>,
        prefixes: Prefixes<T>,
        source: impl Source<Device, Item = T>,
        output: &mut Buffer<T>,
    ) -> Result<()> {
        let mut scanner = device.scanner(prefixes).after(carry);
        scanner.scan_into(source, output)
    }

    fn scan_in_place<T: Element, Op: Monoid<T>>(
        device: &Device,
        carry: Carry<T, Op>,
        prefixes: Prefixes<T>,
        data: &mut Buffer<T>,
    ) -> Result<()> {
        device.scanner(prefixes).after(carry).scan_in_place(data)
    }
}

/// # Safety
///
/// The arguments are those of the source, which lies in host memory and has `len` items.
unsafe fn nodes_on_cpu<P: Place, T: Element, Op: Monoid<T>, S: Source<P, Item = T>>(
    _: &S,
    start: u64,
    len: usize,
    arguments: <S::Form as Form>::Arguments,
) -> Nodes<T, Op> {
    const { assert_element_size::<T>() };
    let mut counter = Counter::at(start);
    // SAFETY: the caller's.
    unsafe {
        Items::with_sums::<S::Form, Op, _>(&arguments, len, |items, sum_block| {
            push::<T, Op>(items, sum_block, &mut counter);
        });
    }
    Nodes::of_counter(counter)
}

/// The nodes by a segmented reduction: each block is a segment, and its fold has the bracketing of
/// a power of two of elements, which is the block's wherever it lies.
#[cfg(feature = "cuda")]
fn nodes_of_blocks<T: Element, Op: Monoid<T>>(
    device: &Device,
    start: u64,
    source: impl Source<Device, Item = T>,
) -> Result<Nodes<T, Op>> {
    let stretch = start..start + source.items()? as u64;
    let ends = blocks_of(stretch.clone()).map(|block| block.end - start);
    let offsets = device.upload_vec(std::iter::once(0).chain(ends).collect::<Vec<u64>>())?;
    let segments = Offsets::unchecked::<Device, u64>(&offsets)?;
    let sums = device.segmented_reduce::<T, Op>(source, segments)?;
    let sums = sums.into_vec()?.into_iter().map(T::widen).collect();
    let counter = Counter::of_stretch(stretch, sums).expect("a sum for each block");
    Ok(Nodes::of_counter(counter))
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::*;

    /// Of floats whose sums round.
    #[test]
    fn blocks_are_segments() {
        let data: Vec<f32> = (0..5000).map(|i| 0.1 + (i as f32).sin()).collect();
        let device = Device::cpu();
        for start in [0, 1, 7, 64, 4095, 4096, 1 << 40, (1 << 40) + 3] {
            for len in [0, 1, 2, 63, 64, 1000, 4097, 5000] {
                let buffer = device.upload(&data[..len]).unwrap();
                let by_blocks = nodes_of_blocks::<f32, crate::ops::Add>(&device, start, &buffer);
                let nodes = Nodes::of(start, &data[..len]).unwrap();
                assert!(by_blocks.unwrap() == nodes, "{len} from {start}");
            }
        }
    }
}
