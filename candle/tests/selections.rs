use crate::support::{DTYPES, assert_same, layouts, numbers, tensor, values};
use candle_core::{DType, Device, Result, Tensor};
use warpfold_candle::WarpfoldExt;

#[test]
fn a_mask_keeps_numbers_in_their_order() -> Result<()> {
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            let mask = tensor(DType::U8, x.dims(), 41)?;
            let all = values(&x)?;
            let kept: Vec<f64> = all
                .iter()
                .zip(values(&mask)?)
                .filter(|(_, keep)| *keep != 0.0)
                .map(|(x, _)| *x)
                .collect();
            let got = x.warpfold().masked_select(&mask)?;
            assert_eq!(got.dims(), [kept.len()], "{name}");
            assert_same(&values(&got)?, &kept, &name);
            // Any integers are a mask.
            let wide = mask.to_dtype(DType::I64)?;
            assert_same(&values(&x.warpfold().masked_select(&wide)?)?, &kept, &name);
            for room in [0, 1, kept.len(), kept.len() + 3] {
                let (padded, count) = x.warpfold().masked_select_padded(&mask, room)?;
                let mut of = kept.clone();
                of.resize(room, 0.0);
                assert_same(&values(&padded)?, &of, &name);
                assert_eq!(count.to_scalar::<i64>()?, kept.len() as i64, "{name}");
            }
        }
    }
    let x = Tensor::new(&[[1_f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
    let row = Tensor::new(&[0_u8, 1], &Device::Cpu)?;
    assert_eq!(
        x.warpfold().masked_select(&row)?.to_vec1::<f32>()?,
        [2.0, 4.0]
    );
    let long = Tensor::new(&[0_u8, 1, 1], &Device::Cpu)?;
    let error = x.warpfold().masked_select(&long).unwrap_err().to_string();
    assert!(error.contains("[3]") && error.contains("[2, 2]"), "{error}");
    let error = x.warpfold().masked_select(&x).unwrap_err().to_string();
    assert!(error.contains("f32"), "{error}");
    Ok(())
}

#[test]
fn places_of_what_is_not_zero_have_a_row_each() -> Result<()> {
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            let mut expected = Vec::new();
            for (flat, number) in values(&x)?.into_iter().enumerate() {
                if number != 0.0 {
                    let mut rest = flat;
                    let mut row: Vec<f64> = Vec::new();
                    for &len in x.dims().iter().rev() {
                        row.insert(0, (rest % len) as f64);
                        rest /= len;
                    }
                    expected.extend(row);
                }
            }
            let got = x.warpfold().nonzero()?;
            let count = expected.len() / x.rank();
            assert_eq!(got.dims(), [count, x.rank()], "{name}");
            assert_same(&values(&got)?, &expected, &name);
            for room in [0, 1, count + 2] {
                let (padded, found) = x.warpfold().nonzero_padded(room)?;
                let mut of = expected.clone();
                of.resize(room * x.rank(), 0.0);
                assert_same(&values(&padded)?, &of, &name);
                assert_eq!(found.to_scalar::<i64>()?, count as i64, "{name}");
            }
        }
    }
    Ok(())
}

#[test]
fn runs_of_equals_have_values_numbers_and_lengths() -> Result<()> {
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            // Fewer different numbers, so that there are runs.
            let x = x.to_dtype(DType::F64)?.clamp(0.0, 2.0)?.to_dtype(dtype)?;
            let (mut items, mut inverse, mut counts) =
                (Vec::<f64>::new(), Vec::new(), Vec::<f64>::new());
            for number in values(&x)? {
                match items.last() {
                    Some(last) if *last == number => *counts.last_mut().expect("a run") += 1.0,
                    _ => {
                        items.push(number);
                        counts.push(1.0);
                    }
                }
                inverse.push(items.len() as f64 - 1.0);
            }
            let unique = x.warpfold().unique_consecutive()?;
            assert_same(&values(&unique.values)?, &items, &name);
            assert_same(&values(&unique.inverse)?, &inverse, &name);
            assert_same(&values(&unique.counts)?, &counts, &name);
            assert_eq!(unique.inverse.dims(), x.dims(), "{name}");
        }
    }
    Ok(())
}

#[test]
fn numbers_are_counted() -> Result<()> {
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            if !dtype.is_int() {
                assert!(x.warpfold().bincount(0).is_err(), "{name}");
                continue;
            }
            let all = values(&x)?;
            if let Some(negative) = all.iter().copied().filter(|x| *x < 0.0).reduce(f64::min) {
                let error = x.warpfold().bincount(0).unwrap_err().to_string();
                assert!(
                    error.contains(&format!("{negative} is negative")),
                    "{error}"
                );
            }
            let x = x.to_dtype(DType::F64)?.abs()?.to_dtype(dtype)?;
            let all = values(&x)?;
            for at_least in [0, 3, 20] {
                let bins = all
                    .iter()
                    .fold(at_least, |most, &x| most.max(x as usize + 1));
                let mut expected = vec![0.0; bins];
                for &number in &all {
                    expected[number as usize] += 1.0;
                }
                assert_same(
                    &values(&x.warpfold().bincount(at_least)?)?,
                    &expected,
                    &name,
                );
                expected.resize(at_least, 0.0);
                assert_same(
                    &values(&x.warpfold().bincount_padded(at_least)?)?,
                    &expected,
                    &name,
                );
            }
        }
    }
    Ok(())
}

#[test]
fn numbers_between_edges_are_counted_as_by_numpy() -> Result<()> {
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            let edges = [-4.0, -1.0, 0.0, 2.0, 5.0];
            let mut expected = vec![0.0; 4];
            for number in values(&x)? {
                let bin = edges
                    .windows(2)
                    .position(|pair| pair[0] <= number && number < pair[1]);
                let bin = if number == 5.0 { Some(3) } else { bin };
                if let Some(bin) = bin {
                    expected[bin] += 1.0;
                }
            }
            assert_same(
                &values(&x.warpfold().histogram_between(&edges)?)?,
                &expected,
                &name,
            );
            let even = x.warpfold().histogram(3, -4.0, 5.0)?;
            let of = x.warpfold().histogram_between(&[-4.0, -1.0, 2.0, 5.0])?;
            assert_same(&values(&even)?, &values(&of)?, &name);
        }
    }
    let x = Tensor::ones(3, DType::F32, &Device::Cpu)?;
    assert!(x.warpfold().histogram(3, 1.0, 1.0).is_err());
    assert!(x.warpfold().histogram_between(&[1.0]).is_err());
    Ok(())
}

#[test]
fn sorted_numbers_are_searched() -> Result<()> {
    for dtype in DTYPES {
        let mut sorted = numbers(dtype, 50, 51);
        sorted.sort_by(|a, b| {
            a.partial_cmp(b)
                .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
        });
        let row = Tensor::new(&sorted[..], &Device::Cpu)?.to_dtype(dtype)?;
        for (name, needles) in layouts(dtype)? {
            for right in [false, true] {
                let count = |needle: f64| {
                    let before = |x: f64| x < needle || (needle.is_nan() && !x.is_nan());
                    let equal = |x: f64| x == needle || (needle.is_nan() && x.is_nan());
                    let all = sorted.iter();
                    all.filter(|&&x| before(x) || (right && equal(x))).count() as f64
                };
                let expected: Vec<f64> = values(&needles)?.into_iter().map(count).collect();
                let got = row.warpfold().searchsorted(&needles, right)?;
                assert_eq!(got.dims(), needles.dims(), "{name}");
                assert_same(&values(&got)?, &expected, &name);
            }
        }
    }
    let sorted = Tensor::new(&[[1_f32, 3.0, 5.0], [10.0, 10.0, 20.0]], &Device::Cpu)?;
    let needles = Tensor::new(&[[4_f32, 1.0], [10.0, 30.0]], &Device::Cpu)?;
    let search = |right| {
        sorted
            .warpfold()
            .searchsorted(&needles, right)?
            .to_vec2::<i64>()
    };
    assert_eq!(search(false)?, [[2, 0], [0, 3]]);
    assert_eq!(search(true)?, [[2, 1], [2, 3]]);
    let none = sorted
        .narrow(1, 0, 0)?
        .warpfold()
        .searchsorted(&needles, false)?;
    assert_eq!(none.to_vec2::<i64>()?, [[0, 0], [0, 0]]);
    let error = sorted
        .warpfold()
        .searchsorted(&needles.narrow(0, 0, 1)?, false)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("[1, 2]") && error.contains("[2, 3]"),
        "{error}"
    );
    Ok(())
}

#[test]
fn single_numbers_have_no_dimension() -> Result<()> {
    for (number, places) in [(0_f32, 0), (2.5, 1)] {
        let x = Tensor::new(number, &Device::Cpu)?;
        assert_eq!(x.warpfold().nonzero()?.dims(), [places, 0]);
        let mask = Tensor::new(1_u8, &Device::Cpu)?;
        assert_eq!(
            x.warpfold().masked_select(&mask)?.to_vec1::<f32>()?,
            [number]
        );
        assert_eq!(
            x.warpfold().unique_consecutive()?.counts.to_vec1::<i64>()?,
            [1]
        );
        assert_eq!(x.warpfold().histogram(1, 0.0, 5.0)?.to_vec1::<i64>()?, [1]);
        for error in [
            x.warpfold().cumsum(0),
            x.warpfold().argmax(0),
            x.warpfold().argsort(0, Default::default()),
        ] {
            assert!(error.unwrap_err().to_string().contains("out of range"));
        }
    }
    Ok(())
}
