//! Code for the widest vector instructions that a CPU has.

/// Runs `work` compiled for the widest SIMD instructions that this CPU has.
///
/// The choice cannot change a result: vector instructions round as scalar ones do, and the law
/// fixes the order of operations. Each use is compiled once for every width, so it belongs around
/// innermost loops only.
#[inline(always)]
pub(crate) fn with_simd<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    match x86::width() {
        // SAFETY: the CPU has the instructions.
        x86::Width::Bits512 => return unsafe { x86::in_512_bits(work) },
        // SAFETY: the CPU has the instructions.
        x86::Width::Bits256 => return unsafe { x86::in_256_bits(work) },
        x86::Width::Bits128 => {}
    }
    work()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::sync::atomic::{AtomicU8, Ordering};

    #[derive(Clone, Copy)]
    pub(super) enum Width {
        /// Every x86-64 has these.
        Bits128,
        Bits256,
        Bits512,
    }

    /// What this CPU has. It is asked once.
    #[inline]
    pub(super) fn width() -> Width {
        static KNOWN: AtomicU8 = AtomicU8::new(0);
        match KNOWN.load(Ordering::Relaxed) {
            1 => Width::Bits128,
            2 => Width::Bits256,
            3 => Width::Bits512,
            _ => {
                let width = detected();
                KNOWN.store(1 + width as u8, Ordering::Relaxed);
                width
            }
        }
    }

    /// Names the features of a width, for a function and for the question whether a CPU has them.
    macro_rules! widths {
        ($($function:ident $has:ident [$($feature:tt)*])*) => {$(
            /// # Safety
            ///
            /// The CPU has the instructions.
            $(#[target_feature(enable = $feature)])*
            #[inline]
            pub(super) unsafe fn $function<R>(work: impl FnOnce() -> R) -> R {
                work()
            }

            fn $has() -> bool {
                $(is_x86_feature_detected!($feature))&&*
            }
        )*};
    }

    // The levels v3 and v4 of the x86-64 psABI, as far as compilers use them here.
    widths! {
        in_256_bits has_256_bits [
            "sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "avx" "avx2" "bmi1" "bmi2" "fma" "lzcnt"
        ]
        in_512_bits has_512_bits [
            "sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "avx" "avx2" "bmi1" "bmi2" "fma" "lzcnt"
            "avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"
        ]
    }

    #[cold]
    fn detected() -> Width {
        match (has_256_bits(), has_512_bits()) {
            (true, true) => Width::Bits512,
            (true, false) => Width::Bits256,
            _ => Width::Bits128,
        }
    }
}
