//! Scatter on the CPU.

use crate::cpu::mode::in_rust_mode;
use crate::source::{Form, IndexNumber};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// One thread stores so many values, one after the other. More are shared out.
const LEAST: usize = 1 << 15;

/// Stores `len` values at their indices, the last of those with one index.
///
/// # Safety
///
/// The arguments are of sources in host memory with `len` items, which stay borrowed, and nothing
/// of them lies in `out`.
pub(super) unsafe fn scatter<F: Form, I: Form<Item: IndexNumber>>(
    values: &F::Arguments,
    indices: &I::Arguments,
    len: usize,
    out: &mut [F::Item],
) where
    F::Item: Send,
{
    let Some(last) = out.len().checked_sub(1) else {
        return;
    };
    // SAFETY: the caller's, for a position below `len`.
    let place = |i| unsafe { I::get(indices, i) }.to_index().min(last as u64) as usize;
    // SAFETY: as above.
    let value = |i| unsafe { F::get(values, i) };
    if len <= LEAST {
        in_rust_mode(|| (0..len).for_each(|i| out[place(i)] = value(i)));
        return;
    }
    let owners: Vec<AtomicU64> = (0..=last)
        .into_par_iter()
        .map(|_| AtomicU64::new(0))
        .collect();
    // The order of the threads does not show in a maximum.
    (0..len).into_par_iter().with_min_len(LEAST).for_each(|i| {
        owners[place(i)].fetch_max(i as u64 + 1, Ordering::Relaxed);
    });
    let places = out.par_iter_mut().zip(owners).with_min_len(LEAST);
    let store = |(to, owner): (&mut F::Item, AtomicU64)| {
        if let Some(i) = owner.into_inner().checked_sub(1) {
            *to = in_rust_mode(|| value(i as usize));
        }
    };
    places.for_each(store);
}
