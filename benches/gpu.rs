//! Speed on a GPU: kernels timed by device events, beside a device-to-device copy in the same run; and the
//! costs of compiling, loading and launching, by the host's clock.
//!
//! `cargo bench --all-features --bench gpu [FILTER]`, or `dist/run bench` on a host without Rust. Every figure is the median of
//! [`BATCHES`] batches. Buffers rotate through a pool that is larger than the L2 cache. A result is checked against the CPU
//! backend before it is timed, so a fast wrong kernel fails.

use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;
use warpfold::codegen::{Engine, Primitive, WavePolicy};
use warpfold::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DeviceRepr, sys};
use warpfold::cuda::nvrtc::{self, Target};
use warpfold::cuda::{Reduce, Scan};
use warpfold::ops::{Add, Max, Mul};
use warpfold::{Device, Element, Monoid, bytemuck, codegen};

const BATCHES: usize = 11;

/// Bytes of the pool that small buffers rotate through: several times any L2 cache.
const POOL_BYTES: usize = 1 << 30;

/// The map x ↦ slope·x + offset, composed: an operator and a struct of a user.
#[derive(Clone, Copy, Debug, Element)]
#[repr(C)]
struct Affine {
    slope: f32,
    offset: f32,
}

struct Then;

impl Monoid<Affine> for Then {
    const CUDA: &'static str = "return T{ a.slope * b.slope, a.offset * b.slope + b.offset };";

    fn identity() -> Affine {
        Affine {
            slope: 1.0,
            offset: 0.0,
        }
    }

    fn combine(a: Affine, b: Affine) -> Affine {
        Affine {
            slope: a.slope * b.slope,
            offset: a.offset * b.slope + b.offset,
        }
    }
}

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
        .unwrap_or_default();
    let device = match Device::cuda(0) {
        Ok(device) => device,
        Err(error) => return eprintln!("no GPU to measure on: {error}"),
    };
    println!("device: {}", device.description());
    let bench = Bench::new(filter);
    bench.copy();
    bench.sizes();
    bench.types();
    bench.compiling();
    bench.host_data();
}

struct Bench {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    filter: String,
    copy_gbs: std::cell::Cell<f64>,
}

impl Bench {
    fn new(filter: String) -> Bench {
        let context = CudaContext::new(0).expect("the device was found");
        // SAFETY: all work goes to one stream.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().expect("a stream");
        Bench {
            context,
            stream,
            filter,
            copy_gbs: 0.0.into(),
        }
    }

    fn wants(&self, name: &str) -> bool {
        name.contains(&self.filter)
    }

    /// The median time of one call of `work`, in µs by device events; `repeats` calls make a batch.
    fn time(&self, repeats: usize, mut work: impl FnMut(usize)) -> f64 {
        let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        (0..2).for_each(&mut work);
        let mut times: Vec<f64> = (0..BATCHES)
            .map(|batch| {
                let start = self.stream.record_event(flags).expect("an event");
                (0..repeats).for_each(|i| work(batch * repeats + i));
                let end = self.stream.record_event(flags).expect("an event");
                f64::from(start.elapsed_ms(&end).expect("timing")) * 1e3 / repeats as f64
            })
            .collect();
        median(&mut times)
    }

    /// Device-to-device copy of 1 GiB: what memory allows.
    fn copy(&self) {
        let bytes = 1_usize << 30;
        let from = self.stream.alloc_zeros::<u8>(bytes).expect("memory");
        let mut to = self.stream.alloc_zeros::<u8>(bytes).expect("memory");
        let us = self.time(4, |_| {
            self.stream.memcpy_dtod(&from, &mut to).expect("copy")
        });
        let gbs = 2.0 * bytes as f64 / us / 1e3;
        self.copy_gbs.set(gbs);
        println!("memcpy, 1 GiB: {us:.1} µs, {gbs:.0} GB/s read + written\n");
    }

    fn sizes(&self) {
        println!(
            "{:<34} {:>12} {:>10} {:>9} {:>8} {:>22}",
            "primitive", "n", "µs", "GB/s", "of copy", "own traffic of copy"
        );
        for n in [1000, 1 << 16, 1_000_000, 1 << 22, 1 << 24, 1 << 28] {
            self.reduce::<f32, Add>("reduce f32 add", n);
        }
        for n in [1000, 1 << 16, 1_000_000, 1 << 22, 1 << 24, 1 << 28] {
            self.scan::<f32, Add>("scan f32 add", n);
        }
    }

    fn types(&self) {
        let n = 1 << 28;
        self.reduce::<u8, Add>("reduce u8 add", n);
        self.reduce::<warpfold::half::f16, Add>("reduce f16 add", n);
        self.reduce::<u64, Add>("reduce u64 add", n);
        self.reduce::<f64, Add>("reduce f64 add", n);
        self.reduce::<f32, Max>("reduce f32 max", n);
        self.reduce::<Affine, Then>("reduce affine then", n);
        self.reduce::<[f32; 3], Sums>("reduce [f32; 3] sums", n / 4);
        self.reduce::<[f32; 16], Sums>("reduce [f32; 16] sums", n / 16);
        self.scan::<u8, Add>("scan u8 add", n);
        self.scan::<u16, Add>("scan u16 add", n);
        self.scan::<warpfold::half::f16, Add>("scan f16 add", n);
        self.scan::<u32, Add>("scan u32 add", n);
        self.scan::<u64, Add>("scan u64 add", n);
        self.scan::<f64, Mul>("scan f64 mul", n);
        self.scan::<f32, Max>("scan f32 max", n);
        self.scan::<Affine, Then>("scan affine then", n);
        self.scan::<[f32; 3], Sums>("scan [f32; 3] sums", n / 4);
        self.scan::<[f32; 16], Sums>("scan [f32; 16] sums", n / 16);
    }

    /// Random elements on the device, repeated to `n`, and a check's worth of them on the host.
    fn data<T: Element + DeviceRepr>(&self, n: usize) -> CudaSlice<T> {
        let host: Vec<T> = data(n);
        self.stream.clone_htod(&host).expect("memory")
    }

    fn reduce<T: Element + DeviceRepr, Op: Monoid<T>>(&self, name: &str, n: usize) {
        if !self.wants(name) {
            return;
        }
        let reduce = Reduce::<T, Op>::load(&self.context).expect("kernels");
        let copies = (POOL_BYTES / (n * size_of::<T>())).clamp(1, 64);
        let inputs: Vec<_> = (0..copies).map(|_| self.data::<T>(n)).collect();
        // SAFETY: written before it is read.
        let mut output = unsafe { self.stream.alloc::<T>(1) }.expect("memory");
        let mut workspace = self
            .stream
            .alloc_zeros::<u8>(reduce.workspace_bytes(n))
            .expect("memory");
        reduce
            .enqueue(&self.stream, &inputs[0], &mut output, &mut workspace)
            .expect("launch");
        let expected = warpfold::reduce::<T, Op>(&data::<T>(n)).expect("the CPU backend");
        assert_bits(
            &self.stream.clone_dtoh(&output).expect("copy"),
            &[expected],
            name,
        );
        let us = self.time(repeats(n * size_of::<T>()), |i| {
            reduce
                .enqueue(
                    &self.stream,
                    &inputs[i % copies],
                    &mut output,
                    &mut workspace,
                )
                .expect("launch");
        });
        self.report(name, n, us, n * size_of::<T>(), n * size_of::<T>());
    }

    fn scan<T: Element + DeviceRepr, Op: Monoid<T>>(&self, name: &str, n: usize) {
        if !self.wants(name) {
            return;
        }
        let scan = Scan::<T, Op>::load(&self.context).expect("kernels");
        let copies = (POOL_BYTES / (n * size_of::<T>() * 2)).clamp(1, 64);
        let inputs: Vec<_> = (0..copies).map(|_| self.data::<T>(n)).collect();
        // SAFETY: written before it is read.
        let mut outputs: Vec<_> = (0..copies)
            .map(|_| unsafe { self.stream.alloc::<T>(n) }.expect("memory"))
            .collect();
        let mut workspace = self
            .stream
            .alloc_zeros::<u8>(scan.workspace_bytes(n))
            .expect("memory");
        scan.exclusive(&self.stream, &inputs[0], &mut outputs[0], &mut workspace)
            .expect("launch");
        let expected = warpfold::scan::<T, Op>(&data::<T>(n)).expect("the CPU backend");
        assert_bits(
            &self.stream.clone_dtoh(&outputs[0]).expect("copy"),
            &expected,
            name,
        );
        let us = self.time(repeats(2 * n * size_of::<T>()), |i| {
            scan.exclusive(
                &self.stream,
                &inputs[i % copies],
                &mut outputs[i % copies],
                &mut workspace,
            )
            .expect("launch");
        });
        let passes = if WavePolicy::of::<T>().is_some() {
            2
        } else {
            3
        };
        let bytes = n * size_of::<T>();
        self.report(name, n, us, 2 * bytes, passes * bytes);
    }

    fn report(&self, name: &str, n: usize, us: f64, bytes: usize, traffic: usize) {
        let gbs = bytes as f64 / us / 1e3;
        let own = traffic as f64 / us / 1e3;
        println!(
            "{name:<34} {n:>12} {us:>10.1} {gbs:>9.0} {:>7.0}% {:>21.0}%",
            100.0 * gbs / self.copy_gbs.get(),
            100.0 * own / self.copy_gbs.get()
        );
    }

    /// What a program waits for before its first result: compiling, loading from disk, finding in memory.
    fn compiling(&self) {
        if !self.wants("compile") {
            return;
        }
        println!(
            "\n{:<34} {:>10} {:>10} {:>10}",
            "kernels of", "cold ms", "disk ms", "memory µs"
        );
        self.compile::<f32, Add>("f32 add");
        self.compile::<u8, Max>("u8 max");
        self.compile::<warpfold::half::f16, Add>("f16 add");
        self.compile::<f64, Mul>("f64 mul");
        self.compile::<Affine, Then>("affine then");
    }

    fn compile<T: Element + DeviceRepr, Op: Monoid<T>>(&self, name: &str) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        // SAFETY: no other thread of this program reads or writes the environment now.
        unsafe { std::env::set_var("WARPFOLD_CACHE_DIR", directory.path().join("cache")) };
        for primitive in Primitive::ALL {
            let load = || {
                let started = Instant::now();
                match primitive {
                    Primitive::Reduce => {
                        drop(Reduce::<T, Op>::load(&self.context).expect("kernels"))
                    }
                    Primitive::Scan => drop(Scan::<T, Op>::load(&self.context).expect("kernels")),
                }
                started.elapsed().as_secs_f64()
            };
            // NVRTC has a cache of its own, so each compilation gets a source that it has not seen.
            let mut cold: Vec<f64> = (0..5)
                .map(|i| {
                    let nonce = std::process::id() + i;
                    let source = codegen::source::<T, Op>(primitive, Engine::Blelloch)
                        .expect("a source")
                        + &format!("__device__ int nonce_{nonce};\n");
                    let started = Instant::now();
                    nvrtc::compile(&source, name, Target::Cubin(90)).expect("a kernel");
                    started.elapsed().as_secs_f64() * 1e3
                })
                .collect();
            warpfold::cuda::unload(&self.context);
            load();
            let mut disk: Vec<f64> = (0..9)
                .map(|_| {
                    warpfold::cuda::unload(&self.context);
                    load() * 1e3
                })
                .collect();
            let mut memory: Vec<f64> = (0..99).map(|_| load() * 1e6).collect();
            println!(
                "{:<34} {:>10.0} {:>10.2} {:>10.2}",
                format!("{} {name}", primitive.name()),
                median(&mut cold),
                median(&mut disk),
                median(&mut memory)
            );
        }
    }

    /// Data that is in host memory: the CPU against a copy to the GPU.
    fn host_data(&self) {
        if !self.wants("host") {
            return;
        }
        let gpu = Device::cuda(0).expect("the device was found");
        let input = data::<f32>(1 << 26);
        println!("\nf32 add, 2^26 elements in host memory, ms by the host's clock");
        for (name, device) in [("cpu", Device::cpu()), ("cuda:0", gpu)] {
            let time = |work: &dyn Fn()| {
                work();
                let mut times: Vec<f64> = (0..5)
                    .map(|_| {
                        let started = Instant::now();
                        work();
                        started.elapsed().as_secs_f64() * 1e3
                    })
                    .collect();
                median(&mut times)
            };
            let reduce = time(&|| match device.is_cpu() {
                true => drop(warpfold::reduce::<f32, Add>(&input)),
                false => drop(device.reduce::<f32, Add>(&device.upload(&input).expect("memory"))),
            });
            let scan = time(&|| match device.is_cpu() {
                true => drop(warpfold::scan::<f32, Add>(&input)),
                false => {
                    let mut buffer = device.upload(&input).expect("memory");
                    device
                        .scan_in_place::<f32, Add>(&mut buffer)
                        .expect("launch");
                    drop(buffer.into_vec());
                }
            });
            println!("{name:<8} reduce {reduce:>8.1}   scan {scan:>8.1}");
        }
    }
}

/// Component-wise sums of large elements.
struct Sums;

impl<const N: usize> Monoid<[f32; N]> for Sums {
    const CUDA: &'static str = "
        for (u32 i = 0; i < sizeof(T) / 4; i++) a[i] += b[i];
        return a;
    ";

    fn identity() -> [f32; N] {
        [0.0; N]
    }

    fn combine(a: [f32; N], b: [f32; N]) -> [f32; N] {
        std::array::from_fn(|i| a[i] + b[i])
    }
}

/// The same random bytes for the same length, with floats between −1 and 1 in magnitude near 1.
fn data<T: Element>(n: usize) -> Vec<T> {
    let mut data = vec![T::zeroed(); n];
    let is_float = matches!(std::any::type_name::<T>().trim_start_matches("half::"), name if name.contains('f'));
    let float_bytes = if std::any::type_name::<T>().contains("f64") {
        8
    } else {
        4
    };
    data.par_chunks_mut(1 << 16)
        .enumerate()
        .for_each(|(part, chunk)| {
            let mut state = (part as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            for (i, word) in bytemuck::cast_slice_mut::<T, u8>(chunk)
                .chunks_mut(float_bytes)
                .enumerate()
            {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let random = state.to_le_bytes();
                word.copy_from_slice(&random[..word.len()]);
                if is_float && size_of::<T>() >= 4 {
                    let value = ((state >> 40) as f64 / (1 << 24) as f64 + 0.5)
                        * if i % 3 == 0 { -1.0 } else { 1.0 };
                    match word.len() {
                        8 => word.copy_from_slice(&value.to_le_bytes()),
                        _ => word.copy_from_slice(&(value as f32).to_le_bytes()),
                    }
                } else if is_float {
                    // Halves of magnitude around 1: exponent bits fixed.
                    for half in word.chunks_mut(2) {
                        half[1] = half[1] & 0x83 | 0x3c;
                    }
                }
            }
        });
    data
}

fn assert_bits<T: Element>(got: &[T], expected: &[T], name: &str) {
    let (got, expected) = (
        bytemuck::cast_slice::<T, u8>(got),
        bytemuck::cast_slice::<T, u8>(expected),
    );
    let differs = got
        .par_iter()
        .zip(expected)
        .position_first(|(got, expected)| got != expected);
    assert_eq!(
        differs, None,
        "{name}: the GPU's bytes differ from the CPU's"
    );
}

/// Enough calls to a batch that launches, not events, are what is measured.
fn repeats(bytes: usize) -> usize {
    ((64 << 20) / bytes.max(1)).clamp(2, 40)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
