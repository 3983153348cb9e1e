use crate::support::{DTYPES, assert_same, fold, lanes, layouts, rounded, values};
use candle_core::{DType, Device, Result, Tensor};
use warpfold::Prefixes;
use warpfold_candle::{Scan, WarpfoldExt};

/// Prefixes of each lane along a dimension, one after the other.
fn expected(x: &Tensor, dim: usize, of: DType, combine: fn(f64, f64) -> f64) -> Result<Vec<f64>> {
    let numbers = values(x)?;
    let mut results = vec![0.0; numbers.len()];
    for lane in lanes(x.dims(), dim) {
        let lane_numbers: Vec<f64> = lane.iter().map(|&at| numbers[at]).collect();
        for (end, &at) in lane.iter().enumerate() {
            let prefix = fold(of, &lane_numbers[..=end], combine).expect("there is one");
            results[at] = rounded(of, prefix);
        }
    }
    Ok(results)
}

fn sums_in(dtype: DType) -> DType {
    if dtype.is_int() { DType::I64 } else { dtype }
}

#[test]
fn sums_up_to_each_place_are_those_of_each_lane_alone() -> Result<()> {
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            for dim in 0..x.rank() {
                let sums = x.warpfold().cumsum(dim)?;
                assert_eq!(sums.dtype(), sums_in(dtype), "{name}");
                assert_eq!(sums.dims(), x.dims(), "{name}");
                let expected = expected(&x, dim, sums_in(dtype), |a, b| a + b)?;
                assert_same(
                    &values(&sums)?,
                    &expected,
                    &format!("{name}, dimension {dim}"),
                );
            }
        }
    }
    Ok(())
}

#[test]
fn products_and_extremes_up_to_each_place() -> Result<()> {
    fn least(a: f64, b: f64) -> f64 {
        if a.is_nan() || b.is_nan() {
            f64::NAN
        } else if a < b || (a == b && a.is_sign_negative()) {
            a
        } else {
            b
        }
    }
    fn greatest(a: f64, b: f64) -> f64 {
        -least(-a, -b)
    }
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            if x.elem_count() > 1000 {
                continue;
            }
            for dim in 0..x.rank() {
                let what = format!("{name}, dimension {dim}");
                // Products of more than some twenty integers do not fit f64.
                if !(dtype.is_int() && x.dims()[dim] > 9) {
                    let products = x.warpfold().cumprod(dim)?;
                    let expected = expected(&x, dim, sums_in(dtype), |a, b| a * b)?;
                    let got = values(&products)?;
                    // Integers have one zero.
                    let expected: Vec<f64> = match dtype.is_int() {
                        true => expected.iter().map(|x| x + 0.0).collect(),
                        false => expected,
                    };
                    assert_same(&got, &expected, &what);
                }
                assert_same(
                    &values(&x.warpfold().cummax(dim)?)?,
                    &expected(&x, dim, dtype, greatest)?,
                    &what,
                );
                assert_same(
                    &values(&x.warpfold().cummin(dim)?)?,
                    &expected(&x, dim, dtype, least)?,
                    &what,
                );
            }
        }
    }
    Ok(())
}

/// Candle multiplies by a triangular matrix, so an infinity meets zeros.
#[test]
fn an_infinity_leaves_the_sums_before_it_alone() -> Result<()> {
    let x = Tensor::new(&[1_f32, 2.0, f32::INFINITY, 4.0], &Device::Cpu)?;
    assert!(
        x.cumsum(0)?.to_vec1::<f32>()?[0].is_nan(),
        "candle has changed: tell it in the README"
    );
    let sums = x.warpfold().cumsum(0)?.to_vec1::<f32>()?;
    assert_eq!(sums, [1.0, 3.0, f32::INFINITY, f32::INFINITY]);
    Ok(())
}

/// Ten million places would take candle 400 TB.
#[test]
fn a_long_row_takes_no_matrix() -> Result<()> {
    let ones = Tensor::ones(1 << 20, DType::U8, &Device::Cpu)?;
    let sums = ones.warpfold().cumsum(0)?;
    assert_eq!(sums.get((1 << 20) - 1)?.to_scalar::<i64>()?, 1 << 20);
    Ok(())
}

#[test]
fn exclusive_and_reverse_forms_are_shifted_and_turned() -> Result<()> {
    let x = Tensor::new(&[[1_i16, 2, 3], [4, 5, 6]], &Device::Cpu)?;
    let form = |scan, dim: usize| x.warpfold().cumsum_as(scan, dim)?.to_vec2::<i64>();
    assert_eq!(form(Scan::exclusive(), 1)?, [[0, 1, 3], [0, 4, 9]]);
    assert_eq!(
        form(Scan::inclusive().reverse(), 1)?,
        [[6, 5, 3], [15, 11, 6]]
    );
    assert_eq!(
        form(Scan::exclusive().reverse(), 0)?,
        [[4, 5, 6], [0, 0, 0]]
    );
    Ok(())
}

#[test]
fn sums_of_integers_are_wide() -> Result<()> {
    let x = Tensor::new(&[200_u8, 200, 200], &Device::Cpu)?;
    assert_eq!(x.warpfold().cumsum(0)?.to_vec1::<i64>()?, [200, 400, 600]);
    let x = Tensor::new(&[u32::MAX, u32::MAX], &Device::Cpu)?;
    assert_eq!(
        x.warpfold().cumsum(0)?.to_vec1::<i64>()?,
        [4294967295, 8589934590]
    );
    Ok(())
}

/// Affine maps, composed left to right, do not commute.
#[warpfold::monoid(name = LastOf, identity = 0)]
fn last_of(a: i32, b: i32) -> i32 {
    if b == 0 { a } else { b }
}

#[test]
fn operators_of_the_users_own_keep_the_order() -> Result<()> {
    let x = Tensor::new(&[[0_i32, 3, 0], [5, 0, 7]], &Device::Cpu)?;
    let scan = |x: &Tensor, dim: usize| {
        x.warpfold()
            .scan::<i32, LastOf, _>(Prefixes::inclusive(), dim)?
            .to_vec2::<i32>()
    };
    assert_eq!(scan(&x, 1)?, [[0, 3, 3], [5, 5, 7]]);
    assert_eq!(scan(&x, 0)?, [[0, 3, 0], [5, 3, 7]]);
    assert_eq!(scan(&x.t()?, 0)?, [[0, 5], [3, 5], [3, 7]]);
    let error = x
        .warpfold()
        .scan::<u32, warpfold::ops::Add, _>(Prefixes::inclusive(), 0)
        .unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("works on u32") && error.contains("holds i32"),
        "{error}"
    );
    Ok(())
}

/// `h ↦ a · h + b`, one after the other.
#[warpfold::monoid(name = Compose, identity = [1, 0])]
fn compose(first: [i32; 2], then: [i32; 2]) -> [i32; 2] {
    [
        first[0].wrapping_mul(then[0]),
        first[1].wrapping_mul(then[0]).wrapping_add(then[1]),
    ]
}

#[test]
fn arrays_of_numbers_are_elements() -> Result<()> {
    let steps = Tensor::new(
        &[[[2_i32, 1], [3, 0]], [[1, 5], [2, 2]], [[0, 4], [1, 1]]],
        &Device::Cpu,
    )?;
    let scan = |x: &Tensor, dim: usize| {
        x.warpfold()
            .scan_arrays::<i32, 2, Compose, _>(Prefixes::inclusive(), dim)
    };
    let down = scan(&steps, 0)?.to_vec3::<i32>()?;
    assert_eq!(down, [[[2, 1], [3, 0]], [[2, 6], [6, 2]], [[0, 4], [6, 3]]]);
    let along = scan(&steps, 1)?.to_vec3::<i32>()?;
    assert_eq!(
        along,
        [[[2, 1], [6, 3]], [[1, 5], [2, 12]], [[0, 4], [0, 5]]]
    );
    let error = scan(&steps, 2).unwrap_err().to_string();
    assert!(
        error.contains("dimension 2 is that of the arrays"),
        "{error}"
    );
    let error = scan(&steps.transpose(0, 2)?, 0).unwrap_err().to_string();
    assert!(
        error.contains("arrays of 2") && error.contains("[2, 2, 3]"),
        "{error}"
    );
    Ok(())
}

/// No operation takes numbers for something else.
#[test]
fn every_operation_names_the_dtype_that_it_does_not_support() -> Result<()> {
    let x = Tensor::ones((2, 3), DType::F8E4M3, &Device::Cpu)?;
    let (ids, mask) = (
        Tensor::zeros(2, DType::U32, &Device::Cpu)?,
        Tensor::ones((2, 3), DType::U8, &Device::Cpu)?,
    );
    let w = x.warpfold();
    let results = [
        w.cumsum(0).err(),
        w.cumprod(1).err(),
        w.cummax(0).err(),
        w.cummin(0).err(),
        w.sum(0).err(),
        w.mean((0, 1)).err(),
        w.var(0).err(),
        w.argmax(0).err(),
        w.argmin(1).err(),
        w.argsort(0, Default::default()).err(),
        w.sort(0, Default::default()).err(),
        w.topk(1, 0).err(),
        w.bottomk(1, 0).err(),
        w.masked_select(&mask).err(),
        w.masked_select_padded(&mask, 2).err(),
        w.nonzero().err(),
        w.unique_consecutive().err(),
        w.histogram(2, 0.0, 1.0).err(),
        w.searchsorted(&x, false).err(),
        w.segment_reduce(&ids, warpfold_candle::Fold::Sum).err(),
        w.index_add(&ids, &x, 0).err(),
        w.scatter_add(&mask, &x, 0).err(),
        w.bincount(0).err(),
    ];
    for (at, error) in results.into_iter().enumerate() {
        let error = error
            .unwrap_or_else(|| panic!("operation {at} gives no error"))
            .to_string();
        assert!(
            error.contains("warpfold") && error.contains("f8e4m3"),
            "operation {at}: {error}"
        );
    }
    Ok(())
}

#[test]
fn dtypes_that_are_not_supported_and_dimensions_that_are_not_there_are_errors() -> Result<()> {
    let x = Tensor::ones(3, DType::F8E4M3, &Device::Cpu)?;
    let error = x.warpfold().cumsum(0).unwrap_err().to_string();
    assert!(
        error.contains("cumsum") && error.contains("f8e4m3") && error.contains("bf16"),
        "{error}"
    );
    let x = Tensor::ones((2, 3), DType::F32, &Device::Cpu)?;
    let error = x.warpfold().cumsum(2).unwrap_err().to_string();
    assert!(
        error.contains("out of range") && error.contains("[2, 3]"),
        "{error}"
    );
    Ok(())
}

/// A transposed tensor's result is a transposed view, and a broadcast one's is broadcast.
#[test]
fn results_lie_as_their_inputs_do() -> Result<()> {
    let x = Tensor::ones((3, 4), DType::F32, &Device::Cpu)?;
    assert_eq!(x.t()?.warpfold().cumsum(0)?.stride(), [1, 4]);
    let rows = x.narrow(0, 0, 1)?.broadcast_as((1000, 4))?;
    assert_eq!(rows.warpfold().cumsum(1)?.stride(), [0, 1]);
    Ok(())
}
