//! The nodes of parts of an array: what one rank, task or job computes, and others merge.

use super::Site;
use super::bytes::{Reader, put_name, take_name};
use super::identity::{Hash, hash_of, name_of};
use crate::cpu::counter::{Counter, blocks_of};
use crate::cpu::mode::in_rust_mode;
use crate::device::Backend;
use crate::element::assert_element_size;
use crate::primitives::reduce::cpu::{push_read, value};
use crate::source::{Host, Source};
use crate::{Carry, Device, Element, Error, Monoid, Result};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// The nodes of [the law](crate#the-law)'s tree over one part of an array, or several: the sum of
/// each of the largest aligned blocks that make it up.
///
/// A part `[a, b)` has at most 2·log₂ b nodes. Nodes are computed anywhere, and
/// [merged](Nodes::merge) in any order of arrival, neighbours or not. Once they are those of
/// `[0, n)`, their [value](Nodes::value) has the bits of one call over all n elements, whatever the
/// operator.
///
/// ```
/// use warpfold::{ops::Add, reduce, shards::Nodes};
///
/// let data: Vec<f32> = (0..1000).map(|i| (i as f32).sqrt()).collect();
/// let mut all = Nodes::<f32, Add>::new();
/// for part in [700..1000, 0..123, 123..700] {
///     let nodes = Nodes::<f32, Add>::of(part.start as u64, &data[part])?;
///     // Bytes go through a file, a queue or a socket.
///     all.merge(&Nodes::from_bytes(&nodes.to_bytes())?)?;
/// }
/// assert_eq!(all.value(1000)?, reduce::<f32, Add>(&data)?);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// With the feature `serde` it can be serialised: as [`to_bytes`](Nodes::to_bytes) gives it, so
/// with its checks.
pub struct Nodes<T: Element, Op> {
    /// Of stretches that do not touch, in their order.
    pub(super) stretches: Vec<Counter<T::Accumulator>>,
    operator: PhantomData<fn() -> Op>,
}

/// The most nodes of one part: an ascending and a descending block of each length below 2^62.
pub(super) const MOST_NODES: usize = 2 * 62;

/// As a number, so that another order of bytes shows.
const MAGIC: u64 = u64::from_le_bytes(*b"wfnodes1");

/// The bytes before the parts: the magic, the length, the hash, the name, and how many parts.
const HEADER_BYTES: usize = 3 * 8 + super::bytes::NAME_BYTES + 8;

impl<T: Element, Op> Nodes<T, Op> {
    /// The bytes that hold the nodes of one part, wherever it lies: at most 8 KiB, less for shorter
    /// elements. A packet of that size serves all ranks.
    pub const PACKET_BYTES: usize =
        HEADER_BYTES + 2 * 8 + MOST_NODES * size_of::<T::Accumulator>() + 8;

    /// Those of no element.
    pub fn new() -> Nodes<T, Op> {
        Nodes::of_stretches(Vec::new())
    }

    fn of_stretches(stretches: Vec<Counter<T::Accumulator>>) -> Nodes<T, Op> {
        Nodes {
            stretches,
            operator: PhantomData,
        }
    }

    /// Nodes that were taken apart, or computed by other means: of `range`, the sum of each of the
    /// largest aligned blocks that make it up, from left to right.
    ///
    /// ```
    /// use warpfold::{ops::Add, shards::Nodes};
    ///
    /// // The blocks of [1, 4) are [1, 2) and [2, 4).
    /// let nodes = Nodes::<f32, Add>::from_sums(1..4, vec![0.5, 2.5])?;
    /// assert_eq!(nodes, Nodes::of(1, &[0.5, 1.0, 1.5])?);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Nodes`] unless there is a sum for each block, and if the range passes 2^63.
    pub fn from_sums(range: Range<u64>, sums: Vec<T::Accumulator>) -> Result<Nodes<T, Op>> {
        let (count, shown) = (sums.len(), show(&range));
        if range.start > range.end || range.end >> 63 != 0 {
            return Err(fault(format!(
                "are of {shown}, which is no range below 2^63"
            )));
        }
        match Counter::of_stretch(range, sums) {
            Some(counter) => Ok(Nodes::of_counter(counter)),
            None => Err(fault(format!(
                "of {shown} are not {count}\n  remedy: give a sum for each of the largest aligned blocks"
            ))),
        }
    }

    /// Those that a counter has.
    pub(super) fn of_counter(counter: Counter<T::Accumulator>) -> Nodes<T, Op> {
        let is_empty = counter.start() == counter.end();
        Nodes::of_stretches(if is_empty { Vec::new() } else { vec![counter] })
    }

    /// Which elements they are of: ranges of positions that do not touch, in their order.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> {
        let range = |counter: &Counter<_>| counter.start()..counter.end();
        self.stretches.iter().map(range)
    }

    /// The nodes from left to right: the elements of each, which are an aligned block, and their
    /// sum. Sums of halves are `f32`.
    pub fn iter(&self) -> impl Iterator<Item = (Range<u64>, T::Accumulator)> {
        let of_stretch = |counter: &Counter<T::Accumulator>| {
            let sums: Vec<_> = counter.sums().to_vec();
            blocks_of(counter.start()..counter.end()).zip(sums)
        };
        self.stretches.iter().flat_map(of_stretch)
    }

    /// As a [`Carry`], from which a [`Reducer`](crate::Reducer) or a [`Scanner`](crate::Scanner)
    /// goes on.
    ///
    /// # Errors
    ///
    /// [`Error::Nodes`] unless they are those of all elements before some position.
    pub fn carry(&self) -> Result<Carry<T, Op>> {
        match &self.stretches[..] {
            [] => Ok(Carry::new()),
            [all] if all.start() == 0 => Ok(Carry::of(all.clone())),
            _ => Err(fault(format!(
                "are of {}, not of all elements before a position\n  remedy: merge those of the elements between",
                self.shown()
            ))),
        }
    }

    /// How errors show the ranges.
    fn shown(&self) -> String {
        let mut ranges: Vec<_> = self.ranges().take(4).map(|range| show(&range)).collect();
        match self.stretches.len() {
            0 => return "no element".to_owned(),
            count if count > 4 => ranges.push(format!("{} more", count - 4)),
            _ => {}
        }
        ranges.join(", ")
    }
}

fn show(range: &Range<u64>) -> String {
    format!("[{}, {})", range.start, range.end)
}

fn fault(fault: String) -> Error {
    Error::Nodes { fault }
}

impl<T: Element, Op: Monoid<T>> Nodes<T, Op> {
    /// Those of a source in host memory whose first item stands at `start` of the whole.
    ///
    /// Complexity: O(n) work, by all threads of the CPU; memory as for
    /// [`Reducer`](crate::Reducer).
    ///
    /// # Errors
    ///
    /// [`Error::Nodes`] if the part passes 2^63; [`Error::Zip`] if zipped sources have different
    /// lengths.
    pub fn of(start: u64, source: impl Source<Item = T>) -> Result<Nodes<T, Op>> {
        check_end(start, source.items()?)?;
        Host::nodes(&Device::cpu(), start, source)
    }

    /// Those of a source on a device whose first item stands at `start` of the whole.
    ///
    /// On a GPU that is one launch, wherever the part starts and ends. Each item is read once. Then
    /// the host waits for the sums.
    ///
    /// # Errors
    ///
    /// As [`of`](Nodes::of), and those of [`Device::reduce`].
    pub fn on(
        device: &Device,
        start: u64,
        source: impl Source<Device, Item = T>,
    ) -> Result<Nodes<T, Op>> {
        check_end(start, source.items()?)?;
        Device::nodes(device, start, source)
    }

    /// Those of elements in host memory, the first of which stands at `start` of the whole. A GPU
    /// gets them as [`Reducer::push_slice`](crate::Reducer::push_slice) says: in chunks, while it
    /// reduces those before.
    ///
    /// # Errors
    ///
    /// As [`of`](Nodes::of), and those of [`Reducer::push_slice`](crate::Reducer::push_slice).
    pub fn of_slice(device: &Device, start: u64, piece: &[T]) -> Result<Nodes<T, Op>> {
        check_end(start, piece.len())?;
        match &device.backend {
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                let mut counter = Counter::at(start);
                gpu.push_slice::<T, Op>(piece, &mut counter)?;
                Ok(Nodes::of_counter(counter))
            }
            Backend::Cpu => Host::nodes(&Device::cpu(), start, piece),
        }
    }

    /// Those of `len` elements that `read` brings to host memory, the first of which stands at
    /// `start` of the whole: a part of a file, say. `read(at, to)` writes elements `at..at +
    /// to.len()` of this part over `to`, as for
    /// [`Reducer::push_read`](crate::Reducer::push_read).
    ///
    /// ```
    /// use warpfold::{Device, Error, ops::Add, shards::Nodes};
    ///
    /// let samples: Vec<f32> = (0..9000).map(|i| (i as f32).sqrt()).collect();
    /// let read = |at: usize, to: &mut [f32]| {
    ///     to.copy_from_slice(&samples[1000 + at..][..to.len()]);
    ///     Ok::<_, Error>(())
    /// };
    /// let nodes = Nodes::<f32, Add>::read(&Device::cpu(), 1000, 8000, read)?;
    /// assert_eq!(nodes, Nodes::of(1000, &samples[1000..])?);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// One of the errors of `read`, or of [`of_slice`](Nodes::of_slice).
    pub fn read<E: Send + From<Error>>(
        device: &Device,
        start: u64,
        len: usize,
        read: impl Fn(usize, &mut [T]) -> std::result::Result<(), E> + Sync,
    ) -> std::result::Result<Nodes<T, Op>, E> {
        const { assert_element_size::<T>() };
        check_end(start, len)?;
        let mut counter = Counter::at(start);
        match &device.backend {
            #[cfg(feature = "cuda")]
            Backend::Cuda(gpu) => {
                gpu.push_read::<T, Op, E>(len, read, &mut counter)?;
            }
            Backend::Cpu => push_read::<T, Op, E>(len, read, &mut counter)?,
        }
        Ok(Nodes::of_counter(counter))
    }

    /// Adds the nodes of other elements. Two halves of a block become the block, so the order in
    /// which nodes are merged does not show.
    ///
    /// Complexity: O(log n) for the nodes of one part, and a move of the parts behind it that do
    /// not touch yet.
    ///
    /// # Errors
    ///
    /// [`Error::Nodes`] if both have an element. Then these are as they were.
    pub fn merge(&mut self, other: &Nodes<T, Op>) -> Result<()> {
        for counter in &other.stretches {
            let at = self.place_of(counter.start());
            let neighbours = &self.stretches[at.saturating_sub(1)..];
            for own in neighbours.iter().take(2) {
                let start = own.start().max(counter.start());
                let end = own.end().min(counter.end());
                if start < end {
                    return Err(fault(format!(
                        "of {} are there already\n  remedy: merge the nodes of each element once",
                        show(&(start..end))
                    )));
                }
            }
        }
        in_rust_mode(|| {
            for counter in &other.stretches {
                self.insert(counter.clone());
            }
        });
        Ok(())
    }

    /// How many stretches begin before a position.
    fn place_of(&self, position: u64) -> usize {
        self.stretches.partition_point(|own| own.start() < position)
    }

    /// Adds a stretch, which joins those that it touches.
    fn insert(&mut self, mut counter: Counter<T::Accumulator>) {
        let mut joined = self.place_of(counter.start())..self.place_of(counter.start());
        if let Some(before) = joined.start.checked_sub(1)
            && self.stretches[before].end() == counter.start()
        {
            let mut left = self.stretches[before].clone();
            left.append(&counter, Op::combine);
            counter = left;
            joined.start = before;
        }
        if let Some(right) = self.stretches.get(joined.end)
            && right.start() == counter.end()
        {
            counter.append(right, Op::combine);
            joined.end += 1;
        }
        self.stretches.splice(joined, [counter]);
    }

    /// The fold of all `len` elements, and the identity if there are none: what
    /// [`reduce`](crate::reduce()) gives.
    ///
    /// # Errors
    ///
    /// [`Error::Nodes`] unless they are the nodes of `[0, len)`: some are missing, or there are
    /// more.
    pub fn value(&self, len: u64) -> Result<T> {
        self.whole(len).map(|whole| value::<T, Op>(&whole, None))
    }

    /// The fold of `init` and all `len` elements: what [`reduce_from`](crate::reduce_from) gives.
    ///
    /// # Errors
    ///
    /// As [`value`](Nodes::value).
    pub fn value_from(&self, init: T, len: u64) -> Result<T> {
        let whole = self.whole(len)?;
        Ok(value::<T, Op>(&whole, Some(init)))
    }

    fn whole(&self, len: u64) -> Result<Counter<T::Accumulator>> {
        match &self.stretches[..] {
            [] if len == 0 => Ok(Counter::at(0)),
            [all] if (all.start(), all.end()) == (0, len) => Ok(all.clone()),
            _ => Err(fault(format!(
                "are of {}, not of {}\n  remedy: merge those of all elements, and give their number",
                self.shown(),
                show(&(0..len))
            ))),
        }
    }

    /// The nodes as bytes: with what they are of, and with a checksum. The elements' bytes are in
    /// the order of the CPU.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_ne_bytes().to_vec();
        let mut number = |number: u64| bytes.extend(number.to_ne_bytes());
        number(self.byte_count() as u64);
        number(hash_of::<T, Op>());
        number(self.stretches.len() as u64);
        put_name(&mut bytes, &name_of::<T, Op>());
        for Range { start, end } in self.ranges() {
            bytes.extend(start.to_ne_bytes());
            bytes.extend(end.to_ne_bytes());
        }
        for counter in &self.stretches {
            bytes.extend_from_slice(bytemuck::cast_slice(counter.sums()));
        }
        let hash = Hash::new().with(&bytes).value();
        bytes.extend(hash.to_ne_bytes());
        bytes
    }

    /// The bytes that [`to_bytes`](Nodes::to_bytes) gives.
    fn byte_count(&self) -> usize {
        let of_stretch = |counter: &Counter<_>| 16 + size_of_val(counter.sums());
        HEADER_BYTES + self.stretches.iter().map(of_stretch).sum::<usize>() + 8
    }

    /// The bytes of [`to_bytes`](Nodes::to_bytes), filled up with zeros to
    /// [`PACKET_BYTES`](Nodes::PACKET_BYTES).
    ///
    /// # Errors
    ///
    /// [`Error::Nodes`] if they are of several parts, and need more.
    pub fn to_packet(&self) -> Result<Vec<u8>> {
        let mut packet = self.to_bytes();
        if packet.len() > Self::PACKET_BYTES {
            return Err(fault(format!(
                "are of {}, and a packet holds those of one part\n  remedy: merge those of the elements between, or take `to_bytes`",
                self.shown()
            )));
        }
        packet.resize(Self::PACKET_BYTES, 0);
        Ok(packet)
    }

    /// Reads what [`to_bytes`](Nodes::to_bytes) or [`to_packet`](Nodes::to_packet) wrote, maybe in
    /// another program. That must have the same element type and the same operator: their names
    /// without paths, and their definitions in CUDA, are compared.
    ///
    /// # Errors
    ///
    /// [`Error::Nodes`] if the bytes are no nodes, or those of something else, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Nodes<T, Op>> {
        let short = || fault(format!("end too soon: there are {} bytes", bytes.len()));
        let mut reader = Reader(bytes);
        if reader.number() != Some(MAGIC) {
            return Err(fault(
                "are not there: the bytes begin otherwise, or come from a CPU with another order of bytes"
                    .to_owned(),
            ));
        }
        let mut number = || reader.number().ok_or_else(short);
        let (count, hash, parts) = (number()?, number()?, number()?);
        let end = usize::try_from(count)
            .ok()
            .filter(|&end| end >= HEADER_BYTES + 8);
        let all = end.and_then(|end| bytes.get(..end)).ok_or_else(short)?;
        if bytes[all.len()..].iter().any(|&byte| byte != 0) {
            return Err(fault("are followed by other bytes".to_owned()));
        }
        let (all, sum) = all.split_at(all.len() - 8);
        if Hash::new().with(all).value().to_ne_bytes() != sum {
            return Err(fault(
                "are damaged: their checksum is another one".to_owned(),
            ));
        }
        let name = take_name(&mut reader).ok_or_else(short)?;
        if hash != hash_of::<T, Op>() {
            let own = name_of::<T, Op>();
            let what = match own.starts_with(&name) {
                true => "of another definition of".to_owned(),
                false => format!("of {name}, not of"),
            };
            return Err(fault(format!(
                "are {what} {own}\n  remedy: read them with the type and the operator that they were made with"
            )));
        }
        let mut nodes = Nodes::new();
        let mut reader = Reader(&all[HEADER_BYTES..]);
        let mut ranges = Vec::new();
        for _ in 0..parts {
            let both = reader.number().zip(reader.number());
            let (start, end) = both.ok_or_else(short)?;
            if start >= end || end >> 63 != 0 {
                return Err(fault(format!("are of {}", show(&(start..end)))));
            }
            ranges.push(start..end);
        }
        for range in ranges {
            let count = blocks_of(range.clone()).count();
            let sums = reader.take(count * size_of::<T::Accumulator>());
            let sums = bytemuck::pod_collect_to_vec(sums.ok_or_else(short)?);
            nodes.merge(&Nodes::from_sums(range, sums)?)?;
        }
        match reader.0 {
            [] => Ok(nodes),
            _ => Err(fault("are fewer than their bytes".to_owned())),
        }
    }
}

/// An error if a part passes the last position that there is.
pub(super) fn check_end(start: u64, items: usize) -> Result<()> {
    match start.checked_add(items as u64) {
        Some(end) if end >> 63 == 0 => Ok(()),
        _ => Err(fault(format!(
            "of {items} elements from {start} on pass 2^63"
        ))),
    }
}

/// A carry has the nodes of all elements before its position.
impl<T: Element, Op> From<Carry<T, Op>> for Nodes<T, Op> {
    fn from(carry: Carry<T, Op>) -> Nodes<T, Op> {
        Nodes::of_counter(carry.counter)
    }
}

impl<T: Element, Op> Default for Nodes<T, Op> {
    fn default() -> Self {
        Nodes::new()
    }
}

impl<T: Element, Op> Clone for Nodes<T, Op> {
    fn clone(&self) -> Self {
        Nodes::of_stretches(self.stretches.clone())
    }
}

/// They are equal if they are of the same elements, and have the same bits.
impl<T: Element, Op> PartialEq for Nodes<T, Op> {
    fn eq(&self, other: &Self) -> bool {
        let bits = |nodes: &Self| -> Vec<u8> {
            let sums = nodes.stretches.iter().map(Counter::sums);
            sums.flat_map(bytemuck::cast_slice::<_, u8>)
                .copied()
                .collect()
        };
        self.ranges().eq(other.ranges()) && bits(self) == bits(other)
    }
}

impl<T: Element, Op> Eq for Nodes<T, Op> {}

impl<T: Element, Op> fmt::Debug for Nodes<T, Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nodes")
            .field("ranges", &self.ranges().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
