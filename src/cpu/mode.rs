//! The floating-point mode of a thread: a part of the law that a CPU keeps in a register.
//!
//! Rust computes with subnormals and rounds to nearest. Libraries that GCC linked with
//! `-ffast-math`, or that process audio, switch that off for a thread. New threads inherit it,
//! rayon's too. A GPU has no such mode. So every piece of work here sets Rust's mode, and restores
//! the thread's. That is done on x86-64; elsewhere the thread's mode shows.

use std::hint::black_box;

/// Calls `work` in Rust's mode. That costs some nanoseconds, and less if the thread is in it
/// already.
pub(crate) fn in_rust_mode<R>(work: impl FnOnce() -> R) -> R {
    // The compiler knows of no modes, and could move an addition out of here. So it must not know
    // what the work is before the mode is set, and must have the result before the mode is
    // restored.
    #[inline(never)]
    fn call<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    let _mode = RustMode::enter();
    black_box(call(black_box(work)))
}

/// Rust's mode, for as long as this lives.
struct RustMode {
    #[cfg(target_arch = "x86_64")]
    before: Option<u32>,
}

/// The bits that change results: denormals are zero, the rounding, flush to zero.
#[cfg(target_arch = "x86_64")]
const DEVIATIONS: u32 = 1 << 6 | 3 << 13 | 1 << 15;

impl RustMode {
    #[inline]
    fn enter() -> RustMode {
        #[cfg(target_arch = "x86_64")]
        {
            let mode = mxcsr();
            if mode & DEVIATIONS == 0 {
                return RustMode { before: None };
            }
            set_mxcsr(mode & !DEVIATIONS);
            RustMode { before: Some(mode) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        RustMode {}
    }
}

#[cfg(target_arch = "x86_64")]
impl Drop for RustMode {
    #[inline]
    fn drop(&mut self) {
        if let Some(mode) = self.before {
            // The lowest six bits are flags of past exceptions.
            set_mxcsr(mode | mxcsr() & 0x3f);
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn mxcsr() -> u32 {
    let mut mode = 0_u32;
    // SAFETY: stores four bytes there.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mode, options(nostack)) };
    mode
}

#[cfg(target_arch = "x86_64")]
fn set_mxcsr(mode: u32) {
    // SAFETY: reads four bytes there. The mode differs from what the register held in defined bits
    // only. Without `nomem`, the compiler moves no load or store across it.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const mode, options(nostack)) };
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::ops::{Add, Mul};
    use crate::{Element, Monoid, inclusive_scan_from, reduce_from, scan};
    use half::f16;

    /// Flush to zero, denormals are zero, and rounding up.
    const OTHERS: [u32; 4] = [1 << 15, 1 << 6, 2 << 13, DEVIATIONS];

    /// The bits of everything that the CPU computes over `input`.
    fn bits<T: Element, Op: Monoid<T>>(init: T, input: &[T]) -> Vec<u8> {
        let reduced = [reduce_from::<T, Op>(init, input).unwrap()];
        let exclusive = scan::<T, Op>(input).unwrap();
        let inclusive = inclusive_scan_from::<T, Op>(init, input).unwrap();
        [&reduced[..], &exclusive, &inclusive]
            .map(bytemuck::cast_slice::<T, u8>)
            .concat()
    }

    /// Sums of subnormals, products that are subnormal, and sums that are rounded.
    fn all_bits() -> Vec<u8> {
        let halves: Vec<_> = (0..200_000)
            .map(|i: u32| f16::from_bits((i % 3) as u16))
            .collect();
        let floats: Vec<_> = (0..300_000).map(|i| f32::from_bits(i % 7)).collect();
        let small: Vec<_> = (0..5_000).map(|i| [0.1, 0.3, -0.7][i % 3]).collect();
        [
            bits::<f16, Add>(f16::from_bits(1), &halves),
            bits::<f32, Add>(f32::from_bits(1), &floats),
            bits::<f64, Add>(1e-9_f64, &small),
            bits::<f32, Mul>(1e-38, &[0.5, 0.25, 3.0]),
        ]
        .concat()
    }

    #[test]
    fn the_mode_of_the_calling_thread_does_not_show_and_stays() {
        let expected = all_bits();
        let ours = mxcsr();
        for other in OTHERS {
            set_mxcsr(ours | other);
            let got = all_bits();
            let after = mxcsr();
            set_mxcsr(ours);
            assert!(got == expected, "in mode {other:#x}");
            assert_eq!(after & !0x3f, (ours | other) & !0x3f);
        }
    }

    #[test]
    fn the_modes_of_rayons_threads_do_not_show() {
        let expected = all_bits();
        for other in OTHERS {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(3)
                .start_handler(move |_| set_mxcsr(mxcsr() | other))
                .build()
                .unwrap();
            assert!(pool.install(all_bits) == expected, "in mode {other:#x}");
        }
    }

    #[test]
    fn a_panic_in_an_operator_leaves_the_mode() {
        struct Panics;
        impl Monoid<f32> for Panics {
            fn identity() -> f32 {
                0.0
            }
            fn combine(_: f32, _: f32) -> f32 {
                panic!("as it is to")
            }
            fn cuda(_: &mut crate::codegen::Definitions) -> String {
                String::new()
            }
        }
        let ours = mxcsr();
        set_mxcsr(ours | 1 << 15);
        let result = std::panic::catch_unwind(|| scan::<f32, Panics>(&[1.0; 100]));
        let after = mxcsr();
        set_mxcsr(ours);
        assert!(result.is_err());
        assert_eq!(after & DEVIATIONS, 1 << 15);
    }
}
