// What translated functions call: Rust's operators, casts and numbers' methods, each with Rust's
// meaning, by Rust's name (`warpfold::function` in the crate's documentation lists them).
//
// C++ promotes short integers to int. It leaves signed overflow, wide shifts and casts out of range
// undefined. It has fmin where Rust has min. So translated functions use C++'s own operators for
// comparisons only.
//
// Where Rust panics, a GPU cannot. These functions go on with a value that is always the same:
//
//   overflow                    wraps, as in Rust's release builds
//   shifts                      the amount is taken modulo the width, as in release builds
//   x / 0, x % 0 of integers    0
//   MIN / -1, MIN % -1          MIN, 0
//   an index out of bounds      the last element
#pragma once
#include "machine/types.cuh"

namespace warpfold {

// IEEE 754-2019 minimum and maximum, word for word as on the host (src/scalar.rs). Equal numbers
// differ at most in the sign of zero, which `or` settles: a zero is negative if one of them is, and
// positive if one is, with signs inverted. If two do not compare, one is a NaN, and stays one.
// Both comparisons are made first: compilers would put a branch around the second.
template <class T>
__device__ __forceinline__ T minimum_by_comparison(T a, T b) {
    bool less = a < b, greater = b < a;
    T extreme = less ? a : b, same = from_bits(bits_of(a) | bits_of(b));
    return less | greater ? extreme : same;
}

template <class T>
__device__ __forceinline__ T maximum_by_comparison(T a, T b) {
    auto sign = bits_of((T)-0.0);
    bool less = a < b, greater = b < a;
    T extreme = less ? b : a, same = from_bits(((bits_of(a) ^ sign) | (bits_of(b) ^ sign)) ^ sign);
    return less | greater ? extreme : same;
}

namespace rust {

#define RUST_FUNCTION __device__ __forceinline__

// ---- types -------------------------------------------------------------------------------------

template <class A, class B>
constexpr bool is_same = false;
template <class A>
constexpr bool is_same<A, A> = true;

/// An integer of 8 or 16 bits in a register of 32: extended by zeros, or by its sign. It has the
/// values of T, and is as good as T wherever T is a parameter here (warp/register_width.cuh says
/// why).
template <class T>
struct RegisterWidth {
    i32 word;

    RegisterWidth() = default;
    /// What is cut off to T.
    template <class From>
    RUST_FUNCTION constexpr RegisterWidth(From value) : word((T)value) {}
    RUST_FUNCTION constexpr operator i32() const { return word; }

    /// What a register holds of such an integer.
    static RUST_FUNCTION RegisterWidth of_word(i32 word) {
        RegisterWidth held;
        held.word = word;
        return held;
    }
};

template <class T> struct StoredOf { using Type = T; };
template <class T> struct StoredOf<RegisterWidth<T>> { using Type = T; };
/// The type that an integer has in memory.
template <class T>
using Stored = typename StoredOf<T>::Type;

template <class T>
concept SignedInteger = is_same<Stored<T>, i8> || is_same<Stored<T>, i16> ||
                        is_same<Stored<T>, i32> || is_same<Stored<T>, i64> ||
                        is_same<Stored<T>, i128>;
template <class T>
concept UnsignedInteger = is_same<Stored<T>, u8> || is_same<Stored<T>, u16> ||
                          is_same<Stored<T>, u32> || is_same<Stored<T>, u64> ||
                          is_same<Stored<T>, u128>;
template <class T>
concept Integer = SignedInteger<T> || UnsignedInteger<T>;
template <class T>
concept Float = is_same<T, f32> || is_same<T, f64>;

template <int BYTES> struct UnsignedOf;
template <> struct UnsignedOf<1> { using Type = u8; };
template <> struct UnsignedOf<2> { using Type = u16; };
template <> struct UnsignedOf<4> { using Type = u32; };
template <> struct UnsignedOf<8> { using Type = u64; };
template <> struct UnsignedOf<16> { using Type = u128; };
template <class T> struct UnsignedLike : UnsignedOf<sizeof(T)> {};
template <class T> struct UnsignedLike<RegisterWidth<T>> {
    using Type = RegisterWidth<typename UnsignedOf<sizeof(T)>::Type>;
};
/// The unsigned integer of the same size.
template <class T>
using Unsigned = typename UnsignedLike<T>::Type;

/// The type in which C++ computes instead. It is not promoted to a signed type, so overflow is
/// defined.
template <class T>
using Wide = typename UnsignedOf<(sizeof(T) < 4 ? 4 : sizeof(T))>::Type;

template <Integer T>
constexpr u32 BITS = 8 * sizeof(Stored<T>);
template <Integer T>
constexpr bool IS_SHORT_INTEGER = BITS<T> <= 16;
template <Integer T>
constexpr T LEAST = SignedInteger<T> ? (T)((Unsigned<T>)1 << (BITS<T> - 1)) : (T)0;
template <Integer T>
constexpr T GREATEST = (T)~LEAST<T>;

/// A value that T has. It need not be cut off, or extended again.
template <Integer T, class From>
RUST_FUNCTION T within(From value) {
    if constexpr (is_same<T, Stored<T>>) return (T)value;
    else return T::of_word((i32)value);
}

// ---- tuples and arrays -------------------------------------------------------------------------

template <class A>
RUST_FUNCTION Tuple<A> tuple(A a) { return {a}; }
template <class A, class B>
RUST_FUNCTION Tuple<A, B> tuple(A a, B b) { return {a, b}; }
template <class A, class B, class C>
RUST_FUNCTION Tuple<A, B, C> tuple(A a, B b, C c) { return {a, b, c}; }
template <class A, class B, class C, class D>
RUST_FUNCTION Tuple<A, B, C, D> tuple(A a, B b, C c, D d) { return {a, b, c, d}; }
template <class A, class B, class C, class D, class E>
RUST_FUNCTION Tuple<A, B, C, D, E> tuple(A a, B b, C c, D d, E e) { return {a, b, c, d, e}; }
template <class A, class B, class C, class D, class E, class F>
RUST_FUNCTION Tuple<A, B, C, D, E, F> tuple(A a, B b, C c, D d, E e, F f) {
    return {a, b, c, d, e, f};
}

// Elements by an index. One that only the run tells has no register of its own to name: an array
// that is addressed by it lies in local memory. So of arrays that are short enough an element is
// chosen from all of them. Where the compiler knows the index, it leaves that one.

/// The bytes of an array that are not worth local memory, and the elements.
constexpr int SHORT_BYTES = 64, SHORT_LENGTH = 16;

template <class E, int N>
constexpr bool IS_SHORT = N * (int)sizeof(E) <= SHORT_BYTES && N <= SHORT_LENGTH;

/// An array of bytes or of pairs of bytes as words, from which shifts take elements. That takes a
/// register for eight bytes or four, where elements by themselves take one each.
template <class E, int N>
struct Packed {
    static constexpr bool FITS = Integer<E> && sizeof(E) <= 2 && N * (int)sizeof(E) <= SHORT_BYTES;
    static constexpr int BYTES = N * sizeof(E), WORDS = (BYTES + 7) / 8;
    u64 words[WORDS];

    RUST_FUNCTION static Packed of(const Array<E, N>& array) {
        Packed packed;
        packed.words[WORDS - 1] = 0;
        memcpy(packed.words, array.values, BYTES);
        return packed;
    }
    RUST_FUNCTION void store(Array<E, N>& array) const {
        memcpy(array.values, words, BYTES);
    }
};

/// One of the COUNT values from `first` on, by the lowest bits of the index.
template <int COUNT, class V, int N>
RUST_FUNCTION V chosen(const V (&values)[N], int first, u32 index) {
    if constexpr (COUNT == 1) {
        return values[first < N ? first : N - 1];
    } else {
        constexpr int HALF = COUNT / 2;
        V low = chosen<HALF>(values, first, index);
        if (first + HALF >= N) return low;
        V high = chosen<HALF>(values, first + HALF, index);
        return (index & HALF) != 0 ? high : low;
    }
}

/// The least power of two that is no less.
__device__ constexpr int power_of_two(int n) {
    int power = 1;
    while (power < n) power *= 2;
    return power;
}

/// The index, or the last one there is. In 32 bits it takes one instruction.
template <int N>
RUST_FUNCTION u32 bounded(u64 index) {
    u32 low = index > 0xffffffffu ? 0xffffffffu : (u32)index;
    return low < (u32)(N - 1) ? low : (u32)(N - 1);
}

/// What reading an element gives.
template <class E, int N>
struct Read { using Type = const E&; };
template <class E, int N>
    requires(Packed<E, N>::FITS || IS_SHORT<E, N>)
struct Read<E, N> { using Type = E; };

/// An index that the compiler knows, once it has unrolled the loops around: then one element of an
/// array is as good as a variable. If it has not, the array lies in local memory.
struct Fixed { u64 index; };

/// `array[index]`, as a value.
template <class E, int N>
RUST_FUNCTION const E& at(const Array<E, N>& array, Fixed fixed) {
    return array.values[bounded<N>(fixed.index)];
}
template <class E, int N>
RUST_FUNCTION typename Read<E, N>::Type at(const Array<E, N>& array, u64 any_index) {
    u32 index = bounded<N>(any_index);
    if constexpr (Packed<E, N>::FITS) {
        constexpr int PACK = 8 / sizeof(E);
        auto packed = Packed<E, N>::of(array);
        u64 word = chosen<power_of_two(packed.WORDS)>(packed.words, 0, index / PACK);
        return (E)(word >> (8 * sizeof(E) * (index % PACK)));
    } else if constexpr (IS_SHORT<E, N>) {
        return chosen<power_of_two(N)>(array.values, 0, index);
    } else {
        return array.values[index];
    }
}

/// `array[index]`, as a place.
template <class E, int N>
RUST_FUNCTION E& place(Array<E, N>& array, u64 index) { return array.values[bounded<N>(index)]; }
template <class E, int N>
RUST_FUNCTION E& place(Array<E, N>& array, Fixed fixed) { return place(array, fixed.index); }

/// `array[index] = value`
template <class E, int N, class V>
RUST_FUNCTION void put(Array<E, N>& array, Fixed fixed, V given) {
    array.values[bounded<N>(fixed.index)] = given;
}
template <class E, int N, class V>
RUST_FUNCTION void put(Array<E, N>& array, u64 any_index, V given) {
    u32 index = bounded<N>(any_index);
    E value = given;
    if constexpr (Packed<E, N>::FITS) {
        constexpr int PACK = 8 / sizeof(E);
        auto packed = Packed<E, N>::of(array);
        u32 shift = 8 * sizeof(E) * (index % PACK);
        u64 bits = (u64)(Unsigned<E>)value << shift,
            mask = (u64)(Unsigned<E>)~(Unsigned<E>)0 << shift;
        for (int word = 0; word < packed.WORDS; word++)
            if (index / PACK == word) packed.words[word] = (packed.words[word] & ~mask) | bits;
        packed.store(array);
    } else if constexpr (IS_SHORT<E, N>) {
        for (int i = 0; i < N; i++)
            if (index == i) array.values[i] = value;
    } else {
        array.values[index] = value;
    }
}

/// `[value; N]`
template <class A, class E>
RUST_FUNCTION A filled(E value) {
    A array;
    for (E& element : array.values) element = value;
    return array;
}

// ---- loops -------------------------------------------------------------------------------------

/// `a..b`
template <Integer T>
struct Range {
    T next, end;
    RUST_FUNCTION bool more() const { return next < end; }
    RUST_FUNCTION T at() const { return next; }
    RUST_FUNCTION void step() { next = (T)((Wide<T>)next + 1); }
};
template <class T>
Range(T, T) -> Range<T>;

/// `(a..b).rev()`
template <Integer T>
struct RangeDown {
    T end, next;
    RUST_FUNCTION bool more() const { return end < next; }
    RUST_FUNCTION T at() const { return (T)((Wide<T>)next - 1); }
    RUST_FUNCTION void step() { next = at(); }
};
template <class T>
RangeDown(T, T) -> RangeDown<T>;

/// `a..=b`, which may end at the type's greatest value.
template <Integer T>
struct RangeInclusive {
    T next, last;
    bool is_over = last < next;
    RUST_FUNCTION bool more() const { return !is_over; }
    RUST_FUNCTION T at() const { return next; }
    RUST_FUNCTION void step() {
        is_over = next == last;
        next = (T)((Wide<T>)next + 1);
    }
};
template <class T>
RangeInclusive(T, T) -> RangeInclusive<T>;

/// `(a..=b).rev()`
template <Integer T>
struct RangeInclusiveDown {
    T last, next;
    bool is_over = next < last;
    RUST_FUNCTION bool more() const { return !is_over; }
    RUST_FUNCTION T at() const { return next; }
    RUST_FUNCTION void step() {
        is_over = next == last;
        next = (T)((Wide<T>)next - 1);
    }
};
template <class T>
RangeInclusiveDown(T, T) -> RangeInclusiveDown<T>;

// ---- patterns ----------------------------------------------------------------------------------
// A literal of a pattern has the type of what it is compared with.

/// A literal whose nearest f32 is not the one nearest to its nearest f64.
struct FloatLiteral {
    f32 single;
    f64 twofold;
    RUST_FUNCTION explicit operator f32() const { return single; }
    RUST_FUNCTION explicit operator f64() const { return twofold; }
};

/// A literal with a minus sign, of which this is the rest.
template <class Magnitude>
struct Negative {
    Magnitude magnitude;
    template <Integer T>
    RUST_FUNCTION constexpr explicit operator T() const { return (T)(0 - (Wide<T>)magnitude); }
};
template <class Magnitude>
RUST_FUNCTION Negative<Magnitude> negative(Magnitude magnitude) { return {magnitude}; }

template <class T, class Literal>
RUST_FUNCTION bool is(T value, Literal literal) {
    return value == (T)literal;
}
template <class T, class Literal>
RUST_FUNCTION bool at_least(T value, Literal literal) {
    return value >= (T)literal;
}
template <class T, class Literal>
RUST_FUNCTION bool at_most(T value, Literal literal) {
    return value <= (T)literal;
}
template <class T, class Literal>
RUST_FUNCTION bool below(T value, Literal literal) {
    return value < (T)literal;
}

// ---- integers ----------------------------------------------------------------------------------

template <Integer T> RUST_FUNCTION T add(T a, T b) { return (T)((Wide<T>)a + (Wide<T>)b); }
template <Integer T> RUST_FUNCTION T sub(T a, T b) { return (T)((Wide<T>)a - (Wide<T>)b); }
template <Integer T> RUST_FUNCTION T mul(T a, T b) { return (T)((Wide<T>)a * (Wide<T>)b); }
template <Integer T> RUST_FUNCTION T neg(T a) { return (T)(0 - (Wide<T>)a); }

template <Integer T>
RUST_FUNCTION T div(T a, T b) {
    if (b == 0) return 0;
    if constexpr (SignedInteger<T>)
        if (b == -1) return neg(a);
    return within<T>((Stored<T>)a / (Stored<T>)b);
}

template <Integer T>
RUST_FUNCTION T rem(T a, T b) {
    if (b == 0) return 0;
    if constexpr (SignedInteger<T>)
        if (b == -1) return 0;
    return within<T>((Stored<T>)a % (Stored<T>)b);
}

template <Integer T> RUST_FUNCTION T not_(T a) { return (T)~(Wide<T>)a; }
template <Integer T>
RUST_FUNCTION T bit_and(T a, T b) { return within<T>((Wide<T>)a & (Wide<T>)b); }
template <Integer T>
RUST_FUNCTION T bit_or(T a, T b) { return within<T>((Wide<T>)a | (Wide<T>)b); }
template <Integer T>
RUST_FUNCTION T bit_xor(T a, T b) { return within<T>((Wide<T>)a ^ (Wide<T>)b); }
RUST_FUNCTION bool not_(bool a) { return !a; }
RUST_FUNCTION bool bit_and(bool a, bool b) { return a && b; }
RUST_FUNCTION bool bit_or(bool a, bool b) { return a || b; }
RUST_FUNCTION bool bit_xor(bool a, bool b) { return a != b; }

// The amount may be of any integer type.
template <Integer T, Integer Amount>
RUST_FUNCTION T shl(T a, Amount amount) { return (T)((Wide<T>)a << ((u32)amount & (BITS<T> - 1))); }
template <Integer T, Integer Amount>
RUST_FUNCTION T shr(T a, Amount amount) {
    return within<T>(a >> ((u32)amount & (BITS<T> - 1)));
}

template <Integer T> RUST_FUNCTION T wrapping_add(T a, T b) { return add(a, b); }
template <Integer T> RUST_FUNCTION T wrapping_sub(T a, T b) { return sub(a, b); }
template <Integer T> RUST_FUNCTION T wrapping_mul(T a, T b) { return mul(a, b); }
template <Integer T> RUST_FUNCTION T wrapping_div(T a, T b) { return div(a, b); }
template <Integer T> RUST_FUNCTION T wrapping_rem(T a, T b) { return rem(a, b); }
template <Integer T> RUST_FUNCTION T wrapping_neg(T a) { return neg(a); }
template <Integer T> RUST_FUNCTION T wrapping_shl(T a, u32 amount) { return shl(a, amount); }
template <Integer T> RUST_FUNCTION T wrapping_shr(T a, u32 amount) { return shr(a, amount); }

/// The ends of a type that a number may lie beyond.
enum class Bounds { LOWER, UPPER, BOTH };

/// The nearest number of a short type. Sums and differences of such types fit into 32 bits.
template <Integer T, Bounds BOUNDS>
RUST_FUNCTION T nearest(i32 value) {
    constexpr i32 least = LEAST<T>, greatest = GREATEST<T>;
    if constexpr (BOUNDS != Bounds::UPPER) value = value < least ? least : value;
    if constexpr (BOUNDS != Bounds::LOWER) value = value > greatest ? greatest : value;
    return within<T>(value);
}

template <Integer T>
RUST_FUNCTION T saturating_add(T a, T b) {
    if constexpr (IS_SHORT_INTEGER<T>) {
        return nearest<T, SignedInteger<T> ? Bounds::BOTH : Bounds::UPPER>((i32)a + (i32)b);
    } else {
        T sum = add(a, b);
        if constexpr (UnsignedInteger<T>) return sum < a ? GREATEST<T> : sum;
        else return (b < 0) == (sum < a) ? sum : b < 0 ? LEAST<T> : GREATEST<T>;
    }
}

template <Integer T>
RUST_FUNCTION T saturating_sub(T a, T b) {
    if constexpr (IS_SHORT_INTEGER<T>) {
        return nearest<T, SignedInteger<T> ? Bounds::BOTH : Bounds::LOWER>((i32)a - (i32)b);
    } else {
        T difference = sub(a, b);
        if constexpr (UnsignedInteger<T>) return a < b ? (T)0 : difference;
        else return (b > 0) == (difference < a) ? difference : b > 0 ? LEAST<T> : GREATEST<T>;
    }
}

template <Integer T>
RUST_FUNCTION T saturating_mul(T a, T b) {
    if constexpr (sizeof(T) <= 4 && SignedInteger<T>) {
        constexpr i64 least = LEAST<T>, greatest = GREATEST<T>;
        i64 product = (i64)a * (i64)b;
        return (T)(product < least ? least : product > greatest ? greatest : product);
    } else if constexpr (sizeof(T) <= 4) {
        constexpr u64 greatest = GREATEST<T>;
        u64 product = (u64)a * (u64)b;
        return (T)(product > greatest ? greatest : product);
    } else if constexpr (SignedInteger<T>) {
        if (a == 0 || b == 0) return 0;
        T bound = (a < 0) != (b < 0) ? LEAST<T> : GREATEST<T>;
        // The magnitudes. That of the least value fits the unsigned type only.
        Unsigned<T> x = a < 0 ? (Unsigned<T>)neg(a) : (Unsigned<T>)a,
                    y = b < 0 ? (Unsigned<T>)neg(b) : (Unsigned<T>)b;
        Unsigned<T> most = bound < 0 ? (Unsigned<T>)LEAST<T> : (Unsigned<T>)GREATEST<T>;
        return x > (Unsigned<T>)(most / y) ? bound : mul(a, b);
    } else {
        return a != 0 && b > (T)(GREATEST<T> / a) ? GREATEST<T> : mul(a, b);
    }
}

template <Integer T> RUST_FUNCTION T min(T a, T b) {
    if constexpr (IS_SHORT_INTEGER<T>) return within<T>(min((i32)a, (i32)b));
    else return b < a ? b : a;
}
template <Integer T> RUST_FUNCTION T max(T a, T b) {
    if constexpr (IS_SHORT_INTEGER<T>) return within<T>(max((i32)a, (i32)b));
    else return b < a ? a : b;
}
template <Integer T>
RUST_FUNCTION T clamp(T a, T low, T high) {
    return a < low ? low : high < a ? high : a;
}
template <Integer T> RUST_FUNCTION T abs(T a) { return a < 0 ? neg(a) : a; }
template <Integer T> RUST_FUNCTION T wrapping_abs(T a) { return abs(a); }
template <Integer T>
RUST_FUNCTION Unsigned<T> unsigned_abs(T a) {
    // Of an `i16` as it is stored, compilers know this way, and not the other.
    if constexpr (is_same<T, Stored<T>>) return (Unsigned<T>)abs(a);
    else return within<Unsigned<T>>(::abs((i32)a));
}
template <Integer T> RUST_FUNCTION T signum(T a) { return within<T>((a > 0) - (a < 0)); }
template <Integer T> RUST_FUNCTION bool is_positive(T a) { return a > 0; }
template <Integer T> RUST_FUNCTION bool is_negative(T a) { return a < 0; }
template <Integer T>
RUST_FUNCTION Unsigned<T> abs_diff(T a, T b) {
    return within<Unsigned<T>>(a < b ? (Wide<T>)b - (Wide<T>)a : (Wide<T>)a - (Wide<T>)b);
}

/// The remainder that is not negative.
template <Integer T>
RUST_FUNCTION T rem_euclid(T a, T b) {
    T r = rem(a, b);
    return r < 0 ? (b < 0 ? sub(r, b) : add(r, b)) : r;
}

template <Integer T>
RUST_FUNCTION T div_euclid(T a, T b) {
    T q = div(a, b);
    return rem(a, b) < 0 ? (b > 0 ? sub(q, (T)1) : add(q, (T)1)) : q;
}

template <Integer T>
RUST_FUNCTION T div_ceil(T a, T b) {
    return add(div(a, b), (T)(rem(a, b) != 0));
}

/// By squaring; multiplication wraps.
template <Integer T>
RUST_FUNCTION T pow(T base, u32 exponent) {
    T power = 1;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1) power = mul(power, base);
        base = mul(base, base);
    }
    return power;
}
template <Integer T>
RUST_FUNCTION T wrapping_pow(T base, u32 exponent) {
    return pow(base, exponent);
}

/// The halves of a number of 128 bits.
template <Integer T> RUST_FUNCTION u64 lower_half(T a) { return (u64)a; }
template <Integer T> RUST_FUNCTION u64 upper_half(T a) { return (u64)((Unsigned<T>)a >> 64); }

template <Integer T>
RUST_FUNCTION u32 count_ones(T a) {
    if constexpr (sizeof(T) == 16) return count_ones(lower_half(a)) + count_ones(upper_half(a));
    else if constexpr (sizeof(T) == 8) return (u32)__popcll((u64)a);
    else return (u32)__popc((Unsigned<T>)a);
}
template <Integer T> RUST_FUNCTION u32 count_zeros(T a) { return BITS<T> - count_ones(a); }
template <Integer T>
RUST_FUNCTION u32 leading_zeros(T a) {
    if constexpr (sizeof(T) == 16) {
        u64 upper = upper_half(a);
        return upper != 0 ? leading_zeros(upper) : 64 + leading_zeros(lower_half(a));
    } else if constexpr (sizeof(T) == 8) return (u32)__clzll((i64)a);
    else return (u32)__clz((i32)(u32)(Unsigned<T>)a) - (32 - BITS<T>);
}
template <Integer T>
RUST_FUNCTION u32 trailing_zeros(T a) {
    if (a == 0) return BITS<T>;
    if constexpr (sizeof(T) == 16) {
        u64 lower = lower_half(a);
        return lower != 0 ? trailing_zeros(lower) : 64 + trailing_zeros(upper_half(a));
    } else if constexpr (sizeof(T) == 8) return (u32)__ffsll((i64)a) - 1;
    else return (u32)__ffs((i32)(u32)(Unsigned<T>)a) - 1;
}
template <Integer T> RUST_FUNCTION u32 leading_ones(T a) { return leading_zeros(not_(a)); }
template <Integer T> RUST_FUNCTION u32 trailing_ones(T a) { return trailing_zeros(not_(a)); }
template <Integer T> RUST_FUNCTION bool is_power_of_two(T a) { return count_ones(a) == 1; }

template <Integer T>
RUST_FUNCTION T rotate_left(T a, u32 amount) {
    Wide<T> bits = (Unsigned<T>)a;
    u32 left = amount & (BITS<T> - 1), right = (0 - left) & (BITS<T> - 1);
    return (T)(bits << left | bits >> right);
}
template <Integer T>
RUST_FUNCTION T rotate_right(T a, u32 amount) {
    return rotate_left(a, 0 - amount);
}

template <Integer T>
RUST_FUNCTION T swap_bytes(T a) {
    Unsigned<T> from = (Unsigned<T>)a;
    Wide<T> to = 0;
    for (u32 i = 0; i < BITS<T> / 8; i++) to = to << 8 | (from >> (8 * i) & 0xff);
    return (T)to;
}
template <Integer T>
RUST_FUNCTION T reverse_bits(T a) {
    if constexpr (sizeof(T) == 16) {
        u64 lower = reverse_bits(upper_half(a)), upper = reverse_bits(lower_half(a));
        return (T)((Unsigned<T>)upper << 64 | lower);
    } else if constexpr (sizeof(T) == 8) return (T)__brevll((u64)a);
    else return (T)(__brev((u32)(Unsigned<T>)a) >> (32 - BITS<T>));
}

// ---- floats ------------------------------------------------------------------------------------
// Kernels are compiled without contraction, denormals are kept, and division and square root are
// rounded exactly: the same bits as on the host, the payloads of NaN aside.

template <Float T> RUST_FUNCTION T add(T a, T b) { return a + b; }
template <Float T> RUST_FUNCTION T sub(T a, T b) { return a - b; }
template <Float T> RUST_FUNCTION T mul(T a, T b) { return a * b; }
template <Float T> RUST_FUNCTION T div(T a, T b) { return a / b; }
RUST_FUNCTION f32 rem(f32 a, f32 b) { return fmodf(a, b); }
RUST_FUNCTION f64 rem(f64 a, f64 b) { return fmod(a, b); }
template <Float T> RUST_FUNCTION T neg(T a) { return -a; }

template <Float T> RUST_FUNCTION bool is_nan(T a) { return a != a; }
template <Float T> RUST_FUNCTION auto to_bits(T a) { return bits_of(a); }
RUST_FUNCTION f32 from_bits(u32 bits) { return warpfold::from_bits(bits); }
RUST_FUNCTION f64 from_bits(u64 bits) { return warpfold::from_bits(bits); }

/// All bits but the sign.
template <Float T> RUST_FUNCTION auto magnitude(T a) { return to_bits(a) << 1 >> 1; }
template <Float T> RUST_FUNCTION T abs(T a) { return from_bits(magnitude(a)); }
template <Float T> RUST_FUNCTION bool is_sign_negative(T a) { return to_bits(a) != magnitude(a); }
template <Float T> RUST_FUNCTION bool is_sign_positive(T a) { return !is_sign_negative(a); }
template <Float T>
RUST_FUNCTION T copysign(T a, T sign) {
    return from_bits(magnitude(a) | (to_bits(sign) ^ magnitude(sign)));
}
template <Float T> RUST_FUNCTION T signum(T a) { return is_nan(a) ? a : copysign((T)1, a); }
RUST_FUNCTION f32 infinity(f32) { return from_bits(0x7f800000u); }
RUST_FUNCTION f64 infinity(f64) { return from_bits((u64)0x7ff0000000000000ull); }
template <Float T> RUST_FUNCTION bool is_finite(T a) { return abs(a) < infinity(a); }
template <Float T> RUST_FUNCTION bool is_infinite(T a) { return abs(a) == infinity(a); }
RUST_FUNCTION bool is_normal(f32 a) { return is_finite(a) && magnitude(a) >= 0x00800000u; }
RUST_FUNCTION bool is_normal(f64 a) {
    return is_finite(a) && magnitude(a) >= 0x0010000000000000ull;
}

/// If one is NaN, quiet or signalling, the other; -0 is less than +0. So do PTX's min and max, and
/// the host's in src/translated.rs.
RUST_FUNCTION f32 min(f32 a, f32 b) { return fminf(a, b); }
RUST_FUNCTION f32 max(f32 a, f32 b) { return fmaxf(a, b); }
RUST_FUNCTION f64 min(f64 a, f64 b) {
    return is_nan(a) ? b : is_nan(b) ? a : minimum_by_comparison(a, b);
}
RUST_FUNCTION f64 max(f64 a, f64 b) {
    return is_nan(a) ? b : is_nan(b) ? a : maximum_by_comparison(a, b);
}
/// NaN stays NaN.
template <Float T>
RUST_FUNCTION T clamp(T a, T low, T high) {
    return a < low ? low : high < a ? high : a;
}

RUST_FUNCTION f32 mul_add(f32 a, f32 b, f32 c) { return fmaf(a, b, c); }
RUST_FUNCTION f64 mul_add(f64 a, f64 b, f64 c) { return fma(a, b, c); }
template <Float T> RUST_FUNCTION T recip(T a) { return (T)1 / a; }

#define RUST_FLOAT(NAME, FUNCTION)                                   \
    RUST_FUNCTION f32 NAME(f32 a) { return FUNCTION##f(a); }         \
    RUST_FUNCTION f64 NAME(f64 a) { return FUNCTION(a); }
RUST_FUNCTION f64 sqrt(f64 a) { return ::sqrt(a); }

/// Without a branch. CUDA's is for small numbers, zero and infinity, and no two branches are taken
/// at once: several such roots take as long as one after the other. Here small numbers are scaled.
/// The remainder that is added last is exact, so the sum rounds as the root does.
RUST_FUNCTION f32 sqrt(f32 a) {
    bool is_small = a < 0x1p-100f;
    f32 scaled = a * (is_small ? 0x1p64f : 1.0f), by = near_reciprocal_root(scaled);
    f32 nearly = scaled * by, root = fmaf(fmaf(-nearly, nearly, scaled), by * 0.5f, nearly);
    bool is_itself = (scaled == 0) | (scaled == infinity(a));
    return is_itself ? a : root * (is_small ? 0x1p-32f : 1.0f);
}

RUST_FLOAT(floor, ::floor)
RUST_FLOAT(ceil, ::ceil)
RUST_FLOAT(round, ::round)
RUST_FLOAT(round_ties_even, ::rint)
RUST_FLOAT(trunc, ::trunc)
#undef RUST_FLOAT
template <Float T> RUST_FUNCTION T fract(T a) { return a - trunc(a); }
template <Float T>
RUST_FUNCTION T rem_euclid(T a, T b) {
    T r = rem(a, b);
    return r < 0 ? r + abs(b) : r;
}
template <Float T>
RUST_FUNCTION T div_euclid(T a, T b) {
    T q = trunc(a / b);
    return rem(a, b) < 0 ? (b > 0 ? q - 1 : q + 1) : q;
}

/// IEEE 754-2019, which the functions of `warpfold::ops` are: NaN if one is NaN, and -0 is less
/// than +0.
RUST_FUNCTION f32 minimum(f32 a, f32 b) { return minimum_f32(a, b); }
RUST_FUNCTION f32 maximum(f32 a, f32 b) { return maximum_f32(a, b); }
RUST_FUNCTION f64 minimum(f64 a, f64 b) { return minimum_by_comparison(a, b); }
RUST_FUNCTION f64 maximum(f64 a, f64 b) { return maximum_by_comparison(a, b); }
template <Integer T> RUST_FUNCTION T minimum(T a, T b) { return min(a, b); }
template <Integer T> RUST_FUNCTION T maximum(T a, T b) { return max(a, b); }

// ---- casts -------------------------------------------------------------------------------------

/// 2^(bits of a type but its sign), which is the least float above all its values.
template <Integer To, Float From>
RUST_FUNCTION From beyond() {
    return (From)(Unsigned<To>)((Unsigned<To>)1 << (BITS<To> - 1)) * (SignedInteger<To> ? 1 : 2);
}

/// `value as To`: integers are cut off or extended, floats go towards zero and stop at the ends,
/// NaN becomes 0.
template <class To, class From>
RUST_FUNCTION To cast(From value) {
    if constexpr (Integer<To> && Float<From>) {
        if (is_nan(value)) return 0;
        if (value >= beyond<To, From>()) return GREATEST<To>;
        if (value <= (From)LEAST<To>) return LEAST<To>;
    }
    return (To)value;
}

/// A half is widened first, which is exact.
template <class To>
RUST_FUNCTION To cast(f16 value) { return cast<To>(Fold<f16>::widen(value)); }
template <class To>
RUST_FUNCTION To cast(bf16 value) { return cast<To>(Fold<bf16>::widen(value)); }

#undef RUST_FUNCTION

}  // namespace rust
}  // namespace warpfold
