use crate::support::{DTYPES, FLOATS, assert_same, fold, lanes, layouts, rounded, tensor, values};
use candle_core::{D, DType, Device, Result, Tensor};
use warpfold::statistics::Estimate;
use warpfold_candle::WarpfoldExt;

/// The numbers of each lane along a dimension.
fn numbers(x: &Tensor, dim: usize) -> Result<Vec<Vec<f64>>> {
    let numbers = values(x)?;
    let lanes = lanes(x.dims(), dim).into_iter();
    Ok(lanes
        .map(|lane| lane.into_iter().map(|at| numbers[at]).collect())
        .collect())
}

#[test]
fn sums_are_those_of_each_lane_alone() -> Result<()> {
    for dtype in DTYPES {
        let of = if dtype.is_int() { DType::I64 } else { dtype };
        for (name, x) in layouts(dtype)? {
            for dim in 0..x.rank() {
                let what = format!("{name}, dimension {dim}");
                let sums = x.warpfold().sum(dim)?;
                assert_eq!(sums.dtype(), of, "{what}");
                let mut shape = x.dims().to_vec();
                shape[dim] = 1;
                assert_eq!(x.warpfold().sum_keepdim(dim)?.dims(), shape, "{what}");
                shape.remove(dim);
                assert_eq!(sums.dims(), shape, "{what}");
                let expected = numbers(&x, dim)?.into_iter();
                let expected: Vec<f64> = expected
                    .map(|lane| rounded(of, fold(of, &lane, |a, b| a + b).unwrap_or(0.0)))
                    .collect();
                assert_same(&values(&sums)?, &expected, &what);
            }
        }
    }
    Ok(())
}

#[test]
fn several_dimensions_are_one_lane_in_their_order() -> Result<()> {
    let x = tensor(DType::F32, &[3, 4, 5, 6], 21)?;
    for x in [x.clone(), x.permute((3, 1, 0, 2))?, x.narrow(1, 1, 2)?] {
        for dims in [
            vec![0, 1],
            vec![1, 2],
            vec![0, 2],
            vec![3, 1],
            vec![0, 1, 2, 3],
        ] {
            let mut others: Vec<usize> = (0..4).filter(|dim| !dims.contains(dim)).collect();
            let mut sorted = dims.clone();
            sorted.sort_unstable();
            let kept = others.len();
            others.extend(sorted);
            let flat = x.permute(others)?.contiguous()?;
            let flat = flat.flatten(kept, D::Minus1)?;
            let expected: Vec<f64> = numbers(&flat, kept)?
                .into_iter()
                .map(|lane| fold(DType::F32, &lane, |a, b| a + b).unwrap_or(0.0))
                .collect();
            assert_same(
                &values(&x.warpfold().sum(dims.clone())?)?,
                &expected,
                &format!("{dims:?}"),
            );
        }
    }
    let error = x.warpfold().sum((1, 1)).unwrap_err().to_string();
    assert!(
        error.contains("duplicate") && error.contains("[3, 4, 5, 6]"),
        "{error}"
    );
    Ok(())
}

#[test]
fn means_and_variances_have_the_bits_of_warpfold() -> Result<()> {
    for dtype in DTYPES {
        let of = if dtype.is_int() { DType::F64 } else { dtype };
        for (name, x) in layouts(dtype)? {
            for dim in 0..x.rank() {
                let what = format!("{name}, dimension {dim}");
                let lanes = numbers(&x, dim)?;
                let rounded = |of_lane: &dyn Fn(&[f64]) -> warpfold::Result<f64>| -> Vec<f64> {
                    lanes
                        .iter()
                        .map(|lane| rounded(of, of_lane(lane).unwrap()))
                        .collect()
                };
                let means = x.warpfold().mean(dim)?;
                assert_eq!(means.dtype(), of, "{what}");
                assert_same(
                    &values(&means)?,
                    &rounded(&|lane| warpfold::mean(lane)),
                    &what,
                );
                for estimate in [Estimate::Sample, Estimate::Population] {
                    let expected = rounded(&|lane| warpfold::variance(lane, estimate));
                    let got = x.warpfold().var_as(estimate, dim, false)?;
                    assert_same(&values(&got)?, &expected, &what);
                }
            }
        }
    }
    Ok(())
}

/// Candle adds halves in halves, where 256 + 1 is 256 and 65504 + 16 is 65504.
#[test]
fn sums_of_halves_do_not_saturate() -> Result<()> {
    for (dtype, count) in [(DType::BF16, 5000), (DType::F16, 50_000)] {
        let ones = Tensor::ones((count, 1), dtype, &Device::Cpu)?;
        let mean = ones
            .warpfold()
            .mean(0)?
            .to_dtype(DType::F32)?
            .to_vec1::<f32>()?;
        assert_eq!(mean, [1.0], "{dtype:?}");
        let sum = values(&ones.warpfold().sum(0)?)?;
        assert_same(&sum, &[rounded(dtype, count as f64)], &format!("{dtype:?}"));
    }
    let ones = Tensor::ones(5000, DType::BF16, &Device::Cpu)?;
    let candles = ones.mean(0)?.to_dtype(DType::F32)?.to_scalar::<f32>()?;
    assert!(
        candles < 0.9,
        "candle has changed, its mean is {candles}: tell it in the README"
    );
    Ok(())
}

#[test]
fn places_of_extremes_are_the_first_ones() -> Result<()> {
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            for dim in 0..x.rank() {
                let what = format!("{name}, dimension {dim}");
                if x.dims()[dim] == 0 && x.dims().iter().product::<usize>() == 0 {
                    let others: usize = (0..x.rank())
                        .filter(|&at| at != dim)
                        .map(|at| x.dims()[at])
                        .product();
                    if others > 0 {
                        let error = x.warpfold().argmax(dim).unwrap_err().to_string();
                        assert!(error.contains("no numbers"), "{error}");
                    }
                    continue;
                }
                let better = |greatest: bool| {
                    move |lane: Vec<f64>| {
                        let beats = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
                            (true, nan) => !nan,
                            (false, true) => false,
                            _ => {
                                if greatest {
                                    a > b
                                } else {
                                    a < b
                                }
                            }
                        };
                        (1..lane.len()).fold(0, |best, at| {
                            if beats(lane[at], lane[best]) {
                                at
                            } else {
                                best
                            }
                        }) as f64
                    }
                };
                let expected = |greatest| -> Result<Vec<f64>> {
                    Ok(numbers(&x, dim)?
                        .into_iter()
                        .map(better(greatest))
                        .collect())
                };
                let places = x.warpfold().argmax(dim)?;
                assert_eq!(places.dtype(), DType::U32, "{what}");
                assert_same(&values(&places)?, &expected(true)?, &what);
                assert_same(
                    &values(&x.warpfold().argmin(dim)?)?,
                    &expected(false)?,
                    &what,
                );
            }
        }
    }
    Ok(())
}

#[test]
fn means_of_large_numbers_are_finite() -> Result<()> {
    let x = Tensor::new(&[f64::MAX, f64::MAX, f64::MAX], &Device::Cpu)?;
    assert_eq!(x.warpfold().mean(0)?.to_scalar::<f64>()?, f64::MAX);
    assert_eq!(x.warpfold().var(0)?.to_scalar::<f64>()?, 0.0);
    for dtype in FLOATS {
        let none = Tensor::zeros((2, 0), dtype, &Device::Cpu)?;
        assert_same(
            &values(&none.warpfold().mean(1)?)?,
            &[f64::NAN; 2],
            "no numbers",
        );
        assert_same(&values(&none.warpfold().sum(1)?)?, &[0.0; 2], "no numbers");
    }
    Ok(())
}

#[test]
fn operators_of_the_users_own_fold_lanes() -> Result<()> {
    let x = Tensor::new(&[[1_u32, 2, 4], [3, 3, 8]], &Device::Cpu)?;
    let fold = |x: &Tensor, dim: usize| {
        x.warpfold()
            .reduce::<u32, warpfold::ops::BitXor, _>(dim)?
            .to_vec1::<u32>()
    };
    assert_eq!(fold(&x, 0)?, [2, 1, 12]);
    assert_eq!(fold(&x, 1)?, [7, 8]);
    assert_eq!(fold(&x.t()?, 0)?, [7, 8]);
    Ok(())
}
