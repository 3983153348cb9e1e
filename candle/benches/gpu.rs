//! Times and memory on a GPU, beside candle's own operations where it has them.
//!
//! `cargo bench -p warpfold-candle --features cuda --bench gpu` prints a table;
//! `scripts/candle-gpu` builds it for a machine without Rust. Each time is the median of 21 runs,
//! between two events of the GPU, with nothing of the tensors in its caches before. Memory is the
//! most that candle's pool held beyond what it held before.

use candle_core::{D, DType, Device, Result, Storage, Tensor};
use std::time::Instant;
use warpfold::cuda::cudarc::driver::{CudaStream, sys};
use warpfold::cuda::{AlongAxis, Workspace};
use warpfold::ops::Add;
use warpfold::source::Slice;
use warpfold::{Axis, Order, Prefixes};
use warpfold_candle::{Fold, Sampling, WarpfoldExt};

type Run<'a> = &'a dyn Fn() -> Result<Tensor>;

const RUNS: usize = 21;

fn main() -> Result<()> {
    let device = match Device::new_cuda(0) {
        Ok(device) => device,
        Err(error) => {
            // The rest is where it came from.
            let error = error.to_string();
            let error = error.lines().next().unwrap_or_default();
            let required = std::env::var("WARPFOLD_REQUIRE").unwrap_or_default();
            let named = required.split(',').any(|name| name.trim() == "cuda");
            assert!(!named, "WARPFOLD_REQUIRE names cuda, but {error}");
            println!("nothing is measured: {error}");
            return Ok(());
        }
    };
    let bench = Bench::of(&device)?;
    bench.table()?;
    bench.overhead()
}

struct Bench {
    device: Device,
    stream: std::sync::Arc<CudaStream>,
    pool: sys::CUmemoryPool,
}

impl Bench {
    fn of(device: &Device) -> Result<Bench> {
        let stream = device.as_cuda_device()?.cuda_stream();
        let mut pool = std::ptr::null_mut();
        // SAFETY: there is room for the pool's handle, and the device is the context's.
        let status =
            unsafe { sys::cuDeviceGetDefaultMemPool(&raw mut pool, stream.context().cu_device()) };
        status.result().map_err(candle_core::Error::wrap)?;
        Ok(Bench {
            device: device.clone(),
            stream,
            pool,
        })
    }

    fn table(&self) -> Result<()> {
        let device = &self.device;
        let random = |shape: &[usize]| Tensor::randn(0_f32, 1.0, shape, device);
        let cpu = Device::Cpu;
        println!("| operation | candle: time | memory | here: time | memory |");
        println!("|---|---|---|---|---|");
        {
            let square = random(&[10_000, 10_000])?;
            for dim in [1, 0] {
                let name = format!("`cumsum` of 10⁴ × 10⁴ `f32` along {dim}");
                self.line(&name, Some(&|| square.cumsum(dim)), &|| {
                    square.warpfold().cumsum(dim)
                });
            }
            for dim in [1, 0] {
                let name = format!("`sum` of 10⁴ × 10⁴ `f32` along {dim}");
                self.line(&name, Some(&|| square.sum(dim)), &|| {
                    square.warpfold().sum(dim)
                });
            }
            let name = "`mean` of 10⁴ × 10⁴ `bf16` along 1";
            let halves = square.to_dtype(DType::BF16)?;
            self.line(name, Some(&|| halves.mean(1)), &|| {
                halves.warpfold().mean(1)
            });
            let mask = square.gt(0_f32)?;
            let name = "`masked_select` of half of 10⁸ `f32`";
            self.line(name, None, &|| square.warpfold().masked_select(&mask));
        }
        let long = random(&[1_000_000])?;
        // Candle would need 4 TB.
        self.line("`cumsum` of 10⁶ `f32`", None, &|| {
            long.warpfold().cumsum(0)
        });

        let logits = random(&[32, 128_000])?;
        let name = "`argmax` of 32 × 128,000 `f32`";
        self.line(name, Some(&|| logits.argmax(1)), &|| {
            logits.warpfold().argmax(1)
        });
        let name = "`argsort` of 32 × 128,000 `f32`; candle's through the host";
        let through_the_host = || {
            logits
                .to_device(&cpu)?
                .arg_sort_last_dim(false)?
                .to_device(device)
        };
        self.line(name, Some(&through_the_host), &|| {
            logits.warpfold().argsort(1, Order::descending())
        });
        let name = "the greatest 50 of 32 × 128,000 `f32`; candle's through the host";
        let greatest = || {
            let places = logits.to_device(&cpu)?.arg_sort_last_dim(false)?;
            let places = places.narrow(1, 0, 50)?.contiguous()?.to_device(device)?;
            logits.gather(&places, 1)
        };
        self.line(name, Some(&greatest), &|| {
            Ok(logits.warpfold().topk(50, D::Minus1)?.0)
        });
        let sampling = Sampling::new().temperature(0.8).top_k(50).top_p(0.95);
        let name = "`sample` of 32 × 128,000: top-k 50, top-p 0.95";
        self.line(name, None, &|| logits.warpfold().sample(&sampling, 1));

        let ids = |rows: usize, count: u32| {
            let ids = (0..rows as u32)
                .map(|at| at.wrapping_mul(2_654_435_761) % count)
                .collect();
            Tensor::from_vec(ids, rows, device)
        };
        {
            // A thread of candle's goes through all rows: with 10⁷ of them that takes too long.
            let (rows, targets) = (random(&[100_000, 64])?, random(&[10_000, 64])?);
            let ids = ids(100_000, 10_000)?;
            let name = "`index_add` of 10⁵ rows of 64 `f32` to 10⁴";
            self.line(name, Some(&|| targets.index_add(&ids, &rows, 0)), &|| {
                targets.warpfold().index_add(&ids, &rows, 0)
            });
        }
        let (rows, targets) = (random(&[10_000_000, 64])?, random(&[100_000, 64])?);
        let offsets = Tensor::arange_step(0_i64, 10_000_001, 100, &cpu)?.to_device(device)?;
        for fold in [Fold::Sum, Fold::Mean, Fold::Max] {
            let name = format!("{fold:?} of 10⁵ segments of 10⁷ rows of 64 `f32`");
            self.line(&name, None, &|| {
                rows.warpfold().segment_reduce(&offsets, fold)
            });
        }
        let ids = ids(10_000_000, 100_000)?;
        self.line(
            "`index_add` of 10⁷ rows of 64 `f32` to 10⁵",
            None,
            &|| targets.warpfold().index_add(&ids, &rows, 0),
        );
        Ok(())
    }

    fn line(&self, name: &str, candles: Option<Run<'_>>, ours: Run<'_>) {
        let cells = |run: Option<Run<'_>>| match run.map(|run| self.measure(run)) {
            None => "| |".to_owned(),
            Some(Ok((time, bytes))) => {
                format!("| {:.1} µs | {:.1} MB |", time * 1e3, bytes as f64 / 1e6)
            }
            Some(Err(error)) => {
                let error = error.to_string();
                format!("| fails: {} | |", error.lines().next().unwrap_or_default())
            }
        };
        let (candles, ours) = (cells(candles), cells(Some(ours)));
        println!("| {name} {}{ours}", candles.trim_end_matches('|'));
    }

    /// A time in milliseconds, and the bytes of the peak.
    fn measure(&self, run: Run<'_>) -> Result<(f32, u64)> {
        drop(run()?);
        self.device.synchronize()?;
        let before = self.held(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?;
        self.reset_peak()?;
        drop(run()?);
        self.device.synchronize()?;
        let peak = self.held(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?;
        let mut times = Vec::new();
        for _ in 0..RUNS {
            // More than the caches hold is written; meanwhile the host enqueues the call.
            let flushed = Tensor::zeros(64 << 20, DType::F32, &self.device)?;
            let start = self.event()?;
            let result = run()?;
            let end = self.event()?;
            times.push(start.elapsed_ms(&end).map_err(candle_core::Error::wrap)?);
            drop((flushed, result));
        }
        times.sort_by(f32::total_cmp);
        Ok((times[RUNS / 2], peak.saturating_sub(before)))
    }

    fn event(&self) -> Result<warpfold::cuda::cudarc::driver::CudaEvent> {
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        self.stream
            .record_event(Some(flags))
            .map_err(candle_core::Error::wrap)
    }

    fn held(&self, what: sys::CUmemPool_attribute) -> Result<u64> {
        let mut bytes = 0_u64;
        // SAFETY: the attribute is of 64 bits, and so is the room for it.
        let status =
            unsafe { sys::cuMemPoolGetAttribute(self.pool, what, (&raw mut bytes).cast()) };
        status.result().map_err(candle_core::Error::wrap)?;
        Ok(bytes)
    }

    fn reset_peak(&self) -> Result<()> {
        let mut none = 0_u64;
        let what = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        // SAFETY: as for `held`; 0 resets it.
        let status = unsafe { sys::cuMemPoolSetAttribute(self.pool, what, (&raw mut none).cast()) };
        status.result().map_err(candle_core::Error::wrap)
    }

    /// How long the host takes for a call, beside the third level with the same memory.
    fn overhead(&self) -> Result<()> {
        const LEN: usize = 1000;
        let x = Tensor::randn(0_f32, 1.0, LEN, &self.device)?;
        let (storage, _) = x.storage_and_layout();
        let Storage::Cuda(numbers) = &*storage else {
            unreachable!("the device is a GPU");
        };
        let (numbers, stream) = (numbers.as_cuda_slice::<f32>()?, &self.stream);
        let wrap = |error: warpfold::Error| candle_core::Error::wrap(error);
        let axis = Axis::new(1, LEN, 1).map_err(wrap)?;
        let along = AlongAxis::<f32, Add, Slice<f32>>::load(stream.context()).map_err(wrap)?;
        let mut workspace = Workspace::new(stream, along.workspace_bytes(axis)).map_err(wrap)?;
        let device = self.device.as_cuda_device()?;
        let mut level_3 = || -> Result<()> {
            // SAFETY: the call writes all of it.
            let mut sums = unsafe { device.alloc::<f32>(LEN)? };
            let (prefixes, room) = (Prefixes::inclusive(), &mut workspace);
            along
                .enqueue_scan(stream, prefixes, numbers, axis, &mut sums, room)
                .map_err(wrap)
        };
        let ours = || x.warpfold().cumsum(0).map(drop);
        let level_3 = self.host_time(&mut level_3)?;
        let ours = self.host_time(&mut { ours })?;
        println!();
        println!(
            "The host takes {ours:.2} µs for a `cumsum` of {LEN} `f32`, and {level_3:.2} µs for the third level's call with its memory: {:.2} µs more.",
            ours - level_3
        );
        Ok(())
    }

    /// The median of some hundred calls' time each, in microseconds.
    fn host_time(&self, call: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        const CALLS: usize = 200;
        let mut times = Vec::new();
        for _ in 0..RUNS {
            self.device.synchronize()?;
            let started = Instant::now();
            for _ in 0..CALLS {
                call()?;
            }
            times.push(started.elapsed().as_secs_f64() * 1e6 / CALLS as f64);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[RUNS / 2])
    }
}
