//! The routing of a mixture of experts: which tokens go to which expert, in which order, with
//! which weight.
//!
//! `cargo run --release -p warpfold-candle --example moe`

use candle_core::{D, DType, Device, Result, Tensor};
use warpfold::Order;
use warpfold_candle::{Scan, WarpfoldExt};

/// Where the tokens of each expert stand.
struct Routing {
    /// The weight of each of a token's experts.
    weights: Tensor,
    /// How many tokens each expert has.
    counts: Tensor,
    /// Where the tokens of each expert begin.
    offsets: Tensor,
    /// The tokens, expert by expert, each in the order of the batch.
    tokens: Tensor,
    /// Which of a token's experts each of these is, counted through.
    slots: Tensor,
}

/// Routes each token to the `k` experts of the greatest logits. Nothing comes to the host.
fn route(logits: &Tensor, k: usize) -> Result<Routing> {
    let experts = logits.dim(1)?;
    // Candle's own way sorts all experts: `logits.arg_sort_last_dim(false)?.narrow(1, 0, k)?`.
    let (best, chosen) = logits.warpfold().topk(k, D::Minus1)?;
    let powers = best.broadcast_sub(&best.narrow(1, 0, 1)?)?.exp()?;
    let weights = powers.broadcast_div(&powers.warpfold().sum_keepdim(1)?)?;
    let chosen = chosen.flatten_all()?;
    let counts = chosen.warpfold().bincount_padded(experts)?;
    let offsets = counts.warpfold().cumsum_as(Scan::exclusive(), 0)?;
    let slots = chosen.warpfold().argsort(0, Order::ascending())?;
    let tokens = (slots.to_dtype(DType::F64)? / k as f64)?
        .floor()?
        .to_dtype(DType::U32)?;
    Ok(Routing {
        weights,
        counts,
        offsets,
        tokens,
        slots,
    })
}

/// Each expert works on its tokens, side by side in memory, and what comes out is added up by
/// token, in the same order every time.
fn layer(x: &Tensor, logits: &Tensor, k: usize, factors: &[f64]) -> Result<Tensor> {
    let routing = route(logits, k)?;
    let (counts, offsets) = (
        routing.counts.to_vec1::<i64>()?,
        routing.offsets.to_vec1::<i64>()?,
    );
    let rows = x.index_select(&routing.tokens, 0)?;
    let of_expert = |expert: usize| {
        let rows = rows.narrow(0, offsets[expert] as usize, counts[expert] as usize)?;
        rows * factors[expert]
    };
    let results: Vec<Tensor> = (0..factors.len()).map(of_expert).collect::<Result<_>>()?;
    let weights = routing
        .weights
        .flatten_all()?
        .index_select(&routing.slots, 0)?;
    let results = Tensor::cat(&results, 0)?.broadcast_mul(&weights.unsqueeze(1)?)?;
    x.zeros_like()?
        .warpfold()
        .index_add(&routing.tokens, &results, 0)
}

fn main() -> Result<()> {
    let device = Device::Cpu;
    let (tokens, width, experts, k) = (4096, 64, 32, 4);
    let x = Tensor::randn(0_f32, 1.0, (tokens, width), &device)?;
    let logits = Tensor::randn(0_f32, 1.0, (tokens, experts), &device)?;
    let factors: Vec<f64> = (0..experts).map(|expert| expert as f64).collect();
    let started = std::time::Instant::now();
    let y = layer(&x, &logits, k, &factors)?;
    println!(
        "{tokens} tokens, {k} of {experts} experts each: {:?}",
        started.elapsed()
    );
    println!("counts: {}", route(&logits, k)?.counts);
    println!("the first token: {}", y.get(0)?);
    Ok(())
}

/// Every token is worked on by its best experts, with their softmax as weights.
#[test]
fn each_token_gets_the_sum_of_its_experts() -> Result<()> {
    let (tokens, experts, k) = (50, 7, 3);
    let x = Tensor::randn(0_f64, 1.0, (tokens, 4), &Device::Cpu)?;
    // Some logits are equal.
    let logits = (Tensor::randn(0_f64, 2.0, (tokens, experts), &Device::Cpu)?.round()? / 2.0)?;
    let factors: Vec<f64> = (0..experts)
        .map(|expert| 1.5 * expert as f64 + 1.0)
        .collect();
    let y = layer(&x, &logits, k, &factors)?.to_vec2::<f64>()?;
    let (x, logits) = (x.to_vec2::<f64>()?, logits.to_vec2::<f64>()?);
    for (token, logits) in logits.iter().enumerate() {
        let mut order: Vec<usize> = (0..experts).collect();
        order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
        let best = &order[..k];
        let total: f64 = best.iter().map(|&expert| logits[expert].exp()).sum();
        for (column, got) in y[token].iter().enumerate() {
            let share = |&expert: &usize| logits[expert].exp() / total * factors[expert];
            let expected = x[token][column] * best.iter().map(share).sum::<f64>();
            assert!(
                (got - expected).abs() < 1e-12 * (1.0 + expected.abs()),
                "token {token}"
            );
        }
    }
    Ok(())
}

#[test]
fn tokens_stand_expert_by_expert() -> Result<()> {
    let logits = Tensor::new(
        &[[0_f32, 2.0, 1.0], [3.0, 3.0, 0.0], [0.0, 1.0, 5.0]],
        &Device::Cpu,
    )?;
    let routing = route(&logits, 2)?;
    assert_eq!(routing.counts.to_vec1::<i64>()?, [1, 3, 2]);
    assert_eq!(routing.offsets.to_vec1::<i64>()?, [0, 1, 4]);
    assert_eq!(routing.tokens.to_vec1::<u32>()?, [1, 0, 1, 2, 0, 2]);
    Ok(())
}
