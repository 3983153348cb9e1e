//! What the two places of a shard have: host memory, and a device. So each call over shards is
//! written once.

use super::Nodes;
use crate::cpu::counter::Counter;
#[cfg(feature = "cuda")]
use crate::cuda::Gpu;
use crate::device::{Backend, Bound, Call};
use crate::element::assert_element_size;
use crate::ops::Add;
use crate::primitives::reduce::cpu::push;
use crate::primitives::weighted::cpu::append_sorted;
use crate::source::{Form, Host, Place, Source};
use crate::{
    Bins, Buffer, Carry, Count, Counted, Device, Element, Function, Monoid, Prefixes, Result, Runs,
    Scanner,
};

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

    /// Goes on after the carry.
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

    /// What an array holds.
    #[doc(hidden)]
    fn slice<T: Element>(array: &Self::Array<T>) -> &Self::Slice<T>;

    #[doc(hidden)]
    fn to_vec<T: Element>(array: Self::Array<T>) -> Result<Vec<T>>;

    #[doc(hidden)]
    fn of_vec<T: Element>(device: &Device, data: Vec<T>) -> Result<Self::Array<T>>;

    #[doc(hidden)]
    fn collect<T: Element>(
        device: &Device,
        source: impl Source<Self, Item = T>,
    ) -> Result<Self::Array<T>>;

    #[doc(hidden)]
    fn select_flagged<T: Element>(
        device: &Device,
        source: impl Source<Self, Item = (T, bool)>,
    ) -> Result<Self::Array<T>>;

    #[doc(hidden)]
    fn partition_flagged<T: Element>(
        device: &Device,
        source: impl Source<Self, Item = (T, bool)>,
    ) -> Result<(Self::Array<T>, Self::Array<T>)>;

    #[doc(hidden)]
    #[allow(clippy::type_complexity)]
    fn runs_by<T, Same>(
        device: &Device,
        source: impl Source<Self, Item = T>,
    ) -> Result<Runs<Self::Array<T>, Self::Array<u64>>>
    where
        T: Element,
        Same: Function<Input = (T, T), Output = bool>;

    /// An array from its second element on.
    #[doc(hidden)]
    fn without_the_first<T: Element>(
        device: &Device,
        array: Self::Array<T>,
    ) -> Result<Self::Array<T>>;

    #[doc(hidden)]
    fn histogram<C: Count, X: Counted>(
        device: &Device,
        source: impl Source<Self, Item = X>,
        bins: &Bins<X::Value>,
    ) -> Result<Self::Array<C>>;

    #[doc(hidden)]
    fn histogram_weighted<W: Element, X: Counted>(
        device: &Device,
        items: impl Source<Self, Item = X>,
        weights: impl Source<Self, Item = W>,
        bins: &Bins<X::Value>,
    ) -> Result<Self::Array<W>>
    where
        Add: Monoid<W>;

    /// The nodes of the weights of each bin, where so many come before: their sums, bin by bin.
    #[doc(hidden)]
    fn bin_nodes<W: Element, X: Counted>(
        device: &Device,
        items: impl Source<Self, Item = X>,
        weights: impl Source<Self, Item = W>,
        bins: &Bins<X::Value>,
        before: &[u64],
    ) -> Result<Vec<W::Accumulator>>
    where
        Add: Monoid<W>;
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
        let call = Call::<Host>::on(device);
        Ok(nodes_on_cpu(start, call.bind(&source)?))
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

    fn slice<T: Element>(array: &Vec<T>) -> &[T] {
        array
    }

    fn to_vec<T: Element>(array: Vec<T>) -> Result<Vec<T>> {
        Ok(array)
    }

    fn of_vec<T: Element>(_: &Device, data: Vec<T>) -> Result<Vec<T>> {
        Ok(data)
    }

    fn collect<T: Element>(_: &Device, source: impl Source<Item = T>) -> Result<Vec<T>> {
        crate::collect(source)
    }

    fn select_flagged<T: Element>(
        _: &Device,
        source: impl Source<Item = (T, bool)>,
    ) -> Result<Vec<T>> {
        crate::select_flagged(source)
    }

    fn partition_flagged<T: Element>(
        _: &Device,
        source: impl Source<Item = (T, bool)>,
    ) -> Result<(Vec<T>, Vec<T>)> {
        crate::partition_flagged(source)
    }

    fn runs_by<T, Same>(_: &Device, source: impl Source<Item = T>) -> Result<Runs<Vec<T>, Vec<u64>>>
    where
        T: Element,
        Same: Function<Input = (T, T), Output = bool>,
    {
        crate::runs_by::<T, Same>(source)
    }

    fn without_the_first<T: Element>(_: &Device, mut array: Vec<T>) -> Result<Vec<T>> {
        array.remove(0);
        Ok(array)
    }

    fn histogram<C: Count, X: Counted>(
        _: &Device,
        source: impl Source<Item = X>,
        bins: &Bins<X::Value>,
    ) -> Result<Vec<C>> {
        crate::histogram(source, bins)
    }

    fn histogram_weighted<W: Element, X: Counted>(
        _: &Device,
        items: impl Source<Item = X>,
        weights: impl Source<Item = W>,
        bins: &Bins<X::Value>,
    ) -> Result<Vec<W>>
    where
        Add: Monoid<W>,
    {
        crate::histogram_weighted(items, weights, bins)
    }

    fn bin_nodes<W: Element, X: Counted>(
        device: &Device,
        items: impl Source<Item = X>,
        weights: impl Source<Item = W>,
        bins: &Bins<X::Value>,
        before: &[u64],
    ) -> Result<Vec<W::Accumulator>>
    where
        Add: Monoid<W>,
    {
        let call = Call::<Host>::on(device);
        bin_nodes_on_cpu(call.bind(&items)?, call.bind(&weights)?, bins, before)
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
                let call = Call::<Device>::on(device);
                Ok(nodes_on_cpu(start, call.bind(&source)?))
            }
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                let call = Call::<Device>::on(device);
                nodes_on_gpu(gpu, start, call.bind(&source)?)
            }
        }
    }

    fn scan<T: Element, Op: Monoid<T>>(
        device: &Device,
        carry: Carry<T, Op>,
        prefixes: Prefixes<T>,
        source: impl Source<Device, Item = T>,
    ) -> Result<Buffer<T>> {
        let mut scanner = device.scanner(prefixes).after(carry);
        scanner.scan(source)
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
        let mut scanner = device.scanner(prefixes).after(carry);
        scanner.scan_in_place(data)
    }

    fn slice<T: Element>(array: &Buffer<T>) -> &Buffer<T> {
        array
    }

    fn to_vec<T: Element>(array: Buffer<T>) -> Result<Vec<T>> {
        array.into_vec()
    }

    fn of_vec<T: Element>(device: &Device, data: Vec<T>) -> Result<Buffer<T>> {
        device.upload_vec(data)
    }

    fn collect<T: Element>(
        device: &Device,
        source: impl Source<Device, Item = T>,
    ) -> Result<Buffer<T>> {
        device.collect(source)
    }

    fn select_flagged<T: Element>(
        device: &Device,
        source: impl Source<Device, Item = (T, bool)>,
    ) -> Result<Buffer<T>> {
        device.select_flagged(source)
    }

    fn partition_flagged<T: Element>(
        device: &Device,
        source: impl Source<Device, Item = (T, bool)>,
    ) -> Result<(Buffer<T>, Buffer<T>)> {
        device.partition_flagged(source)
    }

    fn runs_by<T, Same>(
        device: &Device,
        source: impl Source<Device, Item = T>,
    ) -> Result<Runs<Buffer<T>, Buffer<u64>>>
    where
        T: Element,
        Same: Function<Input = (T, T), Output = bool>,
    {
        device.runs_by::<T, Same>(source)
    }

    fn without_the_first<T: Element>(device: &Device, array: Buffer<T>) -> Result<Buffer<T>> {
        device.collect(array.slice(1..))
    }

    fn histogram<C: Count, X: Counted>(
        device: &Device,
        source: impl Source<Device, Item = X>,
        bins: &Bins<X::Value>,
    ) -> Result<Buffer<C>> {
        device.histogram(source, bins)
    }

    fn histogram_weighted<W: Element, X: Counted>(
        device: &Device,
        items: impl Source<Device, Item = X>,
        weights: impl Source<Device, Item = W>,
        bins: &Bins<X::Value>,
    ) -> Result<Buffer<W>>
    where
        Add: Monoid<W>,
    {
        device.histogram_weighted(items, weights, bins)
    }

    fn bin_nodes<W: Element, X: Counted>(
        device: &Device,
        items: impl Source<Device, Item = X>,
        weights: impl Source<Device, Item = W>,
        bins: &Bins<X::Value>,
        before: &[u64],
    ) -> Result<Vec<W::Accumulator>>
    where
        Add: Monoid<W>,
    {
        if !device.is_cpu() {
            let items = device.collect(items)?.into_vec()?;
            let weights = device.collect(weights)?.into_vec()?;
            return Host::bin_nodes(&Device::cpu(), &items, &weights, bins, before);
        }
        let call = Call::<Device>::on(device);
        bin_nodes_on_cpu(call.bind(&items)?, call.bind(&weights)?, bins, before)
    }
}

/// The nodes of items in host memory.
fn nodes_on_cpu<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    start: u64,
    source: Bound<'_, F>,
) -> Nodes<T, Op> {
    const { assert_element_size::<T>() };
    let mut counter = Counter::at(start);
    source.with_sums::<Op, _>(|items, sum_block| push::<T, Op>(items, sum_block, &mut counter));
    Nodes::of_counter(counter)
}

/// The nodes of each bin, of items and weights in host memory.
fn bin_nodes_on_cpu<W: Element, X: Counted, F: Form<Item = X>, G: Form<Item = W>>(
    items: Bound<'_, F>,
    weights: Bound<'_, G>,
    bins: &Bins<X::Value>,
    before: &[u64],
) -> Result<Vec<W::Accumulator>>
where
    Add: Monoid<W>,
{
    const { assert_element_size::<W>() };
    let mut counters: Vec<_> = before.iter().map(|&before| Counter::at(before)).collect();
    items.with_items(|items| {
        weights.with_items(|weights| append_sorted(items, weights, bins, &mut counters))
    })?;
    Ok(counters.iter().flat_map(Counter::sums).copied().collect())
}

#[cfg(feature = "cuda")]
fn nodes_on_gpu<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
    gpu: &Gpu,
    start: u64,
    part: Bound<'_, F>,
) -> Result<Nodes<T, Op>> {
    let mut counter = Counter::at(start);
    // SAFETY: the arguments are those of a source that lies on this GPU.
    unsafe { gpu.push::<T, Op, F>(part.arguments(), part.len(), &mut counter) }?;
    Ok(Nodes::of_counter(counter))
}
