//! Times and memory on the CPU, beside candle's own operations where it has them.
//!
//! `cargo bench -p warpfold-candle` prints a table. Each time is the median of seven runs after
//! one; memory is how much more the process held at its peak, by Linux' count, than before.

use candle_core::{D, DType, Device, Result, Tensor};
use std::time::Instant;
use warpfold::Order;
use warpfold_candle::{Fold, Sampling, WarpfoldExt};

type Run<'a> = &'a dyn Fn() -> Result<Tensor>;

fn main() -> Result<()> {
    let device = Device::Cpu;
    let row = |len: usize| Tensor::randn(0_f32, 1.0, len, &device);
    let (short, long) = (row(5000)?, row(1_000_000)?);
    let square = Tensor::randn(0_f32, 1.0, (2000, 2000), &device)?;
    let halves = square.to_dtype(DType::BF16)?;
    let logits = Tensor::randn(0_f32, 3.0, (32, 128_000), &device)?;
    let rows = Tensor::randn(0_f32, 1.0, (200_000, 64), &device)?;
    let targets = Tensor::zeros((10_000, 64), DType::F32, &device)?;
    let ids = Tensor::rand(0_f32, 10_000.0, 200_000, &device)?.to_dtype(DType::U32)?;
    let offsets: Vec<i64> = (0..=10_000).map(|at| at * 20).collect();
    let offsets = Tensor::from_vec(offsets, 10_001, &device)?;
    let sampling = Sampling::new().temperature(0.8).top_k(50).top_p(0.95);

    println!("| operation | candle: time | memory | here: time | memory |");
    println!("|---|---|---|---|---|");
    line("`cumsum` of 5000 `f32`", Some(&|| short.cumsum(0)), &|| {
        short.warpfold().cumsum(0)
    })?;
    // Candle would need 4 TB.
    line("`cumsum` of 10⁶ `f32`", None, &|| {
        long.warpfold().cumsum(0)
    })?;
    for dim in [0, 1] {
        let name = format!("`cumsum` of 2000 × 2000 `f32` along {dim}");
        line(&name, Some(&|| square.cumsum(dim)), &|| {
            square.warpfold().cumsum(dim)
        })?;
    }
    for dim in [0, 1] {
        let name = format!("`sum` of 2000 × 2000 `f32` along {dim}");
        line(&name, Some(&|| square.sum(dim)), &|| {
            square.warpfold().sum(dim)
        })?;
    }
    let name = "`mean` of 2000 × 2000 `bf16` along 1";
    line(name, Some(&|| halves.mean(1)), &|| {
        halves.warpfold().mean(1)
    })?;
    let name = "`argmax` of 32 × 128,000 `f32`";
    line(name, Some(&|| logits.argmax(1)), &|| {
        logits.warpfold().argmax(1)
    })?;
    let name = "`argsort` of 32 × 128,000 `f32`";
    line(name, Some(&|| logits.arg_sort_last_dim(false)), &|| {
        logits.warpfold().argsort(1, Order::descending())
    })?;
    let name = "the greatest 50 of 32 × 128,000 `f32`";
    let sorted = || {
        let places = logits
            .arg_sort_last_dim(false)?
            .narrow(1, 0, 50)?
            .contiguous()?;
        logits.gather(&places, 1)
    };
    line(name, Some(&sorted), &|| {
        Ok(logits.warpfold().topk(50, D::Minus1)?.0)
    })?;
    let name = "`index_add` of 200,000 rows of 64 to 10,000";
    line(name, Some(&|| targets.index_add(&ids, &rows, 0)), &|| {
        targets.warpfold().index_add(&ids, &rows, 0)
    })?;
    let name = "sums of 10,000 segments of 200,000 rows of 64";
    line(name, None, &|| {
        rows.warpfold().segment_reduce(&offsets, Fold::Sum)
    })?;
    let name = "`sample` of 32 × 128,000: top-k 50, top-p 0.95";
    line(name, None, &|| logits.warpfold().sample(&sampling, 1))
}

fn line(name: &str, candles: Option<Run<'_>>, ours: Run<'_>) -> Result<()> {
    let candles = match candles {
        Some(run) => measure(run)?.trim_end_matches('|').to_owned(),
        None => "| |".to_owned(),
    };
    println!(
        "| {name} {candles} {} |",
        measure(ours)?.trim_end_matches('|')
    );
    Ok(())
}

/// A time and a peak of memory, as cells of a table.
fn measure(run: Run<'_>) -> Result<String> {
    let before = reset_peak();
    drop(run()?);
    let memory = match (before, status("VmHWM:")) {
        (Some(before), Some(peak)) => format!("{:.1} MB", (peak - before).max(0.0) / 1024.0),
        _ => String::new(),
    };
    let mut times = Vec::new();
    for _ in 0..7 {
        let started = Instant::now();
        drop(run()?);
        times.push(started.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(format!("| {:.2} ms | {memory} |", times[3] * 1e3))
}

/// Lets the peak count from now on, and gives what is held, in KiB.
fn reset_peak() -> Option<f64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    status("VmRSS:")
}

fn status(field: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_whitespace().next()?.parse().ok()
}
