//! The order of numbers, as one value; and how it turns a number into an integer.

use crate::Element;
use half::{bf16, f16};
use num_traits::PrimInt;
use std::cmp::Ordering;

/// The order in which numbers are sorted, searched and merged.
///
/// Integers have one order, and a direction. Floats have three orders:
///
/// | order | NaN | −0 and +0 |
/// |---|---|---|
/// | as it is: that of NumPy | the greatest, whatever its sign; equal to other NaNs | equal |
/// | [`nan_last`](Order::nan_last): that of Arrow and pandas | behind all numbers in either direction; equal to other NaNs | equal |
/// | [`total`](Order::total): IEEE 754's | by sign and payload, outside of the infinities | −0 is less |
///
/// What is equal stays in the order of the input, also in a descending order. So a descending order
/// is not the ascending one reversed. Bits stay as they are: a NaN keeps its payload, and −0 its
/// sign.
///
/// ```
/// use warpfold::{Order, argsort, sort};
///
/// let x = [0.5, f64::NAN, -0.0, 2.0, 0.0];
/// assert_eq!(argsort(&x, Order::ascending())?, [2, 4, 0, 3, 1]);
/// assert_eq!(argsort(&x, Order::descending())?, [1, 3, 0, 2, 4]);
/// assert_eq!(argsort(&x, Order::descending().nan_last())?, [3, 0, 2, 4, 1]);
/// assert_eq!(argsort(&x, Order::descending().total())?, [1, 3, 0, 4, 2]);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Order {
    descending: bool,
    floats: Floats,
}

/// How floats are ordered that `<` does not order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Floats {
    #[default]
    NanGreatest,
    NanLast,
    Total,
}

impl Order {
    /// The least first, NaN last: the default.
    pub const fn ascending() -> Order {
        Order {
            descending: false,
            floats: Floats::NanGreatest,
        }
    }

    /// The greatest first. NaN is the greatest, unless [`nan_last`](Order::nan_last) follows.
    pub const fn descending() -> Order {
        Order {
            descending: true,
            floats: Floats::NanGreatest,
        }
    }

    /// This order with NaN behind all numbers, in either direction. −0 equals +0.
    pub const fn nan_last(self) -> Order {
        Order {
            floats: Floats::NanLast,
            ..self
        }
    }

    /// This order by IEEE 754's total order, which is that of [`f64::total_cmp`]: it tells apart −0
    /// and +0, and NaNs by sign and payload.
    pub const fn total(self) -> Order {
        Order {
            floats: Floats::Total,
            ..self
        }
    }

    /// This order in a direction.
    pub(crate) const fn turned(self, descending: bool) -> Order {
        Order { descending, ..self }
    }

    /// The order apart from the kind of numbers, in the bits that [`code`](Order::code) has for it.
    pub(crate) fn flags(self) -> u32 {
        let is_total = self.floats == Floats::Total;
        let nan_last = self.floats == Floats::NanLast;
        let flags = [self.descending, false, is_total, nan_last];
        let flags = (0..).zip(flags).map(|(bit, flag)| u32::from(flag) << bit);
        flags.sum()
    }

    /// The order that has these [`flags`](Order::flags).
    #[inline(always)]
    pub(crate) fn of_flags(flags: u32) -> Order {
        Order {
            descending: flags & 1 != 0,
            floats: match flags & 12 {
                0 => Floats::NanGreatest,
                4 => Floats::Total,
                _ => Floats::NanLast,
            },
        }
    }

    /// Whether numbers have one rank only if they have the same bits.
    pub(crate) fn is_total(self) -> bool {
        self.floats == Floats::Total
    }

    /// The order of numbers of a kind, as `SortOrder` in `kernels/machine/order.cuh` reads it.
    pub(crate) fn code(self, kind: Kind) -> u32 {
        self.flags() | kind.code()
    }

    /// Whether numbers of a kind may have one rank and different bits: zeros of both signs, and
    /// NaNs.
    #[cfg(feature = "cuda")]
    pub(crate) fn is_ambiguous(self, kind: Kind) -> bool {
        matches!(kind, Kind::Float(_)) && self.floats != Floats::Total
    }

    /// Which of two numbers comes first: [`Less`](Ordering::Less) if `a` does.
    ///
    /// ```
    /// use std::cmp::Ordering;
    /// use warpfold::Order;
    ///
    /// assert_eq!(Order::descending().compare(2, 1), Ordering::Less);
    /// assert_eq!(Order::ascending().compare(-0.0, 0.0), Ordering::Equal);
    /// assert_eq!(Order::ascending().compare(f32::NAN, f32::INFINITY), Ordering::Greater);
    /// ```
    pub fn compare<K: Sortable>(self, a: K, b: K) -> Ordering {
        let map = K::key_map(self);
        map.rank(a).cmp(&map.rank(b))
    }
}

/// The numbers of all types: what [`Order`] orders.
///
/// Implemented for `u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f16 bf16 f32 f64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no order that warpfold sorts by",
    label = "not a number",
    note = "keys are u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f16 bf16 f32 f64"
)]
pub trait Sortable: Element + sealed::Sealed {
    /// An unsigned integer of as many bits.
    #[doc(hidden)]
    type Bits: Bits;

    /// A number of as many bits that a [`KeyMap`] turns into its rank in the same way. What sorts
    /// by a map is compiled for these alone: unsigned integers, `f16`, `f32` and `f64`.
    #[doc(hidden)]
    type Like: Sortable<Bits = Self::Bits, Like = Self::Like>;

    #[doc(hidden)]
    const KIND: Kind;

    /// How an order turns the number into an integer.
    #[doc(hidden)]
    fn key_map(order: Order) -> KeyMap<Self::Bits> {
        KeyMap::of(Self::KIND, order)
    }
}

mod sealed {
    pub trait Sealed {}
}

/// What the bits of a number mean.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Unsigned,
    Signed,
    /// With so many bits of mantissa.
    Float(u32),
}

impl Kind {
    /// The kind's bits in [`Order::code`].
    pub(crate) fn code(self) -> u32 {
        match self {
            Kind::Unsigned => 0,
            Kind::Signed => 2,
            Kind::Float(mantissa) => mantissa << 8,
        }
    }
}

/// Unsigned integers, as which numbers are sorted.
#[doc(hidden)]
pub trait Bits: PrimInt + Sortable<Bits = Self> + std::fmt::Debug {
    const BITS: u32;

    /// The lowest 32 bits.
    fn low_word(self) -> u32;

    /// The lowest bits of a wider integer.
    fn of_wide(wide: u128) -> Self;

    fn wide(self) -> u128;

    /// All ones, or 0.
    fn ones_if(is: bool) -> Self;
}

macro_rules! bits {
    ($($bits:ty),*) => {$(
        impl Bits for $bits {
            const BITS: u32 = <$bits>::BITS;

            #[inline(always)]
            fn low_word(self) -> u32 {
                self as u32
            }

            #[inline(always)]
            fn of_wide(wide: u128) -> Self {
                wide as $bits
            }

            #[inline(always)]
            fn wide(self) -> u128 {
                self as u128
            }

            #[inline(always)]
            fn ones_if(is: bool) -> Self {
                <$bits>::from(is).wrapping_neg()
            }
        }
    )*};
}

bits!(u8, u16, u32, u64, u128);

macro_rules! sortable {
    ($($number:ty as $bits:ty, like $like:ty: $kind:expr;)*) => {$(
        impl sealed::Sealed for $number {}

        impl Sortable for $number {
            type Bits = $bits;
            type Like = $like;
            const KIND: Kind = $kind;
        }
    )*};
}

sortable! {
    u8 as u8, like u8: Kind::Unsigned;
    u16 as u16, like u16: Kind::Unsigned;
    u32 as u32, like u32: Kind::Unsigned;
    u64 as u64, like u64: Kind::Unsigned;
    u128 as u128, like u128: Kind::Unsigned;
    i8 as u8, like u8: Kind::Signed;
    i16 as u16, like u16: Kind::Signed;
    i32 as u32, like u32: Kind::Signed;
    i64 as u64, like u64: Kind::Signed;
    i128 as u128, like u128: Kind::Signed;
    f16 as u16, like f16: Kind::Float(10);
    bf16 as u16, like f16: Kind::Float(7);
    f32 as u32, like f32: Kind::Float(23);
    f64 as u64, like f64: Kind::Float(52);
}

/// Turns the bits of a number into its *rank*: an integer that grows as the order says. Numbers
/// that are equal have one rank. `KeyRanks` in
/// `kernels/machine/order.cuh` is the same.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct KeyMap<B> {
    /// The bits that are turned at last: all in a descending order, and the sign of signed
    /// integers.
    pub flip: B,
    /// What counts as 0 besides 0: −0, or nothing.
    pub zero: B,
    /// Greater magnitudes are those of NaN.
    pub infinity: B,
    /// The rank of NaN.
    pub nan: B,
    /// All ones for floats, else 0.
    pub float: B,
}

impl<B: Bits> KeyMap<B> {
    fn of(kind: Kind, order: Order) -> KeyMap<B> {
        let (none, all) = (B::zero(), B::max_value());
        let sign = !(all >> 1);
        let turned = if order.descending { all } else { none };
        let total = KeyMap {
            flip: turned,
            zero: none,
            infinity: all,
            nan: all,
            float: none,
        };
        match kind {
            Kind::Unsigned => total,
            Kind::Signed => KeyMap {
                flip: turned ^ sign,
                ..total
            },
            Kind::Float(mantissa) => match order.floats {
                Floats::Total => KeyMap {
                    float: all,
                    ..total
                },
                floats => KeyMap {
                    zero: sign,
                    // All bits between the sign and the mantissa.
                    infinity: !sign >> (mantissa as usize) << (mantissa as usize),
                    nan: match floats {
                        Floats::NanGreatest => !turned,
                        _ => all,
                    },
                    float: all,
                    ..total
                },
            },
        }
    }

    /// The rank of a number.
    #[inline(always)]
    pub fn rank<K: Sortable<Bits = B>>(&self, number: K) -> B {
        let bits = bytemuck::cast(number);
        match K::KIND {
            Kind::Float(_) => self.rank_of_float(bits),
            _ => bits ^ self.flip,
        }
    }

    /// Without a branch: each choice is a mask, so that compilers make vector instructions of it.
    #[inline(always)]
    fn rank_of_float(&self, bits: B) -> B {
        let sign = !(B::max_value() >> 1);
        let bits = bits & !B::ones_if(bits == self.zero);
        // Of a negative number all bits are turned, of others the sign.
        let rank = bits ^ (bits.signed_shr(B::BITS - 1) | sign) ^ self.flip;
        let is_nan = B::ones_if(bits & !sign > self.infinity);
        (self.nan & is_nan) | (rank & !is_nan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders() -> [Order; 6] {
        let both = [Order::ascending(), Order::descending()];
        let [a, b] = both;
        [a, b, a.nan_last(), b.nan_last(), a.total(), b.total()]
    }

    /// What the table in the documentation says, by comparisons of floats.
    fn expected(order: Order, a: f32, b: f32) -> Ordering {
        let turn = |o: Ordering| if order.descending { o.reverse() } else { o };
        let nans = || a.is_nan().cmp(&b.is_nan());
        match order.floats {
            Floats::Total => turn(a.total_cmp(&b)),
            Floats::NanGreatest => turn(a.partial_cmp(&b).unwrap_or_else(nans)),
            Floats::NanLast => a.partial_cmp(&b).map_or_else(nans, turn),
        }
    }

    #[test]
    fn floats_are_ordered_as_the_table_says() {
        let specials = [
            0_u32,
            1,
            0x7f_ffff,
            0x80_0000,
            0x3f80_0000,
            0x7f7f_ffff,
            0x7f80_0000,
        ];
        let nans = [0x7f80_0001, 0x7fc0_0000, 0x7fff_ffff];
        let magnitudes: Vec<u32> = specials.into_iter().chain(nans).collect();
        let signs = [0, 1 << 31].into_iter();
        let all: Vec<f32> = signs
            .flat_map(|sign| {
                magnitudes
                    .iter()
                    .map(move |bits| f32::from_bits(sign | bits))
            })
            .collect();
        for order in orders() {
            for (&a, &b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
                let (x, y) = (a.to_bits(), b.to_bits());
                let given = order.compare(a, b);
                assert_eq!(given, expected(order, a, b), "{order:?} {x:#x} {y:#x}");
            }
        }
    }

    /// All halves: as the numbers that they are.
    #[test]
    fn halves_are_ordered_as_floats() {
        fn check<K: Sortable>(of_bits: fn(u16) -> K, widen: fn(K) -> f32) {
            for order in orders() {
                for bits in 0..=u16::MAX {
                    for other in [
                        bits.wrapping_add(1),
                        bits ^ 1 << 15,
                        0,
                        0x7c00,
                        0x7f80,
                        0xffff,
                    ] {
                        let (a, b) = (of_bits(bits), of_bits(other));
                        let (x, y) = (widen(a), widen(b));
                        if x.is_nan() && y.is_nan() && order.floats == Floats::Total {
                            continue; // widening makes NaNs quiet
                        }
                        assert_eq!(
                            order.compare(a, b),
                            expected(order, x, y),
                            "{order:?} {x} {y}"
                        );
                    }
                }
            }
        }
        check(f16::from_bits, f16::to_f32);
        check(bf16::from_bits, bf16::to_f32);
    }

    #[test]
    fn integers_are_ordered_by_their_values() {
        fn check<K: Sortable + Ord + std::fmt::Debug>(all: &[K]) {
            for (&a, &b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
                for order in orders() {
                    let expected = if order.descending {
                        b.cmp(&a)
                    } else {
                        a.cmp(&b)
                    };
                    assert_eq!(order.compare(a, b), expected, "{order:?} {a:?} {b:?}");
                }
            }
        }
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[i16::MIN, -1, 0, 1, i16::MAX]);
        check(&[i32::MIN, -1, 0, 1, i32::MAX]);
        check(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check(&[i128::MIN, -1, 0, 1, i128::MAX]);
        check(&[0, 1, u8::MAX - 1, u8::MAX]);
        check(&[0, 1, 1 << 64, u128::MAX]);
    }
}
