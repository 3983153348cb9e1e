//! Several devices of one process as one.

use super::{Communicator, Nodes, Shard, Threads};
use crate::cpu::threads::lock;
use crate::source::{Comparable, Feeds};
use crate::{
    Bins, Buffer, Count, Counted, Device, Element, Error, Function, Monoid, Prefixes, Result, Runs,
};
use std::ops::Range;
use std::str::FromStr;
use std::sync::Mutex;
use std::time::Duration;

/// Several devices that work together, each on a part of an array: [`Device::group`] makes one of
/// GPUs. Results have the bits of one call on one device.
///
/// ```
/// use warpfold::{Device, ops::Add, reduce, shards::Group};
///
/// let data: Vec<f32> = (0..1000).map(|i| (i as f32).sqrt()).collect();
/// let group: Group = "cpu:3".parse()?; // Or `Device::group(&[0, 1])?`: two GPUs.
/// let x = group.upload(&data)?;
/// assert_eq!(group.reduce::<f32, Add>(&x)?, reduce::<f32, Add>(&data)?);
/// let sums = group.inclusive_scan::<f32, Add>(&x)?;
/// assert_eq!(sums.to_vec()?, warpfold::inclusive_scan::<f32, Add>(&data)?);
/// # Ok::<(), warpfold::Error>(())
/// ```
///
/// A name says which devices, as [`FromStr`] reads it: `cuda:all`, `cuda:0,1`, `cpu:4` (the CPU
/// four times, for tests), or the name of one device.
///
/// Each call starts a thread for each device but the first. They exchange packets through
/// [`Threads`], since packets begin and end in host memory. What has no method here is done by
/// [`each`](Group::each), which runs calls over [shards](Shard) on all devices. A call that a shard
/// does not have is none of a group, either: it does not compile, and never runs on one device in
/// silence.
#[derive(Debug, Clone)]
pub struct Group {
    devices: Vec<Device>,
}

/// An array of which each device of a [`Group`] has a part.
#[derive(Debug)]
pub struct Spread<T: Element> {
    parts: Vec<Buffer<T>>,
}

/// One device of a group at work: see [`Group::each`].
#[derive(Debug)]
pub struct Member<'g> {
    communicator: Communicator,
    device: &'g Device,
}

impl Member<'_> {
    /// The device.
    pub fn device(&self) -> &Device {
        self.device
    }

    /// The rank of the device among all of the group.
    pub fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    /// This device's part of an array.
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`] if it is spread over other devices.
    pub fn part<'s, T: Element>(&self, array: &'s Spread<T>) -> Result<&'s Buffer<T>> {
        let part = array.parts.get(self.communicator.rank());
        let count = array.parts.len() == self.communicator.ranks();
        let part = part.filter(|_| count).ok_or_else(|| Error::WrongDevice {
            buffer: format!("{} devices", array.parts.len()),
            device: format!("{} devices", self.communicator.ranks()),
        })?;
        self.device.check_owns(part)?;
        Ok(part)
    }

    /// The calls over an array that is spread as this one.
    ///
    /// # Errors
    ///
    /// As [`part`](Member::part).
    pub fn shard<T: Element>(&self, array: &Spread<T>) -> Result<Shard<'_, Device>> {
        self.part(array)?;
        let lengths: Vec<_> = array.parts.iter().map(|part| part.len() as u64).collect();
        Ok(self.communicator.shard_with(&lengths)?.on(self.device))
    }
}

impl<T: Element> Spread<T> {
    /// The number of elements of all parts.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Buffer::len).sum()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The parts, in the order of the group's devices.
    pub fn parts(&self) -> &[Buffer<T>] {
        &self.parts
    }

    /// The parts, each on its device.
    pub fn into_parts(self) -> Vec<Buffer<T>> {
        self.parts
    }

    /// A copy of all elements in host memory.
    ///
    /// # Errors
    ///
    /// As [`Buffer::to_vec`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let parts: Result<Vec<_>> = self.parts.iter().map(Buffer::to_vec).collect();
        Ok(parts?.concat())
    }
}

impl Device {
    /// The GPUs of these numbers as one: see [`Group`].
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if there is none, or one is there twice; those of [`Device::cuda`].
    pub fn group(ordinals: &[usize]) -> Result<Group> {
        for (number, ordinal) in ordinals.iter().enumerate() {
            if ordinals[..number].contains(ordinal) {
                return Err(Error::Argument {
                    argument: "ordinals",
                    fault: format!("have cuda:{ordinal} twice\n  remedy: name each GPU once"),
                });
            }
        }
        let devices = ordinals.iter().map(|&ordinal| Device::cuda(ordinal));
        Group::new(devices.collect::<Result<_>>()?)
    }
}

impl FromStr for Group {
    type Err = Error;

    /// Reads `cuda:all`, numbers of GPUs as in `cuda:0,1`, `cpu:N`, or what names one device.
    fn from_str(text: &str) -> Result<Group> {
        let unreadable = || Error::DeviceName {
            text: text.to_owned(),
            place: "the name of the group; or `cuda:all`, `cuda:0,1`, `cpu:4`",
        };
        if text == "cuda:all" {
            let gpus = Device::available()
                .into_iter()
                .filter(|device| !device.is_cpu());
            let gpus: Vec<_> = gpus.collect();
            return match gpus.is_empty() {
                false => Group::new(gpus),
                // It says why there is none.
                true => Device::cuda(0).and_then(|gpu| Group::new(vec![gpu])),
            };
        }
        if let Some(numbers) = text.strip_prefix("cuda:").filter(|text| text.contains(',')) {
            let numbers = numbers.split(',').map(|number| number.parse().ok());
            let numbers: Option<Vec<_>> = numbers.collect();
            return Device::group(&numbers.ok_or_else(unreadable)?);
        }
        if let Some(count) = text.strip_prefix("cpu:") {
            let count = count
                .parse()
                .ok()
                .filter(|count| (1..=MOST_CPUS).contains(count));
            return Group::new(vec![Device::cpu(); count.ok_or_else(unreadable)?]);
        }
        match text.parse() {
            Err(Error::DeviceName { .. }) => Err(unreadable()),
            device => Group::new(vec![device?]),
        }
    }
}

/// Each is a thread.
const MOST_CPUS: usize = 1024;

impl Group {
    /// These devices. One may be there several times: then it has several parts.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] if there is none.
    pub fn new(devices: Vec<Device>) -> Result<Group> {
        match devices.is_empty() {
            false => Ok(Group { devices }),
            true => Err(Error::Argument {
                argument: "devices",
                fault: "are none\n  remedy: name one device or more".to_owned(),
            }),
        }
    }

    /// The devices.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Runs `work` on all devices at once, each in a thread, and gives what each gives, in their
    /// order. They are the ranks of a [`Communicator`]: in `work`, all make the same calls.
    ///
    /// ```
    /// use warpfold::{function, map, ops::Add, shards::Group};
    ///
    /// #[function]
    /// fn squared(x: f32) -> f32 {
    ///     x * x
    /// }
    ///
    /// let group: Group = "cpu:2".parse()?;
    /// let x = group.upload(&[3.0_f32, 4.0, 12.0])?;
    /// let sums = group.each(|member| {
    ///     let squares = map::<squared, _>(member.part(&x)?);
    ///     member.shard(&x)?.reduce::<f32, Add>(squares)
    /// })?;
    /// assert_eq!(sums, [169.0, 169.0]);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// That of a device which failed.
    ///
    /// # Panics
    ///
    /// If `work` does.
    pub fn each<R: Send>(&self, work: impl Fn(&Member<'_>) -> Result<R> + Sync) -> Result<Vec<R>> {
        self.each_with(self.devices.iter().map(|_| ()).collect(), |member, ()| {
            work(member)
        })
    }

    /// As [`each`](Group::each), with an argument for each device.
    fn each_with<A: Send, R: Send>(
        &self,
        arguments: Vec<A>,
        work: impl Fn(&Member<'_>, A) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let ranks = self.devices.len();
        let exchanges = Threads::group(ranks, Duration::MAX).into_iter();
        let jobs = exchanges.zip(&self.devices).zip(arguments).enumerate();
        let work = &work;
        let mut jobs = jobs.map(|(rank, ((exchange, device), argument))| {
            move || {
                let communicator = Communicator::new(rank, ranks, exchange)?;
                work(
                    &Member {
                        communicator,
                        device,
                    },
                    argument,
                )
            }
        });
        let first = jobs.next().expect("there is a device");
        let results = on_threads(first, jobs);
        // A rank's own error says more than what it tells the others.
        let told = |error: &Error| matches!(error, Error::Ranks { .. } | Error::Exchange { .. });
        let (mut all, mut failed) = (Vec::with_capacity(ranks), None);
        for result in results {
            match result {
                Ok(result) => all.push(result),
                Err(error) if failed.as_ref().is_none_or(told) && !told(&error) => {
                    failed = Some(error);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(all), Err)
    }

    /// Has devices do jobs that do not depend on each other: each takes the next one when it is
    /// done with the last. Gives the results in the order of the jobs.
    ///
    /// ```
    /// use warpfold::{ops::Add, reduce, shards::{Group, Nodes}};
    ///
    /// let data: Vec<f32> = (0..10_000).map(|i| (i as f32).sqrt()).collect();
    /// let group: Group = "cpu:3".parse()?;
    /// let jobs = (0_u64..).step_by(777).zip(data.chunks(777));
    /// let nodes = group.share(jobs, |device, (start, piece)| {
    ///     Nodes::<f32, Add>::of_slice(device, start, piece)
    /// })?;
    /// let mut all = Nodes::new();
    /// nodes.iter().try_for_each(|nodes| all.merge(nodes))?;
    /// assert_eq!(all.value(10_000)?, reduce::<f32, Add>(&data)?);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// That of the first job that failed. No further job is begun then.
    ///
    /// # Panics
    ///
    /// If `work` does.
    pub fn share<J: Send, R: Send, E: Send>(
        &self,
        jobs: impl IntoIterator<Item = J, IntoIter: Send>,
        work: impl Fn(&Device, J) -> std::result::Result<R, E> + Sync,
    ) -> std::result::Result<Vec<R>, E> {
        let jobs = Mutex::new(Some(jobs.into_iter().enumerate()));
        let take = |end: bool| {
            let mut jobs = lock(&jobs);
            match end {
                true => *jobs = None,
                false => return jobs.as_mut().and_then(Iterator::next),
            }
            None
        };
        let (done, failed) = (Mutex::new(Vec::new()), Mutex::new(None));
        self.on_each(&|device| {
            while let Some((number, job)) = take(false) {
                match work(device, job) {
                    Ok(result) => lock(&done).push((number, result)),
                    Err(error) => {
                        take(true);
                        let mut failed = lock(&failed);
                        if failed.as_ref().is_none_or(|(before, _)| number <= *before) {
                            *failed = Some((number, error));
                        }
                        break;
                    }
                }
            }
        });
        if let Some((_, error)) = lock(&failed).take() {
            return Err(error);
        }
        let mut all = std::mem::take(&mut *lock(&done));
        all.sort_by_key(|(number, _)| *number);
        Ok(all.into_iter().map(|(_, result)| result).collect())
    }

    /// Calls `work` for each device, in a thread of its own.
    fn on_each(&self, work: &(dyn Fn(&Device) + Sync)) {
        let mut jobs = self.devices.iter().map(|device| move || work(device));
        let first = jobs.next().expect("there is a device");
        on_threads(first, jobs);
    }

    /// Where the parts of so many elements lie that are spread evenly.
    fn even(&self, len: usize) -> Vec<Range<usize>> {
        let count = self.devices.len();
        let bound = |number: usize| (len as u128 * number as u128 / count as u128) as usize;
        (0..count)
            .map(|number| bound(number)..bound(number + 1))
            .collect()
    }

    /// Spreads data evenly over the devices. All buses copy at once.
    ///
    /// # Errors
    ///
    /// As [`Device::upload`].
    pub fn upload<T: Element>(&self, data: &[T]) -> Result<Spread<T>> {
        let parts = self.even(data.len()).into_iter().map(|part| &data[part]);
        let parts = self.each_with(parts.collect(), |member, part| member.device.upload(part));
        Ok(Spread { parts: parts? })
    }

    /// An array of buffers, which lie on the devices in their order, and are of any lengths.
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`] if one lies elsewhere, or there are not as many as devices.
    pub fn spread<T: Element>(&self, parts: Vec<Buffer<T>>) -> Result<Spread<T>> {
        if parts.len() != self.devices.len() {
            return Err(Error::WrongDevice {
                buffer: format!("{} devices", parts.len()),
                device: format!("{} devices", self.devices.len()),
            });
        }
        for (device, part) in self.devices.iter().zip(&parts) {
            device.check_owns(part)?;
        }
        Ok(Spread { parts })
    }

    /// The fold of host data, which all buses copy to the devices at once, piece by piece: see
    /// [`Nodes::of_slice`].
    ///
    /// # Errors
    ///
    /// As [`Nodes::of_slice`].
    pub fn reduce_slice<T: Element, Op: Monoid<T>>(&self, data: &[T]) -> Result<T> {
        let parts = self.even(data.len()).into_iter();
        let nodes = self.each_with(parts.collect(), |member, part| {
            Nodes::<T, Op>::of_slice(member.device, part.start as u64, &data[part])
        })?;
        let mut all = Nodes::new();
        nodes.iter().try_for_each(|nodes| all.merge(nodes))?;
        all.value(data.len() as u64)
    }
}

/// # Calls
///
/// Each is the call of that name on a [`Device`], over an array that is spread, with its bits and
/// its errors. They have the costs of those over a [shard](Shard).
impl Group {
    /// See [`Device::reduce`].
    ///
    /// # Errors
    ///
    /// [`Error::WrongDevice`] if the array is spread over other devices, and those of
    /// [`Shard::reduce`].
    pub fn reduce<T: Element, Op: Monoid<T>>(&self, input: &Spread<T>) -> Result<T> {
        self.first(|member| member.shard(input)?.reduce::<T, Op>(member.part(input)?))
    }

    /// See [`Device::reduce_from`].
    ///
    /// # Errors
    ///
    /// As [`reduce`](Group::reduce).
    pub fn reduce_from<T: Element, Op: Monoid<T>>(&self, init: T, input: &Spread<T>) -> Result<T> {
        self.first(|member| {
            let part = member.part(input)?;
            member.shard(input)?.reduce_from::<T, Op>(init, part)
        })
    }

    /// See [`Device::scan`].
    ///
    /// # Errors
    ///
    /// As [`reduce`](Group::reduce).
    pub fn scan<T: Element, Op: Monoid<T>>(&self, input: &Spread<T>) -> Result<Spread<T>> {
        self.prefixes::<T, Op>(Prefixes::exclusive(), input)
    }

    /// See [`Device::inclusive_scan`].
    ///
    /// # Errors
    ///
    /// As [`reduce`](Group::reduce).
    pub fn inclusive_scan<T: Element, Op: Monoid<T>>(
        &self,
        input: &Spread<T>,
    ) -> Result<Spread<T>> {
        self.prefixes::<T, Op>(Prefixes::inclusive(), input)
    }

    /// A scan of any form.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Group::reduce).
    pub fn prefixes<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        input: &Spread<T>,
    ) -> Result<Spread<T>> {
        self.spread_each(|member| {
            let part = member.part(input)?;
            member.shard(input)?.scan::<T, Op>(prefixes, part)
        })
    }

    /// See [`Device::scan_in_place`].
    ///
    /// # Errors
    ///
    /// As [`reduce`](Group::reduce).
    pub fn scan_in_place<T: Element, Op: Monoid<T>>(
        &self,
        prefixes: Prefixes<T>,
        data: &mut Spread<T>,
    ) -> Result<()> {
        self.each(|member| member.part(data).map(|_| ()))?;
        let lengths: Vec<_> = data.parts.iter().map(|part| part.len() as u64).collect();
        let done = self.each_with(data.parts.iter_mut().collect(), |member, part| {
            let shard = member.communicator.shard_with(&lengths)?.on(member.device);
            shard.scan_in_place::<T, Op>(prefixes, part)
        });
        done.map(|_| ())
    }

    /// See [`Device::select`]. Each device keeps what it has selected, so parts differ in length.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Group::reduce).
    pub fn select<T, F>(&self, input: &Spread<T>) -> Result<Spread<T>>
    where
        T: Element + Feeds<F::Input>,
        F: Function<Output = bool>,
    {
        self.spread_each(|member| {
            let part = member.part(input)?;
            Ok(member.shard(input)?.select::<T, F>(part)?.items)
        })
    }

    /// See [`Device::unique`]. A run belongs to the device that has its first number.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Group::reduce).
    pub fn unique<T: Comparable>(&self, input: &Spread<T>) -> Result<Spread<T>> {
        self.spread_each(|member| {
            let part = member.part(input)?;
            Ok(member.shard(input)?.unique(part)?.items)
        })
    }

    /// See [`Device::runs`], and [`unique`](Group::unique).
    ///
    /// # Errors
    ///
    /// As [`reduce`](Group::reduce).
    pub fn runs<T: Comparable>(&self, input: &Spread<T>) -> Result<Runs<Spread<T>, Spread<u64>>> {
        let runs = self.each(|member| {
            let part = member.part(input)?;
            Ok(member.shard(input)?.runs(part)?.items)
        })?;
        let (mut items, mut starts, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
        for runs in runs {
            items.push(runs.items);
            starts.push(runs.starts);
            lengths.push(runs.lengths);
        }
        Ok(Runs {
            items: Spread { parts: items },
            starts: Spread { parts: starts },
            lengths: Spread { parts: lengths },
        })
    }

    /// See [`Device::histogram`]. The counts lie on the first device.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Group::reduce).
    pub fn histogram<C: Count, X: Counted + Element>(
        &self,
        input: &Spread<X>,
        bins: &Bins<X::Value>,
    ) -> Result<Buffer<C>>
    where
        Bins<X::Value>: Sync,
    {
        self.first(|member| {
            let part = member.part(input)?;
            member.shard(input)?.histogram::<C, X>(part, bins)
        })
    }

    /// What the first device gives, as all do.
    fn first<R: Send>(&self, work: impl Fn(&Member<'_>) -> Result<R> + Sync) -> Result<R> {
        let all = self.each(work)?;
        Ok(all.into_iter().next().expect("there is a device"))
    }

    fn spread_each<T: Element>(
        &self,
        work: impl Fn(&Member<'_>) -> Result<Buffer<T>> + Sync,
    ) -> Result<Spread<T>> {
        self.each(work).map(|parts| Spread { parts })
    }
}

/// Does one thing here and each other one in a thread. Gives what they give, in their order.
fn on_threads<R: Send, W: FnOnce() -> R + Send>(
    first: W,
    others: impl Iterator<Item = W>,
) -> Vec<R> {
    std::thread::scope(|scope| {
        let others: Vec<_> = others.map(|work| scope.spawn(work)).collect();
        let first = first();
        let others = others.into_iter().map(|thread| {
            let result = thread.join();
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        std::iter::once(first).chain(others).collect()
    })
}
