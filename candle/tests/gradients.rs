use crate::support::{assert_near, values};
use candle_core::{DType, Device, Result, Tensor, Var};
use warpfold::Order;
use warpfold::statistics::Estimate;
use warpfold_candle::{Fold, Scan, WarpfoldExt};

fn var(shape: &[usize], seed: usize) -> Result<Var> {
    let count: usize = shape.iter().product();
    // All different, so that small steps change no order.
    let numbers: Vec<f64> = (0..count)
        .map(|at| ((at * 37 + seed * 11) % 101) as f64 / 10.0 - 5.0)
        .collect();
    Var::from_tensor(&Tensor::from_vec(numbers, shape, &Device::Cpu)?)
}

/// Compares the gradient of the weighted sum of what `f` gives with central differences.
fn check(what: &str, x: &Var, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<()> {
    let loss = |x: &Tensor| -> Result<Tensor> {
        let y = f(x)?;
        let count = y.elem_count();
        let weights: Vec<f64> = (0..count).map(|at| 1.0 + (at * 7 % 5) as f64).collect();
        (y.flatten_all()? * Tensor::from_vec(weights, count, &Device::Cpu)?)?.sum_all()
    };
    let gradients = loss(x.as_tensor())?.backward()?;
    let gradient = gradients
        .get(x)
        .unwrap_or_else(|| panic!("{what}: no gradient"));
    assert_eq!(gradient.dims(), x.dims(), "{what}");
    let numbers = values(x)?;
    let step = 1e-5;
    let differences = (0..numbers.len()).map(|at| -> Result<f64> {
        let moved = |by: f64| -> Result<f64> {
            let mut moved = numbers.clone();
            moved[at] += by;
            loss(&Tensor::from_vec(moved, x.shape(), &Device::Cpu)?)?.to_scalar()
        };
        Ok((moved(step)? - moved(-step)?) / (2.0 * step))
    });
    let differences: Vec<f64> = differences.collect::<Result<_>>()?;
    assert_near(&values(gradient)?, &differences, 1e-6, what);
    Ok(())
}

#[test]
fn gradients_are_the_slopes() -> Result<()> {
    let x = var(&[4, 5], 1)?;
    for dim in 0..2 {
        for scan in [
            Scan::inclusive(),
            Scan::exclusive(),
            Scan::inclusive().reverse(),
        ] {
            check("cumsum", &x, |x| x.warpfold().cumsum_as(scan, dim))?;
            check("cumsum of a transposed tensor", &x, |x| {
                x.t()?.warpfold().cumsum_as(scan, dim)
            })?;
        }
        check("sum", &x, |x| x.warpfold().sum(dim))?;
        check("sum of a part", &x, |x| {
            x.narrow(1, 1, 3)?.warpfold().sum_keepdim(dim)
        })?;
        check("mean", &x, |x| x.warpfold().mean(dim))?;
        check("mean of all", &x, |x| x.warpfold().mean((0, 1)))?;
        check("variance", &x, |x| x.warpfold().var(dim))?;
        check("variance of all", &x, |x| {
            x.warpfold().var_as(Estimate::Population, (0, 1), false)
        })?;
        check("top", &x, |x| Ok(x.warpfold().topk(3, dim)?.0))?;
        check("least", &x, |x| Ok(x.warpfold().bottomk(2, dim)?.0))?;
        check("sorted", &x, |x| {
            Ok(x.warpfold().sort(dim, Order::descending())?.0)
        })?;
    }
    let row = var(&[1, 5], 2)?;
    check("cumsum of a broadcast tensor", &row, |x| {
        x.broadcast_as((3, 5))?.warpfold().cumsum(1)
    })?;
    check("cumsum along a broadcast dimension", &row, |x| {
        x.broadcast_as((3, 5))?.warpfold().cumsum(0)
    })?;
    check("sum of a broadcast tensor", &row, |x| {
        x.broadcast_as((3, 5))?.warpfold().sum(1)
    })?;
    Ok(())
}

#[test]
fn gradients_of_segments_and_selections_are_the_slopes() -> Result<()> {
    let x = var(&[5, 3], 3)?;
    let offsets = Tensor::new(&[1_i64, 3, 3, 4], &Device::Cpu)?;
    check("segments", &x, |x| {
        x.warpfold().segment_reduce(&offsets, Fold::Sum)
    })?;
    let some = Tensor::new(&[1_i64, 3, 4], &Device::Cpu)?;
    check("segments' means", &x, |x| {
        x.warpfold().segment_reduce(&some, Fold::Mean)
    })?;
    check("segments' products", &x, |x| {
        x.warpfold().segment_reduce(&offsets, Fold::Prod)
    })?;
    // One zero in a product, and two.
    let zeros = [
        [2.0, 0.0, 0.0],
        [3.0, 5.0, 0.0],
        [4.0, 7.0, 2.0],
        [0.0, 1.0, 1.0],
    ];
    let zeros = Var::from_tensor(&Tensor::new(&zeros, &Device::Cpu)?)?;
    let all = Tensor::new(&[0_u32, 3, 4], &Device::Cpu)?;
    check("products with zeros", &zeros, |x| {
        x.warpfold().segment_reduce(&all, Fold::Prod)
    })?;
    let ids = Tensor::new(&[2_u32, 0, 2, 1, 0], &Device::Cpu)?;
    let base = var(&[4, 3], 4)?;
    check("source of index_add", &x, |x| {
        base.as_tensor().warpfold().index_add(&ids, x, 0)
    })?;
    let source = var(&[5, 3], 5)?;
    check("base of index_add", &base, |base| {
        base.warpfold().index_add(&ids, source.as_tensor(), 0)
    })?;
    let indices = Tensor::new(&[[0_i64, 2, 2, 1]; 5], &Device::Cpu)?;
    check("gather", &x, |x| x.warpfold().gather(&indices, 1))?;
    check("index_select", &x, |x| {
        x.warpfold().index_select(&ids.narrow(0, 0, 4)?, 1)
    })?;
    check("unique_consecutive", &x, |x| {
        // Runs of equals, whose first number alone counts.
        let twice = Tensor::stack(&[x, x], 2)?;
        Ok(twice.warpfold().unique_consecutive()?.values)
    })?;
    let wide = var(&[5, 4], 6)?;
    check("source of scatter_add", &wide, |wide| {
        x.as_tensor().warpfold().scatter_add(&indices, wide, 1)
    })?;
    let mask = Tensor::new(
        &[[1_u8, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0], [0, 0, 0]],
        &Device::Cpu,
    )?;
    check("masked_select", &x, |x| x.warpfold().masked_select(&mask))?;
    check("masked_select of a part", &x, |x| {
        x.t()?.warpfold().masked_select(&mask.t()?)
    })?;
    Ok(())
}

/// The values of `torch.autograd` are those of the chain rule, which can be written down.
#[test]
fn gradients_are_those_of_pytorch() -> Result<()> {
    // x = torch.tensor([[3., 1., 2.]], requires_grad=True)
    // (torch.cumsum(x, 1) * torch.tensor([[1., 10., 100.]])).sum().backward(); x.grad
    let x = Var::from_tensor(&Tensor::new(&[[3_f32, 1.0, 2.0]], &Device::Cpu)?)?;
    let weights = Tensor::new(&[[1_f32, 10.0, 100.0]], &Device::Cpu)?;
    let loss = (x.as_tensor().warpfold().cumsum(1)? * &weights)?.sum_all()?;
    assert_eq!(
        loss.backward()?.get(&x).unwrap().to_vec2::<f32>()?,
        [[111.0, 110.0, 100.0]]
    );
    // (torch.topk(x, 2, 1).values * torch.tensor([[1., 10.]])).sum().backward(); x.grad
    let (best, _) = x.as_tensor().warpfold().topk(2, 1)?;
    let loss = (best * weights.narrow(1, 0, 2)?)?.sum_all()?;
    assert_eq!(
        loss.backward()?.get(&x).unwrap().to_vec2::<f32>()?,
        [[1.0, 0.0, 10.0]]
    );
    // torch.var(x).backward(); x.grad
    let loss = x.as_tensor().warpfold().var((0, 1))?;
    assert_eq!(
        loss.backward()?.get(&x).unwrap().to_vec2::<f32>()?,
        [[1.0, -1.0, 0.0]]
    );
    Ok(())
}

/// Those of `torch.segment_reduce` follow from its formulas, too.
#[test]
fn gradients_of_segments_are_those_of_pytorch() -> Result<()> {
    // x = torch.tensor([2., 3., 0., 5.], requires_grad=True)
    // torch.segment_reduce(x, 'prod', offsets=torch.tensor([0, 2, 4])).sum().backward(); x.grad
    let x = Var::from_tensor(&Tensor::new(&[2_f32, 3.0, 0.0, 5.0], &Device::Cpu)?)?;
    let offsets = Tensor::new(&[0_i64, 2, 4], &Device::Cpu)?;
    let slopes = |fold| -> Result<Vec<f32>> {
        let folds = x.as_tensor().warpfold().segment_reduce(&offsets, fold)?;
        folds.sum_all()?.backward()?.get(&x).unwrap().to_vec1()
    };
    assert_eq!(slopes(Fold::Prod)?, [3.0, 2.0, 5.0, 0.0]);
    assert_eq!(slopes(Fold::Mean)?, [0.5; 4]);
    // The mean of an empty segment is NaN, and is no concern of the others' rows.
    let offsets = Tensor::new(&[0_i64, 3, 3], &Device::Cpu)?;
    let means = x
        .as_tensor()
        .warpfold()
        .segment_reduce(&offsets, Fold::Mean)?;
    let slopes = means
        .sum_all()?
        .backward()?
        .get(&x)
        .unwrap()
        .to_vec1::<f32>()?;
    assert_eq!(slopes, [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0]);
    Ok(())
}

#[test]
fn gradients_of_halves_are_halves() -> Result<()> {
    let x = Var::from_tensor(&Tensor::ones((2, 3), DType::BF16, &Device::Cpu)?)?;
    let offsets = Tensor::new(&[0_u32, 2], &Device::Cpu)?;
    for y in [
        x.as_tensor().warpfold().mean(1)?,
        x.as_tensor().warpfold().sum(1)?,
        x.as_tensor().warpfold().cumsum(1)?,
        x.as_tensor()
            .warpfold()
            .segment_reduce(&offsets, Fold::Mean)?,
        x.as_tensor()
            .warpfold()
            .segment_reduce(&offsets, Fold::Prod)?,
    ] {
        let gradients = y.backward()?;
        assert_eq!(gradients.get(&x).unwrap().dtype(), DType::BF16);
    }
    Ok(())
}

/// Without a gradient that is known there is an error, and no zeros without a word.
#[test]
fn gradients_that_are_not_known_are_errors() -> Result<()> {
    let x = var(&[2, 3], 7)?;
    let offsets = Tensor::new(&[0_i64, 2], &Device::Cpu)?;
    let x = x.as_tensor().warpfold();
    for y in [
        x.cumprod(1)?,
        x.cummax(1)?,
        x.reduce::<f64, warpfold::ops::Max, _>(1)?,
        x.segment_reduce(&offsets, Fold::Max)?,
    ] {
        let error = y.sum_all()?.backward().map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("no gradient is known"), "{error}");
    }
    Ok(())
}
