//! What the examples share: real inputs, the devices to run on, and the line on which every
//! measurement is printed.

#![allow(dead_code)] // No example uses all of it.

use std::cmp::Ordering;
use std::fmt::Display;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};
use warpfold::{Buffer, Device, Element, Result};
#[cfg(test)]
use warpfold::{
    Monoid, Source,
    codegen::{Engine, Kernels, Layouts, Order, RowPolicy, kernels, source},
};

/// A real text: the largest source file of this repository.
pub(crate) const SOURCE: &str = include_str!("../../tests/engines/emulated/every_kernel.rs");

/// A real signal: the carbon dioxide in the air at Mauna Loa, in ppm, month by month.
pub(crate) fn carbon_dioxide() -> Vec<f32> {
    include_str!("../data/co2_mauna_loa.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .map(|value| value.parse().expect("the file holds numbers"))
        .collect()
}

/// The `N` of `--length N`, or else `default`.
pub(crate) fn length(default: usize) -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--length");
    match arguments
        .nth(1)
        .map(|number| number.parse::<NonZeroUsize>())
    {
        None => default,
        Some(Ok(length)) => length.get(),
        Some(Err(error)) => panic!("--length wants a number from 1: {error}"),
    }
}

/// `input`, over and over again, to a length.
pub(crate) fn repeated<T: Copy>(input: &[T], length: usize) -> Vec<T> {
    input.iter().copied().cycle().take(length).collect()
}

/// Random numbers, the same ones for the same seed (Steele, Lea & Flood 2014, SplitMix64).
pub(crate) fn random(seed: u64) -> impl Iterator<Item = u64> {
    (1..).map(move |i: u64| {
        let z = seed.wrapping_add(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    })
}

/// The CPU, and the first GPU if there is one.
pub(crate) fn devices() -> Vec<Device> {
    match Device::cuda(0) {
        Ok(gpu) => vec![Device::cpu(), gpu],
        Err(error) => {
            eprintln!("no GPU: {error}");
            vec![Device::cpu()]
        }
    }
}

/// What a program is given, in host memory.
pub(crate) trait Input {
    /// What the program is given, on a device.
    type There;

    fn upload(&self, device: &Device) -> Result<Self::There>;
}

impl<T: Element> Input for [T] {
    type There = Buffer<T>;

    fn upload(&self, device: &Device) -> Result<Buffer<T>> {
        device.upload(self)
    }
}

impl<T: Element> Input for Vec<T> {
    type There = Buffer<T>;

    fn upload(&self, device: &Device) -> Result<Buffer<T>> {
        device.upload(self)
    }
}

impl<A: Input, B: Input> Input for (A, B) {
    type There = (A::There, B::There);

    fn upload(&self, device: &Device) -> Result<Self::There> {
        Ok((self.0.upload(device)?, self.1.upload(device)?))
    }
}

/// What a program gives, on the device or in host memory already.
pub(crate) trait Answer {
    /// The answer in host memory.
    type Here;

    fn download(self) -> Result<Self::Here>;
}

impl<T: Element> Answer for Buffer<T> {
    type Here = Vec<T>;

    fn download(self) -> Result<Vec<T>> {
        self.into_vec()
    }
}

/// Answers that the program has fetched itself.
macro_rules! answers_of_the_host {
    ($($answer:ty),*) => {$(
        impl Answer for $answer {
            type Here = $answer;

            fn download(self) -> Result<$answer> {
                Ok(self)
            }
        }
    )*};
}

answers_of_the_host!(Vec<u8>, Vec<u32>, [u32; 4], Ordering);

/// The answer of a program to what lies in host memory.
pub(crate) fn answer<I: Input + ?Sized, A: Answer>(
    device: &Device,
    input: &I,
    program: impl Fn(&Device, &I::There) -> Result<A>,
) -> Result<A::Here> {
    program(device, &input.upload(device)?)?.download()
}

/// The kernel of a reduction of `source` exists in CUDA, and compiles where there is NVRTC.
#[cfg(test)]
pub(crate) fn check_reduce<T, Op, S>(_: S)
where
    T: Element,
    Op: Monoid<T>,
    S: Source<Device, Item = T>,
{
    let policy = RowPolicy::for_reduce(Layouts::of::<S::Form>(), 90, Order::of::<T, Op>());
    check_cuda::<kernels::Reduce<T, Op, S::Form>>(policy);
}

/// The kernel of a scan of a source exists in CUDA, and compiles where there is NVRTC.
#[cfg(test)]
pub(crate) fn check_scan<T, Op, S>(_: S)
where
    T: Element,
    Op: Monoid<T>,
    S: Source<Device, Item = T>,
{
    let policy = RowPolicy::for_scan(Layouts::of::<S::Form>(), 90, false);
    check_cuda::<kernels::Scan<T, Op, S::Form>>(policy);
}

/// The kernel that collects a source exists in CUDA, and compiles where there is NVRTC.
#[cfg(test)]
pub(crate) fn check_collect<T: Element, S: Source<Device, Item = T>>(_: S) {
    check_cuda::<kernels::Collect<S::Form>>(kernels::Collect::<S::Form>::rows_policy(90));
}

/// The kernel of a select that stores `O` exists in CUDA, and compiles where there is NVRTC.
#[cfg(test)]
pub(crate) fn check_select<O, T, S>(_: S)
where
    O: kernels::Outputs,
    T: Element,
    S: Source<Device, Item = (T, bool)>,
{
    let policy = kernels::Select::<T, S::Form, O>::rows_policy(90);
    check_cuda::<kernels::Select<T, S::Form, O>>(policy);
}

#[cfg(test)]
fn check_cuda<K: Kernels>(policy: RowPolicy) {
    let text = source::<K>(Engine::Rows(policy)).expect("the kernel exists in CUDA");
    assert!(!text.is_empty());
    #[cfg(feature = "cuda")]
    if let Ok(target) = warpfold::cuda::nvrtc::Target::for_capability(90) {
        warpfold::cuda::nvrtc::compile(&text, K::NAME, target).expect("the kernel compiles");
    }
}

/// Prints the times of one example, a line each: the example, how long its input is, where it ran,
/// and how long that took.
///
/// The input stays as it is, in the memory of the device that works on it: for the CPU that is host
/// memory. The answer is new memory there. On a GPU a second time is taken, from host memory to
/// host memory, with both copies.
pub(crate) struct Report {
    pub(crate) example: &'static str,
    pub(crate) length: usize,
}

impl Report {
    /// The sequential program.
    pub(crate) fn sequential<R>(&self, mut program: impl FnMut() -> R) {
        let time = median(|| Ok(program())).expect("nothing in it fails");
        self.line("sequential", time);
    }

    /// The parallel program. Returns its answer.
    pub(crate) fn parallel<I: Input, A: Answer>(
        &self,
        device: &Device,
        input: &I,
        program: impl Fn(&Device, &I::There) -> Result<A>,
    ) -> Result<A::Here> {
        let there = input.upload(device)?;
        let time = median(|| {
            let answer = program(device, &there)?;
            wait(device)?;
            Ok(answer)
        })?;
        self.line(device, time);
        if !device.is_cpu() {
            let time = median(|| answer(device, input, &program))?;
            self.line(format!("{device}, copies"), time);
        }
        program(device, &there)?.download()
    }

    fn line(&self, what: impl Display, time: Duration) {
        println!(
            "{:<18} {:>10} elements   {:<16} {:>10.3} ms",
            self.example,
            self.length,
            what.to_string(),
            time.as_secs_f64() * 1e3
        );
    }
}

/// Waits until a GPU has done what was asked of it: a copy waits for all that was asked before.
fn wait(device: &Device) -> Result<()> {
    match device.is_cpu() {
        true => Ok(()),
        false => device.upload(&[0_u8]).map(drop),
    }
}

/// The median time of five runs, after one to warm up. What a run gives is dropped after its time.
fn median<R>(mut run: impl FnMut() -> Result<R>) -> Result<Duration> {
    run()?;
    let mut times = [Duration::ZERO; 5];
    for time in &mut times {
        let start = Instant::now();
        let result = run()?;
        *time = start.elapsed();
        drop(black_box(result));
    }
    times.sort();
    Ok(times[2])
}
