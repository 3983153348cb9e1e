//! Neither the device nor the layout of a tensor shows in a single bit of a result: every operation
//! of every dtype and layout, beside the same tensor copied without gaps on the CPU.
//!
//! Without a GPU the layouts alone are compared, and each test says so. `WARPFOLD_REQUIRE=cuda`
//! makes a failure of that.

use crate::support::{FLOATS, layouts, numbers, tensor};
use candle_core::{DType, Device, Result, Tensor, Var};
use std::sync::OnceLock;
use warpfold::statistics::Estimate;
use warpfold::{Order, Prefixes};
use warpfold_candle::{Fold, Sampling, Scan, WarpfoldExt};

/// What is computed of a tensor: results, each with its name.
type Results = Vec<(String, Result<Tensor>)>;

/// The GPU of all tests, or why there is none.
fn gpu() -> &'static std::result::Result<Device, String> {
    static GPU: OnceLock<std::result::Result<Device, String>> = OnceLock::new();
    GPU.get_or_init(|| {
        let device = Device::new_cuda(0).map_err(|error| {
            // The rest is where it came from.
            error
                .to_string()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        });
        if let Err(why) = &device {
            let required = std::env::var("WARPFOLD_REQUIRE").unwrap_or_default();
            let named = required.split(',').any(|name| name.trim() == "cuda");
            assert!(!named, "WARPFOLD_REQUIRE names cuda, but {why}");
            eprintln!("skipped (cuda): {why}");
        }
        device
    })
}

/// The bits of all numbers in their order; those of NaNs are one.
fn bits(x: &Tensor) -> Result<Vec<u64>> {
    let x = x.to_device(&Device::Cpu)?.flatten_all()?;
    let floats = |x: &Tensor| -> Result<Vec<u64>> {
        let x = x.to_dtype(DType::F64)?.to_vec1::<f64>()?;
        let canonical = |x: &f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
        Ok(x.iter().map(canonical).collect())
    };
    match x.dtype() {
        DType::I64 => Ok(x.to_vec1::<i64>()?.iter().map(|&x| x as u64).collect()),
        _ => floats(&x),
    }
}

/// Compares what `compute` gives of a dtype's tensors in all layouts, with that of copies.
fn compare(dtype: DType, compute: fn(&Tensor) -> Results) -> Result<()> {
    let mut faults = Vec::new();
    let mut compared = 0;
    for (name, x) in layouts(dtype)? {
        let mut places = vec![("the CPU", x.clone())];
        if let Ok(gpu) = gpu() {
            match x.to_device(gpu) {
                Ok(x) => places.push(("the GPU", x)),
                // Candle's own limits: not of this crate.
                Err(error) if x.elem_count() == 0 => println!("{name}: not on the GPU: {error}"),
                Err(error) => return Err(error),
            }
        }
        let expected = compute(&x.force_contiguous()?);
        for (place, x) in places {
            for ((what, expected), (name_here, got)) in expected.iter().zip(compute(&x)) {
                assert_eq!(*what, name_here, "of {name} on {place}");
                let fault = match (expected, got) {
                    (Ok(expected), Ok(got)) => {
                        compared += 1;
                        difference(expected, &got)?
                    }
                    (Err(_), Err(_)) => None,
                    (Ok(_), Err(error)) => Some(format!("fails: {error}")),
                    (Err(error), Ok(got)) if tells_the_row(&error.to_string(), &got)? => None,
                    (Err(error), Ok(_)) => Some(format!("gives something, instead of: {error}")),
                };
                if let Some(fault) = fault {
                    faults.push(format!("{what} of {name} on {place} {fault}"));
                }
            }
        }
    }
    assert!(compared > 0, "nothing was compared for {dtype:?}");
    let few: Vec<&str> = faults.iter().take(40).map(String::as_str).collect();
    assert!(
        faults.is_empty(),
        "{} of {compared} results differ:\n{}",
        faults.len(),
        few.join("\n")
    );
    Ok(())
}

/// Whether the tokens are those of a GPU where the CPU finds no logit to draw in a row.
fn tells_the_row(error: &str, got: &Tensor) -> Result<bool> {
    let row = error
        .split("row ")
        .nth(1)
        .and_then(|rest| rest.split_once(" has no finite logit to draw"));
    match row.and_then(|(row, _)| row.parse::<usize>().ok()) {
        Some(row) => Ok(got.to_vec1::<u32>()?[row] == u32::MAX),
        None => Ok(false),
    }
}

/// How two results differ, if they do.
fn difference(expected: &Tensor, got: &Tensor) -> Result<Option<String>> {
    if (expected.dims(), expected.dtype()) != (got.dims(), got.dtype()) {
        return Ok(Some(format!("is {got:?} instead of {expected:?}")));
    }
    let (expected, got) = (bits(expected)?, bits(got)?);
    let differ = expected.iter().zip(&got).filter(|(a, b)| a != b).count();
    Ok(expected
        .iter()
        .zip(&got)
        .position(|(a, b)| a != b)
        .map(|at| {
            let numbers = (got[at], expected[at]);
            format!(
                "differs in {differ} of {} numbers: number {at} has the bits {:#x} instead of {:#x}",
                got.len(),
                numbers.0,
                numbers.1
            )
        }))
}

/// Another tensor, on the device of `x`.
fn beside(x: &Tensor, other: Result<Tensor>) -> Result<Tensor> {
    other?.to_device(x.device())
}

fn scans(x: &Tensor) -> Results {
    let (w, mut all) = (x.warpfold(), Results::new());
    for dim in 0..x.rank() {
        let mut put = |name: &str, result| all.push((format!("{name} along {dim}"), result));
        put("cumsum", w.cumsum(dim));
        put("exclusive cumsum", w.cumsum_as(Scan::exclusive(), dim));
        put(
            "cumsum from the end",
            w.cumsum_as(Scan::inclusive().reverse(), dim),
        );
        put(
            "exclusive from the end",
            w.cumsum_as(Scan::exclusive().reverse(), dim),
        );
        put("cumprod", w.cumprod(dim));
        put("cummax", w.cummax(dim));
        put("cummin", w.cummin(dim));
        if x.dtype() == DType::F32 {
            let prefixes = Prefixes::<f32>::inclusive();
            put(
                "a scan",
                w.scan::<f32, warpfold::ops::Max, _>(prefixes, dim),
            );
        }
    }
    all
}

fn reductions(x: &Tensor) -> Results {
    let (w, mut all) = (x.warpfold(), Results::new());
    for dim in 0..x.rank() {
        let mut put = |name: &str, result| all.push((format!("{name} along {dim}"), result));
        put("sum", w.sum(dim));
        put("sum_keepdim", w.sum_keepdim(dim));
        put("mean", w.mean(dim));
        put("var", w.var(dim));
        put(
            "var of a population",
            w.var_as(Estimate::Population, dim, true),
        );
        put("argmax", w.argmax(dim));
        put("argmin", w.argmin(dim));
        if x.dtype() == DType::F64 {
            put("a reduction", w.reduce::<f64, warpfold::ops::Max, _>(dim));
        }
        for other in 0..dim {
            put(&format!("sum along {other} and"), w.sum((other, dim)));
            put(&format!("mean along {other} and"), w.mean((other, dim)));
        }
    }
    all
}

fn sorts(x: &Tensor) -> Results {
    let (w, mut all) = (x.warpfold(), Results::new());
    for dim in 0..x.rank() {
        let mut put = |name: &str, result| all.push((format!("{name} along {dim}"), result));
        put("argsort", w.argsort(dim, Order::ascending()));
        put("falling argsort", w.argsort(dim, Order::descending()));
        put(
            "sort",
            w.sort(dim, Order::ascending()).map(|sorted| sorted.0),
        );
        let k = x.dims()[dim].min(3);
        let (best, places) = split(w.topk(k, dim));
        put("topk", best);
        put("places of topk", places);
        let (least, places) = split(w.bottomk(k, dim));
        put("bottomk", least);
        put("places of bottomk", places);
    }
    all
}

fn split(pair: Result<(Tensor, Tensor)>) -> (Result<Tensor>, Result<Tensor>) {
    match pair {
        Ok((a, b)) => (Ok(a), Ok(b)),
        Err(error) => {
            let again = candle_core::Error::Msg(error.to_string());
            (Err(error), Err(again))
        }
    }
}

fn selections(x: &Tensor) -> Results {
    let (w, mut all) = (x.warpfold(), Results::new());
    let mut put = |name: &str, result| all.push((name.to_owned(), result));
    for dtype in [DType::U8, DType::U32, DType::I16, DType::I32, DType::I64] {
        let flags: Vec<u8> = (0..x.elem_count())
            .map(|at| (at * 5 % 3 % 2) as u8)
            .collect();
        let mask = Tensor::from_vec(flags, x.shape(), &Device::Cpu);
        let mask = beside(x, mask.and_then(|mask| mask.to_dtype(dtype)));
        let Ok(mask) = mask else { continue };
        put(
            &format!("masked_select by {dtype:?}"),
            w.masked_select(&mask),
        );
        let (kept, count) = split(w.masked_select_padded(&mask, 7));
        put("masked_select_padded", kept);
        put("count of masked_select_padded", count);
    }
    put("nonzero", w.nonzero());
    let (places, count) = split(w.nonzero_padded(9));
    put("nonzero_padded", places);
    put("count of nonzero_padded", count);
    match w.unique_consecutive() {
        Ok(unique) => {
            put("values of unique_consecutive", Ok(unique.values));
            put("inverse of unique_consecutive", Ok(unique.inverse));
            put("counts of unique_consecutive", Ok(unique.counts));
        }
        Err(error) => put("unique_consecutive", Err(error)),
    }
    all
}

fn counts(x: &Tensor) -> Results {
    let (w, mut all) = (x.warpfold(), Results::new());
    let mut put = |name: &str, result| all.push((name.to_owned(), result));
    put("bincount", w.bincount(3));
    put("bincount_padded", w.bincount_padded(5));
    put("histogram", w.histogram(4, -3.0, 5.0));
    put(
        "histogram_between",
        w.histogram_between(&[-2.0, 0.0, 0.5, 3.0]),
    );
    // Sorted rows, of which each place of the others has one.
    if let Some(&len) = x.dims().last() {
        let sorted: Vec<f64> = (0..len).map(|at| (at / 2) as f64).collect();
        let sorted = Tensor::from_vec(sorted, len, &Device::Cpu);
        let sorted = sorted.and_then(|row| row.to_dtype(x.dtype())?.broadcast_as(x.shape()));
        if let Ok(sorted) = beside(x, sorted) {
            put("searchsorted", sorted.warpfold().searchsorted(x, false));
            put(
                "searchsorted on the right",
                sorted.warpfold().searchsorted(x, true),
            );
        }
    }
    all
}

fn segments(x: &Tensor) -> Results {
    let (w, mut all) = (x.warpfold(), Results::new());
    let mut put = |name: String, result| all.push((name, result));
    let rows = x.dims()[0] as i64;
    for dtype in [DType::U32, DType::I64] {
        let offsets = Tensor::new(&[0, rows / 3, rows / 3, rows], &Device::Cpu);
        let offsets = beside(x, offsets.and_then(|offsets| offsets.to_dtype(dtype)));
        let Ok(offsets) = offsets else { continue };
        for fold in [Fold::Sum, Fold::Mean, Fold::Prod, Fold::Max, Fold::Min] {
            put(
                format!("segments by {dtype:?}, {fold:?}"),
                w.segment_reduce(&offsets, fold),
            );
        }
    }
    all
}

fn additions(x: &Tensor) -> Results {
    let (w, mut all) = (x.warpfold(), Results::new());
    for dim in 0..x.rank() {
        let mut put = |name: String, result| all.push((format!("{name} along {dim}"), result));
        let len = x.dims()[dim];
        let mut shape = x.dims().to_vec();
        shape[dim] = 5;
        let Ok(base) = beside(x, tensor(x.dtype(), &shape, 61)) else {
            continue;
        };
        for dtype in [DType::U8, DType::U32, DType::I16, DType::I32, DType::I64] {
            let ids = (0..len as u32).map(|at| at * 7 % 4).collect();
            let ids = Tensor::from_vec(ids, len, &Device::Cpu).and_then(|ids| ids.to_dtype(dtype));
            let Ok(ids) = beside(x, ids) else { continue };
            put(
                format!("index_add by {dtype:?}"),
                base.warpfold().index_add(&ids, x, dim),
            );
            put(
                format!("index_select by {dtype:?}"),
                base.warpfold().index_select(&ids, dim),
            );
            let indices = numbers(DType::U8, x.elem_count(), 5);
            let indices = indices.iter().map(|index| index % 5.0).collect();
            let indices = Tensor::from_vec(indices, x.shape(), &Device::Cpu);
            let indices = indices.and_then(|indices| indices.to_dtype(dtype));
            let Ok(indices) = beside(x, indices) else {
                continue;
            };
            let added = base.warpfold().scatter_add(&indices, x, dim);
            put(format!("scatter_add by {dtype:?}"), added);
            put(
                format!("gather by {dtype:?}"),
                base.warpfold().gather(&indices, dim),
            );
        }
        // From `x` itself, in its layout.
        if len > 0 {
            let ids = beside(x, Tensor::new(&[len as u32 - 1, 0], &Device::Cpu));
            if let Ok(ids) = ids {
                put(
                    "index_select of the tensor".to_owned(),
                    w.index_select(&ids, dim),
                );
            }
        }
    }
    all
}

fn samples(x: &Tensor) -> Results {
    let ways = [
        ("greedy", Sampling::greedy()),
        ("by min-p", Sampling::new().min_p(0.05)),
        ("by temperature", Sampling::new().temperature(0.7)),
        ("by top-k", Sampling::new().top_k(3)),
        ("by top-p", Sampling::new().temperature(1.5).top_p(0.9)),
        (
            "by all",
            Sampling::new()
                .temperature(0.8)
                .top_k(4)
                .top_p(0.95)
                .min_p(0.01),
        ),
    ];
    let sample = |(name, sampling): (&str, Sampling)| {
        (format!("sample {name}"), x.warpfold().sample(&sampling, 42))
    };
    ways.into_iter().map(sample).collect()
}

/// The gradient of the weighted sum of what `f` gives.
fn gradient(x: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let x = Var::from_tensor(x)?;
    let y = f(x.as_tensor())?.flatten_all()?;
    let weights = (0..y.elem_count())
        .map(|at| 1.0 + (at * 7 % 5) as f64)
        .collect();
    let weights = Tensor::from_vec(weights, y.elem_count(), &Device::Cpu)?;
    let weights = weights.to_dtype(y.dtype())?.to_device(y.device())?;
    let gradients = (y * weights)?.sum_all()?.backward()?;
    let gradient = gradients.get(&x).cloned();
    gradient.ok_or_else(|| candle_core::Error::Msg("there is no gradient".to_owned()))
}

fn gradients(x: &Tensor) -> Results {
    let mut all = Results::new();
    if !FLOATS.contains(&x.dtype()) || x.elem_count() == 0 {
        return all;
    }
    let rows = x.dims()[0] as i64;
    let offsets = || beside(x, Tensor::new(&[0, rows / 3, rows / 3, rows], &Device::Cpu));
    let segments = |fold| gradient(x, |x| x.warpfold().segment_reduce(&offsets()?, fold));
    all.push(("gradient of segments".to_owned(), segments(Fold::Sum)));
    all.push(("gradient of means".to_owned(), segments(Fold::Mean)));
    all.push(("gradient of products".to_owned(), segments(Fold::Prod)));
    for dim in 0..x.rank() {
        let mut put =
            |name: &str, result| all.push((format!("gradient of {name} along {dim}"), result));
        let len = x.dims()[dim];
        put("cumsum", gradient(x, |x| x.warpfold().cumsum(dim)));
        put("sum", gradient(x, |x| x.warpfold().sum(dim)));
        put("mean", gradient(x, |x| x.warpfold().mean(dim)));
        put(
            "topk",
            gradient(x, |x| Ok(x.warpfold().topk(len.min(2), dim)?.0)),
        );
        let select = |x: &Tensor| {
            let ids = beside(x, Tensor::new(&[0, len as i64 - 1, 0], &Device::Cpu))?;
            x.warpfold().index_select(&ids, dim)
        };
        put("index_select", gradient(x, select));
    }
    all
}

macro_rules! families {
    ($($family:ident: $($dtype:ident)*;)*) => {$(
        mod $family {
            $(
                #[test]
                #[expect(non_snake_case, reason = "the dtype's own name")]
                fn $dtype() -> candle_core::Result<()> {
                    super::compare(candle_core::DType::$dtype, super::$family)
                }
            )*
        }
    )*};
}

families! {
    scans: U8 U32 I16 I32 I64 BF16 F16 F32 F64;
    reductions: U8 U32 I16 I32 I64 BF16 F16 F32 F64;
    sorts: U8 U32 I16 I32 I64 BF16 F16 F32 F64;
    selections: U8 U32 I16 I32 I64 BF16 F16 F32 F64;
    counts: U8 U32 I16 I32 I64 BF16 F16 F32 F64;
    segments: U8 U32 I16 I32 I64 BF16 F16 F32 F64;
    additions: U8 U32 I16 I32 I64 BF16 F16 F32 F64;
    samples: BF16 F16 F32 F64;
    gradients: BF16 F16 F32 F64;
}

/// Beyond a tile, a block, and what one thread takes.
#[test]
fn long_rows_have_the_same_bits() -> Result<()> {
    let Ok(gpu) = gpu() else { return Ok(()) };
    let numbers: Vec<f32> = (0..6 * 70_001_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e4 - 800.0)
        .collect();
    let x = Tensor::from_vec(numbers, (6, 70_001), &Device::Cpu)?;
    let mut faults = Vec::new();
    for x in [x.clone(), x.t()?, x.flatten_all()?] {
        for compute in [scans, reductions, sorts, selections, segments, counts] {
            let (on_cpu, on_gpu) = (compute(&x), compute(&x.to_device(gpu)?));
            for ((name, expected), (_, got)) in on_cpu.into_iter().zip(on_gpu) {
                let fault = match (expected, got) {
                    (Ok(expected), Ok(got)) => difference(&expected, &got)?,
                    (Ok(_), Err(error)) => Some(format!("fails: {error}")),
                    _ => None,
                };
                faults.extend(fault.map(|fault| format!("{name} of {:?} {fault}", x.dims())));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

/// What a GPU adds up by number has the same bits each time.
#[test]
fn sums_by_number_have_the_same_bits_each_time() -> Result<()> {
    let Ok(gpu) = gpu() else { return Ok(()) };
    let rows = Tensor::randn(0_f32, 1.0, (20_000, 8), &Device::Cpu)?.to_device(gpu)?;
    let ids: Vec<u32> = (0..20_000_u32)
        .map(|at| at.wrapping_mul(2_654_435_761) % 97)
        .collect();
    let ids = Tensor::from_vec(ids, 20_000, &Device::Cpu)?.to_device(gpu)?;
    let base = Tensor::zeros((97, 8), DType::F32, &Device::Cpu)?.to_device(gpu)?;
    let first = bits(&base.warpfold().index_add(&ids, &rows, 0)?)?;
    for _ in 0..5 {
        assert_eq!(bits(&base.warpfold().index_add(&ids, &rows, 0)?)?, first);
    }
    Ok(())
}
