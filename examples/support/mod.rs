//! What the examples share: real inputs, the devices to run on, and the line on which every
//! measurement is printed.

#![allow(dead_code)] // No example uses all of it.

use std::fmt::Display;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};
#[cfg(test)]
use warpfold::codegen::{Engine, Order, Primitive, RowPolicy, kernels, source};
use warpfold::{Device, Element, Monoid, Prefixes, Result};

/// A real text: the largest source file of this repository.
pub(crate) const SOURCE: &str = include_str!("../../tests/emulated/every_kernel.rs");

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

/// The kernel exists in CUDA, and compiles where there is NVRTC.
#[cfg(test)]
pub(crate) fn check_cuda<T: Element, Op: Monoid<T>>(primitive: Primitive) {
    let text = match primitive {
        Primitive::Reduce => {
            let policy = RowPolicy::of_reduce::<T>(Order::of::<T, Op>());
            source::<kernels::Reduce<T, Op>>(Engine::Rows(policy))
        }
        Primitive::Scan => {
            source::<kernels::Scan<T, Op>>(Engine::Rows(RowPolicy::of_scan::<T>(false)))
        }
    };
    let text = text.expect("the operator exists in CUDA");
    assert!(!text.is_empty());
    #[cfg(feature = "cuda")]
    if let Ok(target) = warpfold::cuda::nvrtc::Target::for_capability(90) {
        let name = std::any::type_name::<Op>();
        warpfold::cuda::nvrtc::compile(&text, name, target).expect("the kernel compiles");
    }
}

/// Prints the measurements of one example, a line each: the example, how long its input is, what
/// was measured, and the time.
pub(crate) struct Report {
    pub(crate) example: &'static str,
    pub(crate) length: usize,
}

impl Report {
    /// The sequential program.
    pub(crate) fn sequential<R>(&self, mut program: impl FnMut() -> R) {
        let mut run = || {
            black_box(program());
            Ok(())
        };
        let time = median(&mut run).expect("nothing in it fails");
        self.line("sequential", time);
    }

    /// The whole parallel program: what is done on the host before, between and after the folds,
    /// and the copies, too.
    pub(crate) fn whole<R>(
        &self,
        device: &Device,
        mut program: impl FnMut() -> Result<R>,
    ) -> Result<()> {
        let time = median(|| program().map(|result| drop(black_box(result))))?;
        self.line(format_args!("{device}, whole"), time);
        Ok(())
    }

    /// One scan, of data that is on the device and stays there.
    pub(crate) fn scan<T: Element, Op: Monoid<T>>(
        &self,
        device: &Device,
        elements: &[T],
    ) -> Result<()> {
        let input = device.upload(elements)?;
        let mut output = device.allocate(elements.len())?;
        let scan = || device.scan_into::<T, Op>(Prefixes::inclusive(), &input, &mut output);
        self.line(format_args!("{device}, scan"), resident(device, scan)?);
        Ok(())
    }

    /// One reduction of data that is on the device.
    pub(crate) fn reduce<T: Element, Op: Monoid<T>>(
        &self,
        device: &Device,
        elements: &[T],
    ) -> Result<()> {
        let input = device.upload(elements)?;
        let reduce = || device.reduce::<T, Op>(&input).map(drop);
        self.line(format_args!("{device}, reduce"), resident(device, reduce)?);
        Ok(())
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

/// The median time of five runs, after one to warm up.
fn median(mut run: impl FnMut() -> Result<()>) -> Result<Duration> {
    run()?;
    let mut times = [Duration::ZERO; 5];
    for time in &mut times {
        let start = Instant::now();
        run()?;
        *time = start.elapsed();
    }
    times.sort();
    Ok(times[2])
}

/// The time of one `call` on data that is resident on `device`.
fn resident(device: &Device, mut call: impl FnMut() -> Result<()>) -> Result<Duration> {
    // A GPU takes calls faster than it carries them out, and copying anything back waits for all of
    // them: with many calls to one wait, the wait does not count.
    let calls = if device.is_cpu() { 1 } else { 20 };
    let marker = device.upload(&[0_u8])?;
    let all = median(|| {
        for _ in 0..calls {
            call()?;
        }
        marker.to_vec().map(drop)
    })?;
    Ok(all / calls)
}
