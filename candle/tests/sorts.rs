use crate::support::{DTYPES, assert_same, lanes, layouts, tensor, values};
use candle_core::{D, DType, Device, Result, Tensor};
use std::cmp::Ordering;
use warpfold::Order;
use warpfold_candle::WarpfoldExt;

/// NaN is the greatest, and equal to itself. −0 equals +0.
fn ascending(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        _ => a.partial_cmp(&b).expect("numbers"),
    }
}

/// The places of each lane's numbers in order, and the numbers, along a dimension; the first `k`.
fn expected(x: &Tensor, dim: usize, descending: bool, k: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let numbers = values(x)?;
    let mut shape = x.dims().to_vec();
    shape[dim] = k;
    let targets = lanes(&shape, dim);
    let count = shape.iter().product();
    let (mut sorted, mut places) = (vec![0.0; count], vec![0.0; count]);
    for (lane, target) in lanes(x.dims(), dim).into_iter().zip(targets) {
        let mut order: Vec<usize> = (0..lane.len()).collect();
        order.sort_by(|&a, &b| {
            let order = ascending(numbers[lane[a]], numbers[lane[b]]);
            if descending { order.reverse() } else { order }
        });
        for (&at, place) in target.iter().zip(order) {
            (sorted[at], places[at]) = (numbers[lane[place]], place as f64);
        }
    }
    Ok((sorted, places))
}

#[test]
fn sorts_are_stable_along_every_dimension() -> Result<()> {
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            for dim in 0..x.rank() {
                for (order, descending) in
                    [(Order::ascending(), false), (Order::descending(), true)]
                {
                    let what = format!("{name}, dimension {dim}, {order:?}");
                    let (sorted, places) = x.warpfold().sort(dim, order)?;
                    let expected = expected(&x, dim, descending, x.dims()[dim])?;
                    assert_eq!((sorted.dims(), sorted.dtype()), (x.dims(), dtype), "{what}");
                    assert_same(&values(&sorted)?, &expected.0, &what);
                    assert_same(&values(&places)?, &expected.1, &what);
                    assert_eq!(places.dtype(), DType::U32);
                    assert_same(
                        &values(&x.warpfold().argsort(dim, order)?)?,
                        &expected.1,
                        &what,
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn the_best_are_the_beginning_of_the_sorted_row() -> Result<()> {
    for dtype in DTYPES {
        for (name, x) in layouts(dtype)? {
            for dim in 0..x.rank() {
                let len = x.dims()[dim];
                for k in [0, 1, 2, len] {
                    if k > len {
                        let error = x.warpfold().topk(k, dim).unwrap_err().to_string();
                        assert!(error.contains(&format!("k is {k}")), "{error}");
                        continue;
                    }
                    let what = format!("{name}, dimension {dim}, k = {k}");
                    let (best, places) = x.warpfold().topk(k, dim)?;
                    let of = expected(&x, dim, true, k)?;
                    assert_eq!(best.dims()[dim], k, "{what}");
                    assert_same(&values(&best)?, &of.0, &what);
                    assert_same(&values(&places)?, &of.1, &what);
                    let (least, places) = x.warpfold().bottomk(k, dim)?;
                    let of = expected(&x, dim, false, k)?;
                    assert_same(&values(&least)?, &of.0, &what);
                    assert_same(&values(&places)?, &of.1, &what);
                }
            }
        }
    }
    Ok(())
}

/// Candle's own sort of rows that hold a NaN leaves them in no order.
#[test]
fn nan_comes_last_and_rows_may_be_wide() -> Result<()> {
    let wide = tensor(DType::F32, &[2, 20_000], 31)?;
    let (sorted, places) = wide.warpfold().sort_last_dim(true)?;
    let of = expected(&wide, 1, false, 20_000)?;
    assert_same(&values(&sorted)?, &of.0, "wide rows");
    assert_same(&values(&places)?, &of.1, "wide rows");
    assert_same(
        &values(&wide.warpfold().arg_sort_last_dim(false)?)?,
        &expected(&wide, 1, true, 20_000)?.1,
        "wide rows",
    );
    let x = Tensor::new(&[f32::NAN, 2.0, -f32::NAN, 1.0], &Device::Cpu)?;
    let last = x
        .warpfold()
        .topk_by(2, D::Minus1, Order::default().nan_last())?;
    assert_eq!(last.1.to_vec1::<u32>()?, [1, 3]);
    Ok(())
}
