//! Sampling: one token for each row of logits.

use crate::Warpfold;
#[cfg(feature = "cuda")]
use crate::cuda::{Gpu, View};
use crate::draw::draw;
use crate::dtype::{Number, fault};
use crate::job::{Job, plain, run};
use crate::lacking::{contiguous, to_dtype};
use crate::steps::Host;
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::{CpuStorage, DType, Result, Tensor};

/// How tokens are drawn from logits: what inference engines call sampling parameters.
///
/// ```
/// use warpfold_candle::Sampling;
///
/// let sampling = Sampling::new().temperature(0.7).top_k(50).top_p(0.9).min_p(0.05);
/// assert_ne!(sampling, Sampling::greedy());
/// ```
///
/// A token's weight is `exp((logit − greatest logit) / temperature)`, its probability the weight
/// over those of all tokens. Tokens are cut off by each of
///
/// - **top-k**: all but the `k` of the greatest logits, of equal ones the first;
/// - **top-p**: all whose predecessors in falling order have a probability of `p` or more together,
///   as candle's `LogitsProcessor` does: a probability among all tokens, also after top-k;
/// - **min-p**: all with a weight below `p`, so with a probability below `p` times the greatest.
///
/// One of the rest is drawn by weight. NaN and −∞ are never drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    pub(crate) temperature: f32,
    pub(crate) top_k: Option<usize>,
    pub(crate) top_p: f32,
    pub(crate) min_p: f32,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling::new()
    }
}

impl Sampling {
    /// Draws from all tokens at temperature 1.
    pub const fn new() -> Sampling {
        Sampling {
            temperature: 1.0,
            top_k: None,
            top_p: 1.0,
            min_p: 0.0,
        }
    }

    /// Takes the token of the greatest logit, of equal ones the first.
    pub const fn greedy() -> Sampling {
        Sampling {
            temperature: 0.0,
            ..Sampling::new()
        }
    }

    /// Divides the logits; 0 is [`greedy`](Sampling::greedy).
    pub const fn temperature(self, temperature: f32) -> Sampling {
        Sampling {
            temperature,
            ..self
        }
    }

    /// Keeps the `k` of the greatest logits.
    pub const fn top_k(self, k: usize) -> Sampling {
        Sampling {
            top_k: Some(k),
            ..self
        }
    }

    /// Keeps the fewest tokens that have a probability of `p` together; 1 keeps all.
    pub const fn top_p(self, p: f32) -> Sampling {
        Sampling { top_p: p, ..self }
    }

    /// Keeps tokens of at least `p` times the greatest probability; 0 keeps all.
    pub const fn min_p(self, p: f32) -> Sampling {
        Sampling { min_p: p, ..self }
    }

    fn check(&self) -> Result<()> {
        let cause = if !(self.temperature >= 0.0 && self.temperature.is_finite()) {
            format!(
                "a temperature of {}; give 0 or a positive number",
                self.temperature
            )
        } else if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            format!("a top-p of {}; give more than 0 and at most 1", self.top_p)
        } else if !(self.min_p >= 0.0 && self.min_p <= 1.0) {
            format!("a min-p of {}; give a number from 0 to 1", self.min_p)
        } else if self.top_k == Some(0) {
            "a top-k of 0; give 1 or more, or leave it out".to_owned()
        } else {
            return Ok(());
        };
        Err(fault("sample", cause))
    }
}

/// Sampling.
impl Warpfold<'_> {
    /// Draws a token from each row of logits along the last dimension, as `u32`: one call for a
    /// batch. The result has the other dimensions.
    ///
    /// The draw of a row depends on its logits, its number and the seed alone: not on the device,
    /// nor on how many rows there are. Give each step another seed.
    ///
    /// ```
    /// use candle_core::{Device, Tensor};
    /// use warpfold_candle::{Sampling, WarpfoldExt};
    ///
    /// let logits = Tensor::new(&[[0_f32, 9.0, 1.0], [5.0, 5.0, -1.0]], &Device::Cpu)?;
    /// let greedy = logits.warpfold().sample(&Sampling::greedy(), 0)?;
    /// assert_eq!(greedy.to_vec1::<u32>()?, [1, 0]);
    /// let sampling = Sampling::new().temperature(0.8).top_k(2);
    /// let tokens = logits.warpfold().sample(&sampling, 42)?.to_vec1::<u32>()?;
    /// assert!(tokens[0] < 3 && tokens[1] < 2);
    /// assert_eq!(logits.warpfold().sample(&sampling, 42)?.to_vec1::<u32>()?, tokens);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// Halves and `f64` are converted to `f32` first, in which all is computed.
    ///
    /// # Errors
    ///
    /// If the logits are no floats or have no tokens, a parameter is out of range, or, on the CPU,
    /// a row has no finite logit to draw from. On a GPU the token of such a row is `u32::MAX`.
    pub fn sample(&self, sampling: &Sampling, seed: u64) -> Result<Tensor> {
        const NAME: &str = "sample";
        sampling.check()?;
        let shape = self.0.dims();
        let Some((&len, outer)) = shape.split_last().filter(|(len, _)| **len > 0) else {
            return Err(fault(
                NAME,
                format!("logits of shape {shape:?} have no tokens"),
            ));
        };
        if !self.0.dtype().is_float() {
            let dtype = self.0.dtype().as_str();
            return Err(fault(NAME, format!("logits of {dtype}; give floats")));
        }
        let logits = contiguous(&to_dtype(&self.0.detach(), DType::F32)?)?;
        let rows = outer.iter().product();
        let job = Draw {
            sampling: *sampling,
            seed,
            rows,
            len,
        };
        let [tokens] = run(&job, &logits, rows * len)?;
        Ok(plain(tokens, outer))
    }
}

pub(crate) struct Draw {
    pub sampling: Sampling,
    pub seed: u64,
    pub rows: usize,
    pub len: usize,
}

impl Job<1> for Draw {
    fn name(&self) -> &'static str {
        "sample"
    }

    fn cpu<T: Number>(&self, logits: &[T]) -> Result<[CpuStorage; 1]> {
        let logits = bytemuck::cast_slice::<T, f32>(logits);
        let tokens = draw(&Host { name: self.name() }, logits, self)?;
        match tokens.iter().position(|&token| token == u32::MAX) {
            Some(row) => Err(fault(
                self.name(),
                format!("row {row} has no finite logit to draw"),
            )),
            None => Ok([CpuStorage::U32(tokens)]),
        }
    }

    #[cfg(feature = "cuda")]
    fn cuda<T: Number>(&self, gpu: &Gpu, logits: &View<'_, T>) -> Result<[CudaStorage; 1]> {
        let tokens = draw(gpu, &gpu.cast::<T, f32>(logits)?, self)?;
        Ok([gpu.store(tokens)])
    }
}
