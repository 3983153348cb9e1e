use crate::support::{DTYPES, assert_same, fold, layouts, rounded, tensor, values};
use candle_core::{DType, Device, Result, Tensor};
use warpfold_candle::{Fold, WarpfoldExt};

/// A number within a dtype: integers wrap.
fn wrapped(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::U8 => f64::from(x as i64 as u8),
        DType::U32 => f64::from(x as i64 as u32),
        _ => rounded(dtype, x),
    }
}

#[test]
fn segments_of_rows_are_folded_column_by_column() -> Result<()> {
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            let rows = x.dims()[0];
            // Rows of nothing are rows, too.
            let inner: usize = x.dims()[1..].iter().product();
            let all = values(&x)?;
            let offsets = [0, rows / 3, rows / 3, rows];
            for dtype_of_offsets in [DType::U32, DType::I64] {
                let given: Vec<i64> = offsets.iter().map(|&offset| offset as i64).collect();
                let given = Tensor::new(&given[..], &Device::Cpu)?.to_dtype(dtype_of_offsets)?;
                let sums = x.warpfold().segment_reduce(&given, Fold::Sum)?;
                let mut shape = x.dims().to_vec();
                shape[0] = 3;
                assert_eq!((sums.dims(), sums.dtype()), (&shape[..], dtype), "{name}");
                let mut expected = Vec::new();
                for segment in offsets.windows(2) {
                    for column in 0..inner {
                        let numbers: Vec<f64> = (segment[0]..segment[1])
                            .map(|row| all[row * inner + column])
                            .collect();
                        let sum = fold(dtype, &numbers, |a, b| a + b).unwrap_or(0.0);
                        expected.push(wrapped(dtype, sum));
                    }
                }
                assert_same(&values(&sums)?, &expected, &name);
            }
        }
    }
    let x = Tensor::new(&[3_f32, f32::NAN, 1.0, 2.0], &Device::Cpu)?;
    let offsets = Tensor::new(&[0_u32, 2, 2, 4], &Device::Cpu)?;
    let extremes = |fold| {
        x.warpfold()
            .segment_reduce(&offsets, fold)?
            .to_vec1::<f32>()
    };
    assert_same(
        &extremes(Fold::Max)?.map_f64(),
        &[f64::NAN, f64::NEG_INFINITY, 2.0],
        "greatest",
    );
    assert_same(
        &extremes(Fold::Min)?.map_f64(),
        &[f64::NAN, f64::INFINITY, 1.0],
        "least",
    );
    Ok(())
}

/// Of each segment's numbers, column by column.
fn by_segment(x: &Tensor, offsets: &[usize], of: impl Fn(&[f64]) -> f64) -> Result<Vec<f64>> {
    let (all, inner) = (values(x)?, x.dims()[1..].iter().product::<usize>());
    let mut folds = Vec::new();
    for segment in offsets.windows(2) {
        for column in 0..inner {
            let rows = segment[0]..segment[1];
            let numbers: Vec<f64> = rows.map(|row| all[row * inner + column]).collect();
            folds.push(of(&numbers));
        }
    }
    Ok(folds)
}

#[test]
fn means_are_sums_in_f64_rounded_once_and_of_nothing_nan() -> Result<()> {
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            let rows = x.dims()[0];
            let offsets = [0, rows / 3, rows / 3, rows];
            let given: Vec<i64> = offsets.iter().map(|&offset| offset as i64).collect();
            let given = Tensor::new(&given[..], &Device::Cpu)?;
            let means = x.warpfold().segment_reduce(&given, Fold::Mean)?;
            let kept = if dtype.is_int() { DType::F64 } else { dtype };
            assert_eq!(means.dtype(), kept, "{name}");
            let expected = by_segment(&x, &offsets, |numbers| {
                let sum = fold(DType::F64, numbers, |a, b| a + b).unwrap_or(0.0);
                rounded(kept, sum / numbers.len() as f64)
            })?;
            assert_same(&values(&means)?, &expected, &name);
        }
    }
    // The sum of these is no `f16`.
    let x = Tensor::new(&[60_000_f32; 40], &Device::Cpu)?.to_dtype(DType::F16)?;
    let offsets = Tensor::new(&[0_u32, 40], &Device::Cpu)?;
    let mean = x.warpfold().segment_reduce(&offsets, Fold::Mean)?;
    assert_eq!(values(&mean)?, values(&x.narrow(0, 0, 1)?)?);
    Ok(())
}

#[test]
fn products_are_of_the_dtype_and_of_nothing_1() -> Result<()> {
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            let rows = x.dims()[0].min(4);
            let x = x.narrow(0, 0, rows)?;
            let offsets = [0, rows / 2, rows / 2, rows];
            let given: Vec<i64> = offsets.iter().map(|&offset| offset as i64).collect();
            let given = Tensor::new(&given[..], &Device::Cpu)?;
            let products = x.warpfold().segment_reduce(&given, Fold::Prod)?;
            assert_eq!(products.dtype(), dtype, "{name}");
            let expected = by_segment(&x, &offsets, |numbers| {
                let product = fold(dtype, numbers, |a, b| a * b).unwrap_or(1.0);
                // Integers have no −0.
                wrapped(
                    dtype,
                    if dtype.is_int() {
                        product + 0.0
                    } else {
                        product
                    },
                )
            })?;
            assert_same(&values(&products)?, &expected, &name);
        }
    }
    Ok(())
}

/// The most, the least and no row at all for a number; more numbers than one thread takes.
#[test]
fn many_rows_are_added_in_their_order() -> Result<()> {
    for (rows, count) in [(70_000, 3_u32), (70_000, 9000), (40_000, 1), (50, 100_000)] {
        let hash = |at: usize| (at as u32).wrapping_mul(2_654_435_761) >> 9;
        for skew in [1, count / 2 + 1] {
            let ids: Vec<u32> = (0..rows).map(|at| hash(at) % count / skew * skew).collect();
            let numbers: Vec<f32> = (0..rows).map(|at| hash(at + 1) as f32 / 1e5).collect();
            let mut of: Vec<Vec<f64>> = vec![Vec::new(); count as usize];
            for (&id, &number) in ids.iter().zip(&numbers) {
                of[id as usize].push(f64::from(number));
            }
            let expected: Vec<f64> = of
                .iter()
                .map(|numbers| fold(DType::F32, numbers, |a, b| a + b).unwrap_or(0.0))
                .collect();
            let ids = Tensor::new(&ids[..], &Device::Cpu)?;
            let numbers = Tensor::new(&numbers[..], &Device::Cpu)?;
            let base = Tensor::zeros(count as usize, DType::F32, &Device::Cpu)?;
            let what = format!("{rows} rows, {count} numbers");
            let sums = base.warpfold().index_add(&ids, &numbers, 0)?;
            assert_same(&values(&sums)?, &expected, &what);
            let sums = base.warpfold().scatter_add(&ids, &numbers, 0)?;
            assert_same(&values(&sums)?, &expected, &what);
            // Rows of several numbers.
            let twice = Tensor::stack(&[&numbers, &numbers], 1)?;
            let base = Tensor::stack(&[&base, &base], 1)?;
            let sums = base.warpfold().index_add(&ids, &twice, 0)?;
            for column in 0..2 {
                let column = sums.narrow(1, column, 1)?;
                assert_same(&values(&column)?, &expected, &what);
            }
        }
    }
    Ok(())
}

trait MapF64 {
    fn map_f64(&self) -> Vec<f64>;
}

impl MapF64 for Vec<f32> {
    fn map_f64(&self) -> Vec<f64> {
        self.iter().map(|&x| f64::from(x)).collect()
    }
}

#[test]
fn offsets_that_are_none_are_errors() -> Result<()> {
    let x = Tensor::ones((4, 2), DType::F32, &Device::Cpu)?;
    let of = |offsets: &[i64]| {
        let offsets = Tensor::new(offsets, &Device::Cpu).unwrap();
        x.warpfold()
            .segment_reduce(&offsets, Fold::Sum)
            .unwrap_err()
            .to_string()
    };
    assert!(of(&[0, 3, 2]).contains("less than"), "{}", of(&[0, 3, 2]));
    assert!(of(&[0, 5]).contains('5'), "{}", of(&[0, 5]));
    assert!(of(&[-1, 4]).contains("negative"), "{}", of(&[-1, 4]));
    let floats = Tensor::ones(3, DType::F32, &Device::Cpu)?;
    let error = x
        .warpfold()
        .segment_reduce(&floats, Fold::Sum)
        .unwrap_err()
        .to_string();
    assert!(error.contains("f32"), "{error}");
    Ok(())
}

#[test]
fn rows_are_added_by_number_in_their_order() -> Result<()> {
    for dtype in DTYPES {
        for (name, source) in layouts(dtype)? {
            for dim in 0..source.rank() {
                let what = format!("{name}, dimension {dim}");
                let mut shape = source.dims().to_vec();
                let len = shape[dim];
                shape[dim] = 5;
                let x = tensor(dtype, &shape, 61)?;
                let ids: Vec<u32> = (0..len as u32).map(|at| at * 7 % 4).collect();
                let ids = Tensor::new(&ids[..], &Device::Cpu)?;
                let (of, from, numbers) = (values(&x)?, values(&source)?, values(&ids)?);
                let (targets, sources) = (
                    crate::support::lanes(&shape, dim),
                    crate::support::lanes(source.dims(), dim),
                );
                let mut expected = of.clone();
                for (target, lane) in targets.iter().zip(&sources) {
                    for (place, &at) in target.iter().enumerate() {
                        let belongs = (0..len).filter(|&row| numbers[row] == place as f64);
                        let added: Vec<f64> = belongs.map(|row| from[lane[row]]).collect();
                        if let Some(sum) = fold(dtype, &added, |a, b| a + b) {
                            let sum = rounded(dtype, sum);
                            expected[at] = wrapped(dtype, of[at] + sum);
                        }
                    }
                }
                for kind in [DType::U8, DType::U32, DType::I16, DType::I32, DType::I64] {
                    let ids = ids.to_dtype(kind)?;
                    let got = x.warpfold().index_add(&ids, &source, dim)?;
                    assert_eq!(got.dims(), x.dims(), "{what}");
                    assert_same(&values(&got)?, &expected, &what);
                }
                // Of each row the same: a scatter.
                let mut by = vec![1; source.rank()];
                by[dim] = len;
                let indices = ids.reshape(by)?.broadcast_as(source.shape())?;
                let got = x.warpfold().scatter_add(&indices, &source, dim)?;
                assert_same(&values(&got)?, &expected, &what);
            }
        }
    }
    Ok(())
}

#[test]
fn numbers_of_no_row_and_shapes_that_do_not_fit_are_errors() -> Result<()> {
    let x = Tensor::ones((3, 2), DType::F32, &Device::Cpu)?;
    let source = Tensor::ones((2, 2), DType::F32, &Device::Cpu)?;
    let add = |ids: &[i64]| {
        let ids = Tensor::new(ids, &Device::Cpu).unwrap();
        x.warpfold()
            .index_add(&ids, &source, 0)
            .unwrap_err()
            .to_string()
    };
    assert!(add(&[0, 3]).contains("number 1 is 3"), "{}", add(&[0, 3]));
    assert!(add(&[0, -1]).contains("-1"), "{}", add(&[0, -1]));
    assert!(add(&[0, 1, 2]).contains("[2, 2]"), "{}", add(&[0, 1, 2]));
    let indices = Tensor::new(&[[0_i64, 1], [5, 0]], &Device::Cpu)?;
    let error = x
        .warpfold()
        .scatter_add(&indices, &source, 0)
        .unwrap_err()
        .to_string();
    assert!(error.contains("index 2 is 5"), "{error}");
    let halves = source.to_dtype(DType::F16)?;
    let error = x
        .warpfold()
        .scatter_add(&indices, &halves, 0)
        .unwrap_err()
        .to_string();
    assert!(error.contains("f16") && error.contains("f32"), "{error}");
    Ok(())
}

#[test]
fn what_nothing_is_added_to_keeps_its_bits() -> Result<()> {
    let x = Tensor::new(&[-0.0_f32, 1.0, f32::NAN], &Device::Cpu)?;
    let (ids, source) = (
        Tensor::new(&[1_u32], &Device::Cpu)?,
        Tensor::new(&[2_f32], &Device::Cpu)?,
    );
    let sums = x.warpfold().index_add(&ids, &source, 0)?.to_vec1::<f32>()?;
    assert_eq!((sums[0].to_bits(), sums[1]), ((-0.0_f32).to_bits(), 3.0));
    assert!(sums[2].is_nan());
    Ok(())
}

#[test]
fn gathers_are_candles() -> Result<()> {
    let x = tensor(DType::F32, &[4, 5], 71)?;
    let indices = Tensor::new(
        &[[0_u32, 4, 4], [1, 1, 0], [2, 3, 4], [0, 0, 0]],
        &Device::Cpu,
    )?;
    assert_same(
        &values(&x.warpfold().gather(&indices, 1)?)?,
        &values(&x.gather(&indices, 1)?)?,
        "gather",
    );
    let error = x
        .warpfold()
        .gather(&indices.narrow(0, 0, 2)?, 1)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("[2, 3]") && error.contains("[4, 5]"),
        "{error}"
    );
    Ok(())
}
