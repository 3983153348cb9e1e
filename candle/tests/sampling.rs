use candle_core::{DType, Device, Result, Tensor};
use warpfold_candle::{Sampling, WarpfoldExt};

fn logits(rows: usize, len: usize) -> Result<Tensor> {
    let numbers: Vec<f32> = (0..rows * len)
        .map(|at| ((at * 2654435761 % 1000) as f32) / 120.0)
        .collect();
    Tensor::from_vec(numbers, (rows, len), &Device::Cpu)
}

/// The probabilities that `LogitsProcessor` of candle-transformers 0.11.1 draws by: of the softmax
/// at a temperature, those beyond top-k, and then those behind a sum of top-p, are 0.
fn probabilities(logits: &[f32], temperature: f32, k: usize, p: f32, min_p: f32) -> Vec<f64> {
    let greatest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weigh = |&logit: &f32| f64::from((logit - greatest) / temperature).exp();
    let weights: Vec<f64> = logits.iter().map(weigh).collect();
    let total: f64 = weights.iter().sum();
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
    let mut kept = vec![0.0; logits.len()];
    let mut sum = 0.0;
    for &at in order.iter().take(k) {
        if sum < f64::from(p) && weights[at] >= f64::from(min_p) {
            kept[at] = weights[at];
            sum += weights[at] / total;
        }
    }
    let total: f64 = kept.iter().sum();
    kept.iter().map(|weight| weight / total).collect()
}

/// Draws as often as are needed, and compares how often each token comes with its probability, by
/// chi squared.
fn check(sampling: Sampling, temperature: f32, k: usize, p: f32, min_p: f32) -> Result<()> {
    const LEN: usize = 40;
    const DRAWS: usize = 20_000;
    let row = logits(1, LEN)?;
    let expected = probabilities(&row.to_vec2::<f32>()?[0], temperature, k, p, min_p);
    let tokens = row
        .broadcast_as((DRAWS, LEN))?
        .warpfold()
        .sample(&sampling, 7)?
        .to_vec1::<u32>()?;
    let mut counts = vec![0.0; LEN];
    for token in tokens {
        counts[token as usize] += 1.0;
    }
    let mut distance = 0.0;
    let mut freedom = 0.0;
    for (count, probability) in counts.iter().zip(&expected) {
        if *probability == 0.0 {
            assert_eq!(*count, 0.0, "{sampling:?}");
        } else {
            let mean = probability * DRAWS as f64;
            distance += (count - mean) * (count - mean) / mean;
            freedom += 1.0;
        }
    }
    // Beyond four deviations.
    assert!(
        distance < freedom + 4.0 * f64::sqrt(2.0 * freedom) + 4.0,
        "{sampling:?}: {distance} of {freedom}"
    );
    Ok(())
}

#[test]
fn tokens_come_as_often_as_candles_probabilities_say() -> Result<()> {
    let sampling = Sampling::new();
    check(sampling, 1.0, 40, 1.0, 0.0)?;
    check(sampling.temperature(0.5), 0.5, 40, 1.0, 0.0)?;
    check(sampling.temperature(3.0).top_k(10), 3.0, 10, 1.0, 0.0)?;
    check(sampling.temperature(3.0).top_p(0.6), 3.0, 40, 0.6, 0.0)?;
    check(
        sampling.temperature(3.0).top_k(20).top_p(0.3),
        3.0,
        20,
        0.3,
        0.0,
    )?;
    check(
        sampling.temperature(3.0).top_k(5).top_p(0.95),
        3.0,
        5,
        0.95,
        0.0,
    )?;
    check(sampling.temperature(3.0).min_p(0.3), 3.0, 40, 1.0, 0.3)?;
    check(
        sampling.temperature(3.0).top_k(30).top_p(0.9).min_p(0.2),
        3.0,
        30,
        0.9,
        0.2,
    )
}

#[test]
fn draws_depend_on_the_row_and_the_seed_alone() -> Result<()> {
    let all = logits(50, 100)?;
    let sampling = Sampling::new().temperature(2.0).top_k(20);
    let tokens = all.warpfold().sample(&sampling, 3)?.to_vec1::<u32>()?;
    let first = all
        .narrow(0, 0, 10)?
        .warpfold()
        .sample(&sampling, 3)?
        .to_vec1::<u32>()?;
    assert_eq!(first, tokens[..10]);
    assert_ne!(
        all.warpfold().sample(&sampling, 4)?.to_vec1::<u32>()?,
        tokens
    );
    let cube = all.reshape((5, 10, 100))?.warpfold().sample(&sampling, 3)?;
    assert_eq!(cube.dims(), [5, 10]);
    assert_eq!(cube.flatten_all()?.to_vec1::<u32>()?, tokens);
    Ok(())
}

#[test]
fn masked_tokens_are_never_drawn() -> Result<()> {
    let (low, nan, high) = (f32::NEG_INFINITY, f32::NAN, f32::INFINITY);
    let logits = Tensor::new(
        &[
            [low, 1.0, nan, 2.0],
            [nan, low, 0.0, low],
            [0.0, high, high, nan],
        ],
        &Device::Cpu,
    )?;
    let rows = logits.unsqueeze(0)?.broadcast_as((500, 3, 4))?;
    for sampling in [
        Sampling::new(),
        Sampling::new().top_k(4),
        Sampling::new().top_p(0.99),
        Sampling::greedy(),
    ] {
        for tokens in rows.warpfold().sample(&sampling, 11)?.to_vec2::<u32>()? {
            assert!(
                [1, 3].contains(&tokens[0]) && tokens[1] == 2 && [1, 2].contains(&tokens[2]),
                "{tokens:?}"
            );
        }
    }
    let masked = Tensor::full(low, (2, 4), &Device::Cpu)?;
    for sampling in [Sampling::new(), Sampling::greedy()] {
        let error = masked
            .warpfold()
            .sample(&sampling, 0)
            .unwrap_err()
            .to_string();
        assert!(error.contains("row 0"), "{error}");
    }
    Ok(())
}

#[test]
fn parameters_out_of_range_are_errors() -> Result<()> {
    let x = logits(1, 10)?;
    let error = |sampling: Sampling| x.warpfold().sample(&sampling, 0).unwrap_err().to_string();
    let sampling = Sampling::new();
    assert!(error(sampling.temperature(-1.0)).contains("temperature of -1"));
    assert!(error(sampling.temperature(f32::NAN)).contains("temperature"));
    assert!(error(sampling.top_p(0.0)).contains("top-p of 0"));
    assert!(error(sampling.top_p(1.5)).contains("top-p of 1.5"));
    assert!(error(sampling.min_p(-0.5)).contains("min-p of -0.5"));
    assert!(error(sampling.top_k(0)).contains("top-k of 0"));
    let integers = x.to_dtype(DType::I64)?;
    assert!(
        integers
            .warpfold()
            .sample(&sampling, 0)
            .unwrap_err()
            .to_string()
            .contains("i64")
    );
    let none = x.narrow(0, 0, 0)?;
    assert_eq!(none.warpfold().sample(&sampling, 0)?.dims(), [0]);
    assert_eq!(
        none.warpfold()
            .sample(&sampling.top_k(3).top_p(0.5), 0)?
            .dims(),
        [0]
    );
    assert!(
        x.narrow(1, 0, 0)?
            .warpfold()
            .sample(&sampling, 0)
            .unwrap_err()
            .to_string()
            .contains("no tokens")
    );
    // More than there are is all.
    x.warpfold().sample(&sampling.top_k(1000), 0)?;
    Ok(())
}
