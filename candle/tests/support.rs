//! Tensors of every dtype and layout, and the law in its most obvious form.

use candle_core::{DType, Device, Result, Tensor};

pub(crate) const DTYPES: [DType; 9] = [
    DType::U8,
    DType::U32,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::BF16,
    DType::F16,
    DType::F32,
    DType::F64,
];

pub(crate) const FLOATS: [DType; 4] = [DType::BF16, DType::F16, DType::F32, DType::F64];

/// Small numbers that repeat; of floats some halves, zeros of either sign, infinities and NaN.
pub(crate) fn numbers(dtype: DType, len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 33
    };
    let number = |bits: u64| match dtype {
        DType::U8 | DType::U32 => (bits % 7) as f64,
        DType::I16 | DType::I32 | DType::I64 => (bits % 13) as f64 - 6.0,
        _ => match bits % 31 {
            0 => -0.0,
            1 => f64::NAN,
            2 if bits.is_multiple_of(3) => f64::INFINITY,
            _ => (bits % 97) as f64 / 8.0 - 6.0,
        },
    };
    (0..len).map(|_| number(next())).collect()
}

pub(crate) fn tensor(dtype: DType, shape: &[usize], seed: u64) -> Result<Tensor> {
    let numbers = numbers(dtype, shape.iter().product(), seed);
    Tensor::from_vec(numbers, shape, &Device::Cpu)?.to_dtype(dtype)
}

/// Tensors of one dtype in the layouts that candle knows, each with its name.
pub(crate) fn layouts(dtype: DType) -> Result<Vec<(String, Tensor)>> {
    let of = |shape: &[usize], seed| tensor(dtype, shape, seed);
    let cube = of(&[3, 4, 5], 1)?;
    let found = [
        ("row", of(&[37], 2)?),
        ("long row", of(&[1201], 3)?),
        ("one number", of(&[1], 4)?),
        ("part of a row", of(&[64], 5)?.narrow(0, 7, 33)?),
        ("matrix", of(&[6, 7], 6)?),
        ("transposed", of(&[6, 7], 7)?.t()?),
        ("part of columns", of(&[6, 9], 8)?.narrow(1, 2, 5)?),
        ("part of rows", of(&[9, 6], 9)?.narrow(0, 2, 5)?),
        (
            "part of columns, transposed",
            of(&[6, 9], 10)?.narrow(1, 2, 5)?.t()?,
        ),
        ("cube", cube.clone()),
        ("permuted cube", cube.permute((2, 0, 1))?),
        ("turned cube", cube.permute((1, 2, 0))?),
        ("cube narrowed in the middle", cube.narrow(1, 1, 2)?),
        ("cube narrowed at the end", cube.narrow(2, 1, 3)?),
        (
            "cube narrowed twice",
            cube.narrow(1, 1, 2)?.narrow(2, 1, 3)?,
        ),
        ("broadcast rows", of(&[1, 5], 11)?.broadcast_as((4, 5))?),
        ("broadcast columns", of(&[4, 1], 12)?.broadcast_as((4, 5))?),
        (
            "broadcast cube",
            of(&[3, 1, 5], 13)?.broadcast_as((3, 4, 5))?,
        ),
        ("a number broadcast", of(&[1, 1], 14)?.broadcast_as((3, 4))?),
        ("with ones", of(&[1, 6, 1], 15)?),
        (
            "four dimensions",
            of(&[2, 3, 2, 3], 16)?.permute((1, 0, 3, 2))?,
        ),
        ("no columns", of(&[3, 0], 17)?),
        ("no rows", of(&[0, 3], 18)?),
        ("nothing", of(&[0], 19)?),
    ];
    Ok(found
        .into_iter()
        .map(|(name, x)| (format!("{name} of {dtype:?}"), x))
        .collect())
}

/// The numbers of a tensor in their order. All of the supported dtypes fit, but large `i64`.
pub(crate) fn values(x: &Tensor) -> Result<Vec<f64>> {
    x.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}

/// The lanes along a dimension, in the order of the other dimensions, each with the flat places of
/// its numbers.
pub(crate) fn lanes(shape: &[usize], dim: usize) -> Vec<Vec<usize>> {
    let inner: usize = shape[dim + 1..].iter().product();
    let outer: usize = shape[..dim].iter().product();
    let lane = |outer: usize, inner_at: usize| {
        (0..shape[dim])
            .map(|at| (outer * shape[dim] + at) * inner + inner_at)
            .collect()
    };
    (0..outer)
        .flat_map(|o| (0..inner).map(move |i| (o, i)))
        .map(|(o, i)| lane(o, i))
        .collect()
}

/// A number rounded to a dtype.
pub(crate) fn rounded(dtype: DType, x: f64) -> f64 {
    match dtype {
        DType::BF16 => half::bf16::from_f32(x as f32).to_f64(),
        DType::F16 => half::f16::from_f32(x as f32).to_f64(),
        DType::F32 => f64::from(x as f32),
        _ => x,
    }
}

/// The prefix of all numbers by warpfold's bracketing, computed in the dtype, or `f32` for halves.
pub(crate) fn fold(dtype: DType, x: &[f64], combine: fn(f64, f64) -> f64) -> Option<f64> {
    let step = |a: f64, b: f64| match dtype {
        DType::F64 => combine(a, b),
        _ if dtype.is_int() => combine(a, b),
        _ => f64::from(combine(a, b) as f32),
    };
    fn tree(x: &[f64], step: &dyn Fn(f64, f64) -> f64) -> f64 {
        match x {
            [one] => *one,
            _ => step(tree(&x[..x.len() / 2], step), tree(&x[x.len() / 2..], step)),
        }
    }
    let mut rest = x;
    let mut sum = None;
    while !rest.is_empty() {
        let block = 1 << rest.len().ilog2();
        let (first, others) = rest.split_at(block);
        let of_block = tree(first, &step);
        sum = Some(sum.map_or(of_block, |sum| step(sum, of_block)));
        rest = others;
    }
    sum
}

/// Compares bit for bit; NaNs are equal.
#[track_caller]
pub(crate) fn assert_same(got: &[f64], expected: &[f64], what: &str) {
    let canonical = |x: &f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
    assert_eq!(got.len(), expected.len(), "{what}: lengths");
    let differ = got
        .iter()
        .zip(expected)
        .position(|(a, b)| canonical(a) != canonical(b));
    if let Some(at) = differ {
        panic!(
            "{what}: number {at} is {} instead of {}",
            got[at], expected[at]
        );
    }
}

/// Compares what was computed with a limit relative to the greatest number.
#[track_caller]
pub(crate) fn assert_near(got: &[f64], expected: &[f64], limit: f64, what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}: lengths");
    let scale = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
    for (at, (a, b)) in got.iter().zip(expected).enumerate() {
        assert!(
            (a - b).abs() <= limit * scale,
            "{what}: number {at} is {a} instead of {b}"
        );
    }
}
