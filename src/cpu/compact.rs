//! Moving the flagged items of a block together.
//!
//! No loop here branches on a flag: a branch that nobody can predict takes longer than a store. The
//! plain loop stores every item, and goes on by the flag. CPUs with AVX2 or AVX-512 move a vector
//! of items at a time, if these have the size of a number.

use bytemuck::Pod;
use std::mem::MaybeUninit;

/// Copies the items whose flags are set to the front of `to`, in their order, and returns how many
/// these are. What comes after them in `to` may be overwritten, up to the number of items.
///
/// # Safety
///
/// All items and flags are initialised.
pub(crate) unsafe fn compact<T: Pod>(
    items: &[MaybeUninit<T>],
    flags: &[MaybeUninit<bool>],
    to: &mut [MaybeUninit<T>],
) -> usize {
    assert!(items.len() == flags.len() && items.len() <= to.len());
    #[cfg(target_arch = "x86_64")]
    let (done, count) = {
        let pointers = (items.as_ptr(), flags.as_ptr(), to.as_mut_ptr());
        // SAFETY: the three are as long as said, and items and flags are initialised.
        unsafe { x86::compact(pointers.0, pointers.1.cast(), pointers.2, items.len()) }
    };
    #[cfg(not(target_arch = "x86_64"))]
    let (done, count) = (0, 0);

    let mut count = count;
    for (item, flag) in items[done..].iter().zip(&flags[done..]) {
        to[count] = *item;
        // SAFETY: the caller's.
        count += usize::from(unsafe { flag.assume_init() });
    }
    count
}

/// With the vector instructions of x86. Each function returns how many items it has looked at, and
/// how many of these it has kept. The items that are left fill no vector.
///
/// A vector is stored whole. It stays within `to`: no more items were kept so far than were looked
/// at, and the vector lies within the items.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::mem::MaybeUninit;

    /// # Safety
    ///
    /// There are `len` initialised items and flags, and room for `len` items.
    pub(super) unsafe fn compact<T>(
        items: *const MaybeUninit<T>,
        flags: *const u8,
        to: *mut MaybeUninit<T>,
        len: usize,
    ) -> (usize, usize) {
        let wide = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        let wide = wide && is_x86_feature_detected!("popcnt");
        let narrow_items = wide && is_x86_feature_detected!("avx512vbmi2");
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        // SAFETY: the CPU has the instructions; the rest is the caller's. The size of the items is
        // that of the numbers.
        unsafe {
            match size_of::<T>() {
                1 if narrow_items => bytes(items.cast(), flags, to.cast(), len),
                2 if narrow_items => halves(items.cast(), flags, to.cast(), len),
                4 if wide => words(items.cast(), flags, to.cast(), len),
                8 if wide => double_words(items.cast(), flags, to.cast(), len),
                4 if avx2 => words_avx2(items.cast(), flags, to.cast(), len),
                8 if avx2 => double_words_avx2(items.cast(), flags, to.cast(), len),
                _ => (0, 0),
            }
        }
    }

    /// A loop over vectors of so many items.
    macro_rules! vectors {
        (
            $(#[$doc:meta])*
            fn $name:ident($features:literal, $item:ty, $lanes:literal),
            |$from:ident, $flags:ident, $to:ident| $mask:expr
        ) => {
            $(#[$doc])*
            ///
            /// # Safety
            ///
            /// As for [`compact`], on a CPU with these features.
            #[target_feature(enable = $features)]
            unsafe fn $name(
                items: *const $item,
                flags: *const u8,
                to: *mut $item,
                len: usize,
            ) -> (usize, usize) {
                let (mut done, mut count) = (0, 0);
                while done + $lanes <= len {
                    // SAFETY: a vector from `done` on ends before `len`, and `count <= done`.
                    let mask = unsafe {
                        let ($from, $flags, $to) = (items.add(done), flags.add(done), to.add(count));
                        $mask
                    };
                    count += mask.count_ones() as usize;
                    done += $lanes;
                }
                (done, count)
            }
        };
    }

    vectors! {
        fn bytes("avx512f,avx512bw,avx512vbmi2,popcnt", u8, 64),
        |from, flags, to| {
            let flags = _mm512_loadu_si512(flags.cast());
            let mask = _mm512_test_epi8_mask(flags, flags);
            let kept = _mm512_maskz_compress_epi8(mask, _mm512_loadu_si512(from.cast()));
            _mm512_storeu_si512(to.cast(), kept);
            mask
        }
    }

    vectors! {
        fn halves("avx512f,avx512bw,avx512vbmi2,avx2,popcnt", u16, 32),
        |from, flags, to| {
            let flags = _mm256_loadu_si256(flags.cast());
            let mask = _mm256_movemask_epi8(_mm256_cmpgt_epi8(flags, _mm256_setzero_si256())) as u32;
            let kept = _mm512_maskz_compress_epi16(mask, _mm512_loadu_si512(from.cast()));
            _mm512_storeu_si512(to.cast(), kept);
            mask
        }
    }

    vectors! {
        fn words("avx512f,popcnt", u32, 16),
        |from, flags, to| {
            let flags = _mm_loadu_si128(flags.cast());
            let mask = _mm_movemask_epi8(_mm_cmpgt_epi8(flags, _mm_setzero_si128())) as u16;
            let kept = _mm512_maskz_compress_epi32(mask, _mm512_loadu_si512(from.cast()));
            _mm512_storeu_si512(to.cast(), kept);
            mask
        }
    }

    vectors! {
        fn double_words("avx512f,popcnt", u64, 8),
        |from, flags, to| {
            let mask = mask_of_8(flags);
            let kept = _mm512_maskz_compress_epi64(mask, _mm512_loadu_si512(from.cast()));
            _mm512_storeu_si512(to.cast(), kept);
            mask
        }
    }

    vectors! {
        fn words_avx2("avx2,popcnt", u32, 8),
        |from, flags, to| {
            let mask = mask_of_8(flags);
            let places = _mm_loadl_epi64(PLACES[mask as usize].as_ptr().cast());
            let items = _mm256_loadu_si256(from.cast());
            let kept = _mm256_permutevar8x32_epi32(items, _mm256_cvtepu8_epi32(places));
            _mm256_storeu_si256(to.cast(), kept);
            mask
        }
    }

    vectors! {
        /// An item is two words, and so is a flag.
        fn double_words_avx2("avx2,popcnt", u64, 4),
        |from, flags, to| {
            let flags = _mm_loadu_si32(flags);
            let twice = _mm_unpacklo_epi8(flags, flags);
            let mask = _mm_movemask_epi8(_mm_cmpgt_epi8(twice, _mm_setzero_si128())) as u8;
            let places = _mm_loadl_epi64(PLACES[mask as usize].as_ptr().cast());
            let items = _mm256_loadu_si256(from.cast());
            let kept = _mm256_permutevar8x32_epi32(items, _mm256_cvtepu8_epi32(places));
            _mm256_storeu_si256(to.cast(), kept);
            mask & 0x55
        }
    }

    /// # Safety
    ///
    /// There are eight flags.
    #[inline(always)]
    unsafe fn mask_of_8(flags: *const u8) -> u8 {
        // SAFETY: SSE2 belongs to every x86-64; the rest is the caller's.
        unsafe {
            let flags = _mm_loadl_epi64(flags.cast());
            _mm_movemask_epi8(_mm_cmpgt_epi8(flags, _mm_setzero_si128())) as u8
        }
    }

    /// For each mask of eight words, where the words are that are kept.
    static PLACES: [[u8; 8]; 256] = {
        let mut places = [[0; 8]; 256];
        let mut mask = 0;
        while mask < 256 {
            let (mut word, mut count) = (0, 0);
            while word < 8 {
                if mask >> word & 1 == 1 {
                    places[mask][count] = word as u8;
                    count += 1;
                }
                word += 1;
            }
            mask += 1;
        }
        places
    };

    #[cfg(test)]
    mod tests {
        use super::*;

        /// On a CPU with AVX-512, nothing else would call these.
        #[test]
        fn avx2_keeps_what_is_flagged() {
            if !is_x86_feature_detected!("avx2") {
                return eprintln!("skipped: the CPU has no AVX2");
            }
            for mask in 0..=255_u8 {
                let flags: Vec<u8> = (0..16).map(|i| mask >> (i % 8) & 1).collect();
                let of = |items: &[u64]| -> Vec<u64> {
                    let kept = items.iter().zip(&flags).filter(|(_, flag)| **flag == 1);
                    kept.map(|(item, _)| *item).collect()
                };
                let items: Vec<u64> = (0..16).map(|i| i << 32 | (100 + i)).collect();
                let mut to = [0; 16];
                // SAFETY: the CPU has AVX2, and all three have 16 elements.
                let (done, count) = unsafe {
                    double_words_avx2(items.as_ptr(), flags.as_ptr(), to.as_mut_ptr(), 16)
                };
                assert_eq!((done, &to[..count]), (16, &of(&items)[..]));
                let items: Vec<u32> = (100..116).collect();
                let mut to = [0; 16];
                // SAFETY: as above.
                let (done, count) =
                    unsafe { words_avx2(items.as_ptr(), flags.as_ptr(), to.as_mut_ptr(), 16) };
                let wide: Vec<u64> = items.iter().map(|&item| item.into()).collect();
                let kept: Vec<u64> = to[..count].iter().map(|&item: &u32| item.into()).collect();
                assert_eq!((done, kept), (16, of(&wide)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Pod + PartialEq + std::fmt::Debug>(from: impl Fn(u8) -> T) {
        for len in (0..200).chain([1000]) {
            for bits in [0, u64::MAX, 0x5555_5555_5555_5555, 0x9E37_79B9_7F4A_7C15] {
                let items: Vec<T> = (0..len).map(|i| from(i as u8)).collect();
                let flags: Vec<bool> = (0..len).map(|i| bits >> (i * i % 64) & 1 == 1).collect();
                let kept = items.iter().zip(&flags).filter(|(_, flag)| **flag);
                let expected: Vec<T> = kept.map(|(item, _)| *item).collect();
                let mut to = vec![MaybeUninit::new(T::zeroed()); len];
                let items: Vec<_> = items.into_iter().map(MaybeUninit::new).collect();
                let flags: Vec<_> = flags.into_iter().map(MaybeUninit::new).collect();
                // SAFETY: all are initialised.
                let got: Vec<T> = unsafe {
                    let count = compact(&items, &flags, &mut to);
                    to[..count].iter().map(|item| item.assume_init()).collect()
                };
                assert_eq!(got, expected, "{len} items, flags {bits:#x}");
            }
        }
    }

    #[test]
    fn what_is_flagged_moves_together() {
        check(|i| i);
        check(|i| u16::from(i) << 8 | 7);
        check(|i| [i; 3]);
        check(|i| u32::from(i) << 24 | 5);
        check(|i| [u16::from(i); 3]);
        check(|i| u64::from(i) << 56 | 3);
        check(|i| [u32::from(i); 3]);
        check(|i| [u64::from(i); 8]);
    }
}
