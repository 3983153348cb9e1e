// The order of numbers (`Order` in src/primitives/sort/order.rs): it turns a number into an
// unsigned integer that grows as the order says, its rank. Numbers that the order calls equal have
// one rank.
#pragma once
#include "machine/types.cuh"

namespace warpfold {

/// The order of keys, as the host packs it (`KeyMap` in src/primitives/sort/order.rs).
struct SortOrder {
    u32 code;

    __device__ __forceinline__ bool descending() const { return (code & 1) != 0; }
    __device__ __forceinline__ bool is_signed() const { return (code & 2) != 0; }
    __device__ __forceinline__ bool is_total() const { return (code & 4) != 0; }
    __device__ __forceinline__ bool nan_last() const { return (code & 8) != 0; }
    __device__ __forceinline__ u32 mantissa() const { return code >> 8; }
};

/// A signed integer of as many bits.
template <class B>
struct SignedOf;
template <> struct SignedOf<u8> { using Type = i8; };
template <> struct SignedOf<u16> { using Type = i16; };
template <> struct SignedOf<u32> { using Type = i32; };
template <> struct SignedOf<u64> { using Type = i64; };
template <> struct SignedOf<u128> { using Type = i128; };

/// Turns the bits B of a number into its rank: an integer that grows as the order says.
template <class B, bool FLOAT>
struct KeyRanks {
    static constexpr int BITS = 8 * (int)sizeof(B);
    static constexpr B ALL = (B) ~(B)0, SIGN = (B)((B)1 << (BITS - 1));

    /// What is turned at last, what counts as 0 besides 0, the greatest magnitude that is no NaN,
    /// and the rank of NaN.
    B flip, zero, infinity, nan;

    static __device__ __forceinline__ KeyRanks of(SortOrder order) {
        KeyRanks ranks;
        B turned = order.descending() ? ALL : (B)0;
        ranks.flip = (B)(turned ^ (order.is_signed() ? SIGN : (B)0));
        ranks.zero = order.is_total() ? (B)0 : SIGN;
        B infinity = (B)((B)((B)~SIGN >> order.mantissa()) << order.mantissa());
        ranks.infinity = order.is_total() ? ALL : infinity;
        ranks.nan = order.nan_last() ? ALL : (B)~turned;
        return ranks;
    }

    __device__ __forceinline__ B rank(B bits) const {
        if constexpr (!FLOAT) {
            return (B)(bits ^ flip);
        } else {
            if (bits == zero) bits = 0;
            // Of a negative number all bits are turned, of others the sign.
            B spread = (B)((typename SignedOf<B>::Type)bits >> (BITS - 1));
            B rank = (B)(bits ^ (B)(spread | SIGN) ^ flip);
            return (B)(bits & (B)~SIGN) > infinity ? nan : rank;
        }
    }

    /// The number that has a rank. Of -0 and +0 it is +0; of NaNs it is one of them.
    __device__ __forceinline__ B number(B rank) const {
        B turned = (B)(rank ^ flip);
        if constexpr (!FLOAT) return turned;
        else return (turned & SIGN) != 0 ? (B)(turned ^ SIGN) : (B)~turned;
    }

    /// Whether one number alone has this rank, and its bits then.
    __device__ __forceinline__ bool only(B rank, B& bits) const {
        bits = number(rank);
        if constexpr (!FLOAT) return true;
        else return (bits & (B)~SIGN) <= infinity && (bits != 0 || zero == 0);
    }

    __device__ __forceinline__ u32 digit(B bits, u32 shift) const {
        return (u32)(B)(rank(bits) >> shift) & 255;
    }
};

/// The rank of a number. Its kind is part of the order's code.
template <class B, bool FLOAT, class K>
__device__ __forceinline__ B rank_of(K number, u32 code) {
    static_assert(sizeof(K) == sizeof(B));
    union {
        K number;
        B bits;
    } either;
    either.number = number;
    return KeyRanks<B, FLOAT>::of(SortOrder{code}).rank(either.bits);
}

/// The rank of a tuple: that of its first parts, followed by that of the next one.
template <class B, class Part>
__device__ __forceinline__ B append_rank(B rank, Part part) {
    if constexpr (sizeof(Part) >= sizeof(B)) return (B)part;
    else return (B)((B)(rank << (8 * sizeof(Part))) | part);
}

/// How many of the first `length` numbers of an array come before a number, by rank; or with
/// `equals` how many come before it or are equal. They are sorted. If they are not, the result is
/// some number up to `length`, and the host finds the same.
template <class B, bool FLOAT, class K>
__device__ __forceinline__ u64 bound_in(const K* sorted, u64 length, K needle, u32 code,
                                        bool equals) {
    B rank = rank_of<B, FLOAT>(needle, code);
    u64 start = 0;
    while (length > 0) {
        u64 half = length / 2;
        B other = rank_of<B, FLOAT>(sorted[start + half], code);
        bool before = equals ? other <= rank : other < rank;
        start = before ? start + half + 1 : start;
        length = before ? length - half - 1 : half;
    }
    return start;
}

}  // namespace warpfold
