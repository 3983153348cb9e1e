//! Sampling from a batch of logits: one call for all sequences, where candle's `LogitsProcessor`
//! takes one sequence at a time to the host.
//!
//! `cargo run --release -p warpfold-candle --example sampling`

use candle_core::{Device, Result, Tensor};
use warpfold_candle::{Sampling, WarpfoldExt};

/// A model of which the next token is likely to be the last one plus one.
fn logits(last: &Tensor, vocabulary: usize) -> Result<Tensor> {
    let all = Tensor::arange(0_f32, vocabulary as f32, last.device())?;
    let last = last.to_dtype(candle_core::DType::F32)?.unsqueeze(1)?;
    (all.unsqueeze(0)?.broadcast_sub(&(last + 1.0)?)?.abs()? * -0.7)?.contiguous()
}

/// So many steps from the tokens of a batch.
fn generate(first: &Tensor, steps: u64, sampling: &Sampling) -> Result<Vec<Vec<u32>>> {
    let mut last = first.clone();
    let mut text = vec![last.clone()];
    for step in 0..steps {
        // One number a step is all that the draws depend on.
        last = logits(&last, 1000)?.warpfold().sample(sampling, step)?;
        text.push(last.clone());
    }
    Tensor::stack(&text, 1)?.to_vec2::<u32>()
}

fn main() -> Result<()> {
    let first = Tensor::new(&[10_u32, 20, 30, 40], &Device::Cpu)?;
    let sampling = Sampling::new()
        .temperature(0.8)
        .top_k(50)
        .top_p(0.95)
        .min_p(0.02);
    for text in generate(&first, 12, &sampling)? {
        println!("{text:?}");
    }
    Ok(())
}

#[test]
fn a_greedy_text_counts_up() -> Result<()> {
    let first = Tensor::new(&[10_u32, 20], &Device::Cpu)?;
    let text = generate(&first, 3, &Sampling::greedy())?;
    assert_eq!(text, [[10, 11, 12, 13], [20, 21, 22, 23]]);
    Ok(())
}

#[test]
fn a_text_can_be_drawn_again() -> Result<()> {
    let first = Tensor::new(&[500_u32, 500, 500], &Device::Cpu)?;
    let sampling = Sampling::new().temperature(2.0).top_p(0.9);
    let text = generate(&first, 20, &sampling)?;
    assert_eq!(text, generate(&first, 20, &sampling)?);
    // Rows draw for themselves.
    assert_ne!(text[0], text[1]);
    Ok(())
}
